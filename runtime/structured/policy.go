package structured

import (
	"errors"
	"fmt"
	"slices"
	"sync"
)

// A Policy decides when a scope is cancelled, and what its Join returns. It is told of subtasks that are forked and of those that have a result, which have
// succeeded or failed; not of one that panics: Join delivers that, whatever the policy is. The policies of this package are for one scope each.
type Policy interface {
	// OnFork is called by the owner for each fork, before there is a thread. It returns true to cancel the scope, which then makes none. A panic comes out of
	// the fork.
	OnFork(t Task) (cancel bool)

	// OnComplete is called on the thread of a subtask that has a result, unless the scope was cancelled before; by several threads at a time. It returns true
	// to cancel the scope; the subtask's error, if it has one, is the cause. A panic is one of the thread. It may use the result, and must not fork or join.
	OnComplete(t Task) (cancel bool)

	// OnTimeout is called by Join when the scope was cancelled because its time was over. err says so, and is [context.DeadlineExceeded]. Join returns what
	// OnTimeout returns; if that is nil, what Result returns.
	OnTimeout(err error) error

	// Result is called by Join when no call of OnComplete is under way, and none can come.
	Result() error
}

// ErrNothingForked is the error of an [Any] whose scope has no subtasks.
var ErrNothingForked = errors.New("nothing was forked")

// Successful is the policy that all subtasks must succeed: the first that fails cancels the scope, and Join returns its error. Scopes have it if
// they are not given another. Its zero value is ready for use.
type Successful struct {
	// Joined makes Join wait for all subtasks, whether they fail or not, and return the errors of all, joined in the order of the forks.
	Joined bool

	// Map, if it is not nil, makes what Join returns of the error that it would return. It must not return nil.
	Map func(error) error

	mu struct {
		sync.Mutex
		tasks []Task // if Joined
		first error
	}
}

// OnFork is for scopes.
func (p *Successful) OnFork(t Task) (cancel bool) {
	mustBeNew(t)
	if p.Joined {
		p.mu.tasks = append(p.mu.tasks, t) // the owner's own
	}
	return false
}

// OnComplete is for scopes.
func (p *Successful) OnComplete(t Task) (cancel bool) {
	mustHaveResult(t)
	if t.State() == Succeeded || p.Joined {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.mu.first == nil {
		p.mu.first = t.Err()
	}
	return true
}

// OnTimeout is for scopes.
func (p *Successful) OnTimeout(err error) error { return mapped(p.Map, err) }

// Result is for scopes.
func (p *Successful) Result() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.Joined {
		return mapped(p.Map, joined(p.mu.tasks))
	}
	return mapped(p.Map, p.mu.first)
}

// All is [Successful] that keeps the values:
//
//	var prices structured.All[int]
//	err := structured.Options{Name: "prices", Policy: &prices}.Run(ctx, func(s *structured.Scope) error {
//		for _, shop := range shops {
//			structured.Fork(s, shop.price)
//		}
//		return s.Join()
//	})
//
// Its zero value is ready for use.
type All[T any] struct {
	Successful
	subtasks []*Subtask[T] // the owner's own
}

// OnFork is for scopes.
func (p *All[T]) OnFork(t Task) (cancel bool) {
	cancel = p.Successful.OnFork(t)
	if s, ok := t.(*Subtask[T]); ok {
		p.subtasks = append(p.subtasks, s)
	}
	return cancel
}

// Values returns the values of all subtasks of type T, in the order of their forks. The caller owns the slice. It is for the owner, once Join has returned
// nil; else it returns nil.
func (p *All[T]) Values() []T {
	values := make([]T, 0, len(p.subtasks))
	for _, s := range p.subtasks {
		value, err := s.Get()
		if err != nil {
			return nil
		}
		values = append(values, value)
	}
	return values
}

// Any is the policy that one subtask of type T must succeed: the first that does cancels the scope. If none does, Join returns the error that came first, and
// [ErrNothingForked] if there are none. Its zero value is ready for use.
type Any[T any] struct {
	// Joined makes Join return the errors of all instead of the first, in the order of the forks.
	Joined bool

	// Map is that of [Successful].
	Map func(error) error

	mu struct {
		sync.Mutex
		tasks  []Task
		winner *Subtask[T]
		first  error
	}
}

// OnFork is for scopes.
func (p *Any[T]) OnFork(t Task) (cancel bool) {
	mustBeNew(t)
	p.mu.tasks = append(p.mu.tasks, t) // the owner's own
	return false
}

// OnComplete is for scopes.
func (p *Any[T]) OnComplete(t Task) (cancel bool) {
	mustHaveResult(t)
	p.mu.Lock()
	defer p.mu.Unlock()
	if s, ok := t.(*Subtask[T]); ok && t.State() == Succeeded {
		if p.mu.winner == nil {
			p.mu.winner = s
		}
		return true
	}
	if p.mu.first == nil {
		p.mu.first = t.Err()
	}
	return false
}

// OnTimeout is for scopes.
func (p *Any[T]) OnTimeout(err error) error { return mapped(p.Map, err) }

// Result is for scopes.
func (p *Any[T]) Result() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.mu.winner != nil:
		return nil
	case p.Joined && p.mu.first != nil:
		return mapped(p.Map, joined(p.mu.tasks))
	case p.mu.first != nil:
		return mapped(p.Map, p.mu.first)
	}
	return mapped(p.Map, ErrNothingForked)
}

// Value returns the value of the subtask that was the first to succeed. It is for the owner, once Join has returned nil; else it returns T's zero.
func (p *Any[T]) Value() (value T) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.mu.winner != nil {
		value, _ = p.mu.winner.Get()
	}
	return value
}

// AwaitAll is the policy that all subtasks end, whether they succeed or fail: Join returns nil, and the owner asks each [Subtask].
type AwaitAll struct{}

// OnFork is for scopes.
func (AwaitAll) OnFork(t Task) (cancel bool) {
	mustBeNew(t)
	return false
}

// OnComplete is for scopes.
func (AwaitAll) OnComplete(t Task) (cancel bool) {
	mustHaveResult(t)
	return false
}

// OnTimeout is for scopes.
func (AwaitAll) OnTimeout(err error) error { return err }

// Result is for scopes.
func (AwaitAll) Result() error { return nil }

// Until is the policy that subtasks go on until one is found that is enough: the scope is cancelled then, and Join returns nil, as it does when all have ended, or
// when the time is over: Tasks tells what there is then.
type Until struct {
	// Enough is called with each subtask that has a result, on its thread, by several threads at a time.
	Enough func(t Task) bool

	tasks []Task // the owner's own
}

// OnFork is for scopes.
func (p *Until) OnFork(t Task) (cancel bool) {
	mustBeNew(t)
	p.tasks = append(p.tasks, t)
	return false
}

// OnComplete is for scopes.
func (p *Until) OnComplete(t Task) (cancel bool) {
	mustHaveResult(t)
	return p.Enough(t)
}

// OnTimeout is for scopes.
func (p *Until) OnTimeout(error) error { return nil }

// Result is for scopes.
func (p *Until) Result() error { return nil }

// Tasks returns all subtasks, in the order of their forks, also those without a result. The caller owns the slice. It is for the owner.
func (p *Until) Tasks() []Task { return slices.Clone(p.tasks) }

func mapped(by func(error) error, err error) error {
	if err == nil || by == nil {
		return err
	}
	if to := by(err); to != nil {
		return to
	}
	panic(fmt.Sprintf("structured: the policy has mapped an error to nil: %v", err))
}

// joined are the errors of those that have failed.
func joined(tasks []Task) error {
	var errs []error
	for _, t := range tasks {
		if t.State() == Failed {
			errs = append(errs, t.Err())
		}
	}
	return errors.Join(errs...)
}

func mustBeNew(t Task) {
	if t.State() != Unavailable {
		panic(fmt.Sprintf("structured: a policy is told of the fork of %s", t))
	}
}

func mustHaveResult(t Task) {
	if t.State() == Unavailable {
		panic(fmt.Sprintf("structured: a policy is told of the end of %s", t))
	}
}
