package dump

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/vtscope/vtscope/runtime/flight"
)

// toldLately is how old the figures of a scheduler may be that is awake: it tells them each second.
const toldLately = 2500 * time.Millisecond

// findCarriersHeld finds schedulers in which nobody is mounted though threads are queued. What the scheduler tells of that is a little behind; that all
// carriers are held is seen at once.
func findCarriersHeld(j *judging) []Finding {
	var all []Finding
	for i := range j.now.Schedulers.Schedulers {
		s := &j.now.Schedulers.Schedulers[i]
		queued := s.Threads[flight.StateRunnable]
		var longest *Carrier
		held, since := 0, time.Duration(0)
		for k := range s.Carriers {
			c := &s.Carriers[k]
			if c.State != flight.CarrierHeld {
				continue
			}
			if held++; held == 1 || c.For < since {
				since = c.For
			}
			if longest == nil || c.For > longest.For {
				longest = c
			}
		}
		d := time.Duration(0)
		if s.Told && s.Age < toldLately {
			d = time.Duration(s.Figures[flight.FigureStarving])
		}
		if held == len(s.Carriers) && queued > 0 {
			d = max(d, since)
		}
		if int64(d) < j.threshold || d == 0 {
			continue
		}
		n := max(queued, int(s.Figures[flight.FigureQueued]))
		f := Finding{Count: n, Value: int64(d), Since: d, about: s.Name, anywhere: true}
		f.What = fmt.Sprintf("scheduler %s: %s, and none was mounted for %s", schedulerLabel(s), Count(n, "queued thread"), words(d))
		if held > 0 {
			f.What += fmt.Sprintf("; %s of %s held", Thousands(held), Count(len(s.Carriers), "carrier")+verb(held, " is", " are"))
		}
		if longest != nil {
			f.Place, f.Examples = longest.Place, []Party{{Thread: longest.Thread, Name: longest.Name}}
			f.Evidence = []string{holdWords(longest)}
			if g := j.groupOf(-1, f.Place, func(g *Group) bool { return g.State == flight.StatePinned }); g != nil {
				f.in(j.now.Snapshot, g)
			}
		}
		all = append(all, f)
	}
	return all
}

// findOSThreads finds schedulers so many of whose threads are in system calls that soon none may be started.
func findOSThreads(j *judging) []Finding {
	var all []Finding
	for i := range j.now.Schedulers.Schedulers {
		s := &j.now.Schedulers.Schedulers[i]
		calls := int(s.Figures[flight.FigureCalls])
		if !s.Told || int64(calls) < j.threshold {
			continue
		}
		f := Finding{Count: calls, Value: int64(calls), about: s.Name, anywhere: true}
		f.What = fmt.Sprintf("scheduler %s: %s in system calls, and %s an OS thread", schedulerLabel(s), Count(calls, "thread")+verb(calls, " is", " are"), verb(calls, "holds", "each holds"))
		if most := s.Figures[flight.FigureMaxCarriers]; most > 0 {
			f.What += fmt.Sprintf("; from %s on, others wait", Thousands(most))
		}
		at := map[Frame]int{}
		for k := range s.Carriers {
			if c := &s.Carriers[k]; c.State == flight.CarrierHeld && c.Place != nil {
				if at[c.Place.Frame]++; f.Place == nil || at[c.Place.Frame] > at[f.Place.Frame] {
					f.Place = c.Place
				}
				if len(f.Examples) < maxExamples {
					f.Examples, f.Evidence = append(f.Examples, Party{Thread: c.Thread, Name: c.Name}), append(f.Evidence, holdWords(c))
				}
			}
		}
		if g := j.groupOf(-1, f.Place, func(g *Group) bool { return g.State == flight.StatePinned }); g != nil {
			f.in(j.now.Snapshot, g)
		}
		all = append(all, f)
	}
	return all
}

func schedulerLabel(s *Scheduler) string {
	if s.Name != "" {
		return Printable(s.Name)
	}
	return fmt.Sprintf("#%d", s.ID)
}

// holdWords writes `#12 "left" holds carrier 3 for 305ms: pin-section, in main.hold main.go:12`.
func holdWords(c *Carrier) string {
	s := fmt.Sprintf("%s holds carrier %d for %s: %s", partyWords(&Party{Thread: c.Thread, Name: c.Name}), c.ID, words(c.For), reasonName(c.Reason))
	if at := placeWords(c.Place); at != "" {
		s += ", in " + at
	}
	return s
}

// A pinned is the pins at one place for one reason.
type pinned struct {
	place   *Place
	reason  flight.Reason
	count   uint64
	total   time.Duration
	victims uint64
	ago     time.Duration // since the last one was over

	lately   *recentSite // nil: there was none in the last minute
	waiting  int         // threads that wait now while others hold their carriers there
	since    time.Duration
	examples []Party
	evidence []string
}

type heldAt struct {
	frame  Frame
	reason flight.Reason
}

func heldAtOf(p *Place, why flight.Reason) heldAt {
	if p == nil {
		return heldAt{reason: why}
	}
	return heldAt{p.Frame, why}
}

// pinsOf sums the pin sites of a look by place: several stacks may lead there.
func pinsOf(l *Look) map[heldAt]*pinned {
	all := map[heldAt]*pinned{}
	if l == nil || l.Schedulers == nil {
		return all
	}
	for i := range l.Schedulers.PinSites {
		p := &l.Schedulers.PinSites[i]
		x := pinAt(all, p.Place, p.Reason)
		if x.count == 0 || p.Ago < x.ago {
			x.ago = p.Ago
		}
		x.count += p.Count
		x.total += p.Total
		x.victims += p.Victims
	}
	return all
}

func pinAt(all map[heldAt]*pinned, place *Place, why flight.Reason) *pinned {
	k := heldAtOf(place, why)
	if all[k] == nil {
		all[k] = &pinned{place: place, reason: why}
	}
	return all[k]
}

// recentPins are the places where threads held their carriers in the last minute.
func (l *Look) recentPins() (all []*recentSite) {
	for i := range l.recent {
		if s := &l.recent[i]; s.kind == flight.RecentPin {
			all = append(all, s)
		}
	}
	return all
}

// steadySteps is in how many of the steps of the last minute it was so at least: a program that begins, or does something once, is not told for a minute.
const steadySteps = 3

// findPinned finds the places where threads held their carriers while others waited: since the earlier look, or since the process began if there is none,
// those who do now, and those who did again and again in the last minute.
func findPinned(j *judging) []Finding {
	now, before := pinsOf(j.now), pinsOf(j.before)
	for _, s := range j.now.recentPins() {
		pinAt(now, s.place, s.reason).lately = s
	}
	for i := range j.now.Schedulers.Schedulers {
		s := &j.now.Schedulers.Schedulers[i]
		waiting := s.Threads[flight.StateRunnable]
		if waiting == 0 || slices.ContainsFunc(s.Carriers, func(c Carrier) bool { return c.State == flight.CarrierIdle }) {
			continue
		}
		for k := range s.Carriers {
			c := &s.Carriers[k]
			if c.State != flight.CarrierHeld {
				continue
			}
			x := pinAt(now, c.Place, c.Reason)
			x.waiting, x.since = max(x.waiting, waiting), max(x.since, c.For)
			if len(x.examples) < maxExamples {
				x.examples = append(x.examples, Party{Thread: c.Thread, Name: c.Name})
				x.evidence = append(x.evidence, holdWords(c))
			}
		}
	}
	var all []Finding
	for k, x := range now {
		if was := before[k]; was != nil && was.count <= x.count {
			x.count, x.total, x.victims = x.count-was.count, x.total-was.total, x.victims-was.victims
		}
		n, since, lately := int(x.victims)+x.waiting, x.since, ""
		if s := x.lately; s != nil {
			if s.busy >= steadySteps && int(s.waiting) > n {
				n, x.count, x.total, since, lately = int(s.waiting), s.count, s.total, s.since, ", in the last minute"
			}
			if called := pathWords(s.path); called != "" {
				x.evidence = append(x.evidence, called)
			}
		}
		if int64(n) < j.threshold {
			continue
		}
		f := Finding{Count: n, Value: int64(n), Since: since, Place: x.place, Examples: x.examples, Evidence: x.evidence, about: reasonName(x.reason)}
		if x.count > 0 { // one thread may wait again and again
			f.What = fmt.Sprintf("%s a thread waited for a carrier while threads held theirs %s for %s in all", Count(n, "time"), Count(x.count, "time"), words(x.total))
		} else {
			f.What = fmt.Sprintf("%s %s for a carrier while threads hold theirs for %s", Count(n, "thread"), verb(n, "waits", "wait"), words(x.since))
		}
		f.What += ": " + reasonName(x.reason) + lately
		if g := j.groupOf(-1, x.place, func(g *Group) bool { return g.State == flight.StatePinned && g.Reason == x.reason }); g != nil {
			f.in(j.now.Snapshot, g)
		}
		all = append(all, f)
	}
	slices.SortFunc(all, func(a, b Finding) int { return cmp.Or(cmp.Compare(b.Value, a.Value), cmp.Compare(a.What, b.What)) })
	return all
}

// findPinnedOften finds the places where threads held their carriers for long in the last minute, of which findPinned has not told.
func findPinnedOften(j *judging) []Finding {
	var all []Finding
	for _, s := range j.now.recentPins() {
		told := func(f Finding) bool {
			return f.Check == "pinned" && f.about == reasonName(s.reason) && heldAtOf(f.Place, s.reason) == heldAtOf(s.place, s.reason)
		}
		if s.meant || int64(s.total) < j.threshold || s.steps < steadySteps || slices.ContainsFunc(j.told, told) {
			continue
		}
		f := Finding{Count: int(s.count), Value: int64(s.total), Since: s.since, Place: s.place, about: reasonName(s.reason)}
		f.What = fmt.Sprintf("threads held their carriers %s for %s in all in the last minute, and ", Count(s.count, "time"), words(s.total))
		if s.waiting == 0 {
			f.What += "none"
		} else {
			f.What += Count(s.waiting, "other")
		}
		f.What += " waited for one: " + reasonName(s.reason)
		if called := pathWords(s.path); called != "" {
			f.Evidence = []string{called}
		}
		if g := j.groupOf(-1, s.place, func(g *Group) bool { return g.State == flight.StatePinned && g.Reason == s.reason }); g != nil {
			f.in(j.now.Snapshot, g)
		}
		all = append(all, f)
	}
	return all
}

// A hog is the threads that computed for long at one place.
type hog struct {
	place    *Place
	n        int
	now      bool // one does
	longest  time.Duration
	examples []Party
	evidence []string
}

// findHogs finds threads that compute for long without a scheduling point, and those that have since the earlier look.
func findHogs(j *judging) []Finding {
	at := map[Frame]*hog{}
	var order []*hog
	add := func(place *Place, who Party, d time.Duration, now bool) {
		if int64(d) < j.threshold {
			return
		}
		var k Frame
		if place != nil {
			k = place.Frame
		}
		h := at[k]
		if h == nil {
			h = &hog{place: place}
			at[k] = h
			order = append(order, h)
		}
		h.n++
		h.now = h.now || now
		h.longest = max(h.longest, d)
		if len(h.examples) < maxExamples && !slices.ContainsFunc(h.examples, func(p Party) bool { return p.Thread == who.Thread }) {
			h.examples = append(h.examples, who)
			line := partyWords(&who) + " for " + words(d) + ": " + flight.ReasonMonopoly.String()
			if where := placeWords(place); where != "" {
				line += ", in " + where
			}
			h.evidence = append(h.evidence, line)
		}
	}
	each := func(carriers []Carrier) {
		for i := range carriers {
			if c := &carriers[i]; c.Reason == flight.ReasonMonopoly {
				add(c.Place, Party{Thread: c.Thread, Name: c.Name}, c.For, true)
			}
		}
	}
	for i := range j.now.Schedulers.Schedulers {
		each(j.now.Schedulers.Schedulers[i].Carriers)
	}
	each(j.now.Schedulers.Others.Carriers)
	for i := range j.now.Schedulers.Incidents {
		if e := &j.now.Schedulers.Incidents[i]; e.Kind == flight.EventMonopolized && e.Ago <= j.over()+j.now.Took {
			add(e.Place, Party{Thread: e.Thread, Name: e.Name}, e.For, false)
		}
	}
	var all []Finding
	for _, h := range order {
		f := Finding{Count: h.n, Value: int64(h.longest), Since: h.longest, Place: h.place, Examples: h.examples, Evidence: h.evidence}
		switch {
		case h.n > 1:
			f.What = fmt.Sprintf("threads computed without a scheduling point for up to %s, %s", words(h.longest), Count(h.n, "time"))
		case h.now:
			f.What = fmt.Sprintf("thread %s has computed without a scheduling point for %s", partyWords(&h.examples[0]), words(h.longest))
		default:
			f.What = fmt.Sprintf("thread %s computed without a scheduling point for %s", partyWords(&h.examples[0]), words(h.longest))
		}
		all = append(all, f)
	}
	return all
}
