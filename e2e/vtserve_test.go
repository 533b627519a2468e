//go:build unix

package e2e

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// programs are what the tests run, compiled once.
var programs struct {
	once sync.Once
	dir  string
	err  error
}

// build compiles the programs that the tests run.
func build(t *testing.T) (dir string) {
	t.Helper()
	programs.once.Do(func() {
		if programs.dir, programs.err = os.MkdirTemp("", "vtscope-e2e-bin-"); programs.err != nil {
			return
		}
		args := []string{"build", "-o", programs.dir + "/", "./cmd/vtserve", "./cmd/vtdump"}
		for _, f := range []string{"shop", "deadlock", "trouble", "leak", "storm", "hostile", "within", "parade", "errands", "plain"} {
			args = append(args, "./fixtures/"+f)
		}
		for from, args := range map[string][]string{"..": args, "../webui/build": {"build", "-o", filepath.Join(programs.dir, "pagebuild"), "."}} {
			c := exec.Command("go", args...)
			c.Dir = from
			if out, err := c.CombinedOutput(); err != nil {
				programs.err = fmt.Errorf("%s: %v\n%s", strings.Join(c.Args, " "), err, out)
			}
		}
	})
	if programs.err != nil {
		t.Fatal(programs.err)
	}
	return programs.dir
}

// generous are flags of a vtserve that never saves cost: what it leaves out then depends on the machine.
var generous = []string{"--max-cpu", "0", "--max-memory", "0"}

// serve starts a generous vtserve over the flight files of a folder.
func serve(t *testing.T, dir string, args ...string) (url string) {
	t.Helper()
	return startProgram(t, dir, filepath.Join(build(t), "vtserve"), slices.Concat([]string{"--addr", anyPort}, generous, args)...)
}

// flights is a folder of its own for flight files, so that nothing else shows up on the page.
func flights(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "vtscope-e2e-")
	if err != nil {
		t.Skipf("no shared memory for flight files: %v", err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// anyPort is an address for vtserve, which tells the one that it got.
const anyPort = "127.0.0.1:0"

// A demo is a running vtserve --demo.
type demo struct {
	*testing.T
	command *exec.Cmd
	url     string
	shop    int         // pid
	process *os.Process // the shop
	started time.Time
}

func startDemo(t *testing.T, bin, dir string, threads int) *demo {
	t.Helper()
	c := exec.Command(filepath.Join(bin, "vtserve"), slices.Concat([]string{"--addr", anyPort, "--demo", "--threads", strconv.Itoa(threads)}, generous)...)
	c.Env = append(os.Environ(), "VTSCOPE_DIR="+dir)
	c.Stderr = os.Stderr
	// A pipe of our own, which outlives vtserve: the shop writes to it too, and must not die of it.
	out, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { out.Close() })
	c.Stdout = in
	d := &demo{T: t, command: c, started: time.Now()}
	err = c.Start()
	in.Close()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.stop)
	lines := bufio.NewReader(out)
	for d.url == "" || d.shop == 0 {
		line, err := lines.ReadString('\n')
		if err != nil {
			t.Fatalf("vtserve ended before it told its address: %v", err)
		}
		if m := regexp.MustCompile(`^vtserve: (http://\S+)`).FindStringSubmatch(line); m != nil {
			d.url = m[1]
		}
		if m := regexp.MustCompile(`starts as pid (\d+)`).FindStringSubmatch(line); m != nil {
			d.shop, _ = strconv.Atoi(m[1])
			if d.process, err = os.FindProcess(d.shop); err != nil {
				t.Fatal(err)
			}
		}
	}
	go io.Copy(io.Discard, lines)
	return d
}

// stop ends vtserve as Ctrl-C does, and checks that the shop went with it.
func (d *demo) stop() {
	d.Helper()
	if d.command.ProcessState != nil {
		return
	}
	d.command.Process.Signal(os.Interrupt)
	if err := d.command.Wait(); err != nil {
		d.Errorf("vtserve after an interrupt: %v, want exit code 0", err)
	}
	if err := d.process.Signal(syscall.Signal(0)); !errors.Is(err, os.ErrProcessDone) {
		d.Errorf("the shop after vtserve's end: %v, want it to have ended", err)
	}
}

// kill ends vtserve with SIGKILL, and waits for the shop to end by itself.
func (d *demo) kill() {
	d.Helper()
	d.command.Process.Kill()
	d.command.Wait()
	for deadline := time.Now().Add(patience); !errors.Is(d.process.Signal(syscall.Signal(0)), os.ErrProcessDone); {
		if time.Now().After(deadline) {
			d.Fatalf("the shop (pid %d) outlives vtserve", d.shop)
		}
		time.Sleep(20 * time.Millisecond)
	}
}
