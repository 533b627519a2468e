package agent

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/vtscope/vtscope/dump"
	"github.com/vtscope/vtscope/runtime/flight"
)

const (
	// What was found is shown when it is there in so many looks in a row; an error at once.
	shownAfter = 2
	// It is taken back when it is missing in so many.
	goneAfter = 3
)

// A lookout keeps looks at a process, and what was found by them. Only its follower uses it.
type lookout struct {
	options dump.CheckOptions
	before  *dump.Look            // the newest
	earlier []*dump.Look          // one each compareStep, without what is compared with the newest only; not changed, oldest first
	known   map[string]*suspicion // by key of the finding
	found   *dump.Findings        // what is shown; nil: nothing was judged. It does not change
}

// A suspicion is a finding of the newest look that had it.
type suspicion struct {
	dump.Finding
	first   time.Time
	seen    int // looks in a row that had it
	missing int // looks in a row that have not
	shown   bool
}

// add judges a look, with those before of a process that lives.
func (o *lookout) add(l *dump.Look, lives bool) error {
	options, before := o.options, o.before // of one that has ended the look before tells what it did since: its counters are those of its whole life
	options.Earlier = o.earlier
	f, err := dump.Check(l, before, options)
	if err != nil {
		return err
	}
	o.judge(f, lives)
	if n := len(o.earlier); n == 0 || l.Taken.Sub(o.earlier[n-1].Taken) >= compareStep {
		kept := *l
		kept.Waits = nil
		if s := l.Schedulers; s != nil {
			kept.Schedulers = &dump.Schedulers{Schedulers: s.Schedulers}
		}
		o.earlier = append(slices.Clone(o.earlier), &kept)
	}
	for len(o.earlier) > 1 && l.Taken.Sub(o.earlier[1].Taken) >= compareOver {
		o.earlier = o.earlier[1:]
	}
	o.before = l
	return nil
}

// judge replaces what was found by what is to be shown. Of checks that were not made the findings stay as they are.
func (o *lookout) judge(f *dump.Findings, lives bool) {
	if o.known == nil {
		o.known = map[string]*suspicion{}
	}
	fresh := map[string]bool{}
	for _, x := range f.Findings {
		s := o.known[x.Key]
		if s == nil {
			s = &suspicion{first: x.First}
			o.known[x.Key] = s
		}
		if fresh[x.Key] { // two that look the same: the first is worse
			continue
		}
		fresh[x.Key] = true
		s.Finding, s.missing = x, 0
		s.seen++
		if x.First.Before(s.first) {
			s.first = x.First
		}
		s.shown = s.shown || s.seen >= shownAfter || x.Severity == dump.SeverityError || !lives
	}
	unjudged := map[string]bool{}
	for _, u := range f.Unjudged {
		if !u.Partly {
			unjudged[u.Check] = true
		}
	}
	maps.DeleteFunc(o.known, func(key string, s *suspicion) bool {
		if fresh[key] || unjudged[s.Check] && s.shown {
			return false
		}
		s.seen = 0
		s.missing++
		return !s.shown || s.missing >= goneAfter || !lives
	})
	shown := *f
	shown.Findings = []dump.Finding{}
	for _, s := range o.known {
		if s.shown {
			x := s.Finding
			x.First = s.first
			shown.Findings = append(shown.Findings, x)
		}
	}
	slices.SortFunc(shown.Findings, func(a, b dump.Finding) int {
		return cmp.Or(cmp.Compare(badness(b.Severity), badness(a.Severity)), cmp.Compare(rank(a.Check), rank(b.Check)), a.First.Compare(b.First), strings.Compare(a.Key, b.Key))
	})
	o.found = &shown
}

func badness(s dump.Severity) int {
	return slices.Index([]dump.Severity{dump.SeverityInfo, dump.SeverityWarning, dump.SeverityError}, s)
}

func rank(check string) int {
	return slices.IndexFunc(dump.Checks, func(c dump.CheckInfo) bool { return c.Name == check })
}

// lookFor says what the next look of a process reads: with what surveys show if somebody looks at that, or no more than a snapshot while the agent saves.
func (f *follower) lookFor(survey bool) dump.LookOptions {
	o := dump.LookOptions{Snapshot: dump.Options{MaxGroups: f.agent.maxGroups()}, Delays: survey, After: f.lookout.before}
	if len(f.lookout.earlier) > 0 {
		o.Since = f.lookout.earlier[0]
	}
	if f.agent.meter.thrift.rule().noSurvey {
		o.Delays = false
		for i := range dump.Checks {
			if dump.Checks[i].InSnapshot() {
				o.For = append(o.For, dump.Checks[i].Name)
			}
		}
	}
	return o
}

// judge notes what is found in a look, and tells who wants to know.
func (f *follower) judge(l *dump.Look) {
	if err := f.lookout.add(l, !l.Process.Status.Gone()); err != nil {
		f.problem = fmt.Sprintf("no findings: %v", err) // the options were checked
		return
	}
	if found := f.agent.options.Found; found != nil {
		found(f.live.Process(), f.lookout.found)
	}
}

// A ProcessFindings is what was found in a process.
type ProcessFindings struct {
	Process  flight.Process
	Key      string         // of the process, as the page has it
	Findings *dump.Findings // as they are shown; nil: nothing was judged yet
}

// Findings returns what was found in each process that is followed. It does not block. The caller must not change what it is given.
func (a *Agent) Findings() []ProcessFindings {
	var all []ProcessFindings
	for _, v := range a.views() {
		all = append(all, ProcessFindings{v.process, v.row.Key, v.found})
	}
	return all
}

// sinceWhen says of what was found by two looks since when the agent, who looks all the time, has seen it.
func (v *view) sinceWhen(f *dump.Findings) {
	if v.found == nil {
		return
	}
	first := map[string]time.Time{}
	for i := range v.found.Findings {
		first[v.found.Findings[i].Key] = v.found.Findings[i].First
	}
	for i := range f.Findings {
		if was, ok := first[f.Findings[i].Key]; ok && was.Before(f.Findings[i].First) {
			f.Findings[i].First = was
		}
	}
}

// findings are those of the view, as frames have them.
func (v *view) findings() *Findings {
	out := &Findings{Rows: []FindingRow{}, Unjudged: []UnjudgedRow{}}
	if v.found == nil {
		switch out.Missing = "Nothing was judged yet."; {
		case v.from.past != nil:
			out.Missing = "A recording is not judged here; a bundle has the findings of its end."
		case v.kept && v.snapshot == nil:
			out.Missing = v.missing
		}
		return out
	}
	out.Over = int64(v.found.Over)
	for _, u := range v.found.Unjudged {
		out.Unjudged = append(out.Unjudged, UnjudgedRow{u.Check, u.Why, u.Partly})
	}
	for _, m := range v.found.More {
		out.Rest += m.Count
	}
	paths := map[string]string{}
	if s := v.snapshot; s != nil {
		for i := range s.Scopes {
			paths[s.Scopes[i].Key] = strings.Join(s.Path(i), "/")
		}
	}
	for i := range v.found.Findings {
		if len(out.Rows) == limits.Findings {
			out.Rest += len(v.found.Findings) - i
			break
		}
		x := &v.found.Findings[i]
		row := FindingRow{
			Key: x.Key, Check: x.Check, Severity: string(x.Severity), What: x.What, Count: x.Count,
			Value: x.Value, Threshold: x.Threshold, Unit: string(x.Unit), Measured: x.Unit.Text(x.Value), From: x.Unit.Text(x.Threshold),
			Since: x.First.Round(time.Second).UnixMilli(), Scope: paths[x.ScopeKey], ScopeKey: x.ScopeKey, Group: x.GroupKey, At: place(x.Place),
			Threads: []ThreadRow{}, Evidence: append([]string{}, x.Evidence...), Page: x.Page,
		}
		for _, e := range x.Examples {
			if e.Thread != 0 {
				row.Threads = append(row.Threads, ThreadRow{ID: threadID(e.Thread), Name: e.Name})
			}
		}
		out.Rows = append(out.Rows, row)
	}
	return out
}
