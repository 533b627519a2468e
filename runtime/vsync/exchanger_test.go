package vsync_test

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/vsync"
	"github.com/vtscope/vtscope/runtime/vthread"
)

func TestTwoExchangeTheirValues(t *testing.T) {
	amongBoth(t, func(t *testing.T, a, b kind) {
		var x vsync.Exchanger[string]
		for range 100 {
			join := a.start(func() {
				if got := x.Exchange("a"); got != "b" {
					t.Errorf("got %q, want b", got)
				}
			})
			b.start(func() {
				if got := x.Exchange("b"); got != "a" {
					t.Errorf("got %q, want a", got)
				}
			})()
			join()
		}
	})
}

// Each value reaches exactly one, though many give up.
func TestNoValueIsLostOrDoubled(t *testing.T) {
	var x vsync.Exchanger[int]
	const n = 8
	var given, got atomic.Int64
	var joins []func()
	for i := range n {
		joins = append(joins, kinds[i%2].start(func() {
			for round := range 200 {
				v := 1 + i*1000 + round
				if theirs, err := x.ExchangeFor(v, 30_000); err == nil {
					given.Add(int64(v))
					got.Add(int64(theirs))
				}
			}
		}))
	}
	for _, join := range joins {
		join()
	}
	if given.Load() != got.Load() {
		t.Errorf("values with the sum %d were given, %d got", given.Load(), got.Load())
	}
}

func TestAnExchangeIsGivenUp(t *testing.T) {
	var x vsync.Exchanger[int]
	fromBoth(t, func(t *testing.T) {
		if v, err := x.ExchangeFor(1, short); v != 0 || err != vsync.ErrTimeout {
			t.Errorf("got %d, %v, want %v", v, err, vsync.ErrTimeout)
		}
		ctx, cancel := context.WithTimeout(context.Background(), short)
		defer cancel()
		if _, err := x.ExchangeContext(ctx, 1); err != context.DeadlineExceeded {
			t.Errorf("got %v, want %v", err, context.DeadlineExceeded)
		}
	})
	th := vthread.Start(func() {
		if _, err := x.ExchangeInterruptibly(1); err != vsync.ErrInterrupted || vthread.Interrupted() {
			t.Errorf("got %v, and interrupted %v; want %v, cleared", err, vthread.Interrupted(), vsync.ErrInterrupted)
		}
	})
	awaitState(t, th, flight.StateWaiting)
	th.Interrupt()
	th.Join()
	awaitWaiting(t, &x, 0)
}

func TestNobodyExchangesWithARefusedThread(t *testing.T) {
	var x vsync.Exchanger[int]
	r := refusing()
	var got atomic.Int32
	lost := vthread.Builder{Scheduler: r}.Start(func() { got.Store(int32(x.Exchange(1))) })
	awaitState(t, lost, flight.StateWaiting)
	r.refuses.Store(true)
	first := goroutine.start(func() {
		if v := x.Exchange(2); v != 3 {
			t.Errorf("got %d, want 3", v)
		}
	})
	until(t, "it was refused", func() bool { return r.refused.Load() > 0 })
	awaitWaiting(t, &x, 1)
	if v := x.Exchange(3); v != 2 {
		t.Errorf("got %d, want 2", v)
	}
	first()
	r.refuses.Store(false)
	if err := lost.Interrupt(); err != nil {
		t.Fatal(err)
	}
	if v := x.Exchange(4); v != 1 {
		t.Errorf("got %d, want 1", v)
	}
	lost.Join()
	if got.Load() != 4 {
		t.Errorf("got %d, want 4", got.Load())
	}
}
