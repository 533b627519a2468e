package vttest_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/vtscope/vtscope/runtime/continuation"
	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/vthread"
	"github.com/vtscope/vtscope/runtime/vttest"
)

// A judge is a test that a helper of this package may fail.
type judge struct {
	testing.TB
	cleanups []func()
	errors   []string
}

func (j *judge) Cleanup(f func())  { j.cleanups = append(j.cleanups, f) }
func (j *judge) Error(args ...any) { j.errors = append(j.errors, fmt.Sprint(args...)) }
func (j *judge) Helper()           {}

// judged returns what a helper has found in f.
func judged(t *testing.T, helper func(testing.TB), f func()) []string {
	j := &judge{TB: t}
	helper(j)
	f()
	for i := len(j.cleanups) - 1; i >= 0; i-- {
		j.cleanups[i]()
	}
	return j.errors
}

func awaitState(t *testing.T, th *vthread.Thread, want flight.State) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); th.State() != want; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("it is %v, want %v", th.State(), want)
		}
	}
}

func parkPinned() {
	continuation.Pin()
	defer continuation.Unpin()
	vthread.ParkFor(time.Millisecond)
}

func TestNoPinFailsATestThatPinnedAndNamesThePlace(t *testing.T) {
	noPin := func(j testing.TB) { vttest.NoPin(j) }
	found := judged(t, noPin, func() {
		for range 3 {
			vthread.Start(parkPinned).Join()
		}
	})
	if len(found) != 1 || !strings.Contains(found[0], "pinned at helpers_test.go:") ||
		!strings.Contains(found[0], "it parked in a pin section") || !strings.Contains(found[0], "(and 2 times more)") ||
		!strings.Contains(found[0], "vttest_test.parkPinned helpers_test.go:") {
		t.Errorf("got %q", found)
	}
	if found := judged(t, noPin, func() { vthread.Start(func() { vthread.ParkFor(time.Millisecond) }).Join() }); len(found) > 0 {
		t.Errorf("nobody has pinned, and got %q", found)
	}
}

func TestNoPinTellsOfOperationsOfGos(t *testing.T) {
	needLookout(t)
	found := judged(t, func(j testing.TB) { vttest.NoPin(j) }, func() {
		ch := make(chan int)
		hog := vthread.Start(func() { <-ch })
		awaitState(t, hog, flight.StatePinned)
		close(ch)
		hog.Join()
	})
	if len(found) != 1 || !strings.Contains(found[0], "it blocked in a channel receive") || !strings.Contains(found[0], "helpers_test.go:") {
		t.Errorf("got %q", found)
	}
}

func TestNoPinAllowsFunctions(t *testing.T) {
	found := judged(t, func(j testing.TB) { vttest.NoPin(j, "github.com/vtscope/vtscope/runtime/vttest_test.parkP") }, func() {
		vthread.Start(parkPinned).Join()
		vthread.Start(func() {
			continuation.Pin()
			defer continuation.Unpin()
			vthread.ParkFor(time.Millisecond)
		}).Join()
	})
	if len(found) != 1 || strings.Contains(found[0], "parkPinned") {
		t.Errorf("got %q, want one that is not parkPinned", found)
	}
}

func TestNoLeakFailsATestThatLeavesThreadsAndTellsWhereTheyAre(t *testing.T) {
	vttest.SetLeakPatience(t, 200*time.Millisecond) // all of which passes, since one stays
	var left *vthread.Thread
	before := vthread.Start(func() { vthread.Park() })
	found := judged(t, func(j testing.TB) { vttest.NoLeak(j) }, func() {
		left = vthread.Builder{Name: "left"}.Start(park)
		awaitState(t, left, flight.StateParked)
		vthread.Start(func() {}).Join()
	})
	if len(found) != 1 || !strings.Contains(found[0], fmt.Sprintf(`thread #%d "left" is left, parked:`, left.ID())) || !strings.Contains(found[0], "vttest_test.park helpers_test.go:") {
		t.Errorf("got %q", found)
	}
	vttest.SetLeakPatience(t, 5*time.Minute)
	found = judged(t, func(j testing.TB) { vttest.NoLeak(j) }, func() {
		vthread.Start(func() { vthread.Sleep(10 * time.Millisecond) })
	})
	if len(found) > 0 {
		t.Errorf("all have ended, and got %q", found)
	}
	for _, th := range []*vthread.Thread{before, left} {
		th.Unpark()
		th.Join()
	}
}

//go:noinline
func park() { vthread.Park() }

func TestNoLeakAllowsFunctions(t *testing.T) {
	var left *vthread.Thread
	found := judged(t, func(j testing.TB) { vttest.NoLeak(j, "github.com/vtscope/vtscope/runtime/vttest_test.park") }, func() {
		left = vthread.Start(park)
		awaitState(t, left, flight.StateParked)
	})
	if len(found) > 0 {
		t.Errorf("it is allowed, and got %q", found)
	}
	left.Unpark()
	left.Join()
}
