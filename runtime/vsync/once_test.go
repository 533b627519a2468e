package vsync_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/vsync"
	"github.com/vtscope/vtscope/runtime/vthread"
)

func TestOnceCallsOneFunctionAndAllWaitForIt(t *testing.T) {
	amongBoth(t, func(t *testing.T, a, b kind) {
		var o vsync.Once
		var n atomic.Int32
		in, out := make(chan struct{}), make(chan struct{})
		caller := a.start(func() {
			o.Do(func() { close(in); vthread.Recv(out); n.Add(1) })
		})
		<-in
		var joins []func()
		for range 4 {
			joins = append(joins, b.start(func() {
				o.Do(func() { n.Add(100) })
				if n.Load() != 1 || !o.Done() {
					t.Errorf("Do returns after %d calls, done %v", n.Load(), o.Done())
				}
			}))
		}
		awaitWaiting(t, &o, 4)
		if o.Done() {
			t.Error("it is done before the end of the call")
		}
		close(out)
		caller()
		for _, join := range joins {
			join()
		}
	})
}

// As of sync.Once.
func TestAPanicCountsAsTheCall(t *testing.T) {
	fromBoth(t, func(t *testing.T) {
		var o vsync.Once
		if got := panics(func() { o.Do(func() { panic("no") }) }); got != "no" {
			t.Errorf("got %v", got)
		}
		o.Do(func() { t.Error("it is called again") })
	})
}

func TestAWaitForTheCallIsGivenUp(t *testing.T) {
	var o vsync.Once
	in, out := make(chan struct{}), make(chan struct{})
	caller := goroutine.start(func() { o.Do(func() { close(in); <-out }) })
	<-in
	never := func() { t.Error("it is called") }
	fromBoth(t, func(t *testing.T) {
		if err := o.DoFor(short, never); err != vsync.ErrTimeout {
			t.Errorf("got %v, want %v", err, vsync.ErrTimeout)
		}
		ctx, cancel := context.WithTimeout(context.Background(), short)
		defer cancel()
		if err := o.DoContext(ctx, never); err != context.DeadlineExceeded {
			t.Errorf("got %v, want %v", err, context.DeadlineExceeded)
		}
	})
	th := vthread.Start(func() {
		if err := o.DoInterruptibly(never); err != vsync.ErrInterrupted || vthread.Interrupted() {
			t.Errorf("got %v, and interrupted %v; want %v, cleared", err, vthread.Interrupted(), vsync.ErrInterrupted)
		}
	})
	awaitState(t, th, flight.StateWaiting)
	th.Interrupt()
	th.Join()
	close(out)
	caller()
	if err := o.DoFor(time.Hour, never); err != nil {
		t.Errorf("got %v after the call", err)
	}
}
