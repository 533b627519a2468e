package vthread

import (
	"fmt"

	"github.com/vtscope/vtscope/runtime/sched"
)

// Run executes f as a thread with that name, of kind [Adopted], on the calling goroutine. It is
// [Builder.Run] for most uses:
//
//	vthread.Run("refresh prices", refresh)
func Run(name string, f func()) { (&Builder{Name: name}).run(f) }

// Run executes f as a thread of kind [Adopted], and returns when f has. The calling goroutine is
// the thread meanwhile, with all that belongs to one; it waits as goroutines wait, so nothing is
// switched and nothing pins. To [Builder.Start] it is as Run of an exec.Cmd to Start, but f is a
// plain call: what it does to its goroutine or OS thread stays done, a panic of f goes on in the
// caller with its frames standing, and so does a runtime.Goexit. If OnPanic is set it is called for
// a panic instead, and Run returns.
//
// The caller may be a thread itself. It then waits for the new one, as by [Thread.Join]: an
// [Thread.Unpark] leaves a permit, an [Thread.Interrupt] its status, and neither reaches the new
// thread. A caller that is virtual, and can leave its carrier, need not keep it: the new thread is
// parked and mounted in its place.
//
// A thread that is given no Scope is in the innermost scope that the caller is in or has opened,
// without being one of those that the scope waits for. Only the thread that has opened a scope
// forks in it, so f opens another. Continuations that the caller is in do not reach into f: to
// suspend one there panics, as on a new goroutine.
//
// Run panics if Kind is neither [Virtual], its zero value, nor [Adopted], and if a Scheduler is
// given: Go schedules the goroutine.
func (b Builder) Run(f func()) { b.run(f) }

func (b *Builder) run(f func()) {
	switch {
	case b.Kind != Virtual && b.Kind != Adopted:
		panic(fmt.Sprintf("vthread: a thread of kind %s cannot execute in its caller", b.Kind))
	case b.Scheduler != nil:
		panic("vthread: a thread of kind adopted has no scheduler")
	}
	b.Kind = Virtual // it is given no scheduler before it begins
	me := sched.Current()
	t := b.make(me, f)
	if t.scope == nil {
		t.scope, t.guest = around(me), true
	}
	t.tellLabels()
	birth := t.birth(f)
	birth.Flags = recordFlags[Adopted]
	t.task.RunHere(me, birth, t.panicHandler() != nil)
}

// ScopeOfGoroutine returns the innermost scope that the calling goroutine, which is no thread, has
// opened, or nil. Package structured sets it in its init.
var ScopeOfGoroutine func() *Scope

// around is the innermost scope that the caller is in or has opened; nil for the root scope.
func around(me *sched.Task) *Scope {
	switch {
	case me != nil:
		t := threadOf(me)
		if t.opened != nil {
			return t.opened
		}
		return t.scope
	case ScopeOfGoroutine != nil:
		return ScopeOfGoroutine()
	}
	return nil
}
