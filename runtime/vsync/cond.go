package vsync

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/sched"
)

// A Cond is where threads and goroutines wait until something has changed that a lock guards. They wait in the order in which they came. Who is not
// chosen goes on only if who was chosen cannot, because pinned threads hold all its carriers; so Wait stands in a loop that looks at what has changed.
type Cond struct {
	// L is held by who calls Wait. It is any lock; a thread that waits for one of this package again gives its carrier away.
	L sync.Locker

	waiters waiters
	self    atomic.Uintptr // where it is, once it is used
	told    account
}

// NewCond returns a condition of what l guards.
func NewCond(l sync.Locker) *Cond { return &Cond{L: l, told: account{label: made()}} }

// SetName gives c a name, which dumps show. It must be called before anybody uses c.
func (c *Cond) SetName(name string) { c.told.setName(name) }

// Wait unlocks c.L, waits until it is chosen by Signal or Broadcast, and locks c.L again. A [ReentrantMutex], also one that is embedded in
// c.L, it unlocks as often as the caller has locked it, and locks as often again. A thread parks, a goroutine blocks. Interrupts play no part.
func (c *Cond) Wait() { _ = c.wait(always) }

// WaitInterruptibly is [Cond.Wait] for who may be interrupted: if the calling thread is while it waits, or was before, WaitInterruptibly clears the interrupt
// status and returns [ErrInterrupted]. It has locked c.L again in any case. Who was chosen is not interrupted any more.
func (c *Cond) WaitInterruptibly() error { return c.wait(alert) }

// WaitFor is [Cond.WaitInterruptibly] for at most d; then it returns [ErrTimeout].
func (c *Cond) WaitFor(d time.Duration) error { return c.wait(within(d)) }

// WaitContext is [Cond.WaitInterruptibly] that also returns when ctx ends, or had ended before, with its cause.
func (c *Cond) WaitContext(ctx context.Context) error { return c.wait(inContext(ctx)) }

func (c *Cond) wait(l *sched.Limits) error {
	c.check()
	me := sched.Current()
	if err := ended(me, l); err != nil {
		return err
	}
	times := 1
	if l, ok := c.L.(interface{ times() int }); ok {
		times = l.times()
	}
	n := c.queue(me, l)
	c.unlock(n, times)
	defer func() {
		for range times {
			c.L.Lock()
		}
	}()
	for {
		if got, err := c.waiters.await(n, l, flight.ReasonCondition, c); got || err != nil {
			return err
		}
		n = c.queue(me, l)
	}
}

func (c *Cond) queue(me *sched.Task, l *sched.Limits) *waiter {
	n := new(waiter).ready(me, l, c, c)
	q := &c.waiters
	q.Lock()
	q.pushLocked(n)
	q.Unlock()
	return n
}

// unlock unlocks c.L for n, which stands in the queue. If that panics, it does not any more.
func (c *Cond) unlock(n *waiter, times int) {
	unlocked := false
	defer func() {
		if !unlocked {
			c.drop(n)
		}
	}()
	for range times {
		c.L.Unlock()
	}
	unlocked = true
}

// drop takes n from the queue, or passes on that it was chosen.
func (c *Cond) drop(n *waiter) {
	q := &c.waiters
	q.Lock()
	if n.in {
		q.removeLocked(n)
		q.Unlock()
		return
	}
	q.Unlock()
	if got, _ := q.await(n, always, flight.ReasonCondition, c); got {
		c.Signal()
	}
}

// Signal lets the one go on that has waited longest, if any. The caller may hold c.L, or not. It does not block.
func (c *Cond) Signal() {
	c.check()
	sched.Point(sched.OpPoint, c.blocker())
	for q := &c.waiters; ; {
		q.Lock()
		n := q.first
		if n == nil {
			q.Unlock()
			break
		}
		q.takeLocked(n)
		q.Unlock()
		if n.wake() {
			break
		}
	}
	sched.Point(sched.OpPoint, c.blocker())
}

// takeBack is that of [giver]. Who was chosen stays so, since those who have come later may wait for something else: another goes on
// without having been chosen, and finds out.
func (c *Cond) takeBack(n *waiter) {
	q := &c.waiters
	q.Lock()
	other := q.otherLocked(n)
	if other == nil || n.state.Load() != given {
		q.Unlock()
		return
	}
	q.takeLocked(other)
	q.Unlock()
	other.wake()
}

// Broadcast lets all go on that wait. The caller may hold c.L, or not. It does not block.
func (c *Cond) Broadcast() {
	c.check()
	sched.Point(sched.OpPoint, c.blocker())
	q := &c.waiters
	q.Lock()
	n := q.takeAllLocked()
	q.Unlock()
	wakeAll(n)
	sched.Point(sched.OpPoint, c.blocker())
}

// check panics if c is a copy.
func (c *Cond) check() {
	here := uintptr(unsafe.Pointer(c))
	if at := c.self.Load(); at != here && (at != 0 || !c.self.CompareAndSwap(0, here) && c.self.Load() != here) {
		panic("vsync: Cond is copied")
	}
}

func (c *Cond) blocker() flight.Blocker { return flight.BlockCondition(uintptr(unsafe.Pointer(c))) }

func (c *Cond) account() *account { return &c.told }
func (c *Cond) capacity() uint64  { return 0 }

func (c *Cond) tell(r *flight.BlockerRecord, waiting int) { r.Count(0, waiting) }
