package continuation

import (
	"sync/atomic"
	"unsafe"

	"github.com/vtscope/vtscope/runtime/internal/coro"
)

// A Prompt names a kind of continuation. Two prompts are different even if their names are the same.
type Prompt struct{ name string }

// NewPrompt returns a prompt with a name for error messages.
func NewPrompt(name string) *Prompt { return &Prompt{name} }

// String returns the name.
func (p *Prompt) String() string { return p.name }

// A Continuation is sequential code that may suspend itself. [New] makes one.
//
// A new continuation and one that has ended are plain memory. One that is suspended is a goroutine, with what its stack
// refers to, and Go never collects a goroutine: if it is dropped, it stays for the life of the process. So whoever
// may give one up calls [Continuation.Close]; generators do so by themselves.
type Continuation struct {
	prompt *Prompt
	body   func()
	state  atomic.Uint32

	// The rest belongs to whoever runs it, or may.

	closing bool          // is being closed, by itself or with an outer one
	calls   bool          // its goroutine executes a function that was given to Suspend
	at      *coro.Slot    // who ran it waits there while it runs; its innermost goroutine while it is suspended
	routine *coro.Routine // that the body executes on; nil before and after
	parent  *Continuation // encloses it while it runs: a continuation, or the body of a Reset
	under   *Continuation // the continuation that enclosed it when it was first run
	inner   *Continuation // the innermost that was suspended with it, or itself

	end   end
	place place // of a Reset
	trace trace
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
// A continuation that was first run directly on a thread or goroutine may go on on any other. One that was first run within another
// continuation goes on within that one; when that has ended, it can only be closed.
//
// Run panics with [ErrRunning], [ErrDone], [ErrParent], and with [ErrOSThread] if the continuation began while its runner was locked to
// an OS thread and the caller is not locked to the same. That of a continuation that begins on a locked goroutine, as package init
// is, stays bound to it. The body must not unlock what its runner has locked.
func (c *Continuation) Run() (done bool) {
	self := coro.Self()
	var parent *Continuation
	if self != nil {
		parent = (*Continuation)(self.Inner)
	}
	if c.state.Load() != suspended || c.under != parent.enclosing() || !c.at.Fits() || !c.state.CompareAndSwap(suspended, running) {
		c.first(parent)
	}
	c.enter(self, parent)
	if c.state.Load() != ended {
		c.state.Store(suspended) // not before its goroutine has come to rest
		return false
	}
	c.deliver()
	return true
}

// enclosing returns the innermost continuation that c is or is within: bodies of Resets are none.
func (c *Continuation) enclosing() *Continuation {
	for c != nil && c.place.prompt != nil {
		c = c.parent
	}
	return c
}

// first is the first run, or the panic of one that must not be.
func (c *Continuation) first(parent *Continuation) {
	switch c.state.Load() {
	case ended:
		c.prompt.misuse("run", ErrDone)
	case suspended:
		if c.under != parent.enclosing() {
			c.prompt.misuse("run", ErrParent)
		}
		if !c.at.Fits() {
			c.prompt.misuse("run", ErrOSThread)
		}
	}
	if !c.state.CompareAndSwap(created, running) {
		c.prompt.misuse("run", ErrRunning) // perhaps since a moment: a race of the caller's making
	}
	c.under = parent.enclosing()
	c.start()
}

// start makes the goroutine.
func (c *Continuation) start() {
	c.routine = coro.New(c.main)
	c.routine.Inner = unsafe.Pointer(c)
	c.at = c.routine.At
}

// enter executes c, and all that were suspended within it, until it is suspended or ends. The caller's routine and
// continuation are self and parent, or nil.
func (c *Continuation) enter(self *coro.Routine, parent *Continuation) {
	c.parent = parent
	var task unsafe.Pointer
	if self != nil {
		task = self.Task
		self.Down = c.routine
		if parent != nil {
			parent.trace.take()
		}
	}
	for i := c.inner; ; i = i.parent { // they all execute on our thread now
		i.routine.Task = task
		if i == c {
			break
		}
	}
	c.exchange()
	if self != nil {
		self.Down = nil
	}
}

func (c *Continuation) exchange() {
	defer coro.Ended()
	c.at.Switch()
}

// Suspend suspends the innermost continuation of the prompt that encloses the caller, and all continuations nested in it; the
// [Continuation.Run] that runs it returns false. Before that, f, if it is not nil, is called with the continuation. Suspend
// returns when the continuation is run again, and returns it: so values can pass both ways, in whatever belongs to the
// continuation. No deferred function runs, unless the continuation is closed: then Suspend does not return.
//
// The continuation can be run again once Run has returned, not yet in f. In f nothing can be suspended: another Suspend panics with [ErrSuspending], and Run of the continuation with [ErrRunning].
// A panic of f is one of Suspend, which has suspended nothing then.
//
// If the caller is pinned ([Pinned]), Suspend does not suspend, does not call f, and returns a [*PinnedError]. While the
// continuation is being closed it returns [ErrClosed]. It panics with [ErrNoPrompt] if no continuation of the prompt encloses the
// caller. Nothing encloses a goroutine that the body has started, nor the body of an iter.Pull.
func Suspend(p *Prompt, f func(c *Continuation)) (*Continuation, error) {
	self := coro.Self()
	var inner *Continuation
	if self != nil {
		inner = (*Continuation)(self.Inner)
	}
	c, pins, calls := inner, int32(0), false
	for ; c != nil; c = c.parent {
		pins |= c.routine.Pins
		calls = calls || c.calls
		if c.prompt == p {
			break
		}
	}
	if c == nil || pins != 0 || calls || c.closing || !c.at.Fits() {
		return c, refusal(p, c, pins, calls)
	}
	if f != nil {
		inner.call(f, c)
	}
	inner.trace.take()
	c.inner = inner
	c.at.Switch()
	if c.closing {
		leave()
	}
	return c, nil
}

func (c *Continuation) call(f func(*Continuation), with *Continuation) {
	c.calls = true
	defer func() { c.calls = false }()
	f(with)
}
