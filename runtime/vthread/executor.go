package vthread

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/sched"
)

// Errors of executors; test for them with errors.Is.
var (
	ErrShutdown = errors.New("vthread: executor was shut down")
	ErrNoTasks  = errors.New("vthread: no tasks")
)

// An Executor executes each task on a new thread of its own. There is no queue: what was submitted, runs. It is safe for concurrent use.
// [NewExecutor] makes one.
type Executor struct {
	builder Builder
	gate    sync.RWMutex  // held for reading by who starts a thread, so that none starts after shut is done
	shut    Promise[bool] // done when the executor takes no more tasks
	mu      struct {
		sync.Mutex
		threads []*Thread // all that may not have ended
		sweepAt int       // the length at which those that have ended are dropped
	}
}

// NewExecutor returns an executor whose threads are made by b. A panic of a task is the error of its future; b.OnPanic is called
// before. It holds nothing that must be released; [Executor.Close] waits for its tasks.
func NewExecutor(b Builder) *Executor { return &Executor{builder: b} }

// Submit starts a thread of e that calls f, and returns the future of what f returns. It does not block. It returns [ErrShutdown] if the executor was
// shut down, or the refusal of the threads' scheduler.
func Submit[T any](e *Executor, f func() (T, error)) (*Future[T], error) {
	if f == nil {
		panic("vthread: nil function")
	}
	future := new(Future[T])
	j := &job[T]{future: future, f: f, onPanic: e.builder.OnPanic}
	b := e.builder
	b.OnPanic = j.panicked
	t, err := e.start(b, j.run)
	if err != nil {
		return nil, fmt.Errorf("vthread: submit: %w", err)
	}
	future.thread = t
	sched.Point(sched.OpStart, flight.BlockThread(t.ID()))
	return future, nil
}

// A job is what a thread of an executor does.
type job[T any] struct {
	future  *Future[T] // until f has ended: the executor may keep the thread for longer than anybody the value
	f       func() (T, error)
	onPanic func(t *Thread, value any, stack []byte)
	panic   *Panic // of f
}

func (j *job[T]) run() {
	if j.future.Done() {
		return // cancelled
	}
	returned := false
	defer func() {
		if returned {
			return
		}
		if v := recover(); v != nil {
			j.panic = newPanic(v)
			panic(v) // for panicked: the thread has panicked
		}
		var none T
		j.end().settle(Failed, none, ErrGoexit)
	}()
	value, err := j.f()
	returned = true
	j.end().finish(value, err)
}

// end is called when f has ended, and returns the future.
func (j *job[T]) end() *Future[T] {
	future := j.future
	j.future, j.f = nil, nil
	return future
}

// panicked is the thread's [Builder.OnPanic].
func (j *job[T]) panicked(t *Thread, value any, _ []byte) {
	if j.future == nil {
		panic(value) // of somebody whom the future has called: nobody handles it
	}
	if j.onPanic != nil {
		j.onPanic(t, value, slices.Clone(j.panic.Stack))
	}
	var none T
	j.end().settle(Failed, none, j.panic)
}

func (e *Executor) start(b Builder, f func()) (*Thread, error) {
	e.gate.RLock()
	defer e.gate.RUnlock()
	if e.shut.Done() {
		return nil, ErrShutdown
	}
	t, err := b.tryStart(f, false)
	if err != nil {
		return nil, err
	}
	m := &e.mu
	m.Lock()
	defer m.Unlock()
	m.threads = append(m.threads, t)
	if len(m.threads) >= m.sweepAt {
		m.threads = slices.DeleteFunc(m.threads, hasEnded)
		m.sweepAt = 2*len(m.threads) + 64
	}
	return t, nil
}

func hasEnded(t *Thread) bool { return t.task.Done() }

// RunAll submits all tasks, waits until all are done, and returns their futures, in the order of the tasks, with a nil error whatever
// the tasks return. If ctx ends before, or the calling thread is interrupted, it cancels those that are not done, and returns the
// context's cause or [ErrInterrupted] beside the futures, which are all done then. If a task cannot be submitted, those before are cancelled,
// and it returns no futures, and the error of [Submit]. It is the JDK's invokeAll.
func RunAll[T any](ctx context.Context, e *Executor, tasks ...func() (T, error)) ([]*Future[T], error) {
	check(tasks)
	futures := make([]*Future[T], 0, len(tasks))
	defer func() {
		for _, f := range futures {
			f.Cancel()
		}
	}()
	for _, task := range tasks {
		f, err := Submit(e, task)
		if err != nil {
			return nil, err
		}
		futures = append(futures, f)
	}
	for _, f := range futures {
		if err := f.waitContext(ctx); err != nil {
			return futures, err
		}
	}
	return futures, nil
}

// RunAny submits the tasks and returns the value of the first that succeeds; the others are cancelled, and not waited for. If none succeeds, it
// returns the errors of all, joined in the order of the tasks; a task that panics or calls runtime.Goexit has failed. If ctx ends before, or the
// calling thread is interrupted, all are cancelled, and the error is the context's cause or [ErrInterrupted]. Without tasks it is
// [ErrNoTasks], and if one cannot be submitted and none has succeeded yet, that of [Submit]. It is the JDK's invokeAny.
func RunAny[T any](ctx context.Context, e *Executor, tasks ...func() (T, error)) (T, error) {
	check(tasks)
	var none T
	if len(tasks) == 0 {
		return none, ErrNoTasks
	}
	var first Promise[T]
	var failed struct {
		sync.Mutex
		n    int
		errs []error
	}
	failed.errs = make([]error, len(tasks))
	futures := make([]*Future[T], 0, len(tasks))
	defer func() {
		for _, f := range futures {
			f.Cancel()
		}
	}()
	for i, task := range tasks {
		if first.Done() {
			break
		}
		f, err := Submit(e, task)
		if err != nil {
			first.Fail(err)
			break
		}
		futures = append(futures, f)
		f.OnDone(func(value T, err error) {
			if err == nil {
				first.Complete(value)
				return
			}
			failed.Lock()
			failed.errs[i] = err
			failed.n++
			last := failed.n == len(tasks)
			failed.Unlock()
			if last {
				first.Fail(errors.Join(failed.errs...))
			}
		})
	}
	return first.GetContext(ctx)
}

func check[T any](tasks []func() (T, error)) {
	if slices.ContainsFunc(tasks, func(f func() (T, error)) bool { return f == nil }) {
		panic("vthread: nil function")
	}
}

// Shutdown makes the executor take no more tasks. Those that it has go on. It does not wait.
func (e *Executor) Shutdown() {
	e.gate.Lock()
	defer e.gate.Unlock()
	e.shut.settle(Succeeded, true, nil)
}

// Cancel is [Executor.Shutdown] that also interrupts the threads of all tasks: the JDK's shutdownNow, but that there are never tasks without a thread to return.
func (e *Executor) Cancel() {
	e.Shutdown()
	for _, t := range e.Threads() {
		_ = t.Interrupt() // refused by its scheduler, the thread stays parked; the status is set
	}
}

// Threads returns the threads of tasks that have not ended, in the order of their submission. The caller owns the slice.
func (e *Executor) Threads() []*Thread {
	m := &e.mu
	m.Lock()
	defer m.Unlock()
	m.threads = slices.DeleteFunc(m.threads, hasEnded)
	return slices.Clone(m.threads)
}

// IsShutdown reports whether the executor takes no more tasks.
func (e *Executor) IsShutdown() bool { return e.shut.Done() }

// IsTerminated reports whether the executor was shut down and all its threads have ended.
func (e *Executor) IsTerminated() bool { return e.IsShutdown() && len(e.Threads()) == 0 }

// Wait waits until the executor is terminated: it returns nil then, also where that was so before, or the cause of ctx when that ends first. If the
// calling thread is interrupted while it waits, or was before, Wait clears the interrupt status and returns [ErrInterrupted]. A thread parks, a
// goroutine blocks. It is the JDK's awaitTermination.
func (e *Executor) Wait(ctx context.Context) error {
	if _, err := e.shut.GetContext(ctx); err != nil {
		return err
	}
	for _, t := range e.Threads() {
		if err := t.JoinContext(ctx); err != nil {
			return err
		}
	}
	return nil
}

// Close shuts the executor down and waits until it is terminated. If the calling thread is interrupted meanwhile, or was before, Close interrupts the threads of all
// tasks once, and waits on; the interrupt status is set again when it returns. A second Close does nothing, or waits as the first does.
// A task that closes its own executor would wait for itself: there Close returns an error, having shut the executor down.
func (e *Executor) Close() error {
	e.Shutdown()
	me := Current()
	threads := e.Threads()
	if me != nil && slices.Contains(threads, me) {
		return fmt.Errorf("vthread: close the executor: thread %s is one of its own", me)
	}
	interrupted := false
	for _, t := range threads {
		for t.Join() != nil {
			if !interrupted {
				interrupted = true
				e.Cancel()
			}
		}
	}
	if interrupted {
		_ = me.Interrupt() // it runs: nobody can refuse it
	}
	return nil
}
