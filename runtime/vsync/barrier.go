package vsync

import (
	"context"
	"errors"
	"time"
	"unsafe"

	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/sched"
)

// ErrBroken is returned to those who wait at a [Barrier] that somebody has left.
var ErrBroken = errors.New("vsync: barrier is broken")

// A Barrier is where a number of parties wait for each other, round after round. NewBarrier makes it.
//
// When one gives up its wait the barrier is broken: all others that wait, or come, get [ErrBroken], until [Barrier.Reset].
type Barrier struct {
	// B1  A round is complete when the last has come. Its waiters stay until the action has ended; those behind them belong to the next round.

	parties int
	action  func()
	waiters waiters // its lock guards all that follows
	arrived int     // of this round
	round   int64
	broken  bool
	told    account
}

// NewBarrier returns a barrier for a number of parties. If action is not nil, the last of each round calls it, before any goes on; if it panics, the
// barrier breaks. It panics if there are no parties.
func NewBarrier(parties int, action func()) *Barrier {
	if parties < 1 {
		panic("vsync: barrier without parties")
	}
	return &Barrier{parties: parties, action: action, told: account{label: made()}}
}

// SetName gives b a name, which dumps show. It must be called before anybody uses b.
func (b *Barrier) SetName(name string) { b.told.setName(name) }

// Wait waits until all parties have come. It returns how many had come before the caller in this round. A thread parks, a goroutine blocks; interrupts play
// no part. The error is nil or [ErrBroken].
func (b *Barrier) Wait() (before int, err error) { return b.wait(always) }

// WaitInterruptibly is [Barrier.Wait] for who may be interrupted: if the calling thread is while it waits, or was before, WaitInterruptibly clears the interrupt
// status, breaks the barrier and returns [ErrInterrupted].
func (b *Barrier) WaitInterruptibly() (before int, err error) { return b.wait(alert) }

// WaitFor is [Barrier.WaitInterruptibly] for at most d; then it breaks the barrier and returns [ErrTimeout].
func (b *Barrier) WaitFor(d time.Duration) (before int, err error) { return b.wait(within(d)) }

// WaitContext is [Barrier.WaitInterruptibly] that also ends when ctx does, or had before: it breaks the barrier and returns the cause.
func (b *Barrier) WaitContext(ctx context.Context) (before int, err error) {
	return b.wait(inContext(ctx))
}

func (b *Barrier) wait(l *sched.Limits) (before int, err error) {
	sched.Point(sched.OpPoint, b.blocker())
	me := sched.Current()
	q := &b.waiters
	n := new(waiter).ready(me, l, b, nil)
	q.Lock()
	if b.broken {
		q.Unlock()
		return 0, ErrBroken
	}
	round := b.round
	if err := ended(me, l); err != nil {
		others := b.breakLocked(round)
		q.Unlock()
		wakeAll(others)
		return 0, err
	}
	before = b.arrived
	b.arrived++
	if b.arrived == b.parties {
		b.arrived = 0
		b.round++
		q.Unlock()
		err := b.complete(round)
		sched.Point(sched.OpPoint, b.blocker())
		return before, err
	}
	n.number = round
	q.pushLocked(n)
	q.Unlock()
	switch _, err := q.await(n, l, flight.ReasonCondition, b); {
	case err != nil:
		b.left(round)
		return before, err
	case !n.handed:
		return before, ErrBroken
	}
	return before, nil // also if it was refused, and goes on all the same
}

// complete ends a round in which all have come.
func (b *Barrier) complete(round int64) error {
	whole := false
	defer func() {
		if !whole { // the action has panicked
			b.leave(round, false)
		}
	}()
	if b.action != nil {
		b.action()
	}
	whole = true
	b.leave(round, true)
	return nil
}

// leave lets those go on that wait in a round in which all have come. If it is not whole the barrier breaks for them, and for those behind them.
func (b *Barrier) leave(round int64, whole bool) {
	q := &b.waiters
	q.Lock()
	var those *waiter
	if whole {
		those = b.takeLocked(round, round)
		for n := those; n != nil; n = n.next {
			n.handed = true
		}
	} else {
		those = b.breakLocked(round)
	}
	q.Unlock()
	wakeAll(those)
}

// left breaks the barrier for one who has given up, unless all have come in its round.
func (b *Barrier) left(round int64) {
	q := &b.waiters
	q.Lock()
	var others *waiter
	if b.round == round {
		others = b.breakLocked(round)
	}
	q.Unlock()
	wakeAll(others)
}

// breakLocked breaks the barrier for who waits in the rounds from one on, and returns those to be woken.
func (b *Barrier) breakLocked(from int64) *waiter {
	those := b.takeLocked(from, b.round)
	b.broken = true
	b.arrived = 0
	b.round++
	return those
}

// takeLocked takes out who waits in the rounds from one to another, and returns the first, the others following by next.
func (b *Barrier) takeLocked(from, to int64) (first *waiter) {
	q := &b.waiters
	var last *waiter
	for n := q.first; n != nil && n.number <= to; {
		next := n.next
		if n.number >= from {
			q.takeLocked(n)
			if last == nil {
				first = n
			} else {
				last.next = n
			}
			last = n
		}
		n = next
	}
	return first
}

// Reset breaks the barrier for those who wait, and makes it whole for those who come. It does not block.
func (b *Barrier) Reset() {
	q := &b.waiters
	q.Lock()
	others := b.breakLocked(b.round)
	b.broken = false
	q.Unlock()
	wakeAll(others)
	sched.Point(sched.OpPoint, b.blocker())
}

// Broken reports whether the barrier is broken.
func (b *Barrier) Broken() bool {
	b.waiters.Lock()
	defer b.waiters.Unlock()
	return b.broken
}

func (b *Barrier) blocker() flight.Blocker {
	return flight.BlockAt(flight.BlockedByBarrier, uintptr(unsafe.Pointer(b)))
}

func (b *Barrier) account() *account { return &b.told }
func (b *Barrier) capacity() uint64  { return uint64(b.parties) }

func (b *Barrier) tell(r *flight.BlockerRecord, waiting int) {
	b.waiters.Lock()
	missing := b.parties - b.arrived
	b.waiters.Unlock()
	r.Count(int64(missing), waiting)
}
