package memory

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/vtscope/vtscope/internal/childtest"
	"github.com/vtscope/vtscope/runtime/flight"
)

func rowsOf(t testing.TB, src *Source) (rows []flight.ThreadRow) {
	t.Helper()
	if _, err := src.Threads(context.Background(), func(block []flight.ThreadRow) { rows = append(rows, block...) }); err != nil {
		t.Logf("%v", err)
	}
	return rows
}

func TestAStoppedProcessStandsStillAndGoesOn(t *testing.T) {
	pid := start(t, childtest.Build(t, "./fixtures/parade"), private, "-running", "1")
	ran := 0
	defer func() {
		if ran == 0 {
			t.Error("the running thread had no processor in any of 5 stops")
		}
	}()
	for range 5 {
		src := attachTo(t, pid, Options{Stop: true})
		c := checkAll(t, src, 20_000)
		if c.exact < 19_950 || c.marked > 20 || c.running > 1 { // who runs may wait for a processor just then
			t.Errorf("got %d exact stacks, %d marked, %d of a running thread; want nearly 20000, hardly any, 1", c.exact, c.marked, c.running)
		}
		ran += c.running
		first, second := rowsOf(t, src), rowsOf(t, src)
		if !reflect.DeepEqual(first, second) {
			t.Error("two looks at a stopped process differ")
		}
		if err := src.Close(); err != nil {
			t.Fatal(err)
		}
		after := attachTo(t, pid, Options{})
		for deadline := time.Now().Add(time.Minute); reflect.DeepEqual(first, rowsOf(t, after)); {
			if time.Now().After(deadline) {
				t.Fatal("it does not go on")
			}
		}
	}
}

func TestMountedThreadsHaveStacks(t *testing.T) {
	for _, running := range []string{"1", "2"} {
		pid := start(t, childtest.Build(t, "./fixtures/parade"), private, "-drivers", "0", "-threads", "400", "-running", running)
		want := int(running[0] - '0')
		src := attachTo(t, pid, Options{Mounted: true})
		most := 0
		for deadline := time.Now().Add(time.Minute); most < want && time.Now().Before(deadline); {
			c, _ := look(t, src) // of threads that run on nothing is sure
			most = max(most, c.running)
		}
		if most != want {
			t.Errorf("got the stacks of %d running threads at most, want %d", most, want)
		}
		without := attachTo(t, pid, Options{})
		if c, _ := look(t, without); c.running != 0 {
			t.Errorf("without the option: got %d stacks of running threads, want 0: they take a stop", c.running)
		}
	}
}

// tellAttach prints why a process cannot be attached to.
func tellAttach(pid string) {
	n, _ := strconv.Atoi(pid)
	_, err := Attach(n, Options{})
	fmt.Println(err)
	if d, ok := err.(*Denied); ok {
		fmt.Println(d.Try)
	}
	os.Exit(1)
}

// tellSignals prints a line for each SIGUSR2, until standard input ends.
func tellSignals() {
	got := make(chan os.Signal, 100)
	signal.Notify(got, syscall.SIGUSR2)
	go func() {
		io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	fmt.Println("ready")
	for range got {
		fmt.Println("signal")
	}
}

func TestSignalsAreNotLostWhenThreadsAreStopped(t *testing.T) {
	c := exec.Command(os.Args[0])
	c.Env = append(os.Environ(), "VTSCOPE_TEST=signals")
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { in.Close(); c.Process.Kill(); c.Wait() })
	lines := make(chan string)
	go func() {
		for s := bufio.NewScanner(out); s.Scan(); {
			lines <- s.Text()
		}
		close(lines)
	}()
	wait := func(want string) {
		t.Helper()
		select {
		case got := <-lines:
			if got != want {
				t.Fatalf("got %q, want %q", got, want)
			}
		case <-time.After(time.Minute):
			t.Fatalf("no %q for a long time: a signal was lost", want)
		}
	}
	wait("ready")
	var enough atomic.Bool
	ended := make(chan int)
	go func() {
		stops := 0
		for ; !enough.Load(); stops++ {
			tr := newTracer(c.Process.Pid)
			if err := tr.stopAll(); err != nil {
				t.Errorf("stop: %v", err)
			}
			tr.close()
		}
		ended <- stops
	}()
	const signals = 500
	for range signals {
		if err := c.Process.Signal(syscall.SIGUSR2); err != nil {
			t.Fatal(err)
		}
		wait("signal")
	}
	enough.Store(true)
	t.Logf("%d signals, %d stops", signals, <-ended)
}

func TestAProcessThatAnotherTracesCanBeReadButNotStopped(t *testing.T) {
	pid := start(t, childtest.Build(t, "./fixtures/parade"), private, "-drivers", "0", "-threads", "400")
	tr := newTracer(pid)
	defer tr.close()
	if err := tr.stopAll(); err != nil {
		t.Skipf("processes cannot be stopped here: %v", err)
	}
	if c, err := look(t, attachTo(t, pid, Options{})); err != nil || c.exact != 400 {
		t.Errorf("got %d stacks, error %v; want 400", c.exact, err)
	}
	_, err := Attach(pid, Options{Stop: true})
	d, ok := err.(*Denied)
	if !ok || !strings.Contains(d.Error(), "traces it already") || d.Try == "" {
		t.Errorf("got error %v, want one that says who traces it, and a next step", err)
	}
}

func TestAProcessThatEndsWhileItIsReadIsAnErrorNotACrash(t *testing.T) {
	pid := start(t, childtest.Build(t, "./fixtures/parade"), private, "-drivers", "0")
	src := attachTo(t, pid, Options{})
	blocks := 0
	_, err := src.Threads(context.Background(), func([]flight.ThreadRow) {
		if blocks++; blocks == 3 {
			syscall.Kill(pid, syscall.SIGKILL)
			for {
				if _, there := startOf(pid); !there {
					break
				}
			}
		}
	})
	if err == nil || !strings.Contains(err.Error(), "ended while it was read") {
		t.Errorf("got error %v, want one that says that the process has ended", err)
	}
	if _, err := Attach(pid, Options{}); err == nil {
		t.Error("a process that is gone can be attached to")
	}
}

func TestProcessesOfOthersAreDeniedWithANextStep(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can run a program as somebody else")
	}
	// The test's program itself, with a name that others may see.
	program := filepath.Join(os.TempDir(), fmt.Sprintf("memory-%d.test", os.Getpid()))
	text, err := os.ReadFile(os.Args[0])
	if err == nil {
		err = os.WriteFile(program, text, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer os.Remove(program)
	c := exec.Command(program)
	c.Env = append(os.Environ(), "VTSCOPE_TEST=attach "+fmt.Sprint(os.Getpid()))
	c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	out, err := c.CombinedOutput()
	if err == nil || !strings.Contains(string(out), "permission denied") || !strings.Contains(string(out), "as user 0") || !strings.Contains(string(out), "CAP_SYS_PTRACE") {
		t.Errorf("got %v:\n%s\nwant permission denied, and who may", err, out)
	}
}
