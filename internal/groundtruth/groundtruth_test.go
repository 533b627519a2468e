package groundtruth

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vtscope/vtscope/internal/computetest"
	"github.com/vtscope/vtscope/internal/leaktest"
	"github.com/vtscope/vtscope/runtime/continuation"
	"github.com/vtscope/vtscope/runtime/durable"
	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/sched"
	"github.com/vtscope/vtscope/runtime/structured"
	"github.com/vtscope/vtscope/runtime/vnet"
	"github.com/vtscope/vtscope/runtime/vsync"
	"github.com/vtscope/vtscope/runtime/vthread"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// counts are how many events of each kind have happened, by the counters of all rings, and parks by reason.
type counts struct {
	kinds [flight.KindCount]int
	parks [flight.ReasonCount]int
}

func look(t *testing.T, r *flight.Reader) (c counts) {
	t.Helper()
	rings, err := r.Rings()
	if err != nil {
		t.Fatal(err)
	}
	for i := range rings {
		for k := range c.kinds {
			c.kinds[k] += int(rings[i].Counts[k])
		}
		for why := range c.parks {
			c.parks[why] += int(rings[i].Parks[why])
		}
	}
	return c
}

// A world is what a scenario works with.
type world struct {
	t  *testing.T
	fj *sched.ForkJoin
	r  *flight.Reader
}

func (w *world) builder() vthread.Builder { return vthread.Builder{Scheduler: w.fj} }

// run executes f on a thread and waits for its end.
func (w *world) run(f func()) {
	w.t.Helper()
	if err := w.builder().Start(f).Join(); err != nil {
		w.t.Fatal(err)
	}
}

// settle waits until th is in state s.
func (w *world) settle(th *vthread.Thread, s flight.State) {
	w.t.Helper()
	for end := time.Now().Add(time.Minute); th.State() != s; time.Sleep(100 * time.Microsecond) {
		if time.Now().After(end) {
			w.t.Fatalf("%v for a minute: want %v", th, s)
		}
	}
}

// held waits until th is seen to hold its carrier.
func (w *world) held(th *vthread.Thread) {
	w.t.Helper()
	waitFor(w.t, "it holds its carrier", func() bool {
		rings, err := w.r.Rings()
		if err != nil {
			w.t.Fatal(err)
		}
		return slices.ContainsFunc(rings, func(g flight.RingRow) bool { return g.Hold.Thread == th.ID() })
	})
}

// reads makes a thread for each pause, which reads what comes so long after it has parked.
func reads(w *world, pauses ...time.Duration) {
	w.t.Helper()
	l, err := vnet.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		w.t.Fatal(err)
	}
	defer l.Close()
	to, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		w.t.Fatal(err)
	}
	defer to.Close()
	from, err := l.Accept()
	if err != nil {
		w.t.Fatal(err)
	}
	defer from.Close()
	for _, pause := range pauses {
		th := w.builder().Start(func() {
			if _, err := from.Read(make([]byte, 1)); err != nil {
				w.t.Error(err)
			}
		})
		w.settle(th, flight.StateParked)
		time.Sleep(pause)
		if _, err := to.Write([]byte{1}); err != nil {
			w.t.Fatal(err)
		}
		_ = th.Join()
	}
}

// spin computes for d.
func spin(d time.Duration) {
	for end := time.Now().Add(d); time.Now().Before(end); {
	}
}

// pinned executes f where the thread cannot leave its carrier.
func pinned(f func()) {
	continuation.Pin()
	defer continuation.Unpin()
	f()
}

const long = 60 * time.Millisecond // longer than all thresholds

// kinds are how many events of kinds there must be. Other kinds are not looked at.
type kinds map[flight.Kind]int

var (
	price    = flight.FloatField("price")
	checkout = flight.Register("groundtruth.Checkout", price)
)

var scenarios = []struct {
	name    string
	options sched.ForkJoinOptions
	set     string // a setting that differs from those of default
	do      func(w *world)
	want    kinds
	reason  flight.Reason // that parks of the scenario have
	again   bool          // events may come more often, as long as what they tell lasts
}{
	{name: "100 threads that just return", do: func(w *world) {
		var all []*vthread.Thread
		for range 100 {
			all = append(all, w.builder().Start(func() {}))
		}
		for _, th := range all {
			_ = th.Join()
		}
	}, want: kinds{flight.EventThreadStart: 100, flight.EventThreadEnd: 100, flight.EventMount: 100, flight.EventUnmount: 100, flight.EventPark: 0, flight.EventUnpark: 0, flight.EventThreadName: 0}},

	{name: "parks", do: func(w *world) {
		var parks atomic.Int32
		th := w.builder().Start(func() {
			for range 10 {
				vthread.Park()
				parks.Add(1)
			}
		})
		for i := range int32(10) {
			for parks.Load() != i {
				time.Sleep(10 * time.Microsecond)
			}
			w.settle(th, flight.StateParked)
			_ = th.Unpark()
		}
		_ = th.Join()
	}, want: kinds{flight.EventPark: 10, flight.EventUnpark: 10, flight.EventMount: 11, flight.EventUnmount: 11}, reason: flight.ReasonPark},

	{name: "sleeps", do: func(w *world) {
		w.run(func() {
			for range 5 {
				_ = vthread.Sleep(time.Millisecond)
			}
		})
	}, want: kinds{flight.EventPark: 5, flight.EventUnpark: 5, flight.EventMount: 6}, reason: flight.ReasonSleep},

	{name: "yields", do: func(w *world) {
		w.run(func() {
			for range 7 {
				vthread.Yield()
			}
		})
	}, want: kinds{flight.EventYield: 7, flight.EventPark: 0}},

	{name: "reads that wait", set: "poll=on", do: func(w *world) {
		reads(w, long, long)
	}, want: kinds{flight.EventPark: 2, flight.EventIO: 2, flight.EventPoll: 2}, reason: flight.ReasonRead},

	{name: "reads that wait for a moment", set: "io.threshold=1h", do: func(w *world) {
		reads(w, 0, 0)
	}, want: kinds{flight.EventPark: 2, flight.EventIO: 0}, reason: flight.ReasonRead},

	{name: "a connection without a descriptor", do: func(w *world) {
		l, err := vnet.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			w.t.Fatal(err)
		}
		defer l.Close()
		to, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			w.t.Fatal(err)
		}
		defer to.Close()
		give := exhaust(w.t)
		defer give()
		th := w.builder().Start(func() {
			c, err := l.Accept()
			if err != nil {
				w.t.Error(err)
				return
			}
			_ = c.Close()
		})
		w.settle(th, flight.StateTimedParked)
		give()
		_ = th.Join()
	}, want: kinds{flight.EventExhausted: 1}, again: true},

	{name: "names", do: func(w *world) {
		for i := range 3 {
			b := w.builder()
			b.Name = fmt.Sprint("named ", i)
			_ = b.Start(func() {}).Join()
		}
		w.run(func() { vthread.Current().SetName("later") })
	}, want: kinds{flight.EventThreadName: 4}},

	{name: "a scope", do: func(w *world) {
		err := structured.Options{Name: "truth", Scheduler: w.fj}.Run(context.Background(), func(s *structured.Scope) error {
			for range 5 {
				s.Fork(func() error { return nil })
			}
			return s.Join()
		})
		if err != nil {
			w.t.Error(err)
		}
	}, want: kinds{flight.EventScopeOpen: 1, flight.EventScopeFork: 5, flight.EventScopeJoin: 1, flight.EventScopeClose: 1, flight.EventScopeCancel: 0, flight.EventThreadEnd: 5}},

	{name: "a scope that is cancelled", do: func(w *world) {
		_ = structured.Options{Name: "truth", Scheduler: w.fj}.Run(context.Background(), func(s *structured.Scope) error {
			s.Fork(func() error { return vthread.Sleep(time.Hour) })
			s.Cancel(errors.New("enough"))
			return s.Join()
		})
	}, want: kinds{flight.EventScopeCancel: 1, flight.EventScopeDeadline: 0, flight.EventScopeClose: 1}},

	{name: "a scope whose deadline passes", do: func(w *world) {
		_ = structured.Options{Name: "truth", Scheduler: w.fj, Deadline: time.Now().Add(5 * time.Millisecond)}.Run(context.Background(), func(s *structured.Scope) error {
			s.Fork(func() error { return vthread.Sleep(time.Hour) })
			return s.Join()
		})
	}, want: kinds{flight.EventScopeCancel: 1, flight.EventScopeDeadline: 1, flight.EventScopeClose: 1}},

	{name: "a lock that is held for long", do: func(w *world) {
		var mu vsync.Mutex
		mu.Lock()
		th := w.builder().Start(func() { mu.Lock(); defer mu.Unlock() })
		w.settle(th, flight.StateBlocked)
		time.Sleep(long)
		mu.Unlock()
		_ = th.Join()
	}, want: kinds{flight.EventLockWait: 1, flight.EventLockHold: 1, flight.EventPark: 1}, reason: flight.ReasonLock},

	{name: "a read-write lock that is held for long", do: func(w *world) {
		var mu vsync.RWMutex
		mu.Lock()
		reader := w.builder().Start(func() { mu.RLock(); defer mu.RUnlock() })
		writer := w.builder().Start(func() { mu.Lock(); defer mu.Unlock() })
		w.settle(reader, flight.StateBlocked)
		w.settle(writer, flight.StateBlocked)
		time.Sleep(long)
		mu.Unlock()
		_, _ = reader.Join(), writer.Join()
	}, want: kinds{flight.EventLockWait: 2, flight.EventLockHold: 2}, reason: flight.ReasonLock}, // one for those who read, one for those who write

	{name: "permits that come late", do: func(w *world) {
		s := vsync.NewSemaphore(1)
		s.Acquire(1)
		th := w.builder().Start(func() { s.Acquire(1) })
		w.settle(th, flight.StateWaiting)
		time.Sleep(long)
		s.Release(1)
		_ = th.Join()
	}, want: kinds{flight.EventLockWait: 1, flight.EventLockHold: 0}},

	{name: "a lock that is held for a moment", do: func(w *world) {
		var mu vsync.Mutex
		mu.Lock()
		th := w.builder().Start(func() { mu.Lock(); defer mu.Unlock() })
		w.settle(th, flight.StateBlocked)
		mu.Unlock()
		_ = th.Join()
	}, set: "lock-wait.threshold=1h", want: kinds{flight.EventLockWait: 0}, reason: flight.ReasonLock},

	{name: "a thread that waits for a carrier", options: sched.ForkJoinOptions{Parallelism: 1, MaxCarriers: 1, MonopolyAfter: time.Hour}, do: func(w *world) {
		var began, waits atomic.Bool
		first := w.builder().Start(func() {
			began.Store(true)
			computetest.Until(&waits)
			spin(long)
		})
		for !began.Load() {
			time.Sleep(time.Millisecond)
		}
		second := w.builder().Start(func() {})
		waits.Store(true)
		_, _ = first.Join(), second.Join()
	}, want: kinds{flight.EventQueued: 1, flight.EventSlice: 1, flight.EventMonopolized: 0}},

	{name: "a thread that computes for long", options: sched.ForkJoinOptions{MonopolyAfter: long / 4}, do: func(w *world) {
		var seen atomic.Bool // on a busy machine a thread computes less than the time that passes
		th := w.builder().Start(func() {
			for !seen.Load() {
			}
		})
		w.held(th)
		seen.Store(true)
		_ = th.Join()
	}, want: kinds{flight.EventMonopolized: 1, flight.EventSlice: 1}},

	{name: "a pinned park", do: func(w *world) {
		w.run(func() { pinned(func() { _ = vthread.Sleep(long) }) })
	}, want: kinds{flight.EventPinned: 1, flight.EventPark: 0}},

	{name: "a pinned park that is too short for an event", do: func(w *world) {
		w.run(func() { pinned(func() { _ = vthread.Sleep(time.Millisecond) }) })
	}, set: "pinned.threshold=1h", want: kinds{flight.EventPinned: 0, flight.EventPark: 0}},

	{name: "a block in a channel of Go's", do: func(w *world) {
		ch := make(chan struct{})
		th := w.builder().Start(func() { <-ch })
		w.held(th)
		time.Sleep(long)
		close(ch)
		_ = th.Join()
	}, want: kinds{flight.EventPinned: 1}},

	{name: "starvation", options: sched.ForkJoinOptions{Parallelism: 1, MaxCarriers: 1, StarvedAfter: long / 2}, do: func(w *world) {
		hold := make(chan struct{})
		holder := w.builder().Start(func() { <-hold })
		w.held(holder)
		queued := w.builder().Start(func() {})
		// Not an alarm: one may be of before the holder was mounted, and tells of nobody.
		told := look(w.t, w.r).kinds[flight.EventStarved]
		waitFor(w.t, "it is told that a thread is queued for long", func() bool { return look(w.t, w.r).kinds[flight.EventStarved] > told })
		close(hold)
		_, _ = holder.Join(), queued.Join()
	}, want: kinds{flight.EventStarved: 1}},

	{name: "refused threads", do: func(w *world) {
		closed, err := sched.NewForkJoin(sched.ForkJoinOptions{})
		if err != nil {
			w.t.Fatal(err)
		}
		closed.Close()
		for range 3 {
			b := w.builder()
			b.Scheduler = closed
			if _, err := b.TryStart(func() {}); err == nil {
				w.t.Error("got no error")
			}
		}
	}, want: kinds{flight.EventSubmitFailed: 3, flight.EventThreadStart: 0}},

	{name: "timers", set: "timer-late.threshold=0s", do: func(w *world) {
		w.run(func() {
			for range 5 {
				_ = vthread.Sleep(time.Millisecond)
			}
		})
	}, want: kinds{flight.EventTimerLate: 5}},

	{name: "locals", set: "local-set=on", do: func(w *world) {
		l := vthread.NewLocal[int]()
		w.run(func() {
			for i := range 3 {
				_ = l.Set(i)
			}
		})
	}, want: kinds{flight.EventLocalSet: 3}},

	{name: "locals, which are off", do: func(w *world) {
		w.run(func() { _ = vthread.NewLocal[int]().Set(1) })
	}, want: kinds{flight.EventLocalSet: 0}},

	{name: "events of the program", do: func(w *world) {
		w.run(func() {
			s := checkout.Begin()
			checkout.Mark(price.Is(1.5))
			checkout.Mark()
			s.End(price.Is(2))
		})
	}, want: kinds{flight.EventSpanBegin: 1, flight.EventSpanEnd: 1, flight.EventMark: 2}},

	{name: "a durable thread that hibernates", set: "durable-step=on", do: func(w *world) {
		b := durable.Builder{Registry: errands(w.t, durable.Random), Scheduler: w.fj, HibernateAfter: time.Millisecond}
		th := begun(w, b)
		for end := time.Now().Add(time.Minute); th.State() != durable.Hibernated; time.Sleep(time.Millisecond) {
			if time.Now().After(end) {
				w.t.Fatalf("%v for a minute: want it hibernated", th.State())
			}
		}
		finished(w, th)
	}, want: kinds{flight.EventDurableStep: 4, flight.EventDurableHibernate: 1, flight.EventDurableResume: 1, flight.EventDurableReplay: 1, flight.EventDurablePark: 0}},

	{name: "a durable thread that is parked to bytes", do: func(w *world) {
		registry := errands(w.t, durable.Random)
		finished(w, sent(w, begun(w, durable.Builder{Registry: registry, Scheduler: w.fj}), registry))
	}, want: kinds{flight.EventDurablePark: 1, flight.EventDurableResume: 1, flight.EventDurableReplay: 1, flight.EventDurableHibernate: 0, flight.EventDurableDivergence: 0, flight.EventDurableStep: 0}},

	{name: "a durable thread that is parked to bytes while it hibernates", do: func(w *world) {
		registry := errands(w.t, durable.Random)
		th := begun(w, durable.Builder{Registry: registry, Scheduler: w.fj, HibernateAfter: time.Millisecond})
		for end := time.Now().Add(time.Minute); th.State() != durable.Hibernated; time.Sleep(time.Millisecond) {
			if time.Now().After(end) {
				w.t.Fatalf("%v for a minute: want it hibernated", th.State())
			}
		}
		finished(w, sent(w, th, registry))
	}, want: kinds{flight.EventDurableHibernate: 1, flight.EventDurableLeave: 1, flight.EventDurablePark: 1, flight.EventDurableResume: 1}},

	{name: "a durable thread whose code has changed", do: func(w *world) {
		changed := errands(w.t, func(t *durable.Thread) uint64 { return uint64(durable.Now(t).Unix()) })
		th := sent(w, begun(w, durable.Builder{Registry: errands(w.t, durable.Random), Scheduler: w.fj}), changed)
		if err := th.Join(); !errors.As(err, new(*durable.Divergence)) {
			w.t.Errorf("got %v, want a divergence", err)
		}
	}, want: kinds{flight.EventDurableDivergence: 1, flight.EventDurablePark: 1}},

	{name: "checkpoints", do: func(w *world) {
		registry := durable.NewRegistry()
		progress := durable.Checkpoint[int]{Name: "progress", Version: 1}
		durable.Register(registry, "count", func(t *durable.Thread, upTo int) (int, error) {
			n, _ := progress.Restore(t)
			for ; n < upTo; n++ {
				_ = durable.Random(t)
				progress.Save(t, n)
			}
			return n, nil
		})
		th, err := durable.Builder{Registry: registry, Scheduler: w.fj}.Start("count", 3)
		if err != nil {
			w.t.Fatal(err)
		}
		if err := th.Join(); err != nil {
			w.t.Error(err)
		}
	}, want: kinds{flight.EventDurableCheckpoint: 3}},

	{name: "leases that move", do: func(w *world) {
		for range 2 { // who takes them is a module of its own: runtime/durable/jetstream
			flight.Default().LeaseMoved(flight.LeaseMove{Thread: "errand", Body: "errand", From: "a", To: "b"})
		}
	}, want: kinds{flight.EventDurableLease: 2}},

	{name: "changed settings", do: func(w *world) {
		flight.Default().SetSettings(flight.DefaultSettings())
	}, want: kinds{flight.EventSettings: 1}},
}

// errands has a body that does three steps, waits for a signal, and returns.
func errands(t *testing.T, step func(*durable.Thread) uint64) *durable.Registry {
	t.Helper()
	registry := durable.NewRegistry()
	durable.Register(registry, "errand", func(t *durable.Thread, _ int) (string, error) {
		for range 3 {
			_ = step(t)
		}
		return durable.Await[string](t, "go on"), nil
	})
	return registry
}

// begun starts an errand and waits until it awaits its signal.
func begun(w *world, b durable.Builder) *durable.Thread {
	w.t.Helper()
	th, err := b.Start("errand", 0)
	if err != nil {
		w.t.Fatal(err)
	}
	for end := time.Now().Add(time.Minute); len(th.Steps()) < 4; time.Sleep(100 * time.Microsecond) {
		if time.Now().After(end) {
			w.t.Fatalf("%d steps for a minute, want 4", len(th.Steps()))
		}
	}
	return th
}

// sent parks a thread to bytes, and lets it go on from them.
func sent(w *world, th *durable.Thread, registry *durable.Registry) *durable.Thread {
	w.t.Helper()
	bytes, err := th.ParkAndSerialize()
	if err != nil {
		w.t.Fatal(err)
	}
	th, err = durable.DeserializeAndUnpark(bytes, registry, w.fj)
	if err != nil {
		w.t.Fatal(err)
	}
	return th
}

// finished gives an errand its signal and waits for its end.
func finished(w *world, th *durable.Thread) {
	w.t.Helper()
	if err := th.Signal("go on", "now"); err != nil {
		w.t.Fatal(err)
	}
	if got, err := durable.Result[string](th); got != "now" || err != nil {
		w.t.Errorf("got %q, %v", got, err)
	}
}

// TL-06: the scenario "locals"
func TestEveryKindIsCountedAsOftenAsItHappens(t *testing.T) {
	r := reader(t)
	seen := map[flight.Kind]bool{}
	for _, s := range scenarios {
		for k, n := range s.want {
			seen[k] = seen[k] || n > 0
		}
		t.Run(s.name, func(t *testing.T) {
			set := flight.DefaultSettings()
			if s.set != "" {
				if err := set.Set(s.set); err != nil {
					t.Fatal(err)
				}
			}
			flight.Default().SetSettings(set)
			defer flight.Default().SetSettings(flight.DefaultSettings())
			fj, err := sched.NewForkJoin(s.options)
			if err != nil {
				t.Fatal(err)
			}
			before := look(t, r)
			s.do(&world{t, fj, r})
			fj.Close()
			after := look(t, r)
			for k, want := range s.want {
				if got := after.kinds[k] - before.kinds[k]; got < want || got > want && !s.again {
					t.Errorf("%s: got %d, want %d", k, got, want)
				}
			}
			if s.reason != flight.ReasonNone {
				parks := after.kinds[flight.EventPark] - before.kinds[flight.EventPark]
				if got := after.parks[s.reason] - before.parks[s.reason]; got != parks || got == 0 {
					t.Errorf("parks for the reason %s: got %d, want all %d", s.reason, got, parks)
				}
			}
		})
	}
	elsewhere := []flight.Kind{
		flight.EventNone, flight.EventMore,
		flight.EventDeadlock,                       // of the debug build: runtime/flight
		flight.EventGC,                             // as often as Go collects: runtime/flight, against Go's statistics
		flight.EventSteal, flight.EventCompensated, // below, against figures
		flight.EventCarrierStart, flight.EventCarrierStop, // below
	}
	for k := range flight.KindCount {
		if !seen[k] && !slices.Contains(elsewhere, k) {
			t.Errorf("no scenario has an event %s", k)
		}
	}
}

func reader(t *testing.T) *flight.Reader {
	t.Helper()
	if flight.Default() == nil {
		t.Skip("the recorder is off")
	}
	r, err := flight.Default().Reader()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

func TestEventsOfASchedulerAreAsManyAsItsFiguresSay(t *testing.T) {
	r := reader(t)
	set := flight.DefaultSettings()
	if err := set.Set("steal=on"); err != nil {
		t.Fatal(err)
	}
	flight.Default().SetSettings(set)
	defer flight.Default().SetSettings(flight.DefaultSettings())
	before := look(t, r)
	fj, err := sched.NewForkJoin(sched.ForkJoinOptions{Parallelism: 2})
	if err != nil {
		t.Fatal(err)
	}
	b := vthread.Builder{Scheduler: fj}
	for end := time.Now().Add(time.Minute); (fj.Stats().Figures[flight.FigureSteals] == 0 || fj.Stats().Figures[flight.FigureCompensations] == 0) && time.Now().Before(end); {
		_ = b.Start(func() { // one carrier has much to do, and the other takes some
			var all []*vthread.Thread
			for range 50 {
				all = append(all, b.Start(func() { spin(100 * time.Microsecond) }))
			}
			for _, th := range all {
				_ = th.Join()
			}
		}).Join()
		var all []*vthread.Thread
		for range 4 { // and both are held
			all = append(all, b.Start(func() { time.Sleep(20 * time.Millisecond) }))
		}
		for _, th := range all {
			_ = th.Join()
		}
	}
	fj.Close()
	stats, after := fj.Stats().Figures, look(t, r)
	for k, want := range map[flight.Kind]uint64{flight.EventSteal: stats[flight.FigureSteals], flight.EventCompensated: stats[flight.FigureCompensations]} {
		if got := after.kinds[k] - before.kinds[k]; got != int(want) || got == 0 {
			t.Errorf("%s: got %d, want %d as the figure says, and some", k, got, want)
		}
	}
	starts := after.kinds[flight.EventCarrierStart] - before.kinds[flight.EventCarrierStart]
	stops := after.kinds[flight.EventCarrierStop] - before.kinds[flight.EventCarrierStop]
	if starts < 2 || starts != stops {
		t.Errorf("got %d carriers started and %d stopped, want as many, and two at least", starts, stops)
	}
}

// totals returns the sums of the scope named name, in JSON's words.
func totals(t *testing.T, r *flight.Reader, name string) flight.TotalsRow {
	t.Helper()
	scopes, err := r.Scopes()
	if err != nil {
		t.Fatal(err)
	}
	rows, err := r.Totals()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range scopes {
		if s.Name != name {
			continue
		}
		for _, row := range rows {
			if row.Scope == s.Index && row.ID == s.ID {
				return row
			}
		}
	}
	return flight.TotalsRow{}
}

func TestScopesAddUpWhatTheirThreadsUsed(t *testing.T) {
	r := reader(t)
	set := flight.DefaultSettings()
	if err := set.Set("cpu-time=on"); err != nil {
		t.Fatal(err)
	}
	flight.Default().SetSettings(set)
	defer flight.Default().SetSettings(flight.DefaultSettings())
	fj, err := sched.NewForkJoin(sched.ForkJoinOptions{Parallelism: 1, MaxCarriers: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer fj.Close()
	const n, each = 20, 5 * time.Millisecond
	began := time.Now()
	err = structured.Options{Name: "totals outer", Scheduler: fj}.Run(context.Background(), func(outer *structured.Scope) error {
		err := structured.Options{Name: "totals inner", Scheduler: fj}.Run(context.Background(), func(s *structured.Scope) error {
			for range n {
				s.Fork(func() error {
					spin(each)
					return vthread.Sleep(each)
				})
			}
			return s.Join()
		})
		waitFor(t, "the sums of the outer scope", func() bool { return totals(t, r, "totals outer").Ended == n })
		all := time.Since(began)
		got := totals(t, r, "totals outer") // the inner one is closed
		if got.Mounts != 2*n || got.Run < about(n*each) || about(got.Run) > all || got.Park < n*each/2 || got.Park > n*all || got.Ready < each || got.Ready > n*all {
			t.Errorf("got %+v within %v; want %d mounts, %v of run time and more, about as much of park time, and threads that waited for the carrier", got, all, 2*n, n*each)
		}
		if got.CPU == 0 || about(got.CPU) > got.Run {
			t.Errorf("got %v on processors, want some, and not more than the run time %v", got.CPU, got.Run)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// about is a little less than d: the recorder's clock, the system's and that of processors do not agree to the last part in a thousand.
func about(d time.Duration) time.Duration { return d - d/20 }

func waitFor(t *testing.T, what string, done func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !done(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s: not after a minute", what)
		}
	}
}

func TestAThreadTellsWhatItHasUsedSoFar(t *testing.T) {
	r := reader(t)
	fj, err := sched.NewForkJoin(sched.ForkJoinOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer fj.Close()
	th := vthread.Builder{Scheduler: fj}.Start(func() {
		spin(20 * time.Millisecond)
		vthread.Park()
	})
	waitFor(t, "parked", func() bool { return th.State() == flight.StateParked })
	row, ok, err := r.FindThread(th.ID())
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	d, err := r.ThreadDetail(row.Index)
	if err != nil || d.Run < about(20*time.Millisecond) || about(d.Run) > time.Since(r.Time(d.Created)) || d.CPU != 0 {
		t.Errorf("got %+v, %v; want 20 ms of run time and more, and no time on processors since that is not measured", d, err)
	}
	_ = th.Unpark()
	_ = th.Join()
}
