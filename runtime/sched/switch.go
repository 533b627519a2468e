package sched

import (
	"runtime"
	"runtime/trace"
	"sync"
	"unsafe"

	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/internal/coro"
)

// A carrier is what threads are mounted on: a goroutine, and while a thread executes, the place where
// that goroutine waits.
//
//	C1  All fields are used only by whoever executes on the carrier: its goroutine, or the mounted thread. A switch hands them over.
//	C2  A thread leaves in two halves. It says in left and then why it leaves, and switches away; whoever continues on the
//	    carrier completes the departure with [carrier.finish]. Only then may others mount it (K3).
//	C3  A thread that leaves hands the carrier to the next one directly if it can: one switch
//	    instead of two. Else, and every 64th time ([fairEvery]), it goes back to the carrier's goroutine.
type carrier struct {
	ret     *coro.Slot // where the carrier's goroutine waits; nil: it is the thread's own
	left    *Task      // who has just left
	then    departure  // and what becomes of it
	worker  *worker    // nil for a goroutine that was lent by Run or StartHere, of a relief, or a thread's own
	mounted *Task      // or who was mounted last, until the carrier's goroutine goes on; see progress.go
	ring    *flight.Ring
	id      flight.CarrierID
	home    flight.Home // where there is no ring

	unwaited uint32 // see [Task.Pace]; since the mounted thread was mounted

	rested *coro.Routine // has just gone back to the goroutine of a Run, which passes it on to its pool
	doomed *coro.Routine // the same of any carrier, to be ended

	cpu     cpuMark      // when the mounted thread was mounted
	cpuLeft cpuMark      // when the one before left
	instant flight.Ticks // a clock read while a thread ends, which serves all that comes of its end

	relieves *ForkJoin // that it executes a thread for, without a worker: a relief, or lent by StartHere
	g        uintptr   // of a mounted thread that is not recorded; see progress.go
}

// A departure is toQueue (it yielded), or toPause with the bits of the pause (K6), and timed if a timer may end it.
type departure uint32

const (
	toQueue departure = 0
	toPause           = departure(paused)
	timed   departure = 1 << 31
)

// lent are the carriers of goroutines that call [Task.Run] or [Task.StartHere].
var lent = sync.Pool{New: func() any { return new(carrier) }}

// Run mounts the thread on the calling goroutine and returns when it has parked, yielded or ended. It does
// nothing if t was not submitted since the last run, or is being run. Schedulers call it, on goroutines
// that are not threads: else it returns [ErrOnThread]. It blocks for as long as the thread executes. On
// [ErrLockedCarrier] the task is as it was: another goroutine may run it.
func (t *Task) Run() error {
	if coro.Self() != nil {
		return ErrOnThread
	}
	if t.marks.And(^ticket)&ticket == 0 {
		return nil
	}
	if t.at != nil && !t.at.Fits() {
		t.marks.Or(ticket)
		return ErrLockedCarrier
	}
	c := lent.Get().(*carrier)
	c.mount(t, nil, 0)
	c.finish()
	c.giveRoutines()
	*c = carrier{}
	lent.Put(c)
	return nil
}

// executeHere executes t, which has started now, on the calling goroutine until t first leaves.
func (fj *ForkJoin) executeHere(t *Task, now flight.Ticks) {
	c := lent.Get().(*carrier)
	c.relieves = fj
	fj.tally.here.Add(1)
	c.mount(t, fj.spare(), now)
	fj.tally.here.Add(-1)
	c.finish()
	c.giveRoutines()
	*c = carrier{}
	lent.Put(c)
}

// giveRoutines passes on the routine of a thread that has ended on a carrier that keeps none.
func (c *carrier) giveRoutines() {
	if r := c.rested; r != nil {
		takeIn(r, false)
	}
	if r := c.doomed; r != nil {
		takeIn(r, true)
	}
	c.rested, c.doomed = nil, nil
}

// mount executes t until somebody switches back to the carrier's goroutine, which is the caller's. If t
// was never mounted, it gets the routine r, or a new one. now is as of [carrier.begins].
func (c *carrier) mount(t *Task, r *coro.Routine, now flight.Ticks) {
	if t.at == nil {
		if r == nil {
			r = coro.New(execute)
		}
		c.give(r, t)
	}
	c.begins(t, now)
	c.ret = t.at
	if c.worker == nil {
		mountLent(t.at)
	} else {
		t.at.Switch()
	}
	c.setMounted(nil)
}

// mountLent is a switch after which a routine may have ended for good.
func mountLent(s *coro.Slot) {
	defer coro.Ended()
	s.Switch()
}

func (c *carrier) give(r *coro.Routine, t *Task) {
	r.Task = unsafe.Pointer(t)
	t.at = r.At
}

// begins makes t the mounted thread. now is the time, or 0 if it was not read yet.
func (c *carrier) begins(t *Task, now flight.Ticks) {
	t.on = c
	c.unwaited = 0
	c.setMounted(t)
	t.moved(flight.StateMounted)
	w := c.worker
	if w != nil {
		w.counts.mounted()
	} else if fj := c.relieves; fj != nil {
		fj.tally.mounts.Add(1)
	}
	follows := now != 0
	if rec := t.rec; rec != nil {
		if now == 0 {
			now = flight.Now()
		}
		if w != nil {
			w.noteReady(t, rec, now)
		} else if c.relieves != nil {
			c.relieves.noteReady(rec, now)
		}
		c.recordMount(t, rec, now)
		c.cpuBegins(flight.Default(), follows)
	}
}

// recordMount records that t, which rec is the record of, is mounted.
func (c *carrier) recordMount(t *Task, rec *flight.Record, now flight.Ticks) {
	if c.ring != nil {
		c.ring.Mount(rec, t.id, now)
		return
	}
	rec.Mounted(now, flight.NoCarrier)
	c.emit(now, flight.EventMount, 0, 0, t.id, 0)
}

// emit records an event where c does, which may be nil.
func (c *carrier) emit(now flight.Ticks, k flight.Kind, why flight.Reason, stack flight.StackID, thread flight.ThreadID, arg uint64) {
	if c != nil && c.ring != nil {
		c.ring.Emit(now, k, why, stack, thread, arg)
		return
	}
	c.homeOf().Emit(flight.Default(), now, k, why, stack, thread, arg)
}

// emitMore is emit of a kind with more words.
func (c *carrier) emitMore(now flight.Ticks, k flight.Kind, why flight.Reason, stack flight.StackID, thread flight.ThreadID, arg uint64, more ...uint64) {
	if c != nil && c.ring != nil {
		c.ring.EmitMore(now, k, why, stack, thread, arg, more...)
		return
	}
	c.homeOf().EmitMore(flight.Default(), now, k, why, stack, thread, arg, more...)
}

func (c *carrier) homeOf() flight.Home {
	if c == nil {
		return flight.Anywhere
	}
	return c.home
}

// over records an event of something that the mounted thread t did for d, if the settings want it.
func (c *carrier) over(k flight.Kind, t *Task, d, now flight.Ticks, why flight.Reason) {
	if flight.Default().Over(k, d) {
		c.emit(now, k, why, 0, t.id, uint64(d.Sub(0)))
	}
}

func (c *carrier) emitNow(k flight.Kind, id flight.ThreadID) {
	if flight.Default() != nil {
		c.emit(flight.Now(), k, 0, 0, id, 0)
	}
}

func (t *Task) leaveYielding(c *carrier) {
	w := c.worker
	if w != nil && !w.hasMore() {
		w.progress()
		c.emitNow(flight.EventYield, t.id)
		return
	}
	var now flight.Ticks
	if rec := t.rec; rec != nil {
		now = flight.Now()
		c.cpuEnds(rec, now)
		if w != nil {
			w.noteSlice(t, rec, now, flight.ReasonYield)
		}
		if c.ring != nil {
			c.ring.Yield(rec, t.id, now)
		} else {
			rec.Yielded(now)
			c.emit(now, flight.EventYield, 0, 0, t.id, 0)
			c.emit(now, flight.EventUnmount, flight.ReasonYield, 0, t.id, 0)
		}
	}
	s := t.depart(c, toQueue, now)
	s.Switch()
	t.on.finish()
	if in := t.traced; in != nil {
		in.arrived()
	}
}

// depart is the first half of a departure (C2, C3). It returns the slot to switch to, which is t's from then on. When
// that switch returns, t is mounted again, perhaps on another carrier, and completes the departure of whoever was there before. (The
// switch is left to the caller so that there are few frames above it: see [coro.Slot.Switch].)
func (t *Task) depart(c *carrier, then departure, now flight.Ticks) *coro.Slot {
	c.left, c.then = t, then
	s := c.ret
	if trace.IsEnabled() {
		t.traceWait(then.shownAs())
	}
	if n := c.next(); n != nil {
		c.prepare(n, now)
		s = n.at
	}
	t.at = s
	return s
}

// next takes the thread that the one that leaves hands the carrier to, or nil to go back to the
// carrier's goroutine.
func (c *carrier) next() *Task {
	if c.worker == nil {
		return nil
	}
	return c.worker.direct()
}

// prepare makes n, which [worker.direct] has returned, the mounted thread.
func (c *carrier) prepare(n *Task, now flight.Ticks) {
	if n.at == nil {
		c.give(c.worker.spare(), n)
	}
	c.begins(n, now)
}

// finish completes the departure of the thread that was on the carrier before (C2).
func (c *carrier) finish() {
	if m := c.mounted; m != nil && m.rec == nil { // the caller
		c.setGoroutine(coro.G())
	}
	t := c.left
	if t == nil {
		return
	}
	c.left = nil
	then := c.then
	if then == toQueue {
		t.moved(flight.StateRunnable)
		c.again(t)
		return
	}
	m := t.timer // t is not ours any more once it is paused
	w := t.word.Load()
	pausing := w&^stateMask | uint32(then&^timed)
	t.moved(shownAs(pausing))
	if w&stateMask == runnable && t.word.CompareAndSwap(w, pausing) {
		if then&timed == 0 || !m.firedBefore(t, pausing) {
			return
		}
	} else {
		// A permit came after the thread had decided to leave: it goes on.
		t.word.Store(t.word.Load()&^stateMask | runnable)
	}
	c.goesOn(t)
	c.again(t)
}

// goesOn records that t was unparked after it had recorded its park, and before it was paused: nobody else could.
func (c *carrier) goesOn(t *Task) {
	t.moved(flight.StateRunnable)
	if t.rec != nil {
		now := flight.Now()
		t.rec.Runnable(now, 0)
		c.emit(now, flight.EventUnpark, 0, 0, t.id, 0)
	}
}

// again submits a thread that has just left and can go on.
func (c *carrier) again(t *Task) {
	if w := c.worker; w != nil && w.fj.serves(t.sched) {
		if c.then == toQueue && w.sharesYield(t) && w.fj.share(t, t, 1) == nil {
			return
		}
		w.put(t)
		return
	}
	for t.submit(nil) != nil {
		// It lost its scheduler while it was runnable. Nobody waits for an answer here: it stays
		// where it is, parked, and a later Unpark tries again.
		if t.refused(t.word.Load()&^lowMask|pauseOf(flight.StateParked), flight.ReasonRejected) {
			return
		}
	}
}

// execute is the main function of the routines that threads execute on.
func execute(r *coro.Routine) {
	leaving := true
	defer func() {
		if leaving {
			// runtime.Goexit: this goroutine is going to end whatever we do. The thread has ended; the
			// routine waits here, inside the deferred call, to be retired.
			(*Task)(r.Task).endDoomed(r)
			r.Exit()
		}
	}()
	for {
		t := (*Task)(r.Task)
		t.on.finish()
		if t.rec != nil {
			t.rec.Goroutine(coro.G())
		}
		label(r, t.body.Labels())
		t.runBody()
		r.Pins = 0
		if !t.end(r) {
			leaving = false
			return
		}
	}
}

// runBody returns when the body has returned or panicked; after a Goexit it does not return, even if a deferred
// function of the body has panicked since.
func (t *Task) runBody() {
	returned := false
	defer func() {
		if returned {
			return
		}
		if v := recover(); v != nil {
			t.handle(v)
			return
		}
		t.ended(flight.ReasonGoexit, nil)
	}()
	if Simulating() {
		t.beginSimulated()
	}
	t.traceBody()
	t.callBody()
	returned = true
	t.ended(flight.ReasonEnd, nil)
}

// callBody calls the body's Run. All threads pass this one call, wherever they execute: there recorded stacks end ([flight.EndStacks]).
//
//go:noinline
func (t *Task) callBody() {
	if t.marks.Load()&heeds != 0 && t.on.ret != nil {
		t.heed() // waits on a carrier do not look
	}
	t.body.Run()
}

// handle is the end of a body that has panicked with v. A handler that panics is not handled, and one that
// calls runtime.Goexit has handled.
func (t *Task) handle(v any) {
	returned := false
	defer func() {
		if !returned {
			if again := recover(); again != nil && !t.panicSimulated(again) {
				Crash(t, again)
			}
		}
		t.ended(flight.ReasonPanic, v)
	}()
	if !t.body.Handles(v) && !t.panicSimulated(v) {
		Crash(t, v)
	}
	returned = true
}

// ended tells everybody who has to know that the body has ended; its record goes first, so that
// whoever joins the thread does not find it there.
func (t *Task) ended(how flight.Reason, value any) {
	if t.traced != nil {
		t.traced.over()
	}
	t.word.Store(done)
	t.moved(flight.StateDone)
	if Simulating() {
		endSeen(t)
		t.endSimulated(how)
	}
	c := t.on
	if c.worker != nil {
		c.worker.counts.ended()
	} else if fj := c.relieves; fj != nil {
		fj.tally.ends.Add(1)
	}
	if rec := t.rec; rec != nil {
		now := flight.Now()
		for t.marks.Load()&renaming != 0 {
			runtime.Gosched()
		}
		c.cpuEnds(rec, now)
		if c.worker != nil {
			c.worker.noteSlice(t, rec, now, how)
		}
		if c.ring != nil {
			c.instant = now // good for all that follows until user code runs
			c.ring.End(rec, t.id, now, how)
			c.worker.records.Put(flight.Default(), rec)
		} else {
			r := flight.Default()
			used, scope := rec.End(now)
			r.AddSpent(scope, used)
			c.emit(now, flight.EventThreadEnd, how, flight.StackID(used.Mounts), t.id, uint64(used.Run.Sub(0)))
			c.emit(now, flight.EventUnmount, how, 0, t.id, 0)
			c.home.PutRecord(r, rec)
		}
	} else if flight.Default() != nil {
		c.emit(flight.Now(), flight.EventThreadEnd, how, 0, t.id, 0) // there was no room for it, but it counts
	}
	t.body.End(how, value)
}

// nobody is the task of a timer that no thread has borrowed: one that fires late finds it in no park.
var nobody Task

// end finds the routine of a thread that has ended its next task, and returns true when it has
// one, false when it shall end. Often no switch is needed: the next thread is new, and begins here.
func (t *Task) end(r *coro.Routine) bool {
	if m := t.timer; m != nil { // the routine keeps it, and not the thread, for the next
		m.task, m.waiter.task = &nobody, nil
	}
	c := t.on
	c.ret.Refit()
	if c.worker == nil {
		if r.At = c.ret; r.Home() && c.relieves == nil {
			return false // Run's goroutine is in it, and goes on
		}
		// It goes to the pool that it is from; or t was executed by a ForkJoin before, and a stranger may be in the home of r (S3).
		c.rested = r
		return r.Idle(c.ret)
	}
	now := c.instant
	c.instant = 0
	n := c.next()
	if n == nil {
		c.worker.rest(r)
		return r.Idle(c.ret)
	}
	if n.at == nil {
		// r itself will be where n is: the carrier gives it no other.
		n.at = r.At
		r.Task = unsafe.Pointer(n)
		c.begins(n, now)
		return true
	}
	c.prepare(n, now)
	c.worker.rest(r)
	return r.Idle(n.at)
}

// endDoomed is end for a routine that can take no further task.
func (t *Task) endDoomed(r *coro.Routine) {
	c := t.on
	c.ret.Refit()
	c.instant = 0
	if r.At = c.ret; c.worker == nil && r.Home() {
		return
	}
	c.doomed = r
	r.Idle(c.ret)
}
