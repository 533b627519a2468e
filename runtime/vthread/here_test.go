package vthread_test

import (
	"context"
	"runtime"
	"runtime/pprof"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/internal/coro"
	"github.com/vtscope/vtscope/runtime/sched"
	"github.com/vtscope/vtscope/runtime/vthread"
)

// onGoroutine calls f on a goroutine of its own.
func onGoroutine(f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	<-done
}

func startHere(f func()) *vthread.Thread { return vthread.Builder{}.StartHere(f) }

func TestAGoroutineExecutesWhatItStartsHereUntilThatParks(t *testing.T) {
	onGoroutine(func() {
		var first, then flight.CarrierID
		ended := false
		th := startHere(func() {
			first = sched.CarrierOf(sched.Current())
			runtime.Gosched()
			vthread.Park()
			then = sched.CarrierOf(sched.Current())
			ended = true
		})
		if vthread.Current() != nil || first != flight.NoCarrier {
			t.Errorf("it was executed by carrier %d; want no carrier, and the caller no thread", first)
		}
		await(t, th, flight.StateParked)
		if th.Kind() != vthread.Virtual || th.Scheduler() != sched.Scheduler(sched.Default()) {
			t.Errorf("got a thread of kind %s on %v, want a virtual one on the default", th.Kind(), th.Scheduler())
		}
		th.Unpark()
		if err := th.Join(); err != nil || !ended || then == flight.NoCarrier {
			t.Errorf("got %v, ended %v on carrier %d; want the end on a carrier", err, ended, then)
		}
	})
}

func TestWhatIsStartedHereEndsInEachWay(t *testing.T) {
	onGoroutine(func() {
		var value any
		panics := vthread.Builder{OnPanic: func(_ *vthread.Thread, v any, _ []byte) { value = v }}
		for what, f := range map[string]func(){
			"returns": func() {},
			"panics":  func() { panic("it does") },
			"exits":   runtime.Goexit,
			"parks and returns": func() {
				vthread.Sleep(time.Microsecond)
			},
			"parks and exits": func() {
				vthread.Sleep(time.Microsecond)
				runtime.Goexit()
			},
			"stays locked": runtime.LockOSThread,
			"parks locked": func() {
				runtime.LockOSThread()
				vthread.Sleep(time.Millisecond)
				runtime.UnlockOSThread()
			},
			"yields": vthread.Yield,
		} {
			for range 20 {
				th := panics.StartHere(f)
				if err := th.Join(); err != nil || th.State() != flight.StateDone {
					t.Errorf("%s: got %v, %s; want it done", what, err, th.State())
				}
				if vthread.Current() != nil {
					t.Errorf("%s: the caller is a thread", what)
				}
			}
		}
		if value != "it does" {
			t.Errorf("the panic was %v", value)
		}
	})
}

// Where the caller cannot execute the thread, it is started as ever, and the caller goes on.
func TestWhatCannotBeExecutedHereIsStarted(t *testing.T) {
	goesOn := func(t *testing.T, b vthread.Builder) {
		t.Helper()
		release := make(chan struct{})
		th := b.StartHere(func() { <-release })
		close(release)
		th.Join()
	}
	t.Run("threads", func(t *testing.T) {
		eachKind(t, func(t *testing.T, b vthread.Builder) {
			start(b, func() { goesOn(t, vthread.Builder{}) }).Join()
		})
	})
	onGoroutine(func() {
		runtime.LockOSThread()
		goesOn(t, vthread.Builder{})
		runtime.UnlockOSThread()
		goesOn(t, vthread.Builder{Kind: vthread.OnGoroutine})
		fj, err := sched.NewForkJoin(sched.ForkJoinOptions{Parallelism: 1})
		if err != nil {
			t.Error(err)
			return
		}
		defer fj.Close()
		goesOn(t, vthread.Builder{Scheduler: fj})
	})
	synctest.Test(t, func(t *testing.T) {
		goesOn(t, vthread.Builder{})
		began := time.Now()
		startHere(func() { vthread.Sleep(time.Hour) }).Join()
		if d := time.Since(began); d != time.Hour {
			t.Errorf("slept for %v in a bubble", d)
		}
	})
}

func TestWhatIsStartedHereHasNoLabelsOfItsCaller(t *testing.T) {
	if !coro.SwapsLabels {
		t.Skip("labels of goroutines cannot be read here")
	}
	onGoroutine(func() {
		pprof.Do(context.Background(), pprof.Labels("caller", "yes"), func(context.Context) {
			for range 50 { // some on routines that are made here
				labelled := false
				startHere(func() { labelled = coro.Labels() != nil }).Join()
				if labelled {
					t.Fatal("the thread has labels")
				}
			}
		})
	})
}

// Many goroutines start threads here at a time, which meet others of carriers.
func TestThreadsStartedHereWakeEachOther(t *testing.T) {
	before := sched.Default().Stats().Figures
	defer func() {
		after := sched.Default().Stats().Figures
		if s, e := after[flight.FigureStarts]-before[flight.FigureStarts], after[flight.FigureEnds]-before[flight.FigureEnds]; s != e || s < 2000 {
			t.Errorf("the figures have %d more starts and %d more ends, want as many, and 2,000 at least", s, e)
		}
	}()
	var sum atomic.Int64
	done := make(chan struct{})
	for range 20 {
		go func() {
			defer func() { done <- struct{}{} }()
			for range 50 {
				var other *vthread.Thread
				th := startHere(func() {
					me := vthread.Current()
					other = vthread.Start(func() { sum.Add(1); me.Unpark() })
					vthread.Park()
					sum.Add(1)
				})
				th.Join()
				other.Join()
			}
		}()
	}
	for range 20 {
		<-done
	}
	if got := sum.Load(); got != 2000 {
		t.Errorf("got %d, want 2000", got)
	}
}

// The end of its context interrupts a thread of any kind, if it is asked for: before it waits first, while it waits, and when it only asks.
func TestTheEndOfItsContextInterruptsAThread(t *testing.T) {
	eachKind(t, func(t *testing.T, b vthread.Builder) {
		ways := map[string]func(end func()) error{
			"before it waits": func(end func()) error { end(); return vthread.Sleep(time.Hour) },
			"while it waits": func(end func()) error {
				time.AfterFunc(time.Millisecond, end)
				return vthread.Sleep(time.Hour)
			},
			"while it parks": func(end func()) error {
				time.AfterFunc(time.Millisecond, end)
				for !vthread.Current().IsInterrupted() {
					vthread.Park()
				}
				return vthread.ErrInterrupted
			},
			"when it asks": func(end func()) error {
				end()
				for !vthread.Interrupted() {
					runtime.Gosched()
				}
				return vthread.ErrInterrupted
			},
		}
		for name, f := range ways {
			ctx, cancel := context.WithCancel(t.Context())
			b.Context, b.InterruptOnDone = ctx, true
			var err error
			start(b, func() { err = f(cancel) }).Join()
			if err != vthread.ErrInterrupted {
				t.Errorf("%s: got %v, want that it was interrupted", name, err)
			}
			cancel()
			b.InterruptOnDone = false
			start(b, func() { err = vthread.Sleep(time.Millisecond) }).Join()
			if err != nil {
				t.Errorf("not asked for: got %v", err)
			}
		}
		// A thread whose context has no end, and one that ends first.
		b.Context, b.InterruptOnDone = context.Background(), true
		start(b, func() { vthread.Sleep(time.Microsecond) }).Join()
		ctx, cancel := context.WithCancel(t.Context())
		b.Context = ctx
		th := start(b, func() { vthread.Sleep(time.Microsecond) })
		th.Join()
		cancel()
		time.Sleep(time.Millisecond)
		if th.IsInterrupted() {
			t.Error("a thread that has ended was interrupted")
		}
	})
}
