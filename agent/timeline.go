package agent

import (
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
}

// A timeline holds the newest points. Points are numbered from 0 on, so that a client can ask for those
// that it does not have.
type timeline struct {
	most   int
	points []point // of the numbers next-len(points) … next-1
	next   uint64
}

// add appends a point made of the newest snapshot and counters. Before the first snapshot there is none.
func (t *timeline) add(now time.Time, s *dump.Snapshot, c counters) {
	if s == nil {
		return
	}
	if len(t.points) >= 2*t.most {
		// Views hold slices of the old array: it must not change under them.
		t.points = append(make([]point, 0, 2*t.most), t.points[len(t.points)-t.most+1:]...)
	}
	t.points = append(t.points, point{
		time: now.UnixMilli(), counts: s.States,
		starts: c.rates.Starts, ends: c.rates.Ends, switches: c.rates.Switches, drops: c.drops,
	})
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
	}
	return p
}

// round keeps a tenth: more digits would only be more bytes.
func round(rate float64) float64 { return float64(int64(rate*10+0.5)) / 10 }
