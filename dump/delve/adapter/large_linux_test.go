package adapter_test

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-dap"
)

// TestALargeProcessIsShownByGroups attaches to a shop of many threads, and to a program of as many goroutines that knows nothing of vtscope. It prints how
// long the list takes, of VTSCOPE_THREADS.
func TestALargeProcessIsShownByGroups(t *testing.T) {
	threads := 2000
	if n, err := strconv.Atoi(os.Getenv("VTSCOPE_THREADS")); err == nil {
		threads = n
	}
	const kinds = 10 // of goroutines in plain, at least
	for name, c := range map[string]struct {
		program string
		args    []string
		group   string // of the largest
		least   int
	}{
		"shop":  {"./fixtures/shop", []string{"-exit-with-stdin", "-threads", fmt.Sprint(threads)}, "in shop/sessions at session.go:", threads / 2},
		"plain": {"./fixtures/plain", []string{"-each", fmt.Sprint(threads / kinds)}, "started by main.", threads / kinds},
	} {
		t.Run(name, func(t *testing.T) {
			pid := large(t, c.program, c.args...)
			e := edit(t)
			e.ask("attach", map[string]any{"mode": "local", "processId": pid, "stopOnEntry": true})
			e.ask("configurationDone", nil)
			for end := time.Now().Add(patience); ; {
				s := e.stop()
				stopped := time.Now()
				e.ask("threads", nil)
				first := time.Since(stopped)
				all := e.threads()
				whole := time.Since(stopped)
				largest, rest, _ := strings.Cut(all[max(0, slices.IndexFunc(all, func(th dap.Thread) bool { return th.Id < 0 }))].Name, " × ")
				n, _ := strconv.Atoi(strings.ReplaceAll(largest, ",", ""))
				if n >= c.least && strings.Contains(rest, c.group) {
					t.Logf("%d threads: first rows after %v, all %d after %v", threads, first.Round(time.Millisecond), len(all), whole.Round(time.Millisecond))
					if len(all) > 110 {
						t.Errorf("got %d rows", len(all))
					}
					break
				}
				if time.Now().After(end) {
					t.Fatalf("got %+v", all)
				}
				e.ask("continue", map[string]any{"threadId": s.ThreadId}) // they are still made
				time.Sleep(200 * time.Millisecond)
				e.ask("pause", map[string]any{"threadId": s.ThreadId})
			}
			e.ask("disconnect", map[string]any{"terminateDebuggee": false})
		})
	}
}

// large starts a program of the main module that tells when it is there, and ends with its input.
func large(t *testing.T, program string, args ...string) (pid int) {
	t.Helper()
	root, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("VTSCOPE_DIR", t.TempDir())
	cmd := exec.Command(build(t, root, program), args...)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { in.Close(); _ = cmd.Wait() })
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	go func() { _, _ = io.Copy(io.Discard, out) }()
	return cmd.Process.Pid
}
