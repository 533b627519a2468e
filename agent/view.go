package agent

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/vtscope/vtscope/dump"
	"github.com/vtscope/vtscope/runtime/flight"
)

// limits are the most rows that a frame carries.
var limits = Limits{Scopes: 200, Opened: 2000, Groups: 50, Calls: 2000, Carriers: 64, Schedulers: 16, PinSites: 20, Pollers: 16, Delays: 20, SlowIO: 15, Warnings: 10, Findings: 40, Events: 40, Filters: maxFilters}

// A view is what is known of a process at a moment. It does not change; any goroutine may read it.
type view struct {
	from     *follower
	version  uint64 // counts the views of one process
	row      ProcessRow
	process  flight.Process
	snapshot *dump.Snapshot // nil: none yet
	before   *dump.Snapshot // that snapshot was compared with; nil: with none
	rings    counters
	observed Observed
	told     told
	counted  counted
	seen     *survey
	found    *dump.Findings // nil: nothing was judged yet
	history  timeline
	every    time.Duration
	pause    time.Duration
	problem  string

	asked *asked // nil: it is no endpoint

	share      float64       // of a processor that snapshots may use
	usualPause time.Duration // between two, which is told if it is longer

	soFar *soFar // while there is no snapshot; nil: nothing is told

	made     time.Time
	cost     time.Duration             // processor time of the snapshot, with all that was read for it
	filtered map[string]*dump.Snapshot // by filter
	befores  map[string]*dump.Snapshot // that those were compared with
	whole    *dump.Snapshot            // of all threads, if snapshot is of those that a filter matches
	missing  string                    // why there is no snapshot; "" before the first
	kept     bool                      // by a keeper: it is of the past
	shelf    *shelf
}

func (f *follower) newView(p flight.Process) *view {
	v := &view{
		from: f, process: p, snapshot: f.latest, before: f.lineage.before, befores: befores(f.lineages), rings: f.rings, observed: f.stream.observed(), told: f.told, counted: f.counted, seen: f.seen, found: f.lookout.found, history: f.history,
		every: f.every(), pause: f.pause, share: f.share, usualPause: f.usualPause, problem: f.problem, soFar: f.soFar,
		made: time.Now(), cost: f.cost, filtered: f.filtered, shelf: &shelf{},
		row: ProcessRow{
			Key: f.key, PID: p.PID, Program: p.Program, Status: p.Status.String(),
			Threads: p.Threads,
		},
	}
	if !p.Start.IsZero() {
		v.row.Started = p.Start.UnixMilli()
	}
	if isGone(p) {
		v.row.Gone, v.row.Ending = p.LastSeen.UnixMilli(), p.Ending.String()
	}
	if v.snapshot != nil {
		v.row.Threads, v.row.Kind = v.snapshot.Threads, v.snapshot.Process.Kind
	}
	if f.plain() {
		v.row.Kind = kindGoroutine
	}
	if v.asked = f.asked; f.asked != nil {
		v.row.Address = f.asked.Client.Address()
		if f.asked.problem() != "" {
			v.row.Status = statusUnreachable
		}
	}
	return v
}

// header is the process as a whole.
func (v *view) header(cost Cost, interval time.Duration) *Process {
	p := &Process{
		ProcessRow: v.row, Problem: v.problem, Exe: v.process.Exe, GoVersion: v.process.GoVersion,
		Counts: make([]int, flight.StateCount),
		Drops: Drops{
			Events: v.rings.lost.Events, Threads: v.rings.lost.Threads,
			Stacks: v.rings.lost.Stacks, Strings: v.rings.lost.Strings,
		},
		Snapshot: Taken{Every: int64(v.every), Incomplete: []string{}},
		Carrying: v.carrying(), Delay: v.told.delay(),
		Observed: v.observed,
		Cost:     cost,
	}
	for _, n := range v.counted.waits {
		p.Durable += n
	}
	if v.row.Gone == 0 {
		p.Rates = Rates{
			round(v.rings.rates.Starts), round(v.rings.rates.Ends), round(v.rings.rates.Switches), round(v.rings.rates.Events),
		}
	}
	s := v.snapshot
	if s == nil {
		if v.missing == "" && v.row.Gone == 0 && v.problem == "" {
			p.Snapshot.Note = v.soFar.note()
		}
		if v.soFar != nil {
			copy(p.Counts, v.soFar.counts[:])
		}
		return p
	}
	copy(p.Counts, s.States[:])
	p.ScopeCount = s.ScopeCount
	p.Drops.Torn = uint64(s.Lost.Torn)
	p.Snapshot.Time, p.Snapshot.Took, p.Snapshot.ChangeOver = s.Taken.UnixMilli(), int64(s.Took), int64(s.ChangeOver)
	p.Snapshot.Complete, p.Snapshot.Incomplete = s.Complete, append([]string{}, s.Incomplete...)
	for _, why := range v.seen.missing {
		if p.Snapshot.Complete = false; !slices.Contains(p.Snapshot.Incomplete, why) {
			p.Snapshot.Incomplete = append(p.Snapshot.Incomplete, why)
		}
	}
	if v.row.Gone == 0 {
		p.Snapshot.Note = s.Process.Unseen
	}
	switch {
	case v.row.Gone > 0:
	case v.asked != nil:
		p.Snapshot.Note = fmt.Sprintf("each look costs the program, which must answer it: there is one each %v", v.pause.Round(time.Second))
		if v.asked.Client.Stops() {
			p.Snapshot.Note += ", and the program stands still meanwhile"
		}
	case v.pause > max(interval, v.usualPause):
		p.Snapshot.Note = fmt.Sprintf("a snapshot uses %v of a processor, so there is one each %v only: the agent spends at most %g %% of a processor on them",
			v.cost.Round(time.Millisecond), v.pause, 100*v.share)
	}
	return p
}

// scope returns the position of the scope that a client names by key or path; "" is the root. It returns
// -1 if there is none.
func (v *view) scope(name string) int {
	if v.snapshot == nil {
		return -1
	}
	scopes := v.snapshot.Scopes
	if name == "" && len(scopes) > 0 {
		return 0
	}
	if i := slices.IndexFunc(scopes, func(s dump.Scope) bool { return s.Key == name }); i >= 0 {
		return i
	}
	for i := range scopes {
		if strings.HasSuffix(name, scopes[i].Name) && strings.Join(v.snapshot.Path(i), "/") == name {
			return i
		}
	}
	return -1
}

// asOf is the moment that the view describes: now, or the end of a process that is gone.
func (v *view) asOf(now time.Time) time.Time {
	if v.row.Gone > 0 {
		return v.process.LastSeen
	}
	return now
}
