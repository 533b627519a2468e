package vsync

import (
	"context"
	"time"

	"github.com/vtscope/vtscope/runtime/sched"
)

// Errors of waits that are given up; the same as those of package vthread. A wait that ends with a context returns its cause.
var (
	ErrTimeout     = sched.ErrTimeout
	ErrInterrupted = sched.ErrInterrupted
)

// The limits of the waits of each name.
var (
	always = &sched.Limits{}                 // Lock, Wait, …
	alert  = &sched.Limits{Interrupts: true} // LockInterruptibly, …
)

func within(d time.Duration) *sched.Limits {
	return &sched.Limits{Until: sched.After(d), Interrupts: true}
}

func inContext(ctx context.Context) *sched.Limits {
	return &sched.Limits{Context: ctx, Interrupts: true}
}

// ended tells why a wait within l, of the caller, is not to begin, or nil.
func ended(me *sched.Task, l *sched.Limits) error {
	switch {
	case l.Interrupts && me != nil && me.TakeInterrupt():
		return ErrInterrupted
	case l.Context != nil && l.Context.Err() != nil:
		return context.Cause(l.Context)
	}
	return nil
}

// deadline returns when a wait within l ends, as [now] tells, if it does.
func deadline(l *sched.Limits) (at time.Duration, timed bool) {
	at, timed = l.Until, l.Until != 0
	if l.Context != nil {
		if end, ok := l.Context.Deadline(); ok {
			if d := sched.After(time.Until(end)); !timed || d < at {
				at, timed = d, true
			}
		}
	}
	return at, timed
}
