package sched_test

import (
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/internal/coro"
	"github.com/vtscope/vtscope/runtime/sched"
	"github.com/vtscope/vtscope/runtime/vthread"
)

func newPinned(t testing.TB, o sched.PinnedOptions) *sched.Pinned {
	t.Helper()
	p, err := sched.NewPinned(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return p
}

// SD-15
func TestBadOptionsOfAPinnedAreErrors(t *testing.T) {
	for _, o := range []sched.PinnedOptions{
		{Carriers: -1},
		{CPUs: []int{-1}},
		{CPUs: []int{1 << 20}},
		{CPUs: []int{0}, AnyCPU: true},
	} {
		if p, err := sched.NewPinned(o); err == nil {
			t.Errorf("%+v: no error", o)
			p.Close()
		}
	}
}

// Every thread finds itself on the same carrier after each wait, and the threads are spread over all carriers.
func TestAThreadOfAPinnedStaysOnItsCarrier(t *testing.T) {
	p := newPinned(t, sched.PinnedOptions{Carriers: 3})
	b := vthread.Builder{Scheduler: p}
	const n = 30
	var on [n]flight.CarrierID
	var threads []*vthread.Thread
	for i := range n {
		threads = append(threads, b.Start(func() {
			me := vthread.Current()
			on[i] = sched.CarrierOf(me.Task())
			for round := range 20 {
				switch round % 4 {
				case 0:
					vthread.Yield()
				case 1:
					vthread.Sleep(time.Microsecond)
				case 2:
					go me.Unpark()
					vthread.Park()
				case 3:
					other := vthread.Builder{Scheduler: sched.Default()}.Start(func() { me.Unpark() })
					vthread.Park()
					other.Join()
				}
				if now := sched.CarrierOf(me.Task()); now != on[i] {
					t.Errorf("thread %d: on carrier %d, then on %d", i, on[i], now)
				}
			}
		}))
	}
	count := map[flight.CarrierID]int{}
	for i, th := range threads {
		returns(t, "a thread", th.Join)
		count[on[i]]++
	}
	for _, id := range p.Carriers() {
		if count[id] != n/3 {
			t.Errorf("%d threads on carrier %d, want %d", count[id], id, n/3)
		}
	}
}

func TestAThreadOfAPinnedStartsOnTheCarrierItPrefers(t *testing.T) {
	p := newPinned(t, sched.PinnedOptions{Carriers: 3})
	want := p.Carriers()[2]
	for range 5 {
		th := vthread.Builder{Scheduler: p}.Unstarted(func() {
			if got := sched.CarrierOf(sched.Current()); got != want {
				t.Errorf("on carrier %d, want %d", got, want)
			}
			vthread.Current().Task().Prefer(p.Carriers()[0]) // too late
			vthread.Yield()
			if got := sched.CarrierOf(sched.Current()); got != want {
				t.Errorf("after a yield: on carrier %d, want %d", got, want)
			}
		})
		th.Task().Prefer(want)
		if err := th.Start(); err != nil {
			t.Fatal(err)
		}
		th.Join()
	}
}

// A delegate has another scheduler execute its tasks.
type delegate struct{ to sched.Scheduler }

func (d delegate) Execute(t *sched.Task) error { return d.to.Execute(t) }

// Trap 2.
func TestAThreadOfAPinnedCannotLeaveItsOSThread(t *testing.T) {
	if !coro.Binds || !coro.CanProbe() {
		t.Skip("threads are not bound to OS threads in this build")
	}
	fj := newForkJoin(t, sched.ForkJoinOptions{Parallelism: 1})
	p, q := newPinned(t, sched.PinnedOptions{Carriers: 2}), newPinned(t, sched.PinnedOptions{Carriers: 2})
	single := sched.NewSingle()
	defer single.Close()
	for _, move := range []struct{ from, to sched.Scheduler }{{p, fj}, {p, single}, {p, q}, {fj, p}, {single, p}, {p, delegate{fj}}} {
		th := vthread.Builder{Scheduler: move.from}.Start(func() { vthread.Park() })
		await(t, "the park", func() bool { return th.State() == flight.StateParked })
		if err := th.UnparkOn(move.to); !errors.Is(err, sched.ErrLockedCarrier) {
			t.Errorf("%T to %T: %v, want ErrLockedCarrier", move.from, move.to, err)
		}
		if th.State() != flight.StateParked || th.Scheduler() != move.from {
			t.Errorf("%T to %T: refused, it is %s on %T", move.from, move.to, th, th.Scheduler())
		}
		if err := th.UnparkOn(move.from); err != nil {
			t.Errorf("%T to itself: %v", move.from, err)
		}
		returns(t, "the thread", th.Join)
	}
}

func TestAHeldCarrierOfAPinnedStopsItsOwnThreadsOnly(t *testing.T) {
	p := newPinned(t, sched.PinnedOptions{Carriers: 2})
	b := vthread.Builder{Scheduler: p}
	release := make(chan struct{})
	on := func(carrier int, f func()) *vthread.Thread {
		th := b.Unstarted(f)
		th.Task().Prefer(p.Carriers()[carrier])
		if err := th.Start(); err != nil {
			t.Fatal(err)
		}
		return th
	}
	var after atomic.Bool
	holder := on(0, func() { <-release })
	next := on(0, func() { after.Store(true) })
	for range 10 {
		returns(t, "a thread of the other carrier", on(1, func() { vthread.Sleep(time.Millisecond) }).Join)
	}
	if after.Load() {
		t.Error("a thread ran while its carrier was held")
	}
	close(release)
	returns(t, "the holder", holder.Join)
	returns(t, "the next", next.Join)
}

func TestAThreadOfAPinnedMayLockItselfToItsOSThread(t *testing.T) {
	b := vthread.Builder{Scheduler: newPinned(t, sched.PinnedOptions{Carriers: 1}), OnPanic: func(*vthread.Thread, any, []byte) {}}
	for _, end := range []func(){func() {}, runtime.Goexit, func() { panic("handled") }} {
		th := b.Start(func() {
			runtime.LockOSThread()
			vthread.Park() // pinned
			vthread.Yield()
			end()
		})
		await(t, "the park", func() bool { s := th.State(); return s == flight.StatePinned || s == flight.StateParked })
		th.Unpark()
		returns(t, "the thread", th.Join)
		returns(t, "the next thread", b.Start(func() { vthread.Sleep(time.Microsecond) }).Join)
	}
}

func TestCloseOfAPinnedServesThreadsThatUnparkOthers(t *testing.T) {
	for range 20 {
		p, err := sched.NewPinned(sched.PinnedOptions{Carriers: 3})
		if err != nil {
			t.Fatal(err)
		}
		b := vthread.Builder{Scheduler: p}
		var ring []*vthread.Thread
		const n = 7
		var laps [n]int
		begun := make(chan struct{}, n)
		for i := range n {
			ring = append(ring, b.Unstarted(func() {
				begun <- struct{}{}
				for range 20 {
					vthread.Park()
					laps[i]++
					ring[(i+1)%n].Unpark()
				}
			}))
		}
		for _, th := range ring {
			th.Start()
			<-begun
		}
		ring[0].Unpark()
		returns(t, "Close", p.Close) // while the baton goes round
		for i, th := range ring {
			if !th.Task().Done() {
				t.Errorf("thread %d was left after %d laps", i, laps[i])
			}
		}
		if err := p.Close(); err != nil {
			t.Errorf("second close: %v", err)
		}
		if _, err := b.TryStart(func() {}); !errors.Is(err, sched.ErrClosed) {
			t.Errorf("start after the close: %v, want ErrClosed", err)
		}
	}
	runtime.GC() // then the file forgets the threads that were refused
}

func TestAPinnedCannotBeClosedByItsThreads(t *testing.T) {
	p := newPinned(t, sched.PinnedOptions{Carriers: 2})
	vthread.Builder{Scheduler: p}.Start(func() {
		if err := p.Close(); !errors.Is(err, sched.ErrOnThread) {
			t.Errorf("got %v, want ErrOnThread", err)
		}
	}).Join()
}

// L2: routines of a crowd end on the carrier, and threads that are parked meanwhile are not harmed.
func TestRoutinesOfAPinnedEndWithIt(t *testing.T) {
	leavesNoGoroutine(t, func() {
		p, err := sched.NewPinned(sched.PinnedOptions{Carriers: 2})
		if err != nil {
			t.Fatal(err)
		}
		b := vthread.Builder{Scheduler: p}
		var all sync.WaitGroup
		const n = 2000
		var threads [n]*vthread.Thread
		all.Add(n)
		for i := range threads {
			threads[i] = b.Start(func() {
				all.Done()
				vthread.Park()
				if i%10 == 0 {
					runtime.Goexit()
				}
			})
		}
		all.Wait()
		for _, th := range threads {
			th.Unpark()
		}
		for _, th := range threads {
			th.Join()
		}
		if err := p.Close(); err != nil {
			t.Fatal(err)
		}
	})
}
