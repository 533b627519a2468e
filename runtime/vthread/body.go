package vthread

import (
	"sync/atomic"

	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/internal/panicstack"
	"github.com/vtscope/vtscope/runtime/sched"
)

// endStacks says that recorded stacks have been told where threads begin.
var endStacks atomic.Bool

// A body is a thread as its task sees it.
type body Thread

// Labels returns the profiler labels of the thread.
func (b *body) Labels() *sched.Labels { return (*Thread)(b).profilerLabels() }

//go:noinline
func (b *body) Run() {
	if !endStacks.Load() && endStacks.CompareAndSwap(false, true) {
		flight.EndStacks(0)
	}
	f := b.f
	b.f = nil
	f()
}

func (b *body) Handles(value any) bool {
	t := (*Thread)(b)
	handle := t.panicHandler()
	if handle == nil {
		return false
	}
	handle(t, value, panicstack.Of())
	return true
}

// panicHandler is what handles a panic of t, or nil.
func (t *Thread) panicHandler() func(*Thread, any, []byte) {
	if r := t.rare.Load(); r != nil && r.onPanic != nil {
		return r.onPanic
	}
	if t.scope != nil && !t.guest {
		return t.scope.Panicked
	}
	return nil
}

// End lets those go on who wait for the thread.
func (b *body) End(how flight.Reason, _ any) {
	t := (*Thread)(b)
	if t.scope != nil && !t.guest {
		t.scope.Ended(t, how)
	}
	t.untellLabels()
	t.endContext()
	t.dropLocals()
	wake(t.joiners.Swap(ended))
}

// Attach keeps what the scheduler wants to find again.
func (b *body) Attach(v any) {
	r := (*Thread)(b).uncommon()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.mu.attachment = v
}

// Attachment returns what Attach has kept.
func (b *body) Attachment() any {
	r := (*Thread)(b).rare.Load()
	if r == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.mu.attachment
}

func (b *body) String() string { return (*Thread)(b).Label() }
