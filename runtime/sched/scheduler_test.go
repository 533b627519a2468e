package sched_test

import (
	"runtime"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/vtscope/vtscope/runtime/sched"
	"github.com/vtscope/vtscope/runtime/sched/schedtest"
)

// schedulers are all that there are, each with a way to make one for a test.
var schedulers = []struct {
	name string
	make func(t testing.TB) sched.Scheduler
}{
	{"fork-join/carriers=1", func(t testing.TB) sched.Scheduler {
		return newForkJoin(t, sched.ForkJoinOptions{Parallelism: 1})
	}},
	{"fork-join/carriers=4", func(t testing.TB) sched.Scheduler {
		return newForkJoin(t, sched.ForkJoinOptions{Parallelism: 4})
	}},
	{"single", func(t testing.TB) sched.Scheduler { return newSingle(t) }},
	{"pinned/carriers=1", func(t testing.TB) sched.Scheduler { return newPinned(t, sched.PinnedOptions{Carriers: 1}) }},
	{"pinned/carriers=3", func(t testing.TB) sched.Scheduler { return newPinned(t, sched.PinnedOptions{Carriers: 3}) }},
	{"bubble's", func(testing.TB) sched.Scheduler { return sched.Bubble }},
	{"executor", func(t testing.TB) sched.Scheduler {
		pool := newWorkers(t, 2)
		return sched.FromExecutor(pool.call)
	}},
	{"channel/unbuffered", func(t testing.TB) sched.Scheduler { return newChannel(t, 0) }},
	{"channel/buffered", func(t testing.TB) sched.Scheduler { return newChannel(t, 1000) }},
	{"event-loop", func(t testing.TB) sched.Scheduler { return newLoop(t, false) }},
	{"event-loop/locked", func(t testing.TB) sched.Scheduler { return newLoop(t, true) }},
	{"mixing", func(t testing.TB) sched.Scheduler {
		return &mixing{others: []sched.Scheduler{newForkJoin(t, sched.ForkJoinOptions{Parallelism: 2}), newSingle(t)}}
	}},
	{"delegate", func(t testing.TB) sched.Scheduler {
		return delegate{newPinned(t, sched.PinnedOptions{Carriers: 2})}
	}},
}

func TestSchedulersKeepTheContract(t *testing.T) {
	for _, s := range schedulers {
		t.Run(s.name, func(t *testing.T) {
			schedtest.Run(t, func(t *testing.T) sched.Scheduler { return s.make(t) })
		})
	}
	t.Run("default", func(t *testing.T) {
		schedtest.Run(t, func(*testing.T) sched.Scheduler { return sched.Default() })
	})
}

// SD-01, SD-02, SD-03, SD-04
func TestThreadsAreOnTheSchedulerThatIsChosenOrInherited(t *testing.T) {
	part(t, "children-inherit-the-scheduler")
}

// SD-05
func TestATaskCannotBeRunOnAThread(t *testing.T) { part(t, "a-task-cannot-be-run-on-a-thread") }

// SD-08: in the thread's state, too, and in one event each.
func TestRefusalsSurfaceWhereTheThreadIsStartedOrUnparked(t *testing.T) {
	part(t, "refusals-surface-in-start", "refusals-surface-in-unpark")
}

// part has all schedulers pass some of the tests.
func part(t *testing.T, names ...string) {
	passed := 0
	for name, test := range schedtest.Cases() {
		if !slices.Contains(names, name) {
			continue
		}
		for _, s := range schedulers {
			t.Run(name+"/"+s.name, func(t *testing.T) { test(t, s.make(t)) })
		}
		passed++
	}
	if passed != len(names) {
		t.Errorf("%d of %q are tests", passed, names)
	}
}

// Trap 5.
func TestSchedulersKeepTheContractInABubble(t *testing.T) {
	for _, s := range schedulers {
		t.Run(s.name, func(t *testing.T) {
			for name, test := range schedtest.Cases() {
				t.Run(name, func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) { test(t, s.make(t)) })
				})
			}
		})
	}
}

func newSingle(t testing.TB) *sched.Single {
	t.Helper()
	s := sched.NewSingle()
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// workers call functions, in the order in which they are given, and begin with them by and by.
type workers struct {
	mu    sync.Mutex
	todo  []func()
	more  *sync.Cond
	ended bool
	all   sync.WaitGroup
}

func newWorkers(t testing.TB, n int) *workers {
	w := &workers{}
	w.more = sync.NewCond(&w.mu)
	for range n {
		w.all.Go(w.work)
	}
	t.Cleanup(w.close)
	return w
}

func (w *workers) call(f func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.todo = append(w.todo, f)
	w.more.Signal()
}

func (w *workers) work() {
	for {
		w.mu.Lock()
		for len(w.todo) == 0 && !w.ended {
			w.more.Wait()
		}
		if len(w.todo) == 0 {
			w.mu.Unlock()
			return
		}
		f := w.todo[0]
		w.todo = w.todo[1:]
		w.mu.Unlock()
		f()
	}
}

func (w *workers) close() {
	w.mu.Lock()
	w.ended = true
	w.more.Broadcast()
	w.mu.Unlock()
	w.all.Wait()
}

func newChannel(t testing.TB, room int) sched.Scheduler {
	tasks := make(chan *sched.Task, room)
	var all sync.WaitGroup
	for range 2 {
		all.Go(func() {
			for task := range tasks {
				if err := task.Run(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	s := sched.FromChannel(tasks)
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		all.Wait()
	})
	return s
}

// newLoop returns the loop of a goroutine that has other things to do, too.
func newLoop(t testing.TB, locked bool) sched.Scheduler {
	wake := make(chan struct{}, 1)
	loop := sched.NewEventLoop(func() {
		select {
		case wake <- struct{}{}:
		default:
		}
	})
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		if locked {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
		}
		for frame := 0; ; frame++ {
			if _, err := loop.RunReady(time.Duration(frame%3) * 50 * time.Microsecond); err != nil {
				t.Error(err)
			}
			if loop.Ready() > 0 {
				continue
			}
			select {
			case <-wake:
			case <-stop:
				return
			}
		}
	}()
	t.Cleanup(func() {
		close(stop)
		<-stopped
		if err := loop.Close(); err != nil {
			t.Error(err)
		}
	})
	return loop
}
