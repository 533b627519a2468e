package structured

import (
	"context"
	"errors"
	"fmt"

	"github.com/vtscope/vtscope/runtime/structured/internal/flock"
	"github.com/vtscope/vtscope/runtime/vthread"
)

// Fork starts a thread in the scope that executes f, and returns it. It does not block. If the scope is cancelled, or its policy cancels it now, no thread is
// made, and Fork returns nil; in a scope with a limit the thread may be queued. A refusal of the thread's scheduler is an error as one of f.
//
// It panics when the caller is not the owner, when the scope was joined or closed, when the owner has bound other values than when it has opened the scope
// ([Bindings.Run]), and with what the scope's policy or factory panics with.
func (s *Scope) Fork(f func() error) *vthread.Thread { return s.ForkNamed("", f) }

// ForkNamed is [Scope.Fork] with a name for the thread.
func (s *Scope) ForkNamed(name string, f func() error) *vthread.Thread {
	if f == nil {
		panic("structured: nil function")
	}
	a := &action{f: f}
	a.whole = a
	s.fork(&a.task, name, false)
	return a.Thread()
}

// ForkContext is [Scope.Fork] for a function that takes the context of its thread, [vthread.Thread.Context], which ends when the scope is
// cancelled, and has the values of [Scope.Context].
func (s *Scope) ForkContext(f func(ctx context.Context) error) *vthread.Thread {
	if f == nil {
		panic("structured: nil function")
	}
	return s.Fork(func() error { return f(vthread.Current().Context()) })
}

// ForkHere is [Scope.ForkNamed] for an owner who joins the scope from now on, as [vthread.Builder.StartHere] is: a plain goroutine may
// execute the thread itself until that first parks, yields or ends, and ForkHere blocks for as long. In a scope with a limit or a factory, or
// with a scheduler of its own, it is ForkNamed.
func (s *Scope) ForkHere(name string, f func() error) *vthread.Thread {
	if f == nil {
		panic("structured: nil function")
	}
	a := &action{f: f}
	a.whole = a
	s.fork(&a.task, name, true)
	return a.Thread()
}

// Fork is [Scope.Fork] for a function with a result.
func Fork[T any](s *Scope, f func() (T, error)) *Subtask[T] { return ForkNamed(s, "", f) }

// ForkContext is [Scope.ForkContext] for a function with a result.
func ForkContext[T any](s *Scope, f func(ctx context.Context) (T, error)) *Subtask[T] {
	if f == nil {
		panic("structured: nil function")
	}
	return Fork(s, func() (T, error) { return f(vthread.Current().Context()) })
}

// ForkNamed is [Fork] with a name for the thread.
func ForkNamed[T any](s *Scope, name string, f func() (T, error)) *Subtask[T] {
	if f == nil {
		panic("structured: nil function")
	}
	t := &Subtask[T]{f: f}
	t.whole = t
	s.fork(&t.task, name, false)
	return t
}

// fork forks t, which the caller executes if it may and here is set.
func (s *Scope) fork(t *task, name string, here bool) {
	s.check("fork")
	switch {
	case s.joined:
		panic(fmt.Sprintf("structured: fork in scope %q: it was joined", s.Name()))
	case !valuesOf(s.owner.innermost()).same(&s.values):
		panic(fmt.Sprintf("structured: fork in scope %q: in a call with values that were bound later", s.Name()))
	}
	s.forked = true
	t.scope = s
	s.lookAtContext()
	if s.policy.OnFork(t.whole) {
		s.end(byPolicy, nil)
	}
	if !s.admits() {
		return
	}
	b := vthread.Builder{Name: name, Scheduler: s.on}
	switch err := s.flock.Start(&t.member, (*job)(t), b, here); {
	case errors.Is(err, flock.ErrNoThread), errors.Is(err, flock.ErrForeign), errors.Is(err, vthread.ErrStarted):
		panic(fmt.Sprintf("structured: fork in scope %q: %v", s.Name(), err))
	case err != nil:
		s.tells = true
		defer func() { s.tells = false }()
		t.settle(err)
	}
}

// admits reports whether the scope takes another subtask. If not, the result of that will be missing.
func (s *Scope) admits() bool {
	if s.advance(pending) {
		return true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.missing = true
	return false
}
