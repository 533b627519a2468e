package structured

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/internal/coro"
	"github.com/vtscope/vtscope/runtime/sched"
	"github.com/vtscope/vtscope/runtime/vthread"
)

// Errors of scopes.
var (
	// ErrNotJoined is returned by Close for a scope in which threads were forked and that was never joined. The threads have ended.
	ErrNotJoined = errors.New("closed without a join")
	// ErrStructure is returned by Close for a scope whose owner had not closed a scope that it had opened later. Both are closed.
	ErrStructure = errors.New("closed while an inner scope was open")
	// ErrGoexit is the error of a forked thread that called runtime.Goexit.
	ErrGoexit = errors.New("thread called runtime.Goexit")
)

// A Panic is what Join panics with when a forked thread has panicked.
type Panic = vthread.Panic

// A Scope holds the threads that were forked in it. [Open] and [Run] make one.
//
// The first thread that fails (returns an error, panics or calls runtime.Goexit) cancels the scope's context.
type Scope struct {
	id     flight.ScopeID
	thread vthread.Scope // as its threads know it
	name   string
	ctx    context.Context
	cancel context.CancelCauseFunc

	owner     *vthread.Thread // nil: a goroutine
	goroutine uintptr         // that opened it
	outer     *Scope          // what was innermost before; the owner's own

	closed, joined bool // the owner's own
	forked         int

	mu struct {
		sync.Mutex
		live   int // threads that have not ended
		err    error
		panic  *Panic
		waiter *sched.Waiter // the owner, in wait
	}
}

type scopeKey struct{}

var lastID atomic.Uint64

// Open opens a scope named name. The caller becomes its owner, and closes it. The scope's context is derived from ctx; the end
// of ctx ends it, but does not end threads that do not look at it.
func Open(ctx context.Context, name string) *Scope {
	s := &Scope{id: flight.ScopeID(lastID.Add(1)), name: name, owner: vthread.Current(), goroutine: coro.Goroutine()}
	s.thread.Ended, s.thread.Panicked = s.ended, s.panicked
	s.thread.Owner, s.thread.Name = s, name
	var parent *Scope
	if s.owner != nil {
		s.outer = known(s.owner.Innermost())
		parent = s.outer
		if parent == nil {
			parent = known(s.owner.Scope())
		}
		s.owner.SetInnermost(&s.thread)
	} else {
		parent, _ = ctx.Value(scopeKey{}).(*Scope)
		s.outer = parent
		if parent != nil && !parent.mine() {
			s.outer = nil
		}
	}
	ctx, s.cancel = context.WithCancelCause(ctx)
	s.ctx = context.WithValue(ctx, scopeKey{}, s)
	s.thread.Context = s.ctx
	if r := flight.Default(); r != nil {
		now := flight.Now()
		var at flight.ScopeIndex
		if parent != nil {
			at = parent.thread.Index
		}
		s.thread.Index = r.OpenScope(s.id, name, at, s.ownerID(), 0, now)
		s.event(flight.EventScopeOpen, 0)
	}
	return s
}

// Run opens a scope, calls body with it, and closes it: when Run returns, or panics, all threads forked in the
// scope have ended. It returns body's error, or else what Close returns. When body has not joined
// the scope, its threads are cancelled and waited for.
func Run(ctx context.Context, name string, body func(s *Scope) error) (err error) {
	s := Open(ctx, name)
	defer func() {
		if cerr := s.Close(); err == nil {
			err = cerr
		}
	}()
	return body(s)
}

// Name returns the scope's name.
func (s *Scope) Name() string { return s.name }

// Context returns the scope's context. It is cancelled when a thread of the scope fails, by Cancel, and by
// Close. [context.Cause] tells why.
func (s *Scope) Context() context.Context { return s.ctx }

// Cancel cancels the scope's context. It does not wait.
func (s *Scope) Cancel() { s.cancel(context.Canceled) }

// Fork starts a thread in the scope that executes f. It does not block. It panics when the caller is not the
// owner, or the scope was joined or closed.
func (s *Scope) Fork(f func() error) *vthread.Thread { return s.ForkNamed("", f) }

// ForkNamed is [Scope.Fork] with a name for the thread.
func (s *Scope) ForkNamed(name string, f func() error) *vthread.Thread {
	s.check("fork")
	if s.joined {
		panic(fmt.Sprintf("structured: fork in scope %q: it was joined", s.name))
	}
	s.mu.Lock()
	s.mu.live++
	s.mu.Unlock()
	s.forked++
	t, err := vthread.Builder{Name: name, Scope: &s.thread}.TryStart(func() {
		if err := f(); err != nil {
			s.fail(err)
		}
	})
	s.event(flight.EventScopeFork, t.ID())
	if err != nil {
		s.fail(err)
		s.ended(t, flight.ReasonRejected)
	}
	return t
}

// Join waits until all threads forked in the scope have ended. It returns the first error that one of them
// returned; if the first to fail panicked, Join panics with a [*Panic]. A thread parks, a goroutine blocks.
func (s *Scope) Join() error {
	s.check("join")
	s.joined = true
	s.event(flight.EventScopeJoin, 0)
	s.wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	if p := s.mu.panic; p != nil {
		s.mu.panic = nil // it is delivered once
		panic(p)
	}
	return s.mu.err
}

// Close cancels the scope's context, waits until all its threads have ended, and closes it. A panic of a thread that
// no Join has delivered comes out of Close. Closing a closed scope does nothing.
func (s *Scope) Close() error {
	if s.closed {
		return nil
	}
	s.check("close")
	err := s.closeInner()
	s.closed = true
	s.cancel(context.Canceled)
	s.wait()
	if s.owner != nil {
		if s.outer != nil {
			s.owner.SetInnermost(&s.outer.thread)
		} else {
			s.owner.SetInnermost(nil)
		}
	}
	s.event(flight.EventScopeClose, 0)
	flight.Default().CloseScope(s.thread.Index)
	s.mu.Lock()
	p := s.mu.panic
	s.mu.panic = nil
	s.mu.Unlock()
	if p != nil {
		panic(p)
	}
	if p, _ := err.(*Panic); p != nil { // of an inner scope's thread
		panic(p)
	}
	if s.forked > 0 && !s.joined {
		err = errors.Join(err, fmt.Errorf("structured: scope %q: %w", s.name, ErrNotJoined))
	}
	return err
}

// closeInner closes the scopes that the owner has opened in s and not closed. A panic that comes out of one is
// the error: s has threads to wait for before it may go on.
func (s *Scope) closeInner() (err error) {
	if s.owner == nil {
		return nil
	}
	for {
		inner := known(s.owner.Innermost())
		if inner == nil || inner == s {
			return err
		}
		p, cerr := inner.closeCaught()
		if _, before := err.(*Panic); before {
			continue
		}
		if p != nil {
			err = p
			continue
		}
		err = fmt.Errorf("structured: scope %q: %w: %q", s.name, ErrStructure, inner.name)
		if cerr != nil && !errors.Is(cerr, ErrNotJoined) {
			err = errors.Join(err, cerr)
		}
	}
}

// closeCaught is Close that returns a child's panic.
func (s *Scope) closeCaught() (p *Panic, err error) {
	defer func() {
		if v := recover(); v != nil {
			var ours bool
			if p, ours = v.(*Panic); !ours {
				panic(v)
			}
		}
	}()
	return nil, s.Close()
}

// String returns the scope's name and how many of its threads have not ended.
func (s *Scope) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return fmt.Sprintf("scope %q, %d of its threads running", s.name, s.mu.live)
}

// known is the scope that a thread knows as v.
func known(v *vthread.Scope) *Scope {
	if v == nil {
		return nil
	}
	s, _ := v.Owner.(*Scope)
	return s
}

// ended is called by package vthread.
func (s *Scope) ended(_ *vthread.Thread, how flight.Reason) {
	if how == flight.ReasonGoexit {
		s.fail(ErrGoexit)
	}
	s.mu.Lock()
	s.mu.live--
	var w *sched.Waiter
	if s.mu.live == 0 {
		w, s.mu.waiter = s.mu.waiter, nil
	}
	s.mu.Unlock()
	if w != nil {
		w.Wake()
	}
}

func (s *Scope) wait() {
	s.mu.Lock()
	if s.mu.live == 0 {
		s.mu.Unlock()
		return
	}
	w := sched.NewWaiter(sched.Current())
	s.mu.waiter = w
	s.mu.Unlock()
	flight.Default().SetScopeState(s.thread.Index, flight.ScopeJoining)
	w.Wait(sched.Pause{State: flight.StateWaiting, Reason: flight.ReasonScopeJoin, Blocker: flight.BlockScope(s.id)})
	flight.Default().SetScopeState(s.thread.Index, flight.ScopeOpen)
}

func (s *Scope) panicked(t *vthread.Thread, value any, stack []byte) {
	p := &Panic{Thread: t.Label(), Value: value, Stack: stack}
	s.mu.Lock()
	if s.mu.err == nil {
		s.mu.err, s.mu.panic = p, p
	}
	s.mu.Unlock()
	s.cancel(p)
}

func (s *Scope) fail(err error) {
	s.mu.Lock()
	if s.mu.err == nil {
		s.mu.err = err
	}
	s.mu.Unlock()
	s.cancel(err)
}

// mine reports whether the caller is the owner.
func (s *Scope) mine() bool {
	if s.owner != nil {
		return vthread.Current() == s.owner
	}
	return coro.Goroutine() == s.goroutine
}

func (s *Scope) check(what string) {
	switch {
	case s.closed:
		panic(fmt.Sprintf("structured: %s in scope %q: it is closed", what, s.name))
	case !s.mine():
		panic(fmt.Sprintf("structured: %s in scope %q: only its owner may", what, s.name))
	}
}

func (s *Scope) ownerID() flight.ThreadID {
	if s.owner == nil {
		return 0
	}
	return s.owner.ID()
}

func (s *Scope) event(k flight.Kind, t flight.ThreadID) {
	if t == 0 {
		t = s.ownerID()
	}
	sched.Emit(k, t, uint64(s.id))
}
