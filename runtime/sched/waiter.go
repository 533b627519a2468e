package sched

import (
	"sync"
	"sync/atomic"
)

// A Waiter is a thread or a plain goroutine that waits to be woken once. Threads park, goroutines block. It is what
// synchronizers queue.
type Waiter struct {
	Next *Waiter // for whoever queues it

	task  *Task
	woken atomic.Bool
	wg    sync.WaitGroup // of a goroutine: it also works inside a synctest bubble
}

// NewWaiter returns a waiter for the calling thread or goroutine. A thread has one: it must have been woken, or
// never been queued, when the thread asks again.
func NewWaiter() *Waiter {
	t := Current()
	if t == nil {
		w := new(Waiter)
		w.wg.Add(1)
		return w
	}
	w := &t.wakeable().waiter
	w.task = t
	w.Next = nil
	w.woken.Store(false)
	return w
}

// Wait blocks its maker until [Waiter.Wake]: a thread parks, and p is what a dump shows of it. It is
// called once. A permit that somebody else gives the thread meanwhile, or gave it before, is kept for its next park.
func (w *Waiter) Wait(p Pause) {
	if w.task == nil {
		w.wg.Wait()
		return
	}
	permit := false
	for !w.woken.Load() {
		w.task.Park(p)
		permit = permit || !w.woken.Load()
	}
	if permit {
		w.task.keepPermit()
	}
}

// Wake ends the wait, or prevents it. It is called once, by anybody, and does not block.
func (w *Waiter) Wake() {
	if w.task == nil {
		w.wg.Done()
		return
	}
	t := w.task
	w.woken.Store(true)
	// If its scheduler refuses the thread it stays parked; there is nobody to tell but whoever
	// closed the scheduler while its threads waited.
	_ = t.Unpark()
}
