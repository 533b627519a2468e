package sched

import (
	"sync/atomic"

	"github.com/vtscope/vtscope/runtime/flight"
)

// CarrierOf returns the carrier that me, which is [Current], is mounted on; [flight.NoCarrier] where that is none of a [ForkJoin].
func CarrierOf(me *Task) flight.CarrierID {
	if w := me.worker(); w != nil {
		return w.id
	}
	return flight.NoCarrier
}

// PlaceOf returns the place of the carrier that [CarrierOf] returns: a small number from 0, which no other carrier has while that one
// lives. It returns -1 for [flight.NoCarrier].
func PlaceOf(me *Task) int {
	w := me.worker()
	if w == nil || w.id == flight.NoCarrier {
		return -1
	}
	if p := places.of[w.id].Load(); p != 0 {
		return int(p) - 1
	}
	return takePlace(w.id)
}

// places are those of the carriers that asked for one. A carrier does not give its place back; who needs one takes it once the id is
// not used any more.
var places struct {
	of     [1 << 16]atomic.Uint32 // by id: place + 1, or 0; changed with the lock of carrierIDs
	owners []flight.CarrierID     // by place; guarded by carrierIDs.mu
}

// takePlace gives the carrier with that id, which is the caller's, the lowest place that is free.
func takePlace(id flight.CarrierID) int {
	m := &carrierIDs.mu
	m.Lock()
	defer m.Unlock()
	place := len(places.owners)
	for i, owner := range places.owners {
		if m.used[owner/64]&(1<<(owner%64)) == 0 {
			places.of[owner].Store(0)
			place = i
			break
		}
	}
	if place == len(places.owners) {
		places.owners = append(places.owners, id)
	}
	places.owners[place] = id
	places.of[id].Store(uint32(place) + 1)
	return place
}
