package vthread

import (
	"context"
	"reflect"
	"unsafe"

	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/sched"
)

// ErrClosed is the error of [Recv] when the channel is closed and empty, and of the queues of package vsync.
var ErrClosed = sched.ErrNoMore

// Recv receives a value from ch. Where a plain receive would hold the carrier while it waits, here the thread parks. It returns [ErrClosed]
// when ch is closed and empty. A nil channel has no value, ever. If the calling thread is interrupted, or was before, Recv clears the
// interrupt status and returns [ErrInterrupted], and has received nothing. On a plain goroutine it is a plain receive.
func Recv[T any](ch <-chan T) (T, error) { return RecvContext(context.Background(), ch) }

// RecvContext is [Recv] that also returns when ctx ends, or had ended before, with its cause; then it has received nothing.
func RecvContext[T any](ctx context.Context, ch <-chan T) (T, error) {
	var r received[T]
	me, err := mayChoose(ctx)
	if err != nil {
		return r.value, err
	}
	if me == nil {
		select {
		case r.value, r.open = <-ch:
			return r.result()
		case <-ctx.Done():
			return r.value, context.Cause(ctx)
		}
	}
	select {
	case r.value, r.open = <-ch:
		return r.result()
	default:
	}
	late, err := stand(ctx, me, address(ch), func(quit <-chan struct{}) (r received[T], did bool) {
		select {
		case r.value, r.open = <-ch:
			return r, true
		case <-quit:
			return r, false
		}
	})
	if err != nil {
		return late.value, err
	}
	return late.result()
}

// mayChoose returns the calling thread, nil for a goroutine, if neither it nor ctx keeps it from choosing what to wait for.
func mayChoose(ctx context.Context) (*sched.Task, error) {
	me := sched.Current()
	sched.Point(sched.OpPoint, 0)
	if me != nil && me.TakeInterrupt() {
		return nil, ErrInterrupted
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return me, nil
}

type received[T any] struct {
	value T
	open  bool
}

func (r received[T]) result() (T, error) {
	if !r.open {
		return r.value, ErrClosed
	}
	return r.value, nil
}

// Send sends v to ch. Where a plain send would hold the carrier while it waits, here the thread parks. It panics if ch is closed, or
// is closed meanwhile, as a plain send does. A nil channel takes no value, ever. If the calling thread is interrupted, or was before, Send
// clears the interrupt status and returns [ErrInterrupted], and has sent nothing; there is no other error. On a plain goroutine it is a plain send.
func Send[T any](ch chan<- T, v T) error { return SendContext(context.Background(), ch, v) }

// SendContext is [Send] that also returns when ctx ends, or had ended before, with its cause; then it has sent nothing.
func SendContext[T any](ctx context.Context, ch chan<- T, v T) error {
	me, err := mayChoose(ctx)
	if err != nil {
		return err
	}
	if me == nil {
		select {
		case ch <- v:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	select {
	case ch <- v:
		return nil
	default:
	}
	_, err = stand(ctx, me, address(ch), func(quit <-chan struct{}) (_ struct{}, did bool) {
		select {
		case ch <- v:
			return struct{}{}, true
		case <-quit:
			return struct{}{}, false
		}
	})
	return err
}

// A Case is an operation that [Select] may choose. [OnRecv], [OnSend] and [Otherwise] make one.
type Case struct {
	op     reflect.SelectCase
	chosen func(value reflect.Value, open bool) // nil for nothing to do
}

// OnRecv is the case of a receive from ch. If it is chosen, Select calls f on its caller, unless f is nil; open is false if ch is closed and empty.
func OnRecv[T any](ch <-chan T, f func(value T, open bool)) Case {
	c := Case{op: reflect.SelectCase{Dir: reflect.SelectRecv, Chan: reflect.ValueOf(ch)}}
	if f != nil {
		c.chosen = func(v reflect.Value, open bool) {
			value, _ := v.Interface().(T) // which fails for a nil that T, an interface type, has no value of
			f(value, open)
		}
	}
	return c
}

// OnSend is the case of sending v to ch. If it is chosen, Select calls f on its caller, unless f is nil.
func OnSend[T any](ch chan<- T, v T, f func()) Case {
	// Through a pointer, so that an interface type stays one.
	c := Case{op: reflect.SelectCase{Dir: reflect.SelectSend, Chan: reflect.ValueOf(ch), Send: reflect.ValueOf(&v).Elem()}}
	if f != nil {
		c.chosen = func(reflect.Value, bool) { f() }
	}
	return c
}

// Otherwise is the case that Select chooses if no other is ready, the default of a select statement. Select then calls f on its caller, unless f is nil.
func Otherwise(f func()) Case {
	c := Case{op: reflect.SelectCase{Dir: reflect.SelectDefault}}
	if f != nil {
		c.chosen = func(reflect.Value, bool) { f() }
	}
	return c
}

// Select is a select statement: it waits until one of the cases can go on, chooses one of those at random, and returns its index, after what it has
// to call has returned. Where a select statement would hold the carrier while it waits, here the thread parks. A send to a closed channel
// panics, and nil channels are never ready. If the calling thread is interrupted, or was before, Select clears the interrupt status and returns
// [ErrInterrupted] with -1, and has neither sent nor received anything; there is no other error. It panics if there are two Otherwise, or more than
// 65,535 cases. On a plain goroutine it is a select statement.
func Select(cases ...Case) (index int, err error) {
	return SelectContext(context.Background(), cases...)
}

// SelectContext is [Select] that also returns when ctx ends, or had ended before, with -1 and its cause; then it has neither sent nor
// received anything.
func SelectContext(ctx context.Context, cases ...Case) (index int, err error) {
	me, err := mayChoose(ctx)
	if err != nil {
		return -1, err
	}
	ops := make([]reflect.SelectCase, len(cases), len(cases)+1)
	waits := true
	for i, c := range cases {
		ops[i] = c.op
		waits = waits && c.op.Dir != reflect.SelectDefault
	}
	var s selected
	if me == nil || !waits {
		if ends := ctx.Done(); ends != nil && waits {
			ops = append(ops, OnRecv(ends, nil).op)
		}
		if s.index, s.value, s.open = reflect.Select(ops); s.index == len(cases) {
			return -1, context.Cause(ctx)
		}
		return s.take(cases)
	}
	last := len(ops)
	s.index, s.value, s.open = reflect.Select(append(ops, Otherwise(nil).op))
	if s.index != last {
		return s.take(cases)
	}
	var on uintptr
	if len(ops) == 1 {
		on = ops[0].Chan.Pointer()
	}
	s, err = stand(ctx, me, on, func(quit <-chan struct{}) (s selected, did bool) {
		s.index, s.value, s.open = reflect.Select(append(ops, OnRecv(quit, nil).op))
		return s, s.index != last
	})
	if err != nil {
		return -1, err
	}
	return s.take(cases)
}

// selected is what reflect.Select returns.
type selected struct {
	index int
	value reflect.Value
	open  bool
}

func (s selected) take(cases []Case) (int, error) {
	if f := cases[s.index].chosen; f != nil {
		f(s.value, s.open)
	}
	return s.index, nil
}

// address tells channels apart.
func address[Channel any](ch Channel) uintptr { return *(*uintptr)(unsafe.Pointer(&ch)) }

// A stander waits for a thread in an operation on channels.
//
//	Q1  The operation reports whether it was done, or has quit. Whichever comes first decides: so a value is neither lost nor doubled.
//	Q2  The thread that is interrupted closes quit, and waits for the answer. It is interrupted only if that is that it has quit.
type stander[T any] struct {
	waiter *sched.Waiter
	quit   chan struct{}
	do     func(quit <-chan struct{}) (result T, did bool)

	// Written before waiter is woken.
	result T
	did    bool
	panic  any
}

// stand parks the thread me, the caller, until do has returned on another goroutine, or ctx ends. on is the channel, 0 for several.
// What was done when the thread gave up counts all the same.
//
// The goroutine is made for it, and ends: see [sched.Task.Elsewhere].
func stand[T any](ctx context.Context, me *sched.Task, on uintptr, do func(quit <-chan struct{}) (result T, did bool)) (T, error) {
	s := &stander[T]{waiter: sched.NewWaiter(me), quit: make(chan struct{}), do: do}
	go s.run()
	p := sched.Pause{State: flight.StateWaiting, Reason: flight.ReasonCondition}
	if on != 0 {
		p.Blocker = flight.BlockCondition(on)
	}
	limits := sched.Limits{Interrupts: true}
	if ctx.Done() != nil {
		limits.Context = ctx
	}
	err := s.waiter.WaitWithin(limits, p)
	if err != nil {
		close(s.quit)
		s.waiter.Passed()
		if s.did || s.panic != nil {
			if err == ErrInterrupted {
				_ = me.Interrupt() // it stays interrupted. It runs: nobody can refuse it
			}
			err = nil
		}
	}
	if s.panic != nil {
		panic(s.panic)
	}
	return s.result, err
}

func (s *stander[T]) run() {
	defer s.waiter.Wake()
	defer func() { s.panic = recover() }() // of a send to a closed channel
	s.result, s.did = s.do(s.quit)
}
