package sched

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/internal/coro"
)

// A Waiter is a thread or a plain goroutine that waits to be woken once. Threads park, goroutines block. It is what
// synchronizers queue.
type Waiter struct {
	Next *Waiter // for whoever queues it

	task  *Task
	taken bool // the thread's own is used: only the thread touches it
	state atomic.Uint32
	wg    sync.WaitGroup // of a goroutine: it also works inside a synctest bubble
	woken chan struct{}  // instead, of a goroutine that may give up
}

// The states of a waiter. Who moves it from waiting decides how the wait ends.
const (
	waiting uint32 = iota
	woken
	left
	passed // left, and woken since
)

// NewWaiter returns a waiter for the calling thread or goroutine; me is [Current]. A thread has one of its own, which it uses again and
// again: when its wait is over, the waiter must have been woken, or must have left every queue. Waits nest: a thread that waits for
// something else before its first wait is over, in code that a lock or a context calls, gets another waiter.
func NewWaiter(me *Task) *Waiter {
	if me == nil {
		w := new(Waiter)
		w.wg.Add(1)
		return w
	}
	w := &me.wakeable().waiter
	if w.taken {
		return &Waiter{task: me}
	}
	w.task = me
	w.taken = true
	w.Next = nil
	w.state.Store(waiting)
	return w
}

// Drop is called instead of [Waiter.Wait] by the maker of a waiter that is in no queue and that nobody else knows.
func (w *Waiter) Drop() { w.taken = false }

// NewLooseWaiter is [NewWaiter] for who may give up waiting ([Waiter.WaitWithin]): the waiter may stay queued then.
func NewLooseWaiter(me *Task) *Waiter {
	w := &Waiter{task: me}
	if me == nil {
		w.woken = make(chan struct{}, 1)
	}
	return w
}

// Wait blocks its maker until [Waiter.Wake]: a thread parks, and p is what a dump shows of it. It is
// called once. A permit that somebody else gives the thread meanwhile, or gave it before, is kept for its next park; the interrupt
// status plays no part.
func (w *Waiter) Wait(p Pause) {
	if w.task == nil {
		rec := w.openWait(&Limits{}, p)
		if w.woken != nil {
			<-w.woken
		} else {
			w.wg.Wait()
		}
		flight.Default().CloseWait(rec)
		return
	}
	permit := false
	for w.state.Load() == waiting {
		had := w.task.Park(p)
		// A permit that was there at once may be the waker's own, or one that hides it: then it is given back for nothing, which
		// any park has to stand.
		permit = permit || had || w.state.Load() == waiting
	}
	if permit {
		w.task.keepPermit()
	}
	w.taken = false
}

// Limits tell when to give up waiting. The zero value means never.
type Limits struct {
	Context    context.Context // if not nil, when it ends
	Until      time.Duration   // if not 0, at that time: see [After]
	Interrupts bool            // when the waiting thread is interrupted, or was before
}

// WaitWithin is [Waiter.Wait] within limits. When it gives up it returns [ErrTimeout], [ErrInterrupted], having cleared the interrupt
// status, or the context's cause; a permit is kept as by Wait. The waiter, if it is in a queue still, can be dropped from there at any time: Wake does
// nothing any more. A goroutine's waiter must be a loose one unless the limits are but interrupts, which do not reach it.
func (w *Waiter) WaitWithin(l Limits, p Pause) (err error) {
	if w.task == nil {
		rec := w.openWait(&l, p)
		err = w.blockWithin(l)
		flight.Default().CloseWait(rec)
		return err
	}
	if l.timed() && !Simulating() {
		p.Blocker = p.Blocker.Limited()
	}
	t := w.task
	var stop func() bool
	if l.Context != nil {
		stop = context.AfterFunc(l.Context, func() { _ = t.Unpark() })
	}
	when := l.Until
	permit, ended := false, false
	for w.state.Load() == waiting {
		if err = l.reached(t, when); err != nil {
			if w.state.CompareAndSwap(waiting, left) {
				break
			}
			if err == ErrInterrupted { // it was woken first
				t.marks.Or(interrupted)
			}
			err = nil
			break
		}
		had, expired := false, false
		if when != 0 {
			had, expired = t.ParkUntil(when, p)
		} else {
			var s *coro.Slot
			if s, had = t.Leave(p, stackSkip); s != nil {
				s.Switch()
				t.Arrive()
			}
		}
		// What woke t, if it had waited: the waker, a limit, or else somebody's permit. See [Task.Interrupt] for two at once.
		switch {
		case had:
			permit = true
		case expired || w.state.Load() != waiting:
		case l.ended(t):
			ended = true
		default:
			permit = true
		}
	}
	if stop != nil && stop() && ended && err != nil && err != ErrInterrupted && err != ErrTimeout {
		permit = true // the context has ended, and was about to unpark t: it was somebody else
	}
	if permit {
		t.keepPermit()
	}
	w.taken = false
	return err
}

// Late returns why a wait within l that has brought its caller something has failed all the same, or nil: a context that has ended is
// preferred to what came at the same time, as in golang.org/x/sync/semaphore. The caller gives back what it got.
func (l *Limits) Late() error {
	if l.Context != nil && l.Context.Err() != nil {
		return context.Cause(l.Context)
	}
	return nil
}

// timed reports whether the wait ends at some time.
func (l *Limits) timed() bool {
	_, timed := l.left()
	return timed
}

// left is how long the wait can take.
func (l *Limits) left() (left time.Duration, timed bool) {
	if l.Until != 0 {
		left, timed = l.Until-time.Since(epoch), true
	}
	if l.Context != nil {
		if end, ok := l.Context.Deadline(); ok {
			if d := time.Until(end); !timed || d < left {
				left, timed = d, true
			}
		}
	}
	return max(left, 0), timed
}

// openWait records that the calling goroutine, which is no thread, begins to wait, unless it was woken already, or has no reason to show.
func (w *Waiter) openWait(l *Limits, p Pause) *flight.WaitRecord {
	r := flight.Default()
	if r == nil || p.Reason == flight.ReasonNone || w.state.Load() != waiting {
		return nil
	}
	now := flight.Now()
	s := flight.WaitSpec{
		Party: flight.PartyGoroutine(coro.Goroutine()), State: p.State, Reason: p.Reason, Stack: r.Stack(stackSkip + 1), Blocker: p.Blocker,
	}
	if left, timed := l.left(); timed {
		s.Until = now.Add(left) + 1
	}
	return r.OpenWait(s, now)
}

// ended reports whether there is a reason to give up that has unparked t.
func (l *Limits) ended(t *Task) bool {
	return l.Interrupts && t.Interrupted() || l.Context != nil && l.Context.Err() != nil
}

// reached tells why to give up, or nil. An interrupt is taken.
func (l *Limits) reached(t *Task, when time.Duration) error {
	switch {
	case l.Interrupts && t.TakeInterrupt():
		return ErrInterrupted
	case l.Context != nil && l.Context.Err() != nil:
		return context.Cause(l.Context)
	case when != 0 && time.Since(epoch) >= when:
		return ErrTimeout
	}
	return nil
}

func (w *Waiter) blockWithin(l Limits) (err error) {
	if w.woken == nil {
		w.wg.Wait()
		return nil
	}
	var ended <-chan struct{}
	if l.Context != nil {
		ended = l.Context.Done()
	}
	var late <-chan time.Time
	if l.Until != 0 {
		timer := time.NewTimer(l.Until - time.Since(epoch))
		defer timer.Stop()
		late = timer.C
	}
	select {
	case <-w.woken:
		return nil
	case <-ended:
		err = context.Cause(l.Context)
	case <-late:
		err = ErrTimeout
	}
	if !w.state.CompareAndSwap(waiting, left) {
		<-w.woken
		return nil
	}
	return err
}

// Passed waits, a moment, until a waiter that has given up was woken all the same: its maker calls it when somebody else has taken it
// from its queue, and may ask for another then.
func (w *Waiter) Passed() {
	for w.task != nil && w.state.Load() == left {
		runtime.Gosched()
	}
}

// Wake ends the wait, or prevents it. Anybody may call it. It does not block. It does nothing if the waiter was woken before, or
// has given up. The error is the refusal of the thread's scheduler: then the thread stays parked until somebody else unparks it.
func (w *Waiter) Wake() error {
	t, loose := w.task, w.woken // w may be its maker's again once the state has changed
	if !w.state.CompareAndSwap(waiting, woken) {
		w.state.CompareAndSwap(left, passed)
		return nil
	}
	switch {
	case t != nil:
		return t.Unpark()
	case loose != nil:
		loose <- struct{}{}
	default:
		w.wg.Done()
	}
	return nil
}
