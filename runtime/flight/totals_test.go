package flight

import (
	"sync"
	"testing"
)

// total returns the sum of all rows, and the row of a scope.
func totalOf(t *testing.T, rd *Reader, i ScopeIndex) (all, of TotalsRow) {
	t.Helper()
	rows, err := rd.Totals()
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range rows {
		all.Ended += row.Ended
		all.Mounts += row.Mounts
		if row.Scope == i {
			of = row
		}
	}
	return all, of
}

// endThread lets a thread of scope i live on g: 100 ticks runnable, 200 mounted, 300 parked.
func endThread(r *Recorder, g *Ring, i ScopeIndex, id ThreadID) {
	rec := r.GetRecord()
	t := Now()
	rec.Init(StateRunnable, id, i, 0, 0, 0, t)
	g.Start(id, t, 0, i, 0)
	g.Mount(rec, id, t+100)
	g.Park(rec, id, t+200, StateParked, ReasonPark, 0, 0)
	g.Unpark(rec, id, t+500, 0)
	g.Mount(rec, id, t+500)
	g.End(rec, id, t+600, ReasonEnd)
	r.PutRecord(rec)
}

func TestSumsOfAScopeMoveToItsParentWhenItIsClosed(t *testing.T) {
	r := newTest(t)
	rd := openFile(t, r)
	g := r.AcquireRing(5, 0, 64)
	outer := r.OpenScope(7, "outer", 0, 0, 0, Now())
	inner := r.OpenScope(8, "inner", outer, 0, 0, Now())
	for id := range ThreadID(flushAt) {
		endThread(r, g, inner, id+1)
	}
	if _, got := totalOf(t, rd, inner); got.Ended != flushAt || got.Mounts != 2*flushAt || got.ID != 8 ||
		got.Run != rd.Between(0, 200*flushAt) || got.Ready != rd.Between(0, 100*flushAt) || got.Park != rd.Between(0, 300*flushAt) {
		t.Errorf("got %+v, want %d threads with 100 ticks ready, 200 run, 300 parked each", got, flushAt)
	}
	r.CloseScope(inner)
	if _, got := totalOf(t, rd, outer); got.Ended != flushAt {
		t.Errorf("got %+v, want what was in the closed scope", got)
	}
	r.CloseScope(outer)
	if _, got := totalOf(t, rd, 0); got.Ended != flushAt {
		t.Errorf("got %+v in the root scope, want all", got)
	}
}

func TestSumsOfAScopeThatWasClosedBeforeGoToItsParent(t *testing.T) {
	r := newTest(t)
	rd := openFile(t, r)
	g := r.AcquireRing(5, 0, 64)
	outer := r.OpenScope(7, "outer", 0, 0, 0, Now())
	inner := r.OpenScope(8, "inner", outer, 0, 0, Now())
	endThread(r, g, inner, 1)
	r.CloseScope(inner) // the carrier has not told yet
	if again := r.OpenScope(9, "another", outer, 0, 0, Now()); again != inner {
		t.Fatalf("got record %d, want %d again", again, inner)
	}
	g.SetCarrier(CarrierIdle)
	if _, got := totalOf(t, rd, inner); got.Ended != 0 {
		t.Errorf("got %+v in a scope that had no thread", got)
	}
	if _, got := totalOf(t, rd, outer); got.Ended != 1 {
		t.Errorf("got %+v, want the thread", got)
	}
}

func TestNoThreadIsForgottenInTheSums(t *testing.T) {
	r := newTest(t)
	rd := openFile(t, r)
	const carriers, each = 4, 2000
	var wg sync.WaitGroup
	for c := range carriers {
		wg.Go(func() {
			g := r.AcquireRing(CarrierID(c+1), 0, 64)
			defer g.Release()
			for i := range each / 10 {
				s := r.OpenScope(ScopeID(c*each+i+1), "short", 0, 0, 0, Now())
				for range 10 {
					endThread(r, g, s, 1)
				}
				r.CloseScope(s)
			}
		})
	}
	wg.Wait()
	if all, root := totalOf(t, rd, 0); all.Ended != carriers*each || all.Mounts != 2*carriers*each || root != all && root.Ended != all.Ended {
		t.Errorf("got %+v, of them in the root scope %+v; want %d threads there", all, root, carriers*each)
	}
}
