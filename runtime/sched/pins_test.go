package sched_test

import (
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vtscope/vtscope/runtime/continuation"
	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/internal/coro"
	"github.com/vtscope/vtscope/runtime/sched"
	"github.com/vtscope/vtscope/runtime/vthread"
)

// watchedPins collects the pins of the test's threads.
type watchedPins struct {
	sync.Mutex
	all []sched.Pin
}

func watchPins() (w *watchedPins, stop func()) {
	w = new(watchedPins)
	return w, sched.WatchPins(func(p sched.Pin) { w.Lock(); defer w.Unlock(); w.all = append(w.all, p) })
}

// of returns those of one thread.
func (w *watchedPins) of(id flight.ThreadID) []sched.Pin {
	w.Lock()
	defer w.Unlock()
	return slices.DeleteFunc(slices.Clone(w.all), func(p sched.Pin) bool { return p.Thread != id })
}

// passes reports whether one of the pin's frames is of a function of that name.
func passes(p sched.Pin, function string) bool {
	frames := runtime.CallersFrames(p.PCs)
	for {
		f, more := frames.Next()
		if strings.HasSuffix(f.Function, "."+function) {
			return true
		}
		if !more {
			return false
		}
	}
}

//go:noinline
func parkHere() { vthread.Park() }

// parks waits until a thread shows a state, and then unparks and joins it.
func parks(t *testing.T, th *vthread.Thread, as flight.State) {
	t.Helper()
	await(t, "it is "+as.String(), func() bool { return th.State() == as })
	unpark(th)
	th.Join()
}

func TestEachPinIsToldOnceWithItsPlace(t *testing.T) {
	w, stop := watchPins()
	defer stop()
	b := vthread.Builder{Scheduler: newForkJoin(t, sched.ForkJoinOptions{Parallelism: 2})}
	for why, body := range map[flight.Reason]func(){
		flight.ReasonPinnedSection: func() {
			continuation.Pin()
			defer continuation.Unpin()
			parkHere()
		},
		flight.ReasonPinnedOSThread: func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			parkHere()
		},
	} {
		if why == flight.ReasonPinnedOSThread && !(coro.CanProbe() && coro.Binds) {
			continue // no thread is pinned for that here
		}
		begun := time.Now()
		th := b.Start(body)
		parks(t, th, flight.StatePinned)
		most := time.Since(begun)
		got := w.of(th.ID())
		if len(got) != 1 || got[0].Reason != why || !got[0].Over || got[0].Held <= 0 || got[0].Held > most || !passes(got[0], "parkHere") {
			t.Errorf("%v: got %+v, want one pin of up to %v in parkHere", why, got, most)
		}
	}
	th := b.Start(parkHere)
	parks(t, th, flight.StateParked)
	if got := w.of(th.ID()); len(got) != 0 {
		t.Errorf("a park that gives its carrier away: got %+v, want no pin", got)
	}
}

func TestAnOperationOfGosIsToldAsAPin(t *testing.T) {
	if !coro.SharedLookout().Sees() {
		t.Skip("goroutines cannot be looked at here")
	}
	w, stop := watchPins()
	p := continuation.NewPrompt("p")
	ch := make(chan struct{})
	b := vthread.Builder{Scheduler: newForkJoin(t, sched.ForkJoinOptions{Parallelism: 2})}
	plain := b.Start(func() { waitInGo(ch) })
	nested := b.Start(func() { continuation.New(p, func() { waitInGo(ch) }).Run() })
	still := make(chan struct{})
	stays := b.Start(func() { <-still })
	defer close(still)
	blocks := func(th *vthread.Thread, function string) bool { // and not for a lock of the recorder's
		return th.State() == flight.StatePinned && slices.ContainsFunc(th.Stack().Frames, func(f runtime.Frame) bool {
			return strings.Contains(f.Function, function)
		})
	}
	await(t, "all three held", func() bool {
		return blocks(plain, "waitInGo") && blocks(nested, "waitInGo") && blocks(stays, "TestAnOperationOfGosIsToldAsAPin")
	})
	inGo := func(th *vthread.Thread) []sched.Pin {
		return slices.DeleteFunc(w.of(th.ID()), func(p sched.Pin) bool { return !passes(p, "waitInGo") })
	}
	if got := inGo(plain); len(got) != 0 {
		t.Errorf("while it blocks: got %+v, want nothing", got)
	}
	close(ch)
	for _, th := range []*vthread.Thread{plain, nested} {
		th.Join()
		await(t, "its pin", func() bool { return len(inGo(th)) > 0 })
		got := inGo(th)
		if len(got) != 1 || got[0].Reason != flight.ReasonPinnedGo || !got[0].Over {
			t.Errorf("got %+v, want one go-operation in waitInGo", got)
		}
	}
	stop()
	if got := w.of(stays.ID()); len(got) != 1 || got[0].Over {
		t.Errorf("at the end: got %+v, want one pin that is not over", got)
	}
}

func TestPinsAreNotToldAfterStop(t *testing.T) {
	w, stop := watchPins()
	stop()
	th := vthread.Start(func() {
		continuation.Pin()
		defer continuation.Unpin()
		parkHere()
	})
	parks(t, th, flight.StatePinned)
	if got := w.of(th.ID()); len(got) != 0 {
		t.Errorf("got %+v, want nothing", got)
	}
}

// PN-06
func TestAnObserverOfPinsThatPanicsBreaksNobody(t *testing.T) {
	one, err := sched.NewForkJoin(sched.ForkJoinOptions{Parallelism: 1, MaxCarriers: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer one.Close()
	for name, s := range map[string]sched.Scheduler{
		"forkjoin": newForkJoin(t, sched.ForkJoinOptions{Parallelism: 2}), "default": nil, "one-carrier": one, "single": newSingle(t),
	} {
		t.Run("scheduler="+name, func(t *testing.T) {
			var mine atomic.Uint64
			called := 0
			before, stopBefore := watchPins()
			defer stopBefore()
			stop := sched.WatchPins(func(p sched.Pin) {
				if uint64(p.Thread) == mine.Load() {
					called++
					panic("the observer's")
				}
			})
			after, stopAfter := watchPins()
			defer stopAfter()
			const parks = 3
			var panicked, went atomic.Int32
			th := vthread.Builder{Scheduler: s, OnPanic: func(*vthread.Thread, any, []byte) { panicked.Add(1) }}.Unstarted(func() {
				for range parks {
					continuation.Pin()
					parkHere()
					continuation.Unpin()
					if r := sched.Current().Record(); r != nil && r.State() != flight.StateMounted {
						t.Errorf("the thread executes, and is shown as %v", r.State())
					}
					went.Add(1)
					vthread.Park() // not pinned: it can still leave its carrier
				}
			})
			mine.Store(uint64(th.ID()))
			th.Start()
			for range parks {
				await(t, "it is pinned", func() bool { return th.State() == flight.StatePinned || panicked.Load() > 0 })
				th.Unpark()
				await(t, "it has left its carrier", func() bool { return th.State() == flight.StateParked || panicked.Load() > 0 })
				th.Unpark()
			}
			returns(t, "the thread", th.Join)
			if panicked.Load() != 0 || went.Load() != parks {
				t.Errorf("got %d panics of the thread and %d parks, want 0 and %d", panicked.Load(), went.Load(), parks)
			}
			here := func(w *watchedPins) int {
				return len(slices.DeleteFunc(w.of(th.ID()), func(p sched.Pin) bool { return !passes(p, "parkHere") }))
			}
			if a, b := here(before), here(after); a != parks || b != parks {
				t.Errorf("the other observers were told %d and %d times, want %d", a, b, parks)
			}
			if v := panicOf(stop); v != "the observer's" || called != 1 {
				t.Errorf("got a stop that panics with %v after %d calls, want once with the observer's panic", v, called)
			}
		})
	}
}

// The watchdog tells of such pins; its end would leave the scheduler without one, and the panic would end the program.
func TestAnObserverOfPinsThatPanicsLeavesTheWatchdogAlive(t *testing.T) {
	if !coro.SharedLookout().Sees() {
		t.Skip("goroutines cannot be looked at here")
	}
	var called atomic.Int32
	stop := sched.WatchPins(func(p sched.Pin) {
		if passes(p, "waitInGo") {
			called.Add(1)
			panic("the observer's")
		}
	})
	after, stopAfter := watchPins()
	defer stopAfter()
	b := vthread.Builder{Scheduler: newForkJoin(t, sched.ForkJoinOptions{Parallelism: 1})}
	for range 2 {
		ch := make(chan struct{})
		th := b.Start(func() { waitInGo(ch) })
		await(t, "it is held", func() bool { return th.State() == flight.StatePinned })
		close(ch)
		th.Join()
		await(t, "its pin is told", func() bool { return len(after.of(th.ID())) > 0 })
	}
	still := make(chan struct{})
	defer close(still)
	th := b.Start(func() { waitInGo(still) })
	await(t, "it is held", func() bool { return th.State() == flight.StatePinned })
	if v := panicOf(stop); v != "the observer's" || called.Load() != 1 {
		t.Errorf("got a stop that panics with %v after %d calls, want once with the observer's panic", v, called.Load())
	}
	other, stopOther := watchPins()
	stopOther()
	if got := other.of(th.ID()); len(got) > 1 {
		t.Errorf("got %+v, want at most the pin that is not over", got)
	}
}

// panicOf returns what f panics with, nil if it does not.
func panicOf(f func()) (value any) {
	defer func() { value = recover() }()
	f()
	return nil
}
