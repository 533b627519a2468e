package vthread

import (
	"context"

	"github.com/vtscope/vtscope/runtime/sched"
)

// An environment is what a thread passes on to those that it makes. It is never changed, so all of them share it, and those
// whose maker has nothing to pass on have none.
type environment struct {
	context context.Context // values, without cancellation
	labels  *sched.Labels   // without those of scope and name
}

// passedOn is the environment of the threads that t makes.
func (t *Thread) passedOn() *environment {
	r := t.rare.Load()
	if r != nil {
		if e := r.children.Load(); e != nil {
			return e
		}
	}
	own := r != nil && (r.parent != nil || r.labels != nil)
	scoped := t.scope != nil && t.scope.Context != nil
	switch {
	case !own && !scoped:
		return t.env
	case !own && t.env == nil:
		e := t.scope.children.Load()
		if e == nil {
			e = t.makeEnvironment()
			t.scope.children.Store(e)
		}
		return e
	}
	e := t.makeEnvironment()
	t.uncommon().children.Store(e)
	return e
}

func (t *Thread) makeEnvironment() *environment {
	e := &environment{}
	if t.env != nil {
		*e = *t.env
	}
	if base, inherited := t.baseContext(); base != nil && !inherited {
		e.context = context.WithoutCancel(base)
	}
	if r := t.rare.Load(); r != nil && r.labels != nil {
		e.labels = &sched.Labels{Context: withLabels(e.labels.Base(), r.labels)}
	}
	return e
}

// baseContext returns the parent of t's context, nil for none, and whether it is t's maker's, without cancellation.
func (t *Thread) baseContext() (base context.Context, inherited bool) {
	if r := t.rare.Load(); r != nil && r.parent != nil {
		return r.parent, false
	}
	if t.scope != nil && t.scope.Context != nil {
		return t.scope.Context, false
	}
	if t.env != nil {
		return t.env.context, true
	}
	return nil, false
}

// Context returns the thread's context: it ends with the thread, and when the thread is interrupted, with [ErrInterrupted] for its
// cause. Once the interrupt status is cleared, Context returns a new one. Its values are those of [Builder.Context].
// Anybody may call it. A thread that nobody asks for its context pays nothing for it.
func (t *Thread) Context() context.Context {
	r := t.uncommon()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.mu.context != nil && (context.Cause(r.mu.context) != ErrInterrupted || t.task.Interrupted()) {
		return r.mu.context
	}
	base, _ := t.baseContext()
	if base == nil {
		base = context.Background()
	}
	r.mu.context, r.mu.cancel = context.WithCancelCause(base)
	switch {
	case t.task.Done():
		r.mu.cancel(nil)
	case t.task.Interrupted():
		r.mu.cancel(ErrInterrupted)
	}
	return r.mu.context
}

// interruptContext ends the context, if there is one and the interrupt status is still set.
func (t *Thread) interruptContext() {
	r := t.rare.Load()
	if r == nil {
		return // Context looks at the status after it has made rare
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.mu.cancel != nil && t.task.Interrupted() {
		r.mu.cancel(ErrInterrupted)
	}
}

// endContext ends the context of a thread that is done.
func (t *Thread) endContext() {
	r := t.rare.Load()
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.mu.cancel != nil {
		r.mu.cancel(nil)
	}
}
