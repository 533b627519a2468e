package dump

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/vtscope/vtscope/runtime/flight"
)

// mostFindings bounds what one check tells of one look; [Findings.More] counts the others.
const mostFindings = 20

// lately is how far back a check of one look takes what is over for what is.
const lately = 10 * time.Second

// Check makes the checks on a look and an earlier one of the same process; nil stands for none, as there is of a dead process. It changes
// neither. An error means that o is wrong.
func Check(now, before *Look, o CheckOptions) (*Findings, error) {
	if err := o.Check(); err != nil {
		return nil, err
	}
	f := &Findings{
		Format: FindingsFormat, Process: now.Process, Taken: now.Taken, AsOf: now.AsOf, Took: now.Took,
		Complete: len(now.Incomplete) == 0, Incomplete: now.Incomplete, Findings: []Finding{}, Unjudged: []Unjudged{},
	}
	j := &judging{now: now, before: before, looks: []*Look{now}}
	if before != nil {
		j.looks = append(slices.Clone(o.Earlier), before, now)
		f.Over = now.Taken.Sub(j.looks[0].Taken)
	}
	for i := range Checks {
		c := &Checks[i]
		why := ""
		switch {
		case slices.Contains(o.Off, c.Name):
			why = "it is switched off"
		case c.Pair && before != nil && now.Process.Status.Gone():
			why = "it needs two looks of a process that runs"
		case before == nil && (c.Pair || c.Alive && now.Process.Status == StatusRunning):
			why = "it needs two looks of a process that runs"
		case c.needs&(needRecorder|needSchedulers|needRecent) != 0 && !now.recorded:
			why = "the process has no recorder"
		case !now.has(c.needs) || before != nil && c.needs&needWaits != 0 && before.Waits == nil:
			why = "the look was not taken for it"
		}
		if why != "" {
			f.Unjudged = append(f.Unjudged, Unjudged{Check: c.Name, Why: why})
			continue
		}
		if j.threshold = c.Threshold; o.Threshold[c.Name] != 0 {
			j.threshold = o.Threshold[c.Name]
		}
		if c.partly != nil {
			if why := c.partly(now); why != "" {
				f.Unjudged = append(f.Unjudged, Unjudged{c.Name, why, true})
			}
		}
		j.told = f.Findings
		found := c.find(j)
		slices.SortStableFunc(found, func(a, b Finding) int {
			if c.Unit == UnitDuration {
				return cmp.Compare(b.Value, a.Value)
			}
			return cmp.Compare(b.Count, a.Count)
		})
		if n := len(found) - mostFindings; n > 0 {
			f.More = append(f.More, More{c.Name, n})
			found = found[:mostFindings]
		}
		for k := range found {
			found[k].complete(c, j)
		}
		f.Findings = append(f.Findings, found...)
	}
	return f, nil
}

// has reports whether a look has all that is needed.
func (l *Look) has(n need) bool {
	return (n&needThreads == 0 || l.Snapshot != nil) && (n&needWaits == 0 || l.Waits != nil) && (n&needSchedulers == 0 || l.Schedulers != nil) && (n&needRecent == 0 || l.recent != nil)
}

// complete fills in what follows from the check and the rest of a finding.
func (f *Finding) complete(c *CheckInfo, j *judging) {
	f.Check, f.Severity, f.Page, f.Unit, f.Threshold = c.Name, c.Severity, c.Page(), c.Unit, j.threshold
	f.First = j.now.AsOf.Add(-f.Since)
	h := newHash.word(f.Check).word(f.about)
	if !f.anywhere {
		h = h.word(pathKey(f.Scope))
	}
	if f.Place != nil && !f.anywhere && !f.anyPlace {
		h = h.word(f.Place.Func).word(fmt.Sprint(f.Place.File, ":", f.Place.Line))
	}
	f.Key = h.String()
	if s := j.now.Snapshot; s != nil && f.ScopeKey == "" {
		if at := j.scopeAt(f.Scope); at > 0 {
			f.ScopeKey = s.Scopes[at].Key
		}
	}
}

// judging is what a check looks at.
type judging struct {
	now, before *Look   // before is nil if there is none
	looks       []*Look // all, oldest first: the last is now
	threshold   int64
	told        []Finding // by the checks before

	byPath map[string]int // scopes of the snapshot
}

// over returns the time from the earlier look to now, or lately if there is none.
func (j *judging) over() time.Duration {
	if j.before == nil {
		return lately
	}
	return j.now.Taken.Sub(j.before.Taken)
}

// within returns the looks that have a part, oldest first: the last is now.
func (j *judging) within(n need) []*Look {
	return slices.DeleteFunc(slices.Clone(j.looks), func(l *Look) bool { return !l.has(n) })
}

// scopeAt returns the scope of a path from below the root's in the snapshot, -1 if there is none.
func (j *judging) scopeAt(path []string) int {
	s := j.now.Snapshot
	if s == nil {
		return -1
	}
	if j.byPath == nil {
		j.byPath = make(map[string]int, len(s.Scopes))
		for i := range s.Scopes {
			j.byPath[pathKey(s.Path(i)[1:])] = i
		}
	}
	if at, ok := j.byPath[pathKey(path)]; ok {
		return at
	}
	return -1
}

func pathKey(path []string) string {
	h := newHash
	for _, name := range path {
		h = h.word(name)
	}
	return h.String()
}

// groupOf finds the group of the snapshot at a place, in a state and scope if those are known: the largest of them.
func (j *judging) groupOf(scope int, place *Place, of func(g *Group) bool) *Group {
	s := j.now.Snapshot
	if s == nil || place == nil {
		return nil
	}
	for i := range s.Groups {
		g := &s.Groups[i]
		if (scope < 0 || g.Scope == scope) && of(g) {
			if p := placeOfStack(s.Stacks, g.Stack); p != nil && p.Frame == place.Frame {
				return g
			}
		}
	}
	return nil
}

// groupWith returns the group of the snapshot that a thread is an example of, nil if there is none.
func (j *judging) groupWith(id flight.ThreadID) *Group {
	s := j.now.Snapshot
	if s == nil || id == 0 {
		return nil
	}
	for i := range s.Groups {
		if slices.ContainsFunc(s.Groups[i].Examples, func(e Example) bool { return e.ID == id }) {
			return &s.Groups[i]
		}
	}
	return nil
}

// in makes a finding one of a group: its scope and place, and its examples if there are none.
func (f *Finding) in(s *Snapshot, g *Group) {
	f.Scope = s.Path(g.Scope)[1:]
	f.GroupKey, f.ScopeKey = g.Key, s.Scopes[g.Scope].Key
	if f.Place == nil {
		f.Place = placeOfStack(s.Stacks, g.Stack)
	}
	if f.Examples == nil {
		f.Examples = parties(f.Scope, g.Examples)
	}
}

// grown reports whether the last of values is the most and the first is the least.
func grown(values []int) bool {
	return len(values) > 1 && slices.Min(values) == values[0] && slices.Max(values) == values[len(values)-1]
}

// perSecond returns how much a second n more are over d.
func perSecond(n int64, d time.Duration) int64 {
	if d <= 0 {
		return 0
	}
	return int64(float64(n) / d.Seconds())
}

func verb(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

// thingWords writes `semaphore "db"`, "mutex 0xc000010000", "3 futures".
func thingWords(x *Thing) string {
	switch {
	case x.Count > 1:
		return Count(x.Count, x.Kind)
	case x.Name != "":
		return fmt.Sprintf("%s %q", x.Kind, Printable(x.Name))
	}
	return x.Kind + " " + x.ID
}

func parties(scope []string, all []Example) []Party {
	var p []Party
	for _, e := range all {
		p = append(p, Party{Thread: e.ID, Name: e.Name, Scope: scope})
	}
	return p
}

// partyWords writes `#12 "left"`.
func partyWords(p *Party) string {
	who := fmt.Sprintf("#%d", p.Thread)
	if p.Thread == 0 {
		who = "goroutine " + p.Goroutine
	}
	if p.Name != "" {
		who += fmt.Sprintf(" %q", Printable(p.Name))
	}
	return who
}

// placeWords writes "main.compute main.go:12", "" if it is not known.
func placeWords(p *Place) string {
	if p == nil {
		return ""
	}
	s := ShortFunc(p.Func)
	if p.File != "" {
		s += fmt.Sprintf(" %s:%d", baseName(p.File), p.Line)
	}
	return s
}

// Place returns where in the program's own code the stack is; nil if it has no frames.
func (s *Stack) Place() *Place { return placeOfStack([]Stack{*s}, 0) }

// placeOfStack returns where in the program's own code a stack is, nil if it is not known.
func placeOfStack(stacks []Stack, at int) *Place {
	if at < 0 || at >= len(stacks) || len(stacks[at].Frames) == 0 {
		return nil
	}
	frames := make([]flight.Frame, len(stacks[at].Frames))
	for i, f := range stacks[at].Frames {
		frames[i] = flight.Frame{Func: f.Func, File: f.File, Line: f.Line, Inlined: f.Inlined, Internal: f.Internal}
	}
	return placeOf(frames)
}
