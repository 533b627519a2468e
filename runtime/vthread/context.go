package vthread

import (
	"context"
	"sync/atomic"
	"time"
)

// A threadContext is what [Thread.Context] returns. Most are asked only for values and whether they have
// ended, so one is not registered with its parent before somebody waits for its end.
//
//	X1  While own is nil, it has ended if its parent has.
//	X2  own is over if the thread has ended, and the parent had not.
//	X3  Else own is a child of the parent's, and answers for it. Package context sees through to own, which
//	    has the same Done.
type threadContext struct {
	parent context.Context
	own    atomic.Pointer[ownContext]
}

type ownContext struct {
	context.Context
	cancel context.CancelCauseFunc
}

// over stands for an own context that was cancelled, and is not made before anybody needs it.
var over = new(ownContext)

func (c *threadContext) Deadline() (time.Time, bool) { return c.parent.Deadline() }

func (c *threadContext) Done() <-chan struct{} { return c.made().Done() }

func (c *threadContext) Err() error {
	switch own := c.own.Load(); own {
	case nil:
		return c.parent.Err()
	case over:
		return context.Canceled
	default:
		return own.Err()
	}
}

func (c *threadContext) Value(key any) any {
	if c.own.Load() == nil {
		return c.parent.Value(key)
	}
	return c.made().Value(key) // package context asks for the cause so
}

// made returns the own context, and makes it if there is none.
func (c *threadContext) made() *ownContext {
	if own := c.own.Load(); own != nil && own != over {
		return own
	}
	return c.make()
}

func (c *threadContext) make() *ownContext {
	own := new(ownContext)
	for {
		was := c.own.Load()
		switch was {
		case nil:
			own.Context, own.cancel = context.WithCancelCause(c.parent)
		case over:
			own.Context, own.cancel = context.WithCancelCause(context.WithoutCancel(c.parent)) // it may have ended since
			own.cancel(nil)
		default:
			return was
		}
		if c.own.CompareAndSwap(was, own) {
			return own
		}
		own.cancel(nil)
	}
}

// interrupt ends the context, with [ErrInterrupted] for its cause.
func (c *threadContext) interrupt() { c.made().cancel(ErrInterrupted) }

// interrupted reports whether [threadContext.interrupt] has ended it.
func (c *threadContext) interrupted() bool {
	own := c.own.Load()
	return own != nil && own != over && context.Cause(own) == ErrInterrupted
}

// end ends the context with its thread.
func (c *threadContext) end() {
	if c.own.Load() == nil && (c.parent.Err() != nil || c.own.CompareAndSwap(nil, over)) {
		return
	}
	if own := c.own.Load(); own != over {
		own.cancel(nil)
	}
}

// Context returns the thread's context: it ends with the thread, and when the thread is interrupted, with [ErrInterrupted] for its
// cause. Once the interrupt status is cleared, Context returns a new one. Its values are those of [Builder.Context].
// Anybody may call it. A thread that nobody asks for its context pays nothing for it.
func (t *Thread) Context() context.Context {
	r := t.uncommon()
	r.mu.Lock()
	defer r.mu.Unlock()
	if c := r.mu.context; c != nil && (!c.interrupted() || t.task.WasInterrupted()) {
		return c
	}
	base, _ := t.baseContext()
	if base == nil {
		base = context.Background()
	}
	c := &threadContext{parent: base}
	r.mu.context = c
	switch {
	case t.task.Done():
		c.end()
	case t.task.WasInterrupted():
		c.interrupt()
	}
	return c
}

// interruptContext ends the context, if there is one and the interrupt status is still set.
func (t *Thread) interruptContext() {
	r := t.rare.Load()
	if r == nil {
		return // Context looks at the status after it has made rare
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.mu.context != nil && t.task.WasInterrupted() {
		r.mu.context.interrupt()
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
	if r.mu.context != nil {
		r.mu.context.end()
	}
	if r.mu.unheed != nil {
		r.mu.unheed()
	}
}

// Heed sees that the thread is interrupted when its parent context ends ([Builder.InterruptOnDone]).
func (b *body) Heed() {
	t := (*Thread)(b)
	r := t.rare.Load()
	switch {
	case r.parent.Done() == nil:
		return
	case r.parent.Err() != nil:
		_ = t.Interrupt()
		return
	}
	stop := context.AfterFunc(r.parent, func() { _ = t.Interrupt() })
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.mu.unheed = stop; t.task.Done() {
		stop()
	}
}
