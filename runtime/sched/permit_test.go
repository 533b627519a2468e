package sched_test

import (
	"runtime"
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
