package dump

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/vtscope/vtscope/runtime/flight"
)

// incidentKinds are the kinds of events that tell of trouble.
var incidentKinds = [...]flight.Kind{flight.EventPinned, flight.EventMonopolized, flight.EventStarved}

// maxRingEvents bounds the events that are read of all rings together.
const maxRingEvents = 1 << 20

// ringEvents are the newest events of all rings, as far as the delays of threads and incidents are told by them.
//
//	E1  steps has every mount and unmount on a carrier of (since, until]: before since, some carrier's ring has overwritten some; after until,
//	    some ring was not read. So what a carrier's mount or unmount follows is what it followed when it happened.
//	E2  Other events may be missing: rings that are shared by those who are no carriers are overwritten sooner. A missing start or unpark
//	    is a delay less, and never a wrong one. A mount in a shared ring follows what it seems to follow only after sharedSince.
type ringEvents struct {
	since, until flight.Ticks
	sharedSince  flight.Ticks
	steps        []step // of readRings by thread, then by time
	older        int
	incidents    []flight.Event
	slow         []slowEvent
	missing      []string

	incidentsOnly bool // there are no steps, and incidents only of rings in which there was one since another look

	asked   idBits                               // for whom meet looks
	threads map[flight.ThreadID]flight.ThreadRow // of incidents and slow operations; ID is 0 where none was met
	moved   []flight.ThreadID                    // of steps, each once, in order: there may be a million
	scopes  []flight.ScopeIndex                  // where those are; noScope where none was met
	forks   map[flight.ThreadID]flight.ScopeID   // where threads were forked
}

// noScope is no position of a scope: see maxScopeIndex.
const noScope = ^flight.ScopeIndex(0)

// A slowEvent is of kind io, with what it has in the slots after it.
type slowEvent struct {
	flight.Event
	took  time.Duration
	bytes uint64
	with  string
}

// readSlow reads the event at i of those of a ring. false means that a part of it was overwritten.
func readSlow(events []flight.Event, i int) (slowEvent, bool) {
	e := events[i]
	var more []uint64
	for _, m := range events[i+1 : min(i+1+flight.MoreSlots(e.Kind, e.Code), len(events))] {
		if m.Kind != flight.EventMore {
			break
		}
		more = append(more, uint64(m.Time), uint64(m.Thread), m.Arg)
	}
	if len(more) < 3*flight.MoreSlots(e.Kind, e.Code) {
		return slowEvent{}, false
	}
	return slowEvent{e, time.Duration(more[0]), more[1], flight.Kinds[flight.EventIO].Fields[5].Text(more)}, true
}

// A step is a change of a thread's state.
type step struct {
	thread flight.ThreadID
	time   flight.Ticks
	kind   flight.Kind
	yield  bool
	shared bool // the event was in a shared ring
}

// readRings reads what the rings hold of before until, which has passed.
func readRings(ctx context.Context, r *flight.Reader, rings []flight.RingRow, until flight.Ticks) (*ringEvents, error) {
	e := &ringEvents{until: until, threads: map[flight.ThreadID]flight.ThreadRow{}, forks: map[flight.ThreadID]flight.ScopeID{}}
	path := r.Process().Path
	most := uint64(maxRingEvents / max(len(rings), 1))
	var (
		buf []flight.Event
		all uint64
	)
	for i := range rings {
		all += min(rings[i].Size, rings[i].Head, most)
	}
	e.steps = make([]step, 0, all)
	for i := range rings {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		ring := &rings[i]
		n := min(ring.Size, most)
		from := uint64(0)
		if ring.Head > n {
			from = ring.Head - n
		}
		events, _, lost, err := r.EventsInto(buf, ring.Index, from, int(n))
		if cap(events) > cap(buf) {
			buf = events
		}
		shared := ring.Owner != flight.RingOfCarrier
		since := &e.since
		if shared {
			since = &e.sharedSince
		}
		switch {
		case err != nil:
			e.missing = addMissing(e.missing, err, path)
		case len(events) > 0 && from+lost > 0:
			*since = max(*since, events[0].Time)
		case lost > 0:
			*since = until // all were overwritten meanwhile
		}
		e.add(events, shared)
	}
	whole := len(e.steps)
	e.steps = slices.DeleteFunc(e.steps, func(s step) bool { return s.time <= e.since && e.since > 0 })
	e.older = whole - len(e.steps)
	if e.since == 0 && len(e.steps) > 0 {
		e.since = slices.MinFunc(e.steps, func(a, b step) int { return cmp.Compare(a.time, b.time) }).time
	}
	slices.SortStableFunc(e.steps, func(a, b step) int { return cmp.Or(cmp.Compare(a.thread, b.thread), cmp.Compare(a.time, b.time)) })
	for i, s := range e.steps {
		if i == 0 || s.thread != e.steps[i-1].thread {
			e.asked.add(s.thread)
			e.moved, e.scopes = append(e.moved, s.thread), append(e.scopes, noScope)
		}
	}
	for _, in := range e.incidents {
		e.ask(in.Thread)
	}
	e.slow = newestSlow(e.slow)
	for i := range e.slow {
		e.ask(e.slow[i].Thread)
	}
	return e, nil
}

// ask makes meet keep the whole record of a thread.
func (e *ringEvents) ask(id flight.ThreadID) {
	e.asked.add(id)
	e.threads[id] = flight.ThreadRow{}
}

func (e *ringEvents) add(events []flight.Event, shared bool) {
	for i := range events {
		ev := &events[i]
		if ev.Time > e.until {
			continue
		}
		switch ev.Kind {
		case flight.EventThreadStart, flight.EventUnpark, flight.EventMount, flight.EventUnmount:
			if ev.Thread != 0 {
				yield := ev.Kind == flight.EventUnmount && ev.Code == flight.ReasonYield
				e.steps = append(e.steps, step{ev.Thread, ev.Time, ev.Kind, yield, shared})
			}
		case flight.EventIO:
			if s, ok := readSlow(events, i); ok {
				e.slow = append(e.slow, s)
			}
		case flight.EventScopeFork:
			e.forks[ev.Thread] = flight.ScopeID(ev.Arg)
		default:
			if slices.Contains(incidentKinds[:], ev.Kind) {
				e.incidents = append(e.incidents, *ev)
			}
		}
	}
}

// maxSlow bounds the slow operations that are kept; the newest are.
const maxSlow = 100

func newestSlow(all []slowEvent) []slowEvent {
	slices.SortStableFunc(all, func(a, b slowEvent) int { return cmp.Compare(b.Time, a.Time) })
	return all[:min(len(all), maxSlow)]
}

// meet notes the record of a thread, if there are events of it.
func (e *ringEvents) meet(row *flight.ThreadRow) {
	if !e.asked.has(row.ID) {
		return
	}
	if i, ok := slices.BinarySearch(e.moved, row.ID); ok {
		e.scopes[i] = row.Scope
	}
	if _, ok := e.threads[row.ID]; ok {
		e.threads[row.ID] = *row
	}
}

// scope returns the position of the scope that a thread of steps is in, noScope if its record was not met.
func (e *ringEvents) scope(id flight.ThreadID) flight.ScopeIndex {
	if i, ok := slices.BinarySearch(e.moved, id); ok {
		return e.scopes[i]
	}
	return noScope
}

// delays calls ready with each ready-to-run delay and slice with each slice of the window that began and ended in it.
func (e *ringEvents) delays(ready, slice func(thread flight.ThreadID, from, to flight.Ticks)) {
	var runnable, mounted flight.Ticks // since when; 0: not, or not known
	for i, s := range e.steps {
		if i == 0 || s.thread != e.steps[i-1].thread {
			runnable, mounted = 0, 0
		}
		follows := func(before flight.Ticks) bool { return before != 0 && (!s.shared || before > e.sharedSince) }
		switch s.kind {
		case flight.EventMount:
			if follows(runnable) {
				ready(s.thread, runnable, s.time)
			}
			runnable, mounted = 0, s.time
		case flight.EventUnmount:
			if follows(mounted) {
				slice(s.thread, mounted, s.time)
			}
			runnable, mounted = 0, 0
			if s.yield {
				runnable = s.time
			}
		default:
			if mounted == 0 { // else it was parked in place: no mount follows
				runnable = s.time
			}
		}
	}
}

// scopes computes the delays of each family of scopes.
func (t *schedulersTaker) scopes() {
	rows, err := t.r.Scopes()
	t.missed(err)
	tree := newTree()
	tree.add(rows)
	byID := make(map[flight.ScopeID]flight.ScopeIndex, len(rows))
	for i := range rows {
		byID[rows[i].ID] = rows[i].Index
	}
	family := func(id flight.ThreadID) int32 {
		if scope := t.events.scope(id); scope != noScope {
			return tree.family(scope)
		}
		if scope, ok := t.events.forks[id]; ok {
			if index, ok := byID[scope]; ok {
				return tree.family(index)
			}
		}
		return noFamily
	}
	type delays struct {
		ready, slice []time.Duration
		runnable
	}
	all := map[int32]*delays{}
	of := func(f int32) *delays {
		if all[f] == nil {
			all[f] = &delays{}
		}
		return all[f]
	}
	sample := &t.out.Sample
	t.events.delays(func(id flight.ThreadID, from, to flight.Ticks) {
		d := of(family(id))
		d.ready = append(d.ready, t.r.Between(from, to))
		sample.Ready++
	}, func(id flight.ThreadID, from, to flight.Ticks) {
		d := of(family(id))
		d.slice = append(d.slice, t.r.Between(from, to))
		sample.Slice++
	})
	for scope, q := range t.runnable {
		d := of(tree.family(scope))
		d.n += q.n
		d.longest = max(d.longest, q.longest)
	}
	sample.Older = t.events.older
	if sample.Ready+sample.Slice > 0 {
		sample.Window = t.ago(t.events.since)
	}
	t.out.Scopes = make([]ScopeDelays, 0, len(all))
	for f, d := range all {
		s := ScopeDelays{Ready: timesOf(d.ready), Slice: timesOf(d.slice), Runnable: d.n, Waited: d.longest}
		if f >= 0 {
			s.Path, s.Count = tree.path(f), tree.families[f].count
		}
		t.out.Scopes = append(t.out.Scopes, s)
	}
	slices.SortFunc(t.out.Scopes, func(a, b ScopeDelays) int {
		return cmp.Or(cmp.Compare(b.worst(), a.worst()), cmp.Compare(b.Ready.Count, a.Ready.Count), slices.Compare(a.Path, b.Path))
	})
}

// path returns the names of the families from the root's to f's.
func (t *tree) path(f int32) []string {
	var path []string
	for ; f >= 0; f = t.families[f].parent {
		path = append(path, t.families[f].name)
	}
	slices.Reverse(path)
	return path
}

// timesOf summarises durations, which it sorts.
func timesOf(all []time.Duration) Times {
	if len(all) == 0 {
		return Times{}
	}
	slices.Sort(all)
	at := func(percent int) time.Duration { return max(all[min(len(all)*percent/100, len(all)-1)], 0) }
	return Times{len(all), at(50), at(90), at(99), at(100)}
}

func hexAddress(pc uint64) string { return fmt.Sprintf("%#x", pc) }
