package sched_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/vtscope/vtscope/runtime/sched"
	"github.com/vtscope/vtscope/runtime/vthread"
)

// goer executes every task on a goroutine of its own.
type goer struct{}

func (goer) Execute(t *sched.Task) error { go t.Run(); return nil }

// Trap 5: in a bubble time is false, whatever scheduler is made there.
func TestTimedParksInABubbleTakeTheBubblesTime(t *testing.T) {
	for name, scheduler := range map[string]func(*testing.T) sched.Scheduler{
		"bubble's":  func(*testing.T) sched.Scheduler { return nil },
		"executor":  func(*testing.T) sched.Scheduler { return goer{} },
		"fork-join": func(t *testing.T) sched.Scheduler { return newForkJoin(t, sched.ForkJoinOptions{Parallelism: 2}) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				begin := time.Now()
				b := vthread.Builder{Scheduler: scheduler(t)}
				sleeper := b.Start(func() { vthread.Sleep(time.Hour) })
				woken := b.Start(func() { vthread.ParkFor(time.Hour) })
				b.Start(func() {
					vthread.Sleep(time.Minute)
					woken.Unpark()
				})
				woken.Join()
				if d := time.Since(begin); d != time.Minute {
					t.Errorf("parked for %v, want 1m0s", d)
				}
				sleeper.Join()
				if d := time.Since(begin); d != time.Hour {
					t.Errorf("slept for %v, want 1h0m0s", d)
				}
			})
		})
	}
}
