package vthread_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/pprof"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/internal/coro"
	"github.com/vtscope/vtscope/runtime/sched"
	"github.com/vtscope/vtscope/runtime/vthread"
)

// elsewhere calls test on a thread for which Blocking makes a goroutine: its carrier is the only one.
func elsewhere(t *testing.T, test func(t *testing.T, b vthread.Builder)) {
	t.Helper()
	b := vthread.Builder{Scheduler: forkJoin(t, 1)}
	b.Start(func() {
		me := coro.Goroutine()
		vthread.Blocking(func() {
			if coro.Goroutine() == me {
				t.Error("on the spot: the test shows nothing")
			}
		})
		if coro.Goroutine() != me {
			t.Error("the thread has not come back")
		}
		test(t, b)
	}).Join()
}

func TestBlockingHoldsACarrierOnlyIfAnotherIsIdle(t *testing.T) {
	place := func() string {
		me, at := coro.Goroutine(), uintptr(0)
		vthread.Blocking(func() { at = coro.Goroutine() })
		if at == me {
			return "spot"
		}
		return "elsewhere"
	}
	fj, err := sched.NewForkJoin(sched.ForkJoinOptions{Parallelism: 2, MaxCarriers: 2})
	if err != nil {
		t.Fatal(err)
	}
	defer fj.Close()
	b := vthread.Builder{Scheduler: fj}
	b.Start(func() {
		if got := place(); got != "spot" {
			t.Errorf("with an idle carrier: %s", got)
		}
		var stop, runs atomic.Bool
		busy := b.Start(func() {
			for runs.Store(true); !stop.Load(); {
				runtime.Gosched()
			}
		})
		for !runs.Load() { // without leaving our carrier
			runtime.Gosched()
		}
		if got := place(); got != "elsewhere" {
			t.Errorf("with none: %s", got)
		}
		stop.Store(true)
		busy.Join()
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		if got := place(); coro.Binds && got != "spot" {
			t.Errorf("on a thread that cannot leave its carrier: %s", got)
		}
	}).Join()
	lent := vthread.Builder{Scheduler: lender{}}
	lent.Start(func() {
		if got := place(); got != "elsewhere" {
			t.Errorf("on the carrier of a stranger: %s", got)
		}
	}).Join()
	for _, k := range []vthread.Kind{vthread.OnGoroutine, vthread.OnOSThread} {
		vthread.Builder{Kind: k}.Start(func() {
			if got := place(); got != "spot" {
				t.Errorf("on a thread of kind %s: %s", k, got)
			}
		}).Join()
	}
	if got := place(); got != "spot" {
		t.Errorf("on a goroutine: %s", got)
	}
}

// On the spot: what is next on the carrier goes to the one that was idle, and does not wait for the watchdog, which looks every millisecond. In a bubble time
// passes only when all wait.
func TestWhatIsNextOnACarrierThatIsHeldIsServedByAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := vthread.Builder{Scheduler: forkJoin(t, 2)}
		b.Start(func() {
			rounds := 0
			for range 50 {
				released := make(chan struct{})
				me, at, begin := coro.Goroutine(), uintptr(0), time.Now()
				next := b.Start(func() { close(released) })
				vthread.Blocking(func() { at = coro.Goroutine(); <-released })
				if at == me {
					rounds++
					if d := time.Since(begin); d > 0 {
						t.Errorf("round %d on the spot: it was served after %v, want at once", rounds, d)
					}
				}
				next.Join()
				vthread.Sleep(20 * time.Millisecond)
			}
			if rounds == 0 {
				t.Error("no round was on the spot")
			}
		}).Join()
	})
}

// With one carrier, and no more to be added, all of them block at a time.
func TestManyThreadsBlockWithoutHoldingTheCarrier(t *testing.T) {
	const n = 500
	fj, err := sched.NewForkJoin(sched.ForkJoinOptions{Parallelism: 1, MaxCarriers: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer fj.Close()
	b := vthread.Builder{Scheduler: fj}
	var blocked atomic.Int32
	all := make(chan struct{})
	var threads []*vthread.Thread
	for range n {
		threads = append(threads, b.Start(func() {
			vthread.Blocking(func() {
				if blocked.Add(1) == n {
					close(all)
				}
				<-all
			})
		}))
	}
	for _, th := range threads {
		th.Join()
	}
}

func TestTheCallOfBlockingIsMadeByTheThread(t *testing.T) {
	local := vthread.NewLocal[int]()
	test := func(t *testing.T, b vthread.Builder) {
		me := vthread.Current()
		local.Set(12)
		pprof.Do(context.Background(), pprof.Labels("vtscope.test", "blocking"), func(context.Context) {
			vthread.Blocking(func() {
				if vthread.Current() != me {
					t.Errorf("Current is %v, want %v", vthread.Current(), me)
				}
				if v := local.Get(); v != 12 {
					t.Errorf("local is %d, want 12", v)
				}
				local.Set(13)
				if labels := labelsOf(t, "TheCallOfBlocking"); !strings.Contains(labels, `"vtscope.test":"blocking"`) {
					t.Errorf("labels %s", labels)
				}
				child := vthread.Start(func() {})
				if me.Kind() == vthread.Virtual && child.Scheduler() != me.Scheduler() {
					t.Error("a child has another scheduler")
				}
				child.Join()
				vthread.Blocking(func() {
					if vthread.Current() != me {
						t.Errorf("nested: Current is %v, want %v", vthread.Current(), me)
					}
				})
				vthread.Yield()
			})
		})
		if v := local.Get(); v != 13 {
			t.Errorf("local is %d after the call, want 13", v)
		}
	}
	byThreads(t, test)
	elsewhere(t, test)
}

func TestTheCallOfBlockingMayPark(t *testing.T) {
	test := func(t *testing.T, b vthread.Builder) {
		me := vthread.Current()
		vthread.Blocking(func() {
			var unparked atomic.Bool
			b.Start(func() {
				eventually(t, "parked", func() bool { return me.State() == flight.StateParked })
				unparked.Store(true)
				me.Unpark()
			})
			for !unparked.Load() {
				vthread.Park()
			}
			begin := time.Now()
			if err := vthread.Sleep(time.Millisecond); err != nil || time.Since(begin) < time.Millisecond {
				t.Errorf("slept %v, %v", time.Since(begin), err)
			}
			b.Start(func() {
				eventually(t, "asleep", func() bool { return me.State() == flight.StateTimedParked })
				me.Interrupt()
			})
			if err := vthread.Sleep(time.Hour); err != vthread.ErrInterrupted {
				t.Errorf("got %v, want an interrupt", err)
			}
			var p vthread.Promise[int]
			b.Start(func() { waits(t, me); p.Complete(3) })
			if v, err := p.Get(); v != 3 || err != nil {
				t.Errorf("got %d, %v, want 3", v, err)
			}
			if _, err := p.GetFor(time.Hour); err != nil {
				t.Error(err)
			}
			ch := make(chan int)
			b.Start(func() { vthread.Send(ch, 4) })
			if v, err := vthread.Recv(ch); v != 4 || err != nil {
				t.Errorf("got %d, %v, want 4", v, err)
			}
		})
		if me.State() != flight.StateMounted || vthread.Interrupted() {
			t.Errorf("afterwards: %v, interrupted %v", me, me.IsInterrupted())
		}
		if err := vthread.Sleep(time.Millisecond); err != nil {
			t.Error(err)
		}
	}
	byThreads(t, test)
	elsewhere(t, test)
}

func TestPinSectionsOfTheCallEndWithItsGoroutine(t *testing.T) {
	elsewhere(t, func(t *testing.T, b vthread.Builder) {
		me, at := coro.Goroutine(), uintptr(0)
		vthread.Blocking(func() { coro.Pin(1) })
		vthread.Blocking(func() { at = coro.Goroutine() })
		if at == me {
			t.Error("the thread is still pinned")
		}
	})
}

func TestPermitsAndInterruptsOutlastTheCallOfBlocking(t *testing.T) {
	test := func(t *testing.T, b vthread.Builder) {
		me := vthread.Current()
		for _, when := range []string{"before", "in", "by another in"} {
			give := func(f func() error) {
				if when == "in" {
					f()
					return
				}
				done := make(chan struct{})
				b.Start(func() { f(); close(done) })
				<-done // in Go's own way: an interrupt does not end it
			}
			if when == "before" {
				me.Unpark()
			}
			vthread.Blocking(func() {
				if when != "before" {
					give(me.Unpark)
				}
			})
			vthread.Park() // returns at once
			if when == "before" {
				me.Interrupt()
			}
			vthread.Blocking(func() {
				if when != "before" {
					give(me.Interrupt)
				}
				if !me.IsInterrupted() {
					t.Errorf("%s: not interrupted in the call", when)
				}
			})
			if !vthread.Interrupted() {
				t.Errorf("%s: not interrupted after the call", when)
			}
			vthread.ParkFor(0) // takes what permit the interrupt has left
		}
	}
	byThreads(t, test)
	elsewhere(t, test)
}

func TestAPanicOfTheCallComesOutOfBlocking(t *testing.T) {
	test := func(t *testing.T, b vthread.Builder) {
		for range 2 {
			func() {
				defer func() {
					p, _ := recover().(*vthread.Panic)
					if p == nil || p.Value != errBoom || !errors.Is(p, errBoom) || !strings.Contains(string(p.Stack), "panicking") {
						t.Errorf("recovered %v, want boom", p)
					}
					if me := vthread.Current(); me == nil && p.Thread != "" || me != nil && !strings.Contains(p.Thread, fmt.Sprintf("#%d", me.ID())) {
						t.Errorf("of thread %q, want %v", p.Thread, me)
					}
				}()
				vthread.Blocking(func() { vthread.Blocking(panicking) }) // it is wrapped once
			}()
		}
	}
	byEverybody(t, test)
	elsewhere(t, test)
}

func TestAGoexitOfTheCallEndsTheThread(t *testing.T) {
	test := func(t *testing.T, b vthread.Builder) {
		var order []string
		exit := func() {
			defer func() { order = append(order, "caller") }()
			vthread.Blocking(func() {
				defer func() { order = append(order, "call") }()
				runtime.Goexit()
			})
			t.Error("Blocking has returned")
		}
		b.Start(exit).Join()
		if fmt.Sprint(order) != "[call caller]" {
			t.Errorf("deferred calls: %v", order)
		}
	}
	byEverybody(t, test)
	elsewhere(t, test)
}

//go:noinline
func holdUp(called chan<- struct{}, release <-chan struct{}) { close(called); <-release }

func TestTheStackShowsTheCallOfBlockingAndItsCaller(t *testing.T) {
	needEyes(t)
	elsewhere(t, func(t *testing.T, b vthread.Builder) {
		me, called, release := vthread.Current(), make(chan struct{}), make(chan struct{})
		watcher := vthread.Builder{Kind: vthread.OnGoroutine}.Start(func() {
			defer close(release)
			<-called
			if flight.Default() == nil {
				return // its goroutine is not known
			}
			eventually(t, "the stack shows both", func() bool {
				got := names(me.Stack())
				return strings.Contains(got, "holdUp") && strings.Contains(got, "inner outer")
			})
		})
		outer(func() { vthread.Blocking(func() { holdUp(called, release) }) })
		watcher.Join()
		if got := names(me.Stack()); strings.Contains(got, "holdUp") {
			t.Errorf("after the call: %s", got)
		}
	})
}

func TestADumpShowsThatAThreadIsInBlocking(t *testing.T) {
	reader := readFlight(t)
	elsewhere(t, func(t *testing.T, b vthread.Builder) {
		me, called, release := vthread.Current(), make(chan struct{}), make(chan struct{})
		watcher := vthread.Builder{Kind: vthread.OnGoroutine}.Start(func() {
			defer close(release)
			<-called
			if row := rowOf(t, reader, me); row.State != flight.StateParked || row.Reason != flight.ReasonIO || row.Stack == 0 {
				t.Errorf("%v %v, stack %v; want parked, io, and a stack", row.State, row.Reason, row.Stack)
			}
		})
		vthread.Blocking(func() { holdUp(called, release) })
		watcher.Join()
	})
}

// While the thread is on its way to another goroutine, others give it permits; the carrier serves them meanwhile.
func TestPermitsDoNotKeepBlockingFromItsCall(t *testing.T) {
	rounds := 300
	if testing.Short() {
		rounds = 30
	}
	elsewhere(t, func(t *testing.T, b vthread.Builder) {
		me := vthread.Current()
		for range rounds {
			called := false
			// It is next on our carrier, and makes us wait for it.
			hog := b.Start(func() {
				me.Unpark()
				for range 300 {
					runtime.Gosched()
				}
			})
			vthread.Blocking(func() { called = true; vthread.Park() }) // the permit is the call's
			if !called {
				t.Fatal("it was not called")
			}
			hog.Join()
		}
	})
}

func TestAThreadComesBackToItsOwnCarrierAfterTheCall(t *testing.T) {
	single := sched.NewSingle()
	pinned, err := sched.NewPinned(sched.PinnedOptions{Carriers: 2})
	if err != nil {
		t.Fatal(err)
	}
	for name, s := range map[string]sched.Scheduler{"single": single, "pinned": pinned} {
		var threads []*vthread.Thread
		for range 8 {
			threads = append(threads, vthread.Builder{Scheduler: s}.Start(func() {
				was := vthread.CarrierID()
				for range 20 {
					in := flight.CarrierID(0)
					vthread.Blocking(func() { in = vthread.CarrierID(); time.Sleep(time.Microsecond) })
					if now := vthread.CarrierID(); in != flight.NoCarrier || now != was {
						t.Errorf("%s: carrier %d in the call and %d after it, want none and %d", name, in, now, was)
					}
				}
			}))
		}
		for _, th := range threads {
			th.Join()
		}
	}
	for _, s := range []interface{ Close() error }{single, pinned} {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

// moody is a scheduler that may refuse.
type moody struct {
	lender
	refuses atomic.Bool
}

func (m *moody) Execute(t *sched.Task) error {
	if m.refuses.Load() {
		return errRefused
	}
	return m.lender.Execute(t)
}

func TestAThreadThatIsRefusedAfterTheCallGoesOnWhenItIsUnparked(t *testing.T) {
	var m moody
	var returned atomic.Bool
	th := vthread.Builder{Scheduler: &m}.Start(func() {
		vthread.Blocking(func() { m.refuses.Store(true) })
		returned.Store(true)
	})
	eventually(t, "the thread is refused", func() bool { return m.refuses.Load() && th.State() == flight.StateParked })
	if err := th.Unpark(); !errors.Is(err, errRefused) || returned.Load() {
		t.Errorf("got %v, returned %v; want refused", err, returned.Load())
	}
	m.refuses.Store(false)
	if err := th.Unpark(); err != nil {
		t.Error(err)
	}
	th.Join()
	if !returned.Load() {
		t.Error("the thread has ended otherwise")
	}
}

func TestBlockingUnderStress(t *testing.T) {
	rounds := 200
	if testing.Short() {
		rounds = 20
	}
	for _, carriers := range []int{1, 2, 4} {
		t.Run(fmt.Sprintf("carriers=%d", carriers), func(t *testing.T) {
			b := vthread.Builder{Scheduler: forkJoin(t, carriers)}
			const n = 16
			var threads [n]*vthread.Thread
			var calls atomic.Int32
			for i := range n {
				threads[i] = b.Unstarted(func() {
					var inside atomic.Int32
					for k := range rounds {
						vthread.Blocking(func() {
							if inside.Add(1) != 1 {
								t.Error("a thread calls twice at a time")
							}
							calls.Add(1)
							switch k % 4 {
							case 0:
								vthread.Yield()
							case 1:
								time.Sleep(time.Microsecond)
							case 2:
								vthread.ParkFor(10 * time.Microsecond)
							}
							inside.Add(-1)
						})
						threads[(i+k)%n].Unpark()
						if k%8 == 0 {
							vthread.Yield()
						}
					}
				})
			}
			for _, th := range threads {
				if err := th.Start(); err != nil {
					t.Fatal(err)
				}
			}
			var stop atomic.Bool
			var wg sync.WaitGroup
			wg.Go(func() {
				for k := 0; !stop.Load(); k++ {
					threads[k%n].Interrupt()
					runtime.Gosched()
				}
			})
			for _, th := range threads {
				th.Join()
			}
			stop.Store(true)
			wg.Wait()
			if got := calls.Load(); got != int32(n*rounds) {
				t.Errorf("%d calls, want %d", got, n*rounds)
			}
		})
	}
}

func TestBlockingWorksInABubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in := func() {
			begin := time.Now()
			ch := make(chan int)
			time.AfterFunc(time.Hour, func() { close(ch) })
			vthread.Blocking(func() { <-ch })
			if d := time.Since(begin); d != time.Hour {
				t.Errorf("took %v, want 1h", d)
			}
		}
		in()
		vthread.Start(in).Join()
		vthread.Builder{Scheduler: lender{}}.Start(in).Join()
	})
}

func TestBlockingOnTheSpotDoesNotAllocate(t *testing.T) {
	b := vthread.Builder{Kind: vthread.OnGoroutine}
	b.Start(func() {
		n := 0
		f := func() { n++ }
		if n := testing.AllocsPerRun(100, func() { vthread.Blocking(f) }); n != 0 {
			t.Errorf("%v allocations, want none", n)
		}
	}).Join()
}

func ExampleBlocking() {
	var wg sync.WaitGroup
	wg.Go(func() {})
	vthread.Start(func() {
		vthread.Blocking(wg.Wait)
		fmt.Println("all have ended")
	}).Join()
	// Output: all have ended
}

func BenchmarkBlocking(b *testing.B) {
	for place, carriers := range map[string]int{"elsewhere": 1, "spot": 2} {
		b.Run("place="+place, func(b *testing.B) {
			onSome(b, carriers, func(vthread.Builder) {
				for b.Loop() {
					vthread.Blocking(func() {})
				}
			})
		})
	}
}
