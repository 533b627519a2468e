package vthread

import (
	"container/list"
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/internal/panicstack"
	"github.com/vtscope/vtscope/runtime/sched"
)

// Errors of futures; test for them with errors.Is.
var (
	ErrCanceled error = canceled{}      // it was canceled; matches [context.Canceled]
	ErrGoexit         = sched.ErrGoexit // its task called runtime.Goexit
)

type canceled struct{}

func (canceled) Error() string        { return "future was canceled" }
func (canceled) Is(target error) bool { return target == context.Canceled }

// A Panic tells of a panic elsewhere: it is the error of a future whose task has panicked, and what [Blocking], and scopes of package
// structured, panic with.
type Panic struct {
	Thread string // its [Thread.Label]; empty for a goroutine
	Value  any    // of the panic
	Stack  []byte // in Go's form, with the guilty frames
}

// Error returns the value and the stack.
func (p *Panic) Error() string {
	if p.Thread == "" {
		return fmt.Sprintf("panic: %v\n\n%s", p.Value, p.Stack)
	}
	return fmt.Sprintf("panic in thread %s: %v\n\n%s", p.Thread, p.Value, p.Stack)
}

// Unwrap returns the panic's value if it is an error.
func (p *Panic) Unwrap() error {
	err, _ := p.Value.(error)
	return err
}

// newPanic is called by a deferred function of the caller's thread or goroutine, while the frames that panicked with value still stand.
func newPanic(value any) *Panic {
	if p, ok := value.(*Panic); ok {
		return p // it came from further away
	}
	p := &Panic{Value: value, Stack: panicstack.Of()}
	if t := Current(); t != nil {
		p.Thread = t.Label()
	}
	return p
}

// A FutureState tells whether a future is done, and how. It moves once.
type FutureState uint32

// The states of futures.
const (
	Pending   FutureState = iota // not done
	Succeeded                    // with a value
	Failed                       // with an error
	Canceled                     // by [Future.Cancel]
)

// String returns "pending", "succeeded", "failed" or "canceled".
func (s FutureState) String() string {
	switch s {
	case Pending:
		return "pending"
	case Succeeded:
		return "succeeded"
	case Failed:
		return "failed"
	case Canceled:
		return "canceled"
	}
	return "unknown"
}

// A Future is a value, or the error instead of it, that is there later. [Submit] makes the future of a task, a [Promise] is one
// that anybody completes. It is safe for concurrent use, and must not be copied.
type Future[T any] struct {
	outcome
	value T // written before the state leaves Pending, and read after it
}

// Get waits until the future is done, and returns its value or error: the task's own, a [*Panic], [ErrGoexit] or [ErrCanceled]. A thread
// parks, a goroutine blocks. If the future is not done and the calling thread is interrupted, or was before, Get clears the interrupt
// status and returns [ErrInterrupted]; the future goes on.
func (f *Future[T]) Get() (T, error) { return f.within(sched.Limits{Interrupts: true}) }

// GetFor is [Future.Get] for at most d; then it returns [ErrTimeout].
func (f *Future[T]) GetFor(d time.Duration) (T, error) {
	return f.within(sched.Limits{Until: sched.After(d), Interrupts: true})
}

// GetContext is [Future.Get] that also returns when ctx ends, with its cause, also if the future is done at the same time. Of a future that was done before
// it returns what Get does.
func (f *Future[T]) GetContext(ctx context.Context) (T, error) {
	return f.within(sched.Limits{Context: ctx, Interrupts: true})
}

func (f *Future[T]) within(l sched.Limits) (T, error) {
	if err := f.wait(l); err != nil {
		var none T
		return none, err
	}
	return f.value, f.err
}

// OnDone makes the future call f with its value and error when it is done: at once if it is, and else where it is completed,
// on the completing thread or goroutine, in the order of the calls of OnDone. f must not block. A panic of f is one of who completes
// the future; that of a task's thread ends the program.
func (f *Future[T]) OnDone(call func(value T, err error)) {
	f.call(func() { call(f.value, f.err) })
}

// Cancel makes the future done, with [ErrCanceled], and interrupts the thread that executes its task, which goes on for as long as it likes.
// A task that has not begun is not called. Cancel returns false, and does nothing, if the future is done. It does not block.
func (f *Future[T]) Cancel() bool {
	var none T
	if !f.settle(Canceled, none, ErrCanceled) {
		return false
	}
	if f.thread != nil {
		_ = f.thread.Interrupt() // refused by its scheduler, the thread stays parked; the status is set
	}
	return true
}

// settle makes the future done, and returns false if it was done before.
func (f *Future[T]) settle(s FutureState, value T, err error) bool {
	f.mu.Lock()
	if f.state.Load() != uint32(Pending) {
		f.mu.Unlock()
		return false
	}
	f.value, f.err = value, err
	f.state.Store(uint32(s))
	those := f.mu.waiting
	f.mu.waiting = nil
	f.mu.Unlock()
	tell(those)
	return true
}

// finish is settle with what a function has returned.
func (f *Future[T]) finish(value T, err error) bool {
	if err != nil {
		return f.settle(Failed, value, err)
	}
	return f.settle(Succeeded, value, nil)
}

// An outcome is what a [Future] knows beside its value.
type outcome struct {
	state  atomic.Uint32 // a FutureState; stored once, under mu
	err    error         // as value of Future
	thread *Thread       // that executes the task; nil for none. Written before anybody else knows the future
	mu     struct {
		sync.Mutex
		waiting *list.List // of *sched.Waiter and func(), in the order in which they came; nil for none
	}
}

// State returns how far the future is.
func (o *outcome) State() FutureState { return FutureState(o.state.Load()) }

// Done reports whether Get returns at once.
func (o *outcome) Done() bool { return o.State() != Pending }

// Thread returns the thread that executes the future's task, or nil if no thread does.
func (o *outcome) Thread() *Thread { return o.thread }

// add puts a waiter or a function where settle finds it. It returns nil if the future is done.
func (o *outcome) add(who any) *list.Element {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.Done() {
		return nil
	}
	if o.mu.waiting == nil {
		o.mu.waiting = list.New()
	}
	return o.mu.waiting.PushBack(who)
}

// tell wakes those who waited, and then calls those who want to be called.
func tell(those *list.List) {
	if those == nil {
		return
	}
	for e := those.Front(); e != nil; e = e.Next() {
		if w, ok := e.Value.(*sched.Waiter); ok {
			_ = w.Wake() // refused, it stays parked: who closed its scheduler knows
		}
	}
	for e := those.Front(); e != nil; e = e.Next() {
		if f, ok := e.Value.(func()); ok {
			f()
		}
	}
}

func (o *outcome) call(f func()) {
	if o.add(f) == nil {
		f()
	}
}

// wait returns nil when the future is done, or else why it was given up.
func (o *outcome) wait(l sched.Limits) error {
	if o.Done() {
		return nil
	}
	me := sched.Current()
	if o.thread != nil && me == &o.thread.task {
		panic(fmt.Sprintf("vthread: thread %s waits for the future of its own task", o.thread))
	}
	var w *sched.Waiter
	if me == nil && (l.Context != nil || l.Until != 0) {
		w = sched.NewLooseWaiter(me)
	} else {
		w = sched.NewWaiter(me)
	}
	e := o.add(w)
	if e == nil {
		w.Drop()
		return l.Late()
	}
	err := w.WaitWithin(l, o.pause())
	if err == nil {
		return l.Late()
	}
	o.mu.Lock()
	if o.Done() {
		o.mu.Unlock()
		w.Passed() // before its maker uses it again
		return err
	}
	o.mu.waiting.Remove(e)
	o.mu.Unlock()
	return err
}

func (o *outcome) waitContext(ctx context.Context) error {
	return o.wait(sched.Limits{Context: ctx, Interrupts: true})
}

// pause is how a thread that waits is shown.
func (o *outcome) pause() sched.Pause {
	if o.thread != nil {
		return sched.Pause{State: flight.StateWaiting, Reason: flight.ReasonJoin, Blocker: flight.BlockThread(o.thread.ID())}
	}
	return sched.Pause{
		State: flight.StateWaiting, Reason: flight.ReasonCondition, Blocker: flight.BlockCondition(uintptr(unsafe.Pointer(o))),
	}
}

// A Promise is a future that whoever has it completes, once. Its zero value is ready for use. Its field Future is for those who only wait for it.
type Promise[T any] struct{ Future[T] }

// Complete makes the promise done with a value. It returns false, and does nothing, if it was done before. It does not block.
func (p *Promise[T]) Complete(value T) bool {
	did := p.settle(Succeeded, value, nil)
	sched.Point(sched.OpPoint, 0)
	return did
}

// Fail makes the promise done with an error, which must not be nil. It returns false, and does nothing, if it was done before. It does not block.
func (p *Promise[T]) Fail(err error) bool {
	if err == nil {
		panic("vthread: a promise fails with a nil error")
	}
	var none T
	did := p.settle(Failed, none, err)
	sched.Point(sched.OpPoint, 0)
	return did
}
