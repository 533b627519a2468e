package adapter_test

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-dap"

	"github.com/vtscope/vtscope/dump/delve/internal/steppingtest"
)

// running starts the stepping program without a debugger, and waits until all its threads run. When the test ends, it ends.
func running(t *testing.T) *exec.Cmd {
	t.Helper()
	t.Setenv("VTSCOPE_DIR", t.TempDir())
	cmd := exec.Command(stepping(t))
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "all threads run\n" {
		t.Fatalf("got %q, %v", line, err)
	}
	return cmd
}

// status returns a line of what the kernel says of a process.
func status(t *testing.T, pid int, name string) string {
	t.Helper()
	f, err := os.Open(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if rest, ok := strings.CutPrefix(lines.Text(), name+":"); ok {
			return strings.TrimSpace(rest)
		}
	}
	t.Fatalf("no %s of process %d", name, pid)
	return ""
}

// untouched fails unless a process runs on, is nobody's, and has no breakpoint at an address.
func untouched(t *testing.T, pid int, address int64) {
	t.Helper()
	for end := time.Now().Add(patience); status(t, pid, "TracerPid") != "0"; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("process %d is still traced", pid)
		}
	}
	memory, err := os.Open(fmt.Sprintf("/proc/%d/mem", pid))
	if err != nil {
		t.Fatal(err)
	}
	defer memory.Close()
	code := make([]byte, 4)
	if _, err := memory.ReadAt(code, address); err != nil || code[0] == 0xcc || string(code) == "\x00\x00\x20\xd4" {
		t.Errorf("got % x (%v) where the breakpoint was", code, err)
	}
	switches := func() (all string) { // of all OS threads
		tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
		if err != nil {
			t.Fatal(err)
		}
		for _, task := range tasks {
			b, _ := os.ReadFile(task) // it may have ended
			all += string(b)
		}
		return all
	}
	before := switches()
	for end := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		state := status(t, pid, "State") // Delve lets it go on, where it is stopped after all, 50 ms after it has left it
		if switches() != before && (strings.HasPrefix(state, "S") || strings.HasPrefix(state, "R")) {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("process %d does nothing, in state %s", pid, state)
		}
	}
}

// attach attaches an editor with a breakpoint where all threads of a kind come by, and waits for the first. It returns the address.
func attach(t *testing.T, e *editor, pid int) (s dap.StoppedEventBody, address int64) {
	t.Helper()
	file := mainFile(t)
	e.ask("attach", map[string]any{"mode": "local", "processId": pid})
	e.ask("setBreakpoints", map[string]any{"source": map[string]any{"path": file}, "breakpoints": []any{map[string]any{"line": steppingtest.LineOf(t, file, "locks", "lock.Lock")}}})
	e.ask("configurationDone", nil)
	s = e.stop()
	address, err := strconv.ParseInt(strings.TrimPrefix(e.stack(s.ThreadId)[0].InstructionPointerReference, "0x"), 16, 64)
	if err != nil {
		t.Fatal(err)
	}
	return s, address
}

func TestAKilledAdapterLeavesTheProcessClean(t *testing.T) {
	for name, runs := range map[string]bool{"while it is stopped": false, "while it runs": true} {
		t.Run(name, func(t *testing.T) {
			pid := running(t).Process.Pid
			e := edit(t)
			s, address := attach(t, e, pid)
			if runs {
				e.send("continue", map[string]any{"threadId": s.ThreadId})
			}
			if err := e.cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			untouched(t, pid, address)
		})
	}
}

func TestTheSessionEndsWithDelve(t *testing.T) {
	file := mainFile(t)
	e := edit(t)
	e.launch(stepping(t), file, map[string]any{"line": steppingtest.LineOf(t, file, "locks", "lock.Lock")})
	e.stop()
	tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", e.cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	if tasks == nil {
		t.Skip("the kernel does not list children")
	}
	children := ""
	for _, task := range tasks { // of the OS thread which has started it
		b, _ := os.ReadFile(task) // it may have ended
		children += string(b)
	}
	delve, err := strconv.Atoi(strings.TrimSpace(children))
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(delve, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	for end := time.After(patience); ; {
		select {
		case _, ok := <-e.come:
			if ok {
				continue
			}
		case <-end:
			t.Fatal("the adapter goes on without Delve")
		}
		return
	}
}

func TestThreadsOfACoreFile(t *testing.T) {
	gcore, err := exec.LookPath("gcore")
	if err != nil {
		t.Skip("there is no gcore, which comes with gdb")
	}
	pid := running(t).Process.Pid
	core := filepath.Join(t.TempDir(), "core")
	if out, err := exec.Command(gcore, "-o", core, fmt.Sprint(pid)).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	e := edit(t)
	e.ask("launch", map[string]any{"mode": "core", "program": stepping(t), "coreFilePath": fmt.Sprintf("%s.%d", core, pid)})
	e.ask("configurationDone", nil)
	s := e.stop()
	all := e.threads()
	titled(t, all, `^\d+ × .*parked \(\w+\) in steps at main.go:\d+$`)
	main := titled(t, all, `^main #1: waiting \(scope-join\) at main.go:\d+$`)
	if frames := e.stack(main.Id); frames[0].Name != "main.main.func1.1" {
		t.Errorf("got %+v first", frames[0])
	}
	e.vtscope(e.stack(s.ThreadId)[0].Id)
}

// TestRandomSessions has editors do anything in any order: no step may end in another thread, and nothing may hang or be left behind.
func TestRandomSessions(t *testing.T) {
	sessions := 4
	if n, err := strconv.Atoi(os.Getenv("VTSCOPE_SESSIONS")); err == nil {
		sessions = n
	}
	for i := range sessions {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			seed := rand.Uint64()
			t.Logf("seed %d", seed)
			r := rand.New(rand.NewPCG(seed, 0))
			pid := running(t).Process.Pid
			e := edit(t)
			s, address := attach(t, e, pid)
			file := mainFile(t)
			clear := func() {
				e.ask("setBreakpoints", map[string]any{"source": map[string]any{"path": file}, "breakpoints": []any{}})
			}
			for range 12 {
				switch r.IntN(6) {
				case 0: // steps, which nothing interrupts
					clear()
					for range 1 + r.IntN(3) {
						reads := slices.ContainsFunc(e.threads(), func(th dap.Thread) bool { return strings.HasPrefix(th.Name, "* reads") })
						if top := e.stack(s.ThreadId)[0].Name; reads || !strings.HasPrefix(top, "main.") || strings.Contains(top, ".func") {
							break // eight threads read what one writes: each may wait long; the loop around a step is one line, which is never left
						}
						e.ask("next", map[string]any{"threadId": s.ThreadId})
						now := e.stop()
						if now.Reason != "step" || now.ThreadId != s.ThreadId {
							t.Fatalf("a step of %d: got %+v", s.ThreadId, now)
						}
						s = now
					}
				case 1:
					clear()
					e.ask("continue", map[string]any{"threadId": s.ThreadId})
					time.Sleep(time.Duration(r.IntN(20)) * time.Millisecond)
					e.ask("pause", map[string]any{"threadId": s.ThreadId})
					s = e.stop()
				case 2:
					function := []string{"parks", "sleeps", "yields", "locks"}[r.IntN(4)]
					e.ask("setBreakpoints", map[string]any{"source": map[string]any{"path": file}, "breakpoints": []any{
						map[string]any{"line": steppingtest.LineOf(t, file, function, "n++"), "condition": fmt.Sprintf("name~%s%d", function, r.IntN(8))},
					}})
					e.ask("continue", map[string]any{"threadId": s.ThreadId})
					s = e.stop()
					if frames := e.stack(s.ThreadId); frames[0].Name != "main."+function {
						t.Fatalf("stopped in %s, want main.%s", frames[0].Name, function)
					}
				case 3:
					e.threads()
				case 4:
					e.console("vt waits")
				case 5:
					e.vtscope(e.stack(s.ThreadId)[0].Id)
				}
			}
			switch r.IntN(3) {
			case 0:
				e.ask("disconnect", map[string]any{"terminateDebuggee": false})
			case 1:
				e.to.Close()
			case 2:
				_ = e.cmd.Process.Kill()
			}
			untouched(t, pid, address)
		})
	}
}
