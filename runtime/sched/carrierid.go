package sched

import (
	"sync"

	"github.com/vtscope/vtscope/runtime/flight"
)

// carrierIDs tells the carriers of all schedulers of the process apart. An id that was given back is not used for as long as
// there are others, so that old events are not taken for those of another carrier.
var carrierIDs idSet[flight.CarrierID]

type idSet[ID ~uint16] struct {
	mu struct {
		sync.Mutex
		used [1 << 16 / 64]uint64
		last ID
	}
}

// take returns an id from 1 that nobody has, or [flight.NoCarrier] if there is none.
func (s *idSet[ID]) take() ID {
	m := &s.mu
	m.Lock()
	defer m.Unlock()
	for range 1 << 16 {
		m.last++
		if id := m.last; id != 0 && id != ID(flight.NoCarrier) && m.used[id/64]&(1<<(id%64)) == 0 {
			m.used[id/64] |= 1 << (id % 64)
			return id
		}
	}
	return ID(flight.NoCarrier)
}

func (s *idSet[ID]) put(id ID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.used[id/64] &^= 1 << (id % 64)
}
