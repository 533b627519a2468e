package structured

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/sched"
	"github.com/vtscope/vtscope/runtime/structured/internal/flock"
	"github.com/vtscope/vtscope/runtime/vthread"
)

// Errors of scopes; test for them with errors.Is.
var (
	// ErrNotJoined is returned by Close for a scope in which something was forked and that was never joined. The threads have ended.
	ErrNotJoined = errors.New("closed without a join")
	// ErrStructure is returned by Close for a scope whose owner had not closed a scope that it had opened later, or was in a call with values that it had
	// bound later; by [Bindings.Run] for such a scope; and it is the error of a thread that has ended with an open scope. All are closed.
	ErrStructure = errors.New("something inner was open")
	// ErrGoexit is the error of a forked thread that called runtime.Goexit.
	ErrGoexit = vthread.ErrGoexit
	// ErrUnavailable is the error of a subtask that has no result (yet).
	ErrUnavailable = errors.New("no result")
	// ErrOptions is returned for options that are wrong.
	ErrOptions = errors.New("wrong options")
)

// A Panic is what Join panics with when a forked thread has panicked.
type Panic = vthread.Panic

// A Factory makes a thread that executes f, without starting it, from what a scope says of it. It may change other fields of b than Scope:
//
//	func(b vthread.Builder, f func()) *vthread.Thread {
//		b.Kind = vthread.OnOSThread
//		return b.Unstarted(f)
//	}
type Factory = flock.Factory

// Options describe a scope. The zero value is what [Open] takes. Options may be used for any number of scopes, if the policy may.
type Options struct {
	// Name is the scope's, in dumps and errors.
	Name string

	// Deadline cancels the scope when it comes, if that is before the context's own; see [Policy.OnTimeout]. Zero means none.
	Deadline time.Time

	// Policy decides when the scope is cancelled, and what Join returns. nil means a [Successful] of the scope's own.
	Policy Policy

	// Limit is how many forked threads execute at a time. Others are queued, in their order: they stand in dumps as new. 0 means no limit.
	Limit int

	// Scheduler executes the threads. nil means that of the owner if it is a virtual thread, or else the default.
	Scheduler sched.Scheduler

	// Factory makes the threads. nil means [vthread.Builder.Unstarted]. A fork panics if it makes none, one that was started, or one of another scope.
	Factory Factory
}

// A Scope holds the threads that were forked in it. [Open] and [Run] make one.
//
// It is cancelled, once, when its policy wants it, a thread panics, its context ends, or somebody calls Cancel or Close. That ends [Scope.Context],
// interrupts all its threads but the one that does it, and lets nothing new begin: what is forked later, or is queued, is never executed, and what ends later
// has no result.
type Scope struct {
	flock  flock.Flock
	policy Policy
	around context.Context // as it was given, with the deadline
	ctx    context.Context
	cancel context.CancelCauseFunc
	on     sched.Scheduler // of the threads; nil: that of the owner, or the default
	free   []func() bool   // releases what the context holds
	owner  caller

	before *vthread.Scope // what was innermost; the owner's own, as all until mu
	values values         // bound where it was opened
	joined bool
	forked bool
	again  bool // Join may be called again: it was interrupted
	tells  bool // the owner calls OnComplete

	closed atomic.Bool // stored by the owner
	phase  atomic.Uint64
	mu     struct {
		sync.Mutex
		end     end
		cause   error
		missing bool // of end: some subtasks have no result
		panic   *Panic
		told    bool              // a panic was delivered
		raised  []*vthread.Thread // whose panic is known, and will be handled
		late    []error           // that nobody was told
	}
}

// The phase of a scope tells whether it is cancelled, and counts, so that subtasks need no lock that the scope's other threads want.
//
//	P1  It is cancelled once, by who holds mu. From then on no subtask becomes pending, and none begins to settle.
//	P2  A subtask is pending when it is forked, then settling when it has a result, until the policy was told. Who cancels settles, too, until that is
//	    done. Of a cancelled scope, Join returns when nobody settles.
const (
	settling  = 1       // the unit of their number
	pending   = 1 << 31 // the same
	cancelled = 1 << 63
)

func settlingIn(phase uint64) uint64 { return phase & (pending - 1) }

func pendingIn(phase uint64) uint64 { return phase &^ cancelled / pending }

// advance adds to the phase, unless the scope is cancelled.
func (s *Scope) advance(by int64) bool {
	for {
		phase := s.phase.Load()
		if phase&cancelled != 0 {
			return false
		}
		if s.phase.CompareAndSwap(phase, phase+uint64(by)) {
			return true
		}
	}
}

// An end tells why a scope was cancelled.
type end uint8

const (
	open end = iota
	byPolicy
	byPanic
	byTimeout
	byOther // Cancel, or the context
	byClose
)

// Open opens a scope named name. The caller becomes its owner, and closes it. The scope's context is derived from ctx, and the end of ctx cancels the scope.
func Open(ctx context.Context, name string) *Scope {
	s, err := Options{Name: name}.Open(ctx)
	if err != nil {
		panic(err) // an invariant: these options are right
	}
	return s
}

// Run opens a scope, calls body with it, and closes it: when Run returns, or panics, all threads forked in the
// scope have ended. It returns body's error, joined with what Close returns if that is something else. When body has not joined
// the scope, its threads are cancelled and waited for.
func Run(ctx context.Context, name string, body func(s *Scope) error) error {
	return Options{Name: name}.Run(ctx, body)
}

// Run is the function [Run] with options. The error is [ErrOptions] if they are wrong; then body is not called.
func (o Options) Run(ctx context.Context, body func(s *Scope) error) (err error) {
	if body == nil {
		panic("structured: nil body")
	}
	s, err := o.Open(ctx)
	if err != nil {
		return err
	}
	defer func() {
		switch cerr := s.close(err != nil); {
		case err == nil:
			err = cerr
		case cerr != nil:
			err = errors.Join(err, cerr)
		}
	}()
	return body(s)
}

// check tells what is wrong.
func (o *Options) check() error {
	switch {
	case o.Limit < 0:
		return fmt.Errorf("structured: open scope %q: %w: limit %d", o.Name, ErrOptions, o.Limit)
	case o.Policy != nil && reflect.ValueOf(o.Policy).Kind() == reflect.Pointer && reflect.ValueOf(o.Policy).IsNil():
		return fmt.Errorf("structured: open scope %q: %w: policy is a nil %T", o.Name, ErrOptions, o.Policy)
	}
	return nil
}

// policyName is the policy's type, for dumps.
func (o *Options) policyName() string {
	if o.Policy == nil {
		return ""
	}
	return strings.TrimPrefix(fmt.Sprintf("%T", o.Policy), "*")
}

// Open is the function [Open] with options. The error is [ErrOptions] if they are wrong.
func (o Options) Open(ctx context.Context) (*Scope, error) {
	if ctx == nil {
		panic("structured: nil context")
	}
	if err := o.check(); err != nil {
		return nil, err
	}
	s := &Scope{owner: self(), policy: o.Policy, on: o.Scheduler}
	if s.policy == nil {
		s.policy = new(Successful)
	}
	s.before = s.owner.innermost()
	parent := s.owner.around()
	s.values = *valuesOf(parent)
	if parent == nil {
		parent = flock.Of(ctx)
	}
	s.derive(ctx, &o)
	deadline, _ := s.around.Deadline()
	s.flock.Scope.Owner, s.flock.Scope.Panicked, s.flock.Scope.Context = s, s.handle, s.ctx
	s.flock.Open(flock.Options{
		Name: o.Name, Parent: parent, Owner: s.ownerID(), Deadline: deadline, Policy: o.policyName(), Limit: o.Limit, Factory: o.Factory,
	})
	s.owner.setInnermost(&s.flock.Scope)
	s.flock.Tell(ctx)
	if s.around.Done() != nil {
		s.free = append(s.free, context.AfterFunc(s.around, s.lookAtContext))
	}
	return s, nil
}

// derive makes the scope's contexts.
func (s *Scope) derive(ctx context.Context, o *Options) {
	s.around = ctx
	if !o.Deadline.IsZero() {
		var stop context.CancelFunc
		s.around, stop = context.WithDeadlineCause(ctx, o.Deadline,
			fmt.Errorf("structured: scope %q: %w", o.Name, context.DeadlineExceeded))
		s.free = append(s.free, func() bool { stop(); return true })
	}
	inner, cancel := context.WithCancelCause(s.around)
	s.cancel = cancel
	s.ctx = flock.Within(inner, &s.flock.Scope)
}

// Name returns the scope's name, also when it is closed.
func (s *Scope) Name() string { return s.flock.Scope.Name }

// Owner returns the thread that opened the scope, or nil for a goroutine, also when the scope is closed.
func (s *Scope) Owner() *vthread.Thread { return s.owner.thread }

// Context returns the scope's context, which ends when the scope is cancelled. [context.Cause] tells why: the first error or [*Panic], what Cancel was given,
// the cause of the context around, or [context.Canceled] when there is no such thing. The contexts of the scope's threads ([vthread.Thread.Context]) are
// derived from it.
func (s *Scope) Context() context.Context { return s.ctx }

// Canceled reports whether the scope was cancelled. A closed one was.
func (s *Scope) Canceled() bool { return s.phase.Load()&cancelled != 0 }

// Closed reports whether the scope was closed: all its threads have ended.
func (s *Scope) Closed() bool { return s.closed.Load() }

// Threads returns the threads of the scope that were started and have not ended, without those that are queued. The caller owns the slice.
func (s *Scope) Threads() []*vthread.Thread { return s.flock.Threads() }

// Contains reports whether t was forked in s, or in a scope within: one that the owner or a thread of s has opened.
func (s *Scope) Contains(t *vthread.Thread) bool {
	for in := t.Scope(); in != nil; in = parentOf(in) {
		if in == &s.flock.Scope {
			return true
		}
	}
	return false
}

// String returns the scope's name and how many of its threads have not ended.
func (s *Scope) String() string {
	live, queued := s.flock.Count()
	if queued > 0 {
		return fmt.Sprintf("scope %q, %d of its threads running, %d queued", s.Name(), live-queued, queued)
	}
	return fmt.Sprintf("scope %q, %d of its threads running", s.Name(), live)
}

// mine reports whether the caller is the owner.
func (s *Scope) mine() bool { return self() == s.owner }

// hides reports whether the caller may not see results yet.
func (s *Scope) hides() bool { return s.mine() && !s.joined && !s.tells && !s.closed.Load() }

func (s *Scope) check(what string) {
	switch {
	case !s.mine():
		panic(fmt.Sprintf("structured: %s in scope %q: only its owner may", what, s.Name()))
	case s.closed.Load():
		panic(fmt.Sprintf("structured: %s in scope %q: it is closed", what, s.Name()))
	}
}

func (s *Scope) ownerID() flight.ThreadID {
	if s.owner.thread == nil {
		return 0
	}
	return s.owner.thread.ID()
}
