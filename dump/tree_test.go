package dump

import (
	"cmp"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/vtscope/vtscope/runtime/flight"
)

func row(index, parent flight.ScopeIndex, name string) flight.ScopeRow {
	return flight.ScopeRow{Index: index, Parent: parent, ID: flight.ScopeID(index), Name: name, State: flight.ScopeOpen}
}

// outline writes the tree as name×count lines, indented.
func outline(t *tree) string {
	scopes, _ := t.scopes(true)
	var b strings.Builder
	for _, s := range scopes {
		b.WriteString(strings.Repeat(" ", s.Depth) + s.Name)
		if s.Count != 1 {
			b.WriteString(" ×" + Thousands(s.Count))
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func TestSiblingScopesOfOneNameFold(t *testing.T) {
	tr := newTree()
	tr.add([]flight.ScopeRow{
		row(0, 0, "root"),
		row(7, 3, "fetch"), // children may stand before their parents
		row(1, 0, "shop"),
		row(2, 1, "checkout"), row(3, 1, "checkout"), row(4, 1, "cart"),
		row(5, 2, "fetch"), row(6, 2, "store"),
	})
	want := "root\n shop\n  cart\n  checkout ×2\n   fetch ×2\n   store\n"
	if got := outline(tr); got != want || tr.broken != 0 {
		t.Errorf("got %d broken and\n%s\nwant 0 and\n%s", tr.broken, got, want)
	}
}

func TestScopesReadAgainKeepTheirPlaceAndAddNewOnes(t *testing.T) {
	tr := newTree()
	tr.add([]flight.ScopeRow{row(0, 0, "root"), row(1, 0, "a"), row(2, 1, "b")})
	tr.add([]flight.ScopeRow{row(0, 0, "root"), row(2, 0, "other"), row(3, 1, "d"), row(9, 2, "c")})
	want := "root\n a\n  b\n   c\n  d\n"
	if got := outline(tr); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestCyclesAndDanglingParentsHangBelowTheRoot(t *testing.T) {
	tr := newTree()
	tr.add([]flight.ScopeRow{
		row(0, 0, "root"),
		row(1, 2, "one"), row(2, 3, "two"), row(3, 1, "three"),
		row(4, 4, "own parent"),
		row(5, 77, "lost"), row(6, 1<<31, "far"), row(1<<31, 0, "beyond"),
		{Index: 8, Parent: 0, State: flight.ScopeFree, Name: "free"}, row(9, 8, "child of a free scope"),
	})
	if tr.broken != 5 {
		t.Errorf("broken: got %d, want 5", tr.broken)
	}
	got := outline(tr)
	for _, name := range []string{"one", "two", "three", "own parent", "lost", "far", "child of a free scope"} {
		if strings.Count(got, name+"\n") != 1 {
			t.Errorf("%s: want it once in\n%s", name, got)
		}
	}
	if strings.Contains(got, "free\n") || strings.Contains(got, "beyond") {
		t.Errorf("want no free scope and none beyond the bound in\n%s", got)
	}
}

func TestNamesSortAsPeopleCount(t *testing.T) {
	names := []string{"", "a", "a0", "a00", "a2", "a02", "a10", "a10b2", "a10b10", "ab", "b", "b99999999999999999999998", "b99999999999999999999999"}
	for i, a := range names {
		for j, b := range names {
			got, want := naturally(a, b), cmp.Compare(i, j)
			if got != want {
				t.Errorf("%q and %q: got %d, want %d", a, b, got, want)
			}
		}
	}
}

func TestRandomTablesOfScopesMakeATree(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 2000 {
		var rows []flight.ScopeRow
		n := rng.IntN(20)
		for range n {
			rows = append(rows, flight.ScopeRow{
				Index: flight.ScopeIndex(rng.IntN(n + 2)), Parent: flight.ScopeIndex(rng.IntN(n + 2)),
				Name: string(rune('a' + rng.IntN(3))), State: flight.ScopeState(rng.IntN(4)),
			})
		}
		tr := newTree()
		tr.add(rows)
		tr.add(rows[n/2:])
		scopes, position := tr.scopes(true)
		s := Snapshot{Scopes: scopes}
		if err := s.check(); err != nil {
			t.Fatalf("%v: %v", rows, err)
		}
		for i, at := range position {
			if scopes[at].Name != tr.families[i].name {
				t.Fatalf("position of family %d: got %q, want %q", i, scopes[at].Name, tr.families[i].name)
			}
		}
	}
}

func TestDeepChainOfScopesIsTakenAndPrinted(t *testing.T) {
	var rows []flight.ScopeRow
	const depth = 20_000
	for i := range flight.ScopeIndex(depth) {
		rows = append(rows, row(i, max(i, 1)-1, "s"))
	}
	tr := newTree()
	tr.add(rows)
	f := newFolder(tr, 100, Options{})
	for i := range flight.ScopeIndex(depth) {
		f.add([]flight.ThreadRow{{ID: flight.ThreadID(i + 1), State: flight.StateNew, Scope: i}})
	}
	f.sum()
	s := Snapshot{ScopeCount: depth}
	s.Scopes, _ = tr.scopes(true)
	for i, sc := range s.Scopes {
		if sc.Depth != i || sc.Total != depth-i {
			t.Fatalf("scope %d: got depth %d and %d threads, want %d and %d", i, sc.Depth, sc.Total, i, depth-i)
		}
	}
	s.Groups = []Group{{Scope: depth - 1, Stack: -1, Count: 1}}
	if b := text(t, &s, TextOptions{}); len(b) > pageBytes {
		t.Errorf("page: got %d bytes, want at most %d", len(b), pageBytes)
	}
}
