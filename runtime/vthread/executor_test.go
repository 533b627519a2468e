package vthread_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/sched"
	"github.com/vtscope/vtscope/runtime/vthread"
)

func closed(t *testing.T, e *vthread.Executor) {
	t.Helper()
	if err := e.Close(); err != nil {
		t.Error(err)
	}
	if !e.IsShutdown() || !e.IsTerminated() || len(e.Threads()) != 0 {
		t.Errorf("closed: shut down %v, terminated %v, threads %v", e.IsShutdown(), e.IsTerminated(), e.Threads())
	}
}

// EX-01: one new thread per task, made by the builder.
func TestEachTaskHasANewThreadOfTheBuilders(t *testing.T) {
	byEverybody(t, func(t *testing.T, b vthread.Builder) {
		b.Name, b.Count = "task-", vthread.CountFrom(1)
		e := vthread.NewExecutor(b)
		const n = 100
		var futures []*vthread.Future[*vthread.Thread]
		for range n {
			f, err := vthread.Submit(e, func() (*vthread.Thread, error) { return vthread.Current(), nil })
			if err != nil {
				t.Fatal(err)
			}
			futures = append(futures, f)
		}
		seen := map[*vthread.Thread]bool{}
		for i, f := range futures {
			th, err := f.Get()
			if err != nil || th != f.Thread() || th.Name() != fmt.Sprintf("task-%d", i+1) || th.Kind() != b.Kind {
				t.Fatalf("task %d on %v, %v; its future has thread %v", i, th, err, f.Thread())
			}
			seen[th] = true
		}
		if len(seen) != n {
			t.Errorf("%d threads for %d tasks", len(seen), n)
		}
		closed(t, e)
	})
}

// EX-02: no new tasks after a shutdown; those that run go on.
func TestShutdownLetsRunningTasksGoOn(t *testing.T) {
	byEverybody(t, func(t *testing.T, b vthread.Builder) {
		e := vthread.NewExecutor(b)
		var release vthread.Promise[int]
		f, err := vthread.Submit(e, release.Get)
		if err != nil {
			t.Fatal(err)
		}
		if e.IsShutdown() {
			t.Error("shut down from the beginning")
		}
		e.Shutdown()
		if !e.IsShutdown() || e.IsTerminated() || !slices.Equal(e.Threads(), []*vthread.Thread{f.Thread()}) {
			t.Errorf("shut down %v, terminated %v, threads %v", e.IsShutdown(), e.IsTerminated(), e.Threads())
		}
		release.Complete(4)
		if v, err := f.Get(); v != 4 || err != nil {
			t.Errorf("got %d, %v, want 4", v, err)
		}
		closed(t, e)
	})
}

// EX-02: and Cancel interrupts them.
func TestCancelInterruptsTheTasks(t *testing.T) {
	byEverybody(t, func(t *testing.T, b vthread.Builder) {
		e := vthread.NewExecutor(b)
		f, err := vthread.Submit(e, func() (int, error) { return 0, vthread.Sleep(time.Hour) })
		if err != nil {
			t.Fatal(err)
		}
		e.Cancel()
		if _, err := f.Get(); err != vthread.ErrInterrupted {
			t.Errorf("got %v, want an interrupt", err)
		}
		closed(t, e)
	})
}

// EX-04: a second close is fine.
func TestCloseWaitsForTheTasksAndCanBeRepeated(t *testing.T) {
	byEverybody(t, func(t *testing.T, b vthread.Builder) {
		e := vthread.NewExecutor(b)
		var ended atomic.Int32
		var threads []*vthread.Thread
		for range 10 {
			f, err := vthread.Submit(e, func() (int, error) { vthread.Sleep(time.Millisecond); ended.Add(1); return 0, nil })
			if err != nil {
				t.Fatal(err)
			}
			threads = append(threads, f.Thread())
		}
		closed(t, e)
		if ended.Load() != 10 {
			t.Errorf("%d tasks have ended, want 10", ended.Load())
		}
		for _, th := range threads {
			if th.State() != flight.StateDone {
				t.Errorf("after close: thread %v", th)
			}
		}
		closed(t, e)
	})
}

// EX-04: an interrupt while it waits interrupts the tasks, once, and is kept.
func TestAnInterruptedCloseInterruptsTheTasksAndWaitsOn(t *testing.T) {
	byThreads(t, func(t *testing.T, b vthread.Builder) {
		for _, before := range []bool{true, false} {
			me := vthread.Current()
			e := vthread.NewExecutor(b)
			var slow atomic.Bool
			f, err := vthread.Submit(e, func() (int, error) {
				err := vthread.Sleep(time.Hour)
				vthread.Sleep(2 * time.Millisecond)
				slow.Store(true)
				return 0, err
			})
			if err != nil {
				t.Fatal(err)
			}
			if before {
				me.Interrupt()
			} else {
				b.Start(func() { waits(t, me); me.Interrupt() })
			}
			closed(t, e)
			if !slow.Load() {
				t.Error("close did not wait for the task")
			}
			if !vthread.Interrupted() {
				t.Error("the interrupt is lost")
			}
			if _, err := f.Get(); err != vthread.ErrInterrupted {
				t.Errorf("the task got %v, want an interrupt", err)
			}
		}
	})
}

func TestATaskThatClosesItsExecutorIsToldSo(t *testing.T) {
	e := vthread.NewExecutor(vthread.Builder{})
	f, err := vthread.Submit(e, func() (int, error) { return 0, e.Close() })
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Get(); err == nil || !strings.Contains(err.Error(), "one of its own") || !e.IsShutdown() {
		t.Errorf("got %v, shut down %v", err, e.IsShutdown())
	}
	closed(t, e)
}

// EX-05: before the shutdown, after it while tasks run, and after the end.
func TestWhoWaitsForAnExecutorIsToldItsEnd(t *testing.T) {
	byEverybody(t, func(t *testing.T, b vthread.Builder) {
		e := vthread.NewExecutor(b)
		var release vthread.Promise[int]
		if _, err := vthread.Submit(e, release.Get); err != nil {
			t.Fatal(err)
		}
		await := func(when string, d time.Duration, want bool) {
			t.Helper()
			ctx, cancel := context.WithTimeout(context.Background(), d)
			defer cancel()
			if err := e.Wait(ctx); (err == nil) != want || err != nil && err != context.DeadlineExceeded {
				t.Errorf("%s: got %v, want the end: %v", when, err, want)
			}
		}
		await("before the shutdown", time.Millisecond, false)
		await("before the shutdown", -1, false)
		ctx, cancel := context.WithCancelCause(context.Background())
		cancel(errBoom)
		interrupted := func() {
			t.Helper()
			if err := e.Wait(ctx); err != errBoom {
				t.Errorf("context: got %v, want its cause", err)
			}
			me := vthread.Current()
			if me == nil {
				return
			}
			me.Interrupt()
			if err := e.Wait(context.Background()); err != vthread.ErrInterrupted || vthread.Interrupted() {
				t.Errorf("interrupted: got %v", err)
			}
		}
		interrupted()
		e.Shutdown()
		interrupted()
		await("while a task runs", time.Millisecond, false)
		await("while a task runs", 0, false)
		release.Complete(0)
		await("at the end", time.Minute, true)
		await("after the end", -1, true)
		if err := e.Wait(ctx); err != nil {
			t.Errorf("after the end: %v", err)
		}

		empty := vthread.NewExecutor(b)
		b.Start(empty.Shutdown)
		if err := empty.Wait(context.Background()); err != nil {
			t.Error(err)
		}
		closed(t, empty)
	})
}

// EX-06: no task is taken after shutdown, nor after termination.
func TestSubmitAfterShutdownIsRefused(t *testing.T) {
	byEverybody(t, func(t *testing.T, b vthread.Builder) {
		task := func() (int, error) { t.Error("it ran"); return 0, nil }
		e := vthread.NewExecutor(b)
		var release vthread.Promise[int]
		if _, err := vthread.Submit(e, release.Get); err != nil {
			t.Fatal(err)
		}
		for _, stop := range []func(){e.Shutdown, func() { release.Complete(0); closed(t, e) }} {
			stop()
			if f, err := vthread.Submit(e, task); f != nil || !errors.Is(err, vthread.ErrShutdown) {
				t.Errorf("submit: got %v, %v", f, err)
			}
			if f, err := vthread.RunAll(context.Background(), e, task); f != nil || !errors.Is(err, vthread.ErrShutdown) {
				t.Errorf("invoke all: got %v, %v", f, err)
			}
			if _, err := vthread.RunAny(context.Background(), e, task); !errors.Is(err, vthread.ErrShutdown) {
				t.Errorf("invoke any: got %v", err)
			}
		}
	})
}

// EX-07: a nil task panics, and nothing is started.
func TestNilTasksPanic(t *testing.T) {
	e := vthread.NewExecutor(vthread.Builder{})
	task := func() (int, error) { t.Error("it ran"); return 0, nil }
	for what, f := range map[string]func(){
		"submit":  func() { vthread.Submit[int](e, nil) },
		"run all": func() { vthread.RunAll(context.Background(), e, task, nil) },
		"run any": func() { vthread.RunAny(context.Background(), e, task, nil) },
	} {
		func() {
			defer func() {
				if v := recover(); fmt.Sprint(v) != "vthread: nil function" {
					t.Errorf("%s: panicked with %v", what, v)
				}
			}()
			f()
		}()
	}
	closed(t, e)
}

func TestTheRefusalOfTheSchedulerComesOutOfSubmit(t *testing.T) {
	e := vthread.NewExecutor(vthread.Builder{Scheduler: refuser{}})
	if f, err := vthread.Submit(e, func() (int, error) { return 0, nil }); f != nil || !errors.Is(err, errRefused) {
		t.Errorf("got %v, %v, want refused", f, err)
	}
	closed(t, e)
}

func TestRunAllReturnsTheFuturesInTheOrderOfTheTasks(t *testing.T) {
	byEverybody(t, func(t *testing.T, b vthread.Builder) {
		e := vthread.NewExecutor(b)
		var tasks []func() (int, error)
		for i := range 20 {
			tasks = append(tasks, func() (int, error) {
				vthread.Sleep(time.Duration(20-i) * 50 * time.Microsecond)
				if i == 3 {
					return 0, errBoom
				}
				return i, nil
			})
		}
		futures, err := vthread.RunAll(context.Background(), e, tasks...)
		if err != nil || len(futures) != 20 {
			t.Fatalf("%d futures, %v", len(futures), err)
		}
		for i, f := range futures {
			if !f.Done() {
				t.Errorf("task %d is not done", i)
			}
			switch v, err := f.Get(); {
			case i == 3 && err == errBoom:
			case i == 3 || v != i || err != nil:
				t.Errorf("task %d: got %d, %v", i, v, err)
			}
		}
		if futures, err := vthread.RunAll[int](context.Background(), e); len(futures) != 0 || err != nil {
			t.Errorf("no tasks: got %v, %v", futures, err)
		}
		closed(t, e)
	})
}

func TestRunAllThatIsGivenUpCancelsWhatIsNotDone(t *testing.T) {
	byEverybody(t, func(t *testing.T, b vthread.Builder) {
		for _, interrupt := range []bool{false, true} {
			me := vthread.Current()
			if interrupt && me == nil {
				continue
			}
			e := vthread.NewExecutor(b)
			ctx, cancel := context.WithCancelCause(context.Background())
			quick := func() (int, error) { return 1, nil }
			last := func() (int, error) {
				if interrupt {
					me.Interrupt()
				} else {
					cancel(errBoom)
				}
				return 0, vthread.Sleep(time.Hour)
			}
			want := errBoom
			if interrupt {
				want = vthread.ErrInterrupted
			}
			futures, err := vthread.RunAll(ctx, e, quick, last)
			if err != want || vthread.Interrupted() {
				t.Errorf("got %v, want %v", err, want)
			}
			if s := futures[1].State(); len(futures) != 2 || s != vthread.Canceled {
				t.Errorf("the last task is %v, want cancelled", s)
			}
			closed(t, e)
			cancel(nil)
		}
	})
}

func TestRunAnyReturnsTheFirstSuccessAndInterruptsTheOthers(t *testing.T) {
	byEverybody(t, func(t *testing.T, b vthread.Builder) {
		e := vthread.NewExecutor(b)
		var interrupted atomic.Int32
		slow := func() (int, error) {
			err := vthread.Sleep(time.Hour)
			if err == vthread.ErrInterrupted {
				interrupted.Add(1)
			}
			return 0, err
		}
		v, err := vthread.RunAny(context.Background(), e, slow,
			func() (int, error) { return 0, errBoom },
			func() (int, error) { vthread.Sleep(time.Millisecond); return 5, nil },
			slow)
		if v != 5 || err != nil {
			t.Errorf("got %d, %v, want 5", v, err)
		}
		closed(t, e)
		if n := interrupted.Load(); n > 2 {
			t.Errorf("%d were interrupted", n)
		}
	})
}

func TestRunAnyWithoutASuccessJoinsAllErrors(t *testing.T) {
	byEverybody(t, func(t *testing.T, b vthread.Builder) {
		e := vthread.NewExecutor(b)
		errLast := errors.New("last")
		_, err := vthread.RunAny(context.Background(), e,
			func() (int, error) { vthread.Sleep(time.Millisecond); return 0, errBoom },
			func() (int, error) { panic("guilty") },
			func() (int, error) { runtime.Goexit(); return 0, nil },
			func() (int, error) { return 0, errLast })
		var p *vthread.Panic
		if !errors.Is(err, errBoom) || !errors.Is(err, errLast) || !errors.Is(err, vthread.ErrGoexit) || !errors.As(err, &p) || p.Value != "guilty" {
			t.Errorf("got %v, want all four", err)
		}
		if text := err.Error(); strings.Index(text, "boom") > strings.Index(text, "last") {
			t.Errorf("got %s, want the tasks' order", text)
		}
		if _, err := vthread.RunAny[int](context.Background(), e); !errors.Is(err, vthread.ErrNoTasks) {
			t.Errorf("no tasks: got %v", err)
		}
		closed(t, e)
	})
}

// eager is a scheduler whose Execute returns when the thread has ended or waits.
type eager struct{}

func (eager) Execute(t *sched.Task) error {
	done := make(chan struct{})
	go func() { defer close(done); t.Run() }()
	<-done
	return nil
}

func TestRunAnyStartsNoTasksAfterASuccess(t *testing.T) {
	e := vthread.NewExecutor(vthread.Builder{Scheduler: eager{}})
	v, err := vthread.RunAny(context.Background(), e,
		func() (int, error) { return 0, errBoom },
		func() (int, error) { return 2, nil },
		func() (int, error) { t.Error("the third was started"); return 3, nil })
	if v != 2 || err != nil {
		t.Errorf("got %d, %v, want 2", v, err)
	}
	closed(t, e)
}

func TestRunAnyThatIsGivenUpInterruptsAll(t *testing.T) {
	byEverybody(t, func(t *testing.T, b vthread.Builder) {
		e := vthread.NewExecutor(b)
		ctx, cancel := context.WithTimeoutCause(context.Background(), time.Millisecond, errBoom)
		defer cancel()
		slow := func() (int, error) { return 0, vthread.Sleep(time.Hour) }
		if _, err := vthread.RunAny(ctx, e, slow, slow); err != errBoom {
			t.Errorf("got %v, want the context's cause", err)
		}
		if me := vthread.Current(); me != nil {
			me.Interrupt()
			if _, err := vthread.RunAny(context.Background(), e, slow, slow); err != vthread.ErrInterrupted {
				t.Errorf("interrupted: got %v", err)
			}
		}
		closed(t, e)
	})
}

// Submits race with a shutdown: what was taken ends before Close returns.
func TestWhatWasTakenBeforeTheShutdownIsWaitedFor(t *testing.T) {
	for _, carriers := range []int{1, 4} {
		b := vthread.Builder{Scheduler: forkJoin(t, carriers)}
		for range 50 {
			e := vthread.NewExecutor(b)
			var taken, ran atomic.Int32
			var wg sync.WaitGroup
			submitAll := func() {
				for {
					_, err := vthread.Submit(e, func() (int, error) { vthread.Yield(); ran.Add(1); return 0, nil })
					if errors.Is(err, vthread.ErrShutdown) {
						return
					}
					if err != nil {
						t.Error(err)
						return
					}
					taken.Add(1)
					vthread.Yield()
				}
			}
			for range 2 {
				wg.Go(submitAll)
			}
			th := b.Start(submitAll)
			eventually(t, "some are taken", func() bool { return taken.Load() > 20 })
			closed(t, e)
			done := ran.Load()
			wg.Wait()
			th.Join()
			if n := taken.Load(); n != done {
				t.Fatalf("%d tasks were taken, %d had run when it was closed", n, done)
			}
		}
	}
}

func TestAnExecutorForgetsThreadsThatHaveEndedAndTheirValuesAtOnce(t *testing.T) {
	e := vthread.NewExecutor(vthread.Builder{})
	var release vthread.Promise[*[1 << 10]byte]
	first, err := vthread.Submit(e, release.Get)
	if err != nil {
		t.Fatal(err)
	}
	submit := func() *vthread.Future[*[1 << 10]byte] {
		f, err := vthread.Submit(e, func() (*[1 << 10]byte, error) { return new([1 << 10]byte), nil })
		if err != nil {
			t.Fatal(err)
		}
		f.Get()
		f.Thread().Join()
		return f
	}
	gone := func(where *atomic.Bool) bool { runtime.GC(); return where.Load() }

	var value, thread atomic.Bool
	func() {
		f := submit()
		v, _ := f.Get()
		runtime.AddCleanup(v, func(b *atomic.Bool) { b.Store(true) }, &value)
		runtime.AddCleanup(f.Thread(), func(b *atomic.Bool) { b.Store(true) }, &thread)
	}()
	eventually(t, "the value is collected", func() bool { return gone(&value) })
	for range 200 {
		submit()
	}
	eventually(t, "the thread is collected", func() bool { return gone(&thread) })
	if got := e.Threads(); !slices.Equal(got, []*vthread.Thread{first.Thread()}) {
		t.Errorf("threads %v, want the one that waits", got)
	}
	release.Complete(nil)
	closed(t, e)
}

func TestExecutorsWorkInABubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := vthread.NewExecutor(vthread.Builder{})
		begin := time.Now()
		futures, err := vthread.RunAll(context.Background(), e,
			func() (int, error) { vthread.Sleep(time.Hour); return 1, nil },
			func() (int, error) { time.Sleep(time.Minute); return 2, nil })
		if err != nil {
			t.Fatal(err)
		}
		for i, f := range futures {
			if v, err := f.Get(); v != i+1 || err != nil {
				t.Errorf("got %d, %v", v, err)
			}
		}
		f, err := vthread.Submit(e, func() (int, error) { vthread.Sleep(time.Hour); return 0, nil })
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.GetFor(time.Second); err != vthread.ErrTimeout {
			t.Errorf("got %v, want a time-out", err)
		}
		closed(t, e)
		if d := time.Since(begin); d != 2*time.Hour {
			t.Errorf("took %v, want 2h", d)
		}
	})
}

func ExampleExecutor() {
	e := vthread.NewExecutor(vthread.Builder{Name: "fetch"})
	defer e.Close()
	f, err := vthread.Submit(e, func() (string, error) { return "hello", nil })
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(f.Get())
	// Output: hello <nil>
}

func ExampleRunAny() {
	e := vthread.NewExecutor(vthread.Builder{})
	defer e.Close()
	fmt.Println(vthread.RunAny(context.Background(), e,
		func() (string, error) { return "slow mirror", vthread.Sleep(time.Minute) },
		func() (string, error) { return "fast mirror", nil }))
	// Output: fast mirror <nil>
}

func BenchmarkSubmitAndGet(b *testing.B) {
	onOneCarrier(b, func(builder vthread.Builder) {
		e := vthread.NewExecutor(builder)
		defer e.Close()
		for b.Loop() {
			f, err := vthread.Submit(e, func() (int, error) { return 1, nil })
			if err != nil {
				b.Fatal(err)
			}
			f.Get()
		}
	})
}

// onOneCarrier runs f on a thread of a scheduler with one carrier, for benchmarks.
func onOneCarrier(b *testing.B, f func(builder vthread.Builder)) { onSome(b, 1, f) }

func onSome(b *testing.B, carriers int, f func(builder vthread.Builder)) {
	b.Helper()
	fj, err := sched.NewForkJoin(sched.ForkJoinOptions{Parallelism: carriers})
	if err != nil {
		b.Fatal(err)
	}
	defer fj.Close()
	builder := vthread.Builder{Scheduler: fj}
	b.ReportAllocs()
	builder.Start(func() { f(builder) }).Join()
}
