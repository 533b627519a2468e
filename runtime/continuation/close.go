package continuation

import "github.com/vtscope/vtscope/runtime/internal/coro"

// Close ends a continuation that is suspended, as runtime.Goexit ends a goroutine: the deferred functions of its body run, first those of
// the innermost continuation that was suspended with it, and recover does not stop it. Close returns when all have run, and the goroutines are
// gone. A new continuation will never run; one that has ended is left alone.
//
// The deferred functions may park the thread, and may run other continuations. Suspend of what is being closed returns [ErrClosed] there. A
// panic of theirs comes out of Close as a [*Panic], after all have run.
//
// Close may be called within any continuation, or none. It panics with [ErrRunning] and, as [Continuation.Run], with [ErrOSThread].
func (c *Continuation) Close() {
	switch c.state.Load() {
	case ended:
		return
	case created:
		if c.state.CompareAndSwap(created, ended) {
			c.body = nil
			return
		}
	case suspended:
		if !c.at.Fits() {
			c.prompt.misuse("close", ErrOSThread)
		}
	}
	if !c.state.CompareAndSwap(suspended, running) {
		c.prompt.misuse("close", ErrRunning)
	}
	for i := c.inner; ; i = i.parent {
		i.closing = true
		if i == c {
			break
		}
	}
	self := coro.Self()
	var parent *Continuation
	if self != nil {
		parent = (*Continuation)(self.Inner)
	}
	closing := parent != nil && parent.closing
	c.enter(self, parent)
	// The Goexit ends here, unless a deferred function has invoked beyond, or has suspended us and we are being closed, too.
	u := c.end.unwind
	c.end.goexit = u.to != nil && !u.to.closing || parent != nil && parent.closing && !closing
	c.deliver()
}
