package sched

import (
	"runtime"
	"time"

	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/internal/coro"
)

// A Pause tells, for the record, how and why a thread waits.
type Pause struct {
	State   flight.State // parked, timed-parked, blocked or waiting
	Reason  flight.Reason
	Blocker flight.Blocker
}

// Park gives up the carrier until t is unparked, or returns true at once if t has a permit, which it uses up. It must be
// called on t. It may return without either, as any park may: callers check their condition. A thread that cannot
// leave its carrier, because it is locked to an OS thread or in a pin section, holds it while it waits: it is pinned. The interrupt
// status plays no part.
func (t *Task) Park(p Pause) (hadPermit bool) {
	s, hadPermit := t.Leave(p, stackSkip+1)
	if s != nil {
		s.Switch()
		t.Arrive()
	}
	return hadPermit
}

// Leave is the first half of [Task.Park], for callers that are parks themselves: between the thread's own code and a switch each frame
// costs a return that the processor mispredicts, and is walked by whoever looks at the stack. It returns the slot to switch to, after which
// the caller calls [Task.Arrive]; nil means that the park is over. The recorded stack goes without skip frames: Leave's own, and those of callers.
func (t *Task) Leave(p Pause, skip int) (s *coro.Slot, hadPermit bool) {
	if Simulating() {
		t.parkSimulated(p)
	}
	if t.TakePermit() {
		return nil, true
	}
	c := t.on
	if c.ret == nil || t.marks.Load() >= pinStep || !c.ret.Fits() {
		t.parkInPlace(p)
		return nil, false
	}
	then := toPause | departure(pauseOf(p.State))
	if m := t.timer; m != nil && m.armed {
		then |= timed
		p.Blocker = p.Blocker.Limited()
	}
	var now flight.Ticks
	if rec := t.rec; rec != nil {
		now = flight.Now()
		c.cpuEnds(rec, now)
		if c.worker != nil {
			c.worker.noteSlice(t, rec, now, p.Reason)
		}
		stack := flight.Default().Stack(skip)
		if c.ring != nil {
			c.ring.Park(rec, t.id, now, p.State, p.Reason, stack, p.Blocker)
		} else {
			rec.Parked(now, p.State, p.Reason, stack, p.Blocker)
			c.emit(now, flight.EventPark, p.Reason, stack, t.id, uint64(p.Blocker))
			c.emit(now, flight.EventUnmount, p.Reason, 0, t.id, 0)
		}
	}
	return t.depart(c, then, now), false
}

// Arrive is the second half of a park: t goes on, perhaps on another carrier.
func (t *Task) Arrive() {
	t.on.finish()
	if in := t.traced; in != nil {
		in.arrived()
	}
	if Simulating() {
		t.resumedSimulated()
	}
}

// stackSkip hides this package's own innermost frame from recorded stacks.
const stackSkip = 1

// ParkUntil is [Task.Park] until a time, counted from the package's epoch ([After]); if that has passed, for a moment. It
// reports whether t had a permit, and whether the time was over before it was unparked.
func (t *Task) ParkUntil(when time.Duration, p Pause) (hadPermit, expired bool) {
	if t.TakePermit() {
		return true, false
	}
	m := t.wakeable()
	m.arm(t, when, t.word.Load()&^lowMask)
	s, hadPermit := t.Leave(p, stackSkip)
	if s != nil {
		s.Switch()
		t.Arrive()
	}
	expired = m.disarm() && !hadPermit
	t.word.Add(parkStep) // K5
	return hadPermit, expired
}

// TakePermit uses up the permit of t, the caller, and reports whether it had one.
func (t *Task) TakePermit() bool {
	w := t.word.Load()
	if w&stateMask != leased {
		return false
	}
	t.word.Store(w&^stateMask | runnable)
	return true
}

// Sleep parks t for d, or until it is interrupted; then it clears the interrupt status and returns true. Unparks
// do not shorten it: the permit is kept for the next park. A negative d is no sleep: the interrupt status stays as it is.
func (t *Task) Sleep(d time.Duration) (wasInterrupted bool) {
	if d < 0 {
		return false
	}
	p := Pause{State: flight.StateTimedParked, Reason: flight.ReasonSleep}
	until := After(d)
	permit := false
	for {
		if wasInterrupted = t.TakeInterrupt(); wasInterrupted || d <= 0 || permit && time.Since(epoch) >= until {
			break
		}
		had, expired := t.ParkUntil(until, p)
		if expired {
			break
		}
		permit = permit || had || !t.Interrupted()
	}
	if permit {
		t.keepPermit()
	}
	return wasInterrupted
}

// keepPermit gives t, which is the caller's, back a permit that was meant for another park.
func (t *Task) keepPermit() {
	if w := t.word.Load(); w&stateMask == runnable {
		t.word.CompareAndSwap(w, w&^stateMask|leased) // or somebody has given another
	}
}

// Yield offers the carrier to other runnable threads, if there are any. It must be called on t. It neither
// uses nor gives the permit. A pinned thread keeps its carrier.
func (t *Task) Yield() {
	c := t.on
	switch {
	case Simulating() && t.yieldSimulated():
	case c.ret == nil:
		c.emitNow(flight.EventYield, t.id)
		runtime.Gosched()
	case t.marks.Load() >= pinStep || !c.ret.Fits():
		c.emitNow(flight.EventYield, t.id)
	default:
		t.leaveYielding(c)
	}
}
