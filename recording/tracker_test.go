package recording_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/vtscope/vtscope/recording"
	"github.com/vtscope/vtscope/recording/recordingtest"
	"github.com/vtscope/vtscope/runtime/flight"
)

const us = time.Microsecond

// noStrings resolves nothing.
type noStrings struct{}

func (noStrings) String(flight.StringID) string { return "" }

// A told event is an event of thread 1, at a time in microseconds.
func told(at int, k flight.Kind, code flight.Reason, ref uint32, arg uint64) recording.Event {
	return recording.Event{Time: time.Duration(at) * us, Kind: k, Code: code, Carrier: 3, Ref: ref, Thread: 1, Arg: arg}
}

func TestTrackerFollowsAThread(t *testing.T) {
	limited := uint64(flight.BlockAt(flight.BlockedBySemaphore, 64).Limited())
	tr := recording.NewTracker(noStrings{})
	for _, c := range []struct {
		event recording.Event
		want  string // state reason, from, for how long
	}{
		{told(1, flight.EventThreadStart, 0, 0, 9), "runnable ; free 0s"},
		{told(3, flight.EventMount, 0, 0, 0), "mounted ; runnable 2µs"},
		{told(4, flight.EventYield, 0, 0, 0), "mounted ; unchanged"},
		{told(5, flight.EventUnmount, flight.ReasonYield, 0, 0), "runnable yield; mounted 2µs"},
		{told(6, flight.EventMount, 0, 0, 0), "mounted ; runnable 1µs"},
		{told(7, flight.EventUnpark, 0, 0, 8), "mounted ; unchanged"}, // a permit
		{told(8, flight.EventPark, flight.ReasonLock, 12, uint64(flight.BlockLock(64))), "blocked lock; mounted 2µs"},
		{told(8, flight.EventUnmount, flight.ReasonLock, 0, 0), "blocked lock; unchanged"},
		{told(7, flight.EventMount, 0, 0, 0), "blocked lock; unchanged"}, // came late
		{told(18, flight.EventUnpark, 0, 0, 8), "runnable lock; blocked 10µs"},
		{told(19, flight.EventSubmitFailed, 0, 0, 8), "blocked lock; runnable 1µs"},
		{told(20, flight.EventUnpark, 0, 0, 8), "runnable lock; blocked 1µs"},
		{told(21, flight.EventMount, 0, 0, 0), "mounted ; runnable 1µs"},
		{told(22, flight.EventPark, flight.ReasonLock, 12, limited), "timed-parked lock; mounted 1µs"},
		{told(23, flight.EventMount, 0, 0, 0), "mounted ; timed-parked 1µs"}, // it had a permit, and never left
		{told(24, flight.EventThreadEnd, flight.ReasonPanic, 0, 0), "done panic; mounted 1µs"},
		{told(24, flight.EventUnmount, flight.ReasonPanic, 0, 0), "none; unchanged"},
	} {
		change := tr.Apply(&c.event)
		th := tr.Thread(1)
		if change.Thread != nil {
			th = change.Thread
		}
		got := "none"
		if th != nil {
			got = th.State.String() + " " + th.Reason.String()
		}
		if change.Thread == nil {
			got += "; unchanged"
		} else {
			got += fmt.Sprintf("; %v %v", change.From, change.For)
		}
		if got != c.want {
			t.Errorf("%v at %v: got %q, want %q", c.event.Kind, c.event.Time, got, c.want)
		}
	}
	if n := tr.Len(); n != 0 {
		t.Errorf("got %d threads at the end, want none", n)
	}
}

func TestSlotsAreDenseAndUsedAgain(t *testing.T) {
	l := &recordingtest.Load{Threads: 100, Events: 40_000}
	tr := recording.NewTracker(noStrings{})
	owner := map[int]flight.ThreadID{}
	if err := l.Read(t.Context(), func(b *recording.Batch) bool {
		for i := range b.Events {
			change := tr.Apply(&b.Events[i])
			th := change.Thread
			if th == nil {
				continue
			}
			if id := owner[th.Slot]; id != 0 && id != th.ID {
				t.Fatalf("slot %d is of thread %d, and given to %d", th.Slot, id, th.ID)
			}
			owner[th.Slot] = th.ID
			if th.State == flight.StateDone {
				delete(owner, th.Slot)
			}
		}
		return true
	}); err != nil {
		t.Fatal(err)
	}
	if tr.Len() != 0 || tr.Slots() == 0 || tr.Slots() > 101 {
		t.Errorf("got %d threads and %d slots at the end, want none and at most 101", tr.Len(), tr.Slots())
	}
	if sc := tr.State().Scopes; len(sc) != 1 {
		t.Errorf("got scopes %+v at the end, want the root alone", sc)
	}
}

func TestStateAndResetAreInverse(t *testing.T) {
	s := recordingtest.New()
	s.Open(1, "a", 0, 0)
	s.Open(2, "b", 1, 0)
	for id := range flight.ThreadID(10) {
		s.After(us).Start(id+1, flight.ScopeID(id%3), 0)
	}
	s.After(us).Mount(3, 0)
	s.After(us).Park(3, flight.ReasonPark, 0, s.At("f f.go:1"))
	s.Close(2)
	s.Emit(recording.Event{Kind: flight.EventCarrierStart, Carrier: 5, Ref: 2})
	s.Batch()
	var states []*recording.State
	_ = s.Read(t.Context(), func(b *recording.Batch) bool { states = append(states, b.State); return true })
	want := states[1]
	tr := recording.NewTracker(s)
	tr.Reset(want)
	got := tr.State()
	byID := func(a, b recording.Thread) int { return int(a.ID) - int(b.ID) }
	slices.SortFunc(got.Threads, byID)
	slices.SortFunc(want.Threads, byID)
	if !slices.Equal(got.Threads, want.Threads) || !slices.Equal(got.Scopes, want.Scopes) || !slices.Equal(got.Carriers, want.Carriers) || got.At != want.At {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	if len(got.Threads) != 10 || len(got.Scopes) != 2 || tr.Thread(3).State != flight.StateParked || tr.Thread(2).Scope != 1 || tr.Scheduler(5) != 2 {
		t.Errorf("got %+v, want ten threads, two scopes, thread 3 parked, thread 2 in scope 1", got)
	}
}

func TestThreadsOfWhichEventsAreMissingAreKnownAndMarked(t *testing.T) {
	tr := recording.NewTracker(noStrings{})
	park := told(5, flight.EventPark, flight.ReasonSleep, 1, 0)
	if c := tr.Apply(&park); c.From != flight.StateFree || c.Thread == nil || !c.Thread.Incomplete || c.Thread.State != flight.StateTimedParked {
		t.Errorf("park of an unknown thread: got %+v, want it known, incomplete and timed-parked", c)
	}
	end := told(6, flight.EventThreadEnd, flight.ReasonEnd, 0, 0)
	tr.Apply(&end)
	for _, late := range []recording.Event{
		told(6, flight.EventUnmount, flight.ReasonEnd, 0, 0), told(4, flight.EventThreadStart, 0, 0, 0), told(7, flight.EventSubmitFailed, 0, 0, 0),
		told(7, flight.EventPinned, 0, 0, 0), told(7, flight.EventThreadName, 0, 0, 0),
	} {
		tr.Apply(&late)
		if tr.Len() != 0 {
			t.Errorf("%v after the end: got a thread %+v, want none", late.Kind, tr.Thread(1))
		}
	}
}

func TestNameThatComesBeforeTheStartIsKept(t *testing.T) {
	tr := recording.NewTracker(noStrings{})
	name := told(1, flight.EventThreadName, 0, 0, 0)
	name.More = recordingtest.Text("GET /cart")
	start := told(1, flight.EventThreadStart, 0, 0, 0)
	tr.Apply(&name)
	if tr.Len() != 0 {
		t.Error("a name alone: got a thread, want none")
	}
	tr.Apply(&start)
	if th := tr.Thread(1); th == nil || th.Name != "GET /cart" || th.Incomplete {
		t.Errorf("got %+v, want a complete thread with its name", th)
	}
}

func TestThreadOfAnUnknownScopeIsMarked(t *testing.T) {
	tr := recording.NewTracker(noStrings{})
	start := told(1, flight.EventThreadStart, 0, 77, 0)
	tr.Apply(&start)
	if th := tr.Thread(1); th == nil || !th.Incomplete {
		t.Errorf("got %+v, want it incomplete", th)
	}
}

func BenchmarkTracker(b *testing.B) {
	l := &recordingtest.Load{Threads: 10_000, Events: 300_000}
	var events []recording.Event
	if err := l.Read(b.Context(), func(batch *recording.Batch) bool { events = append(events, batch.Events...); return true }); err != nil {
		b.Fatal(err)
	}
	tr := recording.NewTracker(noStrings{})
	for n := 0; b.Loop(); n++ {
		if n%len(events) == 0 {
			tr.Reset(&recording.State{})
		}
		tr.Apply(&events[n%len(events)])
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds()/1e6, "Mevents/s")
}
