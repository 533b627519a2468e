package profile

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	pprof "github.com/google/pprof/profile"

	"github.com/vtscope/vtscope/dump"
	threads "github.com/vtscope/vtscope/dump/profile"
)

// A Mark is what a [Collector] had counted at a moment.
type Mark struct {
	at     time.Duration // by the events
	keys   []key
	texts  []string
	sums   []sum // of keys
	lost   uint64
	gaps   uint64
	folded uint64
	over   uint64 // texts
}

// A sum is what a tally says at a moment.
type sum struct {
	count, victims uint64
	spent          float64
}

// Mark returns what is counted now. Of a live one events of the last quarter of a second may not have come yet: then it is of a moment before them.
func (c *Collector) Mark() *Mark { return c.markAt(-1) }

// markAt is [Collector.Mark] of a moment that is not before the newest event; if it is negative, of that, or of the present.
func (c *Collector) markAt(at time.Duration) *Mark {
	c.mu.Lock()
	defer c.mu.Unlock()
	if at < 0 {
		at = c.mu.at
		if c.o.Live && c.mu.began {
			at += max(time.Since(c.mu.heard)-lateness, 0)
		}
		at = max(at, c.mu.settled)
	}
	c.settleLocked(at)
	m := &Mark{
		at: at, keys: c.mu.keys, texts: c.mu.texts.texts, sums: make([]sum, len(c.mu.keys)),
		lost: c.mu.lost, gaps: c.mu.gaps, folded: c.mu.folded, over: c.mu.texts.over,
	}
	for i := range c.mu.tallies {
		y := &c.mu.tallies[i]
		m.sums[i] = sum{y.count, y.victims, y.spent}
	}
	return m
}

// Began reports whether the collector knows what threads do: it does when it was told for the first time.
func (c *Collector) Began() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.mu.began
}

// since returns what was counted after an earlier mark; nil is the beginning. Time that had been counted too early is not taken away twice: less than nothing is nothing.
func (m *Mark) since(before *Mark, i int) sum {
	s := m.sums[i]
	if before != nil && i < len(before.sums) {
		b := &before.sums[i]
		s.count -= b.count
		s.victims -= b.victims
		s.spent -= b.spent
	}
	s.spent = max(s.spent, 0)
	return s
}

// Profile returns a profile of what happened from one mark, nil for the beginning, to another. The kind is one of events. exe is the program, and at when to was made.
func (c *Collector) Profile(k *Kind, exe string, at time.Time, from, to *Mark) *pprof.Profile {
	type found struct {
		i int
		sum
	}
	var all []found
	total := 0.0
	for i := range to.keys {
		if key := &to.keys[i]; key.what != k.what || k.reasons != nil && !k.reasons(key.reason) {
			continue
		}
		if s := to.since(from, i); s.count != 0 || s.spent >= 1 {
			all = append(all, found{i, s})
			total += s.spent
		}
	}
	slices.SortStableFunc(all, func(a, b found) int { return cmp.Compare(b.spent, a.spent) })
	types, unit := inUnit(k.Types, total)
	b := threads.NewBuilder(exe, at, types, k.Usual)
	was := Mark{}
	if from != nil {
		was = *from
		b.Over(to.at - from.at)
	}
	stacks := newStacks(b, c.stack)
	for _, f := range all {
		key := &to.keys[f.i]
		values := []int64{int64(f.count), int64(f.spent / unit), int64(f.victims)}
		b.Add(stacks.of(key.stack, key.state.String()), values[:len(types)], map[string]string{
			threads.LabelScope: to.texts[key.scope], threads.LabelState: key.state.String(), threads.LabelReason: key.reason.String(),
			threads.LabelBlocker: to.texts[key.blocker], threads.LabelName: to.texts[key.name],
		})
	}
	if len(all) == 0 {
		b.Note("empty: " + k.ofWhat)
	}
	if n := to.lost - was.lost; n > 0 {
		b.Note(fmt.Sprintf("%s lost: counts are too low by so many at most, and times by what those told", dump.Count(n, "event")))
	}
	if n := to.gaps - was.gaps; n > 0 {
		b.Note(fmt.Sprintf("the state of all threads was read again %s", times(n)))
	}
	if n := to.folded - was.folded; n > 0 {
		b.Note(fmt.Sprintf("%s summed by what it was and its reason, in scope %s: there are more than %s distinct samples", dump.Count(n, "time"), others, dump.Thousands(c.o.Samples)))
	}
	if to.over > was.over {
		b.Note(fmt.Sprintf("names and scopes beyond %s are called %s", dump.Thousands(textsOf*c.o.Samples), others))
	}
	if stacks.bare > 0 {
		b.Note(fmt.Sprintf("%s without names in part: the process has not written their symbols", dump.Count(stacks.bare, "stack")))
	}
	return b.Profile()
}

func times(n uint64) string {
	if n == 1 {
		return "once"
	}
	return dump.Count(n, "time")
}

// inUnit returns the types with a unit of time in which so many nanoseconds fit a profile, and how many of them it has.
func inUnit(types threads.Types, total float64) (threads.Types, float64) {
	if total < math.MaxInt64/2 {
		return slices.Clone(types), 1
	}
	types = slices.Clone(types)
	for i := range types {
		if types[i].Unit == "nanoseconds" {
			types[i].Unit = "microseconds"
		}
	}
	return types, 1000
}
