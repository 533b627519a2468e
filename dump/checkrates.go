package dump

import (
	"fmt"
	"strings"

	"github.com/vtscope/vtscope/runtime/flight"
)

// spawnsFrom is how many threads more there must be, however short the time: the looks of a second may be a moment apart.
const spawnsFrom = 100

// findSpawnStorm finds that threads start faster than they end.
func findSpawnStorm(j *judging) []Finding {
	now, was, over := &j.now.Counters, &j.before.Counters, j.over()
	more := now.Threads - was.Threads
	net := perSecond(int64(more), over)
	if net < j.threshold || more < spawnsFrom {
		return nil
	}
	rate := func(k flight.Kind) string {
		return Thousands(int(perSecond(int64(now.Kinds[k]-was.Kinds[k]), over)))
	}
	f := Finding{Count: now.Threads, Value: net, Since: over, anywhere: true}
	f.What = fmt.Sprintf("%s threads start each second and %s end: %s more than %s ago", rate(flight.EventThreadStart), rate(flight.EventThreadEnd), Thousands(more), words(over))
	s := j.now.Snapshot
	if g := s.grownGroup(j.before.snapshot(), -1); g != nil {
		f.in(s, g)
	}
	return []Finding{f}
}

// snapshot returns the look's, or an empty one.
func (l *Look) snapshot() *Snapshot {
	if l.Snapshot == nil {
		return &Snapshot{}
	}
	return l.Snapshot
}

// lateShare is how many sleeps weigh as one timer that is late.
const lateShare = 100

// findTimerStorm finds that threads sleep very often, or that many timers are late.
func findTimerStorm(j *judging) []Finding {
	now, was, over := &j.now.Counters, &j.before.Counters, j.over()
	sleeps := perSecond(int64(now.Parks[flight.ReasonSleep]-was.Parks[flight.ReasonSleep]), over)
	late := perSecond(int64(now.Kinds[flight.EventTimerLate]-was.Kinds[flight.EventTimerLate]), over)
	value := max(sleeps, lateShare*late)
	if value < j.threshold {
		return nil
	}
	f := Finding{Value: value, Since: over, anywhere: true}
	s := j.now.Snapshot
	for i := range s.Groups {
		g := &s.Groups[i]
		if g.State != flight.StateTimedParked {
			continue
		}
		if f.Count += g.Count; f.GroupKey == "" {
			f.in(s, g)
		}
	}
	f.What = fmt.Sprintf("%s times a second a thread goes to sleep, and %s timers a second are late; %s or wait with a time limit now",
		Thousands(int(sleeps)), Thousands(int(late)), j.now.Process.Threads(f.Count)+verb(f.Count, " sleeps", " sleep"))
	return []Finding{f}
}

// findQueues finds queues that grow: that of the carriers of a scheduler, and those of scopes with a limit.
func findQueues(j *judging) []Finding {
	looks := j.within(needThreads | needSchedulers)
	over := j.now.Taken.Sub(looks[0].Taken)
	long := func(counts []int) (more int, ok bool) {
		if len(counts) < len(looks) || len(looks) < 2 || !grown(counts) {
			return 0, false
		}
		n := counts[len(counts)-1]
		more = n - counts[0]
		return more, int64(n) >= j.threshold && more >= max(n/10, 1)
	}
	s := j.now.Snapshot
	ready, queued := map[flight.SchedulerID][]int{}, map[string][]int{}
	for _, l := range looks {
		for i := range l.Schedulers.Schedulers {
			sc := &l.Schedulers.Schedulers[i]
			ready[sc.ID] = append(ready[sc.ID], sc.Threads[flight.StateRunnable])
		}
		for i := range l.Snapshot.Scopes {
			sc := &l.Snapshot.Scopes[i]
			queued[sc.Key] = append(queued[sc.Key], sc.Queued)
		}
	}
	var all []Finding
	for i := range j.now.Schedulers.Schedulers {
		sc := &j.now.Schedulers.Schedulers[i]
		more, ok := long(ready[sc.ID])
		if !ok {
			continue
		}
		n := sc.Threads[flight.StateRunnable]
		f := Finding{Count: n, Value: int64(n), Since: over, about: sc.Name, anywhere: true}
		f.What = fmt.Sprintf("scheduler %s: %s for a carrier, %s more than %s ago", schedulerLabel(sc), j.now.Process.Threads(n)+verb(n, " waits", " wait"), Thousands(more), words(over))
		if g := s.largest(func(g *Group) bool { return g.State == flight.StateRunnable }); g != nil {
			f.in(s, g)
			f.Since = max(f.Since, g.Wait.Max)
		}
		all = append(all, f)
	}
	for i := range s.Scopes {
		sc := &s.Scopes[i]
		more, ok := long(queued[sc.Key])
		if !ok {
			continue
		}
		path := s.Path(i)[1:]
		f := Finding{Count: sc.Queued, Value: int64(sc.Queued), Since: over, Scope: path, ScopeKey: sc.Key, about: "scope"}
		f.What = fmt.Sprintf("scope %s: %s for others to end before they begin, %s more than %s ago", ScopeName(path),
			j.now.Process.Threads(sc.Queued)+verb(sc.Queued, " waits", " wait"), Thousands(more), words(over))
		if sc.Limit > 0 {
			f.Evidence = []string{fmt.Sprintf("%s of it may execute at a time", j.now.Process.Threads(sc.Limit))}
		}
		if g := s.largest(func(g *Group) bool { return g.Scope == i }); g != nil {
			f.GroupKey, f.Examples = g.Key, parties(path, g.Examples)
		}
		all = append(all, f)
	}
	return all
}

// largest returns the first and largest group that is so, nil if none is.
func (s *Snapshot) largest(is func(g *Group) bool) *Group {
	for i := range s.Groups {
		if is(&s.Groups[i]) {
			return &s.Groups[i]
		}
	}
	return nil
}

// findDrops finds what the recorder lost. Events that are lost belong to the time since the earlier look; what found no room in a table is missing ever since.
func findDrops(j *judging) []Finding {
	l := j.now.Counters.Lost
	events := l.Events
	if j.before != nil && events >= j.before.Counters.Lost.Events {
		events -= j.before.Counters.Lost.Events
	}
	var told []string
	sum := uint64(0)
	tell := func(n uint64, noun, how string) {
		if n > 0 {
			sum += n
			told = append(told, Count(n, noun)+" "+how)
		}
	}
	tell(events, "event", "dropped")
	for _, x := range []struct {
		n    uint64
		noun string
	}{
		{l.Threads, "thread"}, {l.Scopes, "scope"}, {l.Stacks, "stack"}, {l.Symbols, "symbol"}, {l.Strings, "string"}, {l.Names, "name"},
		{l.Rings, "ring"}, {l.Blockers, "blocker"}, {l.Waits, "wait"},
	} {
		tell(x.n, x.noun, "without a record")
	}
	if sum == 0 || int64(sum) < j.threshold {
		return nil
	}
	f := Finding{Count: int(sum), Value: int64(sum), What: "the recorder lost " + strings.Join(told, ", ")}
	if events > 0 && j.before != nil {
		f.What += ": the events in " + words(j.over())
	}
	return []Finding{f}
}
