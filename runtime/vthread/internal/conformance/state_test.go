package conformance_test

import (
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vtscope/vtscope/internal/computetest"
	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/internal/coro"
	"github.com/vtscope/vtscope/runtime/vthread"
)

// spins computes until it is told to stop.
//
//go:noinline
func spins(stop *atomic.Bool) {
	computetest.Until(stop)
}

// LC-14
func TestAThreadThatSpinsIsMounted(t *testing.T) {
	everywhere(t, axes{callers: true, kinds: true, pins: true, apart: true}, func(w *world) {
		var stop atomic.Bool
		w.Cleanup(func() { stop.Store(true) })
		th := w.builder().Unstarted(w.pinned(func() { spins(&stop) }))
		if got := th.State(); got != flight.StateNew {
			w.Errorf("unstarted: got %v, want new", got)
		}
		if err := th.Start(); err != nil {
			w.Fatal(err)
		}
		w.awaitState(th, flight.StateMounted)
		for range 1000 {
			if got := th.State(); got != flight.StateMounted {
				w.Fatalf("spinning: got %v, want mounted", got)
			}
		}
		stop.Store(true)
		w.join(th)
		if got := th.State(); got != flight.StateDone {
			w.Errorf("ended: got %v, want done", got)
		}
	})
}

// LC-14: also after waits of all sorts, in which it may have been pinned.
func TestAThreadThatGoesOnIsMounted(t *testing.T) {
	everywhere(t, axes{callers: true, kinds: true, adopted: true, pins: true, apart: true}, func(w *world) {
		var stop atomic.Bool
		w.Cleanup(func() { stop.Store(true) })
		blocked, goesOn := make(chan struct{}), newGate()
		th := w.start(func() {
			vthread.ParkFor(5 * time.Millisecond)
			vthread.Sleep(time.Millisecond)
			<-blocked
			goesOn.open()
			spins(&stop)
		})
		time.Sleep(10 * time.Millisecond) // so that it may be seen blocked in Go; if it is not, the test only shows less
		blocked <- struct{}{}
		<-goesOn.opened
		for range 1000 {
			if got := th.State(); got != flight.StateMounted {
				w.Fatalf("spinning again: got %v, want mounted", got)
			}
		}
		stop.Store(true)
		w.join(th)
	})
}

// LC-15: a scheduler that waits shows it.
func TestAThreadIsRunnableUntilItsCarrierTakesIt(t *testing.T) {
	k := &keeper{}
	th := vthread.Builder{Scheduler: k}.Start(func() {
		vthread.Park()
		vthread.Yield()
		vthread.ParkFor(long)
	})
	wants := func(when string, s flight.State) {
		t.Helper()
		if got := th.State(); got != s {
			t.Errorf("%s: got %v, want %v", when, got, s)
		}
	}
	wants("started", flight.StateRunnable)
	k.run(t)
	wants("after its first run", flight.StateParked)
	th.Unpark()
	wants("unparked", flight.StateRunnable)
	k.run(t)
	wants("after a yield", flight.StateRunnable)
	k.run(t)
	wants("after its third run", flight.StateTimedParked)
	th.Interrupt()
	wants("interrupted", flight.StateRunnable)
	k.run(t)
	wants("after its last run", flight.StateDone)
}

// LC-16
func TestAParkedThreadIsShownAsSuchUntilItIsUnparked(t *testing.T) {
	other := vthread.Start(func() { vthread.Park() })
	defer func() {
		other.Unpark()
		join(t, other)
	}()
	everywhere(t, axes{callers: true, kinds: true, adopted: true, pins: true}, func(w *world) {
		for _, wait := range append([]wait{
			{"Sleep", flight.StateTimedParked, func() { vthread.Sleep(long) }},
			{"Join", flight.StateWaiting, func() { other.Join() }},
			{"JoinFor", flight.StateWaiting, func() { other.JoinFor(long) }},
		}, waits...) {
			th := w.start(wait.park)
			w.awaitState(th, w.paused(wait.state))
			for range 10 {
				vthread.Yield()
				if got := th.State(); got != w.paused(wait.state) {
					w.Errorf("%s: got %v, want %v", wait.name, got, w.paused(wait.state))
				}
			}
			th.Interrupt()
			w.join(th)
		}
	})
}

// needEyes skips where nothing can be seen of other goroutines.
func needEyes(t *testing.T) {
	if !coro.SharedLookout().Sees() {
		t.Skip("this architecture or Go release does not let goroutines be looked at")
	}
}

// functions returns the names of a stack's functions, without the path of their packages.
func functions(s vthread.Stack) (names []string) {
	for _, f := range s.Frames {
		names = append(names, f.Function[strings.LastIndexByte(f.Function, '/')+1:])
	}
	return names
}

// LC-21
func TestAThreadThatDoesNotRunHasNoStack(t *testing.T) {
	needEyes(t)
	everywhere(t, axes{callers: true, kinds: true, pins: true}, func(w *world) {
		none := func(th *vthread.Thread, when string) {
			if got := functions(th.Stack()); len(got) != 0 {
				w.Errorf("%s: got %v, want no frames", when, got)
			}
		}
		th := w.builder().Unstarted(w.pinned(func() { vthread.Park() }))
		none(th, "unstarted")
		if err := th.Start(); err != nil {
			w.Fatal(err)
		}
		th.Unpark()
		w.join(th)
		none(th, "ended")
		if w.kind == vthread.Virtual {
			k := &keeper{}
			th := vthread.Builder{Scheduler: k}.Start(w.pinned(func() {}))
			none(th, "started, and never scheduled")
			k.run(w.T)
			w.join(th)
		}
	})
}

// LC-22
func TestTheStackOfASpinningThreadShowsItsFunction(t *testing.T) {
	needEyes(t)
	everywhere(t, axes{callers: true, kinds: true, adopted: true, pins: true, apart: true}, func(w *world) {
		var stop atomic.Bool
		w.Cleanup(func() { stop.Store(true) })
		th := w.start(func() { spins(&stop) })
		var s vthread.Stack
		if !becomes(func() bool {
			s = th.Stack()
			return s.State == flight.StateMounted && slices.Contains(functions(s), "conformance_test.spins")
		}) {
			w.Errorf("got %v in state %v, want conformance_test.spins in it, mounted", functions(s), s.State)
		}
		if s.Exact {
			w.Error("got an exact stack, want it inexact")
		}
		stop.Store(true)
		w.join(th)
	})
}

//go:noinline
func waitsDeep(depth int, wait func()) {
	if depth == 0 {
		wait()
		return
	}
	waitsDeep(depth-1, wait)
}

// LC-24: exactly, from the park to the thread's own function.
func TestTheStackOfAParkedThreadShowsItsFunctions(t *testing.T) {
	needEyes(t)
	other := vthread.Start(func() { vthread.Park() })
	defer func() {
		other.Unpark()
		join(t, other)
	}()
	everywhere(t, all, func(w *world) {
		for _, wait := range []struct {
			wait
			function string // that the user has called
		}{
			{waits[0], "vthread.Park"},
			{waits[1], "vthread.ParkFor"},
			{waits[2], "vthread.ParkUntil"},
			{wait{"Sleep", flight.StateTimedParked, func() { vthread.Sleep(long) }}, "vthread.Sleep"},
			{wait{"Join", flight.StateWaiting, func() { other.Join() }}, "vthread.(*Thread).Join"},
		} {
			const depth = 5
			th := w.start(func() { waitsDeep(depth, wait.park) })
			w.awaitState(th, w.paused(wait.state))
			s := th.Stack()
			got := functions(s)
			if !s.Exact || s.State != w.paused(wait.state) {
				w.Errorf("%s: got exact %v in state %v, want exact, %v", wait.name, s.Exact, s.State, w.paused(wait.state))
			}
			at := slices.Index(got, wait.function)
			if at < 0 || slices.Index(got, "conformance_test.waitsDeep") < at {
				w.Errorf("%s: got %v, want %s before waitsDeep", wait.name, got, wait.function)
			}
			if n := strings.Count(strings.Join(got, " "), "conformance_test.waitsDeep"); n != depth+1 {
				w.Errorf("%s: got %d frames of waitsDeep in %v, want %d", wait.name, n, got, depth+1)
			}
			th.Interrupt()
			w.join(th)
		}
	})
}

// goroutines returns the stacks of all goroutines, in Go's form.
func goroutines() string {
	for buf := make([]byte, 1<<20); ; buf = make([]byte, 2*len(buf)) {
		if n := runtime.Stack(buf, true); n < len(buf) {
			return string(buf[:n])
		}
	}
}

// begins tells that it runs, and then spins. A thread is mounted a moment before it executes.
func begins(begun, stop *atomic.Bool) {
	begun.Store(true)
	spins(stop)
}

// LC-25: of the goroutines that Go lists, none has the frames of both.
func TestACarriersStackDoesNotShowItsThreadsFunctions(t *testing.T) {
	everywhere(t, axes{}, func(w *world) {
		var begun, stop atomic.Bool
		w.Cleanup(func() { stop.Store(true) })
		th := w.start(func() { begins(&begun, &stop) })
		await(w, "the thread executes", begun.Load)
		const carriers, threads = "sched.(*ForkJoin).startCarrier", "conformance_test.begins("
		ofCarriers, ofThreads := 0, 0
		for g := range strings.SplitSeq(goroutines(), "\n\n") {
			carrier, thread := strings.Contains(g, carriers), strings.Contains(g, threads)
			if carrier && thread {
				w.Errorf("got a carrier with a frame of its thread:\n%s", g)
			}
			if carrier {
				ofCarriers++
			}
			if thread {
				ofThreads++
			}
		}
		if ofCarriers == 0 || ofThreads != 1 {
			w.Errorf("got %d goroutines of carriers and %d of the thread, want some and 1", ofCarriers, ofThreads)
		}
		stop.Store(true)
		w.join(th)
	})
}

// A worker has a method that threads execute by reflection.
type worker struct{ wait func() }

func (w worker) Work() { waitsDeep(2, func() { reflect.ValueOf(w.wait).Call(nil) }) }

// LC-35
func TestReflectedCallsWorkAndTheRuntimesFramesAreHidden(t *testing.T) {
	needEyes(t)
	everywhere(t, startable, func(w *world) {
		entry := reflect.ValueOf(worker{func() { vthread.Park() }}).MethodByName("Work").Interface().(func())
		th := w.builder().Start(w.pinned(entry))
		w.awaitParked(th)
		got := functions(th.Stack())
		for _, want := range []string{"vthread.Park", "reflect.Value.Call", "conformance_test.waitsDeep", "conformance_test.worker.Work"} {
			if !slices.Contains(got, want) {
				w.Errorf("got %v, want %s in it", got, want)
			}
		}
		for _, name := range got {
			for _, hidden := range []string{"runtime.", "coro.", "sched.", "iter.", "vthread.(*body)"} {
				if strings.HasPrefix(name, hidden) {
					w.Errorf("got %s in %v, want it hidden", name, got)
				}
			}
		}
		th.Unpark()
		w.join(th)
	})
}
