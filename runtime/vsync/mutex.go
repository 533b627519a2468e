package vsync

import (
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/sched"
)

// A Mutex is a lock that one thread or goroutine holds at a time. Its zero value is unlocked. It is not
// re-entrant. It is fair: who waits longest gets it next, so nobody who comes later overtakes.
//
//	X1  word is free, held, or held while the queue may not be empty. Only Lock's and Unlock's fast paths change it outside
//	    queue.mu, between free and held.
//	X2  Unlock with somebody queued does not free the lock: it belongs to the first waiter from then on.
type Mutex struct {
	word  atomic.Uint32
	queue struct {
		sync.Mutex
		first, last *sched.Waiter
	}
}

const (
	free uint32 = iota
	held
	wanted
)

// TryLock takes the lock if nobody holds it, and reports whether it did. It does not block.
func (m *Mutex) TryLock() bool {
	if sched.Simulating() {
		return m.tryLockSimulated()
	}
	return m.tryLock()
}

func (m *Mutex) tryLock() bool { return m.word.CompareAndSwap(free, held) }

// Lock takes the lock. While somebody else holds it, a thread parks and a goroutine blocks.
func (m *Mutex) Lock() {
	if sched.Simulating() {
		m.lockSimulated()
		return
	}
	if !m.tryLock() {
		m.wait()
	}
}

// wait is Lock when somebody holds the lock.
func (m *Mutex) wait() {
	w := m.enqueue()
	if w == nil {
		return
	}
	w.Wait(sched.Pause{
		State:   flight.StateBlocked,
		Reason:  flight.ReasonLock,
		Blocker: m.blocker(),
	})
}

func (m *Mutex) blocker() flight.Blocker { return flight.BlockLock(uintptr(unsafe.Pointer(m))) }

// enqueue returns a waiter that will be woken as the holder, or nil if the lock was freed meanwhile, and taken.
func (m *Mutex) enqueue() *sched.Waiter {
	q := &m.queue
	q.Lock()
	defer q.Unlock()
	for {
		if m.tryLock() {
			return nil
		}
		if m.word.Load() == wanted || m.word.CompareAndSwap(held, wanted) {
			break
		}
	}
	w := sched.NewWaiter(sched.Current())
	if q.last == nil {
		q.first = w
	} else {
		q.last.Next = w
	}
	q.last = w
	return w
}

// Unlock gives the lock to whoever has waited longest, or frees it. Anybody may call it, not only who
// took the lock. It does not block. It panics if the lock is free.
func (m *Mutex) Unlock() {
	if sched.Simulating() {
		m.unlockSimulated()
		return
	}
	if !m.word.CompareAndSwap(held, free) {
		m.handOver()
	}
}

// handOver is Unlock when somebody is queued.
func (m *Mutex) handOver() {
	q := &m.queue
	q.Lock()
	w := q.first
	if w == nil {
		q.Unlock()
		panic("vsync: unlock of a mutex that is not locked")
	}
	q.first = w.Next
	if q.first == nil {
		q.last = nil
		m.word.Store(held)
	}
	q.Unlock()
	w.Wake()
}
