package sched

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/vtscope/vtscope/runtime/flight"
)

// Stats are the figures of a scheduler: each of a moment of the call, but not all of the same.
type Stats struct {
	// Figures holds each [flight.Figure]; the table [flight.Figures] says what they are, and their units.
	Figures [flight.FigureCount]uint64

	// Ready is how long threads that could go on have waited for a carrier, Slice how long they executed until they left it. Of those below
	// 100 µs one in seventeen was counted, for seventeen.
	//
	// Slices on carriers beyond the 1,024 of [ForkJoinOptions.MaxCarriers] are not counted.
	//
	// The recorder has the times: while it is off both are empty, and of operations of Go's that block, and of threads that compute for long, nothing is counted.
	Ready, Slice flight.Histogram

	// Pinned is how long threads blocked and held their carrier: all that [flight.FigurePins] counts, with or without the recorder.
	Pinned flight.Histogram
}

// Stats returns the figures of now. It takes microseconds, more if there are hundreds of carriers.
func (fj *ForkJoin) Stats() Stats { return fj.board.stats() }

// Stats is [ForkJoin.Stats].
func (s *Single) Stats() Stats { return s.fj.Stats() }

// Stats is [ForkJoin.Stats], for all carriers together.
func (p *Pinned) Stats() Stats { return p.lanes[0].Stats() }

// A board tells the figures of a scheduler to the flight file. The watchdogs of its parts call it.
type board struct {
	name  string
	id    flight.SchedulerID
	parts []*ForkJoin // complete before the first begins
	mu    struct {
		sync.Mutex
		open int // parts
		told bool
		at   flight.Ticks
		row  *flight.SchedulerRecord
	}
}

// schedulerIDs tells the schedulers of the process apart, as [carrierIDs] does.
var schedulerIDs idSet[flight.SchedulerID]

func newBoard(name string, parts ...*ForkJoin) *board {
	b := &board{name: name, id: schedulerIDs.take(), parts: parts}
	b.mu.open = len(parts)
	for _, fj := range parts {
		fj.board = b
	}
	return b
}

// tellEvery is how old the figures in the flight file are at most while a carrier is awake.
const tellEvery = 200 * time.Millisecond

// tell writes the figures, unless that was done a moment ago, or always if a carrier has just gone to sleep and it may take long to the next time.
func (b *board) tell(always bool) {
	r := flight.Default()
	if r == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	now := flight.Now()
	if !always && b.mu.told && now.Sub(b.mu.at) < tellEvery {
		return
	}
	if !b.mu.told {
		b.mu.row = r.OpenScheduler(b.id, b.name, now)
	}
	b.mu.told, b.mu.at = true, now
	if b.mu.row != nil {
		s := b.stats()
		b.mu.row.Write(now, &s.Figures, &s.Ready, &s.Slice, &s.Pinned)
	}
}

// close says that a part has ended. With the last the scheduler is gone.
func (b *board) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.mu.open--; b.mu.open == 0 {
		b.mu.row.Close()
		b.mu.row = nil
		schedulerIDs.put(b.id)
	}
}

func (b *board) stats() Stats {
	var s Stats
	for _, fj := range b.parts {
		fj.addTo(&s)
	}
	f := &s.Figures
	f[flight.FigureTimers] = uint64(ArmedTimers())
	return s
}

// A tally is what is seldom counted, by whoever sees it.
type tally struct {
	rejections, compensations, pins, pinnedTime, victims, monopolies, monopolizedTime, alarms atomic.Uint64

	mounts, ends atomic.Uint64 // on reliefs, and on goroutines that execute what they have started
	starts       atomic.Uint64 // by the latter
	here         atomic.Int64  // of the latter, those that execute a thread now

	pinned       [flight.HistogramBuckets]atomic.Uint64
	moved        atomic.Int64  // threads that came from other schedulers, less those that went
	starvedSince atomic.Uint64 // flight.Ticks, or 0
}

func (fj *ForkJoin) addTo(s *Stats) {
	mounted, held := 0, 0
	fj.mu.Lock()
	workers, idle, n := fj.all(), len(fj.mu.idle), fj.mu.gone
	reliefs, idleReliefs, heldReliefs := fj.reliefs.counts()
	for _, w := range workers {
		n.add(&w.counts)
		if t, holds := w.mountedNow(); t {
			mounted++
			if holds {
				held++
			}
		}
	}
	fj.mu.Unlock()
	calls, _, _ := callsOf(workers)
	calls += int(fj.reliefs.calls.Load())
	mounted, idle, held = mounted+reliefs-idleReliefs+int(fj.tally.here.Load()), idle+idleReliefs, held+heldReliefs
	carriers := len(workers) + reliefs
	fj.shared.Lock()
	n.starts += fj.shared.starts
	n.submissions += fj.shared.submissions
	fj.shared.Unlock()
	n.starts += fj.tally.starts.Load()
	n.mounts += fj.tally.mounts.Load()
	n.ends += fj.tally.ends.Load()
	queued := fj.queued()
	p, least := fj.Parallelism(), fj.options.MinCarriers
	if least == 0 {
		least = p
	}
	starving := time.Duration(0)
	if since := flight.Ticks(fj.tally.starvedSince.Load()); since != 0 {
		starving = flight.Since(since)
	}
	f := &s.Figures
	for figure, value := range map[flight.Figure]int{
		flight.FigureParallelism: p,
		flight.FigureMinCarriers: least,
		flight.FigureMaxCarriers: fj.options.mostCarriers(),
		flight.FigureCarriers:    carriers,
		flight.FigureRunning:     carriers - idle - held,
		flight.FigureIdle:        idle,
		flight.FigureHeld:        held,
		flight.FigureSpare:       carriers - p,
		flight.FigureCalls:       calls,
		flight.FigureMounted:     mounted,
		flight.FigureQueued:      queued,
		flight.FigureParked:      int(int64(n.starts)+fj.tally.moved.Load()-int64(n.ends)) - mounted - queued,
	} {
		f[figure] += uint64(max(value, 0)) // those that are differences are of no one moment
	}
	f[flight.FigureStarving] = max(f[flight.FigureStarving], uint64(max(starving, 0)))
	t := &fj.tally
	for figure, value := range map[flight.Figure]uint64{
		flight.FigureStarts:          n.starts,
		flight.FigureEnds:            n.ends,
		flight.FigureSubmissions:     n.submissions,
		flight.FigureRejections:      t.rejections.Load(),
		flight.FigureSwitches:        n.mounts,
		flight.FigureHandOffs:        n.handOffs,
		flight.FigureSteals:          n.steals,
		flight.FigureCompensations:   t.compensations.Load(),
		flight.FigurePins:            t.pins.Load(),
		flight.FigurePinnedTime:      t.pinnedTime.Load(),
		flight.FigureVictims:         t.victims.Load(),
		flight.FigureMonopolies:      t.monopolies.Load(),
		flight.FigureMonopolizedTime: t.monopolizedTime.Load(),
		flight.FigureAlarms:          t.alarms.Load(),
	} {
		f[figure] += value
	}
	s.Ready.Add(&n.ready)
	s.Slice.Add(&n.slice)
	for i := range t.pinned {
		s.Pinned[i] += t.pinned[i].Load()
	}
}

// forkJoinOf returns the ForkJoin whose figures count the threads of a scheduler, or nil.
func forkJoinOf(s Scheduler) *ForkJoin {
	switch s := s.(type) {
	case *ForkJoin:
		return s
	case *Single:
		return s.fj
	case *Pinned:
		return s.lanes[0]
	}
	return nil
}

// idOf returns the id of a scheduler; 0 for one that is not of this package.
func idOf(s Scheduler) flight.SchedulerID {
	if fj := forkJoinOf(s); fj != nil {
		return fj.board.id
	}
	return 0
}
