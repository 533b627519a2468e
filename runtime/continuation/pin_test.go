package continuation_test

import (
	"errors"
	"runtime"
	"testing"

	"github.com/vtscope/vtscope/runtime/continuation"
	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/internal/coro"
)

// refused reports an error if a suspend of the prompt is not refused for the reason.
func refused(t *testing.T, p *continuation.Prompt, c *continuation.Continuation, want flight.Reason) {
	t.Helper()
	got, err := continuation.Suspend(p, func(*continuation.Continuation) { t.Error("f was called") })
	var pinned *continuation.PinnedError
	if got != c || !errors.Is(err, continuation.ErrPinned) || !errors.As(err, &pinned) || pinned.Reason != want || pinned.Prompt != p {
		t.Errorf("got %v, %v, want to be pinned by %v", got == c, err, want)
	}
	if !continuation.Pinned(p) {
		t.Error("Pinned returns false")
	}
}

// CT-12, CT-14, CT-15: a suspend in a pin section does nothing and tells so, until the outermost Unpin.
func TestSuspendInAPinSectionIsRefusedWithItsReason(t *testing.T) {
	everywhere(t, func(t *testing.T) {
		p := continuation.NewPrompt("p")
		var c *continuation.Continuation
		after := false
		c = continuation.New(p, func() {
			if continuation.Pinned(p) {
				t.Error("pinned at the beginning")
			}
			continuation.Pin()
			refused(t, p, c, flight.ReasonPinnedSection)
			continuation.Pin()
			refused(t, p, c, flight.ReasonPinnedSection)
			continuation.Unpin()
			refused(t, p, c, flight.ReasonPinnedSection)
			continuation.Unpin()
			if continuation.Pinned(p) {
				t.Error("pinned after the last Unpin")
			}
			suspend(t, p)
			after = true
			panics(t, continuation.ErrNotPinned, continuation.Unpin)
			suspend(t, p)
		})
		if c.Run() || after {
			t.Error("the first run did not stop at the first suspend outside of sections")
		}
		c.Run()
		if !c.Run() {
			t.Error("not ended")
		}
	})
}

func TestASectionPinsAllContinuationsAroundItAndNoneInIt(t *testing.T) {
	everywhere(t, func(t *testing.T) {
		a, b, c := continuation.NewPrompt("a"), continuation.NewPrompt("b"), continuation.NewPrompt("c")
		var A, B *continuation.Continuation
		A = continuation.New(a, func() {
			B = continuation.New(b, func() {
				continuation.Pin()
				C := continuation.New(c, func() {
					suspend(t, c)
					refused(t, b, B, flight.ReasonPinnedSection)
					refused(t, a, A, flight.ReasonPinnedSection)
					panics(t, continuation.ErrNotPinned, continuation.Unpin) // it is B's
					continuation.Reset(c, func() int {
						panics(t, continuation.ErrNotPinned, continuation.Unpin)
						refused(t, a, A, flight.ReasonPinnedSection)
						return 0
					})
				})
				C.Run()
				C.Run()
				continuation.Unpin()
				suspend(t, a)
			})
			B.Run()
			continuation.Pin()
			B = continuation.New(b, func() {
				suspend(t, b) // the section is around it
				refused(t, a, A, flight.ReasonPinnedSection)
			})
			B.Run()
			B.Run()
			continuation.Unpin()
		})
		if A.Run() {
			t.Error("ended in the first run")
		}
		if !A.Run() {
			t.Error("not ended in the second run")
		}
	})
}

func TestABodyThatEndsInASectionClosesIt(t *testing.T) {
	everywhere(t, func(t *testing.T) {
		p, q := continuation.NewPrompt("p"), continuation.NewPrompt("q")
		for name, end := range map[string]func(){
			"return": func() {},
			"panic":  func() { panic(errBoom) },
			"invoke": func() { continuation.Invoke(q, func(int) int { return 0 }, 0) },
		} {
			c := continuation.New(p, func() {
				continuation.Reset(q, func() int {
					func() {
						defer func() { recover() }()
						continuation.New(q, func() {
							continuation.Pin()
							continuation.Pin()
							end()
						}).Run()
					}()
					return 0
				})
				if continuation.Pinned(p) {
					t.Errorf("%s: still pinned", name)
				}
				suspend(t, p)
			})
			c.Run()
			c.Run()
		}
		// What is invoked on the same goroutine begins without sections, too.
		c := continuation.New(p, func() {
			continuation.Reset(q, func() int {
				continuation.Pin()
				return continuation.Invoke(q, func(int) int { suspend(t, p); return 0 }, 0)
			})
		})
		c.Run()
		c.Run()
	})
}

func TestPinDoesNothingWhereNothingCanBeSuspended(t *testing.T) {
	elsewhere(func() {
		continuation.Unpin()
		continuation.Pin()
		continuation.Unpin()
		continuation.Unpin()
	})
}

// Trap 1: a switch on a locked OS thread would end the process.
// CT-13: code that is bound to its OS thread, as native frames are, cannot be suspended and simply goes on.
func TestSuspendOnALockedOSThreadIsRefused(t *testing.T) {
	if !coro.Binds {
		t.Skip("this form of slots is not bound to OS threads")
	}
	everywhere(t, func(t *testing.T) {
		p := continuation.NewPrompt("p")
		var c *continuation.Continuation
		c = continuation.New(p, func() {
			runtime.LockOSThread()
			refused(t, p, c, flight.ReasonPinnedOSThread)
			continuation.Pin()
			refused(t, p, c, flight.ReasonPinnedOSThread)
			runtime.UnlockOSThread()
			refused(t, p, c, flight.ReasonPinnedSection)
			continuation.Unpin()
			suspend(t, p)
		})
		if c.Run() {
			t.Error("ended in the first run")
		}
		if !c.Run() {
			t.Error("not ended in the second run")
		}
	})
}
