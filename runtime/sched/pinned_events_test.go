package sched_test

import (
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vtscope/vtscope/internal/computetest"
	"github.com/vtscope/vtscope/runtime/continuation"
	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/internal/coro"
	"github.com/vtscope/vtscope/runtime/sched"
	"github.com/vtscope/vtscope/runtime/vsync"
	"github.com/vtscope/vtscope/runtime/vthread"
)

// eventsOf returns a thread's events of a kind.
func eventsOf(t *testing.T, r *flight.Reader, id flight.ThreadID, k flight.Kind) (evs []flight.Event) {
	t.Helper()
	rings, err := r.Rings()
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range rings {
		all, _, _, err := r.Events(row.Index, 0, 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range all {
			if e.Kind == k && e.Thread == id {
				evs = append(evs, e)
			}
		}
	}
	return evs
}

// stackHas reports whether a recorded stack passes a function of that name. Symbols come a moment after their stack.
func stackHas(t *testing.T, r *flight.Reader, id flight.StackID, function string) bool {
	t.Helper()
	stack, err := r.Stack(id)
	if err != nil {
		return false
	}
	for _, f := range stack.Frames {
		if strings.Contains(f.Func, function) {
			return true
		}
	}
	return false
}

const threshold = 2 * time.Millisecond

// sections leaves out operations of Go's: on its way to a park a thread may wait for a lock of the recorder's.
func sections(pins []flight.Event) []flight.Event {
	return slices.DeleteFunc(pins, func(e flight.Event) bool { return e.Code == flight.ReasonPinnedGo })
}

func unpark(th *vthread.Thread) {
	if err := th.Unpark(); err != nil {
		panic(err)
	}
}

//go:noinline
func pinnedWait(wait func()) {
	continuation.Pin()
	defer continuation.Unpin()
	wait()
}

// PN-01, PN-03
func TestEachPinnedWaitIsOneEvent(t *testing.T) {
	r := recorderOf(t)
	fj := newForkJoin(t, sched.ForkJoinOptions{Parallelism: 2, PinnedAfter: threshold})
	b := vthread.Builder{Scheduler: fj}
	var mu vsync.Mutex
	ended := make(chan struct{})
	end := sync.OnceFunc(func() { close(ended) })
	defer end() // else the scheduler could not be closed
	helper := b.Start(func() { <-ended })
	for name, c := range map[string]struct {
		wait func()
		end  func(*vthread.Thread)
	}{
		"park":       {func() { vthread.Park() }, unpark},
		"timed park": {func() { vthread.ParkFor(time.Hour) }, unpark},
		"sleep":      {func() { vthread.Sleep(time.Hour) }, func(th *vthread.Thread) { th.Interrupt() }},
		"lock":       {func() { mu.Lock(); defer mu.Unlock() }, func(*vthread.Thread) { mu.Unlock() }},
		"join":       {func() { helper.Join() }, func(*vthread.Thread) { end() }},
	} {
		if name == "lock" {
			mu.Lock()
		}
		var carrier atomic.Int32
		started := time.Now()
		th := b.Start(func() {
			carrier.Store(int32(sched.CarrierOf(sched.Current())))
			pinnedWait(c.wait)
		})
		await(t, name+" is pinned", func() bool { // in the park: on the way there it may have waited for a lock of the recorder's
			row, _, err := r.FindThread(th.ID())
			return err == nil && row.State == flight.StatePinned && th.State() == flight.StatePinned
		})
		begun := time.Now()
		for time.Since(begun) < threshold {
			runtime.Gosched()
		}
		c.end(th)
		th.Join()
		took := time.Since(started)
		evs := sections(eventsOf(t, r, th.ID(), flight.EventPinned))
		if len(evs) != 1 {
			t.Errorf("%s: got events %+v, want one", name, evs)
			continue
		}
		e, held := evs[0], flight.Held(evs[0].Arg)
		if e.Code != flight.ReasonPinnedSection || int32(e.Carrier) != carrier.Load() || held.Duration() < threshold || held.Duration() > took {
			t.Errorf("%s: got %+v held %v, want a pin section on carrier %d for at least %v", name, e, held, carrier.Load(), threshold)
		}
		await(t, name+"'s stack", func() bool { return stackHas(t, r, e.Stack, "pinnedWait") })
	}
}

// Who unparks a pinned thread may lose its processor after the thread's state has changed, and before its goroutine is woken: the watchdog looks meanwhile.
func TestAPinnedParkIsNoOperationOfGosWhileItIsBeingEnded(t *testing.T) {
	r := recorderOf(t)
	fj := newForkJoin(t, sched.ForkJoinOptions{Parallelism: 1, PinnedAfter: 1})
	th := vthread.Builder{Scheduler: fj}.Start(func() { pinnedWait(func() { vthread.Park() }) })
	await(t, "it is pinned", func() bool { return th.State() == flight.StatePinned })
	if !sched.UnparkHalfway(th.Task(), func() {
		before := fj.StoodFor()
		await(t, "the watchdog looks a few times", func() bool { return fj.StoodFor() > before+3 })
	}) {
		t.Fatal("it is not pinned any more")
	}
	th.Join()
	if err := fj.Close(); err != nil { // then the watchdog has told all that it knows
		t.Fatal(err)
	}
	all := eventsOf(t, r, th.ID(), flight.EventPinned)
	evs := slices.DeleteFunc(slices.Clone(all), func(e flight.Event) bool {
		// Before the section it may have waited for a lock of the recorder's. Symbols come a moment after their stack.
		await(t, "the symbols", func() bool { return stackHas(t, r, e.Stack, ".") })
		return !stackHas(t, r, e.Stack, "pinnedWait")
	})
	if len(evs) != 1 || evs[0].Code != flight.ReasonPinnedSection {
		t.Errorf("got events %+v, want one of the pin section", evs)
	}
	if n := figure(fj, flight.FigurePins); n != len(all) {
		t.Errorf("got %d pins in the figures, want %d", n, len(all))
	}
}

// PN-02
func TestShortPinsAreCountedByTheirPlaceAlone(t *testing.T) {
	r := recorderOf(t)
	counted := func() (n uint64) { // by this test, so far
		t.Helper()
		sites, err := r.PinSites()
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range sites {
			if s.Reason == flight.ReasonPinnedSection && stackHas(t, r, s.Stack, "TestShortPinsAreCountedByTheirPlaceAlone") {
				if s.Total == 0 || s.Longest > s.Total {
					t.Errorf("got %+v", s)
				}
				n += s.Count
			}
		}
		return n
	}
	before := counted()
	fj := newForkJoin(t, sched.ForkJoinOptions{Parallelism: 2, PinnedAfter: time.Hour})
	th := vthread.Builder{Scheduler: fj}.Start(func() {
		for figure(fj, flight.FigurePins) < 7 {
			pinnedWait(func() { vthread.ParkFor(time.Microsecond) }) // or the time is over before it parks
		}
	})
	th.Join()
	if evs := eventsOf(t, r, th.ID(), flight.EventPinned); len(evs) != 0 {
		t.Errorf("got %+v, want no event", evs)
	}
	await(t, "the place with seven pins more", func() bool { return counted() == before+7 })
	if got := fj.Stats().Figures; got[flight.FigurePins] != 7 || got[flight.FigurePinnedTime] == 0 {
		t.Errorf("got %d pins in %v", got[flight.FigurePins], time.Duration(got[flight.FigurePinnedTime]))
	}
	if got := fj.Stats().Pinned; got.Total() != 7 {
		t.Errorf("got %d pins in buckets, want 7: %v", got.Total(), got)
	}
}

// PN-07
func TestALockThatIsHeldPinsNobody(t *testing.T) {
	r := recorderOf(t)
	fj := newForkJoin(t, sched.ForkJoinOptions{Parallelism: 1, MaxCarriers: 1, PinnedAfter: 1})
	b := vthread.Builder{Scheduler: fj}
	var mu vsync.Mutex
	th := b.Start(func() {
		mu.Lock()
		defer mu.Unlock()
		vthread.Park()
	})
	await(t, "it parks with the lock", func() bool { return th.State() == flight.StateParked })
	b.Start(func() {}).Join() // on the only carrier
	if err := th.Unpark(); err != nil {
		t.Fatal(err)
	}
	th.Join()
	if evs := sections(eventsOf(t, r, th.ID(), flight.EventPinned)); len(evs) != 0 {
		t.Errorf("got %+v, want no event", evs)
	}
}

func TestWhoWaitsForAPinnedCarrierIsAVictim(t *testing.T) {
	r := recorderOf(t)
	fj := newForkJoin(t, sched.ForkJoinOptions{Parallelism: 1, MaxCarriers: 1, PinnedAfter: 1})
	b := vthread.Builder{Scheduler: fj}
	th := b.Start(func() { pinnedWait(func() { vthread.Park() }) })
	await(t, "it is pinned", func() bool { return th.State() == flight.StatePinned })
	var waiting []*vthread.Thread
	for range 5 {
		waiting = append(waiting, b.Start(func() {}))
	}
	if err := th.Unpark(); err != nil {
		t.Fatal(err)
	}
	th.Join()
	for _, w := range waiting {
		w.Join()
	}
	evs := sections(eventsOf(t, r, th.ID(), flight.EventPinned))
	if len(evs) != 1 || flight.Held(evs[0].Arg).Victims() != 5 {
		t.Errorf("got %+v, want one event with 5 victims", evs)
	}
	if n := figure(fj, flight.FigureVictims); n != 5 {
		t.Errorf("got %d victims in the figures, want 5", n)
	}
}

func TestAThreadThatComputesForLongIsAMonopoly(t *testing.T) {
	r := recorderOf(t)
	if !coro.SharedLookout().Sees() {
		t.Skip("goroutines cannot be looked at here")
	}
	const after = 3 * time.Millisecond
	fj := newForkJoin(t, sched.ForkJoinOptions{Parallelism: 1, MaxCarriers: 1, MonopolyAfter: after})
	b := vthread.Builder{Scheduler: fj}
	var stop atomic.Bool
	defer stop.Store(true)
	begun := time.Now()
	th := b.Start(func() { computetest.Until(&stop) })
	waiting := b.Start(func() {})
	await(t, "it is seen to compute", func() bool {
		h, ok := held(t, r, th.ID())
		return ok && h.Reason == flight.ReasonMonopoly && stackHas(t, r, h.Stack, "TestAThreadThatComputesForLongIsAMonopoly")
	})
	if s := th.State(); s != flight.StateMounted {
		t.Errorf("it is shown %v, want mounted", s)
	}
	stop.Store(true)
	th.Join()
	waiting.Join()
	most := time.Since(begun)
	var evs []flight.Event
	await(t, "the event", func() bool { evs = eventsOf(t, r, th.ID(), flight.EventMonopolized); return len(evs) > 0 })
	took := flight.Held(evs[0].Arg)
	if len(evs) != 1 || took.Duration() < after || took.Duration() > most || took.Victims() != 1 {
		t.Errorf("got %+v, %v; want one, from %v to %v, with one victim", evs, took, after, most)
	}
	if n := figure(fj, flight.FigureMonopolies); n != 1 {
		t.Errorf("got %d monopolies in the figures, want 1", n)
	}
}

// amongOthersThatCompute leaves one processor, for which eight goroutines compete until the test is over, or stop is true.
func amongOthersThatCompute(t *testing.T) (stop *atomic.Bool) {
	was := runtime.GOMAXPROCS(1)
	stop = new(atomic.Bool)
	var others sync.WaitGroup
	for range 8 {
		others.Go(func() { computetest.Until(stop) })
	}
	t.Cleanup(func() {
		stop.Store(true)
		others.Wait()
		runtime.GOMAXPROCS(was)
	})
	return stop
}

// On a machine with too much to do a thread that has waited waits again, for a processor.
func TestAThreadThatWaitsForAProcessorIsNoMonopoly(t *testing.T) {
	r := recorderOf(t)
	if !coro.SharedLookout().Sees() {
		t.Skip("goroutines cannot be looked at here")
	}
	amongOthersThatCompute(t)
	const after = 20 * time.Millisecond
	th := vthread.Builder{Scheduler: newForkJoin(t, sched.ForkJoinOptions{Parallelism: 1, MonopolyAfter: after})}.Start(func() {
		for round := range 12 {
			if ch := make(chan int); round%2 == 0 {
				select {
				case <-ch:
				case <-time.After(time.Millisecond):
				}
			} else {
				time.Sleep(time.Millisecond)
			}
		}
	})
	th.Join()
	if evs := eventsOf(t, r, th.ID(), flight.EventMonopolized); len(evs) != 0 {
		t.Errorf("got %d events, the first for %v, want none: it has only waited", len(evs), flight.Held(evs[0].Arg).Duration())
	}
}

func TestOfAThreadThatSharesAProcessorOnlyWhatItComputesCounts(t *testing.T) {
	r := recorderOf(t)
	if !coro.SharedLookout().Sees() {
		t.Skip("goroutines cannot be looked at here")
	}
	stop := amongOthersThatCompute(t)
	begun := time.Now()
	th := vthread.Builder{Scheduler: newForkJoin(t, sched.ForkJoinOptions{Parallelism: 1})}.Start(func() { computetest.Until(stop) })
	const want = 200 * time.Millisecond
	await(t, "it computes", func() bool {
		h, ok := held(t, r, th.ID())
		return ok && h.Reason == flight.ReasonMonopoly && flight.Since(h.Since) > want
	})
	stop.Store(true)
	th.Join()
	took := time.Since(begun)
	var evs []flight.Event
	await(t, "the event", func() bool { evs = eventsOf(t, r, th.ID(), flight.EventMonopolized); return len(evs) > 0 })
	if d := flight.Held(evs[0].Arg).Duration(); d > took/2 {
		t.Errorf("got %v of %v, want about a ninth: nine share the processor", d, took)
	}
}

func TestAThreadThatYieldsAloneIsNoMonopoly(t *testing.T) {
	r := recorderOf(t)
	const after = 20 * time.Millisecond
	fj := newForkJoin(t, sched.ForkJoinOptions{Parallelism: 1, MonopolyAfter: after})
	longest := time.Duration(0) // that the goroutine was not given a processor, also before its first yield, and after its last
	last := time.Now()
	yielded := func() {
		now := time.Now()
		longest = max(longest, now.Sub(last))
		last = now
	}
	th := vthread.Builder{Scheduler: fj}.Start(func() {
		for begun := time.Now(); time.Since(begun) < 5*after; {
			vthread.Yield()
			yielded()
		}
	})
	th.Join()
	yielded()
	if evs := eventsOf(t, r, th.ID(), flight.EventMonopolized); len(evs) != 0 && longest < after/2 {
		t.Errorf("got %+v, want none: it yields every %v at least", evs, longest)
	}
}

func TestAPinEndsWhenItsThreadComputes(t *testing.T) {
	r := recorderOf(t)
	if !coro.SharedLookout().Sees() {
		t.Skip("goroutines cannot be looked at here")
	}
	fj := newForkJoin(t, sched.ForkJoinOptions{Parallelism: 1, PinnedAfter: 1, MonopolyAfter: 2 * time.Millisecond})
	ch := make(chan struct{})
	var stop atomic.Bool
	defer stop.Store(true)
	th := vthread.Builder{Scheduler: fj}.Start(func() {
		<-ch
		computetest.Until(&stop)
	})
	var blocked flight.StackID
	await(t, "it blocks", func() bool { // before, it may have waited for a lock of the recorder's
		h, ok := held(t, r, th.ID())
		blocked = h.Stack
		return ok && h.Reason == flight.ReasonPinnedGo && stackHas(t, r, h.Stack, "TestAPinEndsWhenItsThreadComputes")
	})
	close(ch)
	await(t, "it computes", func() bool { h, ok := held(t, r, th.ID()); return ok && h.Reason == flight.ReasonMonopoly })
	all := eventsOf(t, r, th.ID(), flight.EventPinned)
	n := 0
	for _, e := range all {
		if e.Stack == blocked {
			n++
		}
	}
	if n != 1 {
		t.Errorf("got %d events of the pin, want the one that is over", n)
	}
	stop.Store(true)
	th.Join()
	if got := fj.Stats().Figures; int(got[flight.FigurePins]) != len(all) || got[flight.FigureMonopolies] != 1 {
		t.Errorf("got %d pins and %d monopolies, want %d and one", got[flight.FigurePins], got[flight.FigureMonopolies], len(all))
	}
}

func TestAPinnedParkIsNoMonopoly(t *testing.T) {
	r := recorderOf(t)
	const after = 4 * time.Millisecond
	fj := newForkJoin(t, sched.ForkJoinOptions{Parallelism: 1, MonopolyAfter: after})
	const parks = 30
	th := vthread.Builder{Scheduler: fj}.Start(func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		for range parks {
			vthread.ParkFor(after + 2*time.Millisecond) // then it waits until its OS thread executes
		}
	})
	th.Join()
	// Between two parks it may lose its processor for long, and counts as who computes; seldom.
	if evs := eventsOf(t, r, th.ID(), flight.EventMonopolized); len(evs) > parks/3 {
		t.Errorf("got %d events for %d parks, want none: %+v", len(evs), parks, evs)
	}
}

func TestStarvationRaisesAnAlarmWithThoseWhoHoldTheCarriers(t *testing.T) {
	r := recorderOf(t)
	alarms := make(chan sched.Starvation, 10)
	const after = 5 * time.Millisecond
	fj := newForkJoin(t, sched.ForkJoinOptions{
		Parallelism: 2, MaxCarriers: 2, StarvedAfter: after, OnStarved: func(s sched.Starvation) { alarms <- s },
	})
	b := vthread.Builder{Scheduler: fj}
	told := 0
	for range 2 { // it can come again
		holders := map[flight.ThreadID]*vthread.Thread{}
		for range 2 {
			th := b.Start(func() { pinnedWait(func() { vthread.Park() }) })
			holders[th.ID()] = th
		}
		for _, th := range holders {
			await(t, "it is pinned", func() bool { return th.State() == flight.StatePinned })
		}
		await(t, "nobody waits", func() bool { return figure(fj, flight.FigureStarving) == 0 })
		for ; told < figure(fj, flight.FigureAlarms); told++ {
			<-alarms // a carrier had no processor for long, before its holder was mounted
		}
		before := starvedEvents(t, r, holders)
		starved := b.Start(func() {})
		s := <-alarms
		told++
		if s.For < after || s.Queued != 1 || len(s.Holders) != 2 {
			t.Errorf("got %+v, want one thread that waits for at least %v, and two holders", s, after)
		}
		for _, h := range s.Holders {
			if holders[h.Thread] == nil || h.Reason != flight.ReasonPinnedSection || !passes(sched.Pin{PCs: h.PCs}, "pinnedWait") {
				t.Errorf("got holder %+v", h)
			}
		}
		if n := figure(fj, flight.FigureStarving); time.Duration(n) < after {
			t.Errorf("starving for %v in the figures, want at least %v", time.Duration(n), after)
		}
		events := starvedEvents(t, r, holders)
		for _, e := range events {
			if h := flight.Held(e.Arg); h.Duration() < after || !slices.Contains(before, e) && (e.Code != flight.ReasonPinnedSection || h.Victims() != 1) {
				t.Errorf("got event %+v", e)
			}
		}
		if n := len(events) - len(before); n != 1 {
			t.Errorf("got %d events, want one for the one place", n)
		}
		for _, th := range holders {
			unpark(th)
		}
		starved.Join()
		for _, th := range holders {
			th.Join()
		}
		await(t, "nobody starves", func() bool { return figure(fj, flight.FigureStarving) == 0 })
	}
}

// starvedEvents returns the events of starvation that name one of the threads.
func starvedEvents(t *testing.T, r *flight.Reader, threads map[flight.ThreadID]*vthread.Thread) (evs []flight.Event) {
	t.Helper()
	for id := range threads {
		evs = append(evs, eventsOf(t, r, id, flight.EventStarved)...)
	}
	return evs
}

// The watchdog must not add carriers while threads wait for a lock of the scheduler's own, even if others
// compute meanwhile.
func TestWaitsForLocksOfTheSchedulersDoNotCountAsBlocking(t *testing.T) {
	if !coro.SharedLookout().Sees() || flight.Default() == nil {
		t.Skip("goroutines cannot be looked at here")
	}
	fj, other := newForkJoin(t, sched.ForkJoinOptions{Parallelism: 1}), newForkJoin(t, sched.ForkJoinOptions{Parallelism: 1})
	b := vthread.Builder{Scheduler: fj}
	unlock := other.LockShared()
	var there *vthread.Thread
	th := b.Start(func() { there = vthread.Builder{Scheduler: other}.Start(func() {}) })
	await(t, "it waits for the lock", func() bool { return th.Task().Doing() == coro.DoingWait }) // until then it computes
	looked := func(n int) {
		before := fj.StoodFor()
		await(t, "the watchdog looks", func() bool { return fj.StoodFor() > before+n })
	}
	looked(3)
	waiting := b.Start(func() {})
	var over atomic.Bool
	defer over.Store(true)
	go func() {
		for !over.Load() {
		}
	}()
	looked(60)
	over.Store(true)
	carriers, state, done := figure(fj, flight.FigureCarriers), th.State(), waiting.State() == flight.StateDone
	unlock()
	th.Join()
	waiting.Join()
	there.Join()
	if carriers != 1 || state != flight.StateMounted || done {
		t.Errorf("got %d carriers, a thread that is %v, and another that is done: %t; want one, mounted, and false",
			carriers, state, done)
	}
}
