package sched

import (
	"sync"
	"time"

	"github.com/vtscope/vtscope/runtime/internal/coro"
)

// A pool keeps the routines of threads that have ended for those that are yet to begin: creation then costs
// a switch, not a goroutine. Carriers have some of their own; this is what they share.
//
// Routines cost about 2.7 KB each, so a crowd that has passed is let go: what was never needed for [trimEvery] is
// retired by half.
type pool struct {
	mu struct {
		sync.Mutex
		free    *coro.Routine
		n       int
		low     int // the fewest since the last trim
		doomed  []*coro.Routine
		trimmer *time.Timer
		closed  bool
	}
	trimming sync.Mutex // held while routines are being retired
}

const (
	keepFree  = 1024 // routines that are never retired before the scheduler is closed
	trimEvery = 5 * time.Second

	localFree = 256 // routines a carrier keeps for itself
)

// spare returns a routine for a new thread: an idle one, or, on the carrier's own goroutine only, a fresh one.
func (w *worker) spare() *coro.Routine {
	r := w.free
	if r == nil {
		if r, w.freeLen = w.fj.pool.take(localFree / 2); r == nil {
			return coro.New(execute)
		}
	}
	w.free = r.Next
	w.freeLen--
	r.Next = nil
	return r
}

// rest takes in a routine whose thread has ended and that is about to switch away. Until then nobody else
// may get it, so it stays with w.
func (w *worker) rest(r *coro.Routine) {
	if w.freeLen >= localFree {
		var first, last *coro.Routine
		first = w.free
		for range localFree / 2 {
			last, w.free = w.free, w.free.Next
		}
		last.Next = nil
		w.freeLen -= localFree / 2
		w.fj.pool.put(first, localFree/2)
	}
	r.Next = w.free
	w.free = r
	w.freeLen++
}

// put adds a chain of n idle routines.
func (p *pool) put(first *coro.Routine, n int) {
	if first == nil {
		return
	}
	last := first
	for last.Next != nil {
		last = last.Next
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	last.Next = p.mu.free
	p.mu.free = first
	p.mu.n += n
	p.scheduleLocked()
}

// take removes up to n routines.
func (p *pool) take(n int) (first *coro.Routine, got int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var last *coro.Routine
	for got < n && p.mu.free != nil {
		r := p.mu.free
		p.mu.free = r.Next
		if last == nil {
			first = r
		} else {
			last.Next = r
		}
		last = r
		got++
	}
	if last != nil {
		last.Next = nil
	}
	p.mu.n -= got
	p.mu.low = min(p.mu.low, p.mu.n)
	return first, got
}

// doom takes in a routine that can only end.
func (p *pool) doom(r *coro.Routine) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mu.doomed = append(p.mu.doomed, r)
	p.scheduleLocked()
}

func (p *pool) scheduleLocked() {
	if p.mu.trimmer != nil || p.mu.closed || p.mu.n <= keepFree && len(p.mu.doomed) == 0 {
		return
	}
	p.mu.low = p.mu.n
	p.mu.trimmer = time.AfterFunc(trimEvery, func() { p.trim(false) })
}

// trim retires what is too much, or everything. It runs on a goroutine of its own.
func (p *pool) trim(all bool) {
	p.trimming.Lock()
	defer p.trimming.Unlock()
	p.mu.Lock()
	if p.mu.closed && !all {
		p.mu.Unlock()
		return
	}
	p.mu.trimmer = nil
	// All idle routines must be at hand, not only the superfluous: any of them may be in
	// the home of one that is to end.
	var idle []*coro.Routine
	for r := p.mu.free; r != nil; {
		next := r.Next
		r.Next = nil
		idle = append(idle, r)
		r = next
	}
	keep := 0
	if !all {
		keep = max(keepFree, p.mu.n-p.mu.low/2)
	}
	p.mu.free, p.mu.n, p.mu.low = nil, 0, 0
	doomed := p.mu.doomed
	p.mu.doomed = nil
	p.mu.Unlock()

	left, still := coro.Retire(idle, len(idle)-keep, doomed)

	p.mu.Lock()
	for _, r := range left {
		r.Next = p.mu.free
		p.mu.free = r
	}
	p.mu.n += len(left)
	p.mu.doomed = append(p.mu.doomed, still...)
	p.scheduleLocked()
	p.mu.Unlock()
}

// close retires all routines that can end: all but those in whose home a thread is parked forever.
func (p *pool) close() {
	p.mu.Lock()
	p.mu.closed = true
	if p.mu.trimmer != nil {
		p.mu.trimmer.Stop()
		p.mu.trimmer = nil
	}
	p.mu.Unlock()
	done := make(chan struct{})
	go func() { // the caller's goroutine may be locked to an OS thread
		defer close(done)
		p.trim(true)
	}()
	<-done
}
