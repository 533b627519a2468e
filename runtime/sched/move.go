package sched

import (
	"errors"

	"github.com/vtscope/vtscope/runtime/flight"
)

// Errors of [Task.UnparkOn].
var (
	ErrNotParked = errors.New("thread is not parked")
	ErrBound     = errors.New("thread has a goroutine of its own")
)

// An Attacher is a [Body] that keeps something for the scheduler of its task. That of package vthread does.
type Attacher interface {
	Attach(v any)
	Attachment() any
}

// Attach keeps v with the task, for its scheduler: a queue's entry, a deadline, statistics. It replaces what was attached before. A task whose body
// is no [Attacher] keeps nothing. It may be called from anywhere.
func (t *Task) Attach(v any) {
	if a, ok := t.body.(Attacher); ok {
		a.Attach(v)
	}
}

// Attachment returns what was attached last, or nil.
func (t *Task) Attachment() any {
	if a, ok := t.body.(Attacher); ok {
		return a.Attachment()
	}
	return nil
}

// Prefer notes the carrier that the task had best run on, a hint for its scheduler; 0 takes it back. What carriers there are, the scheduler
// knows: [Pinned] follows the hint when the thread starts, [ForkJoin] never. It may be called from anywhere.
func (t *Task) Prefer(c flight.CarrierID) { t.prefers.Store(uint32(c)) }

// Preferred returns what was given to [Task.Prefer], or 0.
func (t *Task) Preferred() flight.CarrierID { return flight.CarrierID(t.prefers.Load()) }

// UnparkOn unparks t and makes s its scheduler from then on, and that of the threads that it starts. It returns [ErrNotParked], and does nothing, if t is not parked: what is
// under way cannot be moved. A pinned thread is not parked; one with a goroutine of its own cannot be moved at all
// ([ErrBound]), nor given one. A thread that has begun on a locked carrier, as those of [Pinned] are, can go on there alone, and no other thread
// can ([ErrLockedCarrier]). Any other error is the refusal of s; t then stays parked, and where it was.
func (t *Task) UnparkOn(s Scheduler) error {
	own, _ := t.Own()
	if _, toOwn := s.(bound); own || toOwn || t.Adopted() {
		return ErrBound
	}
	t.lockMark(moving)
	was := t.sched
	w := t.word.Load()
	if w&stateMask != paused || !t.word.CompareAndSwap(w, w&^lowMask|runnable) {
		t.marks.And(^moving)
		return ErrNotParked
	}
	t.sched = s // t is ours
	t.marks.And(^moving)
	t.moved(flight.StateRunnable)
	me := Current()
	t.recordUnpark(me)
	for {
		err := t.suits()
		if err != nil {
			t.recordRefusal(me)
		} else {
			t.rec.Moved(idOf(s))
			if err = t.submit(me); err == nil {
				if fj := forkJoinOf(was); fj != nil {
					fj.tally.moved.Add(-1)
				}
				if fj := forkJoinOf(s); fj != nil {
					fj.tally.moved.Add(1)
				}
				return nil
			}
			t.rec.Moved(idOf(was))
		}
		t.lockMark(moving)
		t.sched = was
		t.marks.And(^moving)
		var m *timer
		if t.timer != nil && t.timer.armed {
			m = t.timer
		}
		if t.refused(w, flight.ReasonNone) {
			if m != nil && m.fired.Load() {
				_ = t.Unpark() // while it was not parked, and so in vain; t takes it for a permit
			}
			return err
		}
		// Somebody has given it a permit meanwhile, and believes that it goes on: it does, where it was.
		if t.submit(me) == nil || t.refused(w, flight.ReasonNone) {
			return err
		}
	}
}

// suits tells why the scheduler of t, which was not its scheduler before, cannot continue it, where that is known. Others find out by [Task.Run].
func (t *Task) suits() error {
	switch s := t.sched.(type) {
	case *ForkJoin:
		return s.suits(t)
	case *Single:
		return s.fj.suits(t)
	}
	return nil
}
