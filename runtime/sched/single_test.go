package sched_test

import (
	"errors"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vtscope/vtscope/runtime/continuation"
	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/sched"
	"github.com/vtscope/vtscope/runtime/vthread"
)

// The race detector sees that the threads need no locks.
func TestThreadsOfASingleShareMemory(t *testing.T) {
	s := newSingle(t)
	b := vthread.Builder{Scheduler: s}
	memory := map[int]int{}
	const n, rounds = 50, 50
	var threads []*vthread.Thread
	for i := range n {
		threads = append(threads, b.Start(func() {
			for round := range rounds {
				memory[round]++
				switch (i + round) % 4 {
				case 0:
					vthread.Yield()
				case 1:
					vthread.Sleep(time.Microsecond)
				case 2:
					b.Start(func() { memory[round]++ }).Join()
				case 3:
					vthread.Current().Unpark()
					vthread.Park()
				}
			}
		}))
	}
	for _, th := range threads {
		returns(t, "a thread", th.Join)
	}
	sum := 0
	for _, m := range memory {
		sum += m
	}
	if want := n*rounds + n*rounds/4; sum != want {
		t.Errorf("counted to %d, want %d", sum, want)
	}
}

// No carrier is added, however long one is held.
func TestAHeldCarrierOfASingleStopsItsThreads(t *testing.T) {
	s := newSingle(t)
	b := vthread.Builder{Scheduler: s}
	release := make(chan struct{})
	var after atomic.Bool
	holder := b.Start(func() { <-release })
	next := b.Start(func() { after.Store(true) })
	await(t, "the hold", func() bool { return holder.State() == flight.StatePinned || holder.State() == flight.StateMounted })
	for range 10 {
		returns(t, "a thread of another scheduler", vthread.Start(func() { vthread.Sleep(time.Millisecond) }).Join)
	}
	if after.Load() {
		t.Error("a thread ran while the carrier was held")
	}
	close(release)
	returns(t, "the holder", holder.Join)
	returns(t, "the next", next.Join)
}

func TestASingleCannotBeClosedByItsThreads(t *testing.T) {
	s := newSingle(t)
	vthread.Builder{Scheduler: s}.Start(func() {
		if err := s.Close(); !errors.Is(err, sched.ErrOnThread) {
			t.Errorf("got %v, want ErrOnThread", err)
		}
	}).Join()
}

func TestAClosedSingleRefusesThreads(t *testing.T) {
	s := sched.NewSingle()
	b := vthread.Builder{Scheduler: s}
	ran := false
	th := b.Start(func() { ran = true })
	for range 2 {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	if !th.Task().Done() || !ran {
		t.Error("what was accepted did not run")
	}
	if err := b.Unstarted(func() {}).Start(); !errors.Is(err, sched.ErrClosed) {
		t.Errorf("got %v, want ErrClosed", err)
	}
	runtime.GC() // then the file forgets the thread that was refused
}

// oneAtATime are the schedulers that execute one thread at a time, in the order in which they become ready.
func oneAtATime(t *testing.T, test func(*testing.T, vthread.Builder)) {
	for name, s := range map[string]func(testing.TB) sched.Scheduler{
		"single":     func(t testing.TB) sched.Scheduler { return newSingle(t) },
		"pinned":     func(t testing.TB) sched.Scheduler { return newPinned(t, sched.PinnedOptions{Carriers: 1}) },
		"event-loop": func(t testing.TB) sched.Scheduler { return newLoop(t, false) },
		"one-worker": func(t testing.TB) sched.Scheduler {
			pool := newWorkers(t, 1)
			return sched.FromExecutor(pool.call)
		},
	} {
		t.Run(name, func(t *testing.T) { test(t, vthread.Builder{Scheduler: s(t)}) })
	}
}

// YD-01
func TestYieldsOfThreadsThatShareACarrierTakeTurns(t *testing.T) {
	oneAtATime(t, func(t *testing.T, b vthread.Builder) {
		var got strings.Builder
		each := func(who string) func() {
			return func() {
				for range 3 {
					got.WriteString(who)
					vthread.Yield()
				}
			}
		}
		inTurn(t, b, each("A"), each("B"))
		if got.String() != "ABABAB" {
			t.Errorf("got %s, want ABABAB", got.String())
		}
	})
}

// YD-02
func TestAYieldOfAPinnedThreadKeepsItsCarrier(t *testing.T) {
	oneAtATime(t, func(t *testing.T, b vthread.Builder) {
		var got strings.Builder
		returns(t, "the parent", b.Start(func() {
			continuation.Pin()
			other := b.Start(func() { got.WriteString("B") })
			got.WriteString("A")
			vthread.Yield()
			got.WriteString("A")
			continuation.Unpin()
			other.Join()
		}).Join)
		if got.String() != "AAB" {
			t.Errorf("got %s, want AAB", got.String())
		}
	})
}

// Nobody closes them: neither one that was never used, nor one whose threads have ended.
func TestASingleThatNobodyRefersToIsCollected(t *testing.T) {
	for name, use := range map[string]func(b vthread.Builder){
		"unused": func(vthread.Builder) {},
		"used": func(b vthread.Builder) {
			for range 10 {
				b.Start(func() { vthread.Yield(); vthread.Sleep(time.Microsecond) }).Join()
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			var gone atomic.Bool
			func() {
				s := sched.NewSingle()
				runtime.AddCleanup(s, func(*atomic.Bool) { gone.Store(true) }, &gone)
				use(vthread.Builder{Scheduler: s})
			}()
			for deadline := time.Now().Add(10 * time.Second); !gone.Load(); {
				if time.Now().After(deadline) {
					t.Fatal("it is not collected")
				}
				runtime.GC()
				time.Sleep(time.Millisecond)
			}
		})
	}
}
