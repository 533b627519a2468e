package vsync_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/vtscope/vtscope/runtime/vsync"
	"github.com/vtscope/vtscope/runtime/vthread"
)

func TestPartiesOfABarrierGoOnTogether(t *testing.T) {
	const parties, rounds = 6, 50
	var actions atomic.Int32
	b := vsync.NewBarrier(parties, func() { actions.Add(1) })
	var came [rounds]atomic.Int32
	var joins []func()
	for i := range parties {
		joins = append(joins, kinds[i%2].start(func() {
			for round := range rounds {
				mine := int(came[round].Add(1)) - 1
				before, err := b.Wait()
				if err != nil || came[round].Load() != parties || int(actions.Load()) < round+1 || before < 0 || before >= parties {
					t.Errorf("round %d: got %d (%d), %v with %d there, after %d actions", round, before, mine, err, came[round].Load(), actions.Load())
				}
			}
		}))
	}
	for _, join := range joins {
		join()
	}
	if actions.Load() != rounds {
		t.Errorf("%d actions, want %d", actions.Load(), rounds)
	}
}

func TestABarrierTellsTheOrderOfArrival(t *testing.T) {
	b := vsync.NewBarrier(3, nil)
	var got [3]int
	var joins []func()
	for i := range 2 {
		joins = append(joins, kinds[i].start(func() { got[i], _ = b.Wait() }))
		awaitWaiting(t, b, i+1)
	}
	got[2], _ = b.Wait()
	for _, join := range joins {
		join()
	}
	if !slices.Equal(got[:], []int{0, 1, 2}) {
		t.Errorf("got %v", got)
	}
}

func TestABarrierBreaksWhenOneGivesUp(t *testing.T) {
	no := errors.New("no")
	ended, cancel := context.WithCancelCause(context.Background())
	cancel(no)
	for name, c := range map[string]struct {
		give func(b *vsync.Barrier) error
		want error
	}{
		"time":    {func(b *vsync.Barrier) error { _, err := b.WaitFor(short); return err }, vsync.ErrTimeout},
		"context": {func(b *vsync.Barrier) error { _, err := b.WaitContext(ended); return err }, no},
		"interrupt": {func(b *vsync.Barrier) error {
			vthread.Current().Interrupt()
			_, err := b.WaitInterruptibly()
			return err
		}, vsync.ErrInterrupted},
	} {
		t.Run(name, func(t *testing.T) {
			for _, k := range kinds {
				b := vsync.NewBarrier(3, func() { t.Error("the action is called") })
				waiter := k.start(func() {
					if _, err := b.Wait(); err != vsync.ErrBroken {
						t.Errorf("got %v, want %v", err, vsync.ErrBroken)
					}
				})
				awaitWaiting(t, b, 1)
				thread.start(func() {
					if err := c.give(b); err != c.want {
						t.Errorf("got %v, want %v", err, c.want)
					}
				})()
				waiter()
				if _, err := b.Wait(); err != vsync.ErrBroken || !b.Broken() {
					t.Errorf("got %v, want %v for who comes", err, vsync.ErrBroken)
				}
			}
		})
	}
}

func TestResetMakesABarrierWhole(t *testing.T) {
	b := vsync.NewBarrier(2, nil)
	first := goroutine.start(func() {
		if _, err := b.Wait(); err != vsync.ErrBroken {
			t.Errorf("got %v, want %v", err, vsync.ErrBroken)
		}
	})
	awaitWaiting(t, b, 1)
	b.Reset()
	first()
	if b.Broken() {
		t.Error("it is broken")
	}
	second := thread.start(func() {
		if _, err := b.Wait(); err != nil {
			t.Errorf("got %v", err)
		}
	})
	if _, err := b.Wait(); err != nil {
		t.Errorf("got %v", err)
	}
	second()
}

func TestABarrierBreaksWhenItsActionPanics(t *testing.T) {
	b := vsync.NewBarrier(2, func() { panic("no") })
	waiter := thread.start(func() {
		if _, err := b.Wait(); err != vsync.ErrBroken {
			t.Errorf("got %v, want %v", err, vsync.ErrBroken)
		}
	})
	awaitWaiting(t, b, 1)
	if got := panics(func() { b.Wait() }); got != "no" {
		t.Errorf("got %v, want the panic", got)
	}
	waiter()
}

// Others come, and one of them gives up, while the action is executed.
func TestThoseOfTheNextRoundDoNotBreakTheOneBefore(t *testing.T) {
	in, out := make(chan struct{}), make(chan struct{})
	b := vsync.NewBarrier(2, func() { close(in); <-out })
	var joins []func()
	for i := range 2 {
		joins = append(joins, kinds[i].start(func() {
			if _, err := b.Wait(); err != nil {
				t.Errorf("got %v", err)
			}
		}))
	}
	<-in
	next := goroutine.start(func() {
		if _, err := b.WaitFor(short); err != vsync.ErrTimeout {
			t.Errorf("got %v, want %v", err, vsync.ErrTimeout)
		}
	})
	next()
	close(out)
	for _, join := range joins {
		join()
	}
	if !b.Broken() {
		t.Error("the next round is whole")
	}
}

func TestABarrierWithoutPartiesPanics(t *testing.T) {
	if got := panics(func() { vsync.NewBarrier(0, nil) }); fmt.Sprint(got) != "vsync: barrier without parties" {
		t.Errorf("got %v", got)
	}
	b := vsync.NewBarrier(1, nil)
	if before, err := b.Wait(); before != 0 || err != nil {
		t.Errorf("alone: got %d, %v", before, err)
	}
}

// All have come; one of them gives up while the action is executed.
func TestWhoLeavesACompleteRoundBreaksNothing(t *testing.T) {
	in, out := make(chan struct{}), make(chan struct{})
	b := vsync.NewBarrier(3, func() { close(in); <-out })
	var joins []func()
	no := errors.New("no")
	ctx, cancel := context.WithCancelCause(context.Background())
	first := goroutine.start(func() {
		if _, err := b.WaitContext(ctx); err != no {
			t.Errorf("got %v, want %v", err, no)
		}
	})
	awaitWaiting(t, b, 1)
	for i := range 2 {
		joins = append(joins, kinds[i].start(func() {
			if _, err := b.Wait(); err != nil {
				t.Errorf("got %v", err)
			}
		}))
	}
	<-in
	cancel(no)
	first()
	close(out)
	for _, join := range joins {
		join()
	}
	if b.Broken() {
		t.Error("it is broken")
	}
}
