package continuation

import (
	"fmt"

	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/internal/coro"
)

// Pin begins a pin section of the caller: until the matching [Unpin] the innermost continuation that encloses it, and
// so those around it, cannot be suspended: [Suspend] returns a [*PinnedError]. A thread that parks inside a section holds its
// carrier. Sections may be nested; the last Unpin ends them all. A section belongs to the body that begins it: one that ends
// with open sections closes them, and a body nested in it has sections of its own.
//
// On a goroutine that no thread and no continuation executes on, Pin and Unpin do nothing.
func Pin() { coro.Pin(+1) }

// Unpin ends a pin section. It panics with [ErrNotPinned] if the calling body has none open.
func Unpin() {
	if coro.Pin(-1) < 0 {
		panic(fmt.Errorf("continuation: unpin: %w", ErrNotPinned))
	}
}

// Pinned reports whether a [Suspend] of the prompt would return a [*PinnedError] now: the caller, or one of the bodies around it
// up to the one that would be suspended, is in a pin section, or is locked to an OS thread otherwise than who runs the
// latter. It panics with [ErrNoPrompt] as Suspend does.
func Pinned(p *Prompt) bool {
	var c *Continuation
	if self := coro.Self(); self != nil {
		c = (*Continuation)(self.Inner)
	}
	pins := int32(0)
	for ; c != nil; c = c.parent {
		pins |= c.routine.Pins
		if c.prompt == p {
			return pins != 0 || !c.at.Fits()
		}
	}
	p.misuse("pinned", ErrNoPrompt)
	return false
}

// refusal is why Suspend does not suspend c, which is nil if there is none.
func refusal(p *Prompt, c *Continuation, pins int32, calls bool) error {
	switch {
	case c == nil:
		p.misuse("suspend", ErrNoPrompt)
	case calls:
		p.misuse("suspend", ErrSuspending)
	case c.closing:
		return fmt.Errorf("continuation: suspend %q: %w", p.name, ErrClosed)
	case !c.at.Fits():
		return &PinnedError{p, flight.ReasonPinnedOSThread}
	}
	return &PinnedError{p, flight.ReasonPinnedSection}
}
