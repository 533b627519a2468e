package goroutines

import (
	"path"
	"slices"
	"strings"

	"github.com/vtscope/vtscope/dump/roster"
	"github.com/vtscope/vtscope/runtime/flight"
)

// A ScopeBy says what the scopes of goroutines are, which have none of their own.
type ScopeBy string

const (
	// ByCreator makes a tree of the go statements: a goroutine's scope is the statement that made it, within
	// the scope of the goroutine that executed the statement.
	ByCreator ScopeBy = "created"
	// ByLabels makes them of the labels of Go's profiler.
	ByLabels ScopeBy = "labels"
	// ByPackage makes them of the packages of the functions in which goroutines begin.
	ByPackage ScopeBy = "package"
)

// ScopeBys are the values of ScopeBy; the first is the default.
var ScopeBys = []ScopeBy{ByCreator, ByLabels, ByPackage}

// A Birth is what is known of how a goroutine came to be.
type Birth struct {
	ID, Parent uint64 // Parent is 0 if it is not known
	At         uint64 // identifies the go statement; 0: there is none, or it is not known
}

// Creators is the tree of go statements.
type Creators struct {
	out   *roster.Roster
	birth func(i int) Birth
	name  func(at uint64) string
	ids   []uint64            // of the goroutines, sorted
	known []flight.ScopeIndex // of the goroutines, plus 1; 0: not yet
	root  flight.ScopeIndex

	// By scope.
	sites []uint64
	above []flight.ScopeIndex
	depth []int
}

// deepest is how deep the tree is. What is further down is in the last scope: nobody reads a tree so deep, and a dump may lie.
const deepest = 100

// NewCreators returns the tree of n goroutines, below the scope root of a roster. birth tells of each, and they
// are sorted by their ids; name names a go statement, "" if that cannot be done.
func NewCreators(out *roster.Roster, root flight.ScopeIndex, n int, birth func(i int) Birth, name func(at uint64) string) *Creators {
	t := &Creators{out: out, birth: birth, name: name, root: root, ids: make([]uint64, n), known: make([]flight.ScopeIndex, n)}
	for i := range t.ids {
		t.ids[i] = birth(i).ID
	}
	return t
}

// Scope returns the scope of goroutine i. A goroutine that recursion has made is in the scope of the first.
func (t *Creators) Scope(i int) flight.ScopeIndex {
	var chain []int
	at := t.root
	for {
		if t.known[i] != 0 {
			at = t.known[i] - 1
			break
		}
		t.known[i] = t.root + 1 // of what lies: a circle ends here
		chain = append(chain, i)
		parent, ok := slices.BinarySearch(t.ids, t.birth(i).Parent)
		if !ok {
			break
		}
		i = parent
	}
	for _, i := range slices.Backward(chain) {
		at = t.below(at, t.birth(i).At)
		t.known[i] = at + 1
	}
	return at
}

// below returns the scope of a goroutine that a statement in a goroutine of a scope has made.
func (t *Creators) below(above flight.ScopeIndex, statement uint64) flight.ScopeIndex {
	if statement == 0 {
		return above
	}
	name := t.name(statement)
	if name == "" {
		return above
	}
	for at := above; at != t.root; at = t.above[at] {
		if t.sites[at] == statement {
			return at
		}
	}
	depth := 1
	if int(above) < len(t.depth) {
		depth += t.depth[above]
	}
	if depth > deepest {
		return above
	}
	at := t.out.Scope(above, name)
	if at == above {
		return above // there is no room for more scopes
	}
	for int(at) >= len(t.sites) {
		t.sites, t.above, t.depth = append(t.sites, 0), append(t.above, 0), append(t.depth, 0)
	}
	t.sites[at], t.above[at], t.depth[at] = statement, above, depth
	return at
}

// PackageOf returns the path of the package of a function, "" if its name has none.
func PackageOf(function string) string {
	dir, base := path.Split(function)
	if dot := strings.IndexByte(base, '.'); dot >= 0 {
		return dir + base[:dot]
	}
	return ""
}
