package dump

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/vtscope/vtscope/runtime/flight"
)

// growsFrom is how many threads or scopes there must have been, and how many more there must be: a small scope doubles easily.
const growsFrom = 100

// findGrowth finds scopes that have grown over all looks, and names of which there are more scopes. It takes no offence at one that was larger in between.
func findGrowth(j *judging) []Finding {
	s := j.now.Snapshot
	looks := j.within(needThreads)
	first := looks[0].Snapshot
	over := s.Taken.Sub(first.Taken)
	if len(looks) < 2 || over <= 0 {
		return nil
	}
	threads, scopes := map[string][]int{}, map[string][]int{} // by key, one for each look since there is such a scope
	for _, l := range looks {
		for i := range l.Snapshot.Scopes {
			sc := &l.Snapshot.Scopes[i]
			threads[sc.Key], scopes[sc.Key] = append(threads[sc.Key], sc.Own), append(scopes[sc.Key], sc.Count)
		}
	}
	var all []Finding
	for i := range s.Scopes {
		sc := &s.Scopes[i]
		path := s.Path(i)[1:]
		grew := func(counts []int) (more int, percent int64) {
			if len(counts) < len(looks) || !grown(counts) || counts[0] < growsFrom || counts[len(counts)-1]-counts[0] < growsFrom {
				return 0, 0
			}
			more = counts[len(counts)-1] - counts[0]
			return more, int64(100 * float64(more) / float64(counts[0]) / over.Minutes())
		}
		f := Finding{Scope: path, ScopeKey: sc.Key, Since: over, anyPlace: true}
		if more, percent := grew(scopes[sc.Key]); more > 0 && percent >= j.threshold {
			f.Count, f.Value, f.about = sc.Count, percent, "scopes"
			f.What = fmt.Sprintf("%s of name %s, %s more than %s ago", Count(sc.Count, "open scope"), ScopeName(path), Thousands(more), words(over))
		} else if more, percent := grew(threads[sc.Key]); more > 0 && percent >= j.threshold {
			f.Count, f.Value = sc.Own, percent
			f.What = fmt.Sprintf("scope %s has %s, %s more than %s ago", ScopeName(path), j.now.Process.Threads(sc.Own), Thousands(more), words(over))
		} else {
			continue
		}
		if g := s.grownGroup(first, i); g != nil {
			f.Place, f.Examples, f.GroupKey = placeOfStack(s.Stacks, g.Stack), parties(path, g.Examples), g.Key
			f.Since = max(f.Since, g.Wait.Max)
		}
		all = append(all, f)
	}
	return all
}

// findLeaks finds groups of threads that wait without a time limit, to which others come all the time, and which none leaves: from the oldest look on that
// has enough of the group.
func findLeaks(j *judging) []Finding {
	s := j.now.Snapshot
	looks := j.within(needThreads)
	var all []Finding
	for i := range s.Groups {
		g := &s.Groups[i]
		if g.stays && g.Wait.Unknown > 0 && j.now.Process.Kind != "" {
			if f, ok := j.gathers(g, looks); ok {
				all = append(all, f)
			}
			continue
		}
		if g.arrivals == nil || int64(g.arrivals.lately) < j.threshold || !g.arrivals.evenly() {
			continue
		}
		was := earlierArrivals(looks[:len(looks)-1], g.Key)
		if was == nil {
			continue
		}
		came, left := g.arrivals.since(was)
		if left*hardlyAny > came {
			continue
		}
		f := Finding{Count: g.Count, Value: int64(g.arrivals.lately), Since: g.Wait.Max}
		none := "none"
		if left > 0 {
			none = "hardly any"
		}
		f.What = fmt.Sprintf("%s without a time limit at a place to which others come and which %s leaves: %s came in the last %s",
			j.now.Process.Threads(g.Count)+verb(g.Count, " waits", " wait"), none, Thousands(g.arrivals.lately), words(arrivalSteps*arrivalStep))
		f.in(s, g)
		f.began(s, g)
		f.Evidence = append(f.Evidence, fmt.Sprintf("%s came and %s left since the look before; half have waited for %s and more", Thousands(came), Thousands(left), words(g.Wait.Median)))
		if g.Scope == 0 {
			f.Evidence = append(f.Evidence, "they were started outside of any scope")
		}
		all = append(all, f)
	}
	return all
}

// gathers finds a leak where nobody knows since when threads wait: there are more of the group from look to look,
// for as long as arrivals are looked at, and of those that were there hardly any has left.
func (j *judging) gathers(g *Group, looks []*Look) (f Finding, ok bool) {
	s := j.now.Snapshot
	counts := make([]int, 0, len(looks))
	old := -1 // the look whose threads are told from others
	for i, l := range looks {
		n := 0
		if at := slices.IndexFunc(l.Snapshot.Groups, func(was Group) bool { return was.Key == g.Key }); at >= 0 {
			n = l.Snapshot.Groups[at].Count
		}
		if i > 0 && n <= counts[i-1] {
			return f, false
		}
		if counts = append(counts, n); l != j.now && s.since > 0 && l.Snapshot.highest == s.since {
			old = i
		}
	}
	const most = arrivalSteps * arrivalStep
	over := j.now.Taken.Sub(looks[0].Taken)
	came, left, evidence := counts[len(counts)-1]-counts[0], 0, "whether some of those that were there have left is not known: a profile has no ids"
	if old >= 0 {
		came, left = g.Count-g.old, max(counts[old]-g.old, 0)
		evidence = fmt.Sprintf("%s came and %s left in %s", Thousands(came), Thousands(left), words(j.now.Taken.Sub(looks[old].Taken)))
	}
	if over < most-arrivalStep || len(looks) < 4 && old != 0 || int64(came) < j.threshold || left*hardlyAny > came {
		return f, false
	}
	f = Finding{Count: g.Count, Value: int64(came), Since: over}
	f.What = fmt.Sprintf("%s without a time limit at a place to which others come all the time: %s more in %s",
		j.now.Process.Threads(g.Count)+verb(g.Count, " waits", " wait"), Thousands(counts[len(counts)-1]-counts[0]), words(over))
	f.in(s, g)
	f.began(s, g)
	f.Evidence = append(f.Evidence, evidence)
	return f, true
}

// began adds to the evidence where the threads of a group begin.
func (f *Finding) began(s *Snapshot, g *Group) {
	own := s.outermost(g.Stack)
	switch {
	case own == nil || f.Place != nil && own.Frame == f.Place.Frame:
	case strings.HasPrefix(own.Func, "created by "):
		f.Evidence = append(f.Evidence, "each of them was "+placeWords(own))
	default:
		f.Evidence = append(f.Evidence, "each of them began in "+placeWords(own))
	}
}

// hardlyAny is how many must have come for one that left: threads of which there are many are counted about.
const hardlyAny = 10

// earlierArrivals returns those of a group in the oldest look that has them, nil if none does.
func earlierArrivals(looks []*Look, key string) *arrivals {
	for _, l := range looks {
		groups := l.Snapshot.Groups
		if i := slices.IndexFunc(groups, func(g Group) bool { return g.arrivals != nil && g.Key == key }); i >= 0 {
			return groups[i].arrivals
		}
	}
	return nil
}

// outermost returns the program's own function that a stack begins in, nil if it is not known.
func (s *Snapshot) outermost(stack int) *Place {
	if stack < 0 || stack >= len(s.Stacks) || s.Stacks[stack].Truncated {
		return nil
	}
	for _, f := range slices.Backward(s.Stacks[stack].Frames) {
		if !f.Internal {
			return &Place{Frame: f}
		}
	}
	return nil
}

// grownGroup returns the group of a scope that has grown most since before, nil if none has; of all scopes with -1.
func (s *Snapshot) grownGroup(before *Snapshot, scope int) *Group {
	was := map[string]int{}
	for i := range before.Groups {
		was[before.Groups[i].Key] += before.Groups[i].Count
	}
	var most *Group
	grown := 0
	for i := range s.Groups {
		if g := &s.Groups[i]; (scope < 0 || g.Scope == scope) && g.Count-was[g.Key] > grown {
			most, grown = g, g.Count-was[g.Key]
		}
	}
	return most
}

const (
	longParked   = time.Second // a shorter wait is never far too long
	manySiblings = 8           // fewer threads have no usual wait
)

// siblings are the groups of a scope that wait at one place for one reason.
type siblings struct {
	scope  int
	place  *Place
	groups []*Group
}

// waitSites returns the groups that wait, by scope, reason and place. How long sleeps and waits for what is outside of the process take is up to others.
func (s *Snapshot) waitSites() []*siblings {
	type key struct {
		scope  int
		reason flight.Reason
		at     Frame
	}
	known := map[key]*siblings{}
	var all []*siblings
	for i := range s.Groups {
		g := &s.Groups[i]
		switch g.State {
		case flight.StateParked, flight.StateTimedParked, flight.StateBlocked, flight.StateWaiting, flight.StatePinned:
		default:
			continue
		}
		place := placeOfStack(s.Stacks, g.Stack)
		if g.Reason == flight.ReasonSleep || g.Reason.Outside() || place == nil {
			continue
		}
		k := key{g.Scope, g.Reason, place.Frame}
		if known[k] == nil {
			known[k] = &siblings{g.Scope, place, nil}
			all = append(all, known[k])
		}
		known[k].groups = append(known[k].groups, g)
	}
	return all
}

// findOldest finds who has been parked for longest at each place. Who waits for the end of others waits as long as those take.
func findOldest(j *judging) []Finding {
	s := j.now.Snapshot
	var all []Finding
	for _, x := range s.waitSites() {
		var oldest *Group
		n, reached := 0, 0
		for _, g := range x.groups {
			if g.Reason == flight.ReasonJoin || g.Reason == flight.ReasonScopeJoin || g.State == flight.StatePinned {
				continue
			}
			n += g.Count
			for _, e := range g.Examples {
				if int64(e.Wait) >= j.threshold {
					reached++
				}
			}
			if oldest == nil || g.Wait.Max > oldest.Wait.Max {
				oldest = g
			}
		}
		if oldest == nil || int64(oldest.Wait.Max) < j.threshold {
			continue
		}
		f := Finding{Count: max(reached, 1), Value: int64(oldest.Wait.Max), Since: oldest.Wait.Max, Place: x.place}
		f.in(s, oldest)
		f.What = fmt.Sprintf("the oldest of %s of %s at this place has been %s for %s", j.now.Process.Threads(n), ScopeName(f.Scope), oldest.State, words(oldest.Wait.Max))
		if n == 1 {
			f.What = fmt.Sprintf("a thread of %s has been %s for %s", ScopeName(f.Scope), oldest.State, words(oldest.Wait.Max))
		}
		if oldest.Blocker != "" {
			f.What += ", and waits for " + oldest.Blocker
		}
		f.about = oldest.Reason.String()
		all = append(all, f)
	}
	return all
}

// findParkedLonger finds threads that wait far longer than their siblings at the same place.
func findParkedLonger(j *judging) []Finding {
	var all []Finding
	for _, x := range j.now.Snapshot.waitSites() {
		if f, ok := x.longest(j.now.Snapshot, j.threshold); ok {
			all = append(all, f)
		}
	}
	return all
}

// longest tells of those that wait far longer than usual, if there are any.
func (x *siblings) longest(s *Snapshot, threshold int64) (Finding, bool) {
	count, usual, most := x.usual()
	limit := max(time.Duration(threshold)*usual, longParked)
	if count < manySiblings || most < limit {
		return Finding{}, false
	}
	var long []Example
	for _, g := range x.groups {
		for _, e := range g.Examples {
			if e.Wait >= limit {
				long = append(long, e)
			}
		}
	}
	slices.SortStableFunc(long, func(a, b Example) int { return cmp.Compare(b.Wait, a.Wait) })
	path := s.Path(x.scope)[1:]
	n := max(len(long), 1)
	f := Finding{Count: n, Value: int64(most / max(usual, 1)), Scope: path, Place: x.place, Since: most, Examples: parties(path, long[:min(len(long), maxExamples)])}
	f.What = fmt.Sprintf("%s of %s %s for up to %s at a place where %s wait for %s in the middle",
		Count(n, "thread"), ScopeName(path), verb(n, "has waited", "have waited"), words(most), Thousands(count), words(usual))
	if n >= maxExamples && n < count {
		f.What = "at least " + f.What
	}
	f.GroupKey = slices.MaxFunc(x.groups, func(a, b *Group) int { return cmp.Compare(a.Wait.Max, b.Wait.Max) }).Key
	f.about = x.groups[0].Reason.String()
	return f, true
}

// usual returns how many there are, how long half of them have waited at most, about, and how long one has at most.
func (x *siblings) usual() (count int, middle, most time.Duration) {
	slices.SortStableFunc(x.groups, func(a, b *Group) int { return cmp.Compare(a.Wait.Median, b.Wait.Median) })
	for _, g := range x.groups {
		count += g.Count
		most = max(most, g.Wait.Max)
	}
	below := 0
	for _, g := range x.groups {
		if below += g.Count; 2*below >= count {
			return count, g.Wait.Median, most
		}
	}
	return count, 0, most
}

// findUnscoped finds threads of the root scope.
func findUnscoped(j *judging) []Finding {
	s := j.now.Snapshot
	if len(s.Scopes) == 0 || int64(s.Scopes[0].Own) < j.threshold {
		return nil
	}
	f := Finding{Count: s.Scopes[0].Own, Value: int64(s.Scopes[0].Own), ScopeKey: s.Scopes[0].Key, anywhere: true}
	f.What = j.now.Process.Threads(f.Count) + " " + verb(f.Count, "was", "were") + " started outside of any scope"
	for i := range s.Groups {
		if g := &s.Groups[i]; g.Scope == 0 {
			if f.Since = max(f.Since, g.Wait.Max); f.GroupKey == "" {
				f.in(s, g)
			}
		}
	}
	return []Finding{f}
}
