package vnet

import (
	"context"
	"net"
	"sync"
	"syscall"
	"time"

	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/sched"
)

// Dial is [net.Dial] for threads: a thread parks, with the reason lookup and then connect, until there is a connection.
func Dial(network, address string) (net.Conn, error) {
	return (&Dialer{}).DialContext(context.Background(), network, address)
}

// DialTimeout is [net.DialTimeout] for threads.
func DialTimeout(network, address string, timeout time.Duration) (net.Conn, error) {
	return (&Dialer{Dialer: net.Dialer{Timeout: timeout}}).DialContext(context.Background(), network, address)
}

// DialContext is Dial within a context, as [net.Dialer.DialContext].
func DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	return (&Dialer{}).DialContext(ctx, network, address)
}

// A Dialer is a [net.Dialer] for threads.
type Dialer struct {
	net.Dialer
}

// Dial is [net.Dialer.Dial]. If the thread is interrupted it gives up, leaves the interrupt status set, and returns an error that matches
// [sched.ErrInterrupted].
func (d *Dialer) Dial(network, address string) (net.Conn, error) {
	return d.DialContext(context.Background(), network, address)
}

// DialContext is [net.Dialer.DialContext]. An interrupt is as with Dial.
func (d *Dialer) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	me := sched.Current()
	if me == nil {
		c, err := d.Dialer.DialContext(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return Wrap(c)
	}
	a := attempt[net.Conn]{lost: func(c net.Conn) { c.Close() }, reason: flight.ReasonConnect}
	if named(network, address) {
		a.reason = flight.ReasonLookup
	}
	inner := d.Dialer // a copy: the hook is of this dial alone
	control, controlContext := inner.Control, inner.ControlContext
	inner.Control = nil
	inner.ControlContext = func(ctx context.Context, network, address string, c syscall.RawConn) error {
		a.connecting()
		switch {
		case controlContext != nil:
			return controlContext(ctx, network, address, c)
		case control != nil:
			return control(network, address, c)
		}
		return nil
	}
	c, err := a.wait(ctx, me, func(ctx context.Context) (net.Conn, error) { return inner.DialContext(ctx, network, address) })
	if err == sched.ErrInterrupted {
		err = &net.OpError{Op: "dial", Net: network, Err: sched.ErrInterrupted}
	}
	if err != nil {
		return nil, err
	}
	return Wrap(c)
}

// named reports whether an address has a name that must be looked up.
func named(network, address string) bool {
	switch network {
	case "unix", "unixgram", "unixpacket":
		return false
	}
	host, _, err := net.SplitHostPort(address)
	return err == nil && host != "" && net.ParseIP(host) == nil
}

// outside makes a call on a helper goroutine, for which a thread parks; a goroutine makes it itself. What it returns after the caller has given up is lost.
func outside[T any](ctx context.Context, why flight.Reason, call func(context.Context) (T, error), lost func(T)) (T, error) {
	me := sched.Current()
	if me == nil {
		return call(ctx)
	}
	a := attempt[T]{lost: lost, reason: why}
	return a.wait(ctx, me, call)
}

// An attempt is a call that a helper makes, which may be given up.
//
//	Z1  Who sets over decides: the helper, that its result is taken; the thread, that the helper drops it.
//	Z2  The helper's context ends when the thread gives up, and the thread waits for nothing more.
type attempt[T any] struct {
	lost func(T) // drops a result

	mu      sync.Mutex
	reason  flight.Reason // why the thread waits now
	waiter  *sched.Waiter // of the thread, while it waits
	tries   int
	changed bool // the reason was, since the thread looked
	over    bool
	value   T
	err     error
}

// wait makes the call, and parks until it has returned, ctx ends or the thread is interrupted, which stays so.
func (a *attempt[T]) wait(ctx context.Context, me *sched.Task, call func(context.Context) (T, error)) (none T, err error) {
	if me.Interrupted() {
		return none, sched.ErrInterrupted
	}
	inner, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		v, err := call(inner)
		a.mu.Lock()
		dropped := a.over
		a.over, a.value, a.err = true, v, err
		w := a.waiter
		a.waiter = nil
		a.mu.Unlock()
		switch {
		case dropped && err == nil && a.lost != nil:
			a.lost(v)
		case w != nil:
			_ = w.Wake() // refused, it stays parked: who closed its scheduler knows
		}
	}()
	for {
		w := sched.NewWaiter(me)
		a.mu.Lock()
		if a.over {
			a.mu.Unlock()
			w.Drop()
			return a.value, a.err
		}
		a.waiter, a.changed = w, false
		why := a.reason
		a.mu.Unlock()
		// The helper's own error tells that ctx has ended: as package net does, with what was tried.
		err := w.WaitWithin(sched.Limits{Interrupts: true}, sched.Pause{State: flight.StateParked, Reason: why})
		if err == nil {
			continue
		}
		a.mu.Lock()
		mine := a.waiter == w
		a.waiter = nil
		over := a.over
		a.over = true
		a.mu.Unlock()
		if !mine {
			w.Passed()
		}
		_ = me.Interrupt() // it stays interrupted. It runs: nobody can refuse it
		if over && a.err == nil && a.lost != nil {
			a.lost(a.value)
		}
		return none, err
	}
}

// connecting tells that an address is tried now.
func (a *attempt[T]) connecting() {
	a.mu.Lock()
	a.tries++
	was := a.reason
	switch {
	case a.tries > 1:
		a.reason = flight.ReasonDial
	default:
		a.reason = flight.ReasonConnect
	}
	w := a.waiter
	if a.reason == was {
		w = nil
	} else {
		a.waiter = nil
	}
	a.mu.Unlock()
	if w != nil {
		_ = w.Wake() // refused, it stays parked: who closed its scheduler knows
	}
}
