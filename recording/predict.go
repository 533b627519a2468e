package recording

import (
	"slices"

	"github.com/vtscope/vtscope/runtime/flight"
)

// A model guesses the parts of the next event from those before it in the chunk. Writer and reader have one each, tell it the same events, and so guess the same;
// what is written is where the guess is wrong. It is part of the format: a change of what it guesses is a new version.
type model struct {
	at       int64 // of the event before
	carriers [1 << 16]*carrierModel
	used     []flight.CarrierID
	spare    []*carrierModel
	ready    []flight.ThreadID // that were made runnable last and not mounted since; the newest is the last
}

// A carrierModel is what was seen of a carrier.
type carrierModel struct {
	mounted flight.ThreadID
	kinds   [kindGroups]*[kindGroups]kindModel // made when needed: a carrier costs a hostile file as many bytes as the reader
}

func (c *carrierModel) kind(k flight.Kind) *kindModel {
	group := &c.kinds[k/kindGroups%kindGroups]
	if *group == nil {
		*group = new([kindGroups]kindModel)
	}
	return &(*group)[k%kindGroups]
}

func (c *carrierModel) reset() {
	c.mounted = 0
	for _, g := range c.kinds {
		if g != nil {
			*g = [kindGroups]kindModel{}
		}
	}
}

// A kindModel is the last event of a kind on a carrier.
type kindModel struct {
	thread flight.ThreadID
	arg    uint64
	ref    uint32
}

const (
	kindGroups = 16 // and as many kinds in each
	maxReady   = 32
)

func (m *model) reset(at int64) {
	m.at = at
	for _, c := range m.used {
		m.spare = append(m.spare, m.carriers[c])
		m.carriers[c] = nil
	}
	m.used, m.ready = m.used[:0], m.ready[:0]
}

func (m *model) carrier(id flight.CarrierID) *carrierModel {
	c := m.carriers[id]
	if c != nil {
		return c
	}
	if n := len(m.spare); n > 0 {
		c = m.spare[n-1]
		m.spare = m.spare[:n-1]
		c.reset()
	} else {
		c = new(carrierModel)
	}
	m.carriers[id] = c
	m.used = append(m.used, id)
	return c
}

// readyAt returns how many threads were made runnable after id, -1 if it is not among the last.
func (m *model) readyAt(id flight.ThreadID) int {
	for i, n := 0, len(m.ready); i < n; i++ {
		if m.ready[n-1-i] == id {
			return i
		}
	}
	return -1
}

// saw tells the model of an event.
func (m *model) saw(e *Event, c *carrierModel) {
	k := c.kind(e.Kind)
	k.thread, k.arg, k.ref = e.Thread, e.Arg, e.Ref
	m.at = int64(e.Time)
	switch e.Kind {
	case flight.EventMount:
		c.mounted = e.Thread
		if i := m.readyAt(e.Thread); i >= 0 {
			at := len(m.ready) - 1 - i
			m.ready = slices.Delete(m.ready, at, at+1)
		}
	case flight.EventUnpark, flight.EventThreadStart:
		m.becomesReady(e.Thread)
	case flight.EventUnmount:
		if c.mounted == e.Thread {
			c.mounted = 0
		}
		if e.Code == flight.ReasonYield {
			m.becomesReady(e.Thread)
		}
	}
}

func (m *model) becomesReady(id flight.ThreadID) {
	if len(m.ready) == maxReady {
		m.ready = slices.Delete(m.ready, 0, 1)
	}
	m.ready = append(m.ready, id)
}
