package vsync

import (
	"fmt"

	"github.com/vtscope/vtscope/runtime/flight"
)

// Waiting returns how many wait for a synchronizer.
func Waiting(of any) (n int) {
	for _, q := range queues(of) {
		q.Lock()
		n += q.n
		q.Unlock()
	}
	return n
}

func queues(of any) []*waiters {
	switch s := of.(type) {
	case *Mutex:
		return []*waiters{&s.waiters}
	case *ReentrantMutex:
		return queues(&s.mu)
	case *RWMutex:
		return append(queues(&s.writer), &s.readers, &s.drain)
	case *Cond:
		return []*waiters{&s.waiters}
	case *Latch:
		return []*waiters{&s.waiters}
	case *Barrier:
		return []*waiters{&s.waiters}
	case *Once:
		return queues(&s.mu)
	case interface{ queue() *waiters }:
		return []*waiters{s.queue()}
	case *Semaphore:
		return []*waiters{&s.waiters, &s.doomed}
	}
	panic(fmt.Sprintf("vsync: a %T has no waiters", of))
}

// Tried returns how many of those who wait for m were woken once.
func Tried(m *Mutex) (n int) {
	m.waiters.Lock()
	defer m.waiters.Unlock()
	for w := m.waiters.first; w != nil; w = w.next {
		if w.tried {
			n++
		}
	}
	return n
}

// WakeFirst wakes the first that waits for m, which the caller holds, and takes it again before that one.
func WakeFirst(m *Mutex) {
	q := &m.waiters
	q.Lock()
	n := q.first
	if n == nil || m.word.Load()&woken != 0 {
		q.Unlock()
		return
	}
	q.takeLocked(n)
	m.word.Or(woken)
	if q.n == 0 {
		m.word.And(^queued)
	}
	q.Unlock()
	n.wake()
}

// CopyOf returns a copy of c, which vet would find.
func CopyOf(c *Cond) *Cond {
	d := &Cond{L: c.L}
	d.self.Store(c.self.Load())
	return d
}

// Unfair reports whether s is.
func Unfair(s *Semaphore) bool { return s.unfair }

func (q *Queue[T]) queue() *waiters     { return &q.waiters }
func (x *Exchanger[T]) queue() *waiters { return &x.waiters }

// BlockerOf returns what who waits for a synchronizer is told to wait for.
func BlockerOf(of any) flight.Blocker {
	if m, ok := of.(*ReentrantMutex); ok {
		of = &m.mu
	}
	return of.(synchronizer).blocker()
}

// TakeFirst takes out the first that waits for l, as [Latch.Add] does, and returns what wakes it.
func TakeFirst(l *Latch) (wake func()) {
	q := &l.waiters
	q.Lock()
	defer q.Unlock()
	n := q.first
	q.takeLocked(n)
	return func() { n.wake() }
}
