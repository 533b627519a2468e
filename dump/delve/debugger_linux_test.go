package delve

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-delve/delve/service/api"
	"github.com/go-delve/delve/service/rpc2"

	"github.com/vtscope/vtscope/dump/delve/internal/steppingtest"
)

// dlv builds Delve's command, of the version in go.mod.
var dlv = sync.OnceValues(func() (string, error) {
	exe := filepath.Join(tools, "dlv")
	if out, err := exec.Command("go", "build", "-o", exe, "github.com/go-delve/delve/cmd/dlv").CombinedOutput(); err != nil {
		return "", fmt.Errorf("build dlv: %w\n%s", err, out)
	}
	return exe, nil
})

// stepping builds testdata/stepping as debuggers do.
func stepping(t *testing.T) string {
	t.Helper()
	exe := filepath.Join(t.TempDir(), "stepping")
	if out, err := exec.Command("go", "build", "-gcflags=all=-N -l", "-o", exe, "./testdata/stepping").CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	t.Setenv("VTSCOPE_DIR", t.TempDir()) // no tmpfs: the recorder keeps its events in private memory
	return exe
}

// underDlv starts the program under dlv. When the test ends, both end.
func underDlv(t *testing.T, program string) *rpc2.RPCClient {
	t.Helper()
	exe, err := dlv()
	if err != nil {
		t.Fatal(err)
	}
	socket := filepath.Join(t.TempDir(), "dlv")
	ctx, cancel := context.WithTimeout(context.Background(), 2*patience)
	cmd := exec.CommandContext(ctx, exe, "exec", "--headless", "--listen=unix:"+socket, program)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		cancel()
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("dlv: %s", out.Bytes())
		}
	})
	for end := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		conn, err := net.Dial("unix", socket)
		if err == nil {
			client := rpc2.NewClientFromConn(conn)
			t.Cleanup(func() { _ = client.Detach(true) }) // first: ends the program, and dlv
			return client
		}
		if time.Now().After(end) {
			t.Fatalf("dlv does not listen: %v", err)
		}
	}
}

// lineOf is [steppingtest.LineOf] for testdata/stepping.
func lineOf(t *testing.T, function, text string) int {
	t.Helper()
	return steppingtest.LineOf(t, "testdata/stepping/main.go", function, text)
}

// scripted runs commands in dlv where all threads of testdata/stepping run, after those of before, and returns what it prints.
func scripted(t *testing.T, before string, commands ...string) string {
	t.Helper()
	exe, err := dlv()
	if err != nil {
		t.Fatal(err)
	}
	stop := fmt.Sprintf("break %s:%d", mainFile(t), lineOf(t, "together", "use(threads)"))
	script := strings.Join(slices.Concat([]string{before, stop, "continue"}, commands, []string{"exit", ""}), "\n")
	path := filepath.Join(t.TempDir(), "script")
	if err := os.WriteFile(path, []byte(script), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
	defer cancel()
	text, err := exec.CommandContext(ctx, exe, "exec", "--allow-non-terminal-interactive", "--init", path, stepping(t)).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return string(text)
}

func TestADebuggerStepsOverWhatGivesUpTheCarrier(t *testing.T) {
	client := underDlv(t, stepping(t))
	for _, c := range []struct{ function, from string }{
		{"parks", "vthread.Park"},
		{"sleeps", "vthread.Sleep"},
		{"yields", "vthread.Yield"},
		{"locks", "lock.Lock"},
		{"reads", "from.Read"},
	} {
		line := lineOf(t, c.function, c.from)
		for range 3 {
			at, err := client.CreateBreakpoint(&api.Breakpoint{File: mainFile(t), Line: line})
			if err != nil {
				t.Fatal(err)
			}
			var state *api.DebuggerState
			for state = range client.Continue() {
			}
			if state.Err != nil || state.CurrentThread == nil || state.CurrentThread.Line != line || state.SelectedGoroutine == nil {
				t.Fatalf("%s: got %+v, want to stop at line %d", c.function, state, line)
			}
			if _, err := client.ClearBreakpoint(at.ID); err != nil {
				t.Fatal(err)
			}
			goroutine, own := state.SelectedGoroutine.ID, state.SelectedGoroutine.Labels["vtscope.thread"]
			if !strings.HasPrefix(own, c.function) {
				t.Errorf("%s: the goroutine has labels %v, want the name of the thread", c.function, state.SelectedGoroutine.Labels)
			}
			for step := 1; step <= 2; step++ {
				if state, err = client.Next(); err != nil {
					t.Fatal(err)
				}
				now := state.CurrentThread
				if now == nil || now.Function == nil || now.Function.Name() != "main."+c.function || now.Line != line+step ||
					now.GoroutineID != goroutine || state.SelectedGoroutine.Labels["vtscope.thread"] != own {
					t.Fatalf("%s: after %d steps from line %d of goroutine %d, thread %q: got %+v, goroutine %+v", c.function, step, line, goroutine, own, now, state.SelectedGoroutine)
				}
			}
			if state, err = client.StepOut(); err != nil {
				t.Fatal(err)
			}
			if now := state.CurrentThread; now.GoroutineID != goroutine || !strings.HasPrefix(now.Function.Name(), "main.") {
				t.Errorf("%s: after stepping out: got %+v in %s, want goroutine %d in who called", c.function, now, now.Function.Name(), goroutine)
			}
		}
	}
}

func mainFile(t *testing.T) string {
	t.Helper()
	path, err := filepath.Abs("testdata/stepping/main.go")
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func TestDlvGroupsThreadsByScope(t *testing.T) {
	text := scripted(t, "",
		"goroutines -group label vtscope.scope",
		"goroutines -with label vtscope.thread=writer -l",
		"goroutines -with user")
	_, groups, _ := strings.Cut(text, "vtscope.scope=steps\n")
	total := regexp.MustCompile(`Total: (\d+)`).FindStringSubmatch(groups)
	if total == nil {
		t.Fatalf("no group of the scope in\n%s", text)
	}
	const threads = 43 // of testdata/stepping
	if n, _ := strconv.Atoi(total[1]); n != threads {
		t.Errorf("got %d goroutines in the scope, want those of its %d threads\n%s", n, threads, text)
	}
	if !regexp.MustCompile(`"vtscope\.thread":"writer"`).MatchString(text) {
		t.Errorf("no thread of the name writer in\n%s", text)
	}
}

func TestDlvHasCommandsForThreads(t *testing.T) {
	star, err := filepath.Abs("vtscope.star")
	if err != nil {
		t.Fatal(err)
	}
	text := scripted(t, "source "+star, "vt scopes", "vt threads waker", "vt threads", "vt thread waker", "vt waits", "vt")
	for _, want := range []string{
		`(?m)^43  steps$`,
		`(?m)^steps  1\n    1 x  main\.main\.func1\.1\.1 main\.go:\d+   e\.g\. goroutine \d+ \(waker\)$`,
		`(?m)^steps  43$`,
		`(?m)^goroutine \d+ \(waker\) in scope steps\n    main\.main\.func1`,
		`(?m)^vt threads \[TEXT\], vt scopes, vt waits, vt thread GOROUTINE\|NAME$`,
	} {
		if !regexp.MustCompile(want).MatchString(text) {
			t.Errorf("nothing is like %s in\n%s", want, text)
		}
	}
	if regexp.MustCompile(`(?m)slot_pull|coro\.\(\*Slot\)`).MatchString(text) {
		t.Errorf("the switch is shown in\n%s", text)
	}
}
