package sched_test

import (
	"errors"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/internal/coro"
	"github.com/vtscope/vtscope/runtime/sched"
	"github.com/vtscope/vtscope/runtime/vthread"
)

func newForkJoin(t testing.TB, o sched.ForkJoinOptions) *sched.ForkJoin {
	t.Helper()
	fj, err := sched.NewForkJoin(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := fj.Close(); err != nil {
			t.Error(err)
		}
	})
	return fj
}

// await polls a condition that is about to become true.
func await(t testing.TB, what string, f func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !f(); time.Sleep(50 * time.Microsecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain: %s", what)
		}
	}
}

func TestBadOptionsAreErrors(t *testing.T) {
	for _, o := range []sched.ForkJoinOptions{{Parallelism: -1}, {MaxCarriers: -1}, {Parallelism: 4, MaxCarriers: 3}} {
		if _, err := sched.NewForkJoin(o); err == nil {
			t.Errorf("%+v: no error", o)
		}
	}
}

// inTurn executes functions on threads of a scheduler that has one carrier, which goes to them in this order: it is held until all are queued, by a
// goroutine. What a thread starts would be in the hand-off slot first, and from there the watchdog takes it out of its turn when the carrier is given no
// processor for a while (W3).
func inTurn(t *testing.T, b vthread.Builder, fs ...func()) {
	t.Helper()
	var queued atomic.Bool
	holder := b.Start(func() {
		for !queued.Load() {
			runtime.Gosched()
		}
	})
	await(t, "the carrier is held", func() bool { return holder.State() == flight.StateMounted })
	var threads []*vthread.Thread
	for _, f := range fs {
		threads = append(threads, b.Start(f))
	}
	queued.Store(true)
	for _, th := range append(threads, holder) {
		returns(t, "a thread", th.Join)
	}
}

// YD-01
func TestYieldLetsTheOtherReadyThreadRun(t *testing.T) {
	b := vthread.Builder{Scheduler: newForkJoin(t, sched.ForkJoinOptions{Parallelism: 1, MaxCarriers: 1})}
	var got strings.Builder
	var each []func()
	for _, who := range []string{"A", "B", "C"} {
		each = append(each, func() {
			for range 3 {
				got.WriteString(who)
				vthread.Yield()
			}
		})
	}
	inTurn(t, b, each...)
	if got.String() != "ABCABCABC" {
		t.Fatalf("got %s, want ABCABCABC", got.String())
	}
}

// PK-04, PK-05, PK-06
func TestPermitsDoNotAddUp(t *testing.T) {
	var passed atomic.Int32
	th := vthread.Builder{}.Unstarted(func() {
		me := vthread.Current()
		me.Unpark()
		me.Unpark()
		vthread.Park() // has the permit
		passed.Add(1)
		vthread.Yield() // neither takes nor gives one
		vthread.Park()
		passed.Add(1)
	})
	th.Unpark() // not started: nothing
	if err := th.Start(); err != nil {
		t.Fatal(err)
	}
	await(t, "the second park", func() bool { return passed.Load() == 1 && th.State() == flight.StateParked })
	th.Unpark()
	th.Join()
	if passed.Load() != 2 {
		t.Fatalf("passed %d parks, want 2", passed.Load())
	}
	if err := th.Start(); !errors.Is(err, vthread.ErrStarted) {
		t.Errorf("second start: %v, want ErrStarted", err)
	}
}

// PK-10, PK-11, PK-12, PK-13
func TestTimedParks(t *testing.T) {
	vthread.Start(func() {
		vthread.ParkFor(0)
		vthread.ParkFor(-1)
		begin := time.Now()
		vthread.ParkFor(20 * time.Millisecond)
		if d := time.Since(begin); d < 18*time.Millisecond {
			t.Errorf("parked for %v, want 20ms", d)
		}
		me := vthread.Current()
		me.Unpark()
		vthread.ParkFor(24 * time.Hour) // has a permit
		vthread.Start(func() { me.Unpark() })
		vthread.ParkFor(24 * time.Hour) // gets one
	}).Join()
}

// PK-19
func TestALateTimerDoesNotTouchTheNextPark(t *testing.T) {
	for _, locked := range []bool{false, true} {
		var woken atomic.Int32
		th := vthread.Start(func() {
			if locked {
				runtime.LockOSThread()
				defer runtime.UnlockOSThread()
			}
			me := vthread.Current()
			for i := range 500 {
				other := vthread.Start(func() { vthread.Sleep(time.Duration(i%3) * 300 * time.Microsecond); me.Unpark() })
				vthread.ParkFor(300 * time.Microsecond)
				other.Join()
				me.Unpark()
				vthread.Park() // takes what is left
				woken.Store(int32(i))
			}
		})
		th.Join()
		if woken.Load() != 499 {
			t.Fatalf("locked %v: ended after %d rounds", locked, woken.Load())
		}
	}
}

func TestSleepKeepsThePermitAndItsLength(t *testing.T) {
	vthread.Start(func() {
		me := vthread.Current()
		me.Unpark()
		vthread.Start(func() { vthread.Sleep(2 * time.Millisecond); me.Unpark() })
		begin := time.Now()
		vthread.Sleep(20 * time.Millisecond)
		if d := time.Since(begin); d < 20*time.Millisecond {
			t.Errorf("slept %v, want 20ms", d)
		}
		vthread.Park() // the permit is still there
	}).Join()
}

// Trap 1, PN-01.
func TestAThreadOnALockedOSThreadHoldsItsCarrierAndOthersGoOn(t *testing.T) {
	if !coro.Binds {
		t.Skip("this form of slots is not bound to OS threads")
	}
	b := vthread.Builder{Scheduler: newForkJoin(t, sched.ForkJoinOptions{Parallelism: 1})}
	pinned := b.Start(func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		vthread.Park()
		vthread.Yield()
		vthread.Sleep(time.Millisecond)
	})
	await(t, "the pinned park", func() bool { return pinned.State() == flight.StatePinned })
	b.Start(func() {}).Join() // on a carrier that the watchdog added
	pinned.Unpark()
	pinned.Join()
}

func TestAThreadThatBlocksInGoHoldsItsCarrierAndOthersGoOn(t *testing.T) {
	b := vthread.Builder{Scheduler: newForkJoin(t, sched.ForkJoinOptions{Parallelism: 1})}
	ch := make(chan struct{})
	var ts []*vthread.Thread
	for range 100 {
		ts = append(ts, b.Start(func() { <-ch }))
	}
	b.Start(func() { close(ch) }).Join()
	for _, th := range ts {
		th.Join()
	}
}

// A task in the hand-off slot of a carrier that then blocks must be found.
func TestWhatAThreadUnparksBeforeItBlocksInGoRuns(t *testing.T) {
	b := vthread.Builder{Scheduler: newForkJoin(t, sched.ForkJoinOptions{Parallelism: 1})}
	ch := make(chan int)
	second := b.Start(func() { vthread.Park(); ch <- 1 })
	await(t, "the park", func() bool { return second.State() == flight.StateParked })
	b.Start(func() { second.Unpark(); <-ch }).Join()
	second.Join()
}

// Trap 3.
func TestGoexitEndsOnlyTheThread(t *testing.T) {
	fj := newForkJoin(t, sched.ForkJoinOptions{Parallelism: 1})
	b := vthread.Builder{Scheduler: fj}
	var deferred atomic.Int32
	for range 1000 {
		th := b.Start(func() {
			defer deferred.Add(1)
			vthread.Yield()
			runtime.Goexit()
		})
		th.Join()
		if s := th.State(); s != flight.StateDone {
			t.Fatalf("state %v, want done", s)
		}
	}
	if deferred.Load() != 1000 {
		t.Fatalf("%d deferred calls ran, want 1000", deferred.Load())
	}
}

//go:noinline
func guilty() { panic("boom") }

func TestAHandledPanicEndsOnlyTheThread(t *testing.T) {
	var value any
	var stack string
	vthread.Builder{OnPanic: func(_ *vthread.Thread, v any, s []byte) { value, stack = v, string(s) }}.Start(guilty).Join()
	if value != "boom" || !strings.Contains(stack, "sched_test.guilty") {
		t.Fatalf("handler got %v and\n%s", value, stack)
	}
}

// An executor that anybody could write.
type executor chan *sched.Task

func (e executor) Execute(t *sched.Task) error { e <- t; return nil }

func TestASchedulerIsAsSmallAsAnExecutor(t *testing.T) {
	e := make(executor, 1000)
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			for task := range e {
				if err := task.Run(); err != nil {
					t.Error(err)
				}
				if err := task.Run(); err != nil { // does nothing, or is somebody else's turn
					t.Error(err)
				}
			}
		})
	}
	b := vthread.Builder{Scheduler: e}
	var n atomic.Int32
	var ts []*vthread.Thread
	for i := range 200 {
		ts = append(ts, b.Start(func() {
			for range 5 {
				vthread.Yield()
				vthread.Sleep(time.Duration(i) * time.Microsecond)
				vthread.Start(func() { n.Add(1) }).Join() // inherits the scheduler
			}
			if i%10 == 0 {
				runtime.Goexit()
			}
		}))
	}
	for _, th := range ts {
		th.Join()
	}
	close(e)
	wg.Wait()
	if n.Load() != 1000 {
		t.Fatalf("%d children ran, want 1000", n.Load())
	}
}

// SD-05
func TestRunningATaskOnAThreadIsAnError(t *testing.T) {
	e := make(executor, 1)
	th := vthread.Builder{Scheduler: e}.Start(func() {})
	task := <-e
	vthread.Builder{Scheduler: sched.Default()}.Start(func() {
		if err := task.Run(); !errors.Is(err, sched.ErrOnThread) {
			t.Errorf("got %v, want ErrOnThread", err)
		}
	}).Join()
	if err := task.Run(); err != nil {
		t.Error(err)
	}
	th.Join()
}

// Trap 2: a carrier that is locked to an OS thread.
func TestALockedCarrierRunsWhatBeganOnItAndNothingElse(t *testing.T) {
	if !coro.Binds {
		t.Skip("this form of slots is not bound to OS threads")
	}
	e := make(executor, 4)
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		th := vthread.Builder{Scheduler: e}.Start(func() { vthread.Yield(); vthread.Yield() })
		run := func() *sched.Task { task := <-e; task.Run(); return task }
		run()
		task := <-e
		other := make(chan error)
		go func() { other <- task.Run() }()
		if err := <-other; !errors.Is(err, sched.ErrLockedCarrier) {
			t.Errorf("on another goroutine: %v, want ErrLockedCarrier", err)
		}
		e <- task
		run()
		run()
		th.Join()
	}()
	<-done
}

type refuser struct{}

var errRefused = errors.New("refused")

func (refuser) Execute(*sched.Task) error { return errRefused }

func TestARejectionSurfacesInStart(t *testing.T) {
	th := vthread.Builder{Scheduler: refuser{}}.Unstarted(func() {})
	for range 2 {
		if err := th.Start(); !errors.Is(err, errRefused) {
			t.Fatalf("got %v, want refused", err)
		}
	}
	if s := th.State(); s != flight.StateNew {
		t.Fatalf("state %v, want new", s)
	}
}

func TestCloseEndsCarriersAndRoutinesAndRefusesThreads(t *testing.T) {
	leavesNoGoroutine(t, func() {
		fj, err := sched.NewForkJoin(sched.ForkJoinOptions{Parallelism: 3})
		if err != nil {
			t.Fatal(err)
		}
		b := vthread.Builder{Scheduler: fj}
		var ts []*vthread.Thread
		for i := range 2000 {
			ts = append(ts, b.Start(func() {
				vthread.Sleep(time.Duration(i%7) * time.Millisecond)
				vthread.Yield()
				if i%50 == 0 {
					runtime.Goexit()
				}
			}))
		}
		for _, th := range ts {
			th.Join()
		}
		for _, when := range []string{"close", "second close"} {
			if err := fj.Close(); err != nil {
				t.Errorf("%s: %v", when, err)
			}
		}
		if err := b.Unstarted(func() {}).Start(); !errors.Is(err, sched.ErrClosed) {
			t.Errorf("start on a closed scheduler: %v, want ErrClosed", err)
		}
	})
}

// leavesNoGoroutine calls f twice, since some goroutines are started once and stay, and waits until there are no more than before the second time.
func leavesNoGoroutine(t *testing.T, f func()) {
	t.Helper()
	f()
	before := runtime.NumGoroutine()
	f()
	await(t, "the end of the goroutines", func() bool { return runtime.NumGoroutine() <= before })
}

func TestIdleCarriersSleep(t *testing.T) {
	fj := newForkJoin(t, sched.ForkJoinOptions{Parallelism: 2})
	vthread.Builder{Scheduler: fj}.Start(func() { vthread.Sleep(time.Millisecond) }).Join()
	await(t, "the watchdog and all carriers to sleep", fj.Asleep)
}

func TestSwitchesDoNotAllocate(t *testing.T) {
	if !coro.Binds {
		t.Skip("slots on channels make one for every switch")
	}
	b := vthread.Builder{Scheduler: newForkJoin(t, sched.ForkJoinOptions{Parallelism: 1})}
	stop := false
	other := b.Start(func() {
		for !stop {
			vthread.Yield()
		}
	})
	b.Start(func() {
		if n := testing.AllocsPerRun(1000, vthread.Yield); n != 0 {
			t.Errorf("%v allocations a yield, want 0", n)
		}
		stop = true
	}).Join()
	other.Join()
	var x, y *vthread.Thread
	x = b.Unstarted(func() {
		if n := testing.AllocsPerRun(1000, func() { y.Unpark(); vthread.Park() }); n != 0 {
			t.Errorf("%v allocations a ping-pong, want 0", n)
		}
		stop = true
		y.Unpark()
	})
	stop = false
	y = b.Unstarted(func() {
		for !stop {
			x.Unpark()
			vthread.Park()
		}
	})
	x.Start()
	y.Start()
	x.Join()
	y.Join()
}

// YD-03: and nobody starves behind two threads that hand the carrier to each other.
func TestPingPongStarvesNeitherTheOwnNorTheSharedQueue(t *testing.T) {
	b := vthread.Builder{Scheduler: newForkJoin(t, sched.ForkJoinOptions{Parallelism: 1, MaxCarriers: 1})}
	var stop, own, shared atomic.Bool
	var x, y *vthread.Thread
	x = b.Unstarted(func() {
		queued := b.Start(func() { vthread.Yield(); own.Store(true) })
		y.Unpark() // the hand-off slot is taken: behind the one above
		for !stop.Load() {
			y.Unpark()
			vthread.Park()
		}
		queued.Join()
		y.Unpark()
	})
	y = b.Unstarted(func() {
		for !stop.Load() {
			x.Unpark()
			vthread.Park()
		}
		x.Unpark()
	})
	x.Start()
	y.Start()
	late := b.Start(func() { vthread.Yield(); shared.Store(true) }) // from a goroutine: to the shared queue
	await(t, "both", func() bool { return own.Load() && shared.Load() })
	stop.Store(true)
	for _, th := range []*vthread.Thread{x, y, late} {
		th.Join()
	}
}

func TestAYieldWithAnEmptyQueueGoesBehindTheSharedOne(t *testing.T) {
	b := vthread.Builder{Scheduler: newForkJoin(t, sched.ForkJoinOptions{Parallelism: 1, MaxCarriers: 1})}
	var order strings.Builder
	var other *vthread.Thread
	b.Start(func() {
		started := make(chan struct{})
		go func() { other = b.Start(func() { order.WriteByte('B') }); close(started) }()
		<-started
		order.WriteByte('A')
		vthread.Yield()
		order.WriteByte('A')
	}).Join()
	other.Join()
	if order.String() != "ABA" {
		t.Fatalf("got %s, want ABA", order.String())
	}
}

func TestCloseRunsWhatWasStartedBefore(t *testing.T) {
	for range 200 {
		fj, err := sched.NewForkJoin(sched.ForkJoinOptions{Parallelism: 2})
		if err != nil {
			t.Fatal(err)
		}
		th := vthread.Builder{Scheduler: fj}.Start(func() { vthread.Yield() })
		if err := fj.Close(); err != nil {
			t.Fatal(err)
		}
		if s := th.State(); s != flight.StateDone {
			t.Fatalf("the thread is %v, want done", s)
		}
	}
}
