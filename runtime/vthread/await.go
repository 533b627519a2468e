package vthread

import (
	"context"
	"time"

	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/sched"
)

// Await makes a call with a callback one that blocks. It calls register, which passes done to whatever will call it, and waits until done was
// called; it returns what done was called with. A thread parks, a goroutine blocks.
//
// done may be called by anybody, also by register itself, and never blocks. All calls after the first do nothing, and so does one after Await has
// given up: who has to know whether anybody still takes the value makes a [Promise], whose Complete tells. If done is
// never called Await waits forever.
//
// If the calling thread is interrupted while it waits, Await clears the interrupt status and returns [ErrInterrupted]; if it was
// before, without a call of register. A panic of register comes out of Await.
func Await[T any](register func(done func(T, error))) (T, error) {
	return await(sched.Limits{Interrupts: true}, register)
}

// AwaitFor is [Await] for at most d after register has returned; then it returns [ErrTimeout].
func AwaitFor[T any](d time.Duration, register func(done func(T, error))) (T, error) {
	return await(sched.Limits{Until: sched.After(d), Interrupts: true}, register)
}

// AwaitContext is [Await] that also returns when ctx ends, with its cause; if it had ended before, without a call of register.
func AwaitContext[T any](ctx context.Context, register func(done func(T, error))) (T, error) {
	if ctx.Err() != nil {
		var none T
		return none, context.Cause(ctx)
	}
	return await(sched.Limits{Context: ctx, Interrupts: true}, register)
}

func await[T any](l sched.Limits, register func(done func(T, error))) (T, error) {
	var none T
	if Interrupted() {
		return none, ErrInterrupted
	}
	p := new(Promise[T])
	register(func(value T, err error) { p.finish(value, err) })
	return p.within(l)
}

// AwaitAll is [Await] for several calls at a time: it calls all of registers, in their order, and waits for all. It returns their values, in the
// same order, and the error that came first, or nil.
func AwaitAll[T any](registers ...func(done func(T, error))) ([]T, error) {
	if Interrupted() {
		return nil, ErrInterrupted
	}
	var first Promise[T]
	all := make([]Promise[T], len(registers))
	for i, register := range registers {
		register(func(value T, err error) {
			if err != nil {
				first.settle(Failed, value, err)
			}
			all[i].finish(value, err)
		})
	}
	values := make([]T, len(registers))
	for i := range all {
		if err := all[i].wait(sched.Limits{Interrupts: true}); err != nil {
			return nil, err
		}
		values[i] = all[i].value
	}
	return values, first.err
}

// AwaitEnd waits until ctx ends, and returns its cause. If the calling thread is interrupted, or was before, it clears the interrupt status
// and returns [ErrInterrupted].
func AwaitEnd(ctx context.Context) error {
	me := sched.Current()
	w := sched.NewLooseWaiter(me)
	return w.WaitWithin(sched.Limits{Context: ctx, Interrupts: true}, sched.Pause{State: flight.StateWaiting, Reason: flight.ReasonCondition})
}

// AwaitGroup waits for a group of goroutines, as package errgroup has them, and returns what its Wait returns; a panic of Wait comes out as a
// [*Panic]. A thread parks, and a goroutine waits for it meanwhile, also after AwaitGroup was interrupted: then it returns [ErrInterrupted], as
// [Await] does. On a plain goroutine it is Wait.
func AwaitGroup(g interface{ Wait() error }) error {
	if sched.Current() == nil {
		return g.Wait()
	}
	panicked, err := Await(func(done func(*Panic, error)) {
		go func() {
			c := call{f: func() { done(nil, g.Wait()) }}
			defer func() {
				if !c.returned {
					done(c.panic, ErrGoexit)
				}
			}()
			c.run()
		}()
	})
	if panicked != nil {
		panic(panicked)
	}
	return err
}
