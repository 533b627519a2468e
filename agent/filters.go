package agent

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/vtscope/vtscope/dump"
	"github.com/vtscope/vtscope/dump/filter"
)

// maxFilters is how many different filters the clients of one process may use at a time: each costs a pass over all threads, as often as a snapshot.
const maxFilters = 4

// filters are those that the clients of a process use. Clients with the same filter share its snapshots.
type filters struct {
	mu struct {
		sync.Mutex
		all  map[string]*filterUse // by text
		late map[string]lateLook   // of a process that is gone: what filters showed, the newest maxFilters
	}
}

type filterUse struct {
	filter  *filter.Filter
	clients int
}

type lateLook struct {
	snapshot *dump.Snapshot
	why      string // why there is none
}

// enter begins the use of a filter by a client, and reports whether there was room.
func (f *filters) enter(of *filter.Filter) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	use := f.mu.all[of.String()]
	if use == nil {
		if len(f.mu.all) >= maxFilters {
			return false
		}
		if f.mu.all == nil {
			f.mu.all = map[string]*filterUse{}
		}
		use = &filterUse{filter: of}
		f.mu.all[of.String()] = use
	}
	use.clients++
	return true
}

// leave ends what enter began.
func (f *filters) leave(of *filter.Filter) {
	f.mu.Lock()
	defer f.mu.Unlock()
	use := f.mu.all[of.String()]
	if use.clients--; use.clients == 0 {
		delete(f.mu.all, of.String())
	}
}

// used are the filters in use.
func (f *filters) used() (all []*filter.Filter) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, text := range slices.Sorted(maps.Keys(f.mu.all)) {
		all = append(all, f.mu.all[text].filter)
	}
	return all
}

// takeFiltered takes a snapshot for each filter in use, unless the agent saves cost. The error is that of ctx, or says that nothing can be read.
func (f *follower) takeFiltered(ctx context.Context, r dump.Source) (map[string]*dump.Snapshot, error) {
	rule := f.agent.meter.thrift.rule()
	if rule.noFilters {
		return nil, nil
	}
	var all map[string]*dump.Snapshot
	for _, by := range f.filters.used() {
		s, err := dump.Take(ctx, r, dump.Options{Filter: by, MaxGroups: f.agent.maxGroups()})
		if err != nil {
			return nil, err
		}
		if all == nil {
			all = map[string]*dump.Snapshot{}
		}
		all[by.String()] = s
	}
	return all, nil
}

// A lineage is the newest snapshot with those that tell how it has changed.
type lineage struct {
	baselines []*dump.Snapshot
	before    *dump.Snapshot // that the newest was compared with; nil: with none
}

// add compares s with the oldest one that is kept.
func (l *lineage) add(s *dump.Snapshot) {
	if n := len(l.baselines); n == 0 || s.Taken.Sub(l.baselines[n-1].Taken) >= compareStep {
		l.baselines = append(l.baselines, s)
	}
	for len(l.baselines) > 1 && s.Taken.Sub(l.baselines[1].Taken) >= compareOver {
		l.baselines = l.baselines[1:]
	}
	l.before = nil
	if l.baselines[0] != s {
		l.before = l.baselines[0]
		dump.Compare(l.baselines[0], s)
	}
}

// befores are the snapshots that those with a filter were compared with, by filter.
func befores(all map[string]*lineage) map[string]*dump.Snapshot {
	out := map[string]*dump.Snapshot{}
	for text, l := range all {
		out[text] = l.before
	}
	return out
}

// takeNotes keeps what the filters showed. Of filters that nobody uses any more it forgets everything.
func (f *follower) takeNotes(fresh map[string]*dump.Snapshot) {
	maps.DeleteFunc(f.lineages, func(text string, _ *lineage) bool { return fresh[text] == nil })
	for text, s := range fresh {
		if f.lineages == nil {
			f.lineages = map[string]*lineage{}
		}
		if f.lineages[text] == nil {
			f.lineages[text] = &lineage{}
		}
		f.lineages[text].add(s)
	}
	f.filtered = fresh // views hold the old map
}

// only returns the view of the threads that a filter matches. Without a snapshot it says why in missing.
func (v *view) only(ctx context.Context, by *filter.Filter) *view {
	if by.Empty() || v.kept && v.snapshot == nil {
		return v
	}
	shown := *v
	shown.whole = v.snapshot
	shown.snapshot, shown.before = v.filtered[by.String()], v.befores[by.String()]
	if shown.snapshot != nil {
		return &shown
	}
	switch at, note := v.from.agent.meter.thrift.now(); {
	case v.kept:
		shown.missing = "This moment was not kept with this filter: nobody used it then. Without a filter it is there."
	case v.row.Gone > 0:
		shown.snapshot, shown.missing = v.from.lookBack(ctx, by)
	case steps[at].noFilters:
		shown.missing = "No filter can be applied now: " + note + "."
	default:
		shown.missing = "The first snapshot with this filter is on its way."
	}
	return &shown
}

// withoutRoom is what a client is shown whose filter is one too many.
func (v *view) withoutRoom() *view {
	shown := *v
	shown.snapshot, shown.missing = nil, tooManyFilters
	return &shown
}

var tooManyFilters = fmt.Sprintf("%d other filters are in use for this process. Each costs a look at all threads: this one waits until there is room.", maxFilters)

// lookBack takes a snapshot of a process that is gone, as far as its flight file is still there, for one caller at a time.
func (f *follower) lookBack(ctx context.Context, by *filter.Filter) (*dump.Snapshot, string) {
	f.filters.mu.Lock()
	defer f.filters.mu.Unlock()
	if l, ok := f.filters.mu.late[by.String()]; ok {
		return l.snapshot, l.why
	}
	s, err := f.takeAgain(ctx, by)
	if ctx.Err() != nil {
		return nil, "vtserve ends."
	}
	l := lateLook{snapshot: s}
	if err != nil {
		l.why = fmt.Sprintf("The process is gone, and what it left cannot be looked at with another filter: %v.", err)
	}
	if f.filters.mu.late == nil || len(f.filters.mu.late) >= maxFilters {
		f.filters.mu.late = map[string]lateLook{}
	}
	f.filters.mu.late[by.String()] = l
	return l.snapshot, l.why
}

func (f *follower) takeAgain(ctx context.Context, by *filter.Filter) (*dump.Snapshot, error) {
	r, done, err := f.source(ctx, "")
	if err != nil {
		return nil, err
	}
	defer done()
	return dump.Take(ctx, r, dump.Options{Filter: by, MaxGroups: f.agent.maxGroups()})
}

// maxGroups is the most groups of a snapshot.
func (a *Agent) maxGroups() int { return min(a.options.MaxGroups, a.meter.thrift.rule().groups) }
