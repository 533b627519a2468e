package conformance_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/sched"
	"github.com/vtscope/vtscope/runtime/vthread"
)

// IN-01
func TestInterruptedClearsWhatAThreadSetItself(t *testing.T) {
	everywhere(t, axes{onlyOn: true, kinds: true, adopted: true, pins: true}, func(w *world) {
		w.interrupted(false, "at first")
		if err := vthread.Current().Interrupt(); err != nil {
			w.Errorf("interrupt: %v", err)
		}
		w.interrupted(true, "interrupted by itself")
		vthread.Current().Interrupt()
		vthread.Current().Interrupt()
		w.interrupted(true, "interrupted twice")
	})
}

// IN-02: an interrupt before the start is remembered, and the context ends with it.
func TestAnInterruptBeforeTheStartIsRemembered(t *testing.T) {
	everywhere(t, startable, func(w *world) {
		th := w.builder().Unstarted(w.pinned(func() {
			ctx := vthread.Current().Context()
			if got := context.Cause(ctx); !errors.Is(got, vthread.ErrInterrupted) {
				w.Errorf("cause of the context's end: got %v, want ErrInterrupted", got)
			}
			w.interrupted(true, "started")
			if err := vthread.Current().Context().Err(); err != nil {
				w.Errorf("the context after the status was cleared: got %v, want none", err)
			}
		}))
		if err := th.Interrupt(); err != nil {
			w.Errorf("interrupt: %v", err)
		}
		if !th.IsInterrupted() {
			w.Error("unstarted: not interrupted")
		}
		if err := th.Start(); err != nil {
			w.Fatal(err)
		}
		w.join(th)
	})
}

// IN-08: neither other threads of the carrier, nor the goroutine that it is, have the status of a thread.
func TestTheInterruptStatusIsNotTheCarriers(t *testing.T) {
	k := &keeper{}
	b := vthread.Builder{Scheduler: k}
	first := b.Start(func() {
		vthread.Current().Interrupt()
		vthread.Yield()
		if !vthread.Interrupted() {
			t.Error("after a yield: the thread has lost its status")
		}
		vthread.Current().Interrupt()
	})
	second := b.Start(func() {
		if vthread.Interrupted() {
			t.Error("another thread of the carrier is interrupted")
		}
	})
	carrier := make(chan func())
	defer close(carrier)
	go func() {
		for f := range carrier {
			f()
		}
	}()
	step := func(when string) {
		t.Helper()
		done := make(chan struct{})
		carrier <- func() {
			defer close(done)
			k.runHere(t)
			if vthread.Interrupted() || vthread.Current() != nil {
				t.Errorf("%s: the carrier is interrupted, or a thread", when)
			}
		}
		<-done
	}
	step("after a yield")
	step("after another thread")
	step("after the end")
	join(t, first)
	join(t, second)
}

// IN-08: on a carrier that is itself the thread of nobody, as all are, interrupting whoever is on it hits the thread.
func TestAnInterruptHitsNoOtherThreadOfTheCarrier(t *testing.T) {
	everywhere(t, axes{callers: true}, func(w *world) {
		var others atomic.Int32
		stop := newGate()
		victims := make([]*vthread.Thread, 10)
		for i := range victims {
			victims[i] = w.start(func() {
				for {
					select {
					case <-stop.opened:
						return
					default:
						vthread.Yield()
						if vthread.Interrupted() {
							others.Add(1)
						}
					}
				}
			})
		}
		for range 5 {
			th := w.start(func() {
				for !vthread.Interrupted() {
					vthread.Yield()
				}
			})
			th.Interrupt()
			w.join(th)
		}
		stop.open()
		for _, th := range victims {
			w.join(th)
		}
		if got := others.Load(); got != 0 {
			w.Errorf("got %d interrupts of other threads, want none", got)
		}
	})
}

// runHere runs the oldest task on the calling goroutine.
func (k *keeper) runHere(t *testing.T) {
	k.mu.Lock()
	var task *sched.Task
	if len(k.mu.tasks) > 0 {
		task, k.mu.tasks = k.mu.tasks[0], k.mu.tasks[1:]
	}
	k.mu.Unlock()
	if task == nil {
		t.Error("no task was submitted")
	} else if err := task.Run(); err != nil {
		t.Errorf("run a task: %v", err)
	}
}

// A nap is one way to sleep.
type nap struct {
	name  string
	sleep func(d time.Duration) error
}

var naps = []nap{
	{"Sleep", vthread.Sleep},
	{"SleepContext", func(d time.Duration) error { return vthread.SleepContext(context.Background(), d) }},
}

// SL-01, SL-02
func TestASleepOfNoTimeReturnsAtOnce(t *testing.T) {
	everywhere(t, axes{callers: true}, func(w *world) { sleepOfNoTime(w) })
	everywhere(t, axes{onlyOn: true, kinds: true, adopted: true, pins: true}, sleepOfNoTime)
}

func sleepOfNoTime(w *world) {
	for _, nap := range naps {
		for _, d := range []time.Duration{-1, 0, -long, -1 << 63} {
			if err := nap.sleep(d); err != nil {
				w.Errorf("%s(%v): got %v, want nothing", nap.name, d, err)
			}
		}
	}
}

// SL-03
func TestASleepLastsItsTime(t *testing.T) {
	everywhere(t, axes{callers: true}, func(w *world) { sleepLasts(w) })
	everywhere(t, axes{onlyOn: true, kinds: true, adopted: true, pins: true}, sleepLasts)
}

func sleepLasts(w *world) {
	const d = 30 * time.Millisecond
	for _, nap := range naps {
		began := time.Now()
		if err := nap.sleep(d); err != nil {
			w.Errorf("%s: got %v, want nothing", nap.name, err)
		}
		if got := time.Since(began); got < d {
			w.Errorf("%s: got %v, want %v at least", nap.name, got, d)
		}
	}
}

// SL-03: neither an unpark nor a permit shortens it, and the permit is kept.
func TestAnUnparkDoesNotShortenASleep(t *testing.T) {
	const d = 30 * time.Millisecond
	everywhere(t, all, func(w *world) {
		for _, nap := range naps {
			th := w.start(func() {
				began := time.Now()
				if err := nap.sleep(d); err != nil {
					w.Errorf("%s: got %v, want nothing", nap.name, err)
				}
				if got := time.Since(began); got < d {
					w.Errorf("%s: got %v, want %v at least", nap.name, got, d)
				}
				vthread.Park()
			})
			th.Unpark()
			w.awaitState(th, w.paused(flight.StateTimedParked), flight.StateDone) // this goroutine may be slow
			th.Unpark()
			w.awaitState(th, flight.StateDone)
		}
	})
}

// SL-04, IN-05: before, whatever the time.
func TestASleepOfAnInterruptedThreadFailsAtOnceAndClearsTheStatus(t *testing.T) {
	everywhere(t, axes{onlyOn: true, kinds: true, adopted: true, pins: true}, func(w *world) {
		for _, nap := range naps {
			for _, d := range []time.Duration{0, 1, long} {
				vthread.Current().Interrupt()
				if err := nap.sleep(d); !errors.Is(err, vthread.ErrInterrupted) {
					w.Errorf("%s(%v): got %v, want ErrInterrupted", nap.name, d, err)
				}
				w.interrupted(false, nap.name)
			}
		}
	})
}

// SL-05
func TestASleepOfANegativeTimeDoesNothing(t *testing.T) {
	everywhere(t, axes{onlyOn: true, kinds: true, adopted: true, pins: true}, func(w *world) {
		for _, nap := range naps {
			vthread.Current().Interrupt()
			if err := nap.sleep(-1); err != nil {
				w.Errorf("%s: got %v, want nothing", nap.name, err)
			}
			w.interrupted(true, nap.name)
			vthread.Interrupted()
		}
	})
}

// SL-06, IN-05: during.
func TestAnInterruptEndsASleepAndIsCleared(t *testing.T) {
	everywhere(t, all, func(w *world) {
		for _, nap := range naps {
			th := w.start(func() {
				if err := nap.sleep(long); !errors.Is(err, vthread.ErrInterrupted) {
					w.Errorf("%s: got %v, want ErrInterrupted", nap.name, err)
				}
				w.interrupted(false, nap.name)
			})
			w.awaitState(th, w.paused(flight.StateTimedParked))
			th.Interrupt()
			w.join(th)
		}
	})
}
