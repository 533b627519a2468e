package continuation

import (
	"errors"
	"fmt"

	"github.com/vtscope/vtscope/runtime/flight"
)

// What can go wrong. Each is wrapped in a message that names the operation and the prompt. [Suspend] returns [ErrPinned] and
// [ErrClosed]; all others are misuse, for which the operation panics, and changes nothing.
var (
	// ErrRunning: Run or Close of one that is running: it is mounted, or suspended only as a part of an outer one.
	ErrRunning = errors.New("is running")
	// ErrDone: Run of one that has ended.
	ErrDone = errors.New("has ended")
	// ErrParent: Run within another continuation, or none, than the one it was first run in.
	ErrParent = errors.New("was begun inside another continuation")
	// ErrOSThread: Run or Close of one that began while its runner was locked to an OS thread, by somebody who is not locked to
	// the same as often.
	ErrOSThread = errors.New("began on another OS thread, to which it is locked")

	// ErrNoPrompt: Suspend or Pinned outside of the prompt.
	ErrNoPrompt = errors.New("no continuation of this prompt encloses the caller")
	// ErrSuspending: Suspend in a function that was given to Suspend.
	ErrSuspending = errors.New("the caller is about to be suspended")
	// ErrPinned: the caller cannot be suspended now. The error is a [*PinnedError].
	ErrPinned = errors.New("pinned")
	// ErrClosed: the continuation is being closed. The caller is one of its deferred functions.
	ErrClosed = errors.New("the continuation is being closed")
	// ErrNotPinned: Unpin without Pin.
	ErrNotPinned = errors.New("no pin section is open")

	// ErrNoReset: Invoke outside of any Reset of the prompt, or a Run that goes on with an unwinding to a Reset that has ended meanwhile.
	ErrNoReset = errors.New("no Reset of this prompt encloses the caller")
	// ErrResult: Invoke with another type of result than that of the Reset it unwinds to.
	ErrResult = errors.New("the Reset has another type of result")
)

// A PinnedError tells why a continuation could not be suspended.
type PinnedError struct {
	Prompt *Prompt
	Reason flight.Reason // [flight.ReasonPinnedOSThread] or [flight.ReasonPinnedSection]
}

// Error returns the reason's name in a sentence.
func (e *PinnedError) Error() string {
	return fmt.Sprintf("continuation: suspend %q: %v: %v", e.Prompt.name, ErrPinned, e.Reason)
}

// Unwrap returns [ErrPinned].
func (e *PinnedError) Unwrap() error { return ErrPinned }

// A Panic is what comes out of [Continuation.Run], [Continuation.Close] and [Reset] when the body has panicked. It passes through
// all continuations around that as it is.
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

// misuse is the panic of an operation that must not be called now.
func (p *Prompt) misuse(operation string, err error) {
	panic(fmt.Errorf("continuation: %s %q: %w", operation, p.name, err))
}
