package leaktest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/vtscope/vtscope/internal/procfs"
	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/vthread"
)

func TestMain(m *testing.M) { Main(m) }

func left(t *testing.T, o options) string { return leftAfter(t, 50*time.Millisecond, o) }

// gone is left where nothing is, sooner or later.
func gone(t *testing.T, o options) string { return leftAfter(t, time.Minute, o) }

func leftAfter(t *testing.T, patience time.Duration, o options) string {
	t.Helper()
	o.allowed = append(o.allowed, ours...)
	return strings.Join(o.find(patience), "\n")
}

func leakedGoroutine(release chan struct{}) { <-release }

func TestAGoroutineThatIsLeftIsFound(t *testing.T) {
	release := make(chan struct{})
	go leakedGoroutine(release)
	if got := left(t, options{}); !strings.Contains(got, "leaktest.leakedGoroutine") {
		t.Errorf("got %q, want the goroutine", got)
	}
	if got := gone(t, options{allowed: []string{"github.com/vtscope/vtscope/internal/leaktest.leakedGoroutine"}}); got != "" {
		t.Errorf("with the function allowed: got %q, want nothing", got)
	}
	close(release)
	if got := gone(t, options{}); got != "" {
		t.Errorf("after it has ended: got %q, want nothing", got)
	}
}

func TestAParkedThreadIsFound(t *testing.T) {
	thread := vthread.Start(func() { vthread.Park() })
	for deadline := time.Now().Add(time.Minute); thread.State() != flight.StateParked && time.Now().Before(deadline); {
		time.Sleep(time.Millisecond)
	}
	if got := left(t, options{}); !strings.Contains(got, "vthread.Park(") {
		t.Errorf("got %q, want the thread's goroutine", got)
	}
	thread.Unpark()
	thread.Join()
	if got := gone(t, options{}); got != "" {
		t.Errorf("after it has ended: got %q, want nothing", got)
	}
}

func TestAnArmedTimerIsFound(t *testing.T) {
	thread := vthread.Start(func() { vthread.Sleep(time.Hour) })
	for deadline := time.Now().Add(time.Minute); thread.State() != flight.StateTimedParked && time.Now().Before(deadline); {
		time.Sleep(time.Millisecond)
	}
	if got := left(t, options{}); !strings.Contains(got, "timer of sleeps and timed parks: 1 armed") {
		t.Errorf("got %q, want the timer", got)
	}
	thread.Interrupt()
	thread.Join()
	if got := gone(t, options{}); got != "" {
		t.Errorf("after it has ended: got %q, want nothing", got)
	}
}

func TestAnOpenFlightFileIsFound(t *testing.T) {
	if _, err := os.Stat("/proc/self/fd"); err != nil {
		t.Skipf("this system does not tell which files are open: %v", err)
	}
	name := filepath.Join(t.TempDir(), "1-2.flight")
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	if got := left(t, options{}); !strings.Contains(got, "open: "+name) {
		t.Errorf("got %q, want the file", got)
	}
	f.Close()
	if got := gone(t, options{}); got != "" {
		t.Errorf("after it was closed: got %q, want nothing", got)
	}
}

func TestAFlightFileThatIsNotRemovedIsFound(t *testing.T) {
	self, err := procfs.SelfStat()
	if err != nil {
		t.Skipf("this system does not tell when a process began: %v", err)
	}
	dir := fmt.Sprintf("/dev/shm/vtscope-%d", os.Getuid())
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Skipf("this system has no flight files: %v", err)
	}
	name := filepath.Join(dir, fmt.Sprintf("%d-%d-7.flight", os.Getpid(), self.Start))
	older := filepath.Join(dir, fmt.Sprintf("%d-1.flight", os.Getpid())) // of a process that was killed, and had the same id
	for _, name := range []string{name, older} {
		if err := os.WriteFile(name, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		defer os.Remove(name)
	}
	if got := left(t, options{}); !strings.Contains(got, "file not removed: "+name) || strings.Contains(got, older) {
		t.Errorf("got %q, want the file of this process alone, %s", got, name)
	}
	if err := os.Remove(name); err != nil {
		t.Fatal(err)
	}
	if got := gone(t, options{}); got != "" {
		t.Errorf("after it was removed: got %q, want nothing", got)
	}
}

func TestWhatAlsoCountsIsFoundUntilItIsGone(t *testing.T) {
	calls := 0
	var o options
	Also("timer", func() []string {
		if calls++; calls < 3 {
			return []string{"at 12:00"}
		}
		return nil
	})(&o)
	if got := gone(t, o); got != "" {
		t.Errorf("gone on the third look: got %q, want nothing", got)
	}
	calls = -1000
	if got := left(t, o); !strings.HasPrefix(got, "timer at 12:00") { // there may be a goroutine that is about to end, too
		t.Errorf("got %q, want the timer", got)
	}
}
