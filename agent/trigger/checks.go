package trigger

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/vtscope/vtscope/dump"
	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/flight/signals"
)

// A verdict is what a rule has found: one sentence without a full stop, and lines of evidence.
type verdict struct {
	what     string
	evidence []string
}

const maxEvidence = 5

// groups collects groups of threads that have waited for longer than the rule says.
type groups struct {
	c       *condition
	snap    *dump.Snapshot
	longest time.Duration
	found   []*dump.Group
}

func longer(c *condition, s *dump.Snapshot, of func(g *dump.Group) bool) *groups {
	all := &groups{c: c, snap: s}
	for i := range s.Groups {
		g := &s.Groups[i]
		if g.Wait.Max > c.rule.Limit && of(g) && matches(c.rule.In, s.Path(g.Scope)[1:]) {
			all.found = append(all.found, g)
			all.longest = max(all.longest, g.Wait.Max)
		}
	}
	slices.SortStableFunc(all.found, func(a, b *dump.Group) int { return cmp.Compare(b.Wait.Max, a.Wait.Max) })
	return all
}

// verdict tells of the groups, in words such as "has been parked".
func (a *groups) verdict(has string) (verdict, bool) {
	if len(a.found) == 0 {
		return verdict{}, false
	}
	g := a.found[0]
	v := verdict{what: fmt.Sprintf("a thread of %s %s for %s", dump.ScopeName(a.snap.Path(g.Scope)[1:]), has, dump.Span(a.longest))}
	for _, g := range a.found[:min(len(a.found), maxEvidence)] {
		line := fmt.Sprintf("%s of %s %s for up to %s, half of them for more than %s", dump.Count(g.Count, "thread"), dump.ScopeName(a.snap.Path(g.Scope)[1:]),
			g.State, dump.Span(g.Wait.Max), dump.Span(g.Wait.Median))
		if g.Count == 1 {
			line = fmt.Sprintf("1 thread of %s %s for %s", dump.ScopeName(a.snap.Path(g.Scope)[1:]), g.State, dump.Span(g.Wait.Max))
		}
		if at := place(a.snap, g); at != "" {
			line += ", in " + at
		}
		if g.Blocker != "" {
			line += ", waits for " + g.Blocker
		}
		if len(g.Examples) > 0 {
			line += fmt.Sprintf(", e.g. #%d", g.Examples[0].ID)
		}
		v.evidence = append(v.evidence, line)
	}
	if n := len(a.found) - maxEvidence; n > 0 {
		v.evidence = append(v.evidence, dump.Count(n, "further group"))
	}
	return v, true
}

// place is where in the program's own code a group is.
func place(s *dump.Snapshot, g *dump.Group) string {
	if g.Stack < 0 || g.Stack >= len(s.Stacks) {
		return ""
	}
	frames := s.Stacks[g.Stack].Frames
	i := slices.IndexFunc(frames, func(f dump.Frame) bool { return !f.Internal })
	if i < 0 {
		return ""
	}
	return fmt.Sprintf("%s %s:%d", frames[i].Func, frames[i].File[strings.LastIndexByte(frames[i].File, '/')+1:], frames[i].Line)
}

func parked(c *condition, l *look) (verdict, bool) {
	return longer(c, l.threads, func(g *dump.Group) bool {
		switch g.State {
		case flight.StateParked, flight.StateTimedParked, flight.StateBlocked, flight.StateWaiting:
			return g.Reason != flight.ReasonSleep
		}
		return false
	}).verdict("has been parked")
}

func queued(c *condition, l *look) (verdict, bool) {
	return longer(c, l.threads, func(g *dump.Group) bool { return g.State == flight.StateRunnable }).verdict("has waited for a carrier")
}

// pinned looks at who is pinned, and at who was since the last look.
func pinned(c *condition, l *look) (verdict, bool) {
	now := longer(c, l.threads, func(g *dump.Group) bool { return g.State == flight.StatePinned })
	if v, ok := now.verdict("has been pinned"); ok {
		return v, true
	}
	if c.rule.In != "" {
		return verdict{}, false // events do not tell the scope
	}
	return longEvents(c, l, flight.EventPinned, "was pinned")
}

func longEvents(c *condition, l *look, k flight.Kind, did string) (v verdict, fired bool) {
	longest := time.Duration(0)
	for i := range l.events {
		e := &l.events[i]
		d := lasted(e)
		if e.Kind != k || d <= c.rule.Limit {
			continue
		}
		if d > longest {
			longest = d
			v.what = fmt.Sprintf("thread #%d %s for %s", e.Thread, did, dump.Span(d))
		}
		if len(v.evidence) < maxEvidence {
			line := fmt.Sprintf("#%d for %s: %s", e.Thread, dump.Span(d), e.Code)
			if stack, err := l.reader.Stack(e.Stack); err == nil {
				if i := slices.IndexFunc(stack.Frames, func(f flight.Frame) bool { return !f.Internal }); i >= 0 {
					line += fmt.Sprintf(", in %s %s:%d", stack.Frames[i].Func, stack.Frames[i].File[strings.LastIndexByte(stack.Frames[i].File, '/')+1:], stack.Frames[i].Line)
				}
			}
			v.evidence = append(v.evidence, line)
		}
	}
	return v, longest > 0
}

// queueDelay looks at what schedulers told since they told last. One that cannot mount any thread has no delays to tell.
func queueDelay(c *condition, l *look) (v verdict, fired bool) {
	for i := range l.schedulers {
		s := &l.schedulers[i]
		before, known := c.told[s.ID]
		if known && before.Began == s.Began && before.Written == s.Written {
			if l.at.Sub(l.reader.Time(s.Written)) > asleepAfter {
				delete(c.delays, s.ID)
			}
			if d, ok := c.delays[s.ID]; ok { // nothing new: it is as it was
				v, fired = addDelay(v, fired, d)
			}
			if starved(s) <= c.rule.Limit {
				continue
			}
		}
		delete(c.delays, s.ID)
		var recent flight.Histogram
		for b, n := range s.Ready {
			if was := before.Ready[b]; known && before.Began == s.Began && n > was {
				recent[b] = n - was
			}
		}
		c.told[s.ID] = *s
		d := recent.Quantile(float64(c.rule.Quantile) / 100)
		line := fmt.Sprintf("scheduler %s: p%d of %s mounted threads is %s", schedulerName(s), c.rule.Quantile, dump.Thousands(int(recent.Total())), dump.Span(d))
		if starving := starved(s); starving > c.rule.Limit {
			d, line = starving, fmt.Sprintf("scheduler %s: no queued thread was mounted for %s", schedulerName(s), dump.Span(starving))
		}
		if d > c.rule.Limit {
			c.delays[s.ID] = line
			v, fired = addDelay(v, fired, line)
		}
	}
	return v, fired
}

func addDelay(v verdict, fired bool, line string) (verdict, bool) {
	if !fired {
		v.what = line
	}
	if !slices.Contains(v.evidence, line) {
		v.evidence = append(v.evidence, line)
	}
	return v, true
}

// asleepAfter is how long after it told its figures a scheduler has nothing to do: one that is awake tells them each second.
const asleepAfter = 2500 * time.Millisecond

// starved is for how long a scheduler has mounted nobody though threads are queued, as it told.
func starved(s *flight.SchedulerRow) time.Duration {
	return time.Duration(s.Figures[flight.FigureStarving])
}

func schedulerName(s *flight.SchedulerRow) string {
	if s.Name != "" {
		return s.Name
	}
	return fmt.Sprintf("#%d", s.ID)
}

// count returns how many threads there are in the rule's scopes.
func count(c *condition, s *dump.Snapshot) int {
	if c.rule.In == "" {
		return s.Threads
	}
	n := 0
	for i := range s.Scopes {
		if matches(c.rule.In, s.Path(i)[1:]) {
			n += s.Scopes[i].Own
		}
	}
	return n
}

func where(c *condition) string {
	if c.rule.In == "" {
		return ""
	}
	return " in " + quoted(c.rule.In)
}

func tooMany(c *condition, l *look) (verdict, bool) {
	n := count(c, l.threads)
	return verdict{what: fmt.Sprintf("there are %s%s", dump.Count(n, "thread"), where(c)), evidence: largest(l.threads, c)}, n > c.rule.Count
}

// doubledFrom is how many threads there must be more: a small process doubles easily.
const doubledFrom = 100

func doubled(c *condition, l *look) (verdict, bool) {
	n := count(c, l.threads)
	c.counts = append(c.counts, counted{l.at, n})
	// The newest that is old enough stays first.
	for len(c.counts) > 1 && l.at.Sub(c.counts[1].at) >= c.rule.Within {
		c.counts = c.counts[1:]
	}
	// What doubles sooner has doubled within that time, too.
	was := slices.MinFunc(c.counts, func(a, b counted) int { return cmp.Compare(a.n, b.n) })
	if n < 2*was.n || n < was.n+doubledFrom {
		return verdict{}, false
	}
	return verdict{
		what:     fmt.Sprintf("there are %s%s, %s more than %s ago", dump.Count(n, "thread"), where(c), dump.Thousands(n-was.n), dump.Span(l.at.Sub(was.at))),
		evidence: largest(l.threads, c),
	}, true
}

// largest tells of the largest groups.
func largest(s *dump.Snapshot, c *condition) (lines []string) {
	for i := range s.Groups {
		g := &s.Groups[i]
		if len(lines) == maxEvidence {
			break
		}
		if path := s.Path(g.Scope)[1:]; matches(c.rule.In, path) {
			line := fmt.Sprintf("%s of %s %s", dump.Count(g.Count, "thread"), dump.ScopeName(path), g.State)
			if at := place(s, g); at != "" {
				line += ", in " + at
			}
			lines = append(lines, line)
		}
	}
	return lines
}

// findingOver is how far apart the looks are that the rule finding compares, at least.
const findingOver = 2 * time.Second

// finding looks at what the check finds that the rule names.
func finding(c *condition, l *look) (v verdict, fired bool) {
	if c.looks = append(c.looks, l.look); len(c.looks) > 1 {
		for len(c.looks) > 2 && l.look.Taken.Sub(c.looks[1].Taken) >= findingOver {
			c.looks = c.looks[1:]
		}
	}
	before := c.looks[0]
	if l.look.Taken.Sub(before.Taken) < findingOver {
		return verdict{}, false
	}
	return c.checked(l.look, before, c.rule.Of, 0)
}

// found looks at what the check of the rule finds since the look before, longer than the rule says if it says so. What was over before the first look does not
// count.
func found(c *condition, l *look) (verdict, bool) {
	before := c.looks
	if c.looks = []*dump.Look{l.look}; len(before) == 0 {
		return verdict{}, false
	}
	threshold := int64(c.rule.Limit)
	if threshold > 0 {
		threshold++ // as long is not longer
	}
	return c.checked(l.look, before[0], c.info.of, threshold)
}

// checked tells what one check finds; with a threshold of 0 by its own.
func (c *condition) checked(now, before *dump.Look, name string, threshold int64) (v verdict, fired bool) {
	o := dump.CheckOptions{Off: slices.DeleteFunc(dump.CheckNames(), func(n string) bool { return n == name })}
	if threshold > 0 {
		o.Threshold = map[string]int64{name: threshold}
	}
	f, err := dump.Check(now, before, o)
	if err != nil {
		return verdict{}, false // the options are good
	}
	for i := range f.Findings {
		x := &f.Findings[i]
		if i == 0 {
			v.what = x.What
		} else {
			v.evidence = append(v.evidence, x.What)
		}
		v.evidence = append(v.evidence, x.Evidence...)
	}
	if len(v.evidence) == 0 {
		v.evidence = []string{v.what}
	}
	v.evidence = v.evidence[:min(len(v.evidence), maxEvidence)]
	return v, len(f.Findings) > 0
}

func happened(c *condition, l *look) (v verdict, fired bool) {
	n := 0
	for i := range l.events {
		e := &l.events[i]
		if l.users[uint32(e.Stack)] != c.rule.Of || !userKind(e.Kind) {
			continue
		}
		if n++; n <= maxEvidence {
			who := "a goroutine"
			if e.Thread != 0 {
				who = fmt.Sprintf("thread #%d", e.Thread)
			}
			v.evidence = append(v.evidence, fmt.Sprintf("%s by %s at %s", e.Kind, who, l.reader.Time(e.Time).UTC().Format("15:04:05.000")))
		}
	}
	v.what = fmt.Sprintf("%s %s recorded", dump.Count(n, "event "+c.rule.Of), map[bool]string{true: "was", false: "were"}[n == 1])
	return v, n > 0
}

// signalled looks for events of signals.
func signalled(_ *condition, l *look) (verdict, bool) {
	v, fired := happened(&condition{rule: Rule{Of: signals.Kind}}, l)
	v.what = "the program has got a signal"
	return v, fired
}

func userKind(k flight.Kind) bool {
	return k == flight.EventMark || k == flight.EventSpanEnd
}

func killed(c *condition, l *look) (verdict, bool) {
	v, fired := gone(c, l)
	v.what = "the process was killed, or has crashed"
	return v, fired && l.process.Ending.Died()
}

func gone(_ *condition, l *look) (verdict, bool) {
	ending := "how it ended is not known"
	if s := l.process.Ending.String(); s != "" {
		ending = s
	}
	return verdict{
		what:     "the process is gone without having closed its recorder",
		evidence: []string{ending, "its last sign of life is of " + l.process.LastSeen.UTC().Format(time.RFC3339Nano)},
	}, l.gone && l.process.Status == flight.StatusGone
}

// panicWithin is how long before the last sign of life a panic was that ended the process.
const panicWithin = 5 * time.Second

// panicked looks for threads whose panic was the last that happened.
func panicked(_ *condition, l *look) (v verdict, fired bool) {
	if !l.gone || l.process.Status != flight.StatusGone {
		return v, false
	}
	rings, _ := l.reader.Rings() // what can be read will do
	for i := range rings {
		events, _, _, err := l.reader.Events(rings[i].Index, 0, maxRead)
		if err != nil {
			continue
		}
		for _, e := range events {
			at := l.reader.Time(e.Time)
			if e.Kind == flight.EventThreadEnd && e.Code == flight.ReasonPanic && l.process.LastSeen.Sub(at) < panicWithin {
				fired = true
				v.evidence = append(v.evidence, fmt.Sprintf("thread #%d panicked %s before the last sign of life", e.Thread, dump.Span(max(l.process.LastSeen.Sub(at), 0))))
			}
		}
	}
	v.what = "the process has died of a panic"
	if len(v.evidence) > maxEvidence {
		v.evidence = v.evidence[len(v.evidence)-maxEvidence:]
	}
	return v, fired
}
