package dump_test

import (
	"context"
	"testing"

	"github.com/vtscope/vtscope/dump"
	"github.com/vtscope/vtscope/runtime/flight"
)

// A thread that blocks in a channel cannot record it; its record says mounted. One that computes for long is mounted.
func TestAThreadThatIsSeenBlockingInGoIsPinnedInTheSnapshot(t *testing.T) {
	rec, err := flight.New(flight.Options{Mode: flight.ModePrivate})
	if err != nil {
		t.Fatal(err)
	}
	defer rec.Close()
	now := flight.Now()
	mount := func(id flight.ThreadID, c flight.CarrierID) *flight.Ring {
		r := rec.GetRecord()
		r.Init(flight.StateRunnable, id, 0, 0, 0, 0, now)
		r.Mounted(now, c)
		return rec.AcquireRing(c, 0, 64)
	}
	held := mount(7, 1)
	mount(8, 2).Hold(8, now, flight.ReasonMonopoly, 0)
	held.Hold(7, now, flight.ReasonPinnedGo, rec.AddStack([]flight.Frame{{Func: "shop.(*Store).receive", File: "store.go", Line: 12}}))

	reader, err := rec.Reader()
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	s, err := dump.Take(context.Background(), reader, dump.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range s.Groups {
		switch g.State {
		case flight.StatePinned:
			if g.Count != 1 || g.Reason != flight.ReasonPinnedGo || g.Examples[0].ID != 7 || s.Stacks[g.Stack].Frames[0].Func != "shop.(*Store).receive" {
				t.Errorf("pinned group %+v, want thread 7 in shop.(*Store).receive", g)
			}
		case flight.StateMounted:
			if g.Count != 1 || g.Examples[0].ID != 8 {
				t.Errorf("mounted group %+v, want thread 8", g)
			}
		default:
			t.Errorf("group %+v", g)
		}
	}
	if len(s.Groups) != 2 {
		t.Errorf("%d groups, want 2", len(s.Groups))
	}
}
