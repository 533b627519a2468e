package schedtest

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/sched"
	"github.com/vtscope/vtscope/runtime/vthread"
)

func runsWithoutSubmission(t testing.TB, s sched.Scheduler) {
	run := func(th *vthread.Thread) {
		for range 3 {
			if err := th.Task().Run(); err != nil {
				t.Errorf("run of %v: %v", th, err)
			}
		}
	}
	passed := 0
	th := vthread.Builder{Scheduler: s}.Unstarted(func() {
		for range 3 {
			vthread.Park()
			passed++
		}
	})
	run(th)
	if got := th.State(); got != flight.StateNew {
		t.Errorf("run before the start: %v, want new", got)
	}
	if err := th.Start(); err != nil {
		t.Fatal(err)
	}
	for want := range 3 {
		awaitState(t, th, flight.StateParked)
		run(th)
		if got := th.State(); got != flight.StateParked {
			t.Errorf("run while parked: %v, want parked", got)
		}
		if passed != want { // a parked thread is nobody's, so we may look
			t.Errorf("passed %d parks, want %d", passed, want)
		}
		unpark(t, th)
	}
	join(t, th)
	run(th)
	if passed != 3 {
		t.Errorf("passed %d parks, want 3", passed)
	}
}

func runsOnThreads(t testing.TB, s sched.Scheduler) {
	waiting := parked(t, s)
	refused := func() {
		for _, th := range []*vthread.Thread{waiting, vthread.Current()} {
			if err := th.Task().Run(); !errors.Is(err, sched.ErrOnThread) {
				t.Errorf("run of %v on a thread: %v, want ErrOnThread", th, err)
			}
		}
	}
	join(t, start(t, s, refused), start(t, &onGoroutines{}, refused))
	own := vthread.Builder{Kind: vthread.OnGoroutine}.Start(refused)
	// A scheduler that runs what is submitted on the spot cannot do so for threads.
	onTheSpot := &inline{}
	join(t, own, start(t, s, func() {
		if _, err := (vthread.Builder{Scheduler: onTheSpot}).TryStart(func() {}); !errors.Is(err, sched.ErrOnThread) {
			t.Errorf("start on the spot, on a thread: %v, want ErrOnThread", err)
		}
	}))
	unpark(t, waiting)
	join(t, waiting)
}

// inline runs tasks on whoever submits them.
type inline struct{ _ byte }

func (*inline) Execute(t *sched.Task) error { return t.Run() }

// A duplicator submits every task three times.
type duplicator struct{ to sched.Scheduler }

func (d *duplicator) Execute(t *sched.Task) error {
	err := d.to.Execute(t)
	if err == nil {
		for range 2 {
			_ = d.to.Execute(t) // there is nothing to refuse
		}
	}
	return err
}

func duplicates(t testing.TB, s sched.Scheduler) {
	d := &duplicator{s}
	const n, rounds = 20, 20
	var inside [n]atomic.Int32
	var memory [n]int
	var unparks sync.WaitGroup
	var all []*vthread.Thread
	for i := range n {
		all = append(all, start(t, d, func() {
			me := vthread.Current()
			for round := range rounds {
				if inside[i].Add(1) != 1 {
					t.Error("two runs of a thread at once")
				}
				memory[i]++
				inside[i].Add(-1)
				if round%2 == 0 {
					vthread.Yield()
				} else {
					unparks.Go(func() { unpark(t, me) })
					vthread.Park()
				}
			}
		}))
	}
	join(t, all...)
	unparks.Wait()
	for i, m := range memory {
		if m != rounds {
			t.Errorf("thread %d counted to %d, want %d", i, m, rounds)
		}
	}
}
