package agent

import (
	"time"

	"github.com/vtscope/vtscope/runtime/flight"
)

// counters are what the rings of a process counted, and what that was per second since the look before.
type counters struct {
	at       time.Time
	kinds    [flight.KindCount]uint64
	heads    map[int]ringCount // by position
	lost     flight.Lost
	rates    Rates
	drops    float64 // events per second
	carriers []carrier
	recorded recorded
}

type ringCount struct {
	carrier     flight.CarrierID
	mounts      uint64
	collections uint64
	head        uint64
}

// read renews the counters. If the rings cannot be read the old counters stay, with rates of zero.
func (f *follower) read(now time.Time) {
	if f.reader == nil {
		f.rings.at, f.counted.at = now, now
		return
	}
	rings, err := f.reader.Rings()
	if err != nil {
		f.problem = "no counters: " + err.Error()
		f.rings.rates, f.rings.drops = Rates{}, 0
		return
	}
	old := f.rings
	fresh := counters{at: now, heads: make(map[int]ringCount, len(rings)), lost: f.reader.Lost()}
	for i := range rings {
		for k := range fresh.kinds {
			fresh.kinds[k] += rings[i].Counts[k]
		}
		fresh.heads[rings[i].Index] = ringCount{rings[i].Carrier, rings[i].Counts[flight.EventMount], rings[i].Counts[flight.EventGC], rings[i].Head}
	}
	per := func(fresh, old uint64) float64 {
		// A counter that went back belongs to a damaged file; it has no rate.
		if d := now.Sub(f.rings.at).Seconds(); !f.rings.at.IsZero() && d > 0 && fresh > old {
			return float64(fresh-old) / d
		}
		return 0
	}
	var events, before uint64
	for k := range fresh.kinds {
		events += fresh.kinds[k]
		before += old.kinds[k]
	}
	fresh.rates = Rates{
		Starts:   per(fresh.kinds[flight.EventThreadStart], old.kinds[flight.EventThreadStart]),
		Ends:     per(fresh.kinds[flight.EventThreadEnd], old.kinds[flight.EventThreadEnd]),
		Switches: per(fresh.kinds[flight.EventMount], old.kinds[flight.EventMount]),
		Events:   per(events, before),
	}
	for k := range fresh.kinds {
		fresh.recorded.rates[k] = per(fresh.kinds[k], old.kinds[k])
	}
	if fresh.recorded.settings, err = f.reader.Settings(); err != nil {
		f.problem = "no settings: " + err.Error()
	}
	past := map[flight.CarrierID]lane{}
	for i := range old.carriers {
		past[old.carriers[i].id] = old.carriers[i].past
	}
	fresh.drops = per(fresh.lost.Events, old.lost.Events)
	if !old.at.IsZero() {
		for i, k := range marked {
			f.happened.marks[i] += max(fresh.kinds[k], old.kinds[k]) - old.kinds[k]
		}
		if fresh.kinds[flight.EventGC] > old.kinds[flight.EventGC] {
			f.happened.stopped += f.stopped(rings, &old)
		}
	}
	for i := range rings {
		r := &rings[i]
		if r.Owner != flight.RingOfCarrier || r.State == flight.CarrierFree || r.State == flight.CarrierStopped {
			continue
		}
		c := carrier{id: r.Carrier, scheduler: r.Scheduler, state: r.State, events: r.Head}
		if was, ok := old.heads[r.Index]; ok && was.carrier == r.Carrier {
			c.switches = per(r.Counts[flight.EventMount], was.mounts)
		}
		if r.State != flight.CarrierIdle {
			c.thread, c.mounted = f.running(r)
		}
		if h := r.Hold; h.Thread != 0 { // seen blocking in an operation of Go's own, or computing for long
			c.thread, c.mounted, c.reason, c.where = h.Thread, f.reader.Time(h.Since), h.Reason, f.top(h.Stack)
			if c.pinned = h.Reason != flight.ReasonMonopoly; c.pinned {
				c.state = flight.CarrierHeld
			}
		}
		c.past = past[c.id].with(&c)
		fresh.carriers = append(fresh.carriers, c)
	}
	f.rings = fresh
	f.count(now, rings)
}

// A carrier is what its ring tells about it.
type carrier struct {
	id        flight.CarrierID
	scheduler flight.SchedulerID
	state     flight.CarrierState
	thread    flight.ThreadID // 0: none, or none that the newest events tell
	mounted   time.Time       // or pinned, if it is
	pinned    bool            // the thread blocks in an operation of Go's own
	reason    flight.Reason   // why the thread is pinned, or that it computes for long
	where     string          // in which function
	switches  float64
	events    uint64
	past      lane
}

// A lane is what a carrier did at the newest looks, a letter each, oldest first: i idle, and nothing since the look before; s idle, but it has switched threads since;
// r it runs a thread, or looks for one; c its thread computes for long; p its thread blocks and holds it.
type lane string

// longestLane is how many looks a lane has: a minute, with the default interval.
const longestLane = 60

// with returns the lane with what the carrier does now.
func (l lane) with(c *carrier) lane {
	letter := byte('r')
	switch {
	case c.pinned || c.state == flight.CarrierHeld:
		letter = 'p'
	case c.reason == flight.ReasonMonopoly:
		letter = 'c'
	case c.state == flight.CarrierIdle && c.switches > 0:
		letter = 's'
	case c.state == flight.CarrierIdle:
		letter = 'i'
	}
	return l[max(0, len(l)-longestLane+1):] + lane(letter)
}

// top is the function of the user's in which a stack ends, or "".
func (f *follower) top(id flight.StackID) string {
	stack, err := f.reader.Stack(id)
	if err != nil {
		return ""
	}
	for i := range stack.Frames {
		if !stack.Frames[i].Internal {
			return stack.Frames[i].Func
		}
	}
	return ""
}

// stopped sums how long the garbage collections since the look before stopped all goroutines, as far as rings still tell.
func (f *follower) stopped(rings []flight.RingRow, old *counters) (sum time.Duration) {
	for i := range rings {
		r := &rings[i]
		was := old.heads[r.Index]
		if r.Counts[flight.EventGC] <= was.collections || r.Head <= was.head {
			continue
		}
		events, _, _, err := f.reader.Events(r.Index, was.head, int(min(r.Head-was.head, 1<<20)))
		if err != nil {
			continue
		}
		for k := range events {
			if events[k].Kind == flight.EventGC {
				sum += time.Duration(events[k].Arg)
			}
		}
	}
	return sum
}

// recent is how many of a ring's events are read to see what its carrier runs: a thread that caused more
// since it was mounted is not seen.
const recent = 256

// running returns the thread that a ring's newest events leave mounted.
func (f *follower) running(r *flight.RingRow) (flight.ThreadID, time.Time) {
	events, _, _, err := f.reader.Events(r.Index, r.Head-min(r.Head, recent), recent)
	if err != nil {
		return 0, time.Time{}
	}
	for i := len(events) - 1; i >= 0; i-- {
		switch e := &events[i]; e.Kind {
		case flight.EventMount:
			return e.Thread, f.reader.Time(e.Time)
		case flight.EventUnmount, flight.EventPark, flight.EventYield, flight.EventThreadEnd:
			return 0, time.Time{}
		}
	}
	return 0, time.Time{}
}
