package agent

import (
	"sync"
	"time"

	"github.com/vtscope/vtscope/dump"
	"github.com/vtscope/vtscope/runtime/flight"
)

// A point is one moment of the time line.
type point struct {
	time     int64
	counts   [flight.StateCount]int
	starts   float64
	ends     float64
	switches float64
	drops    float64
	marks    [markCount]uint64
	stopped  time.Duration // by the garbage collections of marks, in sum, as far as they are told
	ready    delays
	flags    []Flag
}

// marked are the kinds of events that are marked in the time line.
var marked = [markCount]flight.Kind{flight.EventPinned, flight.EventMonopolized, flight.EventStarved, flight.EventGC}

const markCount = 4

// happened is what a point tells beside snapshot and counters.
type happened struct {
	marks   [markCount]uint64 // by marked
	stopped time.Duration     // as in point
	ready   spreads
	flags   []Flag
}

// spreads are delays by bucket, from runnable to mounted.
type spreads flight.Histogram

// addSince adds what to has more than from.
func (s *spreads) addSince(from, to *flight.Histogram) {
	for i, n := range to {
		if n > from[i] {
			s[i] += n - from[i]
		}
	}
}

// delays are spreads without the empty buckets at both ends.
type delays struct {
	first uint8
	bars  []uint32
}

func (s *spreads) delays() delays {
	h := histogram((*flight.Histogram)(s))
	d := delays{first: uint8(h.First)}
	for _, n := range h.Bars {
		d.bars = append(d.bars, uint32(min(n, 1<<32-1)))
	}
	return d
}

// A timeline holds the newest points. Points are numbered from 0 on, so that a client can ask for those
// that it does not have.
type timeline struct {
	most   int
	points []point // of the numbers next-len(points) … next-1
	next   uint64
	note   string // what is missing; "" if nothing
}

// add appends a point made of the newest snapshot and counters, and of what happened since the one before. Before the first snapshot there is none.
func (t *timeline) add(now time.Time, s *dump.Snapshot, c counters, h happened) {
	if s == nil {
		return
	}
	t.append(point{
		time: now.UnixMilli(), counts: s.States,
		starts: c.rates.Starts, ends: c.rates.Ends, switches: c.rates.Switches, drops: c.drops,
		marks: h.marks, stopped: h.stopped, ready: h.ready.delays(), flags: h.flags,
	})
}

func (t *timeline) append(p point) {
	if len(t.points) >= 2*t.most {
		// Views hold slices of the old array: it must not change under them.
		t.points = append(make([]point, 0, 2*t.most), t.points[len(t.points)-t.most+1:]...)
	}
	t.points = append(t.points, p)
	t.next++
}

// since returns the points from number from on, and the number of the one to come. If some of them are
// forgotten, or from was never reached, it returns all points and reset.
func (t timeline) since(from uint64) (points []point, next uint64, reset bool) {
	all := t.points[max(0, len(t.points)-t.most):]
	first := t.next - uint64(len(all))
	if from < first || from > t.next {
		return all, t.next, true
	}
	return all[from-first:], t.next, false
}

func newPoints(points []point, reset bool) *Points {
	p := &Points{
		Reset: reset, Time: []int64{}, Counts: make([][]int, flight.StateCount),
		Starts: []float64{}, Ends: []float64{}, Switches: []float64{}, Drops: []float64{},
		Pinned: []uint64{}, Monopolized: []uint64{}, Starved: []uint64{}, GC: []uint64{}, Stopped: []int64{}, Ready: [][]uint32{}, Flags: []Flag{},
	}
	for state := range p.Counts {
		p.Counts[state] = make([]int, len(points))
	}
	for i := range points {
		at := &points[i]
		p.Time = append(p.Time, at.time)
		for state, n := range at.counts {
			p.Counts[state][i] = n
		}
		p.Starts = append(p.Starts, round(at.starts))
		p.Ends = append(p.Ends, round(at.ends))
		p.Switches = append(p.Switches, round(at.switches))
		p.Drops = append(p.Drops, round(at.drops))
		for k, column := range []*[]uint64{&p.Pinned, &p.Monopolized, &p.Starved, &p.GC} {
			*column = append(*column, at.marks[k])
		}
		p.Stopped = append(p.Stopped, int64(at.stopped))
		ready := []uint32{}
		if len(at.ready.bars) > 0 {
			ready = append(append(ready, uint32(at.ready.first)), at.ready.bars...)
		}
		p.Ready = append(p.Ready, ready)
		p.Flags = append(p.Flags, at.flags...)
	}
	return p
}

// delay sums the delays of the points within recentOver before a moment.
func (t *timeline) delay(at int64) (d Delay) {
	var recent flight.Histogram
	from := at - recentOver.Milliseconds()
	before := from
	if n := len(t.points); n > 1 { // the first one is as long as the second
		before = 2*t.points[0].time - t.points[1].time
	}
	for i := range t.points {
		p := &t.points[i]
		if p.time > at || p.time <= from {
			before = p.time
			continue
		}
		if d.Over == 0 {
			d.Over = int64(time.Duration(at-max(before, from)) * time.Millisecond)
		}
		for k, n := range p.ready.bars {
			recent[int(p.ready.first)+k] += uint64(n)
		}
	}
	d.Times = histogram(&recent).Times
	return d
}

// round keeps a tenth: more digits would only be more bytes.
func round(rate float64) float64 { return float64(int64(rate*10+0.5)) / 10 }

// mostFlags is how many flags one point has.
const mostFlags = 8

// The kinds of flags.
const (
	FlagFinding  = "finding"  // a check found something that it had not found before
	FlagIncident = "incident" // a bundle was taken, by a rule or because somebody asked
	FlagDump     = "dump"     // a dump was taken, and none shortly before
)

// quietBefore is for how long nobody took a dump before one that is flagged: a program that takes one again and again is flagged once.
const quietBefore = time.Minute

// flags are those that wait for the next point. Any goroutine may add one.
type flags struct {
	mu struct {
		sync.Mutex
		all      []Flag
		lastDump time.Time
	}
}

// dumped adds a flag for a dump that is taken now.
func (f *flags) dumped(now time.Time, format string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if now.Sub(f.mu.lastDump) >= quietBefore {
		f.addLocked(Flag{Time: now.UnixMilli(), Kind: FlagDump, Severity: string(dump.SeverityInfo), What: "a dump was taken: " + format})
	}
	f.mu.lastDump = now
}

func (f *flags) add(x Flag) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.addLocked(x)
}

func (f *flags) addLocked(x Flag) {
	if len(f.mu.all) >= mostFlags {
		f.mu.all[mostFlags-1].Rest++
		return
	}
	x.What = dump.Cut(x.What, 200)
	f.mu.all = append(f.mu.all, x)
}

func (f *flags) take() []Flag {
	f.mu.Lock()
	defer f.mu.Unlock()
	all := f.mu.all
	f.mu.all = nil
	return all
}

// flagFindings adds a flag for each finding that is shown now and was not at the point before.
func (f *follower) flagFindings() {
	found := f.lookout.found
	if found == nil {
		return
	}
	now := make(map[string]bool, len(found.Findings))
	for i := range found.Findings {
		x := &found.Findings[i]
		now[x.Key] = true
		if !f.shownNow[x.Key] && x.Severity != dump.SeverityInfo {
			f.flags.add(Flag{Time: time.Now().UnixMilli(), Kind: FlagFinding, Severity: string(x.Severity), What: x.Check + ": " + x.What})
		}
	}
	f.shownNow = now
}
