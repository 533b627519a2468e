package agent

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vtscope/vtscope/dump"
	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/flight/flighttest"
)

// forest has 300 scopes "big", each with a thread, then one "small" with 300 children that have a thread each too.
func forest() *view {
	s := &dump.Snapshot{Scopes: []dump.Scope{{Name: "root", Key: "root", Parent: -1, Count: 1}}}
	add := func(parent int, name string, own int) int {
		depth := s.Scopes[parent].Depth + 1
		s.Scopes = append(s.Scopes, dump.Scope{Name: name, Key: name, Parent: parent, Depth: depth, Count: 1, Own: own, Total: own})
		for at := parent; at >= 0; at = s.Scopes[at].Parent {
			s.Scopes[at].Total += own
		}
		return len(s.Scopes) - 1
	}
	for i := range 300 {
		add(0, fmt.Sprint("big", i), 1000+i)
	}
	small := add(0, "small", 0)
	for i := range 300 {
		at := add(small, fmt.Sprint("leaf", i), 1)
		s.Groups = append(s.Groups, dump.Group{Scope: at, Count: 1, State: flight.StateParked, Wait: dump.Wait{Median: time.Duration(i), Max: time.Duration(i)}})
		s.Scopes[at].Change, s.Scopes[at].Pins = i, uint64(i%7)
	}
	return &view{snapshot: s}
}

func names(t *Scopes) (all []string) {
	for _, row := range t.Rows {
		all = append(all, row.Name)
	}
	return all
}

func TestTheChildrenOfAChosenAndOfAnOpenScopeAreInTheTree(t *testing.T) {
	v := forest()
	usual := v.tree(&Subscription{})
	if len(usual.Rows) != limits.Scopes || slices.Contains(names(usual), "small") {
		t.Fatalf("%d rows, small among them: %v; want the %d largest", len(usual.Rows), slices.Contains(names(usual), "small"), limits.Scopes)
	}
	root := usual.Rows[0]
	if root.Children != 301 || root.Hidden != 301-199 || root.HiddenThreads == 0 {
		t.Errorf("root has %d children, %d hidden with %d threads; want 301 and 102", root.Children, root.Hidden, root.HiddenThreads)
	}
	for _, c := range []struct {
		what   string
		want   Subscription
		leaves int
	}{
		{"chosen", Subscription{Scope: "root/small"}, limits.Scopes},
		{"open", Subscription{Open: []OpenScope{{"small", 40}}}, 40},
		{"all open", Subscription{Open: []OpenScope{{"root/small", limits.Opened}}}, 300},
		{"not there", Subscription{Open: []OpenScope{{"gone", 10}}}, 0},
	} {
		tree := v.tree(&c.want)
		leaves, own := 0, 0
		for _, row := range tree.Rows {
			own += row.Own
			if strings.HasPrefix(row.Path, "root/small/leaf") {
				leaves++
			}
			if row.Name == "small" && row.Hidden != 300-c.leaves {
				t.Errorf("%s: small hides %d of its children, want %d", c.what, row.Hidden, 300-c.leaves)
			}
		}
		if leaves != c.leaves || own+tree.Rest.Threads != v.snapshot.Scopes[0].Total {
			t.Errorf("%s: %d leaves, and %d threads with the rest; want %d and %d", c.what, leaves, own+tree.Rest.Threads, c.leaves, v.snapshot.Scopes[0].Total)
		}
	}
}

func TestScopesAreSortedByWhatAClientAsksFor(t *testing.T) {
	v := forest()
	for order, first := range map[string]string{"": "big299", "threads": "big299", "growth": "small", "oldest": "small", "wait": "small", "pins": "small"} {
		tree := v.tree(&Subscription{Order: order, Scope: "root/small"})
		if got := tree.Rows[1].Name; got != first {
			t.Errorf("order %q: %s first, want %s", order, got, first)
		}
	}
	tree := v.tree(&Subscription{Order: "oldest"})
	if got := names(tree)[:3]; !slices.Equal(got, []string{"root", "small", "leaf299"}) {
		t.Errorf("by the oldest thread %v, want leaf299 first", got)
	}
	row := tree.Rows[1]
	if row.Oldest != 299 || row.Wait != 299*300/2 || row.Pins == 0 {
		t.Errorf("small has %+v, want the oldest wait 299 and 44850 in sum", row)
	}
	if tree.Order != "oldest" {
		t.Errorf("the tree says that it is sorted by %q", tree.Order)
	}
}

func TestWhatAClientOpensComes(t *testing.T) {
	file := flighttest.Write(t, small())
	a := start(t, Options{Dirs: []string{file.Dir}})
	tab := connect(t, serve(t, a))
	tab.say(`{"type":"subscribe","process":"","scope":"","group":"","order":"oldest","open":[{"scope":"root/shop","rows":1}]}`)
	tab.framesUntil("scopes by their oldest thread", func() bool {
		s := tab.whole.Scopes
		return s != nil && s.Order == "oldest" && len(s.Rows) == 4 && s.Rows[2].Name == "requests" && s.Rows[2].Oldest >= int64(time.Minute)
	})
	for _, wrong := range []string{`"order":"size"`, `"open":[{"scope":"x","rows":-1}]`, `"open":[` + strings.Repeat(`{"scope":"x","rows":1},`, mostOpen) + `{"scope":"x","rows":1}]`} {
		if _, p := parse(1, []byte(`{"type":"subscribe",`+wrong+`}`)); p == nil {
			t.Errorf("%s is taken", short(wrong))
		}
	}
}
