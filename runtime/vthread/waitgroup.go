package vthread

import (
	"context"

	"github.com/vtscope/vtscope/runtime/vsync"
)

// A WaitGroup waits for threads and others to be done, as a sync.WaitGroup does: who waits for it parks. A zero one is ready to be used, and
// it may not be copied after its first use. Where threads should end before a call returns, or the first error should cancel the others, a
// scope of package structured does that.
type WaitGroup struct{ latch vsync.Latch }

// SetName gives g a name, which dumps show with the place where that was done. It must be called before anybody uses g.
func (g *WaitGroup) SetName(name string) { g.latch.SetName(name) }

// Add adds n, which may be negative, to the count of what is waited for. When that becomes 0, all go on that wait. It does not block. It
// panics, and does nothing, if the count would become negative.
func (g *WaitGroup) Add(n int) { g.latch.Add(n) }

// Done is Add(-1).
func (g *WaitGroup) Done() { g.latch.Done() }

// Go starts a thread that calls f, and counts it until f has ended, as sync.WaitGroup.Go does with a goroutine. It does not block. A panic in f
// ends the program.
func (g *WaitGroup) Go(f func()) *Thread {
	g.Add(1)
	return Start(func() {
		defer g.Done()
		f()
	})
}

// Wait waits until the count is 0. A thread parks, a goroutine blocks; interrupts play no part.
func (g *WaitGroup) Wait() { g.latch.Wait() }

// WaitContext is [WaitGroup.Wait] that also returns when ctx ends, or had ended before, with its cause. If the calling thread is interrupted
// while it waits, or was before, it clears the interrupt status and returns [ErrInterrupted].
func (g *WaitGroup) WaitContext(ctx context.Context) error { return g.latch.WaitContext(ctx) }
