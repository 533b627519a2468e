package structured

import (
	"errors"
	"fmt"

	"github.com/vtscope/vtscope/runtime/internal/coro"
	"github.com/vtscope/vtscope/runtime/structured/internal/flock"
	"github.com/vtscope/vtscope/runtime/vthread"
)

// What a thread or goroutine has opened and not closed is nested: scopes, and calls with scoped values bound. Each knows the one around it, and the
// innermost is kept with the thread, or in a table of the goroutines that have one.
//
//	N1  Only the caller itself looks at what it has opened, and changes it.
//	N2  Whatever is closed or left takes all with it that was opened later. What was taken along knows.

// A caller is the calling thread or goroutine.
type caller struct {
	thread    *vthread.Thread // nil: a goroutine
	goroutine int64           // if thread is nil
}

func init() {
	vthread.ScopeOfGoroutine = func() *vthread.Scope { return goroutines.find(int64(coro.Goroutine())) }
}

func self() caller {
	if t := vthread.Current(); t != nil {
		return caller{thread: t}
	}
	return caller{goroutine: int64(coro.Goroutine())}
}

func (c caller) innermost() *vthread.Scope {
	if c.thread != nil {
		return c.thread.Innermost()
	}
	return goroutines.find(c.goroutine)
}

func (c caller) setInnermost(s *vthread.Scope) {
	if c.thread != nil {
		c.thread.SetInnermost(s)
		return
	}
	goroutines.set(c.goroutine, s)
}

// around is the innermost that c has opened, or else the scope that it was forked in; nil for the root scope.
func (c caller) around() *vthread.Scope {
	s := c.innermost()
	if s == nil && c.thread != nil {
		s = c.thread.Scope()
	}
	return s
}

// parentOf is what is around s, or nil.
func parentOf(s *vthread.Scope) *vthread.Scope {
	switch o := s.Owner.(type) {
	case *Scope:
		return o.flock.Parent
	case *binding:
		return o.outer
	case *flock.Flock:
		return o.Parent
	}
	return nil
}

// leave closes and unbinds what c has opened since outer, which may be nil, and has left. It returns what it was, and what the scopes had to say; a panic of one of
// their threads is a [*Panic] among them.
func (c caller) leave(outer *vthread.Scope) (left []error) {
	for {
		s := c.innermost()
		if s == nil || s == outer {
			return left
		}
		switch o := s.Owner.(type) {
		case *Scope:
			left = append(left, fmt.Errorf("%w: scope %q", ErrStructure, o.Name()))
			if err := o.closeCaught(); err != nil {
				left = append(left, err)
			}
		case *binding:
			left = append(left, fmt.Errorf("%w: a call with bound values", ErrStructure))
			o.gone = true
			c.setInnermost(o.before)
		default:
			panic(fmt.Sprintf("structured: the innermost scope of the caller is a %T", o))
		}
	}
}

// CloseLeft closes the scopes that the caller has opened and not closed, innermost first, and unbinds what it has bound. It returns what was left,
// [ErrStructure] for each, with what its Close returned; a panic that came out of Close is a [*Panic]. It returns nil if nothing was left. Forked threads do
// it when they end: their tasks fail with that.
func CloseLeft() []error { return self().leave(nil) }

// firstPanic splits errors in the first that is a panic, and the others.
func firstPanic(errs []error) (p *Panic, others error) {
	var rest []error
	for _, err := range errs {
		if q, ok := err.(*Panic); ok && p == nil {
			p = q
			continue
		}
		rest = append(rest, err)
	}
	return p, errors.Join(rest...)
}
