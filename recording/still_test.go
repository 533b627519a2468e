package recording_test

import (
	"slices"
	"testing"
	"time"

	"github.com/vtscope/vtscope/recording"
	"github.com/vtscope/vtscope/runtime/flight"
)

// Threads that no event has touched are kept smaller: nobody sees a difference. Some have what a small one cannot say, and one is there twice.
func TestThreadsThatNothingTouchesAreKeptSmallerAndAreTheSame(t *testing.T) {
	state := &recording.State{At: time.Second, Scopes: []recording.Scope{{ID: 5, Name: "five"}}}
	for i := range 5000 {
		th := recording.Thread{
			ID: flight.ThreadID(i + 1), Scope: flight.ScopeID(5 * (i % 2)), Since: time.Duration(i), Created: time.Duration(i), Blocker: flight.BlockLock(uintptr(64 * (i + 1))),
			Waker: flight.ThreadID(i), State: flight.StateBlocked, Reason: flight.ReasonLock, Carrier: flight.CarrierID(i % 3), Stack: flight.StackID(i % 7),
			Mounts: uint32(i), Pins: uint32(i % 5), Flags: flight.RecordFlags(i % 2), Limited: i%11 == 0, Scheduler: flight.SchedulerID(i % 4),
		}
		if i == 1500 { // of the second thousand
			th.Name, th.Creator, th.Created = "named", 3, -time.Second
		}
		state.Threads = append(state.Threads, th)
	}
	want := slices.Clone(state.Threads)
	state.Threads = slices.Insert(state.Threads, 3500, state.Threads[10]) // of the fourth
	tr := recording.NewTracker(noStrings{})
	for round := range 3 { // memory of the state before is used again
		tr.Reset(state)
		compare := func(what string) {
			t.Helper()
			got := tr.State().Threads
			slices.SortFunc(got, func(a, b recording.Thread) int { return int(a.ID) - int(b.ID) })
			slots := map[int]bool{}
			for i := range got {
				if s := got[i].Slot; slots[s] || s >= tr.Slots() {
					t.Fatalf("%s: slot %d of %d is given twice, or is none", what, s, tr.Slots())
				}
				slots[got[i].Slot], got[i].Slot = true, 0
			}
			if !slices.Equal(got, want) || tr.Len() != len(want) {
				t.Fatalf("round %d, %s: %d threads, want %d: %+v, want %+v", round, what, len(got), len(want), got[0], want[0])
			}
		}
		compare("at first")
		slot := 0
		tr.Threads(func(th *recording.Thread) bool { slot = th.Slot; return th.ID != 700 })
		if th := tr.Thread(700); th == nil || th.Slot != slot || th.Blocker != want[699].Blocker {
			t.Fatalf("thread 700: %+v, want slot %d and %v", th, slot, want[699].Blocker)
		}
		compare("after one was asked for")
		tr.Threads(func(th *recording.Thread) bool { slot = th.Slot; return th.ID != 3000 })
		c := tr.Apply(&recording.Event{Time: 2 * time.Second, Kind: flight.EventUnpark, Thread: 3000, Arg: 9})
		if c.From != flight.StateBlocked || c.Reason != flight.ReasonLock || c.Blocker != want[2999].Blocker || c.For != 2*time.Second-2999 || c.Thread.Slot != slot {
			t.Fatalf("unpark of thread 3000 changes %+v", c)
		}
		tr.Apply(&recording.Event{Time: 3 * time.Second, Kind: flight.EventThreadEnd, Thread: 3000})
		if tr.Thread(3000) != nil || tr.Len() != len(want)-1 {
			t.Fatalf("%d threads after one has ended, want %d", tr.Len(), len(want)-1)
		}
	}
}
