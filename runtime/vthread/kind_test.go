package vthread_test

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"runtime/pprof"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vtscope/vtscope/internal/computetest"
	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/internal/coro"
	"github.com/vtscope/vtscope/runtime/sched"
	"github.com/vtscope/vtscope/runtime/vthread"
)

// nested is the kind of a thread that a virtual one adopts.
const nested vthread.Kind = 100

var kinds = []vthread.Kind{vthread.Virtual, vthread.OnGoroutine, vthread.OnOSThread, vthread.Adopted, nested}

// start starts a thread of any kind that executes f.
func start(b vthread.Builder, f func()) *vthread.Thread {
	begun := make(chan *vthread.Thread, 1)
	run := func() {
		b.Kind = vthread.Adopted
		b.Run(func() { begun <- vthread.Current(); f() })
	}
	switch b.Kind {
	case vthread.Adopted:
		go run()
	case nested:
		vthread.Start(run)
	default:
		return b.Start(f)
	}
	return <-begun
}

// eachKind runs f with a builder of each kind.
func eachKind(t *testing.T, f func(t *testing.T, b vthread.Builder)) {
	for _, k := range kinds {
		name := k.String()
		if k == nested {
			name = "adopted by a virtual thread"
		}
		t.Run(name, func(t *testing.T) { f(t, vthread.Builder{Kind: k}) })
	}
}

// await waits until th is in state s.
func await(t *testing.T, th *vthread.Thread, s flight.State) {
	t.Helper()
	for end := time.Now().Add(time.Minute); th.State() != s; time.Sleep(100 * time.Microsecond) {
		if time.Now().After(end) {
			t.Fatalf("thread %s, want it %s", th, s)
		}
	}
}

func TestThreadsOfAllKindsHaveTheSameStates(t *testing.T) {
	eachKind(t, func(t *testing.T, b vthread.Builder) {
		var stop atomic.Bool
		begun := make(chan struct{})
		body := func() {
			<-begun
			for !stop.Load() {
				runtime.Gosched()
			}
			vthread.Park()
			vthread.ParkFor(time.Hour)
			sleeper := vthread.Start(func() { vthread.Sleep(time.Hour) })
			sleeper.Join()
			sleeper.Interrupt()
			sleeper.Join()
		}
		var th *vthread.Thread
		want := b.Kind
		if b.Kind >= vthread.Adopted {
			want = vthread.Adopted
			th = start(b, body)
		} else {
			th = b.Unstarted(body)
			await(t, th, flight.StateNew)
			if err := th.Start(); err != nil {
				t.Fatal(err)
			}
		}
		close(begun)
		if th.Kind() != want {
			t.Errorf("kind %s, want %s", th.Kind(), want)
		}
		await(t, th, flight.StateMounted)
		stop.Store(true)
		await(t, th, flight.StateParked)
		th.Unpark()
		await(t, th, flight.StateTimedParked)
		th.Unpark()
		await(t, th, flight.StateWaiting)
		th.Interrupt()
		await(t, th, flight.StateDone)
		th.Join()
	})
}

func TestAThreadInAGoOperationIsPinnedAsSeenFromOutside(t *testing.T) {
	if flight.Default() == nil {
		t.Skip("the recorder is off, and the watchdog looks only at recorded threads")
	}
	wait := make(chan struct{})
	var goesOn, stop atomic.Bool
	th := vthread.Start(func() {
		<-wait
		goesOn.Store(true)
		computetest.Until(&stop)
	})
	await(t, th, flight.StatePinned)
	close(wait)
	for !goesOn.Load() {
		runtime.Gosched()
	}
	if s := th.State(); s != flight.StateMounted { // at once, not when the watchdog looks next
		t.Errorf("it goes on, and is %s", s)
	}
	stop.Store(true)
	th.Join()
}

func TestChildrenOfAThreadWithAGoroutineAreVirtual(t *testing.T) {
	eachKind(t, func(t *testing.T, b vthread.Builder) {
		start(b, func() {
			child := vthread.Start(func() {})
			if child.Kind() != vthread.Virtual || child.Scheduler() != sched.Scheduler(sched.Default()) {
				t.Errorf("kind %s on %T, want virtual on the default scheduler", child.Kind(), child.Scheduler())
			}
			child.Join()
		}).Join()
	})
}

func TestAnOSThreadIsItsThreadsOwnAndLeavesWithIt(t *testing.T) {
	ids := make(chan int, 2)
	locked := func() {
		first := osThread()
		for range 20 {
			vthread.Yield()
			vthread.Sleep(10 * time.Microsecond)
			if now := osThread(); now != first {
				t.Errorf("moved from OS thread %d to %d", first, now)
			}
		}
		ids <- first
	}
	b := vthread.Builder{Kind: vthread.OnOSThread}
	one, two := b.Start(locked), b.Start(locked)
	one.Join()
	two.Join()
	if a, b := <-ids, <-ids; a == b && a != 0 {
		t.Errorf("two threads on OS thread %d", a)
	}
}

func TestAKindWithItsOwnGoroutineTakesNoScheduler(t *testing.T) {
	defer func() {
		if v := recover(); v == nil {
			t.Error("no panic, want one")
		}
	}()
	vthread.Builder{Kind: vthread.OnGoroutine, Scheduler: sched.Default()}.Start(func() {})
}

func TestGoexitAndHandledPanicsEndOnlyTheThread(t *testing.T) {
	eachKind(t, func(t *testing.T, b vthread.Builder) {
		deferred := false
		start(b, func() {
			defer func() { deferred = true }()
			runtime.Goexit()
		}).Join()
		if !deferred {
			t.Error("Goexit ran no deferred function")
		}
		var stack []byte
		var value any
		b.OnPanic = func(_ *vthread.Thread, v any, s []byte) { value, stack = v, s }
		start(b, guilty).Join()
		if value != "guilty" || !bytes.Contains(stack, []byte("vthread_test.guilty")) {
			t.Errorf("handler got %v and a stack without the guilty frame:\n%s", value, stack)
		}
	})
}

//go:noinline
func guilty() { panic("guilty") }

func TestNumberedNamesCountOverAllThreads(t *testing.T) {
	b := vthread.Builder{Name: "worker-", Count: vthread.CountFrom(7)}
	names := []string{b.Unstarted(func() {}).Name(), b.Factory()(func() {}).Name()}
	th := b.Start(func() {})
	th.Join()
	if names = append(names, th.Name()); strings.Join(names, " ") != "worker-7 worker-8 worker-9" {
		t.Errorf("names %q", names)
	}
}

func TestAContextEndsWithItsThread(t *testing.T) {
	eachKind(t, func(t *testing.T, b vthread.Builder) {
		var ctx context.Context
		th := start(b, func() { ctx = vthread.Current().Context() })
		th.Join()
		if err := ctx.Err(); err != context.Canceled || th.Context().Err() == nil {
			t.Errorf("after the end: %v and %v", err, th.Context().Err())
		}
	})
}

func TestAnInterruptEndsTheContextUntilItsStatusIsCleared(t *testing.T) {
	eachKind(t, func(t *testing.T, b vthread.Builder) {
		start(b, func() {
			me := vthread.Current()
			before := me.Context()
			me.Interrupt()
			if err := context.Cause(before); err != vthread.ErrInterrupted {
				t.Errorf("cause %v, want ErrInterrupted", err)
			}
			if me.Context() != before {
				t.Error("a new context while the status is set")
			}
			if !vthread.Interrupted() || vthread.Interrupted() {
				t.Error("Interrupted does not clear the status")
			}
			if err := me.Context().Err(); err != nil {
				t.Errorf("after the status was cleared: %v", err)
			}
		}).Join()
	})
}

func TestAnInterruptBeforeTheContextIsAskedForEndsItToo(t *testing.T) {
	th := vthread.Start(func() {
		vthread.Current().Interrupt()
		if err := context.Cause(vthread.Current().Context()); err != vthread.ErrInterrupted {
			t.Errorf("cause %v, want ErrInterrupted", err)
		}
	})
	th.Join()
}

func TestInterruptsAndTheirClearingNeverLeaveADeadContext(t *testing.T) {
	var stop atomic.Bool
	th := vthread.Start(func() {
		for !stop.Load() {
			vthread.Current().Context()
			if vthread.Interrupted() {
				continue
			}
			if ctx := vthread.Current().Context(); ctx.Err() != nil && !vthread.Current().IsInterrupted() {
				t.Error("the context has ended, but the status is clear")
				return
			}
		}
	})
	for range 20_000 {
		th.Interrupt()
	}
	stop.Store(true)
	th.Join()
}

func TestJoinersThatGiveUpDoNotLoseOthers(t *testing.T) {
	eachKind(t, func(t *testing.T, b vthread.Builder) {
		for range 20 {
			target := start(b, func() { vthread.Sleep(time.Duration(rand.IntN(3000)) * time.Microsecond) })
			var joiners []*vthread.Thread
			for i := range 60 {
				joiners = append(joiners, start(vthread.Builder{Kind: kinds[i%len(kinds)]}, func() {
					for {
						var ended bool
						var err error
						switch i % 4 {
						case 0:
							ended, err = true, target.Join()
						case 1:
							ended, err = target.JoinFor(time.Duration(rand.IntN(300)) * time.Microsecond)
						case 2:
							ctx, cancel := context.WithTimeout(context.Background(), time.Duration(rand.IntN(300))*time.Microsecond)
							err = target.JoinContext(ctx)
							ended = err == nil
							cancel()
							if errors.Is(err, context.DeadlineExceeded) {
								err = nil
							}
						case 3:
							ended, err = true, target.Join()
						}
						if err == nil && ended {
							return
						}
						if err != nil && err != vthread.ErrInterrupted {
							t.Error(err)
						}
					}
				}))
			}
			for i, j := range joiners {
				if i%4 >= 2 {
					j.Interrupt()
				}
			}
			for ended := false; !ended; { // a goroutine, too
				ended, _ = target.JoinFor(100 * time.Microsecond)
			}
			for _, j := range joiners {
				j.Join()
			}
			if s := target.State(); s != flight.StateDone {
				t.Fatalf("joined, and it is %s", s)
			}
		}
	})
}

func TestProfilerLabelsNameScopeThreadAndWhatTheBuilderSays(t *testing.T) {
	eachKind(t, func(t *testing.T, b vthread.Builder) {
		if b.Kind >= vthread.Adopted && !coro.SwapsLabels {
			t.Skip("the labels of a goroutine cannot be read: build tag vtscope_nolinkname")
		}
		got := func(b vthread.Builder) string {
			labels := make(chan string)
			th := start(b, func() {
				vthread.Start(func() { // a child has those of the builder, not name and scope
					labels <- labelsOf(t, "the child")
				}).Join()
				labels <- labelsOf(t, "the thread")
			})
			child := <-labels
			own := <-labels
			th.Join()
			return own + " / " + child
		}
		b.Scope = &vthread.Scope{Name: "orders", Ended: func(*vthread.Thread, flight.Reason) {}}
		if l := got(b); l != `{"vtscope.scope":"orders"} / ` {
			t.Errorf("scope: %s", l)
		}
		b.Name, b.Labels = "w", map[string]string{"tenant": "a"}
		if l := got(b); l != `{"tenant":"a", "vtscope.scope":"orders", "vtscope.thread":"w"} / {"tenant":"a"}` {
			t.Errorf("all: %s", l)
		}
		if l := got(vthread.Builder{Kind: b.Kind}); l != " / " { // the goroutines are used again
			t.Errorf("after it: %s", l)
		}
	})
}

// labelsOf returns the labels of the calling goroutine as the goroutine profile prints them.
func labelsOf(t *testing.T, _ string) string {
	var out bytes.Buffer
	if err := pprof.Lookup("goroutine").WriteTo(&out, 1); err != nil {
		t.Error(err)
	}
	for entry := range strings.SplitSeq(out.String(), "\n\n") {
		if strings.Contains(entry, "vthread_test.labelsOf") {
			if _, labels, ok := strings.Cut(entry, "# labels: "); ok {
				labels, _, _ = strings.Cut(labels, "\n")
				return labels
			}
		}
	}
	return ""
}

func TestAUsersLabelsDoNotBreakCurrent(t *testing.T) {
	onThread(t, func() {
		me := vthread.Current()
		pprof.Do(me.Context(), pprof.Labels("k", "v"), func(context.Context) {
			if vthread.Current() != me {
				t.Error("another thread inside pprof.Do")
			}
			vthread.Yield()
		})
		if vthread.Current() != me {
			t.Error("another thread after pprof.Do")
		}
	})
}
