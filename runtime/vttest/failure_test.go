package vttest_test

import (
	"context"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vtscope/vtscope/internal/computetest"
	"github.com/vtscope/vtscope/runtime/continuation"
	"github.com/vtscope/vtscope/runtime/internal/coro"
	"github.com/vtscope/vtscope/runtime/sched"
	"github.com/vtscope/vtscope/runtime/structured"
	"github.com/vtscope/vtscope/runtime/vsync"
	"github.com/vtscope/vtscope/runtime/vthread"
	"github.com/vtscope/vtscope/runtime/vttest"
)

// fails checks that f fails, and that the report says so.
func fails(t *testing.T, o vttest.Options, f func(), report ...string) vttest.Result {
	t.Helper()
	r := vttest.Explore(t, o, 1, func(*testing.T) { f() })
	if !r.Failed {
		t.Fatalf("it was not found: %s", r.Report)
	}
	for _, want := range report {
		if !strings.Contains(r.Report, want) {
			t.Errorf("got a report without %q:\n%s", want, r.Report)
		}
	}
	return r
}

func passes(t *testing.T, o vttest.Options, f func()) vttest.Result {
	t.Helper()
	r := vttest.Explore(t, o, 1, func(*testing.T) { f() })
	if r.Failed || strings.Contains(r.Report, "different: something beside the scheduler decides") {
		t.Fatal(r.Report)
	}
	return r
}

func needLookout(t *testing.T) {
	t.Helper()
	if !coro.SharedLookout().Sees() {
		t.Skip("goroutines cannot be looked at here")
	}
}

func TestADeadlockIsReportedWithThoseWhoWaitAndWhatTheyHold(t *testing.T) {
	fails(t, vttest.Options{}, func() { transfer(false) },
		"deadlock: all threads wait", "(after 0s)",
		"to bob: waits for lock L", ", held by #", "; holds L", "planted_test.go:",
		"vttest: 2 threads wait for each other: #", " to bob holds L", " to ann holds L", ", wants L")
}

func TestADeadlockOfJoinsNamesTheCircleAndNotWhoWaitsForIt(t *testing.T) {
	r := fails(t, vttest.Options{}, func() {
		var first *vthread.Thread
		first = vthread.Builder{Name: "first"}.Unstarted(func() {
			vthread.Builder{Name: "second"}.Start(func() { first.Join() }).Join()
		})
		first.Start()
		first.Join()
	}, "vttest: 2 threads wait for each other: #", " first wants the end of #", " second wants the end of #")
	if strings.Contains(r.Report, "#1 test wants") {
		t.Errorf("got\n%s", r.Report)
	}
}

func TestADeadlockWithoutACircleNamesNone(t *testing.T) {
	r := fails(t, vttest.Options{}, func() { vthread.Park() }, "deadlock")
	if strings.Contains(r.Report, "each other") || strings.Contains(r.Report, "itself") {
		t.Errorf("got\n%s", r.Report)
	}
}

func TestAThreadThatLocksTwiceWaitsForItself(t *testing.T) {
	fails(t, vttest.Options{}, func() {
		var m vsync.Mutex
		m.Lock()
		m.Lock()
	}, "vttest: 1 thread waits for itself: #1 test holds L1, wants L1")
}

func TestAParkThatNobodyEndsIsADeadlock(t *testing.T) {
	r := fails(t, vttest.Options{}, func() {
		vthread.Builder{Name: "sleeper"}.Start(func() { vthread.Park() })
		vthread.Sleep(time.Hour)
	}, "deadlock", "(after 1h0m0s)", "#2 sleeper: parks", "failure_test.go:")
	if r.Tried != 1 {
		t.Errorf("found at schedule %d, want 1", r.Tried)
	}
}

func TestAPanicThatNobodyHandlesFailsTheSchedule(t *testing.T) {
	fails(t, vttest.Options{}, func() {
		vthread.Builder{Name: "guilty"}.Start(func() { panic("oh") }).Join()
	}, "panic in thread #2 guilty: oh", "TestAPanicThatNobodyHandlesFailsTheSchedule.func1.1(")
}

func TestAPanicThatIsHandledIsNoFailure(t *testing.T) {
	passes(t, vttest.Options{}, func() {
		handled := false
		b := vthread.Builder{OnPanic: func(*vthread.Thread, any, []byte) { handled = true }}
		b.Start(func() { panic("oh") }).Join()
		if !handled {
			wrong("not handled")
		}
	})
}

func TestAGoexitOfTheTestItselfIsAFailure(t *testing.T) {
	fails(t, vttest.Options{}, runtime.Goexit, "runtime.Goexit")
}

func TestThreadsThatTakeTurnsForeverAreAFailure(t *testing.T) {
	fails(t, vttest.Options{Choices: 2000}, func() {
		for range 2 {
			vthread.Start(func() {
				for {
					vthread.Yield()
				}
			})
		}
	}, "no end")
}

func TestOfVeryManyStepsTheFirstAndTheLastArePrinted(t *testing.T) {
	r := fails(t, vttest.Options{Choices: 12_000}, func() {
		for range 2 {
			vthread.Start(func() {
				for {
					vthread.Yield()
				}
			})
		}
	}, "no end", "… and so on", "#1 test  begins")
	if n := strings.Count(r.Script, "\n"); n > 600 {
		t.Errorf("got %d lines, want 600 at most", n)
	}
}

// A thread that comes to many points alone need not wait for something.
func TestAThreadThatComputesAloneIsNoFailure(t *testing.T) {
	passes(t, vttest.Options{}, func() {
		var m vsync.Mutex
		n := 0
		for range 10_000 {
			m.Lock()
			n++
			m.Unlock()
		}
	})
}

func TestAThreadThatPollsForAnEventThatNeverComesIsAFailure(t *testing.T) {
	fails(t, vttest.Options{}, func() {
		var never atomic.Bool
		for !never.Load() {
			vthread.Yield()
		}
	}, "no end")
}

func TestAThreadThatPollsForAnEventThatTimeBringsGoesOn(t *testing.T) {
	passes(t, vttest.Options{Schedules: 10}, func() {
		var flag atomic.Bool
		vthread.Start(func() {
			vthread.Sleep(time.Second)
			flag.Store(true)
		})
		for !flag.Load() {
			vthread.Yield()
		}
	})
}

// A thread that blocks in an operation of Go's that the unwinding undoes.
func TestAThreadThatBlocksInAnOperationOfGosFailsTheSchedule(t *testing.T) {
	needLookout(t)
	tests := map[string]struct {
		block  func(quit chan struct{}) // until quit is closed
		report string
	}{
		"receive": {func(quit chan struct{}) { <-quit }, "a channel receive"},
		"send": {func(quit chan struct{}) {
			defer func() { recover() }()
			quit <- struct{}{}
		}, "a channel send"},
		"select": {func(quit chan struct{}) {
			select {
			case <-quit:
			case <-make(chan struct{}):
			}
		}, "a select statement"},
		"sleep": {func(chan struct{}) { time.Sleep(time.Second) }, "time.Sleep"},
		"wait group": {func(quit chan struct{}) {
			var wg sync.WaitGroup
			wg.Go(func() { <-quit })
			wg.Wait()
		}, "sync.(*WaitGroup).Wait"},
		"cond": {func(quit chan struct{}) {
			var mu sync.Mutex
			c := sync.NewCond(&mu)
			go func() { <-quit; c.Signal() }()
			mu.Lock()
			c.Wait()
		}, "sync.(*Cond).Wait"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			fails(t, vttest.Options{Schedules: 1}, func() {
				quit := make(chan struct{})
				other := vthread.Start(func() {
					defer close(quit)
					vthread.Park()
				})
				blocker := vthread.Builder{Name: "blocker"}.Start(func() { test.block(quit) })
				blocker.Join()
				other.Join()
			}, "#3 blocker blocks in "+test.report+" at failure_test.go:")
		})
	}
}

// What is outside of the bubble is watched in real time.
func TestAThreadThatBlocksOutsideOfTheBubbleFailsTheSchedule(t *testing.T) {
	needLookout(t)
	o := vttest.Options{Schedules: 1, Patience: time.Second}
	t.Run("mutex", func(t *testing.T) {
		var mu sync.Mutex
		mu.Lock()
		defer mu.Unlock() // lets the thread go on
		fails(t, o, func() {
			vthread.Builder{Name: "blocker"}.Start(func() {
				mu.Lock()
				defer mu.Unlock()
			}).Join()
		}, "#2 blocker blocks in sync.(*Mutex).Lock at failure_test.go:")
	})
	t.Run("channel", func(t *testing.T) {
		ch := make(chan int)
		defer close(ch)
		fails(t, o, func() {
			vthread.Builder{Name: "blocker"}.Start(func() { <-ch }).Join()
		}, "#2 blocker blocks in a channel receive at failure_test.go:")
	})
	t.Run("computes", func(t *testing.T) {
		var stop atomic.Bool
		defer stop.Store(true)
		o.Patience = 100 * time.Millisecond // of which it may take ten times as many
		fails(t, o, func() {
			vthread.Builder{Name: "hog"}.Start(func() { computetest.Until(&stop) }).Join()
		}, "#2 hog computes")
	})
	t.Run("goroutine", func(t *testing.T) {
		ch := make(chan int)
		defer close(ch)
		fails(t, o, func() {
			go func() { <-ch }()
			vthread.Yield()
		}, "a goroutine that is no thread", "TestAThreadThatBlocksOutsideOfTheBubbleFailsTheSchedule.func4")
	})
}

func TestThreadsOfAFailedScheduleRunWhatTheyHaveDeferred(t *testing.T) {
	var deferred, after int
	fails(t, vttest.Options{Schedules: 1}, func() {
		for range 3 {
			vthread.Start(func() {
				defer func() { deferred++ }()
				defer vthread.Sleep(time.Minute)
				vthread.Park()
				after++
			})
		}
		defer func() { deferred++ }()
		structured.Run(context.Background(), "scope", func(s *structured.Scope) error {
			s.Fork(func() error {
				defer func() { deferred++ }()
				vthread.Park()
				after++
				return nil
			})
			return s.Join()
		})
		after++
	}, "deadlock", "waits for the threads of scope S1")
	if deferred != 5 || after != 0 {
		t.Errorf("%d deferred functions and %d others were executed, want 5 and 0", deferred, after)
	}
}

func TestThreadsOfAFailedScheduleThatNeverBeganDoNotBegin(t *testing.T) {
	began := false
	fails(t, vttest.Options{Schedules: 1}, func() {
		vthread.Start(func() { began = true })
		panic("oh")
	}, "oh")
	if began {
		t.Error("it began")
	}
}

func TestAContinuationOfAFailedScheduleIsLeft(t *testing.T) {
	left := false
	fails(t, vttest.Options{Schedules: 1}, func() {
		for range continuation.Generate(func(yield func(int)) {
			defer func() { left = true }()
			vthread.Park()
			yield(1)
		}) {
		}
	}, "deadlock")
	if !left {
		t.Error("its deferred function was not executed")
	}
}

func TestACallElsewhereThatEndsWhileAScheduleIsUnwoundLetsItsThreadEnd(t *testing.T) {
	after := false
	fails(t, vttest.Options{Schedules: 1}, func() {
		ch := make(chan int)
		vthread.Builder{Name: "caller"}.Start(func() {
			vthread.Blocking(func() { <-ch })
			after = true
		})
		defer close(ch)
		vthread.Park()
	}, "deadlock", "#2 caller: waits for a call elsewhere")
	if after {
		t.Error("it went on")
	}
}

// A scheduler that stands between the threads and the simulation.
type between struct{ sched.Scheduler }

func TestThreadsOfASchedulerThatPassesThemOnAreExecuted(t *testing.T) {
	passes(t, vttest.Options{Schedules: 10}, func() {
		b := vthread.Builder{Scheduler: between{vthread.Current().Scheduler()}}
		ended := 0
		for range 3 {
			b.Start(func() {
				vthread.Sleep(time.Hour)
				vthread.Yield()
				ended++
			}).Join()
		}
		if ended != 3 {
			wrong("%d have ended, want 3", ended)
		}
	})
}

func TestAThreadMayMoveToAnotherSchedulerOfTheBubble(t *testing.T) {
	passes(t, vttest.Options{Schedules: 10}, func() {
		ended := false
		th := vthread.Start(func() {
			vthread.Park()
			vthread.Sleep(time.Hour)
			ended = true
		})
		vthread.Sleep(time.Minute)
		if err := th.UnparkOn(goer{}); err != nil {
			wrong("%v", err)
		}
		th.Join()
		if !ended {
			wrong("it has not ended")
		}
	})
}

// goer executes every task on a goroutine of its own.
type goer struct{}

func (goer) Execute(t *sched.Task) error { go t.Run(); return nil }

func TestALockThatIsHandedOnWhileAScheduleIsUnwoundIsNotUsed(t *testing.T) {
	var mu vsync.Mutex
	used := 0
	fails(t, vttest.Options{Schedules: 1}, func() {
		mu = vsync.Mutex{}
		for range 3 {
			vthread.Start(func() {
				mu.Lock()
				defer mu.Unlock()
				used++
				vthread.Park()
				used++
			})
		}
	}, "deadlock")
	if used != 1 {
		t.Errorf("%d uses, want 1", used)
	}
}

// A lock may be where another was that has been collected, in one execution and not in the other.
func TestWhenGarbageIsCollectedMakesNoDifference(t *testing.T) {
	execution, rounds := 0, 0
	r := passes(t, vttest.Options{Schedules: 2}, func() {
		execution++
		for range 300 {
			lock := new(vsync.Mutex)
			lock.Lock()
			rounds++
			lock.Unlock()
			if execution == 2 {
				lock = nil
				runtime.GC()
			}
		}
	})
	if strings.Contains(r.Script, "locks L300") {
		t.Errorf("no lock was where another had been: what is tested?")
	}
}
