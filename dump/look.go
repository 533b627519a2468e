package dump

import (
	"context"
	"slices"
	"time"

	"github.com/vtscope/vtscope/runtime/flight"
)

// A Look is what [Checks] look at: a process at one moment.
type Look struct {
	Process     Process
	Taken, AsOf time.Time
	Took        time.Duration // reading it
	Incomplete  []string      // what is missing, one short sentence each

	// Each is nil if [LookOptions.For] has no check that needs it.
	Snapshot *Snapshot
	Waits    *Waits
	// Schedulers has delays of scopes only with [LookOptions.Delays], and without them only the incidents of rings in which there was one since [LookOptions.After].
	Schedulers *Schedulers

	Counters Counters

	recorded bool // by a recorder: there are Counters

	recent []recentSite // what was held lately; nil if [LookOptions.For] has no check that needs it
}

// Counters are what the recorder of a process has counted since the process began.
type Counters struct {
	Kinds   [flight.KindCount]uint64   // events that happened, by kind
	Parks   [flight.ReasonCount]uint64 // of them the parks, by reason
	Threads int                        // threads started and not ended
	Lost    flight.Lost

	incidents map[int]uint64 // by ring: events of incidentKinds
}

// LookOptions say what a look reads. The zero value reads what all checks need.
type LookOptions struct {
	For      []string // the checks that it is for; none: all
	Snapshot Options  // of its snapshot
	Delays   bool     // with the delays of scopes, and all incidents, as [TakeSchedulers] reads them
	After    *Look    // the look before, of which the incidents are known; nil: there is none
	Since    *Look    // an earlier look: the threads that have come since are told from others; nil: there is none
}

// TakeLook is [LookOptions.Take] for all checks.
func TakeLook(ctx context.Context, src Source) (*Look, error) {
	return LookOptions{}.Take(ctx, src)
}

// Take reads a look from a flight file, or of another source what that has; see [Take], [TakeWaits] and [TakeSchedulers]. It reads the table of threads once for all three, and once more if
// threads wait for the end of threads, or for each other.
func (o LookOptions) Take(ctx context.Context, src Source) (*Look, error) {
	began := time.Now()
	if o.Since != nil && o.Since.Snapshot != nil {
		o.Snapshot.since = o.Since.Snapshot.highest
	}
	p := processOf(src, began)
	l := &Look{Process: p, Taken: began, AsOf: p.LastSeen}
	needs := needsOf(o.For)
	r := FlightReader(src)
	if r == nil {
		return l, o.unrecorded(ctx, src, needs, l)
	}
	l.recorded = true
	rings, err := r.Rings()
	l.missed(err)
	l.count(r, rings)
	more := recorded{r, src}
	once := &shared{recorded: more}
	var recent *recentTaker
	if needs&needRecent != 0 {
		recent = beginRecent(r)
		once.visit = append(once.visit, recent.threads)
	}
	var waits *waitsTaker
	var schedulers *schedulersTaker
	if needs&needSchedulers != 0 || o.Delays {
		events := readRings
		if !o.Delays {
			events = l.readIncidents(o.After)
		}
		if schedulers, err = beginSchedulers(ctx, r, began, events); err != nil {
			return nil, err
		}
		once.visit = append(once.visit, schedulers.threads)
	}
	if needs&needWaits != 0 {
		waits = beginWaits(more, began)
		once.visit = append(once.visit, waits.threads)
	}
	switch {
	case needs&needThreads != 0:
		if l.Snapshot, err = Take(ctx, once, o.Snapshot); err != nil {
			return nil, err
		}
		l.Process.Unseen = l.Snapshot.Process.Unseen
		l.Taken, l.AsOf = l.Snapshot.Taken, l.Snapshot.AsOf
		l.miss(l.Snapshot.Incomplete)
	case len(once.visit) > 0:
		once.read(ctx, nil)
	}
	if schedulers != nil {
		if l.Schedulers, err = schedulers.finish(ctx, once.torn, once.err); err != nil {
			return nil, err
		}
		l.miss(l.Schedulers.Incomplete)
	}
	if waits != nil {
		if l.Waits, err = waits.finish(ctx, once.torn, once.err); err != nil {
			return nil, err
		}
		l.miss(l.Waits.Incomplete)
	}
	if recent != nil {
		l.recent = recent.finish()
		l.missed(recent.err)
	}
	l.Took = time.Since(began)
	return l, ctx.Err()
}

// unrecorded reads a look of a source without a recorder.
func (o LookOptions) unrecorded(ctx context.Context, src Source, needs need, l *Look) (err error) {
	began := l.Taken
	src = Looked(src)
	if needs&needThreads != 0 {
		if l.Snapshot, err = Take(ctx, src, o.Snapshot); err != nil {
			return err
		}
		l.Taken, l.AsOf = l.Snapshot.Taken, l.Snapshot.AsOf
		l.Counters.Threads = l.Snapshot.Threads
		l.miss(l.Snapshot.Incomplete)
	}
	if needs&needWaits != 0 && KnowsWaits(src) {
		if l.Waits, err = TakeWaits(ctx, src); err != nil {
			return err
		}
		l.miss(l.Waits.Incomplete)
	}
	l.Took = time.Since(began)
	return nil
}

func (l *Look) missed(err error) {
	if err != nil {
		l.Incomplete = addMissing(l.Incomplete, err, l.Process.File)
	}
}

func (l *Look) miss(all []string) {
	for _, why := range all {
		if !slices.Contains(l.Incomplete, why) {
			l.Incomplete = append(l.Incomplete, why)
		}
	}
}

// count sums what the rings have counted.
func (l *Look) count(r *flight.Reader, rings []flight.RingRow) {
	c := &l.Counters
	c.Lost, c.Threads, c.incidents = r.Lost(), r.Process().Threads, make(map[int]uint64, len(rings))
	for i := range rings {
		g := &rings[i]
		for k := range c.Kinds {
			c.Kinds[k] += g.Counts[k]
		}
		for why := range c.Parks {
			c.Parks[why] += g.Parks[why]
		}
		for _, k := range incidentKinds {
			c.incidents[g.Index] += g.Counts[k]
		}
	}
}

// readIncidents reads the incidents of the rings in which there was one since another look. Others are not read.
func (l *Look) readIncidents(after *Look) func(context.Context, *flight.Reader, []flight.RingRow, flight.Ticks) (*ringEvents, error) {
	return func(ctx context.Context, r *flight.Reader, rings []flight.RingRow, until flight.Ticks) (*ringEvents, error) {
		e := &ringEvents{until: until, incidentsOnly: true, threads: map[flight.ThreadID]flight.ThreadRow{}}
		for i := range rings {
			g := &rings[i]
			n := l.Counters.incidents[g.Index]
			if n == 0 || after != nil && after.Counters.incidents[g.Index] == n {
				continue
			}
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			most := min(g.Size, maxRingEvents)
			events, _, _, err := r.Events(g.Index, g.Head-min(g.Head, most), int(most))
			if err != nil {
				e.missing = addMissing(e.missing, err, l.Process.File)
			}
			e.add(slices.DeleteFunc(events, func(ev flight.Event) bool { return !slices.Contains(incidentKinds[:], ev.Kind) }), false)
		}
		for _, in := range e.incidents {
			e.ask(in.Thread)
		}
		return e, nil
	}
}

// A recorded is a flight file, with threads of a source that knows more of them.
type recorded struct {
	*flight.Reader
	src Source
}

// Threads is that of the source.
func (r recorded) Threads(ctx context.Context, visit func([]flight.ThreadRow)) (int, error) {
	return r.src.Threads(ctx, visit)
}

// Stack is that of the source.
func (r recorded) Stack(id flight.StackID) (flight.Stack, error) { return r.src.Stack(id) }

// A shared reads the table of threads once for several who visit it.
type shared struct {
	recorded
	visit []func([]flight.ThreadRow) // before the one who reads, who may change the rows
	torn  int
	err   error
}

// Threads is that of the source, for all.
func (s *shared) Threads(ctx context.Context, visit func([]flight.ThreadRow)) (int, error) {
	return s.read(ctx, visit)
}

func (s *shared) read(ctx context.Context, last func([]flight.ThreadRow)) (int, error) {
	s.torn, s.err = s.src.Threads(ctx, func(rows []flight.ThreadRow) {
		for _, visit := range s.visit {
			visit(rows)
		}
		if last != nil {
			last(rows)
		}
	})
	return s.torn, s.err
}
