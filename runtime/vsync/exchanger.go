package vsync

import (
	"context"
	"time"
	"unsafe"

	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/sched"
)

// An Exchanger is where two meet, and each gets the other's value. Its zero value is ready for use.
type Exchanger[T any] struct {
	waiters waiters // at most one
	told    account
}

// SetName gives x a name, which dumps show with the place where that was done. It must be called before anybody uses x.
func (x *Exchanger[T]) SetName(name string) { x.told.setName(name) }

// Exchange waits for another caller, gives it v, and returns its value. A thread parks, a goroutine blocks; interrupts play no part.
func (x *Exchanger[T]) Exchange(v T) T {
	theirs, _ := x.exchange(v, always)
	return theirs
}

// ExchangeInterruptibly is [Exchanger.Exchange] for who may be interrupted: if the calling thread is while it waits, or was before, ExchangeInterruptibly
// clears the interrupt status and returns [ErrInterrupted]; nobody gets v.
func (x *Exchanger[T]) ExchangeInterruptibly(v T) (T, error) { return x.exchange(v, alert) }

// ExchangeFor is [Exchanger.ExchangeInterruptibly] for at most d; then it returns [ErrTimeout].
func (x *Exchanger[T]) ExchangeFor(v T, d time.Duration) (T, error) {
	return x.exchange(v, within(d))
}

// ExchangeContext is [Exchanger.ExchangeInterruptibly] that also returns when ctx ends, or had ended before, with its cause.
func (x *Exchanger[T]) ExchangeContext(ctx context.Context, v T) (T, error) {
	return x.exchange(v, inContext(ctx))
}

func (x *Exchanger[T]) exchange(v T, l *sched.Limits) (theirs T, err error) {
	sched.Point(sched.OpPoint, x.blocker())
	me := sched.Current()
	if err := ended(me, l); err != nil {
		return theirs, err
	}
	for q := &x.waiters; ; {
		q.Lock()
		if n := q.first; n != nil {
			q.takeLocked(n)
			box := n.value.(*T)
			theirs = *box
			*box = v
			q.Unlock()
			if n.wake() {
				sched.Point(sched.OpPoint, x.blocker())
				return theirs, nil
			}
			continue
		}
		box := new(T)
		*box = v
		n := &waiter{value: box}
		q.pushLocked(n.ready(me, l, x, nil))
		q.Unlock()
		got, err := q.await(n, l, flight.ReasonCondition, x)
		switch {
		case err != nil:
			return theirs, err
		case got:
			return *box, nil
		}
	}
}

func (x *Exchanger[T]) blocker() flight.Blocker {
	return flight.BlockAt(flight.BlockedByExchanger, uintptr(unsafe.Pointer(x)))
}

func (x *Exchanger[T]) account() *account { return &x.told }
func (x *Exchanger[T]) capacity() uint64  { return 0 }

func (x *Exchanger[T]) tell(r *flight.BlockerRecord, waiting int) { r.Count(0, waiting) }
