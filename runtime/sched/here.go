package sched

import "github.com/vtscope/vtscope/runtime/flight"

func init() { flight.OnThread(here) }

// here returns the ring of the caller's carrier, if it has one, and the thread that is mounted there.
func here() (*flight.Ring, flight.ThreadID) {
	t := Current()
	if t == nil {
		return nil, 0
	}
	return t.on.ring, t.id
}
