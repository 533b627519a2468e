package flight

import (
	"runtime"
	"runtime/debug"
	"testing"
	"time"
)

// cyclesOf returns the events of garbage collections that the rings hold, by cycle, and how many were counted.
func cyclesOf(t *testing.T, r *Reader) (events map[uint32]Event, counted uint64) {
	t.Helper()
	rings, err := r.Rings()
	if err != nil {
		t.Fatal(err)
	}
	events = map[uint32]Event{}
	for i := range rings {
		counted += rings[i].Counts[EventGC]
		all, _, _, err := r.Events(rings[i].Index, 0, 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		for k, e := range all {
			if e.Kind == EventGC {
				if k+1 < len(all) && all[k+1].Kind == EventMore {
					e.Time = Ticks(all[k+1].Time) // the heap, for the test
				}
				events[uint32(e.Stack)] = e
			}
		}
	}
	return events, counted
}

func TestEachGarbageCollectionIsAnEvent(t *testing.T) {
	rec, err := New(Options{Dir: tmpfsDir(t), Collections: true})
	if err != nil {
		t.Fatal(err)
	}
	defer rec.Close()
	r, err := rec.Reader()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	deadline := time.Now().Add(time.Minute)
	for n := 1; n <= 3; {
		runtime.GC()
		for {
			events, counted := cyclesOf(t, r)
			if len(events) >= n && counted >= uint64(n) {
				n = len(events) + 1
				break
			}
			if time.Now().After(deadline) {
				t.Fatalf("after a collection: %d events and %d counted, want %d", len(events), counted, n)
			}
			time.Sleep(time.Millisecond)
		}
	}
	events, _ := cyclesOf(t, r)
	var stats debug.GCStats
	debug.ReadGCStats(&stats) // after the events: another collection may come at any time
	heaps := 0
	for cycle, e := range events {
		at := stats.NumGC - int64(cycle)
		if at < 0 || at >= int64(len(stats.Pause)) || e.Arg != uint64(stats.Pause[at]) {
			t.Errorf("cycle %d tells a pause of %v, want that of Go's statistics, %v", cycle, time.Duration(e.Arg), stats.Pause)
		}
		if e.Time > 0 {
			heaps++
		}
	}
	if heaps == 0 {
		t.Error("no event tells the size of the heap")
	}
}

func TestGarbageCollectionsCanBeLeftOut(t *testing.T) {
	rec, err := New(Options{Dir: tmpfsDir(t), Collections: true})
	if err != nil {
		t.Fatal(err)
	}
	defer rec.Close()
	s := rec.Settings()
	s.Kinds[EventGC].On = false
	rec.SetSettings(s)
	r, err := rec.Reader()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		runtime.GC()
		events, counted := cyclesOf(t, r)
		if len(events) > 0 {
			t.Fatalf("the event is off, and %d were recorded", len(events))
		}
		if counted > 1 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d collections were counted, want some", counted)
		}
	}
}
