package vnet

import (
	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/sched"
)

// told records an operation of n bytes on a side that had to wait, if it took long.
func (s *socket) told(d *side, why flight.Reason, n int) {
	if d.waited == 0 {
		return
	}
	sched.NoteIO(why, flight.BlockFile(uintptr(d.fd)), flight.Now().Sub(d.waited), int64(n), s.other)
	d.waited = 0
}

// other names the other side, or a listener's own.
func (s *socket) other() string {
	name := s.name.Load()
	if name == nil {
		name = new(string)
		if s.remote != nil {
			*name = s.remote.String()
		} else {
			*name = s.local.String()
		}
		s.name.Store(name)
	}
	return *name
}

// exhausted records that a listener's connection waits for a descriptor, which the thread me, or a goroutine, would accept.
func (l *Listener) exhausted(me *sched.Task) {
	var id flight.ThreadID
	if me != nil {
		id = me.ID()
	}
	sched.Emit(flight.EventExhausted, id, uint64(flight.BlockFile(uintptr(l.sides[reading].fd))))
}
