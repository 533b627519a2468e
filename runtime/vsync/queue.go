package vsync

import (
	"context"
	"iter"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/sched"
)

// ErrClosed is returned for what a closed [Queue] does not do any more. It is that of package vthread.
var ErrClosed = sched.ErrNoMore

// A Queue passes elements from those who put to those who take, first in, first out; who waits for longest is served first. Its zero value is
// open and has no bound.
type Queue[T any] struct {
	// Q1  Those who wait all take, or all put: takers while there is no element, putters while there is no room.
	// Q2  Who takes an element moves that of the first putter into its place.

	bound   int         // 1 + how many elements it holds; 0: any number
	waiters waiters     // its lock guards all that follows
	putters atomic.Bool // those who wait put; stored under the lock
	closed  bool
	ring    []T
	head, n int
	told    account
}

// NewQueue returns a queue that holds at most capacity elements. With 0 each Put waits until its element is taken. It panics if capacity is
// negative.
func NewQueue[T any](capacity int) *Queue[T] {
	if capacity < 0 {
		panic("vsync: negative capacity")
	}
	return &Queue[T]{bound: 1 + capacity, told: account{label: made()}}
}

// SetName gives q a name, which dumps show with the place where that was done. It must be called before anybody uses q.
func (q *Queue[T]) SetName(name string) { q.told.setName(name) }

// Put adds an element. While there is no room, a thread parks and a goroutine blocks; interrupts play no part. It returns [ErrClosed] if the queue
// is closed, or closes meanwhile; then the element is not in it.
func (q *Queue[T]) Put(v T) error { return q.put(v, always) }

// PutInterruptibly is [Queue.Put] for who may be interrupted: if the calling thread is while it waits, or was before, PutInterruptibly clears the interrupt
// status and returns [ErrInterrupted], without having added the element.
func (q *Queue[T]) PutInterruptibly(v T) error { return q.put(v, alert) }

// PutFor is [Queue.PutInterruptibly] for at most d; then it returns [ErrTimeout].
func (q *Queue[T]) PutFor(v T, d time.Duration) error { return q.put(v, within(d)) }

// PutContext is [Queue.PutInterruptibly] that also returns when ctx ends, or had ended before, with its cause.
func (q *Queue[T]) PutContext(ctx context.Context, v T) error { return q.put(v, inContext(ctx)) }

// TryPut adds an element if there is room, or somebody waits for it, and reports whether it did. It does not block.
func (q *Queue[T]) TryPut(v T) bool {
	sched.Point(sched.OpPoint, q.blocker())
	did, err := q.putNow(v, nil)
	sched.Point(sched.OpPoint, q.blocker())
	return did && err == nil
}

func (q *Queue[T]) put(v T, l *sched.Limits) error {
	sched.Point(sched.OpPoint, q.blocker())
	if l != always {
		if err := ended(sched.Current(), l); err != nil {
			return err
		}
	}
	did, err := q.putNow(v, nil)
	if !did {
		err = q.putLater(v, l)
	}
	sched.Point(sched.OpPoint, q.blocker())
	return err
}

// putNow adds v, or returns false if there is no room: then n, if it is not nil, waits.
func (q *Queue[T]) putNow(v T, n *waiter) (did bool, err error) {
	for {
		q.waiters.Lock()
		first := q.waiters.first
		switch {
		case q.closed:
			err = ErrClosed
		case first != nil && !q.putters.Load():
			q.waiters.takeLocked(first)
			*first.value.(*T) = v
			first.handed = true
			q.waiters.Unlock()
			if first.wake() {
				return true, nil
			}
			continue
		case q.bound == 0 || q.n < q.bound-1:
			q.pushLocked(v)
		default:
			if n != nil {
				q.turn(true)
				q.waiters.pushLocked(n)
			}
			q.waiters.Unlock()
			return false, nil
		}
		q.waiters.Unlock()
		return true, err
	}
}

func (q *Queue[T]) putLater(v T, l *sched.Limits) error {
	n := &waiter{value: &v}
	if did, err := q.putNow(v, n.ready(sched.Current(), l, q, nil)); did {
		return err
	}
	if _, err := q.waiters.await(n, l, flight.ReasonCondition, q); err != nil {
		return err
	}
	if !n.handed { // also if it was refused, and goes on all the same: its element was taken
		return ErrClosed
	}
	return nil
}

// Take removes the first element and returns it. While there is none, a thread parks and a goroutine blocks; interrupts play no part. When
// the queue is closed, and empty, it returns [ErrClosed].
func (q *Queue[T]) Take() (T, error) { return q.take(always) }

// TakeInterruptibly is [Queue.Take] for who may be interrupted: if the calling thread is while it waits, or was before, TakeInterruptibly clears the
// interrupt status and returns [ErrInterrupted].
func (q *Queue[T]) TakeInterruptibly() (T, error) { return q.take(alert) }

// TakeFor is [Queue.TakeInterruptibly] for at most d; then it returns [ErrTimeout].
func (q *Queue[T]) TakeFor(d time.Duration) (T, error) { return q.take(within(d)) }

// TakeContext is [Queue.TakeInterruptibly] that also returns when ctx ends, or had ended before, with its cause. An element that came at the same time is the
// first of the queue again, whatever its capacity.
func (q *Queue[T]) TakeContext(ctx context.Context) (T, error) { return q.take(inContext(ctx)) }

// TryTake removes the first element and returns it, if there is one. It does not block.
func (q *Queue[T]) TryTake() (v T, did bool) {
	sched.Point(sched.OpPoint, q.blocker())
	v, did, err := q.takeNow(nil)
	sched.Point(sched.OpPoint, q.blocker())
	return v, did && err == nil
}

// All returns a sequence that takes elements as [Queue.Take] does, until the queue is closed, and empty.
func (q *Queue[T]) All() iter.Seq[T] {
	return func(yield func(T) bool) {
		for v, err := q.Take(); err == nil && yield(v); v, err = q.Take() {
		}
	}
}

func (q *Queue[T]) take(l *sched.Limits) (T, error) {
	sched.Point(sched.OpPoint, q.blocker())
	if l != always {
		if err := ended(sched.Current(), l); err != nil {
			var none T
			return none, err
		}
	}
	v, did, err := q.takeNow(nil)
	if !did {
		v, err = q.takeLater(l)
	}
	if late := l.Late(); late != nil && err == nil {
		q.putBack(v)
		var none T
		v, err = none, late
	}
	sched.Point(sched.OpPoint, q.blocker())
	return v, err
}

// takeNow takes an element, or returns false if there is none: then n, if it is not nil, waits.
func (q *Queue[T]) takeNow(n *waiter) (v T, did bool, err error) {
	q.waiters.Lock()
	var putter *waiter
	if q.putters.Load() && q.n < q.bound { // else one was put back, and there is no room yet
		putter = q.waiters.first
	}
	if putter != nil {
		q.waiters.takeLocked(putter)
		putter.handed = true
	}
	switch {
	case q.n > 0:
		v = q.popLocked()
		if putter != nil {
			q.pushLocked(*putter.value.(*T))
		}
	case putter != nil:
		v = *putter.value.(*T)
	case q.closed:
		err = ErrClosed
	default:
		if n != nil {
			q.turn(false)
			q.waiters.pushLocked(n)
		}
		q.waiters.Unlock()
		return v, false, nil
	}
	q.waiters.Unlock()
	if putter != nil {
		putter.wake()
	}
	return v, true, err
}

func (q *Queue[T]) takeLater(l *sched.Limits) (v T, err error) {
	for {
		box := new(T)
		n := &waiter{value: box}
		if v, did, err := q.takeNow(n.ready(sched.Current(), l, q, q)); did {
			return v, err
		}
		got, err := q.waiters.await(n, l, flight.ReasonCondition, q)
		switch {
		case err != nil:
			return v, err
		case got && n.handed:
			return *box, nil
		case got:
			return v, ErrClosed
		}
	}
}

// takeBack is that of [giver]: n was given an element.
func (q *Queue[T]) takeBack(n *waiter) {
	q.waiters.Lock()
	back := !q.putters.Load() && n.handed && q.waiters.takeBackLocked(n)
	q.waiters.Unlock()
	if back {
		q.putBack(*n.value.(*T))
	}
}

// putBack makes v, which was taken out, the first element again, or gives it to who waits.
func (q *Queue[T]) putBack(v T) {
	for {
		q.waiters.Lock()
		first := q.waiters.first
		if first == nil || q.putters.Load() {
			q.pushFirstLocked(v)
			q.waiters.Unlock()
			return
		}
		q.waiters.takeLocked(first)
		*first.value.(*T) = v
		first.handed = true
		q.waiters.Unlock()
		if first.wake() {
			return
		}
	}
}

// Close closes the queue: nothing is put any more, and when what is in it is taken, nothing is taken. Who waits goes on, with [ErrClosed]. A second call
// does nothing. It does not block.
func (q *Queue[T]) Close() {
	sched.Point(sched.OpPoint, q.blocker())
	q.waiters.Lock()
	q.closed = true
	n := q.waiters.takeAllLocked()
	q.waiters.Unlock()
	wakeAll(n)
	sched.Point(sched.OpPoint, q.blocker())
}

// Len returns how many elements are in the queue at the moment, without those of waiting putters.
func (q *Queue[T]) Len() int {
	q.waiters.Lock()
	defer q.waiters.Unlock()
	return q.n
}

// turn notes whether those who wait from now on put. The caller has the lock.
func (q *Queue[T]) turn(putters bool) {
	if q.putters.Load() != putters {
		q.putters.Store(putters)
	}
}

func (q *Queue[T]) pushFirstLocked(v T) {
	if q.n == len(q.ring) {
		q.growLocked(q.n + 1) // perhaps beyond the bound: it was in the queue
	}
	if q.head--; q.head < 0 {
		q.head += len(q.ring)
	}
	q.ring[q.head] = v
	q.n++
}

func (q *Queue[T]) growLocked(size int) {
	ring := make([]T, size)
	copied := copy(ring, q.ring[q.head:])
	copy(ring[copied:], q.ring[:q.head])
	q.ring, q.head = ring, 0
}

func (q *Queue[T]) pushLocked(v T) {
	if q.n == len(q.ring) {
		size := max(2*q.n, 8)
		if q.bound != 0 {
			size = min(size, q.bound-1)
		}
		q.growLocked(size)
	}
	at := q.head + q.n
	if at >= len(q.ring) {
		at -= len(q.ring)
	}
	q.ring[at] = v
	q.n++
}

func (q *Queue[T]) popLocked() (v T) {
	var none T
	v, q.ring[q.head] = q.ring[q.head], none
	if q.head++; q.head == len(q.ring) {
		q.head = 0
	}
	q.n--
	return v
}

func (q *Queue[T]) blocker() flight.Blocker {
	return flight.BlockAt(flight.BlockedByQueue, uintptr(unsafe.Pointer(q)))
}

func (q *Queue[T]) account() *account { return &q.told }
func (q *Queue[T]) capacity() uint64  { return uint64(max(q.bound-1, 0)) }

func (q *Queue[T]) tell(r *flight.BlockerRecord, waiting int) {
	var n int64 // Q1
	if q.putters.Load() {
		n = int64(q.bound - 1)
	}
	r.Count(n, waiting)
}
