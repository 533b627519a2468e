package conformance_test

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/vtscope/vtscope/dump"
	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/vthread"
)

// patience is how long a test waits for what must happen; a race detector on a busy machine takes a lot of it.
const patience = 5 * time.Minute

// await waits until f holds. It may be called on a goroutine and on a thread. It fails the test, with a thread dump, when f
// does not hold in time.
func await(t testing.TB, what string, f func() bool) {
	t.Helper()
	if !becomes(f) {
		t.Fatalf("waited in vain: %s\n%s", what, threadDump())
	}
}

// becomes waits until f holds, and reports whether it does.
func becomes(f func() bool) bool {
	for deadline := time.Now().Add(patience); !f(); vthread.Sleep(20 * time.Microsecond) {
		if time.Now().After(deadline) {
			return false
		}
	}
	return true
}

// join waits for the end of a thread, and fails the test if it does not end.
func join(t testing.TB, th *vthread.Thread) {
	t.Helper()
	if ended, err := th.JoinFor(patience); !ended || err != nil {
		t.Fatalf("join %v: got %v, %v, want it ended\n%s", th, ended, err, threadDump())
	}
	if got := th.State(); got != flight.StateDone {
		t.Errorf("%v: joined in state %v", th, got)
	}
}

// threadDump tells where all threads are, and the stacks of the goroutines.
func threadDump() string {
	var text strings.Builder
	if err := snapshot(&text); err != nil {
		fmt.Fprintf(&text, "no thread dump: %v\n", err)
	}
	stacks := make([]byte, 64<<10)
	text.Write(stacks[:runtime.Stack(stacks, true)])
	return text.String()
}

func snapshot(text *strings.Builder) error {
	r, err := flight.Default().Reader()
	if err != nil {
		return err
	}
	defer r.Close()
	s, err := dump.Take(context.Background(), r, dump.Options{})
	if err != nil {
		return err
	}
	return dump.Text(text, s, dump.TextOptions{})
}

// A gate is passed when it is opened. Waiting for it neither uses nor gives a permit, and is no wait of a thread.
type gate struct{ opened chan struct{} }

func newGate() gate { return gate{make(chan struct{})} }

func (g gate) open() { close(g.opened) }

// pass waits by yields, so that who passes is not parked meanwhile. It panics when the gate is not opened in time.
func (g gate) pass() {
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); turn() {
		select {
		case <-g.opened:
			return
		default:
		}
	}
	panic("a gate was not opened\n" + threadDump())
}

// turn lets other threads run, and other goroutines where the thread keeps its carrier.
func turn() {
	vthread.Yield()
	runtime.Gosched()
}
