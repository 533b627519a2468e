package vthread

import (
	"runtime"
	"time"

	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/sched"
)

// Park gives up the carrier until somebody calls [Thread.Unpark], or returns at once if somebody has since the
// last park returned. It may also return for no reason, so callers check what they wait for. A thread that has locked its OS
// thread holds its carrier meanwhile. On a plain goroutine, which nobody could unpark, it panics.
func Park() {
	t := sched.Current()
	if t == nil {
		panic(errNotThread)
	}
	t.Park(sched.Pause{State: flight.StateParked, Reason: flight.ReasonPark})
}

// ParkFor is [Park] for at most d. It returns at once, and uses no permit, if d is not positive and there is no
// permit.
func ParkFor(d time.Duration) {
	t := sched.Current()
	if t == nil {
		panic(errNotThread)
	}
	t.ParkFor(d, sched.Pause{State: flight.StateTimedParked, Reason: flight.ReasonPark})
}

// Sleep pauses the caller for at least d: a thread parks, a goroutine blocks. It returns at once if d is not
// positive. An [Thread.Unpark] meanwhile does not shorten it; it is kept for the next park.
func Sleep(d time.Duration) {
	t := sched.Current()
	if t == nil {
		time.Sleep(d)
		return
	}
	if d > 0 {
		t.Sleep(d)
	}
}

// Yield offers the carrier to other threads that are runnable; on a plain goroutine it is runtime.Gosched.
func Yield() {
	if t := sched.Current(); t != nil {
		t.Yield()
		return
	}
	runtime.Gosched()
}
