package dump

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

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

// unjudgedDeadlocks says of which waits it is not known whether they are part of a deadlock.
func unjudgedDeadlocks(l *Look) string {
	if n := unjudgedCount(l.Waits.Unjudged); n > 0 {
		return Count(n, "wait") + " cannot be judged (" + unjudgedWords(l.Waits.Unjudged) + "), " + Thousands(l.Waits.Judged) + " can"
	}
	return ""
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

// manyHeldUp is how many threads wait at least for what is held for long: a holder that keeps a few waiting may do what it is for.
const manyHeldUp = 10

// findLongHeld finds what threads wait for, and nobody gives back. What is part of a deadlock, or held by threads that have ended, is told as that.
func findLongHeld(j *judging) []Finding {
	w := j.now.Waits
	type thing struct{ kind, id, name, made string }
	waits := map[thing][]*WaitGroup{} // of all scopes
	var order []thing
	for i := range w.Groups {
		g := &w.Groups[i]
		if g.Deadlock != 0 || g.Gone || len(g.Holders) == 0 || !g.For.heldByOthers() {
			continue
		}
		k := thing{g.For.Kind, g.For.ID, g.For.Name, placeWords(g.For.Made)}
		if waits[k] == nil {
			order = append(order, k)
		}
		waits[k] = append(waits[k], g)
	}
	all := j.heldByWhom()
	for _, k := range order {
		if f, ok := heldUp(w.Stacks, waits[k]); ok && f.Value >= j.threshold {
			if at := groupLike(j, f.Scope, w.Stacks, f.stack); at != nil {
				f.GroupKey = at.Key
			}
			f.about = strings.Join([]string{k.kind, k.id, k.name, k.made}, " ")
			all = append(all, f.Finding)
		}
	}
	return all
}

// heldByWhom finds locks of goroutines that are not given back. Who holds them nobody knows: the one that waits longest has waited all the time.
func (j *judging) heldByWhom() (all []Finding) {
	w := j.now.Waits
	if j.now.recorded {
		return nil
	}
	for i := range w.Groups {
		g := &w.Groups[i]
		if g.For.Count != 1 || g.For.Kind != flight.BlockerKinds[flight.BlockedByMutex].Name && g.For.Kind != flight.BlockerKinds[flight.BlockedByRWMutex].Name {
			continue
		}
		f := Finding{Count: g.Count, Since: g.Longest, anywhere: true, Scope: g.Scope, Place: placeOfStack(w.Stacks, g.Stack), Examples: []Party{g.Example}}
		f.about = strings.Join([]string{g.For.Kind, g.For.ID}, " ")
		if f.Value = int64(f.Since); g.Count < manyHeldUp || f.Value < j.threshold {
			continue
		}
		f.What = j.now.Process.Threads(g.Count) + " wait for " + thingWords(&g.For) + ", the longest for " + words(g.Longest)
		f.Evidence = []string{"Go does not record who holds it"}
		if at := groupLike(j, f.Scope, w.Stacks, g.Stack); at != nil {
			f.GroupKey = at.Key
		}
		all = append(all, f)
	}
	return all
}

// heldByOthers reports whether x is kept by somebody who can give it back: threads and scopes are waited for until they end, and carriers are another check's.
func (x *Thing) heldByOthers() bool {
	return !slices.Contains([]string{
		flight.BlockerKinds[flight.BlockedByThread].Name, flight.BlockerKinds[flight.BlockedByScope].Name, flight.BlockerKinds[flight.BlockedByChild].Name, "carriers",
	}, x.Kind)
}

// A heldFinding is a finding that is about the stack of a holder.
type heldFinding struct {
	Finding
	stack int // of [Waits.Stacks]
}

// heldUp makes a finding of the groups that wait for one thing, or for several alike; false if too few wait. It is about the holder, since all others wait for that one.
func heldUp(stacks []Stack, groups []*WaitGroup) (heldFinding, bool) {
	first := groups[0] // the largest
	var f heldFinding
	things := 1
	longest := time.Duration(0)
	for _, g := range groups {
		f.Count += g.Count
		things = max(things, g.For.Count)
		longest = max(longest, g.Longest)
	}
	if f.Count/things < manyHeldUp {
		return f, false
	}
	keepers := slices.Clone(first.Holders)
	slices.SortStableFunc(keepers, func(a, b Keeper) int { return cmp.Compare(b.keptFor(), a.keptFor()) })
	// A few of many permits may be kept for long, and the others go from hand to hand.
	middle := keepers[len(keepers)/2].keptFor()
	f.Since = min(longest, middle)
	f.Value, f.anywhere = int64(f.Since), true
	f.What = Count(f.Count, "thread") + " wait for " + thingWords(&first.For) + ", which "
	held := max(first.Held, len(keepers))
	if held == 1 {
		f.What += partyWords(&keepers[0].Party) + " has held for " + words(middle)
	} else {
		f.What += Thousands(held) + " hold, the one in the middle for " + words(middle)
	}
	f.Scope, f.stack = keepers[0].Scope, keepers[0].Stack
	if f.Place = placeOfStack(stacks, f.stack); f.Place == nil {
		f.Scope, f.stack = first.Scope, first.Stack
		f.Place = placeOfStack(stacks, f.stack)
	}
	for i := range keepers {
		k := &keepers[i]
		if len(f.Examples) < maxExamples {
			f.Examples = append(f.Examples, k.Party)
		}
		if i < mostKeepersTold {
			told := keeperWords(k)
			if at := placeOfStack(stacks, k.Stack); at != nil && (f.Place == nil || at.Frame != f.Place.Frame) {
				told += ", in " + placeWords(at)
			}
			f.Evidence = append(f.Evidence, told)
		}
	}
	if n := held - min(len(keepers), mostKeepersTold); n > 0 {
		f.Evidence = append(f.Evidence, Count(n, "other")+" "+verb(n, "holds", "hold")+" "+verb(things, "it", "one")+" too")
	}
	waits := "the longest waits for " + words(longest)
	if at := placeOfStack(stacks, first.Stack); at != nil {
		waits += ", in " + placeWords(at)
	}
	f.Evidence = append(f.Evidence, waits)
	return f, true
}

// mostKeepersTold is how many holders a finding tells of.
const mostKeepersTold = 3

// keptFor returns how long k has held it at least: who does not run gives nothing back.
func (k *Keeper) keptFor() time.Duration {
	if k.State == "" || k.State == flight.StateMounted.String() {
		return k.Held
	}
	return max(k.Held, k.For)
}

// keeperWords writes `#12 "left" of jobs has held it for 31 s, and is timed-parked`.
func keeperWords(k *Keeper) string {
	s := partyWords(&k.Party)
	if k.Thread != 0 {
		s += " of " + ScopeName(k.Scope)
	}
	if d := k.keptFor(); d > 0 {
		s += " has held it for " + words(d)
	} else {
		s += " holds it"
	}
	if k.State != "" {
		s += ", and is " + k.State
	}
	return s
}

// convoySteps is in how many steps of the last minute a lock was held so at least: once, a program that begins or a machine that stands still does that too.
const convoySteps = 2

// findConvoys finds places where a lock was released in the last minute, again and again, that had been held for long while many waited for it. What is held still,
// findLongHeld tells.
func findConvoys(j *judging) []Finding {
	var all []Finding
	for i := range j.now.recent {
		s := &j.now.recent[i]
		if s.kind != flight.RecentLock {
			continue
		}
		at, steps := -1, 0
		for k := range s.longest {
			if h := &s.longest[k]; h.waiting >= manyHeldUp && int64(h.held) >= j.threshold {
				if steps++; at < 0 {
					at = k
				}
			}
		}
		if steps < convoySteps {
			continue
		}
		h := &s.longest[at]
		f := Finding{Count: h.waiting, Value: int64(h.held), Since: s.since, Place: s.place, about: strings.Join([]string{h.thing.Kind, h.thing.Name, placeWords(s.place)}, " "), anywhere: true}
		holder := "a goroutine"
		if h.holder.Thread != 0 {
			holder = partyWords(&h.holder)
			f.Scope, f.Examples = h.holder.Scope, []Party{h.holder}
		}
		f.What = fmt.Sprintf("%s waited for %s while %s held it for %s", Count(h.waiting, "thread"), thingWords(&h.thing), holder, words(h.held))
		if s.count > 1 {
			f.Evidence = append(f.Evidence, fmt.Sprintf("locks that others waited for were released there %s in the last minute, after %s in all", Count(s.count, "time"), words(s.total)))
		}
		if called := pathWords(s.path); called != "" {
			f.Evidence = append(f.Evidence, called)
		}
		if g := j.groupWith(h.holder.Thread); g != nil {
			f.GroupKey, f.ScopeKey = g.Key, j.now.Snapshot.Scopes[g.Scope].Key
		}
		all = append(all, f)
	}
	return all
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
