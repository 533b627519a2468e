package sched_test

import (
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vtscope/vtscope/internal/computetest"
	"github.com/vtscope/vtscope/runtime/continuation"
	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/sched"
	"github.com/vtscope/vtscope/runtime/vthread"
)

func figure(s interface{ Stats() sched.Stats }, f flight.Figure) int {
	return int(s.Stats().Figures[f])
}

// SD-15
func TestIllegalOptionsAreRefused(t *testing.T) {
	for _, o := range []sched.ForkJoinOptions{
		{Parallelism: -1},
		{MinCarriers: -1},
		{MaxCarriers: -1},
		{Parallelism: 3, MaxCarriers: 2},
		{Parallelism: 1, MinCarriers: 5, MaxCarriers: 4},
		{KeepAlive: -1},
		{PinnedAfter: -1},
		{MonopolyAfter: -1},
		{StarvedAfter: -1},
	} {
		if fj, err := sched.NewForkJoin(o); err == nil {
			fj.Close()
			t.Errorf("%+v: got a scheduler, want an error", o)
		}
	}
}

// SD-09
func TestParallelismIsSetWhileItRuns(t *testing.T) {
	fj := newForkJoin(t, sched.ForkJoinOptions{Parallelism: 1, MaxCarriers: 8})
	var stop atomic.Bool
	var inside, most atomic.Int32
	var threads []*vthread.Thread
	for range 8 {
		threads = append(threads, vthread.Builder{Scheduler: fj}.Start(func() {
			for !stop.Load() {
				n := inside.Add(1)
				for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
				}
				runtime.Gosched() // for long enough that others are inside, too
				inside.Add(-1)
				vthread.Yield()
			}
		}))
	}
	defer func() {
		stop.Store(true)
		for _, th := range threads {
			th.Join()
		}
	}()
	for _, n := range []int{1, 3, 2, 1, 4} {
		if err := fj.SetParallelism(n); err != nil {
			t.Fatal(err)
		}
		if got := fj.Parallelism(); got != n {
			t.Fatalf("got parallelism %d, want %d", got, n)
		}
		await(t, fmt.Sprint("as many carriers as parallelism ", n), func() bool {
			s := fj.Stats()
			return int(s.Figures[flight.FigureRunning]) == n && int(s.Figures[flight.FigureMounted]) <= n
		})
		most.Store(0)
		await(t, fmt.Sprint("as many at a time as parallelism ", n), func() bool { return int(most.Load()) >= n })
	}
	for _, n := range []int{-1, 0, 9} {
		if err := fj.SetParallelism(n); err == nil {
			t.Errorf("parallelism %d: got no error", n)
		}
	}
}

func TestLessParallelismIsMetSoon(t *testing.T) {
	for _, c := range []struct{ from, threads int }{{4, 2}, {4, 4}, {4, 8}, {2, 4}, {2, 40}, {3, 6}} {
		fj := newForkJoin(t, sched.ForkJoinOptions{Parallelism: c.from})
		var stop atomic.Bool
		var threads []*vthread.Thread
		for range c.threads {
			threads = append(threads, vthread.Builder{Scheduler: fj}.Start(func() {
				for !stop.Load() {
					runtime.Gosched()
					vthread.Yield()
				}
			}))
		}
		await(t, "as many carriers as threads can use", func() bool { return figure(fj, flight.FigureRunning) == min(c.from, c.threads) })
		if err := fj.SetParallelism(1); err != nil {
			t.Fatal(err)
		}
		await(t, fmt.Sprint(c, ": one carrier"), func() bool { return figure(fj, flight.FigureRunning) == 1 })
		stop.Store(true)
		for _, th := range threads {
			th.Join()
		}
		await(t, fmt.Sprint(c, ": the others stop"), func() bool { return figure(fj, flight.FigureCarriers) == 1 })
	}
}

func TestMoreParallelismStartsNoMoreCarriersThanThreadsWait(t *testing.T) {
	fj := newForkJoin(t, sched.ForkJoinOptions{Parallelism: 1, MaxCarriers: 500})
	var stop atomic.Bool
	t.Cleanup(func() { stop.Store(true) }) // before fj is closed, which waits for them
	b := vthread.Builder{Scheduler: fj}
	spin := func() {
		for !stop.Load() {
			runtime.Gosched()
		}
	}
	threads := []*vthread.Thread{b.Start(spin), b.Start(spin)}
	await(t, "one waits for the other, or the watchdog has seen that", func() bool {
		mounted := figure(fj, flight.FigureMounted)
		return mounted == 1 && figure(fj, flight.FigureQueued) == 1 || mounted == 2
	})
	if err := fj.SetParallelism(500); err != nil {
		t.Fatal(err)
	}
	await(t, "both execute", func() bool { return figure(fj, flight.FigureMounted) == 2 })
	if n := fj.Carriers(); n > 30 { // the watchdog may have added some while one that was to start had no processor; one for each that is allowed were 500
		t.Errorf("got %d carriers for two threads", n)
	}
	stop.Store(true)
	for _, th := range threads {
		th.Join()
	}
}

func TestIdleCarriersStopDownToTheLeastNumber(t *testing.T) {
	fj := newForkJoin(t, sched.ForkJoinOptions{Parallelism: 4, MinCarriers: 1, KeepAlive: time.Millisecond})
	for range 3 {
		var inside atomic.Int32
		var threads []*vthread.Thread
		for range 4 {
			threads = append(threads, vthread.Builder{Scheduler: fj}.Start(func() {
				inside.Add(1)
				for inside.Load() < 4 {
					runtime.Gosched()
				}
			}))
		}
		for _, th := range threads {
			th.Join()
		}
		await(t, "one carrier is left", func() bool { return figure(fj, flight.FigureCarriers) == 1 })
	}
	for range 1000 {
		if n := figure(fj, flight.FigureCarriers); n != 1 {
			t.Fatalf("got %d carriers, want the one that stays", n)
		}
	}
}

// SD-10
func TestAThreadSeesItsCarrierInTheFigures(t *testing.T) {
	for name, s := range map[string]interface {
		sched.Scheduler
		Stats() sched.Stats
	}{
		"fork-join": newForkJoin(t, sched.ForkJoinOptions{Parallelism: 2}),
		"single":    newSingle(t),
		"default":   sched.Default(),
	} {
		var inside sched.Stats
		vthread.Builder{Scheduler: s}.Start(func() { inside = s.Stats() }).Join()
		f := inside.Figures
		if f[flight.FigureCarriers] == 0 || f[flight.FigureRunning] == 0 || f[flight.FigureMounted] == 0 || f[flight.FigureParallelism] == 0 {
			t.Errorf("%s: got %v", name, f)
		}
	}
}

func TestFiguresCountWhatThreadsDo(t *testing.T) {
	fj := newForkJoin(t, sched.ForkJoinOptions{Parallelism: 1})
	b := vthread.Builder{Scheduler: fj}
	want := func(when string, figures map[flight.Figure]uint64) {
		t.Helper()
		for f, n := range figures {
			await(t, fmt.Sprint(when, ": ", f, " is ", n), func() bool { return uint64(figure(fj, f)) == n })
		}
	}
	var threads []*vthread.Thread
	for range 10 {
		threads = append(threads, b.Start(func() { vthread.Park() }))
	}
	want("parked", map[flight.Figure]uint64{
		flight.FigureStarts: 10, flight.FigureSubmissions: 10, flight.FigureSwitches: 10, flight.FigureParked: 10, flight.FigureEnds: 0,
	})
	for _, th := range threads {
		if err := th.Unpark(); err != nil {
			t.Fatal(err)
		}
		th.Join()
	}
	want("ended", map[flight.Figure]uint64{
		flight.FigureStarts: 10, flight.FigureSubmissions: 20, flight.FigureSwitches: 20, flight.FigureParked: 0, flight.FigureEnds: 10,
	})
	b.Start(func() {
		child := b.Start(func() {}) // on the hand-off slot
		child.Join()
	}).Join()
	want("a child", map[flight.Figure]uint64{flight.FigureStarts: 12, flight.FigureEnds: 12, flight.FigureParked: 0})
	if n := figure(fj, flight.FigureHandOffs); n == 0 {
		t.Error("got no hand-off")
	}
	moved := b.Start(func() { vthread.Park() })
	await(t, "it parks", func() bool { return moved.State() == flight.StateParked })
	other := newForkJoin(t, sched.ForkJoinOptions{Parallelism: 1})
	if err := moved.UnparkOn(other); err != nil {
		t.Fatal(err)
	}
	moved.Join()
	want("one has moved", map[flight.Figure]uint64{flight.FigureStarts: 13, flight.FigureEnds: 12, flight.FigureParked: 0})
	if got := other.Stats().Figures; got[flight.FigureEnds] != 1 || got[flight.FigureStarts] != 0 {
		t.Errorf("where it went: got %v", got)
	}
}

func TestRefusalsAreCounted(t *testing.T) {
	fj, err := sched.NewForkJoin(sched.ForkJoinOptions{Parallelism: 1})
	if err != nil {
		t.Fatal(err)
	}
	if err := fj.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := (vthread.Builder{Scheduler: fj}).TryStart(func() {}); err == nil {
		t.Fatal("a closed scheduler has taken a thread")
	}
	if n := figure(fj, flight.FigureRejections); n != 1 {
		t.Errorf("got %d rejections, want 1", n)
	}
}

func TestHistogramsTellLongDelaysAndSlices(t *testing.T) {
	recorderOf(t)
	fj := newForkJoin(t, sched.ForkJoinOptions{Parallelism: 1, MaxCarriers: 1})
	b := vthread.Builder{Scheduler: fj}
	const long = 3 * time.Millisecond
	var waits atomic.Bool // the second one, for a carrier
	first := b.Start(func() {
		computetest.Until(&waits)
		for begun := time.Now(); time.Since(begun) < long; {
		}
	})
	second := b.Start(func() {})
	waits.Store(true)
	first.Join()
	second.Join()
	s := fj.Stats()
	if s.Slice.Above(long/2) == 0 || s.Ready.Above(long/4) == 0 {
		t.Errorf("got slices %v and delays %v, want a slice of %v, and a delay", s.Slice, s.Ready, long)
	}
}

// SD-14
func TestASpareCarrierTakesThePlaceOfAHeldOne(t *testing.T) {
	fj := newForkJoin(t, sched.ForkJoinOptions{Parallelism: 1})
	b := vthread.Builder{Scheduler: fj}
	pinned := b.Start(func() {
		continuation.Pin()
		defer continuation.Unpin()
		vthread.Park()
	})
	await(t, "it holds its carrier", func() bool { return figure(fj, flight.FigureHeld) == 1 })
	b.Start(func() {}).Join()
	await(t, "it is counted, after it was woken", func() bool { return figure(fj, flight.FigureCompensations) > 0 })
	got := fj.Stats().Figures
	if got[flight.FigureCarriers] != 2 || got[flight.FigureSpare] != 1 || got[flight.FigureHeld] != 1 {
		t.Errorf("got %v", got)
	}
	if err := pinned.Unpark(); err != nil {
		t.Fatal(err)
	}
	pinned.Join()
	await(t, "the spare one stops", func() bool { return figure(fj, flight.FigureCarriers) == 1 })
}

func TestFiguresAreInTheFlightFile(t *testing.T) {
	r := recorderOf(t)
	fj := newForkJoin(t, sched.ForkJoinOptions{Name: "in the file", Parallelism: 1})
	th := vthread.Builder{Scheduler: fj}.Start(func() { vthread.Park() })
	row := func() (row flight.SchedulerRow) {
		t.Helper()
		rows, err := r.Schedulers()
		if err != nil {
			t.Fatal(err)
		}
		for _, row := range rows {
			if row.Name == "in the file" {
				return row
			}
		}
		return row
	}
	await(t, "the figures", func() bool { return row().Figures[flight.FigureParked] == 1 })
	got, _, err := r.FindThread(th.ID())
	if err != nil || got.Scheduler == 0 || got.Scheduler != row().ID {
		t.Errorf("got thread %+v, %v; want it on scheduler %d", got, err, row().ID)
	}
	if err := th.Unpark(); err != nil {
		t.Fatal(err)
	}
	th.Join()
	await(t, "the end in the figures", func() bool { return row().Figures[flight.FigureEnds] == 1 })
	if err := fj.Close(); err != nil {
		t.Fatal(err)
	}
	if row := row(); row.ID != 0 {
		t.Errorf("got %+v of a scheduler that is closed", row)
	}
}

func TestAPinnedTellsTheFiguresOfAllItsCarriers(t *testing.T) {
	p, err := sched.NewPinned(sched.PinnedOptions{Carriers: 3, AnyCPU: true})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	b := vthread.Builder{Scheduler: p}
	for range 6 {
		b.Start(func() {}).Join()
	}
	if got := p.Stats().Figures; got[flight.FigureCarriers] != 3 || got[flight.FigureParallelism] != 3 || got[flight.FigureEnds] != 6 {
		t.Errorf("got %v", got)
	}
}
