package vthread_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/sched"
	"github.com/vtscope/vtscope/runtime/vthread"
)

var errBoom = errors.New("boom")

// byEverybody calls test on a plain goroutine, on virtual threads with one carrier and with four, and on threads that have a goroutine of
// their own. b makes more threads like the caller, or virtual ones if that is a goroutine.
func byEverybody(t *testing.T, test func(t *testing.T, b vthread.Builder)) {
	t.Helper()
	for _, carriers := range []int{1, 4} {
		for _, caller := range []string{"goroutine", "thread"} {
			t.Run(fmt.Sprintf("caller=%s/carriers=%d", caller, carriers), func(t *testing.T) {
				b := vthread.Builder{Scheduler: forkJoin(t, carriers)}
				if caller == "goroutine" {
					test(t, b)
					return
				}
				b.Start(func() { test(t, b) }).Join()
			})
		}
	}
	for _, k := range []vthread.Kind{vthread.OnGoroutine, vthread.OnOSThread} {
		t.Run("caller="+k.String(), func(t *testing.T) {
			b := vthread.Builder{Kind: k}
			b.Start(func() { test(t, b) }).Join()
		})
	}
}

// byThreads is byEverybody without plain goroutines.
func byThreads(t *testing.T, test func(t *testing.T, b vthread.Builder)) {
	t.Helper()
	byEverybody(t, func(t *testing.T, b vthread.Builder) {
		if vthread.Current() != nil {
			test(t, b)
		}
	})
}

// forkJoin returns a scheduler that is closed when the test has passed.
func forkJoin(t *testing.T, carriers int) *sched.ForkJoin {
	t.Helper()
	fj, err := sched.NewForkJoin(sched.ForkJoinOptions{Parallelism: carriers})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			return // threads may hold its carriers
		}
		if err := fj.Close(); err != nil {
			t.Error(err)
		}
	})
	return fj
}

// eventually waits until ok, which the calling thread or goroutine may have to let others run for.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !ok(); vthread.Sleep(50 * time.Microsecond) {
		if time.Now().After(end) {
			t.Fatalf("not in time: %s", what)
		}
	}
}

// waits waits until th waits for a condition or a thread.
func waits(t *testing.T, th *vthread.Thread) {
	t.Helper()
	eventually(t, th.String()+" waits", func() bool { return th.State() == flight.StateWaiting })
}

// submit submits f to a new executor.
func submit[T any](t *testing.T, b vthread.Builder, f func() (T, error)) *vthread.Future[T] {
	t.Helper()
	future, err := vthread.Submit(vthread.NewExecutor(b), f)
	if err != nil {
		t.Fatal(err)
	}
	return future
}

func TestAFutureHasWhatItsTaskReturns(t *testing.T) {
	byEverybody(t, func(t *testing.T, b vthread.Builder) {
		value := submit(t, b, func() (int, error) { vthread.Sleep(time.Millisecond); return 7, nil })
		for range 2 {
			if v, err := value.Get(); v != 7 || err != nil {
				t.Errorf("got %d, %v, want 7", v, err)
			}
		}
		failure := submit(t, b, func() (int, error) { return 3, errBoom })
		if v, err := failure.Get(); v != 3 || err != errBoom {
			t.Errorf("got %d, %v, want 3 and boom", v, err)
		}
		if s := value.State(); s != vthread.Succeeded {
			t.Errorf("%v after success", s)
		}
		if s := failure.State(); s != vthread.Failed {
			t.Errorf("%v after an error", s)
		}
	})
}

//go:noinline
func panicking() { panic(errBoom) }

func TestAFutureTellsOfThePanicOfItsTask(t *testing.T) {
	byEverybody(t, func(t *testing.T, b vthread.Builder) {
		var seen atomic.Bool
		b.Name = "task"
		b.OnPanic = func(th *vthread.Thread, v any, stack []byte) {
			seen.Store(th == vthread.Current() && v == errBoom && strings.Contains(string(stack), "panicking"))
		}
		_, err := submit(t, b, func() (int, error) { panicking(); return 0, nil }).Get()
		var p *vthread.Panic
		if !errors.As(err, &p) || p.Value != errBoom || !errors.Is(err, errBoom) {
			t.Fatalf("got %v, want a panic with boom", err)
		}
		if !strings.Contains(p.Thread, `"task"`) || !strings.Contains(string(p.Stack), "panicking") || !strings.Contains(err.Error(), "panicking") {
			t.Errorf("got thread %s, stack\n%s\nwant thread task and the frame of panicking", p.Thread, p.Stack)
		}
		if !seen.Load() {
			t.Error("the builder's OnPanic was not called, or with something else")
		}
	})
}

func TestAFutureTellsOfAGoexitOfItsTask(t *testing.T) {
	byEverybody(t, func(t *testing.T, b vthread.Builder) {
		f := submit(t, b, func() (int, error) { runtime.Goexit(); return 0, nil })
		if _, err := f.Get(); err != vthread.ErrGoexit {
			t.Errorf("got %v, want ErrGoexit", err)
		}
		both := submit(t, b, func() (int, error) {
			defer panic(errBoom)
			runtime.Goexit()
			return 0, nil
		})
		if _, err := both.Get(); !errors.Is(err, errBoom) {
			t.Errorf("a panic during a Goexit: got %v, want boom", err)
		}
	})
}

func TestGetForAndGetContextGiveUpAndTheFutureGoesOn(t *testing.T) {
	byEverybody(t, func(t *testing.T, b vthread.Builder) {
		var p vthread.Promise[int]
		for range 3 {
			if _, err := p.GetFor(time.Millisecond); err != vthread.ErrTimeout {
				t.Errorf("got %v, want a time-out", err)
			}
			ctx, cancel := context.WithCancelCause(context.Background())
			b.Start(func() { cancel(errBoom) })
			if _, err := p.GetContext(ctx); err != errBoom {
				t.Errorf("got %v, want the context's cause", err)
			}
		}
		if p.Done() {
			t.Error("done by nobody")
		}
		b.Start(func() { p.Complete(5) })
		if v, err := p.GetFor(time.Minute); v != 5 || err != nil {
			t.Errorf("got %d, %v, want 5", v, err)
		}
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		if v, err := p.GetContext(ctx); v != 5 || err != nil {
			t.Errorf("done, with a context that has ended: got %d, %v, want 5", v, err)
		}
		if v, err := p.GetFor(-1); v != 5 || err != nil {
			t.Errorf("done, with no time left: got %d, %v, want 5", v, err)
		}
	})
}

func TestAnInterruptEndsGetAndADoneFutureDoesNotLookAtIt(t *testing.T) {
	byThreads(t, func(t *testing.T, b vthread.Builder) {
		me := vthread.Current()
		var p vthread.Promise[int]
		for _, get := range []func() (int, error){
			p.Get,
			func() (int, error) { return p.GetFor(time.Hour) },
			func() (int, error) { return p.GetContext(context.Background()) },
		} {
			me.Interrupt() // before
			if _, err := get(); err != vthread.ErrInterrupted || vthread.Interrupted() {
				t.Errorf("interrupted before: got %v, status %v", err, me.IsInterrupted())
			}
			b.Start(func() { waits(t, me); me.Interrupt() }) // while it waits
			if _, err := get(); err != vthread.ErrInterrupted || vthread.Interrupted() {
				t.Errorf("interrupted: got %v, status %v", err, me.IsInterrupted())
			}
		}
		p.Complete(1)
		me.Interrupt()
		if v, err := p.Get(); v != 1 || err != nil {
			t.Errorf("done: got %d, %v, want 1", v, err)
		}
		if !vthread.Interrupted() {
			t.Error("Get of a done future has taken the interrupt")
		}
	})
}

func TestOnlyTheFirstCompletionCounts(t *testing.T) {
	for what, complete := range map[string]func(p *vthread.Promise[int]) bool{
		"value":  func(p *vthread.Promise[int]) bool { return p.Complete(1) },
		"error":  func(p *vthread.Promise[int]) bool { return p.Fail(errBoom) },
		"cancel": func(p *vthread.Promise[int]) bool { return p.Cancel() },
	} {
		var p vthread.Promise[int]
		if !complete(&p) {
			t.Errorf("%s: the first counts for nothing", what)
		}
		v, err := p.Get()
		state := p.State()
		if p.Complete(2) || p.Fail(errors.New("late")) || p.Cancel() {
			t.Errorf("%s: a second completion counts", what)
		}
		if v2, err2 := p.Get(); v2 != v || err2 != err || p.State() != state {
			t.Errorf("%s: got %d, %v, %v after %d, %v, %v", what, v2, err2, p.State(), v, err, state)
		}
	}
}

func TestFailingWithANilErrorPanics(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	var p vthread.Promise[int]
	p.Fail(nil)
}

func TestCancelInterruptsTheTaskAndIsDoneAtOnce(t *testing.T) {
	byEverybody(t, func(t *testing.T, b vthread.Builder) {
		how := make(chan error, 1)
		f := submit(t, b, func() (int, error) {
			err := vthread.Sleep(time.Hour)
			how <- err
			return 1, err
		})
		eventually(t, "the task sleeps", func() bool { return f.Thread().State() == flight.StateTimedParked })
		if !f.Cancel() {
			t.Error("a pending future cannot be cancelled")
		}
		if _, err := f.Get(); err != vthread.ErrCanceled || f.State() != vthread.Canceled {
			t.Errorf("got %v, %v, want cancelled", err, f.State())
		}
		f.Thread().Join()
		if err := <-how; err != vthread.ErrInterrupted {
			t.Errorf("the task got %v, want an interrupt", err)
		}
		if _, err := f.Get(); err != vthread.ErrCanceled {
			t.Errorf("after the task: got %v, want cancelled", err)
		}
	})
}

func TestATaskThatIsCancelledBeforeItBeginsIsNotCalled(t *testing.T) {
	fj, err := sched.NewForkJoin(sched.ForkJoinOptions{Parallelism: 1, MaxCarriers: 1}) // however long the thread computes
	if err != nil {
		t.Fatal(err)
	}
	defer fj.Close()
	b := vthread.Builder{Scheduler: fj}
	called := false
	b.Start(func() {
		f := submit(t, b, func() (int, error) { called = true; return 0, nil }) // its carrier is ours
		f.Cancel()
		f.Thread().Join()
	}).Join()
	if called {
		t.Error("it was called")
	}
}

func TestCallbacksAreCalledOnceInOrderAfterTheWaitersAreFree(t *testing.T) {
	byEverybody(t, func(t *testing.T, b vthread.Builder) {
		var p vthread.Promise[int]
		var calls []int
		for i := range 3 {
			p.OnDone(func(v int, err error) {
				if v != 9 || err != nil {
					t.Errorf("called with %d, %v, want 9", v, err)
				}
				calls = append(calls, i)
			})
		}
		b.Start(func() { p.Complete(9) }).Join()
		p.OnDone(func(int, error) { calls = append(calls, 3) })
		if fmt.Sprint(calls) != "[0 1 2 3]" {
			t.Errorf("called %v, want 0 to 3", calls)
		}
	})
}

// A callback that panics does so where the future is completed; nobody handles that, the future of the thread's task least of all.
func TestAPanicOfACallbackEndsTheProgram(t *testing.T) {
	const culprit = "VTSCOPE_TEST_CALLBACK"
	if by := os.Getenv(culprit); by != "" {
		var registered vthread.Promise[bool]
		f := submit(t, vthread.Builder{Name: by}, func() (int, error) {
			registered.Get()
			switch by {
			case "panic":
				panic("its own")
			case "goexit":
				runtime.Goexit()
			}
			return 0, nil
		})
		f.OnDone(func(int, error) { panicking() })
		registered.Complete(true)
		f.Thread().Join()
		os.Exit(0)
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, by := range []string{"return", "panic", "goexit"} {
		t.Run("task="+by, func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), exe, "-test.run=^TestAPanicOfACallbackEndsTheProgram$")
			cmd.Env = append(os.Environ(), culprit+"="+by, "VTSCOPE=private")
			out, err := cmd.CombinedOutput()
			var exit *exec.ExitError
			if !errors.As(err, &exit) || exit.ExitCode() != 2 {
				t.Errorf("ended with %v, want exit status 2", err)
			}
			for _, want := range []string{"panic: boom", `"` + by + `"`, "vthread_test.panicking"} {
				if !strings.Contains(string(out), want) {
					t.Errorf("%q is not in the output:\n%s", want, out)
				}
			}
		})
	}
}

func TestStatesAndPanicsHaveNames(t *testing.T) {
	var got []string
	for s := vthread.Pending; s <= vthread.Canceled+1; s++ {
		got = append(got, s.String())
	}
	if fmt.Sprint(got) != "[pending succeeded failed canceled unknown]" {
		t.Errorf("states %v", got)
	}
	p := &vthread.Panic{Value: "v", Stack: []byte("frames")}
	if p.Error() != "panic: v\n\nframes" || p.Unwrap() != nil {
		t.Errorf("of a goroutine: %q, %v", p.Error(), p.Unwrap())
	}
	p = &vthread.Panic{Thread: "#1 mounted", Value: errBoom, Stack: []byte("frames")}
	if p.Error() != "panic in thread #1 mounted: boom\n\nframes" || p.Unwrap() != errBoom {
		t.Errorf("of a thread: %q, %v", p.Error(), p.Unwrap())
	}
}

func TestADumpShowsWhatAFutureIsWaitedForBy(t *testing.T) {
	reader := readFlight(t)
	b := vthread.Builder{Scheduler: forkJoin(t, 2)}
	var release vthread.Promise[int]
	f := submit(t, b, release.Get)
	waiter := b.Start(func() { f.Get() })
	waits(t, waiter)
	waits(t, f.Thread())
	if row := rowOf(t, reader, waiter); row.State != flight.StateWaiting || row.Blocker != flight.BlockThread(f.Thread().ID()) {
		t.Errorf("who waits for a task: %v %v on %v, want the thread", row.State, row.Reason, row.Blocker)
	}
	row := rowOf(t, reader, f.Thread())
	if row.State != flight.StateWaiting || row.Reason != flight.ReasonCondition || row.Blocker.Kind() != flight.BlockedByCondition {
		t.Errorf("who waits for a promise: %v %v on %v, want a condition", row.State, row.Reason, row.Blocker)
	}
	release.Complete(0)
	waiter.Join()
}

// readFlight opens the flight file of this process.
func readFlight(t *testing.T) *flight.Reader {
	t.Helper()
	path := flight.Default().Path()
	if path == "" {
		t.Skip("the recorder is off or private")
	}
	reader, err := flight.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { reader.Close() })
	return reader
}

func rowOf(t *testing.T, reader *flight.Reader, th *vthread.Thread) (row flight.ThreadRow) {
	t.Helper()
	if _, err := reader.Threads(context.Background(), func(rows []flight.ThreadRow) {
		for _, r := range rows {
			if r.ID == th.ID() {
				row = r
			}
		}
	}); err != nil {
		t.Fatal(err)
	}
	return row
}

func TestATaskThatWaitsForItselfIsToldSo(t *testing.T) {
	var p vthread.Promise[*vthread.Future[int]]
	f := submit(t, vthread.Builder{}, func() (int, error) {
		self, err := p.Get()
		if err != nil {
			return 0, err
		}
		return self.Get()
	})
	p.Complete(f)
	var panicked *vthread.Panic
	if _, err := f.GetFor(2 * time.Minute); !errors.As(err, &panicked) || !strings.Contains(fmt.Sprint(panicked.Value), "own task") {
		t.Errorf("got %v, want a panic", err)
	}
}

func TestAWaitThatWasGivenUpIsNotWokenAnyMore(t *testing.T) {
	byThreads(t, func(t *testing.T, b vthread.Builder) {
		var before, now vthread.Promise[int]
		me := vthread.Current()
		before.GetFor(time.Millisecond)
		b.Start(func() { waits(t, me); before.Complete(1); vthread.Yield(); now.Complete(2) })
		if v, err := now.Get(); v != 2 || err != nil {
			t.Errorf("got %d, %v, want 2", v, err)
		}
	})
}

// SS-07: timed waits race with the completion; each gets the value or gives up, and nobody is left behind, or woken from a later wait.
func TestTimedWaitsThatRaceWithTheCompletionEnd(t *testing.T) {
	rounds := 300
	if testing.Short() {
		rounds = 30
	}
	for _, carriers := range []int{1, 4} {
		b := vthread.Builder{Scheduler: forkJoin(t, carriers)}
		promises := make([]vthread.Promise[int], rounds)
		var got, late atomic.Int32
		get := func(k int) func() {
			return func() {
				for i := range promises {
					switch v, err := promises[i].GetFor(time.Duration((i+k)%10) * 20 * time.Microsecond); {
					case err == nil && v == i+1:
						got.Add(1)
					case err == vthread.ErrTimeout || err == vthread.ErrInterrupted:
						late.Add(1)
					default:
						t.Errorf("got %d, %v, want %d", v, err, i+1)
					}
				}
			}
		}
		const n = 20
		var threads []*vthread.Thread
		for k := range n {
			b := b
			if k%10 == 9 {
				b = vthread.Builder{Kind: vthread.OnGoroutine}
			}
			threads = append(threads, b.Start(get(k)))
		}
		completer := b.Start(func() {
			for i := range promises {
				vthread.Sleep(50 * time.Microsecond)
				promises[i].Complete(i + 1)
				threads[i%n].Interrupt()
			}
		})
		get(0)()
		for _, th := range append(threads, completer) {
			th.Join()
		}
		t.Logf("carriers=%d: %d got the value, %d gave up", carriers, got.Load(), late.Load())
		if sum := int(got.Load() + late.Load()); sum != (n+1)*rounds {
			t.Errorf("%d waits ended, want %d", sum, (n+1)*rounds)
		}
	}
}

func ExamplePromise() {
	var p vthread.Promise[string]
	go func() { p.Complete("done") }()
	fmt.Println(p.Get())
	fmt.Println(p.Complete("again"))
	// Output:
	// done <nil>
	// false
}
