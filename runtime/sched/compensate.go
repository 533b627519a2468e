package sched

import (
	"runtime"
	"sync/atomic"
	"unsafe"

	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/internal/coro"
)

// Stays reports whether the thread t, the caller, would keep what executes it if it parked now: it has a goroutine of its own, or it
// cannot leave its carrier.
func (t *Task) Stays() bool {
	if t.on.ret == nil || t.marks.Load() >= pinStep || !t.on.ret.Fits() {
		return true
	}
	_, own := t.sched.(goroutines)
	return own
}

// Home tells who executes the thread t, the caller, from others: a scheduler, or a carrier of a [Pinned]. It is not 0. A scheduler that is not a pointer
// may be told in several ways.
func (t *Task) Home() uintptr {
	words := (*[2]uintptr)(unsafe.Pointer(&t.sched))
	return (words[0] ^ words[1] + uintptr(t.lane)) | 1
}

// MayHold reports whether the thread t, the caller, may hold its carrier through a call that blocks, and nobody else waits
// for it: t has no carrier to give away, or cannot leave the one that it has, or another one is idle, and serves from now on what waits
// for this one. If more come than are left can serve, the watchdog adds carriers (W1).
func (t *Task) MayHold() bool {
	if t.Stays() {
		return true
	}
	w := t.on.worker
	if w == nil || w.fj.room.Load() <= 0 {
		return false
	}
	return w.giveAway() // where others see it
}

// An errand is a call that a thread makes on another goroutine, while its carrier serves others.
//
//	E1  The thread parks. The errand's goroutine adopts it: it makes the move from paused to runnable, as who unparks does, and so owns the
//	    thread (K1) until it submits it to its scheduler again. Meanwhile that goroutine is the thread, as that of a thread of
//	    [Goroutines] is: the call may park, and be interrupted.
//	E2  Somebody else who unparks the thread may be faster. Then the thread keeps the permit for the errand, and parks again.
//	E3  A goroutine that does not soon find the thread paused, because it waits for a carrier after E2, gives up and
//	    gives it a permit. The thread then sends another.
type errand struct {
	task    *Task
	call    func()
	caller  *coro.Routine // waits for routine
	routine coro.Routine
	on      carrier
	permit  bool // for the call, or for what comes after it; the thread's, and after E1 the errand's
	state   atomic.Uint32
}

// The states of an errand. Only its goroutine moves it on, and the thread from missed to sent.
const (
	sent uint32 = iota
	missed
	returned
)

// Elsewhere calls call as the thread t, the caller, but on another goroutine, so that t's carrier serves others. t must be one
// that can leave its carrier: one for which [Task.MayHold] has just returned false. When call has returned, or called runtime.Goexit, t goes on. call
// must not panic. The goroutine has the profiler labels of the caller's. Until call parks itself or ends, dumps show t as
// parked in Elsewhere, for the reason io.
func (t *Task) Elsewhere(call func()) {
	e := &errand{task: t, call: call, caller: coro.Self()}
	e.routine.Task = unsafe.Pointer(t)
	for {
		// A new goroutine for each call: it has the labels of its maker, is in the same synctest bubble, and ends. To wake one of a pool takes as
		// long or longer (measured, until the thread goes on: 0.9 µs with a new one, 1.0 to 1.3 with a pool).
		if !Simulating() || !t.afterPark(e.run) {
			go e.run()
		}
		for e.state.Load() == sent {
			t.Park(Pause{State: flight.StateParked, Reason: flight.ReasonIO})
			e.permit = e.permit || e.state.Load() != returned // E2; one of E3 may hide another
		}
		if e.state.Load() == returned {
			break
		}
		e.state.Store(sent)
	}
}

// run is the goroutine of an errand.
func (e *errand) run() {
	if !e.adopt() {
		e.state.Store(missed)
		_ = e.task.Unpark() // refused, it stays parked until somebody else unparks it, as any thread
		return
	}
	t := e.task
	e.on = carrier{id: flight.NoCarrier, mounted: t}
	t.on = &e.on
	t.moved(flight.StateMounted)
	e.routine.Enter()
	e.caller.Down = &e.routine
	defer e.giveBack() // also after a runtime.Goexit
	e.call()
}

// adoptRounds is how often an errand's goroutine looks for its thread. Almost always the first time is enough: to get to run
// it takes longer than the thread to leave its carrier.
const adoptRounds = 100

func (e *errand) adopt() bool {
	t := e.task
	for range adoptRounds {
		if w := t.word.Load(); w&stateMask == paused && t.word.CompareAndSwap(w, w&^lowMask|runnable) {
			t.moved(flight.StateRunnable)
			if e.permit {
				t.keepPermit()
			}
			return true
		}
		runtime.Gosched()
	}
	return false
}

// giveBack submits the thread to its scheduler: it goes on in Elsewhere.
func (e *errand) giveBack() {
	t := e.task
	e.routine.Unpin()
	e.caller.Down = nil
	e.routine.Leave()
	e.on.setMounted(nil)
	t.moved(flight.StateRunnable)
	t.recordUnpark(nil)
	e.state.Store(returned)
	for t.submit(nil) != nil {
		if t.refused(t.word.Load()&^lowMask|pauseOf(flight.StateParked), flight.ReasonRejected) {
			return
		}
	}
}
