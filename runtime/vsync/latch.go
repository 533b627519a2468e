package vsync

import (
	"context"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/sched"
)

// A Latch has a count, and is open when that is 0. It may be used again, as a sync.WaitGroup. Its zero value is open.
type Latch struct {
	count   atomic.Int64
	waiters waiters
	told    account
}

// NewLatch returns a latch with a count. It panics if that is negative.
func NewLatch(count int) *Latch {
	l := &Latch{told: account{label: made()}}
	l.Add(count)
	return l
}

// SetName gives l a name, which dumps show with the place where that was done. It must be called before anybody uses l.
func (l *Latch) SetName(name string) { l.told.setName(name) }

// Add adds n, which may be negative, to the count. When that becomes 0, all go on that wait. It does not block. It panics, and does nothing, if
// the count would become negative.
func (l *Latch) Add(n int) {
	sched.Point(sched.OpPoint, l.blocker())
	for {
		was := l.count.Load()
		now := was + int64(n)
		if now < 0 {
			panic("vsync: negative latch count")
		}
		if l.count.CompareAndSwap(was, now) {
			if now == 0 && was != 0 {
				l.open()
			}
			break
		}
	}
	sched.Point(sched.OpPoint, l.blocker())
}

func (l *Latch) open() {
	q := &l.waiters
	q.Lock()
	n := q.takeAllLocked()
	q.Unlock()
	wakeAll(n)
}

// Done is Add(-1).
func (l *Latch) Done() { l.Add(-1) }

// Count returns the count of the moment.
func (l *Latch) Count() int { return int(l.count.Load()) }

// Wait waits until the latch is open. A thread parks, a goroutine blocks; interrupts play no part.
func (l *Latch) Wait() { _ = l.wait(always) }

// WaitInterruptibly is [Latch.Wait] for who may be interrupted: if the calling thread is while it waits, or was before, WaitInterruptibly clears the interrupt
// status and returns [ErrInterrupted].
func (l *Latch) WaitInterruptibly() error { return l.wait(alert) }

// WaitFor is [Latch.WaitInterruptibly] for at most d; then it returns [ErrTimeout].
func (l *Latch) WaitFor(d time.Duration) error { return l.wait(within(d)) }

// WaitContext is [Latch.WaitInterruptibly] that also returns when ctx ends, or had ended before, with its cause.
func (l *Latch) WaitContext(ctx context.Context) error { return l.wait(inContext(ctx)) }

func (l *Latch) wait(limits *sched.Limits) error {
	sched.Point(sched.OpPoint, l.blocker())
	if limits == always && l.count.Load() == 0 {
		return nil
	}
	me := sched.Current()
	if err := ended(me, limits); err != nil {
		return err
	}
	for {
		n := new(waiter).ready(me, limits, l, nil)
		q := &l.waiters
		q.Lock()
		if l.count.Load() == 0 {
			q.Unlock()
			return limits.Late()
		}
		q.pushLocked(n)
		q.Unlock()
		got, err := q.await(n, limits, flight.ReasonCondition, l)
		switch {
		case err != nil:
			return err
		case got:
			return limits.Late()
		}
	}
}

func (l *Latch) blocker() flight.Blocker {
	return flight.BlockAt(flight.BlockedByLatch, uintptr(unsafe.Pointer(l)))
}

func (l *Latch) account() *account { return &l.told }
func (l *Latch) capacity() uint64  { return 0 }

func (l *Latch) tell(r *flight.BlockerRecord, waiting int) { r.Count(l.count.Load(), waiting) }
