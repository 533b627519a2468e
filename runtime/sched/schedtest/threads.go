package schedtest

import (
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vtscope/vtscope/runtime/continuation"
	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/sched"
	"github.com/vtscope/vtscope/runtime/vthread"
)

// Memory without locks is what the race detector proves with that one run of a thread happens before another.

func everyThreadRunsOnce(t testing.TB, s sched.Scheduler) {
	const n = 100
	var runs [2 * n]int
	var threads [2 * n]*vthread.Thread
	for i := range n {
		threads[i] = start(t, s, func() { runs[i]++ })
	}
	join(t, start(t, s, func() {
		for i := n; i < 2*n; i++ {
			threads[i] = vthread.Start(func() { runs[i]++ })
		}
	}))
	join(t, threads[:]...)
	for i, r := range runs {
		if r != 1 {
			t.Errorf("thread %d ran %d times, want once", i, r)
		}
	}
}

func startAndJoinHandMemoryOver(t testing.TB, s sched.Scheduler) {
	memory := 0
	for range 50 {
		memory++
		join(t, start(t, s, func() {
			memory++
			child := vthread.Start(func() { memory++ })
			child.Join()
			memory++
		}))
	}
	if memory != 200 {
		t.Errorf("counted to %d, want 200", memory)
	}
}

// A baton goes round between threads; who has it is alone with the memory.
func unparkHandsMemoryOver(t testing.TB, s sched.Scheduler) {
	const n, laps = 5, 20
	memory := 0
	var threads [n]*vthread.Thread
	for i := range n {
		threads[i] = vthread.Builder{Scheduler: s}.Unstarted(func() {
			for range laps {
				vthread.Park()
				memory++
				unpark(t, threads[(i+1)%n])
			}
		})
	}
	for _, th := range threads {
		if err := th.Start(); err != nil {
			t.Fatal(err)
		}
		awaitState(t, th, flight.StateParked)
	}
	memory++
	unpark(t, threads[0])
	join(t, threads[:]...)
	if want := n*laps + 1; memory != want {
		t.Errorf("counted to %d, want %d", memory, want)
	}
}

// runsFollowEachOther has a thread whose runs are on two goroutines in turn: its own and that of a continuation.
func runsFollowEachOther(t testing.TB, s sched.Scheduler) {
	const threads, runs = 20, 20
	var unparks sync.WaitGroup
	var all []*vthread.Thread
	for range threads {
		memory := 0
		all = append(all, start(t, s, func() {
			me := vthread.Current()
			prompt := continuation.NewPrompt("inner")
			run := func() {
				memory++
				if memory%3 == 0 {
					vthread.Yield()
					return
				}
				unparks.Go(func() { unpark(t, me) })
				vthread.Park()
			}
			inner := continuation.New(prompt, func() {
				for range runs {
					run()
					continuation.Suspend(prompt, nil)
				}
			})
			for !inner.Run() {
				run()
			}
			if memory != 2*runs {
				t.Errorf("%d runs, want %d", memory, 2*runs)
			}
		}))
	}
	join(t, all...)
	unparks.Wait()
}

func permitsDoNotAddUp(t testing.TB, s sched.Scheduler) {
	var passed atomic.Int32
	th := start(t, s, func() {
		me := vthread.Current()
		unpark(t, me)
		unpark(t, me)
		vthread.Park() // has the permit
		passed.Add(1)
		vthread.Yield() // neither takes nor gives one
		vthread.Park()
		passed.Add(1)
	})
	await(t, "the second park", func() bool { return passed.Load() == 1 && th.State() == flight.StateParked })
	unpark(t, th)
	join(t, th)
	if n := passed.Load(); n != 2 {
		t.Errorf("passed %d parks, want 2", n)
	}
}

func timedParksEnd(t testing.TB, s sched.Scheduler) {
	join(t, start(t, s, func() {
		vthread.ParkFor(0)
		vthread.ParkFor(-1)
		begin := time.Now()
		vthread.ParkFor(2 * time.Millisecond)
		if d := time.Since(begin); d < 2*time.Millisecond {
			t.Errorf("parked for %v, want 2ms", d)
		}
		me := vthread.Current()
		unpark(t, me)
		vthread.ParkFor(24 * time.Hour) // has a permit
	}))
	th := start(t, s, func() { vthread.ParkFor(24 * time.Hour) })
	awaitState(t, th, flight.StateTimedParked)
	unpark(t, th)
	join(t, th)
	// Timers race with whoever unparks.
	var all []*vthread.Thread
	for i := range 20 {
		all = append(all, start(t, s, func() {
			me := vthread.Current()
			for round := range 10 {
				d := time.Duration((i+round)%5) * 20 * time.Microsecond
				other := vthread.Start(func() {
					vthread.Sleep(d)
					unpark(t, me)
				})
				vthread.ParkFor(40 * time.Microsecond)
				other.Join()
				unpark(t, me)
				vthread.Park() // takes what is left
			}
		}))
	}
	join(t, all...)
}

func sleepsLast(t testing.TB, s sched.Scheduler) {
	join(t, start(t, s, func() {
		unpark(t, vthread.Current())
		begin := time.Now()
		if err := vthread.Sleep(2 * time.Millisecond); err != nil {
			t.Errorf("sleep: %v", err)
		}
		if d := time.Since(begin); d < 2*time.Millisecond {
			t.Errorf("slept for %v, want 2ms", d)
		}
		vthread.Park() // the permit is still there
	}))
	th := start(t, s, func() {
		if err := vthread.Sleep(24 * time.Hour); !errors.Is(err, vthread.ErrInterrupted) {
			t.Errorf("interrupted sleep: %v, want ErrInterrupted", err)
		}
	})
	awaitState(t, th, flight.StateTimedParked)
	if err := th.Interrupt(); err != nil {
		t.Errorf("interrupt: %v", err)
	}
	join(t, th)
}

// A thread that yields lets others go on sooner or later: here each waits for all others.
func yieldsLetOthersGoOn(t testing.TB, s sched.Scheduler) {
	const n, rounds = 5, 10
	var at [n]atomic.Int32
	var all []*vthread.Thread
	for i := range n {
		all = append(all, start(t, s, func() {
			for round := range int32(rounds) {
				at[i].Store(round)
				for j := range n {
					for at[j].Load() < round {
						vthread.Yield()
					}
				}
			}
		}))
	}
	join(t, all...)
}

func joinsWait(t testing.TB, s sched.Scheduler) {
	for range 20 {
		ended := false
		th := start(t, s, func() {
			vthread.Park()
			ended = true
		})
		var gaveUp atomic.Bool
		joiner := start(t, s, func() {
			if in, err := th.JoinFor(time.Microsecond); in || err != nil {
				t.Errorf("joined for 1µs: %v, %v, want false, none", in, err)
			}
			gaveUp.Store(true)
			if err := th.Join(); err != nil || !ended {
				t.Errorf("joined: %v, ended %v", err, ended)
			}
		})
		await(t, "the joiner", func() bool { return gaveUp.Load() && joiner.State() == flight.StateWaiting })
		unpark(t, th)
		join(t, th, joiner)
		if !ended {
			t.Error("joined before the end")
		}
	}
}

func childrenInherit(t testing.TB, s sched.Scheduler) {
	other := &onGoroutines{}
	join(t, start(t, s, func() {
		child := vthread.Start(func() {
			grandchild := vthread.Start(func() {})
			if grandchild.Scheduler() != s {
				t.Errorf("grandchild on %T, want %T", grandchild.Scheduler(), s)
			}
			grandchild.Join()
		})
		chosen := vthread.Builder{Scheduler: other}.Start(func() {})
		made := vthread.Builder{}.Unstarted(func() {})
		var startedBy sync.WaitGroup
		startedBy.Go(func() {
			if err := made.Start(); err != nil {
				t.Errorf("start: %v", err)
			}
		})
		made.Join()
		startedBy.Wait()
		if made.Scheduler() != s {
			t.Errorf("made here, started by a goroutine, and on %T, want %T", made.Scheduler(), s)
		}
		if child.Scheduler() != s || chosen.Scheduler() != sched.Scheduler(other) {
			t.Errorf("child on %T, want %T; chosen on %T, want %T", child.Scheduler(), s, chosen.Scheduler(), other)
		}
		child.Join()
		chosen.Join()
	}))
}

// onGoroutines is a scheduler as small as one can be.
type onGoroutines struct{ _ byte }

func (*onGoroutines) Execute(t *sched.Task) error { go t.Run(); return nil }

// A thread that has begun on a locked carrier cannot leave it.
func threadsMove(t testing.TB, s sched.Scheduler) {
	fj, err := sched.NewForkJoin(sched.ForkJoinOptions{Parallelism: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer fj.Close()
	for range 10 {
		th := parked(t, s)
		want := sched.Scheduler(fj)
		if err := th.UnparkOn(fj); err != nil {
			if !errors.Is(err, sched.ErrLockedCarrier) {
				t.Errorf("move: %v, want none, or ErrLockedCarrier", err)
			}
			if got := th.State(); got != flight.StateParked {
				t.Errorf("not moved: %v, want parked", got)
			}
			want = s
			unpark(t, th)
		}
		join(t, th)
		if got := th.Scheduler(); got != want {
			t.Errorf("it was on %T, want %T", got, want)
		}
	}
}

func threadsStartThreads(t testing.TB, s sched.Scheduler) {
	const depth, children = 5, 3
	var grow func(depth int) int
	grow = func(depth int) int {
		if depth == 0 {
			return 1
		}
		var sums [children]int
		var threads [children]*vthread.Thread
		for i := range children {
			threads[i] = vthread.Start(func() { sums[i] = grow(depth - 1) })
		}
		sum := 0
		for i, th := range threads {
			th.Join()
			sum += sums[i]
		}
		return sum
	}
	leaves := 0
	join(t, start(t, s, func() { leaves = grow(depth) }))
	if want := 243; leaves != want {
		t.Errorf("%d leaves, want %d", leaves, want)
	}
}

func oddEnds(t testing.TB, s sched.Scheduler) {
	var handled atomic.Int32
	b := vthread.Builder{Scheduler: s, OnPanic: func(*vthread.Thread, any, []byte) { handled.Add(1) }}
	const rounds = 10
	for range rounds {
		for _, end := range []func(){runtime.Goexit, func() { panic("handled") }} {
			th, err := b.TryStart(func() {
				vthread.Yield()
				end()
			})
			if err != nil {
				t.Fatal(err)
			}
			join(t, th)
			join(t, start(t, s, vthread.Yield))
		}
	}
	if n := handled.Load(); n != rounds {
		t.Errorf("handled %d panics, want %d", n, rounds)
	}
}

// The others wait for it, or do not, as the scheduler has it.
func lockedThreads(t testing.TB, s sched.Scheduler) {
	for _, end := range []func(){runtime.UnlockOSThread, func() {}, runtime.Goexit} {
		th := start(t, s, func() {
			runtime.LockOSThread()
			vthread.Park()
			vthread.Yield()
			vthread.Sleep(time.Microsecond)
			end()
		})
		await(t, "the park", func() bool { return th.State() == flight.StatePinned || th.State() == flight.StateParked })
		unpark(t, th)
		join(t, th, start(t, s, vthread.Yield))
	}
}
