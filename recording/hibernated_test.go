package recording_test

import (
	"testing"
	"time"

	"github.com/vtscope/vtscope/recording"
	"github.com/vtscope/vtscope/runtime/flight"
)

func TestATrackerShowsAHibernatedThreadUntilItGoesOn(t *testing.T) {
	tr := recording.NewTracker(noStrings{})
	e := told(5, flight.EventDurableHibernate, flight.ReasonCondition, 12, uint64(flight.DurableSignal.Blocker("approved")))
	tr.Apply(&e)
	th := tr.Thread(1)
	if th == nil || th.State != flight.StateHibernated || th.Reason != flight.ReasonCondition || th.Stack != 12 || th.Blocker.Kind() != flight.BlockedBySignal {
		t.Fatalf("got %+v", th)
	}
	for _, k := range []flight.Kind{flight.EventDurableResume, flight.EventDurablePark, flight.EventDurableLeave} {
		e := told(9, k, 0, 0, 0)
		e.Thread = 2 // another one, that is not hibernated
		if c := tr.Apply(&e); c.Thread != nil {
			t.Errorf("%s of another thread: got %+v", k, c)
		}
	}
	for _, k := range []flight.Kind{flight.EventDurableLeave, flight.EventDurableResume} {
		tr.Apply(&e)
		e := told(15, k, 0, 0, 0)
		if c := tr.Apply(&e); c.Thread == nil || c.From != flight.StateHibernated || c.For != 10*time.Microsecond {
			t.Errorf("%s: got %+v", k, c)
		}
		if th := tr.Thread(1); th != nil {
			t.Errorf("after %s: got %+v, want none", k, th)
		}
	}
	e = told(15, flight.EventDurableResume, 0, 0, 0)
	// One whose beginning was not seen.
	tr = recording.NewTracker(noStrings{})
	if c := tr.Apply(&e); c.Thread != nil || tr.Thread(1) != nil {
		t.Errorf("of a thread that nobody knows: got %+v", c)
	}
}
