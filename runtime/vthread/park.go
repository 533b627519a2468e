package vthread

import (
	"context"
	"errors"
	"runtime"
	"time"

	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/sched"
)

// Park gives up the carrier until somebody calls [Thread.Unpark], or returns at once if somebody has since the
// last park returned, or while the thread's interrupt status is set. It may also return for no reason, so callers check what
// they wait for. A dump shows what the thread waits on, if that is given. A thread that has locked its OS thread, or is in a pin section,
// holds its carrier meanwhile. On a plain goroutine, which nobody could unpark, it panics.
func Park(on ...flight.Blocker) {
	t := sched.Current()
	if t == nil {
		panic(errNotThread)
	}
	sched.Point(sched.OpPark, 0)
	if !t.Interrupted() {
		s, _ := t.Leave(sched.Pause{State: flight.StateParked, Reason: flight.ReasonPark, Blocker: blocker(on)}, 1)
		if s != nil {
			s.Switch()
			t.Arrive()
		}
	}
}

// ParkFor is [Park] for at most d. It returns at once, and uses no permit, if d is not positive and there is no
// permit. On a plain goroutine it sleeps.
func ParkFor(d time.Duration, on ...flight.Blocker) {
	t := sched.Current()
	if t == nil {
		time.Sleep(d)
		return
	}
	sched.Point(sched.OpPark, 0)
	switch {
	case t.Interrupted():
	case d <= 0:
		t.TakePermit()
	default:
		t.ParkUntil(sched.After(d), sched.Pause{State: flight.StateTimedParked, Reason: flight.ReasonPark, Blocker: blocker(on)})
	}
}

// ParkUntil is [ParkFor] until a time.
func ParkUntil(when time.Time, on ...flight.Blocker) {
	ParkFor(time.Until(when), on...)
}

func blocker(on []flight.Blocker) flight.Blocker {
	if len(on) == 0 {
		return 0
	}
	return on[0]
}

// Sleep pauses the caller for at least d: a thread parks, a goroutine blocks. It returns at once if d is 0, and
// does nothing if d is negative. An [Thread.Unpark] meanwhile does not shorten it; it is kept for the next park. If the thread is interrupted, or was
// before, Sleep clears the interrupt status and returns [ErrInterrupted]; there is no other error.
func Sleep(d time.Duration) error {
	t := sched.Current()
	if t == nil {
		time.Sleep(d)
		return nil
	}
	if t.Sleep(d) {
		return ErrInterrupted
	}
	return nil
}

// SleepContext is [Sleep] that also returns when ctx ends, or had ended before, with its cause.
func SleepContext(ctx context.Context, d time.Duration) error {
	if d < 0 {
		return (&sched.Limits{Context: ctx}).Late()
	}
	me := sched.Current()
	err := sched.NewLooseWaiter(me).WaitWithin(
		sched.Limits{Context: ctx, Until: sched.After(max(d, 0)), Interrupts: true},
		sched.Pause{State: flight.StateTimedParked, Reason: flight.ReasonSleep})
	if err == ErrTimeout {
		return nil
	}
	return err
}

// Yield offers the carrier to other threads that are runnable; on a plain goroutine it is runtime.Gosched.
func Yield() {
	if t := sched.Current(); t != nil {
		t.Yield()
		return
	}
	runtime.Gosched()
}

// Interrupt sets the thread's interrupt status, ends its [Thread.Context], and unparks it: a [Park] returns, and sleeps and joins return
// [ErrInterrupted]. A thread that is not started remembers it. It does not block. The error is that of [Thread.Unpark].
func (t *Thread) Interrupt() error {
	err := t.task.Interrupt()
	t.interruptContext()
	sched.Point(sched.OpInterrupt, flight.BlockThread(t.ID()))
	return err
}

// IsInterrupted returns the thread's interrupt status.
func (t *Thread) IsInterrupted() bool {
	sched.Point(sched.OpPoint, 0)
	return t.task.Interrupted()
}

// Interrupted clears the calling thread's interrupt status, and reports whether it was set. On a plain goroutine, which cannot be
// interrupted, it returns false.
func Interrupted() bool {
	sched.Point(sched.OpPoint, 0) // a thread may wait for it in a loop
	t := sched.Current()
	return t != nil && t.TakeInterrupt()
}

// errNotThread is what functions panic with that need a thread.
var errNotThread = errors.New("vthread: called on a goroutine that is not a thread")
