package conformance_test

import (
	"context"
	"runtime"
	"slices"
	"testing"
	"weak"

	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/vthread"
)

// recorded returns the threads with a name that the recorder knows, and false if it is off.
func recorded(t *testing.T, name string) (ids []flight.ThreadID, on bool) {
	t.Helper()
	if flight.Default() == nil {
		return nil, false
	}
	r, err := flight.Default().Reader()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	_, err = r.Threads(context.Background(), func(rows []flight.ThreadRow) {
		for _, row := range rows {
			if r.ThreadName(row) == name {
				ids = append(ids, row.ID)
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	return ids, true
}

// LC-31: and it does not stay in dumps either.
func TestAnUnstartedThreadThatNobodyKnowsIsCollected(t *testing.T) {
	everywhere(t, axes{callers: true, kinds: true}, func(w *world) {
		const threads = 50
		b := w.builder()
		b.Name = "nobody knows"
		var all [threads]weak.Pointer[vthread.Thread]
		for i := range all {
			all[i] = weak.Make(b.Unstarted(func() {}))
		}
		await(w.T, "all are collected", func() bool {
			runtime.GC()
			return !slices.ContainsFunc(all[:], func(p weak.Pointer[vthread.Thread]) bool { return p.Value() != nil })
		})
		await(w.T, "none is in a dump", func() bool {
			runtime.GC()
			ids, _ := recorded(w.T, b.Name)
			return len(ids) == 0
		})
	})
}

// LC-32
func TestAParkedThreadThatNobodyKnowsIsKept(t *testing.T) {
	everywhere(t, startable, func(w *world) {
		ended := make(chan struct{})
		b := w.builder()
		b.Name = "kept"
		parked := func() weak.Pointer[vthread.Thread] {
			th := b.Start(w.pinned(func() {
				defer close(ended)
				vthread.Park()
			}))
			w.awaitParked(th)
			return weak.Make(th)
		}()
		for range 5 {
			runtime.GC()
			vthread.Yield()
		}
		th := parked.Value()
		if th == nil {
			w.Fatal("a parked thread was collected")
		}
		if ids, on := recorded(w.T, b.Name); on && (len(ids) != 1 || ids[0] != th.ID()) {
			w.Errorf("the recorder knows %v, want #%d", ids, th.ID())
		}
		th.Unpark()
		w.join(th)
		<-ended
	})
}
