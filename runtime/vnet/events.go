package vnet

import (
	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/sched"
)

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
	sched.Emit(flight.EventExhausted, id, uint64(l.at.Blocker(reading)))
}
