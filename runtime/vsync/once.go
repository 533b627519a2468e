package vsync

import (
	"context"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/sched"
)

// A Once calls one function, once. Its zero value has called none.
type Once struct {
	done atomic.Bool
	mu   Mutex // held by who calls
}

// SetName gives o a name, which dumps show with the place where that was done. It must be called before anybody uses o.
func (o *Once) SetName(name string) { o.mu.told.setName(name) }

// Do calls f if no Do of o has called a function before, and else waits until that one has ended: a thread parks, a goroutine blocks; interrupts
// play no part. As of a sync.Once, a function that panics has been called, and one that calls Do of o waits for itself.
func (o *Once) Do(f func()) { _ = o.do(f, always) }

// DoInterruptibly is [Once.Do] for who may be interrupted: if the calling thread is while it waits for another's call, or was before, DoInterruptibly
// clears the interrupt status and returns [ErrInterrupted]. When the call has ended it returns nil in any case.
func (o *Once) DoInterruptibly(f func()) error { return o.do(f, alert) }

// DoFor is [Once.DoInterruptibly] that waits for at most d; then it returns [ErrTimeout].
func (o *Once) DoFor(d time.Duration, f func()) error { return o.do(f, within(d)) }

// DoContext is [Once.DoInterruptibly] that also returns when ctx ends, or had ended before, with its cause.
func (o *Once) DoContext(ctx context.Context, f func()) error { return o.do(f, inContext(ctx)) }

// Done reports whether a function was called, and has ended.
func (o *Once) Done() bool { return o.done.Load() }

func (o *Once) do(f func(), l *sched.Limits) error {
	sched.Point(sched.OpPoint, o.blocker())
	if o.done.Load() {
		return nil
	}
	me := sched.Current()
	if err := ended(me, l); err != nil {
		return err
	}
	if !o.mu.try(holderOf(me), 0) {
		if err := o.mu.lock(me, l, flight.ReasonCondition, o); err != nil {
			return err
		}
	}
	defer sched.Point(sched.OpPoint, o.blocker())
	defer o.mu.release(o)
	if !o.done.Load() {
		defer o.done.Store(true)
		f()
	}
	return nil
}

func (o *Once) blocker() flight.Blocker {
	return flight.BlockAt(flight.BlockedByOnce, uintptr(unsafe.Pointer(o)))
}

func (o *Once) account() *account { return &o.mu.told }
func (o *Once) capacity() uint64  { return 0 }

func (o *Once) tell(r *flight.BlockerRecord, waiting int) { o.mu.tell(r, waiting) }
