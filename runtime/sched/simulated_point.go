package sched

import (
	"slices"

	"github.com/vtscope/vtscope/runtime/flight"
)

// Point is a point where a thread of a simulation may be preempted: before or after something that others can notice. It tells what: op and on, the lock
// or the thread that it is about. Synchronizers have points where the calling thread holds no lock of Go's; programs may have more, as
//
//	sched.Point(sched.OpPoint, 0)
//
// Where no simulation executes the caller it does nothing.
func Point(op Op, on flight.Blocker) {
	if Simulating() {
		point(op, on)
	}
}

// Note adds a step to the script of a simulation, without being a [Point].
func Note(op Op, on flight.Blocker) {
	if Simulating() {
		if s, a := Current().simulation(); a != nil && s.acting() == a {
			s.note(a, Step{Op: op, On: on})
		}
	}
}

func point(op Op, on flight.Blocker) {
	s, a := Current().simulation()
	if a == nil {
		return
	}
	s.tell(a)
	switch op {
	case OpUnpark, OpInterrupt:
		s.noteAbout(a, op, on)
	}
	s.offer(a, op, on)
}

// simulation returns the simulation that executes t, which is the caller, and its actor; nil if there is none, or it executes elsewhere.
func (t *Task) simulation() (*Simulated, *actor) {
	if t == nil || t.on.ret == nil {
		return nil, nil
	}
	s, ok := t.sched.(*Simulated)
	if !ok {
		return nil, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s, s.mu.actors[t.id]
}

// act makes another task the one of the actor a: one that the former has adopted, or, when that has ended, the one that has adopted it. To the simulation both are
// one thread.
func (s *Simulated) act(a *actor, from, to *Task) {
	s.mu.Lock()
	defer s.mu.Unlock()
	a.task = to
	if from.Adopted() && from.Done() {
		delete(s.mu.actors, from.id)
	} else {
		s.mu.actors[to.id] = a
	}
}

// taskOf returns the task of an actor, which is not the caller's.
func (s *Simulated) taskOf(a *actor) *Task {
	s.mu.Lock()
	defer s.mu.Unlock()
	return a.task
}

// offer makes a choice at a point of a, the caller.
func (s *Simulated) offer(a *actor, op Op, on flight.Blocker) {
	t := a.task
	if s.current.Load() != a || s.ends() || t.marks.Load() >= pinStep || !t.on.ret.Fits() {
		return
	}
	s.settle()
	s.gather()
	var yields *actor
	if op == OpYield {
		yields = a
	}
	able := s.able(yields)
	if len(able) == 0 {
		if a.lonely++; a.lonely == loopPoints {
			a.lonely = 0
			s.spins = a
			s.leave(a)
		}
		return
	}
	a.lonely, a.patience = 0, 0
	at, _ := slices.BinarySearch(s.numbersOf(able), a.number)
	s.numbers = slices.Insert(s.numbers, at, a.number)
	i := s.choose(Choice{Ready: s.numbers, Running: a.number, Yields: op == OpYield})
	switch {
	case s.ends():
		s.tell(a)
		return
	case i == at:
		return
	case i > at:
		i--
	}
	s.chosen = able[i]
	if op != OpYield {
		s.note(a, Step{Op: OpPreempted, Next: op, On: on})
	} else {
		a.mounted = false
	}
	s.leave(a)
}

// loopPoints is how many points a thread comes to, while no other can go on, before it counts as one that waits in a loop for time to pass.
const loopPoints = 1000

// leave gives the turn of a, the caller, away.
func (s *Simulated) leave(a *actor) {
	a.silent = true
	a.task.leaveYielding(a.task.on)
	s.tell(a)
}

// beginSimulated is called on t before its body.
func (t *Task) beginSimulated() {
	if s, a := t.simulation(); a != nil {
		s.tell(a)
		s.note(a, Step{Op: OpBegin})
	}
}

// endSimulated is called on t after its body.
func (t *Task) endSimulated(how flight.Reason) {
	s, a := t.simulation()
	if a == nil || t.Adopted() { // who has adopted it goes on
		return
	}
	if s.current.Load() != a { // it ends after all
		s.mu.Lock()
		s.stirLocked()
		s.mu.Unlock()
		return
	}
	a.mounted = false
	s.note(a, Step{Op: OpEnd, Reason: how})
}

// yieldSimulated is a yield of t, if a simulation executes it.
func (t *Task) yieldSimulated() bool {
	s, a := t.simulation()
	if a == nil {
		return false
	}
	s.tell(a)
	s.note(a, Step{Op: OpYield})
	s.offer(a, OpYield, 0)
	return true
}

// parkSimulated is called on t when it is about to park.
func (t *Task) parkSimulated(p Pause) {
	s, a := t.simulation()
	if a == nil {
		return
	}
	s.tell(a)
	if s.current.Load() != a {
		return
	}
	s.settle() // so that it is settled whether there is a permit
	step := Step{Op: OpPark, On: p.Blocker, Reason: p.Reason}
	if m := t.timer; m != nil && m.armed {
		step.For = m.when - s.now()
	}
	if p.Blocker.Kind() == flight.BlockedByThread {
		step.Other = s.numberOf(flight.ThreadID(p.Blocker.ID()))
	}
	if t.word.Load()&stateMask == leased {
		step.Op = OpPermit
	} else {
		a.mounted = false // or held
	}
	a.pause, a.lonely, a.patience = p, 0, 0
	s.note(a, step)
}

// afterPark calls f on a goroutine of its own once t, the caller, has parked. It returns false if no simulation executes t: then it does not.
func (t *Task) afterPark(f func()) bool {
	s, a := t.simulation()
	if a == nil || s.current.Load() != a {
		return false
	}
	s.after = f
	return true
}

// resumedSimulated is called on t when it goes on after a park.
func (t *Task) resumedSimulated() {
	if s, a := t.simulation(); a != nil {
		a.pause = Pause{}
		s.tell(a)
	}
}

// holdSimulated is called on t when it has parked without leaving its carrier, and is about to block: another carrier has the turn from now on.
func (t *Task) holdSimulated() {
	s, a := t.simulation()
	if a == nil || !s.current.CompareAndSwap(a, nil) {
		return
	}
	s.alarm.Stop()
	s.mu.Lock()
	a.held = true
	s.mu.Unlock()
	go s.carry()
}

// unholdSimulated takes in a thread that may go on, where it is. It returns false if that is not the simulation's business.
func (t *Task) unholdSimulated() bool {
	s, ok := t.sched.(*Simulated)
	if !ok {
		return false
	}
	by := s.acting()
	m := &s.mu
	m.Lock()
	a := m.actors[t.id]
	if a == nil || !a.held {
		m.Unlock()
		return false
	}
	a.held, a.inPlace, a.mounted, a.silent = false, true, true, by != nil
	s.arriveLocked(a)
	m.Unlock()
	if by != nil {
		s.note(by, Step{Op: OpWake, Other: a.number})
	}
	return true
}

// Settle returns, in a simulation, when all goroutines that are no threads wait: those that the caller has just made, as the end of a context does, would
// otherwise act at a time of their own. Elsewhere it does nothing.
func Settle() {
	if !Simulating() {
		return
	}
	if t := Current(); t != nil {
		if s, ok := t.sched.(*Simulated); ok {
			s.o.Settle()
		}
	}
}
