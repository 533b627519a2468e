package sched_test

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/vtscope/vtscope/runtime/continuation"
	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/sched"
	"github.com/vtscope/vtscope/runtime/vthread"
)

func TestWhoNeedNotWaitLetsOthersGoOn(t *testing.T) {
	for _, s := range schedulers {
		t.Run(s.name, func(t *testing.T) {
			b := vthread.Builder{Scheduler: s.make(t)}
			var ran atomic.Bool
			if err := b.Start(func() {
				other := b.Start(func() { ran.Store(true) })
				for began := time.Now(); !ran.Load(); {
					if time.Since(began) > 2*time.Minute {
						t.Error("the other thread was not executed meanwhile")
						break
					}
					sched.Current().Pace(4096)
				}
				other.Join()
			}).Join(); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestToLetOthersGoOnAddsNoCarriers: without it each of the threads holds the only carrier, and the watchdog adds one for each.
func TestToLetOthersGoOnAddsNoCarriers(t *testing.T) {
	fj := newForkJoin(t, sched.ForkJoinOptions{Parallelism: 1})
	b := vthread.Builder{Scheduler: fj}
	var all []*vthread.Thread
	var stop atomic.Bool
	var rounds [10]atomic.Int64
	for i := range rounds {
		all = append(all, b.Start(func() {
			for !stop.Load() {
				rounds[i].Add(1)
				sched.Current().Pace(0)
			}
		}))
	}
	for i := range rounds {
		await(t, "each of the threads goes on", func() bool { return rounds[i].Load() > 10_000 })
	}
	stop.Store(true)
	for _, th := range all {
		th.Join()
	}
	// A carrier that the system gave no processor for some ticks looks as if it were held, whatever its thread does: up to three did among 769 switches of a
	// busy machine. Where threads hold their carriers each does, and there are about ten switches in all.
	got := fj.Stats().Figures
	n, switches := got[flight.FigureMonopolies], got[flight.FigureSwitches]
	t.Logf("%d monopolies in %d switches", n, switches)
	if n > switches/16 || switches < 100 {
		t.Errorf("%d monopolies in %d switches, want next to none in many", n, switches)
	}
}

func TestAPinnedThreadIsNotInterruptedByItsPace(t *testing.T) {
	b := vthread.Builder{Scheduler: newForkJoin(t, sched.ForkJoinOptions{Parallelism: 1, MaxCarriers: 1})}
	if err := b.Start(func() {
		var ran atomic.Bool
		me := sched.Current()
		other := b.Start(func() { ran.Store(true) })
		continuation.Pin()
		for range 100_000 {
			me.Pace(4096)
		}
		continuation.Unpin()
		if ran.Load() {
			t.Error("the other thread was executed while this one held the only carrier")
		}
		other.Join()
	}).Join(); err != nil {
		t.Error(err)
	}
}
