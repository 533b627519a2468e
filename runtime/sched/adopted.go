package sched

import (
	"runtime/pprof"
	"runtime/trace"
	"sync"
	"unsafe"

	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/internal/coro"
	"github.com/vtscope/vtscope/runtime/internal/panicstack"
)

// An adoption is a thread that executes on the goroutine of its caller, for the time of a call.
//
//	A1  The goroutine is the thread's: its routine hides the one that the goroutine was before.
//	    So nobody in the call finds the continuations around it, and what the caller keeps with
//	    its routine stays as it is.
//	A2  A caller that is a thread waits for the end of the adopted one. Its word stays runnable:
//	    whoever unparks it leaves a permit. The mark nests says that it waits.
//	A3  Where the caller can leave its carrier, so can the adopted thread: it executes there in
//	    its caller's place, is parked and mounted as any thread of that scheduler, and the
//	    caller goes on wherever it has ended. Elsewhere it parks in place, as a thread with its
//	    own goroutine does.
type adoption struct {
	routine coro.Routine
	place   carrier     // where A3 has none
	home    flight.Home // of what is recorded in place
	caller  *Task       // nil: a plain goroutine

	labels   unsafe.Pointer // of the goroutine before
	labelled bool           // and they were exchanged
}

// adoptions keeps those of a processor there, and so their homes.
var adoptions = sync.Pool{New: func() any { return &adoption{home: flight.NewHome()} }}

// RunHere executes t, which is new, on the calling goroutine, and returns when its body has. me is
// [Current]. A panic of the body goes on in the caller, and nobody recovers it on the way, unless t
// is guarded: then the body handles it, and RunHere returns. A runtime.Goexit goes on in the
// caller.
func (t *Task) RunHere(me *Task, b Birth, guarded bool) {
	a := adoptions.Get().(*adoption)
	a.begin(t, me, b)
	returned := false
	defer func() {
		switch {
		case returned:
		case !panicstack.Panicking():
			a.end(t, flight.ReasonGoexit)
		case !guarded:
			a.end(t, flight.ReasonPanic)
		default:
			defer a.end(t, flight.ReasonPanic) // also if the handler panics
			t.body.Handles(recover())
		}
	}()
	t.traceBody()
	t.callBody()
	returned = true
	a.end(t, flight.ReasonEnd)
}

func (a *adoption) begin(t, me *Task, b Birth) {
	a.caller = me
	c := &a.place
	t.sched = Goroutines
	marks := adopted | t.marks.Load()&heeds
	if me != nil {
		marks |= me.marks.Load() &^ (pinStep - 1) // who cannot leave cannot within either
		if me.on.ret != nil {
			c, t.sched, t.lane = me.on, me.sched, me.lane
		}
	}
	if c == &a.place {
		*c = carrier{id: flight.NoCarrier, home: a.home}
	}
	t.marks.Store(marks)
	t.word.Store(runnable)
	t.moved(flight.StateRunnable)
	r, now, at := flight.Default(), flight.Ticks(0), me.place()
	if at == nil {
		at = c
	}
	if r != nil {
		now = flight.Now()
		t.record(me, at, b, flight.StateRunnable, now)
	}
	if Simulating() {
		startSeen(t)
	}
	if r != nil {
		at.emit(now, flight.EventThreadStart, flight.Reason(b.Flags), flight.StackID(b.Scope), t.id, uint64(me.threadID()))
	}
	if me != nil {
		me.nest(t, now)
	}
	a.routine.Task = unsafe.Pointer(t)
	a.routine.Enter()
	if w := c.worker; w != nil {
		w.counts.started()
		w.progress()
	}
	c.begins(t, now)
	if t.rec != nil {
		t.rec.Goroutine(coro.G())
	}
	a.label(t.body.Labels())
}

// end ends the thread, whose body has ended, and makes the goroutine again what it was before. The
// caller drops a.
func (a *adoption) end(t *Task, how flight.Reason) {
	t.ended(how, nil)
	if m := t.timer; m != nil {
		// The next call may be in another synctest bubble.
		m.task, m.waiter.task, m.unpin = &nobody, nil, nil
	}
	if a.labelled {
		coro.SetLabels(a.labels)
	}
	a.routine.Leave()
	c := t.on
	c.setMounted(nil)
	now := c.instant
	c.instant = 0
	if me := a.caller; me != nil {
		if c == &a.place {
			c = me.on
		}
		me.unnest(t, c, now)
	}
	a.routine.Task, a.routine.Pins, a.routine.Down = nil, 0, nil
	a.caller, a.labels, a.labelled = nil, nil, false
	adoptions.Put(a)
}

// nest notes that t, the caller, waits from now on until inner, which it adopts, has ended.
func (t *Task) nest(inner *Task, now flight.Ticks) {
	c := t.on
	if trace.IsEnabled() {
		t.traceWait(flight.StateWaiting)
	}
	if rec := t.rec; rec != nil {
		c.cpuEnds(rec, now)
		if c.worker != nil {
			c.worker.noteSlice(t, rec, now, flight.ReasonJoin)
		}
		stack, on := flight.Default().Stack(stackSkip+2), flight.BlockThread(inner.id)
		if c.ring != nil {
			c.ring.Park(rec, t.id, now, flight.StateWaiting, flight.ReasonJoin, stack, on)
		} else {
			rec.Parked(now, flight.StateWaiting, flight.ReasonJoin, stack, on)
			c.emit(now, flight.EventPark, flight.ReasonJoin, stack, t.id, uint64(on))
			c.emit(now, flight.EventUnmount, flight.ReasonJoin, 0, t.id, 0)
		}
		rec.Goroutine(0) // it executes inner
	}
	t.marks.Or(nests)
	t.moved(flight.StateWaiting)
	if s, a := t.simulation(); a != nil {
		s.act(a, t, inner)
	}
}

// unnest makes t go on, on c, after inner, which it has adopted, has ended.
func (t *Task) unnest(inner *Task, c *carrier, now flight.Ticks) {
	if s, a := inner.simulation(); a != nil {
		s.act(a, inner, t)
	}
	t.marks.And(^nests)
	t.moved(flight.StateRunnable)
	if rec := t.rec; rec != nil {
		if now == 0 {
			now = flight.Now()
		}
		if c.ring != nil {
			c.ring.Unpark(rec, t.id, now, inner.id)
		} else {
			rec.Runnable(now, inner.id)
			c.emit(now, flight.EventUnpark, 0, 0, t.id, uint64(inner.id))
		}
		rec.Goroutine(coro.G())
	}
	if w := c.worker; w != nil {
		w.progress()
	}
	c.begins(t, now)
	if in := t.traced; in != nil {
		in.arrived()
	}
}

// label gives the goroutine the labels of the thread that begins, beside those that a plain
// goroutine has. [adoption.end] puts back what it had, to the letter. Where that cannot be read it
// keeps what it has.
func (a *adoption) label(l *Labels) {
	if !coro.SwapsLabels || l == nil && a.caller == nil {
		return
	}
	a.labels, a.labelled = coro.Labels(), true
	if a.caller != nil || a.labels == nil {
		pprof.SetGoroutineLabels(l.Base())
		return
	}
	pprof.SetGoroutineLabels(l.over(a.labels))
}
