package durable

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"

	"github.com/vtscope/vtscope/runtime/vsync"
)

// A Generator is a sequence of values that a durable thread yields. Unlike those of package continuation, whose stack is one goroutine's, it can be cloned between two values, and
// parked to bytes: the body is replayed up to the value where it stood. Its methods may be called from any goroutine, one after the other.
type Generator[T any] struct {
	t     *Thread
	mu    vsync.Mutex
	had   int  // number of the value that Next has returned; 0: none yet
	asked bool // the value behind it was asked for
}

// An outlet is where a generator's thread puts its values.
type outlet struct {
	mu struct {
		vsync.Mutex
		n     int // values so far
		value any // the last one
		over  bool
		gone  bool // the thread goes on elsewhere, and yields there what nobody has taken here
		err   error
		more  *vsync.Cond // of any change
	}
}

// nextValue is the signal that lets the body go on behind a yield.
const nextValue = "next value"

// RegisterGenerator adds a body that yields values: yield returns when the next one is asked for. Whatever else the body does goes through the steps of this package, as
// in each other body. The errors are those of [Register].
func RegisterGenerator[A, T any](r *Registry, name string, f func(t *Thread, args A, yield func(T)) error) error {
	if f == nil {
		return fmt.Errorf("durable: register %q: want a function", name)
	}
	return Register(r, name, func(t *Thread, args A) (int, error) {
		o, n := t.outlet(), 0
		err := f(t, args, func(v T) {
			n++
			if t.offers() {
				o.put(n, v)
			}
			Await[json.RawMessage](t, nextValue)
		})
		return n, err
	})
}

// offers reports whether the value that the body yields is the one that nobody has had: the next step is not recorded, and nobody asks for the value behind it.
func (t *Thread) offers() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	j := &t.mu.journal
	return !t.leaving && (j.at == len(j.steps) || j.steps[j.at].Open) && len(t.mu.inbox[nextValue]) == 0
}

func (t *Thread) outlet() *outlet {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.mu.outlet == nil {
		t.mu.outlet = &outlet{}
		t.mu.outlet.mu.more = vsync.NewCond(&t.mu.outlet.mu.Mutex)
		if t.ended.Future.Done() { // before somebody asked for a value
			t.mu.outlet.end(t.endedLocked(), t.mu.state != Done)
		}
	}
	return t.mu.outlet
}

// endedLocked is why a thread that does not go on here has no more values; nil if its body has returned.
func (t *Thread) endedLocked() error {
	switch t.mu.state {
	case Moved:
		return t.goneLocked()
	case Away:
		return ErrFenced
	}
	return t.mu.err
}

func (o *outlet) isOver() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.mu.over
}

// put offers value n, which a replay does again.
func (o *outlet) put(n int, v any) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if n > o.mu.n {
		o.mu.n, o.mu.value = n, v
		o.mu.more.Broadcast()
	}
}

func (o *outlet) end(err error, gone bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.mu.over, o.mu.gone, o.mu.err = true, gone, err
	o.mu.more.Broadcast()
}

// Values returns the values of a thread whose body [RegisterGenerator] has added: of one that was started, of one that goes on from its bytes, or of one that a keeper has
// found in its store, which yields the value again that was the last when the process died. The body executes up to the first value at once, and up to each other one when that
// is asked for. A thread has one generator, which is where the thread is: in a [Shared] store it is given back when it hibernates, and who has it next asks for Values there.
func Values[T any](t *Thread) *Generator[T] { return &Generator[T]{t: t} }

// Thread returns the thread that yields the values.
func (g *Generator[T]) Thread() *Thread { return g.t }

// Next waits for the next value. ok is false when there is none any more: then err is that of the body, or why there are none here, such as [ErrMoved], or [ErrFenced] if
// another keeper has the thread. A thread that waits in it can be interrupted; that loses no value.
func (g *Generator[T]) Next() (v T, ok bool, err error) { return g.NextContext(context.Background()) }

// NextContext is [Generator.Next], and gives up with ctx's cause when ctx ends first. The body goes on: the value that it yields is the one of the next call.
func (g *Generator[T]) NextContext(ctx context.Context) (v T, ok bool, err error) {
	if err := lock(ctx, &g.mu); err != nil {
		return v, false, err
	}
	defer g.mu.Unlock()
	o := g.t.outlet()
	if !o.isOver() {
		if err := g.ask(ctx); err != nil && !errors.Is(err, ErrDone) && !errors.Is(err, ErrMoved) {
			return v, false, err
		}
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	for o.mu.gone || o.mu.n <= g.had {
		if o.mu.over {
			return v, false, o.mu.err
		}
		if err := o.mu.more.WaitContext(ctx); err != nil {
			return v, false, err
		}
	}
	g.had, g.asked = o.mu.n, false
	v, ok = o.mu.value.(T)
	if !ok {
		err = fmt.Errorf("durable: generator %s yields %T, and was asked for %T", g.t.body.name, o.mu.value, v)
	}
	return v, ok, err
}

// ask lets the body go on behind the value that Next has returned, once.
func (g *Generator[T]) ask(ctx context.Context) error {
	if g.had == 0 || g.asked {
		return nil
	}
	e, err := signal(g.t.id, nextValue, nil)
	if err == nil {
		err = g.t.tellIt(ctx, e)
	}
	g.asked = err == nil
	return err
}

// All returns the values that are left, and at the end an error if there is one. Leaving the loop leaves the rest for later.
func (g *Generator[T]) All() iter.Seq2[T, error] {
	return func(loop func(T, error) bool) {
		for {
			v, ok, err := g.Next()
			if !ok && err == nil || !loop(v, err) || err != nil {
				return
			}
		}
	}
}

// Clone returns a generator that goes on from where this one stands: both have the same values so far, and each goes on by itself. The errors are those of [Thread.Clone].
func (g *Generator[T]) Clone() (*Generator[T], error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	t, err := g.t.Clone()
	if err != nil {
		return nil, err
	}
	return &Generator[T]{t: t, had: g.had, asked: g.asked}, nil
}

// ParkAndSerialize is [Thread.ParkAndSerialize]: where the thread goes on, [Values] goes on behind the last value that Next has returned.
func (g *Generator[T]) ParkAndSerialize() ([]byte, error) {
	return g.ParkAndSerializeContext(context.Background())
}

// ParkAndSerializeContext is [Thread.ParkAndSerializeContext] likewise. If it gives up, Next goes on as if it had not been called.
func (g *Generator[T]) ParkAndSerializeContext(ctx context.Context) ([]byte, error) {
	if err := lock(ctx, &g.mu); err != nil {
		return nil, err
	}
	defer g.mu.Unlock()
	if err := g.ask(ctx); err != nil { // the value where it stands was taken
		return nil, err
	}
	return g.t.ParkAndSerializeContext(ctx)
}
