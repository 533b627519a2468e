package dump

import (
	"cmp"
	"slices"
	"strings"

	"github.com/vtscope/vtscope/runtime/flight"
)

// A family is the sibling scopes of one name, which a snapshot shows as one [Scope]. The children of a
// family are the families of the children of all its scopes. Families are numbered as they are found;
// family 0 is the root scope, and a parent's number is lower than its children's.
type family struct {
	parent int32
	name   string
	count  int
	id     flight.ScopeID  // of its first scope
	owner  flight.ThreadID // of its first scope
	policy string          // of its first scope
	limit  int             // of its first scope
	queued int             // threads of all its scopes
	until  flight.Ticks    // the first deadline of its scopes, or 0
	pins   uint64
	states Counts // of its own threads
	used   *Used  // nil: nothing is known of threads that have ended
}

// A tree places scopes in families. It can be given the table of scopes more than once: what was
// placed stays.
type tree struct {
	families []family
	byName   map[familyName]int32
	byIndex  []int32 // index of a scope in the file -> family, or noFamily
	broken   int     // scopes with a dangling parent, or above themselves

	templates bool // families have templates for names
}

// manyFamilies are more than anybody reads.
const manyFamilies = 500

// plant returns the tree of scopes. Names become templates where it would be too large otherwise.
func plant(rows []flight.ScopeRow, templates bool) *tree {
	t := newTree()
	t.templates = templates
	t.add(rows)
	if len(t.families) > manyFamilies && !templates {
		return plant(rows, true)
	}
	return t
}

type familyName struct {
	parent int32
	name   string
}

const (
	noFamily int32 = -1
	onPath   int32 = -2 // while its parents are looked for
)

// maxScopeIndex bounds what a corrupt table of scopes can make a tree allocate.
const maxScopeIndex = 1 << 26

func newTree() *tree {
	return &tree{
		families: []family{{parent: -1, name: "root", count: 1}},
		byName:   map[familyName]int32{},
		byIndex:  []int32{0},
	}
}

// family returns the family of a scope, or noFamily.
func (t *tree) family(scope flight.ScopeIndex) int32 {
	if uint64(scope) < uint64(len(t.byIndex)) {
		return t.byIndex[scope]
	}
	return noFamily
}

// add places the scopes that have no place yet.
func (t *tree) add(rows []flight.ScopeRow) {
	top := 0
	for i := range rows {
		if n := int(rows[i].Index); n < maxScopeIndex {
			top = max(top, n)
		}
	}
	for len(t.byIndex) <= top {
		t.byIndex = append(t.byIndex, noFamily)
	}
	rowOf := make([]int32, top+1) // row+1, 0: no row
	for i := range rows {
		if rows[i].State != flight.ScopeFree && int(rows[i].Index) <= top {
			rowOf[rows[i].Index] = int32(i) + 1
		}
	}
	var path []int32
	for i := range rows {
		at := rows[i].Index
		if int(at) > top || rowOf[at] == 0 || t.byIndex[at] != noFamily {
			continue
		}
		// Up to the first scope that has a place; then down again.
		path = path[:0]
		parent := int32(0)
		for {
			if f := t.byIndex[at]; f >= 0 {
				parent = f
				break
			}
			if t.byIndex[at] == onPath {
				t.broken++
				break
			}
			row := rowOf[at] - 1
			if row < 0 {
				t.broken++
				break
			}
			t.byIndex[at] = onPath
			path = append(path, row)
			if int(rows[row].Parent) > top {
				t.broken++
				break
			}
			at = rows[row].Parent
		}
		for _, row := range slices.Backward(path) {
			r := &rows[row]
			parent = t.place(parent, r)
			t.byIndex[r.Index] = parent
		}
	}
}

func (t *tree) place(parent int32, r *flight.ScopeRow) int32 {
	name := r.Name
	if t.templates {
		name = Template(name)
	}
	key := familyName{parent, name}
	f, ok := t.byName[key]
	if !ok {
		f = int32(len(t.families))
		t.families = append(t.families, family{
			parent: parent, name: name, id: r.ID, owner: r.Owner, policy: r.Policy, limit: int(r.Limit),
		})
		t.byName[key] = f
	}
	at := &t.families[f]
	at.count++
	at.queued += int(r.Queued)
	if d := r.Deadline; d != 0 && r.State != flight.ScopeClosed && (at.until == 0 || d < at.until) {
		at.until = d
	}
	return f
}

// scopes returns the families as the tree of a snapshot, and the position of each family in it. Without empty ones, those that have no thread, nor one below, are left out;
// their position is -1.
func (t *tree) scopes(empty bool) (scopes []Scope, position []int) {
	n := len(t.families)
	all := make([]Scope, n)
	children := make([][]int32, n)
	keys := make([]hash, n)
	for i := range t.families {
		f := &t.families[i]
		s := &all[i]
		*s = Scope{Parent: -1, Name: f.name, Count: f.count, States: f.states, Pins: f.pins, Queued: f.queued, Used: f.used}
		s.Own = f.states.Total()
		s.Total = s.Own
		up := newHash
		if f.parent >= 0 {
			s.Depth = all[f.parent].Depth + 1
			up = keys[f.parent]
			children[f.parent] = append(children[f.parent], int32(i))
		}
		keys[i] = up.word(f.name)
		s.Key = keys[i].String()
		if f.count == 1 && i > 0 {
			s.ID, s.Owner, s.Policy, s.Limit = f.id, f.owner, f.policy, f.limit
		}
	}
	for i := n - 1; i > 0; i-- {
		all[t.families[i].parent].Total += all[i].Total
	}
	scopes = make([]Scope, 0, n)
	position = make([]int, n)
	for i := range position {
		position[i] = -1
	}
	todo := []int32{0}
	for len(todo) > 0 {
		i := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if p := t.families[i].parent; p >= 0 {
			all[i].Parent = position[p]
		}
		position[i] = len(scopes)
		scopes = append(scopes, all[i])
		slices.SortFunc(children[i], func(a, b int32) int {
			if c := cmp.Compare(all[a].Total, all[b].Total); c != 0 {
				return c // the last is taken first
			}
			return naturally(all[b].Name, all[a].Name)
		})
		for _, c := range children[i] {
			if empty || all[c].Total > 0 {
				todo = append(todo, c)
			}
		}
	}
	return scopes, position
}

// naturally compares names as people do: batch-2 comes before batch-10.
func naturally(a, b string) int {
	digits := func(s string) int {
		n := 0
		for n < len(s) && '0' <= s[n] && s[n] <= '9' {
			n++
		}
		return n
	}
	x, y := a, b
	for x != "" && y != "" {
		if i, j := digits(x), digits(y); i > 0 && j > 0 {
			m, n := strings.TrimLeft(x[:i], "0"), strings.TrimLeft(y[:j], "0")
			if c := cmp.Or(cmp.Compare(len(m), len(n)), cmp.Compare(m, n)); c != 0 {
				return c
			}
			x, y = x[i:], y[j:]
			continue
		}
		if x[0] != y[0] {
			return cmp.Compare(x[0], y[0])
		}
		x, y = x[1:], y[1:]
	}
	return cmp.Or(cmp.Compare(len(x), len(y)), cmp.Compare(len(a), len(b)), cmp.Compare(a, b))
}
