package continuation

import (
	"reflect"

	"github.com/vtscope/vtscope/runtime/internal/coro"
)

// A place is where an Invoke can unwind to.
type place struct {
	prompt *Prompt // nil: it is none
	result any     // a pointer to it
}

// resets is the prompt of the continuations that bodies of Resets execute as. Nobody can suspend them by it.
var resets = NewPrompt("reset")

// Reset marks a place that [Invoke] can unwind to, and calls body. It returns the result of body, or of the last function that
// was invoked here.
//
// A panic of the body, or of a function that is invoked here, comes out of Reset as a [*Panic], runtime.Goexit goes on in its caller.
// What the body suspends, by prompts of continuations around the Reset, and what it parks, is suspended and parked with it; it executes
// on a goroutine of its own, which must not unlock an OS thread that Reset's caller has locked.
func Reset[R any](p *Prompt, body func() R) (result R) {
	if p == nil || body == nil {
		panic("continuation: nil prompt or body")
	}
	c := &Continuation{prompt: resets, place: place{p, &result}, body: func() { result = body() }}
	c.inner = c
	c.hold()
	return result
}

// Invoke unwinds the stack to the innermost [Reset] of the prompt that encloses the caller, running deferred functions on the way, and
// calls fn with arg there; Reset returns what fn returns. Invoke does not return: its result is for the statement
//
//	return continuation.Invoke(p, fn, arg)
//
// Nothing is left of the frames that it leaves, so functions may call each other so forever. The unwinding is a runtime.Goexit, with what is documented
// of that: recover does not stop it. If a deferred function panics on the way, fn is not called, and the panic comes out of Reset; if
// it calls Invoke, the last call counts.
//
// It panics with [ErrNoReset] if no Reset of the prompt encloses the caller, and with [ErrResult] if that Reset's type of result is another
// than R; then nothing has been unwound.
func Invoke[R, A any](p *Prompt, fn func(A) R, arg A) R {
	if fn == nil {
		panic("continuation: nil function")
	}
	inner, c := find(p)
	result, fits := c.place.result.(*R)
	if !fits {
		p.misuse("invoke", ErrResult)
	}
	inner.unwind(c, func() { *result = fn(arg) })
	panic("unreachable")
}

// find returns the innermost body that encloses the caller, and that of the Reset of the prompt.
func find(p *Prompt) (inner, c *Continuation) {
	if self := coro.Self(); self != nil {
		inner = (*Continuation)(self.Inner)
	}
	for c = inner; c != nil; c = c.parent {
		if c.place.prompt == p && p != nil {
			return inner, c
		}
	}
	p.misuse("invoke", ErrNoReset)
	return nil, nil
}

// A jump is what the fast form of an unwinding panics with.
type jump struct{}

// jumped is what recovers jumps.
var jumped = reflect.ValueOf((*Continuation).run).Pointer()

// unwind ends the body of c, and those around it up to that of a Reset, to execute call there.
//
// Where no function between here and there has a defer statement, nobody can recover a panic, and one does it, on the
// same goroutine, in a quarter of the time that a Goexit and a new goroutine take.
func (c *Continuation) unwind(to *Continuation, call func()) {
	c.end.unwind = unwind{to, call}
	if c == to && coro.Undeferred(jumped) {
		panic(jump{})
	}
	leave()
}

// hold executes the body of a Reset, and what is invoked there, until one returns.
func (c *Continuation) hold() {
	for again := true; again; {
		self := coro.Self()
		var parent *Continuation
		if self != nil {
			parent = (*Continuation)(self.Inner)
		}
		c.state.Store(running)
		c.start()
		c.enter(self, parent)
		again = c.again()
	}
	c.deliver()
}

// again prepares the execution of what was invoked here, after a Goexit, if there is something.
func (c *Continuation) again() bool {
	u := c.end.unwind
	if u.to != c || c.closing {
		return false
	}
	c.end.unwind, c.end.goexit = unwind{}, false // it has arrived
	c.body = u.call
	return c.end.panic == nil
}
