package conformance_test

import (
	"context"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/vtscope/vtscope/runtime/sched"
)

// A place is a way to make a scheduler.
type place struct {
	name string

	// make returns a scheduler, and a function that ends it and waits until its carriers have stopped.
	make func(t testing.TB) (s sched.Scheduler, end func() error)

	adds    bool // it adds carriers while threads hold theirs
	locks   bool // its carriers are locked to OS threads: what has begun there cannot go on elsewhere
	outside bool // its carriers are goroutines of somebody else, who finds out only when he runs a thread that he cannot
}

// places are those beside fork-join schedulers with one and with four carriers, on which all tests run. Schedulers of packages that cannot be imported
// (fixtures) have the stress of package schedtest.
var places = []place{
	{name: "fork-join/carriers=2", make: forkJoin(sched.ForkJoinOptions{Parallelism: 2}), adds: true},
	{name: "fork-join/at-most=1", make: forkJoin(sched.ForkJoinOptions{Parallelism: 1, MaxCarriers: 1})},
	{name: "fork-join/at-most=3", make: forkJoin(sched.ForkJoinOptions{Parallelism: 2, MaxCarriers: 3})},
	{name: "fork-join/keep-alive=50µs", make: forkJoin(sched.ForkJoinOptions{Parallelism: 3, MinCarriers: 1, KeepAlive: 50 * time.Microsecond}), adds: true},
	{name: "fork-join/carriers=1..4", make: changing, adds: true},
	{name: "single", make: func(testing.TB) (sched.Scheduler, func() error) {
		s := sched.NewSingle()
		return s, s.Close
	}},
	{name: "pinned/carriers=1", make: pinnedTo(1), locks: true},
	{name: "pinned/carriers=3", make: pinnedTo(3), locks: true},
	{name: "executor", make: onWorkers, outside: true},
	{name: "channel", make: fromChannel, outside: true},
	{name: "event-loop", make: inLoop, outside: true},
}

func forkJoin(o sched.ForkJoinOptions) func(testing.TB) (sched.Scheduler, func() error) {
	return func(t testing.TB) (sched.Scheduler, func() error) {
		fj, err := sched.NewForkJoin(o)
		if err != nil {
			t.Fatal(err)
		}
		return fj, fj.Close
	}
}

// changing has another number of carriers now and then.
func changing(t testing.TB) (sched.Scheduler, func() error) {
	s, end := forkJoin(sched.ForkJoinOptions{Parallelism: 4})(t)
	stop := make(chan struct{})
	var changes sync.WaitGroup
	changes.Go(func() {
		every := time.NewTicker(200 * time.Microsecond)
		defer every.Stop()
		for n := 0; ; n++ {
			select {
			case <-every.C:
			case <-stop:
				return
			}
			if err := s.(*sched.ForkJoin).SetParallelism(1 + n*3%4); err != nil {
				t.Error(err)
			}
		}
	})
	return s, func() error {
		close(stop)
		changes.Wait()
		return end()
	}
}

func pinnedTo(carriers int) func(testing.TB) (sched.Scheduler, func() error) {
	return func(t testing.TB) (sched.Scheduler, func() error) {
		p, err := sched.NewPinned(sched.PinnedOptions{Carriers: carriers})
		if err != nil {
			t.Fatal(err)
		}
		return p, p.Close
	}
}

// onWorkers has two goroutines that call functions.
func onWorkers(testing.TB) (sched.Scheduler, func() error) {
	var mu sync.Mutex
	var todo []func()
	ended := false
	more := sync.NewCond(&mu)
	next := func() func() {
		mu.Lock()
		defer mu.Unlock()
		for len(todo) == 0 {
			if ended {
				return nil
			}
			more.Wait()
		}
		f := todo[0]
		todo = todo[1:]
		return f
	}
	var workers sync.WaitGroup
	for range 2 {
		workers.Go(func() {
			for f := next(); f != nil; f = next() {
				f()
			}
		})
	}
	s := sched.FromExecutor(func(run func()) {
		mu.Lock()
		defer mu.Unlock()
		todo = append(todo, run)
		more.Signal()
	})
	return s, func() error {
		mu.Lock()
		ended = true
		more.Broadcast()
		mu.Unlock()
		workers.Wait()
		return nil
	}
}

// fromChannel has two goroutines that receive tasks.
func fromChannel(t testing.TB) (sched.Scheduler, func() error) {
	tasks := make(chan *sched.Task)
	var receivers sync.WaitGroup
	for range 2 {
		receivers.Go(func() {
			for task := range tasks {
				if err := task.Run(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	s := sched.FromChannel(tasks)
	return s, func() error {
		err := s.Close()
		receivers.Wait()
		return err
	}
}

// inLoop has a goroutine with a loop of frames.
func inLoop(t testing.TB) (sched.Scheduler, func() error) {
	wake := make(chan struct{}, 1)
	loop := sched.NewEventLoop(func() {
		select {
		case wake <- struct{}{}:
		default:
		}
	})
	ctx, stop := context.WithCancel(context.Background())
	var frames sync.WaitGroup
	frames.Go(func() {
		for frame := 0; ; frame++ {
			if _, err := loop.RunReady(time.Duration(frame%3) * 50 * time.Microsecond); err != nil {
				t.Error(err)
			}
			if loop.Ready() > 0 {
				runtime.Gosched()
				continue
			}
			select {
			case <-wake:
			case <-ctx.Done():
				return
			}
		}
	})
	return loop, func() error {
		stop()
		frames.Wait()
		return loop.Close()
	}
}
