package vthread

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/sched"
)

// Errors of threads; test for them with errors.Is.
var (
	ErrStarted     = sched.ErrStarted // the thread was started before
	ErrNotStarted  = errors.New("thread was not started")
	ErrInterrupted = sched.ErrInterrupted // the caller was interrupted while it waited, or before
	ErrTimeout     = sched.ErrTimeout     // the time was over
)

// A Thread is a thread. It must not be copied; [Builder] and [Start] make one.
type Thread struct {
	task    sched.Task
	f       func()
	scope   *Scope                       // the thread belongs to
	guest   bool                         // and the scope does not know it: see [Builder.Run]
	opened  *Scope                       // the innermost that the thread has opened and not closed; the thread's own
	joiners atomic.Pointer[sched.Waiter] // those who wait for the end; ended: nobody can any more
	env     atomic.Pointer[environment]  // what it has from its maker; nil: nothing

	rare atomic.Pointer[rare]
}

// rare is what few of a million threads have.
type rare struct {
	name      atomic.Pointer[string]
	firstName string // that name begins with
	onPanic   func(t *Thread, value any, stack []byte)
	unstarted runtime.Cleanup // of a thread that was made by Unstarted, or refused by its scheduler

	parent   context.Context                    // [Builder.Context]
	labels   map[string]string                  // [Builder.Labels], and those of [Do]; nil if empty. Not changed itself
	told     atomic.Pointer[flight.LabelRecord] // of labels, and those from its maker
	children atomic.Pointer[environment]        // see [Thread.passedOn]
	locals   bindings                           // the thread's own
	mu       struct {
		sync.Mutex
		attachment any            // of the scheduler
		context    *threadContext // see [Thread.Context]
		unheed     func() bool    // ends what [body.Heed] has begun
	}
}

// uncommon returns t's rare parts, and makes them if there are none.
func (t *Thread) uncommon() *rare {
	r := t.rare.Load()
	if r == nil {
		t.rare.CompareAndSwap(nil, new(rare))
		r = t.rare.Load()
	}
	return r
}

// A Scope is what a thread belongs to, as far as the thread knows it. Package structured makes them; nil is the
// root scope.
type Scope struct {
	// ID and Index are what the flight file knows the scope as, and its place there.
	ID    flight.ScopeID
	Index flight.ScopeIndex
	// Ended is called once for each thread of the scope, on the thread, when its function has returned, called
	// runtime.Goexit, or panicked and a handler took it. It must not park.
	Ended func(t *Thread, how flight.Reason)
	// Panicked, if it is not nil, is the [Builder.OnPanic] of the scope's threads that have none.
	Panicked func(t *Thread, value any, stack []byte)
	// Context, if it is not nil, is the [Builder.Context] of the scope's threads that have none.
	Context context.Context
	// Name is the scope's, for the profiler labels of its threads.
	Name string
	// Owner is whatever the scope's maker wants to find again.
	Owner any

	labels   atomic.Pointer[sched.Labels] // cached
	children atomic.Pointer[environment]  // cached; of those that its threads make
}

// Current returns the thread that executes the caller, or nil on a plain goroutine. It works at any depth of
// unmodified code, and costs a few nanoseconds.
func Current() *Thread {
	task := sched.Current()
	if task == nil {
		return nil
	}
	return threadOf(task)
}

// Of returns the thread that a scheduler knows as task, or nil if it is not of this package.
func Of(task *sched.Task) *Thread {
	if b, ok := task.Body().(*body); ok {
		return (*Thread)(b)
	}
	return nil
}

// Task returns what the thread's scheduler knows it as.
func (t *Thread) Task() *sched.Task { return &t.task }

func threadOf(task *sched.Task) *Thread { return (*Thread)(task.Body().(*body)) }

// Scope returns the scope that the thread belongs to, or nil for the root scope.
func (t *Thread) Scope() *Scope { return t.scope }

// Innermost returns the innermost scope that the thread has opened and not closed, or nil. It is for
// package structured, and must be called on the thread.
func (t *Thread) Innermost() *Scope { return t.opened }

// SetInnermost sets what [Thread.Innermost] returns. It is for package structured, and must be called on the thread.
func (t *Thread) SetInnermost(s *Scope) { t.opened = s }

// ID returns the thread's id, which is never 0 and never reused.
func (t *Thread) ID() flight.ThreadID { return t.task.ID() }

// Name returns the thread's name, or "".
func (t *Thread) Name() string {
	if r := t.rare.Load(); r != nil {
		if n := r.name.Load(); n != nil {
			return *n
		}
	}
	return ""
}

// SetName renames the thread, in any state.
func (t *Thread) SetName(name string) {
	r := t.uncommon()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.name.Store(&name)
	t.task.Rename(name)
}

// Scheduler returns the scheduler that executes the thread; nil for one that was never started and is to get that of
// whoever starts it.
func (t *Thread) Scheduler() sched.Scheduler { return t.task.Scheduler() }

// State returns what the thread is doing. It may have changed when the caller looks at it.
func (t *Thread) State() flight.State { return t.task.State() }

// String returns the thread's id, name and state, as in `#12 "GET /cart" parked`.
func (t *Thread) String() string { return t.Label() + " " + t.State().String() }

// Label returns the thread's id and name, as in `#12 "GET /cart"`.
func (t *Thread) Label() string {
	if n := t.Name(); n != "" {
		return fmt.Sprintf("#%d %q", t.ID(), n)
	}
	return fmt.Sprintf("#%d", t.ID())
}

// Kind tells what executes the thread.
func (t *Thread) Kind() Kind {
	switch goroutine, osThread := t.task.Own(); {
	case osThread:
		return OnOSThread
	case goroutine:
		return OnGoroutine
	case t.task.Adopted():
		return Adopted
	}
	return Virtual
}

// Unpark makes the thread's current or next [Park] return. Permits do not add up: there is one at most. On
// a thread that is not started or has ended it does nothing. It does not block. The error is the refusal of the
// thread's scheduler; the thread then stays parked.
func (t *Thread) Unpark() error {
	if err := t.task.Unpark(); err != nil {
		return fmt.Errorf("vthread: unpark %s: %w", t, err)
	}
	sched.Point(sched.OpUnpark, flight.BlockThread(t.ID()))
	return nil
}

// UnparkOn unparks the thread and makes s its scheduler from then on; see [sched.Task.UnparkOn] for when that is possible.
func (t *Thread) UnparkOn(s sched.Scheduler) error {
	if err := t.task.UnparkOn(s); err != nil {
		return fmt.Errorf("vthread: unpark %s on another scheduler: %w", t, err)
	}
	return nil
}
