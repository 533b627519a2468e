package dump

import (
	"fmt"
	"slices"
	"strings"

	"github.com/vtscope/vtscope/runtime/flight"
)

// findDeadlocks finds threads that wait for each other.
func findDeadlocks(j *judging) []Finding {
	w := j.now.Waits
	var all []Finding
	for i := range w.Deadlocks {
		d := &w.Deadlocks[i]
		n := d.Threads + d.Goroutines
		if int64(n) < j.threshold || len(d.Members) == 0 {
			continue
		}
		f := Finding{Count: n, Value: int64(n), Since: d.For, What: Count(d.Threads, "thread")}
		if d.Goroutines > 0 {
			f.What += " and " + Count(d.Goroutines, "goroutine")
		}
		f.What += " " + verb(n, "waits for itself", "wait for each other") + ", for " + words(d.For)
		if d.Victims > 0 {
			f.What += "; " + Count(d.Victims, "other") + " cannot go on because of " + verb(n, "it", "them")
		}
		// Of a circle any member may come first. The key must not depend on that.
		things := make([]string, len(d.Members))
		for k := range d.Members {
			m := &d.Members[k]
			things[k] = thingWords(&m.Keeps)
			if len(f.Examples) < maxExamples {
				f.Examples = append(f.Examples, m.Party)
				f.Evidence = append(f.Evidence, partyWords(&m.Party)+" wants "+thingWords(&m.Wants))
			}
		}
		slices.Sort(things)
		f.about = strings.Join(things, " ")
		first := &d.Members[0]
		f.Scope, f.Place = first.Scope, placeOfStack(w.Stacks, first.Stack)
		if g := groupLike(j, first.Scope, w.Stacks, first.Stack); g != nil {
			f.GroupKey = g.Key
		}
		all = append(all, f)
	}
	return all
}

// groupLike returns the largest group of a scope with a stack of another table, nil if there is none.
func groupLike(j *judging, scope []string, stacks []Stack, stack int) *Group {
	s, at := j.now.Snapshot, j.scopeAt(scope)
	if stack < 0 || stack >= len(stacks) || at < 0 {
		return nil
	}
	for i := range s.Groups {
		if g := &s.Groups[i]; g.Scope == at && g.Stack >= 0 && s.Stacks[g.Stack].Fingerprint == stacks[stack].Fingerprint {
			return g
		}
	}
	return nil
}

// findHoldersGone finds groups that wait for what a thread holds that has ended. What was not so before, or what nobody has waited for all the time since, may be a
// lock that goes from one to the next: who has overtaken others is told as the holder only when one of those has run.
func findHoldersGone(j *judging) []Finding {
	w, before := j.now.Waits, j.before
	var all []Finding
	for i := range w.Groups {
		g := &w.Groups[i]
		n := g.Count - g.Timed
		if !g.Gone || int64(n) < j.threshold || before != nil && (g.Longest < j.over() || !slices.ContainsFunc(before.Waits.Groups, g.sameHolders)) {
			continue
		}
		f := Finding{Count: n, Value: int64(n), Scope: g.Scope, Since: g.Longest, Place: placeOfStack(w.Stacks, g.Stack), Examples: []Party{g.Example}}
		f.about = thingWords(&g.For)
		if at := groupLike(j, g.Scope, w.Stacks, g.Stack); at != nil {
			f.GroupKey = at.Key
		}
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

// findOrphans finds scopes whose owners have ended, by name.
func findOrphans(j *judging) []Finding {
	now, before := j.now, j.before
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
			all = append(all, Finding{Scope: o.Scope, Since: o.Open, about: name})
		}
		f := &all[i]
		f.Count++
		f.Value++
		f.What = fmt.Sprintf("%s of name %s %s open though the %s ended", Count(f.Count, "scope"), name, verb(f.Count, "is", "are"), verb(f.Count, "owner has", "owners have"))
		if len(f.Examples) < maxExamples {
			f.Examples = append(f.Examples, Party{Thread: o.Owner})
		}
	}
	return slices.DeleteFunc(all, func(f Finding) bool { return f.Value < j.threshold })
}
