package errgroup_test

import (
	"context"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/sched"
	"github.com/vtscope/vtscope/runtime/structured/errgroup"
	"github.com/vtscope/vtscope/runtime/vthread"
	"github.com/vtscope/vtscope/runtime/vttest"
)

// patience is how long a test waits for what must happen.
const patience = 5 * time.Minute

// everywhere runs f on a thread of each kind of scheduler, and on a goroutine. Threads that f starts on a thread are of the same scheduler.
func everywhere(t *testing.T, f func(t *testing.T)) {
	forkJoin := func(o sched.ForkJoinOptions) sched.Scheduler {
		fj, err := sched.NewForkJoin(o)
		if err != nil {
			t.Fatal(err)
		}
		return fj
	}
	for _, k := range []struct {
		name string
		make func() sched.Scheduler
	}{
		{"default", func() sched.Scheduler { return nil }},
		{"single", func() sched.Scheduler { return sched.NewSingle() }},
		{"one-carrier", func() sched.Scheduler {
			return forkJoin(sched.ForkJoinOptions{Parallelism: 1, MaxCarriers: 1})
		}},
		{"two-carriers", func() sched.Scheduler {
			return forkJoin(sched.ForkJoinOptions{Parallelism: 2, MaxCarriers: 2})
		}},
		{"goroutines", func() sched.Scheduler { return sched.Goroutines }},
	} {
		t.Run("scheduler="+k.name, func(t *testing.T) {
			s := k.make()
			th := vthread.Builder{Scheduler: s}.Start(func() { f(t) })
			if ended, _ := th.JoinFor(patience); !ended {
				t.Fatalf("not within %v: the end of %v", patience, th) // the scheduler cannot be closed
			}
			if c, ok := s.(interface{ Close() error }); ok {
				if err := c.Close(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	t.Run("goroutine", f)
}

// letOneIn waits for a group whose limit is 1 while one function executes and somebody waits to call the next.
func letOneIn(t *testing.T) {
	var g errgroup.Group
	g.SetLimit(1)
	first, second := 0, 0
	g.Go(func() error { vthread.Yield(); vthread.Yield(); first++; return nil })
	n := vthread.Start(func() { g.Go(func() error { second++; return nil }) })
	vthread.Yield()
	if err := g.Wait(); err != nil || first != 1 {
		t.Errorf("got %v after %d", err, first)
	}
	n.Join()
	if g.Wait(); second != 1 {
		t.Errorf("the second was called %d times", second)
	}
}

func TestWaitParksWhileSomebodyWasLetInAndHasNotBegun(t *testing.T) {
	everywhere(t, func(t *testing.T) {
		for range 1000 {
			letOneIn(t)
		}
	})
}

func TestWhateverTheScheduleIsWaitEndsWhereSomebodyWasLetIn(t *testing.T) {
	vttest.Run(t, letOneIn)
}

func TestALimitIsSetWhileFunctionsExecuteThatWereLetInWithoutOne(t *testing.T) {
	everywhere(t, func(t *testing.T) {
		var g errgroup.Group
		release := make(chan struct{})
		hold := func() error { vthread.Recv(release); return nil }
		for range 3 {
			g.Go(hold)
		}
		g.SetLimit(2)
		if a, b, c := g.TryGo(hold), g.TryGo(hold), g.TryGo(hold); !a || !b || c {
			t.Errorf("got %v, %v, %v, want the third refused: the functions of before do not count", a, b, c)
		}
		g.SetLimit(-1)
		if !g.TryGo(hold) {
			t.Error("refused without a limit")
		}
		g.SetLimit(1)
		if a, b := g.TryGo(hold), g.TryGo(hold); !a || b {
			t.Errorf("got %v, %v, want the second refused", a, b)
		}
		close(release)
		if err := g.Wait(); err != nil {
			t.Error(err)
		}
		if a := g.TryGo(func() error { return nil }); !a {
			t.Error("refused when all have ended")
		}
		g.Wait()
	})
}

func TestWhoWaitsAtALimitIsLetInByThatWhichTakesItsPlace(t *testing.T) {
	everywhere(t, func(t *testing.T) {
		for _, limit := range []int{-1, 2} {
			g, ctx := errgroup.WithContext(context.Background())
			g.SetLimit(0)
			var called atomic.Int32
			release := make(chan struct{})
			var callers []*vthread.Thread
			for range 4 {
				th := vthread.Start(func() {
					g.Go(func() error { called.Add(1); vthread.Recv(release); return nil })
				})
				for th.State() != flight.StateWaiting {
					pause()
				}
				callers = append(callers, th)
				if err := g.Wait(); err != nil || ctx.Err() == nil {
					t.Errorf("got %v, context %v: Wait waits for who was not let in", err, ctx.Err())
				}
			}
			g.SetLimit(limit)
			if limit < 0 {
				for _, c := range callers {
					c.Join()
				}
			} else {
				callers[0].Join()
				callers[1].Join()
				if a, b := callers[2].State(), callers[3].State(); a != flight.StateWaiting || b != flight.StateWaiting {
					t.Errorf("got %v, %v, want both to wait", a, b)
				}
			}
			close(release)
			for _, c := range callers {
				c.Join()
			}
			if err := g.Wait(); err != nil || called.Load() != 4 {
				t.Errorf("got %v after %d, want 4", err, called.Load())
			}
		}
	})
}

// pause lets others execute, for a moment.
func pause() {
	if vthread.Current() != nil {
		vthread.Sleep(100 * time.Microsecond)
	} else {
		time.Sleep(100 * time.Microsecond)
	}
}

// The calls of a group from a goroutine, a thread of the default scheduler, and one of a Single, mixed.
func TestThreadsOfSeveralSchedulersShareALimit(t *testing.T) {
	single := sched.NewSingle()
	defer single.Close()
	builders := []vthread.Builder{{}, {Scheduler: single}, {Scheduler: sched.Goroutines}}
	var g errgroup.Group
	g.SetLimit(1)
	var seen []int // by the only one that executes
	var callers []*vthread.Thread
	for i := range 60 {
		callers = append(callers, builders[i%len(builders)].Start(func() {
			g.Go(func() error { vthread.Yield(); seen = append(seen, i); return nil })
		}))
	}
	for _, c := range callers {
		for {
			if ended, _ := c.JoinFor(time.Millisecond); ended {
				break
			}
			g.Wait()
		}
	}
	g.Wait()
	slices.Sort(seen)
	for i := range 60 {
		if i >= len(seen) || seen[i] != i {
			t.Fatalf("got %v, want each once", seen)
		}
	}
}
