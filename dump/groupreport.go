package dump

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/vtscope/vtscope/runtime/flight"
)

// GroupFormat names the JSON document of [GroupJSON] and its version.
const GroupFormat = "vtscope/group/v1"

// A GroupReport is what is known of the threads of one [Group].
type GroupReport struct {
	Format  string        `json:"format"` // always [GroupFormat]
	Process Process       `json:"process"`
	Taken   time.Time     `json:"taken"`
	AsOf    time.Time     `json:"as_of"`
	Took    time.Duration `json:"took_ns"`

	Complete   bool     `json:"complete"`
	Incomplete []string `json:"incomplete,omitempty"`
	Filter     string   `json:"filter,omitempty"` // as of a [Snapshot]

	Key    string   `json:"key"`
	Scope  []string `json:"scope,omitempty"` // names from below the root's
	State  string   `json:"state"`
	Reason string   `json:"reason,omitempty"`
	Count  int      `json:"count"`
	Others int      `json:"others"` // threads that match Filter and are not of the group

	Wait  Wait          `json:"wait"`
	Seen  time.Duration `json:"seen_ns,omitempty"` // as of a [Group]
	Waits []uint64      `json:"waits"`             // as of a [TableRow]
	First int           `json:"first"`

	Stack *Stack `json:"stack,omitempty"` // all frames; absent: not known

	Blockers []Share `json:"blockers"` // what they wait for
	Names    []Share `json:"names"`    // as a [Template]

	Oldest []Example `json:"oldest"` // the longest waiting first
	Newest []Example `json:"newest"` // the shortest waiting first
	Random []Example `json:"random"` // of all, each as likely

	Labelled []LabelledThread `json:"labelled,omitempty"` // of the examples those that have labels from the program
}

// A Share is how many threads have something in common.
type Share struct {
	Value string `json:"value"` // "" for those that have none
	Count int    `json:"count"`
}

// maxShares is how many different names or blockers of a group are counted; threads of more count to the last, "…".
const maxShares = 1000

// leastKey is the shortest beginning of a key that stands for a group.
const leastKey = 4

// A NoGroupError says that no group, or more than one, is meant.
type NoGroupError struct {
	Key  string
	Keys []string // of the groups that it may mean
}

func (e NoGroupError) Error() string {
	if len(e.Keys) == 0 {
		return fmt.Sprintf("there is no group %s: its threads have moved on, or there never was one", e.Key)
	}
	return fmt.Sprintf("%s groups have a key that begins with %s", Thousands(len(e.Keys)), e.Key)
}

// GroupKey returns the key of the group that a word stands for: the beginning of its key, at least four digits, or its place among the groups of s, from 1
// on. A word that can be both is a key.
func (s *Snapshot) GroupKey(word string) (string, error) {
	var keys []string
	if len(word) >= leastKey {
		for i := range s.Groups {
			if strings.HasPrefix(s.Groups[i].Key, word) {
				keys = append(keys, s.Groups[i].Key)
			}
		}
	}
	if len(keys) == 1 {
		return keys[0], nil
	}
	var n int
	if _, err := fmt.Sscanf(word+" ", "%d ", &n); err == nil && len(keys) == 0 && n > 0 && n <= len(s.Groups) {
		return s.Groups[n-1].Key, nil
	}
	return "", NoGroupError{word, keys}
}

// TakeGroup reads the threads of the group of a key. The error is that of [Take], or a [NoGroupError].
func TakeGroup(ctx context.Context, r Source, key string, o Options) (*GroupReport, error) {
	began := time.Now()
	r = Looked(r)
	p := processOf(r, began)
	s := &Snapshot{Process: p}
	if m, ok := r.(Moment); ok {
		s.Incomplete = m.Incomplete()
	}
	scopes, err := r.Scopes()
	if err != nil {
		s.missed(err)
	}
	tree, now := plant(scopes, o.Templates), r.Now()
	f := newFolder(tree, now, o)
	f.match = newMatching(o.Filter, r, tree, now)
	t := &tabler{src: r, now: now, stacks: newStackTable(r.Stack, o.Similar), texts: newTexts(r, tree, now)}
	g := &grouper{tabler: t, want: key, known: map[groupKey]bool{}, blockers: map[string]int{}, names: map[string]int{}}
	f.sink = g.add
	if err := f.read(ctx, r, s); err != nil {
		return nil, err
	}
	if g.waits.n == 0 {
		return nil, NoGroupError{Key: key}
	}
	var examples []flight.ThreadID
	for _, e := range slices.Concat(g.oldest, g.newest, g.random) {
		examples = append(examples, e.id)
	}
	labelled, err := labelledOf(r, examples)
	if err != nil {
		s.missed(err)
	}
	s.offs(r)
	s.judge(tree, r.Lost())
	out := &GroupReport{
		Format: GroupFormat, Process: p, Taken: began, AsOf: p.LastSeen, Complete: s.Complete, Incomplete: s.Incomplete, Filter: o.Filter.String(),
		Key: key, Scope: tree.path(g.key.family)[1:], State: g.key.state.String(),
		Count: g.waits.n, Others: g.others, Wait: g.waits.wait(t.span), Seen: seen(g.seen, t.span),
		Blockers: shares(g.blockers), Names: shares(g.names), Oldest: t.examples(g.oldest), Newest: t.examples(g.newest), Random: t.examples(g.random),
		Labelled: labelled,
	}
	if g.key.reason != flight.ReasonNone {
		out.Reason = g.key.reason.String()
	}
	out.First, out.Waits = t.buckets(&g.waits)
	if g.key.stack > 0 {
		out.Stack = &t.stacks.stacks[g.key.stack-1]
	}
	out.Took = time.Since(began)
	return out, nil
}

// EmptyGroup tells that no thread is in the group of a key, or none that the filter of o matches.
func EmptyGroup(r Source, key string, o Options) *GroupReport {
	now := time.Now()
	p := processOf(r, now)
	return &GroupReport{
		Format: GroupFormat, Process: p, Taken: now, AsOf: p.LastSeen, Complete: true, Filter: o.Filter.String(), Key: key,
		Waits: []uint64{}, Blockers: []Share{}, Names: []Share{}, Oldest: []Example{}, Newest: []Example{}, Random: []Example{},
	}
}

// GroupOf tells what a snapshot says of the group of a key: examples, but not how the waits are distributed and what the threads are called. The error is a
// [NoGroupError].
func GroupOf(s *Snapshot, key string) (*GroupReport, error) {
	i := slices.IndexFunc(s.Groups, func(g Group) bool { return g.Key == key })
	if i < 0 {
		return nil, NoGroupError{Key: key}
	}
	g := &s.Groups[i]
	out := &GroupReport{
		Format: GroupFormat, Process: s.Process, Taken: s.Taken, AsOf: s.AsOf, Took: s.Took, Complete: s.Complete, Incomplete: s.Incomplete, Filter: s.Filter,
		Key: key, Scope: s.Path(g.Scope)[1:], State: g.State.String(), Count: g.Count, Others: s.Threads - g.Count, Wait: g.Wait, Seen: g.Seen, Waits: []uint64{},
		Blockers: []Share{{g.Blocker, g.Count}}, Names: []Share{}, Oldest: g.Examples, Newest: []Example{}, Random: []Example{},
	}
	if g.Reason != flight.ReasonNone {
		out.Reason = g.Reason.String()
	}
	if g.Stack >= 0 {
		out.Stack = &s.Stacks[g.Stack]
	}
	return out, nil
}

// ShortKeys returns for each group the shortest beginning of its key, of four digits or more, that no other group of the snapshot has; "" for those without.
func (s *Snapshot) ShortKeys() []string {
	order := make([]int, len(s.Groups))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(s.Groups[a].Key, s.Groups[b].Key) })
	short := make([]string, len(s.Groups))
	for at, i := range order {
		key := s.Groups[i].Key
		n := leastKey
		for _, other := range []int{at - 1, at + 1} {
			if other >= 0 && other < len(order) {
				n = max(n, 1+commonPrefix(key, s.Groups[order[other]].Key))
			}
		}
		if len(key) >= leastKey {
			short[i] = key[:min(n, len(key))]
		}
	}
	return short
}

func commonPrefix(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// key returns the [Scope.Key] of a family.
func (t *tree) key(family int32) hash {
	if family < 0 {
		return newHash
	}
	return t.key(t.families[family].parent).word(t.families[family].name)
}

// GroupJSON writes g as one document; the package comment describes it.
func GroupJSON(w io.Writer, g *GroupReport) error { return writeDocument(w, g) }

// A grouper takes the threads of one group out of all.
type grouper struct {
	*tabler
	want  string
	known map[groupKey]bool // whether it is the group's
	key   groupKey          // the group's, with its stack as it is shown

	waits                  waitStat
	seen                   flight.Ticks
	others                 int
	blockers, names        map[string]int
	oldest, newest, random []tableExample
}

// wanted reports whether threads of a key are of the group.
func (g *grouper) wanted(k groupKey) bool {
	is, ok := g.known[k]
	if !ok {
		stack := ""
		if k.stack > 0 {
			stack = g.stacks.stacks[k.stack-1].Fingerprint
		}
		is = keyOfGroup(g.texts.tree.key(k.family).String(), k.state, k.reason, stack) == g.want
		g.known[k] = is
	}
	return is
}

func (g *grouper) add(fam int32, r *flight.ThreadRow, key groupKey) {
	key.family, key.stack = fam, g.stacks.shown(key.stack)
	if !g.wanted(key) {
		g.others++
		return
	}
	g.key = key
	g.seen = max(g.seen, seenAgo(r, g.now))
	wait := g.waits.addRow(r, g.now)
	blocker := ""
	if r.Blocker != 0 {
		blocker = g.texts.Blocker(r.Blocker)
	}
	count(g.blockers, blocker)
	count(g.names, Template(g.texts.names(*r)))
	e := tableExample{wait, r.ID, r.Name, *r}
	g.oldest = keepFirst(g.oldest, e, func(a, b flight.Ticks) bool { return a > b })
	g.newest = keepFirst(g.newest, e, func(a, b flight.Ticks) bool { return a-1 < b-1 }) // unknown ones last
	switch at := rand.IntN(g.waits.n); {
	case len(g.random) < maxExamples:
		g.random = append(g.random, e)
	case at < maxExamples:
		g.random[at] = e
	}
}

// keepFirst puts e in its place among the first, of which it keeps maxExamples.
func keepFirst(all []tableExample, e tableExample, before func(a, b flight.Ticks) bool) []tableExample {
	if len(all) == maxExamples && !before(e.wait, all[maxExamples-1].wait) {
		return all
	}
	at := len(all)
	for at > 0 && before(e.wait, all[at-1].wait) {
		at--
	}
	all = slices.Insert(all, at, e)
	return all[:min(len(all), maxExamples)]
}

func count(all map[string]int, value string) {
	if _, ok := all[value]; !ok && len(all) >= maxShares {
		value = "…"
	}
	all[value]++
}

func shares(all map[string]int) []Share {
	out := make([]Share, 0, len(all))
	for v, n := range all {
		out = append(out, Share{v, n})
	}
	slices.SortFunc(out, func(a, b Share) int { return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Value, b.Value)) })
	return out
}

func (t *tabler) examples(all []tableExample) []Example {
	out := make([]Example, len(all))
	for i := range all {
		out[i] = *t.example(&all[i])
	}
	return out
}
