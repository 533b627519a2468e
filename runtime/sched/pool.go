package sched

import (
	"sync"
	"time"
	"unsafe"

	"github.com/vtscope/vtscope/runtime/internal/coro"
)

// A pool keeps the routines of threads that have ended for those that are yet to begin: creation then costs
// a switch, not a goroutine. Carriers have some of their own; this is what they share.
//
// Threads that move take routines from one scheduler to another, and slots too, so that a routine of one may be in the home of
// another's. Hence one pool serves all, [routines], and a routine can end once all that stand in its way are idle. A pool of their own have schedulers
// whose routines others cannot continue: those in a synctest bubble (see [orphans]), and carriers that are locked to an OS thread.
//
// Routines cost about 2.7 KB each, so a crowd that has passed is let go: what was never needed for [trimEvery] is
// retired by half, and what a scheduler has made when it is closed.
type pool struct {
	mu struct {
		sync.Mutex
		free    *coro.Routine
		n       int
		low     int // the fewest since the last trim
		doomed  []*coro.Routine
		trimmer *time.Timer
		users   int // schedulers that are not closed
	}
	trimming sync.Mutex // held while routines are being retired
	later    func()     // asks who alone may retire the routines to trim; nil: everybody may
}

// routines is the pool of all schedulers that need none of their own.
var routines pool

const (
	keepFree  = 1024 // routines that are never retired while there are schedulers
	trimEvery = 5 * time.Second

	localFree = 256 // routines a carrier keeps for itself
)

// spare returns a routine for a new thread: an idle one, or, on the carrier's own goroutine only, a fresh one.
func (w *worker) spare() *coro.Routine {
	r := w.free
	if r == nil {
		if r, w.freeLen = w.fj.pool.take(localFree / 2); r == nil {
			w.made++
			r = coro.New(execute)
			r.Pool = unsafe.Pointer(w.fj.pool)
			return r
		}
	}
	w.free = r.Next
	w.freeLen--
	r.Next = nil
	return r
}

// spare is [worker.spare] for the calling goroutine, which is no carrier with a queue.
func (fj *ForkJoin) spare() *coro.Routine {
	if r, n := fj.pool.take(1); n == 1 {
		return r
	}
	fj.made.Add(1)
	r := coro.New(execute)
	r.Pool, r.Labels = unsafe.Pointer(fj.pool), unsafe.Pointer(&foreign)
	return r
}

// foreign stands for the labels, which are not known, of the goroutine that has made a routine.
var foreign Labels

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

// takeIn takes in a routine that has ended its task on a carrier that keeps none. A doomed one can only end.
func takeIn(r *coro.Routine, doomed bool) {
	p := (*pool)(r.Pool)
	if p == nil && bubbled() {
		go orphans.adopt(r) // the caller's goroutine may be locked to an OS thread
		return
	}
	if p == nil {
		p = &routines
	}
	if doomed {
		p.doom(r)
	} else {
		p.put(r, 1)
	}
}

// enter counts a scheduler that uses the pool; leave is its end.
func (p *pool) enter() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mu.users++
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

// keepLocked is how many idle routines the pool keeps in any case.
func (p *pool) keepLocked() int {
	if p.mu.users == 0 {
		return 0
	}
	return keepFree
}

func (p *pool) scheduleLocked() {
	if p.mu.trimmer != nil || p.mu.n <= p.keepLocked() && len(p.mu.doomed) == 0 {
		return
	}
	p.mu.low = p.mu.n
	trim := p.trim
	if p.later != nil {
		trim = p.later
	}
	p.mu.trimmer = time.AfterFunc(trimEvery, trim)
}

// trim retires what was too much for a while.
func (p *pool) trim() {
	p.retire(func() int {
		p.mu.trimmer = nil
		if p.mu.users == 0 {
			return p.mu.n
		}
		return p.mu.n - max(keepFree, p.mu.n-p.mu.low/2)
	})
}

// leave retires as many routines as a scheduler that uses the pool no more has made, or all if it was the last. The caller must not be
// a thread, nor locked to an OS thread unless the routines' makers are, too.
func (p *pool) leave(made int) {
	p.retire(func() int {
		p.mu.users--
		if p.mu.users > 0 {
			return min(made, p.mu.n)
		}
		if p.mu.trimmer != nil {
			p.mu.trimmer.Stop()
			p.mu.trimmer = nil
		}
		return p.mu.n
	})
}

// retire ends as many idle routines as few, which is called with the lock, says, and the doomed. Those stay in whose home a thread
// is suspended, or a routine that a carrier keeps for itself.
func (p *pool) retire(fewLocked func() int) {
	p.trimming.Lock()
	defer p.trimming.Unlock()
	p.mu.Lock()
	few := fewLocked()
	// All idle routines must be at hand, not only the superfluous: any of them may be in
	// the home of one that is to end.
	var idle []*coro.Routine
	for r := p.mu.free; r != nil; {
		next := r.Next
		r.Next = nil
		idle = append(idle, r)
		r = next
	}
	doomed := p.mu.doomed
	p.mu.free, p.mu.n, p.mu.low, p.mu.doomed = nil, 0, 0, nil
	p.mu.Unlock()

	left, still := coro.Retire(idle, few, doomed)
	progress := len(left)+len(still) < len(idle)+len(doomed)

	p.mu.Lock()
	defer p.mu.Unlock()
	for _, r := range left {
		r.Next = p.mu.free
		p.mu.free = r
	}
	p.mu.n += len(left)
	p.mu.doomed = append(p.mu.doomed, still...)
	if progress || p.mu.n > keepFree {
		p.scheduleLocked() // else there is nothing to try again before something is put
	}
}

// abandon passes on what could not end, since a routine of another scheduler is in its way.
func (p *pool) abandon() {
	p.mu.Lock()
	left := p.mu.doomed
	for r := p.mu.free; r != nil; r = r.Next {
		left = append(left, r)
	}
	p.mu.free, p.mu.n, p.mu.doomed = nil, 0, nil
	p.mu.Unlock()
	orphans.adopt(left...)
}

// orphans are routines of closed schedulers in synctest bubbles that wait for others to become idle. Which bubble is whose cannot be
// told; but one can only end together with those in its way, which are of its bubble.
var orphans orphanage

type orphanage struct {
	mu struct {
		sync.Mutex
		all []*coro.Routine
	}
}

// adopt adds routines of the caller's bubble, and ends those that can end then: they are of that bubble, too.
func (o *orphanage) adopt(rs ...*coro.Routine) {
	o.mu.Lock()
	defer o.mu.Unlock()
	_, o.mu.all = coro.Retire(nil, 0, append(o.mu.all, rs...))
}
