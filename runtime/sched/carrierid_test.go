package sched

import (
	"testing"

	"github.com/vtscope/vtscope/runtime/flight"
)

func TestNoTwoCarriersHaveTheSameID(t *testing.T) {
	var s idSet[flight.CarrierID]
	first := s.take()
	for range 1 << 17 { // extra carriers come and go
		id := s.take()
		if id == 0 || id == first || id == flight.NoCarrier {
			t.Fatalf("got id %d", id)
		}
		s.put(id)
	}
	for range 1<<16 - 3 {
		s.take()
	}
	if id := s.take(); id != flight.NoCarrier {
		t.Fatalf("got id %d when all were taken", id)
	}
	s.put(first)
	if id := s.take(); id != first {
		t.Fatalf("got id %d, want the only free one, %d", id, first)
	}
}

func TestCarriersOfTwoSchedulersHaveDifferentIDs(t *testing.T) {
	seen := map[flight.CarrierID]bool{}
	for range 2 {
		fj, err := NewForkJoin(ForkJoinOptions{Parallelism: 2})
		if err != nil {
			t.Fatal(err)
		}
		defer fj.Close()
		fj.startMore(2)
		for _, w := range fj.all() {
			if seen[w.id] {
				t.Errorf("two carriers have id %d", w.id)
			}
			seen[w.id] = true
		}
	}
	if len(seen) != 4 {
		t.Errorf("%d ids, want 4", len(seen))
	}
}
