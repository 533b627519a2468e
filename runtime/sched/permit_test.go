package sched_test

import (
	"context"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/sched"
	"github.com/vtscope/vtscope/runtime/vthread"
)

// timedWaits are waits for a time that somebody else's unpark does not end.
func timedWaits() map[string]func() {
	return map[string]func(){
		"sleep": func() { vthread.Sleep(20 * time.Millisecond) },
		"wait": func() {
			w := sched.NewWaiter(sched.Current())
			w.WaitWithin(sched.Limits{Until: sched.After(20 * time.Millisecond)}, sched.Pause{State: flight.StateWaiting})
		},
	}
}

// PK-04: the time is over before the thread goes on, and after it was unparked: the permit is for its next park.
func TestAPermitThatComesJustBeforeTheEndOfTheTimeIsKept(t *testing.T) {
	for name, wait := range timedWaits() {
		e := make(executor, 10)
		th := vthread.Builder{Scheduler: e}.Start(func() { wait(); vthread.Park() })
		run := func() {
			t.Helper()
			if err := (<-e).Run(); err != nil {
				t.Fatal(err)
			}
		}
		run()
		if err := th.Unpark(); err != nil {
			t.Fatal(err)
		}
		await(t, "its timer fires", func() bool { return sched.Fired(th.Task()) })
		run()
		if got := th.State(); got != flight.StateDone {
			t.Errorf("%s: it is %v, want done: the permit is lost", name, got)
			th.Unpark()
			run()
		}
	}
}

func TestAPermitThatComesToAPinnedThreadJustBeforeTheEndOfTheTimeIsKept(t *testing.T) {
	b := vthread.Builder{Scheduler: newForkJoin(t, sched.ForkJoinOptions{Parallelism: 1})}
	for name, wait := range timedWaits() {
		lost := false
		for unparked := false; !unparked; {
			th := b.Start(func() {
				pinnedWait(func() { wait(); lost = !sched.Current().TakePermit() })
			})
			for !unparked && !th.Task().Done() { // its time may be over before it is seen
				if unparked = sched.UnparkHalfway(th.Task(), func() { await(t, "its timer fires", func() bool { return sched.Fired(th.Task()) }) }); !unparked {
					runtime.Gosched()
				}
			}
			th.Join()
		}
		if lost {
			t.Errorf("%s: the permit is lost", name)
		}
	}
}

// An endingContext has ended, and is about to tell it.
type endingContext struct {
	context.Context
	ended atomic.Bool
}

func (c *endingContext) Done() <-chan struct{} { return make(chan struct{}) }

func (c *endingContext) Err() error {
	if c.ended.Load() {
		return errRefused
	}
	return nil
}

func TestAPermitThatComesWhenTheContextIsAboutToTellItsEndIsKept(t *testing.T) {
	e := make(executor, 10)
	ctx := &endingContext{Context: t.Context()}
	th := vthread.Builder{Scheduler: e}.Start(func() {
		w := sched.NewWaiter(sched.Current())
		if err := w.WaitWithin(sched.Limits{Context: ctx}, sched.Pause{State: flight.StateWaiting}); err != errRefused {
			t.Errorf("got %v, want the cause of the context", err)
		}
		vthread.Park()
	})
	run := func() {
		t.Helper()
		if err := (<-e).Run(); err != nil {
			t.Fatal(err)
		}
	}
	run()
	ctx.ended.Store(true)
	if err := th.Unpark(); err != nil {
		t.Fatal(err)
	}
	run()
	if got := th.State(); got != flight.StateDone {
		t.Errorf("it is %v, want done: the permit is lost", got)
		th.Unpark()
		run()
	}
}
