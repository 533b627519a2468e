package vsync_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/vsync"
	"github.com/vtscope/vtscope/runtime/vthread"
)

// As of sync.WaitGroup, also used again.
func TestALatchOpensWhenAllAreDone(t *testing.T) {
	var l vsync.Latch
	l.Wait() // it is open
	for range 8 {
		const n = 16
		l.Add(n)
		done := 0
		var mu vsync.Mutex
		var joins []func()
		for i := range n {
			joins = append(joins, kinds[i%2].start(func() {
				l.Wait()
				if mu.Lock(); done != n {
					t.Errorf("it is open after %d of %d", done, n)
				}
				mu.Unlock()
			}))
		}
		awaitWaiting(t, &l, n)
		for i := range n {
			kinds[i%2].start(func() { mu.Lock(); done++; mu.Unlock(); l.Done() })()
		}
		for _, join := range joins {
			join()
		}
		if l.Count() != 0 {
			t.Errorf("the count is %d, want 0", l.Count())
		}
	}
}

func TestAWaitForALatchIsGivenUp(t *testing.T) {
	l := vsync.NewLatch(1)
	fromBoth(t, func(t *testing.T) {
		for _, d := range []time.Duration{-1, 0, short} {
			if err := l.WaitFor(d); err != vsync.ErrTimeout {
				t.Errorf("got %v, want %v", err, vsync.ErrTimeout)
			}
		}
		no := errors.New("no")
		ctx, cancel := context.WithCancelCause(context.Background())
		timer := time.AfterFunc(short, func() { cancel(no) })
		defer timer.Stop()
		for range 2 {
			if err := l.WaitContext(ctx); err != no {
				t.Errorf("got %v, want %v", err, no)
			}
		}
	})
	th := vthread.Start(func() {
		for _, before := range []bool{false, true} {
			if before {
				vthread.Current().Interrupt()
			}
			if err := l.WaitInterruptibly(); err != vsync.ErrInterrupted || vthread.Interrupted() {
				t.Errorf("got %v, and interrupted %v; want %v, cleared", err, vthread.Interrupted(), vsync.ErrInterrupted)
			}
		}
	})
	awaitState(t, th, flight.StateWaiting)
	th.Interrupt()
	th.Join()
	awaitWaiting(t, l, 0)
	l.Done()
	if err := l.WaitFor(0); err != nil {
		t.Errorf("got %v, and it is open", err)
	}
}

func TestANegativeCountPanics(t *testing.T) {
	fromBoth(t, func(t *testing.T) {
		l := vsync.NewLatch(1)
		for _, f := range []func(){func() { l.Add(-2) }, func() { l.Done(); l.Done() }, func() { vsync.NewLatch(-1) }} {
			if got := panics(f); got != "vsync: negative latch count" {
				t.Errorf("got %v", got)
			}
		}
		if l.Count() != 0 {
			t.Errorf("the count is %d, want 0", l.Count())
		}
	})
}

// W2: it is interrupted after it was chosen, and before it was woken.
func TestAnInterruptThatIsTooLateIsKept(t *testing.T) {
	l := vsync.NewLatch(1)
	th := vthread.Start(func() {
		if err := l.WaitInterruptibly(); err != nil || !vthread.Interrupted() {
			t.Errorf("got %v, and interrupted %v; want nil, true", err, vthread.Interrupted())
		}
	})
	awaitWaiting(t, l, 1)
	awaitState(t, th, flight.StateWaiting)
	wake := vsync.TakeFirst(l)
	th.Interrupt()
	until(t, "it has noticed", func() bool { return !th.IsInterrupted() })
	wake()
	th.Join()
}
