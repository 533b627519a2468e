package agent

import (
	"slices"
	"strings"
	"time"

	"github.com/vtscope/vtscope/dump"
	"github.com/vtscope/vtscope/runtime/flight"
)

// A survey is what the threads and the newest events tell about the schedulers of a process, beyond a snapshot. It is made only while somebody looks:
// it costs about as much as the snapshot.
type survey struct {
	parked   map[flight.SchedulerID]dump.Reasons // threads that wait, by reason
	holders  map[flight.ThreadID]*dump.Place     // where threads hold their carriers
	pins     *PinSites
	delays   *Delays
	slow     *SlowIO
	warnings *Warnings
	pollers  *Pollers
	asOf     time.Time
	none     string   // why there are no schedulers
	missing  []string // why it is incomplete
}

// noSurvey is what is shown until there is one.
func noSurvey() *survey {
	return &survey{pins: &PinSites{Rows: []PinSiteRow{}}, delays: &Delays{Rows: []DelayRow{}}, warnings: &Warnings{Rows: []Warning{}}, pollers: &Pollers{Rows: []PollerRow{}}, slow: &SlowIO{Rows: []SlowIORow{}}}
}

// newSurvey makes a survey of schedulers that were read with the delays of scopes.
func newSurvey(all *dump.Schedulers) *survey {
	s := noSurvey()
	s.none, s.missing, s.asOf = all.None, all.Incomplete, all.AsOf
	s.parked = map[flight.SchedulerID]dump.Reasons{}
	s.holders = map[flight.ThreadID]*dump.Place{}
	hold := func(carriers []dump.Carrier) {
		for _, c := range carriers {
			if c.Thread != 0 && c.Place != nil {
				s.holders[c.Thread] = c.Place
			}
		}
	}
	hold(all.Others.Carriers)
	for i := range all.Schedulers {
		s.parked[all.Schedulers[i].ID] = all.Schedulers[i].Reasons
		hold(all.Schedulers[i].Carriers)
	}
	// In whole seconds, so that what has not changed is not sent again.
	at := func(ago time.Duration) int64 { return all.AsOf.Add(-ago).Round(time.Second).UnixMilli() }
	for i, p := range all.PinSites {
		if i >= limits.PinSites {
			s.pins.Rest.Rows++
			s.pins.Rest.Count += p.Count
			s.pins.Rest.Total += int64(p.Total)
			continue
		}
		s.pins.Rows = append(s.pins.Rows, PinSiteRow{
			Place: place(p.Place), Reason: p.Reason.String(), Count: p.Count, Total: int64(p.Total), Longest: int64(p.Longest),
			Victims: p.Victims, Last: at(p.Ago),
		})
	}
	s.pins.Known, s.pollers.Known = true, true
	s.pollers.Rest = max(0, len(all.Pollers)-limits.Pollers)
	for _, p := range all.Pollers[:min(len(all.Pollers), limits.Pollers)] {
		row := PollerRow{Number: p.Number, Kind: p.Kind, Watched: p.Watched, Wakeups: p.Wakeups, Ready: p.Ready, Failed: p.Failed}
		for _, kind := range flight.PollerKinds {
			if kind.Name == p.Kind {
				row.About, row.Unit = kind.About, kind.Unit
			}
		}
		if p.Wakeups > 0 {
			row.Last = at(p.Ago)
		}
		for _, n := range p.Batches {
			row.Batches = append(row.Batches, uint64(n))
		}
		s.pollers.Rows = append(s.pollers.Rows, row)
	}
	*s.delays = Delays{
		Window: int64(all.Sample.Window), Rows: []DelayRow{}, Rest: max(0, len(all.Scopes)-limits.Delays), Dropped: all.Sample.Dropped,
	}
	for _, d := range all.Scopes[:min(len(all.Scopes), limits.Delays)] {
		s.delays.Rows = append(s.delays.Rows, DelayRow{
			Scope: strings.Join(d.Path, "/"), Ready: times(d.Ready), Slice: times(d.Slice), Runnable: d.Runnable, Waited: int64(d.Waited),
		})
	}
	s.slow.Rest = max(0, len(all.Slow)-limits.SlowIO)
	for _, e := range all.Slow[:min(len(all.Slow), limits.SlowIO)] {
		s.slow.Rows = append(s.slow.Rows, SlowIORow{
			place(e.Place), e.Reason.String(), e.Blocker, e.With, e.Bytes, int64(e.For), at(e.Ago), threadID(e.Thread), e.Name,
		})
	}
	s.warnings.Rest, s.warnings.Overwritten = all.Rest.Incidents, all.Rest.Overwritten
	for _, e := range all.Incidents { // the newest first
		w := Warning{
			Place: place(e.Place), Kind: e.Kind.String(), Reason: e.Reason.String(), Time: at(e.Ago), Count: 1,
			Thread: threadID(e.Thread), Name: e.Name, Held: int64(e.For), Victims: e.Victims,
		}
		same := func(o Warning) bool { return o.Kind == w.Kind && o.Reason == w.Reason && o.Place == w.Place }
		if i := slices.IndexFunc(s.warnings.Rows, same); i >= 0 {
			s.warnings.Rows[i].Count++
		} else if len(s.warnings.Rows) < limits.Warnings {
			s.warnings.Rows = append(s.warnings.Rows, w)
		} else {
			s.warnings.Rest++
		}
	}
	return s
}

// since computes the rates of pollers from the survey before.
func (s *survey) since(before *survey) {
	over := s.asOf.Sub(before.asOf)
	if before.asOf.IsZero() || over <= 0 {
		return
	}
	s.pollers.Over = int64(over)
	for i := range s.pollers.Rows {
		now := &s.pollers.Rows[i]
		k := slices.IndexFunc(before.pollers.Rows, func(p PollerRow) bool { return p.Number == now.Number && p.Kind == now.Kind })
		// A total that went back belongs to another poller, or to a damaged file; it has no rate.
		if k < 0 || now.Wakeups < before.pollers.Rows[k].Wakeups || now.Ready < before.pollers.Rows[k].Ready {
			continue
		}
		was := &before.pollers.Rows[k]
		now.WakeupRate = round(float64(now.Wakeups-was.Wakeups) / over.Seconds())
		now.ReadyRate = round(float64(now.Ready-was.Ready) / over.Seconds())
	}
}

func place(p *dump.Place) Place {
	if p == nil {
		return Place{}
	}
	return Place{p.Func, p.File, p.Line, p.Calls, p.Guessed}
}

func times(t dump.Times) Times {
	return Times{uint64(t.Count), int64(t.P50), int64(t.P90), int64(t.P99), int64(t.Longest)}
}
