package dump

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/vtscope/vtscope/runtime/flight"
)

// findHoldersGone finds groups that wait for what a thread holds that has ended. What was not so before may be a hand-over that was read half.
func findHoldersGone(now, before *Look, threshold int) []Finding {
	w := now.Waits
	var all []Finding
	for i := range w.Groups {
		g := &w.Groups[i]
		n := g.Count - g.Timed
		if !g.Gone || n < threshold || before != nil && !slices.ContainsFunc(before.Waits.Groups, g.sameHolders) {
			continue
		}
		f := Finding{Count: n, Scope: g.Scope, Since: g.Longest, Place: placeOfStack(w.Stacks, g.Stack), Examples: []Party{g.Example}}
		var gone flight.ThreadID
		for _, k := range g.Holders {
			if k.State == endedState {
				gone = k.Thread
				break
			}
		}
		f.What = fmt.Sprintf("%s of %s %s without a time limit for %s, whose holder #%d has ended",
			Count(n, "thread"), ScopeName(g.Scope), verb(n, "waits", "wait"), thingWords(&g.For), gone)
		all = append(all, f)
	}
	return all
}

// sameHolders reports whether b is of the same thing, held by the same.
func (g *WaitGroup) sameHolders(b WaitGroup) bool {
	return b.Gone && b.For.Kind == g.For.Kind && b.For.ID == g.For.ID && b.For.Name == g.For.Name && len(b.Holders) > 0 &&
		b.Holders[0].Thread == g.Holders[0].Thread
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

// findGrowth finds scopes with more threads than before, and names of which there are more scopes.
func findGrowth(now, before *Look, threshold int) []Finding {
	s, over := now.Snapshot, now.Snapshot.Taken.Sub(before.Snapshot.Taken)
	was := map[string]*Scope{}
	for i := range before.Snapshot.Scopes {
		was[before.Snapshot.Scopes[i].Key] = &before.Snapshot.Scopes[i]
	}
	var all []Finding
	for i := range s.Scopes {
		sc := &s.Scopes[i]
		old := was[sc.Key]
		if old == nil {
			continue
		}
		path := s.Path(i)[1:]
		f := Finding{Scope: path, Since: over}
		switch threads, scopes := sc.Own-old.Own, sc.Count-old.Count; {
		case scopes >= threshold && old.Count >= threshold:
			f.Count = sc.Count
			f.What = fmt.Sprintf("%s of name %s, %s more than %s ago", Count(sc.Count, "open scope"), ScopeName(path), Thousands(scopes), words(over))
		case threads >= threshold && old.Own >= threshold:
			f.Count = sc.Own
			f.What = fmt.Sprintf("scope %s has %s, %s more than %s ago", ScopeName(path), Count(sc.Own, "thread"), Thousands(threads), words(over))
		default:
			continue
		}
		if g := s.grownGroup(before.Snapshot, i); g != nil {
			f.Place, f.Examples = placeOfStack(s.Stacks, g.Stack), parties(path, g.Examples)
			f.Since = max(f.Since, g.Wait.Max)
		}
		all = append(all, f)
	}
	return all
}

// grownGroup returns the group of a scope that has grown most since before, nil if none has.
func (s *Snapshot) grownGroup(before *Snapshot, scope int) *Group {
	was := map[string]int{}
	for i := range before.Groups {
		was[before.Groups[i].Key] += before.Groups[i].Count
	}
	var most *Group
	grown := 0
	for i := range s.Groups {
		if g := &s.Groups[i]; g.Scope == scope && g.Count-was[g.Key] > grown {
			most, grown = g, g.Count-was[g.Key]
		}
	}
	return most
}

// findOrphans finds scopes whose owners have ended, by name.
func findOrphans(now, before *Look, threshold int) []Finding {
	var all []Finding
	at := map[string]int{}
	for _, o := range now.Waits.Orphans {
		if before != nil && !slices.ContainsFunc(before.Waits.Orphans, func(b Orphan) bool { return b.ID == o.ID && b.Owner == o.Owner }) {
			continue // its owner may be about to have a record
		}
		name := ScopeName(o.Scope)
		i, ok := at[name]
		if !ok {
			i = len(all)
			at[name] = i
			all = append(all, Finding{Scope: o.Scope, Since: o.Open})
		}
		f := &all[i]
		f.Count++
		f.What = fmt.Sprintf("%s of name %s %s open though the %s ended", Count(f.Count, "scope"), name, verb(f.Count, "is", "are"), verb(f.Count, "owner has", "owners have"))
		if len(f.Examples) < maxExamples {
			f.Examples = append(f.Examples, Party{Thread: o.Owner})
		}
	}
	return slices.DeleteFunc(all, func(f Finding) bool { return f.Count < threshold })
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

// findParkedLonger finds threads that wait far longer than their siblings at the same place. How long sleeps and waits for sockets take is up to
// others.
func findParkedLonger(now, _ *Look, threshold int) []Finding {
	type key struct {
		scope  int
		reason flight.Reason
		at     Frame
	}
	s := now.Snapshot
	known := map[key]*siblings{}
	var order []*siblings
	for i := range s.Groups {
		g := &s.Groups[i]
		switch g.State {
		case flight.StateParked, flight.StateTimedParked, flight.StateBlocked, flight.StateWaiting, flight.StatePinned:
		default:
			continue
		}
		place := placeOfStack(s.Stacks, g.Stack)
		if g.Reason == flight.ReasonSleep || g.Reason == flight.ReasonIO || place == nil {
			continue
		}
		k := key{g.Scope, g.Reason, place.Frame}
		if known[k] == nil {
			known[k] = &siblings{g.Scope, place, nil}
			order = append(order, known[k])
		}
		known[k].groups = append(known[k].groups, g)
	}
	var all []Finding
	for _, x := range order {
		if f, ok := x.longest(s, threshold); ok {
			all = append(all, f)
		}
	}
	return all
}

// longest tells of those that wait far longer than usual, if there are any.
func (x *siblings) longest(s *Snapshot, threshold int) (Finding, bool) {
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
	f := Finding{Count: n, Scope: path, Place: x.place, Since: most, Examples: parties(path, long[:min(len(long), maxExamples)])}
	f.What = fmt.Sprintf("%s of %s %s for up to %s at a place where %s wait for %s in the middle",
		Count(n, "thread"), ScopeName(path), verb(n, "has waited", "have waited"), words(most), Thousands(count), words(usual))
	if n >= maxExamples && n < count {
		f.What = "at least " + f.What
	}
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
func findUnscoped(now, _ *Look, threshold int) []Finding {
	s := now.Snapshot
	if len(s.Scopes) == 0 || s.Scopes[0].Own < threshold {
		return nil
	}
	f := Finding{Count: s.Scopes[0].Own}
	f.What = Count(f.Count, "thread") + " " + verb(f.Count, "was", "were") + " started outside of any scope"
	for i := range s.Groups {
		if g := &s.Groups[i]; g.Scope == 0 {
			if f.Since = max(f.Since, g.Wait.Max); f.Examples == nil {
				f.Place, f.Examples = placeOfStack(s.Stacks, g.Stack), parties(nil, g.Examples)
			}
		}
	}
	return []Finding{f}
}

func parties(scope []string, all []Example) []Party {
	var p []Party
	for _, e := range all {
		p = append(p, Party{Thread: e.ID, Name: e.Name, Scope: scope})
	}
	return p
}

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
