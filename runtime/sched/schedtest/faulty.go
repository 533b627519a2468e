package schedtest

import (
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/sched"
	"github.com/vtscope/vtscope/runtime/vthread"
)

// A dropper drops every third task, until it is told to submit them after all.
type dropper struct {
	to sched.Scheduler
	mu struct {
		sync.Mutex
		n       int
		dropped []*sched.Task
		honest  bool
	}
}

func (d *dropper) Execute(t *sched.Task) error {
	d.mu.Lock()
	d.mu.n++
	drop := d.mu.n%3 == 0 && !d.mu.honest
	if drop {
		d.mu.dropped = append(d.mu.dropped, t)
	}
	d.mu.Unlock()
	if drop {
		return nil
	}
	return d.to.Execute(t)
}

// reform submits what was dropped, and sees that nothing more is.
func (d *dropper) reform() (dropped int, err error) {
	d.mu.Lock()
	d.mu.honest = true
	tasks := d.mu.dropped
	d.mu.Unlock()
	for _, t := range tasks {
		err = errors.Join(err, d.to.Execute(t))
	}
	return len(tasks), err
}

// busy returns a body that needs its scheduler some times.
func busy(t testing.TB) func() {
	return func() {
		me := vthread.Current()
		for range 4 {
			vthread.Yield()
			var unparked sync.WaitGroup
			unparked.Go(func() { unpark(t, me) })
			vthread.Park()
			unparked.Wait()
		}
	}
}

// bystanders are threads of the scheduler, and of the default one, that have nothing to do with a faulty one.
func bystanders(t testing.TB, s sched.Scheduler) {
	var all []*vthread.Thread
	for range 10 {
		all = append(all, start(t, s, busy(t)), start(t, nil, busy(t)))
	}
	join(t, all...)
}

func drops(t testing.TB, s sched.Scheduler) {
	d := &dropper{to: s}
	var victims []*vthread.Thread
	for range 20 {
		victims = append(victims, start(t, d, busy(t)))
	}
	bystanders(t, s)
	n, err := d.reform()
	if err != nil {
		t.Errorf("what was dropped is refused: %v", err)
	}
	if n == 0 {
		t.Error("nothing was dropped")
	}
	join(t, victims...)
}

// A delayer submits every task later, in any order.
type delayer struct {
	to      sched.Scheduler
	refused atomic.Pointer[error]
}

func (d *delayer) Execute(t *sched.Task) error {
	go func() {
		for range 10 {
			runtime.Gosched()
		}
		if err := d.to.Execute(t); err != nil {
			d.refused.Store(&err)
		}
	}()
	return nil
}

func delays(t testing.TB, s sched.Scheduler) {
	d := &delayer{to: s}
	var victims []*vthread.Thread
	for range 20 {
		victims = append(victims, start(t, d, busy(t)))
	}
	bystanders(t, s)
	join(t, victims...)
	if err := d.refused.Load(); err != nil {
		t.Errorf("what was delayed is refused: %v", *err)
	}
}

var errRefused = errors.New("refused")

// A refuser refuses as many tasks as it is told to.
type refuser struct {
	to     sched.Scheduler
	refuse atomic.Int32
}

func (r *refuser) Execute(t *sched.Task) error {
	for n := r.refuse.Load(); n > 0; n = r.refuse.Load() {
		if r.refuse.CompareAndSwap(n, n-1) {
			return errRefused
		}
	}
	return r.to.Execute(t)
}

func refusedStarts(t testing.TB, s sched.Scheduler) {
	r := &refuser{to: s}
	runs := 0
	th := vthread.Builder{Scheduler: r}.Unstarted(func() { runs++ })
	for i := range 3 {
		r.refuse.Store(1)
		if err := th.Start(); !errors.Is(err, errRefused) {
			t.Errorf("start: %v, want refused", err)
		}
		if got := th.State(); got != flight.StateNew {
			t.Errorf("refused: %v, want new", got)
		}
		expectEvents(t, flight.EventSubmitFailed, th, i+1)
		expectEvents(t, flight.EventThreadStart, th, 0)
	}
	bystanders(t, s)
	if err := th.Start(); err != nil {
		t.Fatalf("start after the refusals: %v", err)
	}
	join(t, th)
	if runs != 1 {
		t.Errorf("ran %d times, want once", runs)
	}
	expectEvents(t, flight.EventSubmitFailed, th, 3)
	expectEvents(t, flight.EventThreadStart, th, 1)
	expectEvents(t, flight.EventThreadEnd, th, 1)

	// The same on a thread.
	r.refuse.Store(1)
	var child *vthread.Thread
	join(t, start(t, s, func() {
		var err error
		if child, err = (vthread.Builder{Scheduler: r}).TryStart(func() {}); !errors.Is(err, errRefused) {
			t.Errorf("start on a thread: %v, want refused", err)
		}
		if err := child.Start(); err != nil {
			t.Errorf("start after the refusal: %v", err)
		}
	}))
	join(t, child)
	expectEvents(t, flight.EventSubmitFailed, child, 1)
	expectEvents(t, flight.EventThreadStart, child, 1)
}

func refusedUnparks(t testing.TB, s sched.Scheduler) {
	r := &refuser{to: s}
	th := parked(t, r)
	for i, ask := range []func() error{
		th.Unpark,
		th.Interrupt,
		func() error { return th.UnparkOn(r) },
		func() (err error) {
			join(t, start(t, s, func() { err = th.Unpark() }))
			return err
		},
	} {
		r.refuse.Store(1)
		if err := ask(); !errors.Is(err, errRefused) {
			t.Errorf("unpark: %v, want refused", err)
		}
		if got := th.State(); got != flight.StateParked {
			t.Errorf("refused: %v, want parked", got)
		}
		if th.Scheduler() != sched.Scheduler(r) {
			t.Errorf("refused: on %T, want %T", th.Scheduler(), r)
		}
		expectEvents(t, flight.EventSubmitFailed, th, i+1)
	}
	bystanders(t, s)
	unpark(t, th)
	join(t, th)
	expectEvents(t, flight.EventSubmitFailed, th, 4)
}

// Nobody hears of a refusal when a thread yields: it stays parked until somebody unparks it.
func refusedYields(t testing.TB, s sched.Scheduler) {
	r := &refuser{to: s}
	const n, rounds = 5, 20
	var ended atomic.Int32
	var all []*vthread.Thread
	for range n {
		all = append(all, start(t, r, func() {
			defer ended.Add(1)
			for range rounds {
				vthread.Yield()
			}
		}))
	}
	var looks int32
	await(t, "the end of all", func() bool {
		looks++
		r.refuse.Store(looks % 2) // the last one must get through, too
		for _, th := range all {
			if err := th.Unpark(); err != nil && !errors.Is(err, errRefused) {
				t.Errorf("unpark: %v", err)
			}
		}
		return ended.Load() == n
	})
	r.refuse.Store(0)
	join(t, all...)
	bystanders(t, s)
}
