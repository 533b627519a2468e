package vsync

import "fmt"

// Waiting returns how many wait for a synchronizer.
func Waiting(of any) int {
	var q *waiters
	switch s := of.(type) {
	case *Mutex:
		q = &s.waiters
	case *ReentrantMutex:
		q = &s.mu.waiters
	default:
		panic(fmt.Sprintf("vsync: a %T has no waiters", of))
	}
	q.Lock()
	defer q.Unlock()
	return q.n
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
	m.leftLocked(n)
	q.Unlock()
	n.wake()
}
