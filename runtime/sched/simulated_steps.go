package sched

import (
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/vtscope/vtscope/runtime/flight"
)

// An Op is what a [Step] of a simulation is about.
type Op uint8

// The ops of steps.
const (
	OpBegin     Op = iota + 1 // the thread begins
	OpEnd                     // it ends: Step.Reason tells how
	OpStart                   // it starts Other
	OpWake                    // it makes Other go on
	OpUnpark                  // it unparks Other
	OpInterrupt               // it interrupts Other
	OpPark                    // it parks: for Step.Reason, on Step.On, for Step.For
	OpPermit                  // it would park, but has a permit
	OpYield                   // it yields
	OpPreempted               // it could go on, but another does; Step.Next is what it was about to do
	OpLock                    // it is about to lock Step.On
	OpLocked                  // it has locked it
	OpUnlock                  // it is about to unlock it
	OpUnlocked                // it has unlocked it
	OpPoint                   // it is at a point without a name
	OpArrive                  // nobody of the simulation makes Other go on
	OpTimeout                 // time does
)

// A Step is something that a thread has done in a simulation.
type Step struct {
	At     time.Duration // since the simulation began
	Thread int           // who; 0 for none of the simulation
	Op     Op
	Next   Op             // of OpPreempted
	Other  int            // the thread that it is about; 0 for none of the simulation
	On     flight.Blocker // what it is about
	Reason flight.Reason
	For    time.Duration
	PCs    []uintptr // where, innermost first, as return addresses; with frames of the mechanism
}

// note adds a step of a; nil for none.
func (s *Simulated) note(a *actor, step Step) {
	if s.moves.Add(1) == 10*uint64(s.o.MaxChoices) {
		s.fail(&Failure{Kind: Endless, At: s.elapsed()})
	}
	step.At = s.elapsed()
	if a != nil {
		step.Thread = a.number
		var pcs [24]uintptr
		n := runtime.Callers(2, pcs[:])
		step.PCs = append([]uintptr(nil), pcs[:n]...)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.mu.ending {
		s.mu.steps.add(step)
	}
}

// noteAbout adds a step of a about the thread on. If a has just made that thread go on, that is what the step was.
func (s *Simulated) noteAbout(a *actor, op Op, on flight.Blocker) {
	other := s.numberOf(flight.ThreadID(on.ID()))
	m := &s.mu
	m.Lock()
	if last := m.steps.last(); last != nil && other != 0 {
		if last.Op == OpWake && last.Thread == a.number && last.Other == other {
			last.Op = op
			m.Unlock()
			return
		}
	}
	m.Unlock()
	s.note(a, Step{Op: op, Other: other})
}

// numberOf is the number of a thread, 0 if it is none of the simulation.
func (s *Simulated) numberOf(id flight.ThreadID) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if a := s.mu.actors[id]; a != nil {
		return a.number
	}
	return 0
}

// Steps returns what the threads have done, up to the failure, if there is one. Of very many steps, n after the first [StepsHead] are left out. The caller owns
// the slice. It may be called at any time.
func (s *Simulated) Steps() (steps []Step, n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.mu.steps.kept), s.mu.steps.cut
}

// A stepLog keeps the first and the latest steps.
type stepLog struct {
	kept []Step
	cut  int
}

// StepsHead is how many of the first steps of a simulation are always kept.
const StepsHead = 100

// stepsTail is how many of the latest are kept, at least.
const stepsTail = 10_000

func (l *stepLog) add(s Step) {
	if len(l.kept) == StepsHead+2*stepsTail {
		l.kept = slices.Delete(l.kept, StepsHead, StepsHead+stepsTail)
		l.cut += stepsTail
	}
	l.kept = append(l.kept, s)
}

func (l *stepLog) last() *Step {
	if len(l.kept) == 0 {
		return nil
	}
	return &l.kept[len(l.kept)-1]
}

// Names returns the names of the threads, by number, "" for those that have none; the first is nobody's.
func (s *Simulated) Names() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	names := []string{""}
	for _, a := range s.mu.all {
		_, name, _ := strings.Cut(a.task.label(), " ")
		if plain, err := strconv.Unquote(name); err == nil {
			name = plain
		}
		names = append(names, name)
	}
	return names
}
