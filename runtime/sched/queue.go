package sched

import "github.com/vtscope/vtscope/runtime/internal/spin"

// A runQueue is a first-in-first-out queue of runnable tasks. Its owner puts and takes; thieves take half.
type runQueue struct {
	mu struct {
		spin.Mutex
		ring []*Task // a power of two long, or nil
		head uint
		n    uint
	}
}

// put appends a task.
func (q *runQueue) put(t *Task) {
	q.mu.Lock()
	q.putLocked(t)
	q.mu.Unlock()
}

func (q *runQueue) putLocked(t *Task) {
	m := &q.mu
	if m.n == uint(len(m.ring)) {
		bigger := make([]*Task, max(64, 2*len(m.ring)))
		for i := range m.n {
			bigger[i] = m.ring[(m.head+i)&uint(len(m.ring)-1)]
		}
		m.ring, m.head = bigger, 0
	}
	m.ring[(m.head+m.n)&uint(len(m.ring)-1)] = t
	m.n++
}

// take removes the oldest task, or returns nil.
func (q *runQueue) take() *Task {
	q.mu.Lock()
	t := q.takeLocked()
	q.mu.Unlock()
	return t
}

func (q *runQueue) takeLocked() *Task {
	m := &q.mu
	if m.n == 0 {
		return nil
	}
	slot := &m.ring[m.head&uint(len(m.ring)-1)]
	t := *slot
	*slot = nil
	m.head++
	m.n--
	if m.n == 0 && len(m.ring) > 4096 {
		m.ring = nil // a crowd has passed
	}
	return t
}

// putAll appends a chain of tasks.
func (q *runQueue) putAll(first *Task) {
	q.mu.Lock()
	for t := first; t != nil; {
		next := t.link
		t.link = nil
		q.putLocked(t)
		t = next
	}
	q.mu.Unlock()
}

// steal takes the oldest, as many as are wanted, at least one if there is any, and not too many, as a chain, from a queue that is not the caller's. It gives up
// when the queue is in use.
func (q *runQueue) steal(want int) (first *Task, n int) {
	if !q.mu.TryLock() {
		return nil, 0
	}
	first, n = q.chainLocked(min(uint(max(want, 1)), q.mu.n, 128))
	q.mu.Unlock()
	return first, n
}

// drain takes everything, as a chain.
func (q *runQueue) drain() (first *Task, n int) {
	q.mu.Lock()
	first, n = q.chainLocked(q.mu.n)
	q.mu.Unlock()
	return first, n
}

func (q *runQueue) chainLocked(want uint) (first *Task, n int) {
	var last *Task
	for range want {
		t := q.takeLocked()
		if last == nil {
			first = t
		} else {
			last.link = t
		}
		last = t
		n++
	}
	return first, n
}
