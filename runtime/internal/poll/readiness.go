package poll

import (
	"sync/atomic"

	"github.com/vtscope/vtscope/runtime/sched"
)

// A Readiness is what somebody, such as a poller, tells a waiter of: nothing, that what is waited for may be ready, or who waits.
//
//	Y1  One waits at a time.
//	Y2  A mark is kept until the next wait, which returns at once: so nothing is lost between a try and the wait.
type Readiness struct {
	at atomic.Pointer[sched.Waiter] // nil, &ready, or the waiter
}

// ready is the mark.
var ready sched.Waiter

// Wait waits for a mark and takes it, within limits.
func (r *Readiness) Wait(me *sched.Task, l sched.Limits, p sched.Pause) error {
	w := sched.NewWaiter(me)
	if !r.at.CompareAndSwap(nil, w) {
		r.at.Store(nil) // the mark: nobody else waits
		w.Drop()
		return nil
	}
	err := w.WaitWithin(l, p)
	if err != nil && !r.at.CompareAndSwap(w, nil) {
		w.Passed() // somebody took it, to wake it
		r.Mark()   // Y2: it is for the next wait
	}
	return err
}

// Mark wakes who waits, or lets the next wait return at once.
func (r *Readiness) Mark() {
	for {
		switch w := r.at.Load(); w {
		case &ready:
			return
		case nil:
			if r.at.CompareAndSwap(nil, &ready) {
				return
			}
		default:
			if r.at.CompareAndSwap(w, nil) {
				_ = w.Wake() // refused, it stays parked: who closed its scheduler knows
				return
			}
		}
	}
}
