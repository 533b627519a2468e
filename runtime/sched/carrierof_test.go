package sched

import (
	"testing"

	"github.com/vtscope/vtscope/runtime/flight"
)

func TestNoTwoCarriersThatLiveHaveTheSamePlace(t *testing.T) {
	const n, rounds = 10, 100
	lowest := len(places.owners)
	var alive, gone []flight.CarrierID
	for round := range rounds {
		for len(alive) < n {
			id := carrierIDs.take()
			takePlace(id)
			alive = append(alive, id)
		}
		at := map[uint32]flight.CarrierID{}
		for _, id := range alive {
			p := places.of[id].Load()
			if other := at[p]; p == 0 || other != 0 {
				t.Fatalf("round %d: carriers %d and %d have place %d", round, id, other, p)
			}
			at[p] = id
		}
		for range n / 2 {
			carrierIDs.put(alive[0])
			gone, alive = append(gone, alive[0]), alive[1:]
		}
	}
	for _, id := range gone[:len(gone)-n] { // a later carrier with the id must not believe that the place is its own
		if p := places.of[id].Load(); p != 0 && places.owners[p-1] != id {
			t.Errorf("carrier %d has ended, and carrier %d has its place %d", id, places.owners[p-1], p)
		}
	}
	for _, id := range alive {
		carrierIDs.put(id)
	}
	if got := len(places.owners); got > lowest+n {
		t.Errorf("%d places were added for %d carriers at once", got-lowest, n)
	}
}

func TestACarrierKeepsItsPlaceAndOthersHaveNone(t *testing.T) {
	if p := PlaceOf(nil); p != -1 {
		t.Errorf("a goroutine: got place %d, want -1", p)
	}
	me := &Task{on: &carrier{id: flight.NoCarrier}}
	if p, id := PlaceOf(me), CarrierOf(me); p != -1 || id != flight.NoCarrier {
		t.Errorf("a thread with a goroutine of its own: got place %d of carrier %d, want -1 and none", p, id)
	}
	w := &worker{}
	w.id = carrierIDs.take()
	defer carrierIDs.put(w.id)
	w.carrier.worker = w
	me = &Task{on: &w.carrier}
	first := PlaceOf(me)
	if again, id := PlaceOf(me), CarrierOf(me); first < 0 || again != first || id != w.id {
		t.Errorf("got place %d, then %d, of carrier %d, want the same one of carrier %d", first, again, id, w.id)
	}
}
