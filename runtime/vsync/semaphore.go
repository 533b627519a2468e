package vsync

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/sched"
)

// A Semaphore has a number of permits, which threads and goroutines acquire and release, any number at a time. Its zero value has none.
//
// A fair one, which [NewSemaphore] makes, gives permits in the order in which they were asked for: who wants many keeps those back who came later and
// want few. An unfair one gives them to whoever comes, or waits, and for whom there are enough: so who wants many may wait forever.
type Semaphore struct {
	// Z1  word holds the free permits, above a flag that waiters is not empty, or somebody is about to call grant. The flag changes under the lock of waiters.
	// Z2  In a fair one nobody takes permits while the flag is set, but those to whom grant gives them.
	// Z3  Nobody waits for whom there are enough permits: in a fair one as the first, in an unfair one at all. Whoever changes that calls grant.

	size    int64
	unfair  bool
	word    atomic.Int64
	waiters waiters
	doomed  waiters // that want more than there are
	holders holders
	told    account
}

const (
	semaphoreQueued int64 = 1
	semaphorePermit int64 = 2
)

// NewSemaphore returns a fair semaphore with free permits. It panics if that is negative.
func NewSemaphore(permits int64) *Semaphore {
	return newSemaphore(permits, false, made())
}

// NewUnfairSemaphore returns an unfair semaphore with free permits. It panics if that is negative.
func NewUnfairSemaphore(permits int64) *Semaphore {
	return newSemaphore(permits, true, made())
}

func newSemaphore(permits int64, unfair bool, l *label) *Semaphore {
	check(permits)
	s := &Semaphore{size: permits, unfair: unfair, told: account{label: l}}
	s.word.Store(permits * semaphorePermit)
	return s
}

// SetName gives s a name, which dumps show. It must be called before anybody uses s.
func (s *Semaphore) SetName(name string) { s.told.setName(name) }

// TryAcquire takes n permits if they are to be had at once, and reports whether it did. It does not block. It panics if n is negative.
func (s *Semaphore) TryAcquire(n int64) bool {
	check(n)
	sched.Point(sched.OpPoint, s.blocker())
	if !s.try(n) {
		return false
	}
	s.holders.note(party(sched.Current()))
	return true
}

func check(n int64) {
	if n < 0 {
		panic("vsync: negative permits")
	}
}

func (s *Semaphore) try(n int64) bool {
	for {
		w := s.word.Load()
		if w&semaphoreQueued != 0 && !s.unfair || w/semaphorePermit < n {
			return false
		}
		if s.word.CompareAndSwap(w, w-n*semaphorePermit) {
			return true
		}
	}
}

// Acquire takes n permits. While there are not enough, a thread parks and a goroutine blocks: forever if the semaphore has less than n. Interrupts play
// no part. It panics if n is negative.
func (s *Semaphore) Acquire(n int64) { _ = s.acquire(n, always) }

// AcquireInterruptibly is [Semaphore.Acquire] for who may be interrupted: if the calling thread is while it waits, or was before, AcquireInterruptibly clears the
// interrupt status and returns [ErrInterrupted], without permits.
func (s *Semaphore) AcquireInterruptibly(n int64) error { return s.acquire(n, alert) }

// AcquireFor is [Semaphore.AcquireInterruptibly] for at most d; then it returns [ErrTimeout].
func (s *Semaphore) AcquireFor(n int64, d time.Duration) error { return s.acquire(n, within(d)) }

// AcquireContext is [Semaphore.AcquireInterruptibly] that also returns when ctx ends, or had ended before, with its cause.
func (s *Semaphore) AcquireContext(ctx context.Context, n int64) error {
	return s.acquire(n, inContext(ctx))
}

func (s *Semaphore) acquire(n int64, l *sched.Limits) error {
	check(n)
	sched.Point(sched.OpPoint, s.blocker())
	me := sched.Current()
	if l != always || !s.try(n) {
		waited, err := s.wait(me, n, l)
		if err != nil {
			return err
		}
		if err := l.Late(); err != nil {
			s.release(n)
			return err
		}
		if waited {
			defer s.told.again(s)
		}
	}
	s.holders.note(party(me))
	return nil
}

// wait takes n permits, and tells whether the caller has waited for them.
func (s *Semaphore) wait(me *sched.Task, n int64, l *sched.Limits) (waited bool, err error) {
	if err := ended(me, l); err != nil {
		return false, err
	}
	for !s.try(n) {
		w := new(waiter).ready(me, l, s, s)
		w.permits = n
		q := &s.waiters
		if n > s.size {
			q = &s.doomed
			q.Lock()
			q.pushLocked(w)
			q.Unlock()
		} else if !s.queue(w) {
			break
		}
		waited = true
		if got, err := q.await(w, l, flight.ReasonCondition, s); got || err != nil {
			if err != nil {
				s.grant() // to those behind it; and nobody may be left
			}
			return true, err
		}
	}
	return waited, nil
}

// queue lets w wait. It returns false if there are enough permits: then w has them.
func (s *Semaphore) queue(w *waiter) bool {
	q := &s.waiters
	q.Lock()
	defer q.Unlock()
	for {
		if s.try(w.permits) {
			return false
		}
		was := s.word.Load()
		if (was&semaphoreQueued == 0 || s.unfair) && was/semaphorePermit >= w.permits {
			continue // there are by now
		}
		if s.word.CompareAndSwap(was, was|semaphoreQueued) {
			q.pushLocked(w)
			return true
		}
	}
}

// Release gives n permits back. Anybody may call it. It does not block. It panics if n is negative, or more than are taken.
func (s *Semaphore) Release(n int64) {
	check(n)
	sched.Point(sched.OpPoint, s.blocker())
	s.holders.forget(party(sched.Current()))
	s.release(n)
	sched.Point(sched.OpPoint, s.blocker())
}

func (s *Semaphore) release(n int64) {
	for {
		w := s.word.Load()
		if n > s.size-w/semaphorePermit {
			panic(fmt.Sprintf("vsync: semaphore released more than held: %d of %d", n, s.size-w/semaphorePermit))
		}
		if s.word.CompareAndSwap(w, w+n*semaphorePermit) {
			if w&semaphoreQueued != 0 {
				s.grant()
			}
			return
		}
	}
}

// takeBack is that of [giver].
func (s *Semaphore) takeBack(n *waiter) {
	q := &s.waiters
	q.Lock()
	if !q.takeBackLocked(n) { // perhaps for one that wants what several were given
		q.Unlock()
		return
	}
	s.word.Add(n.permits * semaphorePermit)
	q.Unlock()
	s.grant()
}

// grant gives permits to those who wait (Z3).
func (s *Semaphore) grant() {
	q := &s.waiters
	for refused := true; refused; {
		refused = false
		var first, last *waiter // those who get theirs, by next
		q.Lock()
		for n := q.first; n != nil; {
			next := n.next
			if !s.give(n.permits) {
				if !s.unfair {
					break
				}
				n = next
				continue
			}
			q.takeLocked(n)
			if last == nil {
				first = n
			} else {
				last.next = n
			}
			last = n
			n = next
		}
		if q.n == 0 {
			s.word.And(^semaphoreQueued)
		}
		q.Unlock()
		for n := first; n != nil; {
			next := n.next
			if !n.wake() {
				refused = true
				s.word.Add(n.permits * semaphorePermit)
			}
			n = next
		}
	}
}

// give takes n permits for who waits, if there are enough.
func (s *Semaphore) give(n int64) bool {
	for {
		w := s.word.Load()
		if w/semaphorePermit < n {
			return false
		}
		if s.word.CompareAndSwap(w, w-n*semaphorePermit) {
			return true
		}
	}
}

// Free returns how many permits are free at the moment.
func (s *Semaphore) Free() int64 { return s.word.Load() / semaphorePermit }

func (s *Semaphore) blocker() flight.Blocker {
	return flight.BlockAt(flight.BlockedBySemaphore, uintptr(unsafe.Pointer(s)))
}

func (s *Semaphore) account() *account { return &s.told }
func (s *Semaphore) capacity() uint64  { return uint64(s.size) }

func (s *Semaphore) tell(r *flight.BlockerRecord, waiting int) {
	s.holders.tell(r)
	r.Count(s.Free(), waiting)
}
