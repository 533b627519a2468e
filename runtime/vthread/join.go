package vthread

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/sched"
)

// ended in place of the joiners says that the thread has ended.
var ended = new(sched.Waiter)

// Join waits until the thread has ended; it returns at once if it was not started. Thread and goroutine may
// both call it: a thread parks, a goroutine blocks. If the calling thread is interrupted while it waits, or was before, Join clears its
// interrupt status and returns [ErrInterrupted]; there is no other error. An interrupt from before counts also when the thread has ended;
// the JDK's Thread.join returns normally then and leaves the status set. A thread that joins itself panics.
func (t *Thread) Join() error {
	if t.joiners.Load() == ended || t.task.Fresh() {
		return t.joined()
	}
	return t.join(sched.Limits{Interrupts: true})
}

// JoinFor is [Thread.Join] for at most d, and tells whether the thread has ended: false, without an error, when the time was over. It
// returns [ErrNotStarted] for a thread that is new.
func (t *Thread) JoinFor(d time.Duration) (hasEnded bool, err error) {
	if t.task.Fresh() {
		return false, fmt.Errorf("vthread: join %s: %w", t, ErrNotStarted)
	}
	if hasEnded = t.joiners.Load() == ended; hasEnded || d <= 0 {
		err = t.joined()
		return hasEnded && err == nil, err
	}
	switch err := t.join(sched.Limits{Until: sched.After(d), Interrupts: true}); err {
	case nil:
		return true, nil
	case ErrTimeout:
		return false, nil
	default:
		return false, err
	}
}

// JoinContext is [Thread.Join] that also returns when ctx ends, with its cause, also if the thread ends at the same time. Of a thread that has ended before it
// returns what Join does.
func (t *Thread) JoinContext(ctx context.Context) error {
	if t.joiners.Load() == ended || t.task.Fresh() {
		return t.joined()
	}
	return t.join(sched.Limits{Context: ctx, Interrupts: true})
}

// joined is what a join returns that need not wait.
func (t *Thread) joined() error {
	if me := sched.Current(); me != nil && me.TakeInterrupt() {
		return ErrInterrupted
	}
	return nil
}

func (t *Thread) join(l sched.Limits) error { return t.joinFor(l, flight.ReasonJoin) }

// joinFor waits for the end of t, for the reason that a dump shall show.
func (t *Thread) joinFor(l sched.Limits, why flight.Reason) error {
	me := sched.Current()
	if me == &t.task {
		panic(fmt.Sprintf("vthread: thread %s joins itself", t))
	}
	if l.Interrupts { // now: t may end before the wait looks at it
		if err := t.joined(); err != nil {
			return err
		}
	}
	var w *sched.Waiter
	if me == nil && (l.Context != nil || l.Until != 0) {
		w = sched.NewLooseWaiter(me)
	} else {
		w = sched.NewWaiter(me)
	}
	for {
		first := t.joiners.Load()
		if first == ended {
			w.Drop()
			return l.Late()
		}
		w.Next = first
		if t.joiners.CompareAndSwap(first, w) {
			break
		}
	}
	if t.task.Fresh() {
		t.release() // its scheduler has refused it meanwhile
	}
	err := w.WaitWithin(l, sched.Pause{State: flight.StateWaiting, Reason: why, Blocker: flight.BlockThread(t.ID())})
	if err != nil {
		t.unjoin(w)
		return err
	}
	return l.Late()
}

// unjoining is held by who takes a waiter out of the joiners of a thread, so that there is only one who does.
var unjoining sync.Mutex

// unjoin takes out a waiter that has given up, before its maker uses it again.
func (t *Thread) unjoin(w *sched.Waiter) {
	unjoining.Lock()
	defer unjoining.Unlock()
	first := t.joiners.Load()
	for {
		if first == ended || first == nil {
			w.Passed() // somebody goes through them, and is about to come by w
			return
		}
		if t.joiners.CompareAndSwap(first, nil) {
			break
		}
		first = t.joiners.Load()
	}
	rest, last := first, (*sched.Waiter)(nil)
	for at := &rest; *at != nil; {
		if *at == w {
			*at = w.Next
			continue
		}
		last = *at
		at = &last.Next
	}
	for last != nil {
		now := t.joiners.Load()
		if now == ended {
			wake(rest) // nobody else has seen them
			return
		}
		last.Next = now
		if t.joiners.CompareAndSwap(now, rest) {
			return
		}
	}
}

// release lets those go on who joined a thread that was about to start, and is new again.
func (t *Thread) release() {
	for {
		first := t.joiners.Load()
		if first == nil || first == ended {
			return
		}
		if t.joiners.CompareAndSwap(first, nil) {
			wake(first)
			return
		}
	}
}

func wake(w *sched.Waiter) {
	for w != nil {
		next := w.Next // w is its maker's again once it is woken
		_ = w.Wake()   // refused, it stays parked: who closed its scheduler knows
		w = next
	}
}
