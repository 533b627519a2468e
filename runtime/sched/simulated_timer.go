package sched

import (
	"slices"
	"time"
)

// simulatedTimers are the timers of a simulation's threads that are armed, in the order in which they are due: by time, then as they were armed.
type simulatedTimers []*timer

func (l *simulatedTimers) add(m *timer) {
	at := len(*l)
	for at > 0 && (*l)[at-1].when > m.when {
		at--
	}
	*l = slices.Insert(*l, at, m)
}

func (l *simulatedTimers) remove(m *timer) {
	if i := slices.Index(*l, m); i >= 0 {
		*l = slices.Delete(*l, i, i+1)
	}
}

// first is when the first is due.
func (l simulatedTimers) first() (when time.Duration, ok bool) {
	if len(l) == 0 {
		return 0, false
	}
	return l[0].when, true
}

// arm starts the timer of a thread of s.
func (s *Simulated) arm(m *timer, when time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m.when, m.simulated = when, s
	s.mu.timers.add(m)
	s.stirLocked() // for a thread that executes elsewhere, and for which pass does not wait
}

func (s *Simulated) disarm(m *timer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.timers.remove(m)
	m.simulated = nil
}

// expire ends the timed parks that are due. Nobody else does anything meanwhile (V2).
func (s *Simulated) expire() {
	now := s.now()
	for {
		m := s.takeDue(now)
		if m == nil {
			return
		}
		s.noteTimeout(m.task)
		if t := m.expire(); t != nil {
			_ = t.ready(nil, m.was) // refused, it stays parked, as for Unpark
		}
	}
}

func (s *Simulated) noteTimeout(t *Task) {
	s.mu.Lock()
	a := s.mu.actors[t.id]
	a.silent = true
	s.mu.Unlock()
	s.note(nil, Step{Op: OpTimeout, Other: a.number})
}

func (s *Simulated) takeDue(now time.Duration) *timer {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := &s.mu.timers
	if when, ok := l.first(); !ok || when > now {
		return nil
	}
	m := (*l)[0]
	*l = slices.Delete(*l, 0, 1)
	return m
}
