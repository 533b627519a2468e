package sched

import (
	"runtime"
	"time"

	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/internal/panicstack"
)

// A FailureKind tells how a simulation has failed.
type FailureKind uint8

// The kinds of failures.
const (
	Deadlock FailureKind = iota + 1 // all threads wait, and no time that they wait for will come
	Blocked                         // a thread blocks, but not by our primitives
	Panicked                        // nobody has handled a panic of a thread
	Endless                         // there were too many choices
	Stopped                         // Choose has said so
)

// A Failure is how a simulation has failed.
type Failure struct {
	Kind    FailureKind
	At      time.Duration // since the simulation began; without what has passed to find out that nothing would come
	Thread  int           // that blocks or has panicked; 0: none of the simulation
	Value   any           // of the panic
	Stack   []byte        // of the panic, in Go's form, with the guilty frames
	Threads []Waiting     // those that had not ended
}

// A Waiting is a thread that has not ended when a simulation fails.
type Waiting struct {
	Thread int
	State  flight.State
	Pause  Pause     // if it is parked, or executes elsewhere
	Other  int       // the thread that it waits for, if there is one
	PCs    []uintptr // its stack, as far as it can be seen
}

// fail ends the simulation, unless it has failed before (V4). The caller has the turn, or has taken it away.
func (s *Simulated) fail(f *Failure) {
	f.Threads = s.waiting(f)
	m := &s.mu
	m.Lock()
	defer m.Unlock()
	if !m.ending {
		m.ending = true
		m.failure = f
	}
}

// elapsed is how long the simulation has lasted, in its own time.
func (s *Simulated) elapsed() time.Duration { return time.Since(s.begun) }

// ends reports whether the simulation has failed.
func (s *Simulated) ends() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mu.ending || s.mu.over
}

func (s *Simulated) waiting(f *Failure) (all []Waiting) {
	s.mu.Lock()
	actors := s.mu.all
	s.mu.Unlock()
	for _, a := range actors {
		t := s.taskOf(a)
		if t.Done() {
			continue
		}
		w := Waiting{Thread: a.number, State: t.State()}
		if w.State != flight.StateRunnable {
			w.Pause = a.pause // also of one that executes elsewhere
			if b := w.Pause.Blocker; b.Kind() == flight.BlockedByThread {
				w.Other = s.numberOf(flight.ThreadID(b.ID()))
			}
		}
		if t != Current() {
			w.PCs, _ = t.Frames()
		}
		all = append(all, w)
	}
	return all
}

// overdue is called when time passes while a thread has the turn (V3): it waits for time to pass, or for others, and holds its carrier.
func (s *Simulated) overdue() {
	a := s.current.Load()
	if a == nil || !s.current.CompareAndSwap(a, nil) {
		return
	}
	s.fail(&Failure{Kind: Blocked, At: s.elapsed(), Thread: a.number})
	s.carry()
}

// tell ends the thread a, the caller, if the simulation has failed and it does not know it yet (V4).
func (s *Simulated) tell(a *actor) {
	m := &s.mu
	m.Lock()
	ends := (m.ending || m.over) && !a.told
	if ends {
		a.told = true
	}
	m.Unlock()
	if !ends {
		return
	}
	if timer := a.task.timer; timer != nil && timer.armed {
		timer.disarm()
	}
	runtime.Goexit()
}

// unwind goes on with V4 when no thread can. It returns false when nothing is left to do.
func (s *Simulated) unwind() bool {
	s.mu.Lock()
	sleeps := len(s.mu.timers) > 0
	s.mu.Unlock()
	switch {
	case s.rounds > 0 && sleeps && s.pass(never), s.tellAll():
		return true
	case !s.waited:
		s.waited = true
		s.pass(lastWait) // what is left blocks in operations of Go's; some end by time
		return true
	}
	return false
}

// lastWait is for how long, in virtual time, a failed simulation waits for threads that it cannot tell.
const lastWait = time.Minute

// tellAll makes all threads go on, to be told again. It returns false when that does not help.
func (s *Simulated) tellAll() bool {
	if s.rounds++; s.rounds > maxRounds {
		return false
	}
	m := &s.mu
	m.Lock()
	actors := m.all
	for _, a := range actors {
		a.told = false
	}
	m.Unlock()
	for _, a := range actors {
		_ = s.taskOf(a).Unpark() // nobody refuses
	}
	s.settle()
	m.Lock()
	defer m.Unlock()
	return len(m.arrived) > 0
}

// maxRounds is how often a thread is told to end, each time out of a park of a deferred function of its own.
const maxRounds = 100

// panicSimulated takes a panic that nobody handles for the failure of the simulation, if there is one. It is called while the guilty frames stand.
func (t *Task) panicSimulated(value any) bool {
	s, ok := t.sched.(*Simulated)
	if ok {
		s.fail(&Failure{Kind: Panicked, At: s.elapsed(), Thread: s.numberOf(t.id), Value: value, Stack: panicstack.Of()})
	}
	return ok
}

// Moves changes whenever a thread does something, until the simulation has failed. It may be called from outside the bubble.
func (s *Simulated) Moves() uint64 { return s.moves.Load() }

// A Suspect is who keeps a simulation from going on.
type Suspect struct {
	Thread  int       // 0: a goroutine that is no thread, or nobody
	Blocks  bool      // the thread blocks in an operation of Go's; else it executes
	Waiting []Waiting // as those of [Failure]
}

// Suspect looks from outside the bubble for who keeps s from going on, when [Simulated.Moves] has stood still for long. It does not wait for anybody.
func (s *Simulated) Suspect() Suspect {
	var v Suspect
	if a := s.current.Load(); a != nil && !s.settling.Load() {
		v.Thread = a.number
		t := s.taskOf(a)
		v.Blocks = blocks(t.blocksIn(t.beganOn()))
	}
	v.Waiting = s.waiting(nil)
	return v
}

// Abandon ends the simulation from outside the bubble: threads that go on after all end at their next step. It returns how the simulation has failed
// before, or nil.
func (s *Simulated) Abandon() *Failure {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.ending = true
	return s.mu.failure
}
