package continuation

import (
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"sync/atomic"
	"unsafe"

	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/internal/coro"
)

// Errors: [Continuation.Run] panics with the first three, [Suspend] with ErrNoPrompt, all wrapped in a message that
// names the continuation or prompt. Suspend returns ErrPinned.
var (
	ErrRunning  = errors.New("is running")
	ErrDone     = errors.New("has ended")
	ErrOSThread = errors.New("began on another OS thread, to which it is locked")
	ErrNoPrompt = errors.New("no continuation of this prompt encloses the caller")
	ErrPinned   = errors.New("pinned: locked to an OS thread")
)

// A Prompt names a kind of continuation. Two prompts are different even if their names are the same.
type Prompt struct{ name string }

// NewPrompt returns a prompt with a name for error messages.
func NewPrompt(name string) *Prompt { return &Prompt{name} }

// String returns the name.
func (p *Prompt) String() string { return p.name }

// A Panic is what [Continuation.Run] panics with when the body has panicked.
type Panic struct {
	Value any    // of the body's panic
	Stack []byte // of the body in Go's form, with the guilty frames, which the panic of Run does not show
}

// Error returns the value and the stack.
func (p *Panic) Error() string { return fmt.Sprintf("%v\n\n%s", p.Value, p.Stack) }

// Unwrap returns the value if it is an error.
func (p *Panic) Unwrap() error {
	err, _ := p.Value.(error)
	return err
}

// A Continuation is sequential code that may suspend itself. [New] makes one.
//
// A continuation that was suspended and is never run again keeps its goroutine, and what its stack refers to, for
// the life of the process: Go does not collect goroutines.
type Continuation struct {
	prompt *Prompt
	body   func()
	state  atomic.Uint32

	// The rest belongs to whoever runs it, or may.
	at      *coro.Slot // who ran it waits there while it runs; its innermost goroutine while it is suspended
	routine *coro.Routine
	parent  *Continuation // encloses it while it runs
	inner   *Continuation // the innermost that was suspended with it, or itself
	panic   *Panic
	goexit  bool
}

const (
	created uint32 = iota
	running
	suspended
	ended
)

// New makes a continuation that executes body when it is run.
func New(p *Prompt, body func()) *Continuation {
	if p == nil || body == nil {
		panic("continuation: nil prompt or body")
	}
	c := &Continuation{prompt: p, body: body}
	c.inner = c
	return c
}

// Prompt returns the prompt that the continuation was made with.
func (c *Continuation) Prompt() *Prompt { return c.prompt }

// Done reports whether the body has ended.
func (c *Continuation) Done() bool { return c.state.Load() == ended }

// Run executes the body from its beginning, or from where it was suspended, until it is suspended again (Run
// returns false) or ends (true). A panic of the body comes out of Run as a [*Panic], and runtime.Goexit
// goes on in Run's caller; the continuation has ended then.
//
// Run panics if the continuation is running, has ended, or began while its runner was locked to an OS thread and
// the caller is not locked to the same. That of a continuation that begins on a locked goroutine, as package init
// is, stays bound to it.
func (c *Continuation) Run() (done bool) {
	was := c.state.Load()
	switch {
	case was == running:
		c.misuse("run", ErrRunning)
	case was == ended:
		c.misuse("run", ErrDone)
	case was == suspended && !c.at.Fits():
		c.misuse("run", ErrOSThread)
	case !c.state.CompareAndSwap(was, running):
		c.misuse("run", ErrRunning) // somebody else was faster: a race of the caller's making
	}
	self := coro.Self()
	var task unsafe.Pointer
	if self != nil {
		c.parent = (*Continuation)(self.Inner)
		task = self.Task
	} else {
		c.parent = nil
	}
	if c.routine == nil {
		c.routine = coro.New(c.main)
		c.routine.Inner = unsafe.Pointer(c)
		c.at = c.routine.At
	}
	for i := c.inner; ; i = i.parent { // they all execute on our thread now
		i.routine.Task = task
		if i == c {
			break
		}
	}
	c.enter()
	if c.state.Load() != ended {
		return false
	}
	if p := c.panic; p != nil {
		c.panic = nil
		panic(p)
	}
	if c.goexit {
		runtime.Goexit()
	}
	return true
}

func (c *Continuation) enter() {
	defer coro.Ended()
	c.at.Switch()
}

// main is the life of the goroutine. When it returns, who ran the continuation goes on: it is in the goroutine's home,
// since continuations are resumed and suspended through the slot they began in.
func (c *Continuation) main(r *coro.Routine) {
	leaving := true
	defer func() {
		c.at.Refit()
		c.state.Store(ended)
		if leaving { // runtime.Goexit, even if a deferred function of the body has panicked since
			r.Exit()
		}
	}()
	c.run()
	leaving = false
}

// run does not return after a Goexit.
func (c *Continuation) run() {
	returned := false
	defer func() {
		if returned {
			return
		}
		if v := recover(); v != nil {
			c.panic = &Panic{Value: v, Stack: debug.Stack()}
			return
		}
		c.goexit = true
	}()
	c.begin()
	returned = true
	c.body = nil
}

// endStacks says that recorded stacks have been told where continuations begin.
var endStacks atomic.Bool

//go:noinline
func (c *Continuation) begin() {
	if !endStacks.Load() && endStacks.CompareAndSwap(false, true) {
		flight.EndStacks(1)
	}
	c.body()
}

// Suspend suspends the innermost continuation of the prompt that encloses the caller, and all continuations nested in it; the
// [Continuation.Run] that runs it returns false. Before that, f, if it is not nil, is called with the continuation. Suspend
// returns when the continuation is run again, and returns it: so values can pass both ways, in whatever belongs to the
// continuation. No deferred function runs.
//
// If the caller is locked to an OS thread otherwise than its runner is, Suspend does not suspend, does not call f, and
// returns [ErrPinned]. It panics if no continuation of the prompt encloses the caller.
func Suspend(p *Prompt, f func(c *Continuation)) (*Continuation, error) {
	self := coro.Self()
	var inner *Continuation
	if self != nil {
		inner = (*Continuation)(self.Inner)
	}
	c := inner
	for c != nil && c.prompt != p {
		c = c.parent
	}
	if c == nil {
		panic(fmt.Errorf("continuation: suspend %q: %w", p.name, ErrNoPrompt))
	}
	if !c.at.Fits() {
		return c, fmt.Errorf("continuation: suspend %q: %w", p.name, ErrPinned)
	}
	if f != nil {
		f(c)
	}
	c.inner = inner
	c.state.Store(suspended)
	c.at.Switch()
	return c, nil
}

func (c *Continuation) misuse(what string, err error) {
	panic(fmt.Errorf("continuation: %s one of prompt %q: it %w", what, c.prompt.name, err))
}
