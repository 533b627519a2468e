package vthread

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/vtscope/vtscope/runtime/sched"
)

// An environment is what a thread passes on to those that it makes. It is never changed, so all of them share it, and those
// whose maker has nothing to pass on have none. Only the mode of locals makes a difference between them ([environment.in]).
type environment struct {
	context  context.Context   // values, without cancellation
	labels   *sched.Labels     // without those of scope and name
	told     map[string]string // the same, for the flight file; nil: none
	locals   bindings          // inheritable ones
	noLocals bool              // only of a thread that was built with [NoLocals]; it passes on what bare returns

	kept struct{ bare, without atomic.Pointer[environment] } // cached
}

// nothing is what a thread that may have no locals has from a maker that passes nothing on.
var nothing = &environment{noLocals: true}

// in is what a thread that is built with a mode has from a maker that passes on e.
func (e *environment) in(m LocalsMode) *environment {
	switch m {
	case InheritLocals:
		return e
	case OwnLocals:
		return e.bare()
	case NoLocals:
		return e.bare().without()
	}
	panic(fmt.Sprintf("vthread: there is no mode of locals %d", m))
}

func (e *environment) forbids() bool { return e != nil && e.noLocals }

// bare is e without locals, and without a word on them.
func (e *environment) bare() *environment {
	switch {
	case e == nil || e.locals == nil && !e.noLocals:
		return e
	case e.context == nil && e.labels == nil:
		return nil
	}
	b := e.kept.bare.Load()
	if b == nil {
		b = &environment{context: e.context, labels: e.labels, told: e.told}
		e.kept.bare.Store(b)
	}
	return b
}

// without is e, which has no locals, with a word that forbids them.
func (e *environment) without() *environment {
	if e == nil {
		return nothing
	}
	w := e.kept.without.Load()
	if w == nil {
		w = &environment{context: e.context, labels: e.labels, told: e.told, noLocals: true}
		w.kept.bare.Store(e)
		e.kept.without.Store(w)
	}
	return w
}

// passedOn is the environment of the threads that t makes.
func (t *Thread) passedOn() *environment {
	r := t.rare.Load()
	if r != nil {
		if e := r.children.Load(); e != nil {
			return e
		}
	}
	inherited := t.env.Load()
	if inherited.forbids() {
		inherited = inherited.bare()
	}
	own := r != nil && (r.parent != nil || r.labels != nil || r.locals.passesOn())
	scoped := t.scope != nil && t.scope.Context != nil
	switch {
	case !own && !scoped:
		return inherited
	case !own && inherited == nil:
		e := t.scope.children.Load()
		if e == nil {
			e = t.makeEnvironment(nil)
			t.scope.children.Store(e)
		}
		return e
	}
	e := t.makeEnvironment(inherited)
	t.uncommon().children.Store(e)
	return e
}

func (t *Thread) makeEnvironment(inherited *environment) *environment {
	e := &environment{}
	if inherited != nil {
		e.context, e.labels, e.told, e.locals = inherited.context, inherited.labels, inherited.told, inherited.locals
	}
	if base, makers := t.baseContext(); base != nil && !makers {
		e.context = context.WithoutCancel(base)
	}
	if r := t.rare.Load(); r != nil {
		if r.labels != nil {
			e.labels = &sched.Labels{Context: withLabels(e.labels.Base(), r.labels)}
			e.told = mergedLabels(e.told, r.labels)
		}
		e.locals = e.locals.passedOn(r.locals)
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
	if e := t.env.Load(); e != nil {
		return e.context, true
	}
	return nil, false
}
