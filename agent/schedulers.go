package agent

import (
	"cmp"
	"slices"
	"time"

	"github.com/vtscope/vtscope/runtime/flight"
)

const (
	// recentOver is how far the recent part of a scheduler's histograms reaches back.
	recentOver = 10 * time.Second
	// asleepAfter is how long after it told its figures a scheduler counts as asleep: one that is awake tells them each second.
	asleepAfter = 2500 * time.Millisecond
)

// told is what the schedulers of a process told.
type told struct {
	schedulers []scheduler
	rest       int // schedulers beyond the limit
}

// A scheduler is one scheduler with what it told within recentOver.
type scheduler struct {
	name     string
	tellings []telling // newest last, at least one
	rates    [flight.FigureCount]float64
}

type telling struct {
	seen time.Time // by the agent
	at   time.Time // of the process
	row  flight.SchedulerRow
}

func (s *scheduler) newest() *telling { return &s.tellings[len(s.tellings)-1] }

// hear renews what the schedulers tell. If their tables cannot be read, what was read before stays, with rates of zero.
func (f *follower) hear(now time.Time) {
	if f.reader == nil {
		return
	}
	rows, err := f.reader.Schedulers()
	if err != nil && len(rows) == 0 {
		f.problem = "no figures of schedulers: " + err.Error()
		f.told.schedulers = slices.Clone(f.told.schedulers)
		for i := range f.told.schedulers {
			f.told.schedulers[i].rates = [flight.FigureCount]float64{}
		}
		return
	}
	f.counted.schedulers = slices.Clone(rows)
	fresh := told{rest: max(0, len(rows)-limits.Schedulers)}
	if fresh.rest > 0 {
		slices.SortStableFunc(rows, func(a, b flight.SchedulerRow) int { return cmp.Compare(threads(&b), threads(&a)) })
		rows = rows[:limits.Schedulers]
		slices.SortFunc(rows, func(a, b flight.SchedulerRow) int { return cmp.Compare(a.ID, b.ID) })
	}
	for i := range rows {
		s := scheduler{name: rows[i].Name}
		at := slices.IndexFunc(f.told.schedulers, func(old scheduler) bool {
			was := &old.newest().row
			return was.ID == rows[i].ID && was.Began == rows[i].Began
		})
		if at >= 0 {
			s.tellings = slices.Clone(f.told.schedulers[at].tellings) // views hold the old ones
		}
		if at < 0 || s.newest().row.Written != rows[i].Written {
			switch {
			case at >= 0:
				f.happened.ready.addSince(&s.newest().row.Ready, &rows[i].Ready)
			case f.heard: // it began in between
				f.happened.ready.addSince(&flight.Histogram{}, &rows[i].Ready)
			}
			s.tellings = append(s.tellings, telling{now, f.reader.Time(rows[i].Written), rows[i]})
		}
		for len(s.tellings) > 1 && now.Sub(s.tellings[1].seen) >= recentOver {
			s.tellings = s.tellings[1:]
		}
		if now.Sub(s.newest().seen) <= max(asleepAfter, 2*f.agent.options.Interval) {
			s.rate()
		}
		fresh.schedulers = append(fresh.schedulers, s)
	}
	f.told, f.heard = fresh, true
}

// threads returns how many threads a scheduler has.
func threads(r *flight.SchedulerRow) uint64 {
	return r.Figures[flight.FigureQueued] + r.Figures[flight.FigureMounted] + r.Figures[flight.FigureParked]
}

// rate computes the rates from the last two tellings.
func (s *scheduler) rate() {
	if len(s.tellings) < 2 {
		return
	}
	before, after := &s.tellings[len(s.tellings)-2], s.newest()
	over := after.at.Sub(before.at).Seconds()
	for i, info := range flight.Figures {
		// A total that went back belongs to a damaged file; it has no rate.
		if info.Total && over > 0 && after.row.Figures[i] > before.row.Figures[i] {
			s.rates[i] = float64(after.row.Figures[i]-before.row.Figures[i]) / over
		}
	}
}

// schedulers are what the schedulers told, with the threads that the newest survey saw parked.
func (v *view) schedulers() *Schedulers {
	out := &Schedulers{Rows: []SchedulerRow{}, Rest: v.told.rest}
	if len(v.told.schedulers) == 0 {
		out.Missing = cmp.Or(v.seen.none, "No scheduler has told any figures, so far.")
		switch {
		case v.from.past != nil:
			out.Missing = "A recording does not have the figures of schedulers: the time line has delays."
		case v.kept && v.snapshot == nil:
			out.Missing = v.missing
		case v.row.Gone > 0:
			out.Missing = "No scheduler was left at the end."
		}
		return out
	}
	for i := range v.told.schedulers {
		s := &v.told.schedulers[i]
		last, first := s.newest(), &s.tellings[0]
		row := SchedulerRow{
			ID: int(last.row.ID), Name: s.name, Told: last.at.UnixMilli(),
			Figures: make([]float64, flight.FigureCount), Rates: make([]float64, flight.FigureCount), Parked: []int{},
		}
		for k, n := range last.row.Figures {
			row.Figures[k] = float64(n)
			if v.row.Gone == 0 {
				row.Rates[k] = round(s.rates[k])
			}
		}
		if n, ok := v.seen.parked[last.row.ID]; ok {
			row.Parked = append(row.Parked, n[:]...)
		}
		over := int64(last.at.Sub(first.at))
		row.Ready = spread(over, &first.row.Ready, &last.row.Ready)
		row.Slice = spread(over, &first.row.Slice, &last.row.Slice)
		out.Rows = append(out.Rows, row)
	}
	return out
}

// delay sums what the schedulers told of lately.
func (t *told) delay() (d Delay) {
	var recent flight.Histogram
	for i := range t.schedulers {
		s := &t.schedulers[i]
		first, last := &s.tellings[0], s.newest()
		d.Over = max(d.Over, int64(last.at.Sub(first.at)))
		for k, n := range last.row.Ready {
			if n > first.row.Ready[k] {
				recent[k] += n - first.row.Ready[k]
			}
		}
	}
	d.Times = histogram(&recent).Times
	return d
}

// spread returns how durations were spread since from was told, and in total.
func spread(over int64, from, total *flight.Histogram) Spread {
	var recent flight.Histogram
	for i, n := range total {
		if n > from[i] {
			recent[i] = n - from[i]
		}
	}
	return Spread{Over: over, Recent: histogram(&recent), Total: histogram(total)}
}

func histogram(h *flight.Histogram) Histogram {
	out := Histogram{Bars: []uint64{}, Times: Times{
		Count: h.Total(), P50: int64(h.Quantile(.5)), P90: int64(h.Quantile(.9)), P99: int64(h.Quantile(.99)), Longest: int64(h.Quantile(1)),
	}}
	first, end := 0, len(h)
	for first < end && h[first] == 0 {
		first++
	}
	for end > first && h[end-1] == 0 {
		end--
	}
	if first < end {
		out.First, out.Bars = first, append(out.Bars, h[first:end]...)
	}
	return out
}

// name returns the name of a scheduler, "" if it is not known.
func (t *told) name(id flight.SchedulerID) string {
	for i := range t.schedulers {
		if t.schedulers[i].newest().row.ID == id {
			return t.schedulers[i].name
		}
	}
	return ""
}
