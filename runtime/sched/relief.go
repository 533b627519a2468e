package sched

import (
	"runtime"
	"sync/atomic"
	"time"

	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/internal/coro"
)

// A relief is a carrier for the time when all the others, as many as there may be, are held by
// threads that block in operations of Go's own. It has no ring, no id and no queue, so there may
// be as many as memory has room for.
//
//	V1  Only the watchdog starts reliefs, for tasks that are queued, and as many as are missed: all
//	    carriers together shall execute as many threads as the parallelism says. While nearly all
//	    carriers are held it starts as many again as there are (W1).
//	V2  A relief executes one task of the shared queue after the other. It ends when enough others execute
//	    threads. When there is no task as many wait for one as the parallelism says, for as long as
//	    reliefs are needed: who queues a task wakes one, and the watchdog, which sees to it that none
//	    is missed.
//	V3  A thread that blocks in a system call holds an OS thread, and so may one of which nothing can be
//	    known, unless the process has fewer OS threads. No more reliefs are started than could hold one,
//	    beside all threads that do not wait in Go, before as many do as there may be carriers.
type relief struct {
	carrier
	fj    *ForkJoin
	over  atomic.Bool          // it has ended
	task  atomic.Pointer[Task] // that it executes
	doing coro.Doing           // when the watchdog looked last
	last  *Task                // whom it executed then
}

// reliefs are those of a scheduler, as its watchdog knows them.
type reliefs struct {
	loose []*relief    // not seen to be held since they began, or were seen to go on
	held  []*relief    // looked at in turn
	next  int          // in held
	calls atomic.Int32 // of held, those in system calls: V3
	blind int          // of held, those of which nothing can be known
	alive atomic.Int32 // all of them
	ended atomic.Int32 // those in loose and held that are over, about
	seen  atomic.Int32 // len(held)
	spare atomic.Bool  // V2: there are enough others

	needed atomic.Bool  // all carriers that may be are awake, and hardly one is free
	idle   atomic.Int32 // those that wait for a task
	wake   chan struct{}
}

// The watchdog looks at least at so many of the reliefs that are held, and at one part of them, each
// time when tasks are queued.
const (
	leastHeldSeen = 64
	heldSeenPart  = 32
)

// startRelief starts one. Only the watchdog calls it.
func (fj *ForkJoin) startRelief() {
	r := &relief{fj: fj}
	r.carrier.id, r.carrier.relieves = flight.NoCarrier, fj
	fj.reliefs.alive.Add(1)
	fj.reliefs.loose = append(fj.reliefs.loose, r)
	fj.running.Add(1)
	go r.run()
}

// run is the goroutine of a relief.
func (r *relief) run() {
	fj := r.fj
	defer func() {
		r.over.Store(true)
		fj.reliefs.ended.Add(1)
		fj.reliefs.alive.Add(-1)
		fj.running.Done()
	}()
	for !fj.reliefs.spare.Load() {
		t := fj.takeOne()
		if t == nil {
			if !fj.reliefs.wait(fj) {
				return
			}
			continue
		}
		r.task.Store(t)
		var free *coro.Routine
		if t.at == nil {
			free = fj.spare()
		}
		r.mount(t, free, 0)
		r.finish()
		r.task.Store(nil)
		r.giveRoutines()
	}
}

// wait waits until there may be a task; it returns false if the relief, the caller, shall end (V2).
func (d *reliefs) wait(fj *ForkJoin) bool {
	defer d.idle.Add(-1)
	if int(d.idle.Add(1)) > fj.Parallelism() {
		return false
	}
	keep := time.NewTicker(fj.options.KeepAlive)
	defer keep.Stop()
	for d.needed.Load() {
		if fj.sharedLen.Load() > 0 {
			return true
		}
		select {
		case <-d.wake:
		case <-keep.C:
		}
	}
	return false
}

// wakeOne wakes a relief that waits, if one does.
func (d *reliefs) wakeOne() {
	if d.idle.Load() > 0 {
		select {
		case d.wake <- struct{}{}:
		default: // the last is not taken yet, and does as well
		}
	}
}

// takeOne takes the first task of the shared queue.
func (fj *ForkJoin) takeOne() *Task {
	if fj.sharedLen.Load() == 0 {
		return nil
	}
	s := &fj.shared
	s.Lock()
	defer s.Unlock()
	t := s.first
	if t == nil {
		return nil
	}
	if s.first = t.link; s.first == nil {
		s.last = nil
	}
	t.link = nil
	s.n--
	fj.sharedLen.Store(int64(s.n))
	return t
}

// noteReady is [worker.noteReady] for a carrier without a worker.
func (fj *ForkJoin) noteReady(rec *flight.Record, now flight.Ticks) {
	delay := now - rec.Since()
	if delay == 0 {
		return // it was not queued
	}
	fj.mu.Lock()
	defer fj.mu.Unlock()
	count(&fj.mu.gone.ready, delay, true)
}

// look finds out what the relief's thread does, and whether it is held for that. One of which nothing
// can be known is if it has stood still.
func (r *relief) look() (doing coro.Doing, held bool) {
	t := r.task.Load()
	stood := t == r.last
	r.last = t
	if t == nil {
		return coro.DoingWork, false
	}
	if t.word.Load()&stateMask == blocked {
		return coro.DoingWait, true
	}
	g := r.goroutineOf(t)
	if g == 0 || !coro.SharedLookout().Sees() {
		return coro.DoingUnknown, stood
	}
	doing = t.blocksIn(g)
	return doing, blocks(doing)
}

// lookAtReliefs returns how many reliefs are held, and how many are not. n tasks are queued.
func (fj *ForkJoin) lookAtReliefs(n int) (held, loose int) {
	d := &fj.reliefs
	if len(d.loose)+len(d.held) == 0 {
		return 0, 0
	}
	if int(d.ended.Load()) > leastHeldSeen+len(d.held)/heldSeenPart {
		d.sweep()
	}
	all := d.loose
	d.loose = d.loose[:0:0]
	for seen := max(leastHeldSeen, min(n, len(d.held)/heldSeenPart)); seen > 0 && len(d.held) > 0; seen-- {
		d.next %= len(d.held)
		r, last := d.held[d.next], len(d.held)-1
		d.count(r, -1)
		doing, isHeld := r.look()
		if !r.over.Load() && isHeld {
			r.doing = doing
			d.count(r, 1)
			d.next++
			continue
		}
		d.held[d.next], d.held[last] = d.held[last], nil
		d.held = d.held[:last]
		all = append(all, r)
	}
	for _, r := range all {
		var isHeld bool
		switch r.doing, isHeld = r.look(); {
		case r.over.Load():
			d.ended.Add(-1)
		case isHeld:
			d.count(r, 1)
			d.held = append(d.held, r)
		default:
			d.loose = append(d.loose, r)
		}
	}
	d.seen.Store(int32(len(d.held)))
	return len(d.held), len(d.loose)
}

// counts returns how many reliefs there are, how many of them wait for a task, and of how many the
// threads were seen to block.
func (d *reliefs) counts() (all, idle, held int) {
	all, idle = int(d.alive.Load()), int(d.idle.Load())
	return all, min(all, idle), min(all, int(d.seen.Load()))
}

// count counts one of the held, or takes it back.
func (d *reliefs) count(r *relief, by int) {
	switch r.doing {
	case coro.DoingSyscall:
		d.calls.Add(int32(by))
	case coro.DoingUnknown:
		d.blind += by
	}
}

// sweep forgets those of the held that are over.
func (d *reliefs) sweep() {
	left := d.held[:0]
	for _, r := range d.held {
		if r.over.Load() {
			d.count(r, -1)
			d.ended.Add(-1)
			continue
		}
		left = append(left, r)
	}
	clear(d.held[len(left):])
	d.held = left
}

// relieve starts the reliefs that are missed for n queued tasks (V1). Of the awake carriers with a ring the
// threads of blocked ones block, and those of computing ones compute for long.
func (fj *ForkJoin) relieve(n, awake, blocked, computing int, workers []*worker) {
	held, loose := fj.lookAtReliefs(n)
	free := max(awake-blocked-computing, 0) + loose
	all, p := awake+held+loose, fj.Parallelism()
	fj.reliefs.spare.Store(free > max(2*p, all/4))
	most := fj.options.mostCarriers()
	can := fj.options.MaxCarriers == 0 && awake >= most
	fj.reliefs.needed.Store(can && (blocked+held)*4 >= all*3)
	if !can || n == 0 {
		return
	}
	fj.reliefs.wakeOne()
	_, blind, waits := callsOf(workers)
	threads, _ := runtime.ThreadCreateProfile(nil)
	calls := int(fj.reliefs.calls.Load()) + min(threads, blind+fj.reliefs.blind)
	mayCall := len(workers) - waits - blind + loose + calls
	missed := p - free
	if (blocked+held)*4 >= all*3 {
		missed = all
	}
	missed = max(min(missed, n, most-mayCall), 0)
	for range missed {
		fj.startRelief()
	}
	fj.compensated(missed)
}

// callsOf returns how many threads of carriers are in system calls, of how many nothing can be known, and
// how many wait in Go.
func callsOf(workers []*worker) (calls, blind, waits int) {
	for _, w := range workers {
		t, _, _ := w.mountedThread()
		if t == nil {
			continue
		}
		if t.word.Load()&stateMask == blocked {
			waits++
			continue
		}
		g := w.goroutineOf(t)
		if g == 0 || !coro.SharedLookout().Sees() {
			blind++
			continue
		}
		switch t.blocksIn(g) {
		case coro.DoingSyscall:
			calls++
		case coro.DoingWait:
			waits++
		}
	}
	return calls, blind, waits
}

// forget forgets all reliefs, which are over.
func (d *reliefs) forget() {
	d.loose, d.held, d.next, d.blind = nil, nil, 0, 0
	d.calls.Store(0)
	d.ended.Store(0)
	d.seen.Store(0)
}
