package vthread

import (
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"runtime/debug"
	"sync/atomic"

	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/sched"
)

// ErrStarted is returned by [Thread.Start] for a thread that was started before.
var ErrStarted = sched.ErrStarted

// A Thread is a thread. It must not be copied; [Builder] and [Start] make one.
type Thread struct {
	task    sched.Task
	f       func()
	scope   *Scope                       // the thread belongs to
	opened  *Scope                       // the innermost that the thread has opened and not closed; the thread's own
	joiners atomic.Pointer[sched.Waiter] // those who wait for the end; ended: nobody can any more

	rare atomic.Pointer[rare]
}

// rare is what few of a million threads have.
type rare struct {
	name      atomic.Pointer[string]
	onPanic   func(t *Thread, value any, stack []byte)
	unstarted runtime.Cleanup // of a thread that was made by Unstarted, or refused by its scheduler
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
	// Index is the scope's place in the flight file.
	Index flight.ScopeIndex
	// Ended is called once for each thread of the scope, on the thread, when its function has returned, called
	// runtime.Goexit, or panicked and a handler took it. It must not park.
	Ended func(t *Thread, how flight.Reason)
	// Panicked, if it is not nil, is the [Builder.OnPanic] of the scope's threads that have none.
	Panicked func(t *Thread, value any, stack []byte)
	// Owner is whatever the scope's maker wants to find again.
	Owner any
}

// ended in place of the joiners says that the thread has ended.
var ended = new(sched.Waiter)

// A Builder makes threads. Its zero value makes what [Start] does. It may be copied and used again.
type Builder struct {
	// Name is the thread's first name. Empty for none.
	Name string

	// Scheduler executes the thread. nil means that of the calling thread; on a goroutine, the default.
	Scheduler sched.Scheduler

	// Scope is the scope that the thread belongs to. nil means the root scope. Programs fork threads
	// through package structured instead of setting it.
	Scope *Scope

	// OnPanic is called on the thread when f has panicked, while the guilty frames still stand; stack is the
	// thread's stack in Go's form, and owned by OnPanic. The thread then ends as if f had
	// returned. nil means that a panic ends the program, as it does in a goroutine.
	OnPanic func(t *Thread, value any, stack []byte)
}

// Start starts a thread of the root scope that executes f, on the scheduler of the calling thread, or else the
// default. It does not block.
func Start(f func()) *Thread { return Builder{}.Start(f) }

// Start makes a thread that executes f, and starts it. It does not block. It panics if the scheduler refuses
// the thread; use [Builder.TryStart] where that can happen.
func (b Builder) Start(f func()) *Thread {
	t, err := b.TryStart(f)
	if err != nil {
		panic(err.Error())
	}
	return t
}

// TryStart is [Builder.Start] that returns the scheduler's refusal, and then a thread that is new.
func (b Builder) TryStart(f func()) (*Thread, error) {
	t := b.make(f)
	if err := t.task.Start(b.birth(f)); err != nil {
		t.forgetLater()
		t.release()
		return t, fmt.Errorf("vthread: start %s: %w", t, err)
	}
	return t, nil
}

// Unstarted makes a thread that executes f when [Thread.Start] is called. It stands in dumps as new.
func (b Builder) Unstarted(f func()) *Thread {
	t := b.make(f)
	t.task.Announce(b.birth(f))
	t.forgetLater()
	return t
}

// forgetLater sees that a new thread does not stand in dumps forever if it is never started.
func (t *Thread) forgetLater() {
	if rec := t.task.Record(); rec != nil {
		t.uncommon().unstarted = runtime.AddCleanup(t, sched.Forget, rec)
	}
}

func (b Builder) make(f func()) *Thread {
	if f == nil {
		panic("vthread: nil function")
	}
	t := &Thread{f: f, scope: b.Scope}
	if b.Name != "" {
		name := b.Name // b itself stays off the heap
		t.uncommon().name.Store(&name)
	}
	if b.OnPanic != nil {
		t.uncommon().onPanic = b.OnPanic
	}
	t.task.Init(sched.NewID(), (*body)(t), b.Scheduler)
	return t
}

func (b Builder) birth(f func()) sched.Birth {
	birth := sched.Birth{Name: b.Name}
	if flight.Default() != nil {
		birth.Entry = reflect.ValueOf(f).Pointer()
		if b.Scope != nil {
			birth.Scope = b.Scope.Index
		}
	}
	return birth
}

// Start starts a thread made by [Builder.Unstarted]. It returns [ErrStarted] if it was started before, and
// otherwise what the scheduler returns; then it may be started again. It does not block.
func (t *Thread) Start() error {
	if err := t.task.Start(sched.Birth{Name: t.Name()}); err != nil {
		t.release()
		return fmt.Errorf("vthread: start %s: %w", t, err)
	}
	if r := t.rare.Load(); r != nil {
		r.unstarted.Stop()   // which does nothing if there is none
		runtime.KeepAlive(t) // else it may be under way, and the record somebody else's by now
	}
	return nil
}

// Current returns the thread that executes the caller, or nil on a plain goroutine. It works at any depth of
// unmodified code, and costs a few nanoseconds.
func Current() *Thread {
	task := sched.Current()
	if task == nil {
		return nil
	}
	return (*Thread)(task.Body().(*body))
}

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
	t.uncommon().name.Store(&name)
	t.task.Rename(name)
}

// Scheduler returns the scheduler that executes the thread.
func (t *Thread) Scheduler() sched.Scheduler { return t.task.Scheduler() }

// State returns what the thread is doing. It may have changed when the caller looks at it.
func (t *Thread) State() flight.State { return t.task.State() }

// String returns the thread's id, name and state, as in `#12 "GET /cart" parked`.
func (t *Thread) String() string {
	if n := t.Name(); n != "" {
		return fmt.Sprintf("#%d %q %s", t.ID(), n, t.State())
	}
	return fmt.Sprintf("#%d %s", t.ID(), t.State())
}

// Unpark makes the thread's current or next [Park] return. Permits do not add up: there is one at most. On
// a thread that is not started or has ended it does nothing. It does not block. The error is the refusal of the
// thread's scheduler; the thread then stays parked.
func (t *Thread) Unpark() error {
	if err := t.task.Unpark(); err != nil {
		return fmt.Errorf("vthread: unpark %s: %w", t, err)
	}
	return nil
}

// Join waits until the thread has ended; it returns at once if it was not started. Thread and goroutine may
// both call it: a thread parks, a goroutine blocks.
func (t *Thread) Join() {
	if t.joiners.Load() == ended || t.task.Fresh() {
		return
	}
	if sched.Current() == &t.task {
		panic(fmt.Sprintf("vthread: thread %s joins itself", t))
	}
	w := sched.NewWaiter()
	for {
		first := t.joiners.Load()
		if first == ended {
			return
		}
		w.Next = first
		if t.joiners.CompareAndSwap(first, w) {
			break
		}
	}
	if t.task.Fresh() {
		t.release() // its scheduler has refused it meanwhile
	}
	w.Wait(sched.Pause{State: flight.StateWaiting, Reason: flight.ReasonJoin, Blocker: flight.BlockThread(t.ID())})
}

// endStacks says that recorded stacks have been told where threads begin.
var endStacks atomic.Bool

// A body is a thread as its task sees it.
type body Thread

//go:noinline
func (b *body) Run() {
	if !endStacks.Load() && endStacks.CompareAndSwap(false, true) {
		flight.EndStacks(0)
	}
	f := b.f
	b.f = nil
	f()
}

func (b *body) Handles(value any) bool {
	t := (*Thread)(b)
	var handle func(*Thread, any, []byte)
	if r := t.rare.Load(); r != nil {
		handle = r.onPanic
	}
	if handle == nil && t.scope != nil {
		handle = t.scope.Panicked
	}
	if handle == nil {
		return false
	}
	handle(t, value, debug.Stack())
	return true
}

// End lets those go on who wait for the thread.
func (b *body) End(how flight.Reason, _ any) {
	t := (*Thread)(b)
	if t.scope != nil {
		t.scope.Ended(t, how)
	}
	wake(t.joiners.Swap(ended))
}

// release lets those go on who joined a thread that was about to start, and is new again.
func (t *Thread) release() {
	for {
		first := t.joiners.Load()
		if first == nil || first == ended {
			return
		}
		if t.joiners.CompareAndSwap(first, nil) {
			wake(first)
			return
		}
	}
}

func wake(w *sched.Waiter) {
	for w != nil {
		next := w.Next // w is its maker's again once it is woken
		w.Wake()
		w = next
	}
}

func (b *body) String() string {
	t := (*Thread)(b)
	if n := t.Name(); n != "" {
		return fmt.Sprintf("#%d %q", t.ID(), n)
	}
	return fmt.Sprintf("#%d", t.ID())
}

// errNotThread is what functions panic with that need a thread.
var errNotThread = errors.New("vthread: called on a goroutine that is not a thread")
