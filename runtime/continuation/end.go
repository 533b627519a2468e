package continuation

import (
	"fmt"
	"runtime"
	"sync/atomic"

	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/internal/coro"
	"github.com/vtscope/vtscope/runtime/internal/panicstack"
)

// An end is how a body has ended, if it has not returned.
//
//	N1  A runtime.Goexit cannot be stopped: it is what unwinds a body that is closed, or that an Invoke leaves. Nothing else could pass
//	    through a recover of the user's.
//	N2  It goes on in the goroutine of who runs the body, after that of the body has ended: as if they were one stack.
//	N3  A panic of a deferred function during a Goexit does not stop it either: it goes on beside it, and whoever
//	    recovers it does not stop the Goexit.
type end struct {
	goexit bool
	panic  *Panic
	unwind unwind
}

// An unwind is where the Goexit that is under way in a body leads to. Nowhere: beyond all continuations.
type unwind struct {
	to   *Continuation // a Reset's
	call func()        // to execute there
}

// main is the life of the goroutine. When it returns, who ran the continuation goes on: it is in the goroutine's home,
// since continuations are resumed and suspended through the slot they began in.
func (c *Continuation) main(r *coro.Routine) {
	leaving := true
	defer func() {
		r.Unpin()
		c.at.Refit()
		c.end.goexit = leaving
		c.trace = trace{}
		c.state.Store(ended)
		if leaving { // even if a deferred function of the body has panicked since
			r.Exit()
		}
	}()
	c.trace.begin()
	for c.run() {
		r.Unpin()
		c.at.Refit()
	}
	leaving = false
}

// run executes the body, and returns whether there is another one to execute, by Invoke's fast form. It does not return after a Goexit.
func (c *Continuation) run() (again bool) {
	returned := false
	defer func() {
		if returned {
			return
		}
		v := recover()
		if v == nil {
			return
		}
		if _, ours := v.(jump); ours {
			again = c.again()
			return
		}
		p, ours := v.(*Panic)
		if !ours || p == nil {
			p = &Panic{Value: v, Stack: panicstack.Of()}
		}
		c.end.panic = p
	}()
	c.begin()
	returned = true
	return false
}

// endStacks says that recorded stacks have been told where continuations begin.
var endStacks atomic.Bool

//go:noinline
func (c *Continuation) begin() {
	if !endStacks.Load() && endStacks.CompareAndSwap(false, true) {
		flight.EndStacks(1)
	}
	body := c.body
	c.body = nil
	body()
}

// leave ends the body that executes on the calling goroutine (N1).
func leave() { runtime.Goexit() }

// deliver passes the end of c on to who has run it (N2), and returns if the body has returned.
func (c *Continuation) deliver() {
	e := c.end
	c.end = end{}
	c.routine = nil
	if !e.goexit {
		if e.panic != nil {
			panic(e.panic)
		}
		return
	}
	if u := e.unwind; u.to != nil && !u.to.closing {
		if !c.within(u.to) {
			panic(fmt.Errorf("continuation: run %q, which was unwinding: %w", c.prompt.name, ErrNoReset))
		}
		c.parent.end.unwind = u
	}
	if e.panic != nil {
		defer panic(e.panic) // N3
	}
	leave()
}

// within reports whether outer encloses c.
func (c *Continuation) within(outer *Continuation) bool {
	for c != nil && c != outer {
		c = c.parent
	}
	return c != nil
}
