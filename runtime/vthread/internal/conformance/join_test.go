package conformance_test

import (
	"context"
	"errors"
	"math"
	"testing"
	"time"

	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/vthread"
)

// A joining is one way to wait for a thread that has not ended.
type joining struct {
	name string
	join func(th *vthread.Thread) (ended bool, err error)
}

// joinings are all ways that only the thread's end or an interrupt ends while a test lives.
var joinings = []joining{
	{"Join", func(th *vthread.Thread) (bool, error) { err := th.Join(); return err == nil, err }},
	{"JoinFor", func(th *vthread.Thread) (bool, error) { return th.JoinFor(long) }},
	{"JoinFor, as long as can be", func(th *vthread.Thread) (bool, error) { return th.JoinFor(math.MaxInt64) }},
	{"JoinContext", func(th *vthread.Thread) (bool, error) {
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		err := th.JoinContext(ctx)
		return err == nil, err
	}},
}

// JN-01
func TestAnUnstartedThreadIsNotWaitedFor(t *testing.T) {
	everywhere(t, axes{callers: true, kinds: true}, func(w *world) {
		th := w.builder().Unstarted(func() {})
		if err := th.Join(); err != nil {
			w.Errorf("Join: got %v, want nothing", err)
		}
		if err := th.JoinContext(w.Context()); err != nil {
			w.Errorf("JoinContext: got %v, want nothing", err)
		}
		for _, d := range []time.Duration{-1, 0, time.Millisecond, long} {
			if ended, err := th.JoinFor(d); ended || !errors.Is(err, vthread.ErrNotStarted) {
				w.Errorf("JoinFor(%v): got %v, %v, want false, ErrNotStarted", d, ended, err)
			}
		}
	})
}

// JN-02
func TestATimedJoinGivesUpAndTheThreadLives(t *testing.T) {
	const d = 10 * time.Millisecond
	everywhere(t, all, func(w *world) {
		th := w.start(func() { vthread.Park() })
		w.awaitParked(th)
		for _, d := range []time.Duration{-1, 0, d} {
			began := time.Now()
			if ended, err := th.JoinFor(d); ended || err != nil {
				w.Errorf("JoinFor(%v): got %v, %v, want false, nothing", d, ended, err)
			}
			if got := time.Since(began); got < d {
				w.Errorf("JoinFor(%v): took %v", d, got)
			}
		}
		cause := errors.New("enough")
		ctx, cancel := context.WithTimeoutCause(context.Background(), d, cause)
		defer cancel()
		if err := th.JoinContext(ctx); !errors.Is(err, cause) {
			w.Errorf("JoinContext: got %v, want %v", err, cause)
		}
		if err := th.JoinContext(ctx); !errors.Is(err, cause) {
			w.Errorf("JoinContext with a context that has ended: got %v, want %v", err, cause)
		}
		w.awaitParked(th) // it lives
		th.Unpark()
		w.join(th)
	})
}

// JN-03
func TestJoinsAfterTheEndReturnAtOnce(t *testing.T) {
	everywhere(t, all, func(w *world) {
		th := w.start(func() {})
		for range 2 {
			for _, j := range joinings {
				if ended, err := j.join(th); !ended || err != nil {
					w.Errorf("%s: got %v, %v, want true, nothing", j.name, ended, err)
				}
			}
			for _, d := range []time.Duration{-1, 0, 1} {
				if ended, err := th.JoinFor(d); !ended || err != nil {
					w.Errorf("JoinFor(%v): got %v, %v, want true, nothing", d, ended, err)
				}
			}
		}
	})
}

// JN-05, JN-06: before, and during.
func TestAnInterruptEndsAJoinAndIsCleared(t *testing.T) {
	everywhere(t, all, func(w *world) {
		other := vthread.Start(func() { vthread.Park() })
		for _, j := range joinings {
			fails := func(when string) {
				if ended, err := j.join(other); ended || !errors.Is(err, vthread.ErrInterrupted) {
					w.Errorf("%s, interrupted %s: got %v, %v, want false, ErrInterrupted", j.name, when, ended, err)
				}
				w.interrupted(false, j.name)
			}
			th := w.start(func() {
				vthread.Current().Interrupt()
				fails("before")
				vthread.Current().Interrupt()
				for _, d := range []time.Duration{-1, 0} {
					if ended, err := other.JoinFor(d); ended || !errors.Is(err, vthread.ErrInterrupted) {
						w.Errorf("JoinFor(%v), interrupted before: got %v, %v, want false, ErrInterrupted", d, ended, err)
					}
					vthread.Current().Interrupt()
				}
				w.interrupted(true, "made so")
				fails("during")
			})
			w.awaitState(th, w.paused(flight.StateWaiting))
			th.Interrupt()
			w.join(th)
		}
		other.Unpark()
		w.join(other)
	})
}

// JN-05: also if the thread ends just then. The JDK's join returns normally for a thread that has ended.
func TestAThreadThatWasInterruptedBeforeIsToldByAJoinAlsoOfOneThatEnds(t *testing.T) {
	everywhere(t, all, func(w *world) {
		for _, j := range joinings {
			kept := 0
			w.join(w.start(func() {
				for range 200 {
					other := vthread.Start(func() {})
					vthread.Current().Interrupt()
					if ended, err := j.join(other); ended || !errors.Is(err, vthread.ErrInterrupted) {
						kept++
					}
					vthread.Interrupted()
					other.Join()
				}
			}))
			if kept > 0 {
				w.Errorf("%s: %d of 200 joins did not tell that the thread was interrupted", j.name, kept)
			}
		}
	})
}

// JN-06, JN-07: one that gives up does not take others with it.
func TestAJoinThatIsGivenUpLeavesTheOthersWaiting(t *testing.T) {
	const threads = 10
	everywhere(t, all, func(w *world) {
		for _, j := range joinings {
			other := vthread.Start(func() { vthread.Park() })
			all := make([]*vthread.Thread, threads)
			for i := range all {
				all[i] = w.start(func() {
					ended, err := j.join(other)
					if gaveUp := i%2 == 0; ended == gaveUp || gaveUp != errors.Is(err, vthread.ErrInterrupted) {
						w.Errorf("%s: thread %d: got %v, %v", j.name, i, ended, err)
					}
				})
			}
			for _, th := range all {
				w.awaitState(th, w.paused(flight.StateWaiting))
			}
			for i := 0; i < threads; i += 2 {
				all[i].Interrupt()
				w.join(all[i])
			}
			for i := 1; i < threads; i += 2 {
				w.awaitState(all[i], w.paused(flight.StateWaiting))
			}
			other.Unpark()
			for _, th := range all {
				w.join(th)
			}
		}
	})
}

// JN-07: virtual threads join those on goroutines and on OS threads, and the other way.
func TestThreadsOfEveryKindJoinEachOther(t *testing.T) {
	everywhere(t, startable, func(w *world) {
		for _, kind := range (axes{kinds: true}).ofKinds() {
			for _, j := range joinings {
				other := vthread.Builder{Kind: kind}.Start(func() { vthread.Park() })
				gaveUp := newGate()
				th := w.start(func() {
					if ended, err := other.JoinFor(time.Millisecond); ended || err != nil {
						w.Errorf("JoinFor a %v thread that lives: got %v, %v, want false, nothing", kind, ended, err)
					}
					gaveUp.open()
					if ended, err := j.join(other); !ended || err != nil {
						w.Errorf("%s of a %v thread: got %v, %v, want true, nothing", j.name, kind, ended, err)
					}
				})
				gaveUp.pass()
				w.awaitState(th, w.paused(flight.StateWaiting))
				other.Unpark()
				w.join(th)
				w.join(other)
			}
		}
	})
}

// JN-08
func TestAJoinedThreadMayParkOftenAndBePinned(t *testing.T) {
	everywhere(t, all, func(w *world) {
		for _, j := range joinings {
			th := w.start(func() {
				for range 20 {
					vthread.ParkFor(100 * time.Microsecond)
				}
			})
			if ended, err := j.join(th); !ended || err != nil {
				w.Errorf("%s: got %v, %v, want true, nothing", j.name, ended, err)
			}
			if got := th.State(); got != flight.StateDone {
				w.Errorf("%s: got state %v, want done", j.name, got)
			}
		}
	})
}

// PK-04: also when it comes during another wait, however that ends.
func TestAPermitThatComesDuringAJoinIsKept(t *testing.T) {
	const soon = 20 * time.Millisecond
	everywhere(t, all, func(w *world) {
		for _, c := range []struct {
			name string
			ends bool // the other thread, and with it the join
			join func(other *vthread.Thread)
		}{
			{"Join", true, func(other *vthread.Thread) { other.Join() }},
			{"JoinFor", true, func(other *vthread.Thread) { other.JoinFor(long) }},
			{"JoinContext", true, func(other *vthread.Thread) { other.JoinContext(w.Context()) }},
			{"JoinFor", false, func(other *vthread.Thread) { other.JoinFor(soon) }},
			{"JoinContext", false, func(other *vthread.Thread) {
				ctx, cancel := context.WithTimeout(context.Background(), soon)
				defer cancel()
				other.JoinContext(ctx)
			}},
			{"Join, interrupted", false, func(other *vthread.Thread) {
				me := vthread.Current()
				time.AfterFunc(soon, func() { me.Interrupt() })
				other.Join()
			}},
		} {
			other := vthread.Start(func() { vthread.Park() })
			joined := newGate()
			th := w.start(func() {
				c.join(other)
				joined.open()
				vthread.Park()
			})
			states := []flight.State{w.paused(flight.StateWaiting)}
			if !c.ends { // this goroutine may be slow
				states = append(states, w.paused(flight.StateParked), flight.StateDone)
			}
			w.awaitState(th, states...)
			th.Unpark()
			if c.ends {
				other.Unpark()
			}
			joined.pass()
			other.Unpark()
			if !becomes(func() bool { return th.State() == flight.StateDone }) {
				w.Fatalf("%s, ended %v: the next park does not return\n%s", c.name, c.ends, threadDump())
			}
			w.join(other)
		}
	})
}
