package sched

import (
	"runtime"
	"runtime/pprof"
	"runtime/trace"
	"unsafe"

	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/internal/coro"
)

// Goroutines and OSThreads are the schedulers of threads that have a goroutine of their own for life, plain or locked to an
// OS thread, which ends with the thread. Go schedules them: such a task is handed to them once, when it starts, and waits on its
// goroutine. Threads that it starts are on the default scheduler.
var (
	Goroutines Scheduler = bound{}
	OSThreads  Scheduler = bound{osThread: true}
)

type bound struct{ osThread bool }

func (b bound) mark() uint32 {
	if b.osThread {
		return onOSThread
	}
	return onGoroutine
}

func (b bound) Execute(t *Task) error {
	go t.runBound(b.osThread)
	return nil
}

// runBound is the goroutine of a thread that has its own.
func (t *Task) runBound(lock bool) {
	if lock {
		runtime.LockOSThread() // never unlocked: the OS thread is the thread's
	}
	r := &coro.Routine{Task: unsafe.Pointer(t)}
	r.Enter()
	defer r.Leave() // also after a runtime.Goexit
	c := &carrier{id: flight.NoCarrier, mounted: t}
	t.on = c
	t.moved(flight.StateMounted)
	if t.rec != nil {
		c.recordMount(t, t.rec, flight.Now())
		c.cpuBegins(flight.Default(), false)
		t.rec.Goroutine(coro.G())
	}
	pprof.SetGoroutineLabels(t.body.Labels().Base()) // not those of who started it
	t.runBody()
}

// parkInPlace is Park for a thread that does not leave its goroutine's carrier (K4): it has none, or it is pinned. It blocks
// the goroutine; the watchdog sees to the others.
func (t *Task) parkInPlace(p Pause) {
	if t.marks.Load()&heeds != 0 {
		t.heed()
	}
	m := t.wakeable()
	if m.unpin == nil {
		m.unpin = make(chan struct{}, 1)
	}
	c := t.on
	pinned, why := c.ret != nil, t.pinReason()
	pause := pauseOf(p.State)
	if pinned {
		pause = pausePinned
	}
	if trace.IsEnabled() {
		t.traceWait(shownAs(uint32(pause)))
	}
	began := flight.Now()
	var stack flight.StackID
	if t.rec != nil {
		c.cpuEnds(t.rec, began)
		stack = flight.Default().Stack(stackSkip)
		if pinned {
			t.rec.Pinned(began, why, stack, p.Blocker)
			c.ring.SetCarrier(flight.CarrierHeld)
		} else {
			t.rec.Parked(began, p.State, p.Reason, stack, p.Blocker)
			c.emit(began, flight.EventPark, p.Reason, stack, t.id, uint64(p.Blocker))
		}
	}
	again := m.isPinned()
	if pinned && c.worker != nil && !again {
		c.worker.waiting.Store(0)
	}
	if pinned && pins.watched.Load() && !again {
		pcs := make([]uintptr, 64)
		pinBegins(t, c.id, why, pcs[:runtime.Callers(2, pcs)])
	}
	w := t.word.Load()
	blocking := w&^stateMask | blocked | pause
	t.moved(shownAs(blocking))
	unparked := false
	if w&stateMask == runnable && t.word.CompareAndSwap(w, blocking) {
		if pinned && c.worker != nil {
			c.worker.giveAway() // where others see it
			c.worker.fj.watchIfAsleep()
		}
		if unparked = !m.armed || !m.firedBefore(t, blocking); unparked {
			if Simulating() {
				t.holdSimulated()
			}
			<-m.unpin
		}
	} else {
		t.word.Store(t.word.Load()&^stateMask | runnable) // a permit came
	}
	if !pinned && !unparked {
		c.goesOn(t)
	}
	t.moved(flight.StateMounted)
	now := flight.Now()
	if pinned {
		if c.worker != nil {
			c.worker.progress()
		}
		switch m.contention {
		case nil:
			c.pinOver(t, why, stack, began, now)
		case contending:
			m.contention = &contention{c, why, stack, began}
		}
	}
	if t.rec != nil {
		t.rec.Resumed(now)
		c.cpuBegins(flight.Default(), false)
		if pinned {
			c.ring.SetCarrier(flight.CarrierRunning)
		}
	}
	if in := t.traced; in != nil {
		in.arrived()
	}
	if Simulating() {
		t.resumedSimulated()
	}
}

func init() {
	coro.OnPin = func(task unsafe.Pointer, by int32) {
		(*Task)(task).marks.Add(uint32(by) * pinStep)
	}
}
