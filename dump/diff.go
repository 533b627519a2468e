package dump

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// DiffFormat names the JSON document of [DiffJSON] and its version.
const DiffFormat = "vtscope/diff/v1"

// A Diff tells what became of scopes and groups from one snapshot to another, of one process or of two.
type Diff struct {
	Format string   `json:"format"` // always [DiffFormat]
	Old    DiffSide `json:"old"`
	New    DiffSide `json:"new"`

	Over time.Duration `json:"over_ns"` // from the moment of Old to that of New

	Similar   string `json:"similar"`             // a name of a [Similarity]
	Templates bool   `json:"templates,omitempty"` // names of scopes are those of [Template]
	Least     int    `json:"least"`               // changes of fewer threads, or scopes, count as the same

	Complete   bool     `json:"complete"` // both snapshots are
	Incomplete []string `json:"incomplete,omitempty"`

	ScopeCounts ChangeCounts `json:"scope_counts"`
	GroupCounts ChangeCounts `json:"group_counts"`

	// What changed: that has more threads by falling growth, then what has fewer by falling loss.
	Scopes []ScopeChange `json:"scopes"`
	Groups []GroupChange `json:"groups"`
	Stacks []Stack       `json:"stacks"` // [GroupChange.Stack] is an index
}

// A DiffSide is one of the two snapshots.
type DiffSide struct {
	Process  Process   `json:"process"`
	AsOf     time.Time `json:"as_of"`
	Filter   string    `json:"filter,omitempty"`
	Threads  int       `json:"threads"`
	Scopes   int       `json:"scopes"`
	Complete bool      `json:"complete"`
	Known    Rest      `json:"known_good,omitzero"` // groups that are marked good: they do not count as changes
}

// A Change is what became of a scope or a group.
type Change uint8

// The changes.
const (
	Same   Change = iota
	Grew          // it has more threads; of a scope with as many: there are more scopes of its path
	Shrank        // fewer
	New           // there was none
	Gone          // there is none any more

	changeCount
)

var changeNames = [changeCount]string{"same", "grew", "shrank", "new", "gone"}

// String returns the change's name.
func (c Change) String() string {
	if c < changeCount {
		return changeNames[c]
	}
	return "unknown"
}

// MarshalText writes the name.
func (c Change) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// UnmarshalText reads a name.
func (c *Change) UnmarshalText(b []byte) error {
	i := slices.Index(changeNames[:], string(b))
	if i < 0 {
		return fmt.Errorf("unknown change %q", b)
	}
	*c = Change(i)
	return nil
}

// ParseChanges reads names of changes as they stand on a command line: "grew,new".
func ParseChanges(text string) ([]Change, error) {
	var all []Change
	for _, name := range strings.Split(text, ",") {
		var c Change
		if err := c.UnmarshalText([]byte(strings.TrimSpace(name))); err != nil || c == Same {
			return nil, fmt.Errorf("no change %q: want %s", name, strings.Join(changeNames[Same+1:], ", "))
		}
		if !slices.Contains(all, c) {
			all = append(all, c)
		}
	}
	return all, nil
}

// ChangeCounts counts by [Change]. As JSON it is an object of all of them, by name.
type ChangeCounts [changeCount]int

// MarshalJSON writes {"same":3,…}.
func (c ChangeCounts) MarshalJSON() ([]byte, error) {
	b := []byte{'{'}
	for i, n := range c {
		if i > 0 {
			b = append(b, ',')
		}
		b = fmt.Appendf(b, "%q:%d", changeNames[i], n)
	}
	return append(b, '}'), nil
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (c *ChangeCounts) UnmarshalJSON(b []byte) error {
	m := map[Change]int{}
	if err := json.Unmarshal(b, &m); err != nil {
		return err
	}
	*c = ChangeCounts{}
	for k, n := range m {
		c[k] = n
	}
	return nil
}

// A ScopeChange is a scope, or all sibling scopes of one name, whose own threads or number changed.
type ScopeChange struct {
	Key    string   `json:"key"`
	Path   []string `json:"path"` // names from below the root's; none for the root itself
	Change Change   `json:"change"`
	Before int      `json:"before"` // own threads, without those known as good
	After  int      `json:"after"`
	Was    int      `json:"scopes_before"` // scopes of the path
	Is     int      `json:"scopes_after"`
	Scope  string   `json:"scope"` // [Scope.Key] in the newer snapshot, else in the older
}

// A GroupChange is the threads of the scopes of one path that have the same stack, whatever their states, or no stack and the same state.
type GroupChange struct {
	Key    string   `json:"key"` // the same in every snapshot and process
	Path   []string `json:"path"`
	Change Change   `json:"change"`
	Before int      `json:"before"`
	After  int      `json:"after"`
	Was    Counts   `json:"states_before"`
	Is     Counts   `json:"states_after"`
	Group  string   `json:"group"` // [Group.Key] of the largest of them in the newer snapshot, else in the older
	Stack  int      `json:"stack"` // index in [Diff.Stacks]: the newer of the similar ones; -1 if no stack is known

	LongestBefore time.Duration `json:"longest_before_ns"` // wait
	LongestAfter  time.Duration `json:"longest_after_ns"`
	// UnknownBefore and UnknownAfter are of how many threads nobody recorded since when they wait; the longest is of the rest, and 0 if that is none.
	UnknownBefore int       `json:"unknown_before,omitempty"`
	UnknownAfter  int       `json:"unknown_after,omitempty"`
	Examples      []Example `json:"examples"` // the longest waiting, of the newer snapshot if it has any
}

// DiffOptions says how [DiffOf] compares. The zero value is usable.
type DiffOptions struct {
	Similar   Similarity
	Templates bool // fold names of scopes; done without it if one of the snapshots has done so
	Least     int  // changes of fewer threads count as the same; 0 means 1
}

// DiffOf compares two snapshots. Scopes are matched by path and groups by path and stack, so the snapshots may be of different processes and builds.
func DiffOf(old, s *Snapshot, o DiffOptions) *Diff {
	o.Least = max(o.Least, 1)
	o.Templates = o.Templates || old.Templates || s.Templates
	d := &Diff{
		Format: DiffFormat, Old: sideOf(old), New: sideOf(s), Over: s.AsOf.Sub(old.AsOf),
		Similar: o.Similar.String(), Templates: o.Templates, Least: o.Least, Scopes: []ScopeChange{}, Groups: []GroupChange{}, Stacks: []Stack{},
	}
	for i, side := range []*Snapshot{old, s} {
		which := [2]string{"the old one: ", "the new one: "}[i]
		for _, why := range side.Incomplete {
			d.Incomplete = append(d.Incomplete, which+why)
		}
		if n := side.Rest.Threads; n > 0 && side.Complete {
			d.Incomplete = append(d.Incomplete, which+Count(n, "thread")+" in groups that it does not have")
		}
	}
	if old.Filter != s.Filter {
		d.Incomplete = append(d.Incomplete, fmt.Sprintf("they were chosen by different filters: %q and %q", old.Filter, s.Filter))
	}
	d.Complete = len(d.Incomplete) == 0

	was, is := fingerprintsOf(old, o.Similar, o.Templates), fingerprintsOf(s, o.Similar, o.Templates)
	d.scopes(was, is)
	d.groups(was, is)
	return d
}

func sideOf(s *Snapshot) DiffSide {
	return DiffSide{Process: s.Process, AsOf: s.AsOf, Filter: s.Filter, Threads: s.Threads, Scopes: s.ScopeCount, Complete: s.Complete, Known: s.Known}
}

// pathIn returns the names from below the root's.
func (f *fingerprints) pathIn(scope int, templates bool) []string {
	path := f.s.Path(scope)[1:]
	for i := range path {
		path[i] = nameIn(path[i], templates)
	}
	return path
}

// judge returns what became of something with so many threads, and so many scopes.
func (d *Diff) judge(before, after, was, is int) Change {
	switch {
	case was == 0 && is > 0 && max(after, is) >= d.Least:
		return New
	case is == 0 && was > 0 && max(before, was) >= d.Least:
		return Gone
	case was == 0 || is == 0:
		return Same
	case after-before >= d.Least:
		return Grew
	case before-after >= d.Least:
		return Shrank
	case after != before:
		return Same
	case is-was >= d.Least:
		return Grew
	case was-is >= d.Least:
		return Shrank
	}
	return Same
}

func (d *Diff) scopes(was, is *fingerprints) {
	at := map[string]int{}
	var all []ScopeChange
	for side, f := range []*fingerprints{was, is} {
		for i := range f.s.Scopes {
			sc, key := &f.s.Scopes[i], f.scope(i)
			n, ok := at[key]
			if !ok {
				n = len(all)
				at[key] = n
				all = append(all, ScopeChange{Key: key, Path: f.pathIn(i, d.Templates)})
			}
			if c := &all[n]; side == 0 {
				c.Before += sc.Own - sc.Known
				c.Was += sc.Count
			} else {
				c.After += sc.Own - sc.Known
				c.Is += sc.Count
			}
			if c := &all[n]; side == 1 && c.Is == sc.Count || c.Scope == "" {
				c.Scope = sc.Key
			}
		}
	}
	for i := range all {
		c := &all[i]
		c.Change = d.judge(c.Before, c.After, c.Was, c.Is)
		if d.ScopeCounts[c.Change]++; c.Change != Same {
			d.Scopes = append(d.Scopes, *c)
		}
	}
	slices.SortStableFunc(d.Scopes, func(a, b ScopeChange) int {
		return cmp.Or(byGrowth(a.After-a.Before, b.After-b.Before), byGrowth(a.Is-a.Was, b.Is-b.Was))
	})
}

func (d *Diff) groups(was, is *fingerprints) {
	at := map[string]int{}
	var all []GroupChange
	stacks := map[string]int{} // by fingerprint, to Stacks
	// The newer first: its stacks and examples are shown.
	for side, f := range []*fingerprints{is, was} {
		for i := range f.s.Groups {
			g := &f.s.Groups[i]
			key := f.group(g)
			n, ok := at[key]
			if !ok {
				n = len(all)
				at[key] = n
				c := GroupChange{Key: key, Path: f.pathIn(g.Scope, d.Templates), Group: g.Key, Stack: -1, Examples: g.Examples} // groups come by falling count
				if g.Stack >= 0 {
					at, ok := stacks[f.stacks[g.Stack]]
					if !ok {
						at = len(d.Stacks)
						stacks[f.stacks[g.Stack]] = at
						d.Stacks = append(d.Stacks, f.s.Stacks[g.Stack])
					}
					c.Stack = at
				}
				all = append(all, c)
			}
			if c := &all[n]; side == 0 {
				c.After += g.Count
				c.Is[g.State] += g.Count
				c.LongestAfter = max(c.LongestAfter, g.Wait.Max)
				c.UnknownAfter += g.Wait.Unknown
			} else {
				c.Before += g.Count
				c.Was[g.State] += g.Count
				c.LongestBefore = max(c.LongestBefore, g.Wait.Max)
				c.UnknownBefore += g.Wait.Unknown
			}
		}
	}
	for i := range all {
		c := &all[i]
		c.Change = d.judge(c.Before, c.After, min(c.Before, 1), min(c.After, 1))
		if d.GroupCounts[c.Change]++; c.Change != Same {
			d.Groups = append(d.Groups, *c)
		}
	}
	slices.SortStableFunc(d.Groups, func(a, b GroupChange) int { return byGrowth(a.After-a.Before, b.After-b.Before) })
}

// byGrowth puts what grew most first, and of what shrank that which shrank most.
func byGrowth(a, b int) int {
	if (a < 0) != (b < 0) {
		return cmp.Compare(b, a)
	}
	return cmp.Compare(max(b, -b), max(a, -a))
}

// Found counts the scopes and groups that changed in one of the ways.
func (d *Diff) Found(ways []Change) (n int) {
	for _, c := range ways {
		n += d.ScopeCounts[c] + d.GroupCounts[c]
	}
	return n
}

// KeepTop keeps n scopes and groups that grew most, and n that shrank most, and the stacks of those groups.
func (d *Diff) KeepTop(n int) {
	if n < 0 {
		return
	}
	more, fewer := 0, 0
	d.Scopes = slices.DeleteFunc(d.Scopes, func(c ScopeChange) bool { return beyond(n, c.After-c.Before, &more, &fewer) })
	more, fewer = 0, 0
	d.Groups = slices.DeleteFunc(d.Groups, func(c GroupChange) bool { return beyond(n, c.After-c.Before, &more, &fewer) })
	var used []Stack
	at := map[int]int{}
	for i := range d.Groups {
		old := d.Groups[i].Stack
		if old < 0 {
			continue
		}
		if _, ok := at[old]; !ok {
			at[old] = len(used)
			used = append(used, d.Stacks[old])
		}
		d.Groups[i].Stack = at[old]
	}
	d.Stacks = append([]Stack{}, used...)
}

func beyond(n, growth int, more, fewer *int) bool {
	if growth < 0 {
		*fewer++
		return *fewer > n
	}
	*more++
	return *more > n
}

// DiffJSON writes d as one document; the package comment describes it.
func DiffJSON(w io.Writer, d *Diff) error { return writeDocument(w, d) }
