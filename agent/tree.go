package agent

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/vtscope/vtscope/dump"
)

// mostOpen is how many scopes a client may have open.
const mostOpen = 64

// A scopeOrder is a way to sort scopes with one parent: those with most of something first.
type scopeOrder struct {
	name, about string
	of          func(*branch) float64
}

var scopeOrders = []scopeOrder{
	{"threads", "most threads in and below first", func(b *branch) float64 { return float64(b.scope.Total) }},
	{"growth", "what gained most threads first", func(b *branch) float64 { return float64(b.scope.Change) }},
	{"oldest", "the thread that has waited longest first", func(b *branch) float64 { return float64(b.oldest) }},
	{"wait", "the longest wait of all threads in sum first", func(b *branch) float64 { return b.wait }},
	{"pins", "what was pinned most often first", func(b *branch) float64 { return float64(b.pins) }},
}

func orderTerms() (all []Term) {
	for _, o := range scopeOrders {
		all = append(all, Term{o.name, o.about})
	}
	return all
}

// orderOf returns the order of a name, or nil.
func orderOf(name string) *scopeOrder {
	i := slices.IndexFunc(scopeOrders, func(o scopeOrder) bool { return o.name == cmp.Or(name, scopeOrders[0].name) })
	if i < 0 {
		return nil
	}
	return &scopeOrders[i]
}

// checkTree says what is wrong about the order and the open scopes of a subscription; "": nothing.
func (s *Subscription) checkTree() string {
	if orderOf(s.Order) == nil {
		var names []string
		for _, o := range scopeOrders {
			names = append(names, o.name)
		}
		return fmt.Sprintf("there is no order %q, only %s", short(s.Order), strings.Join(names, ", "))
	}
	if len(s.Open) > mostOpen {
		return fmt.Sprintf("%d scopes are open, more than %d", len(s.Open), mostOpen)
	}
	for _, o := range s.Open {
		switch {
		case len(o.Scope) > longestName:
			return fmt.Sprintf("an open scope is %d bytes long, more than %d", len(o.Scope), longestName)
		case o.Rows < 0 || o.Rows > limits.Opened:
			return fmt.Sprintf("%d rows of an open scope: not between 0 and %d", o.Rows, limits.Opened)
		}
	}
	return ""
}

// A branch is a scope with those below it.
type branch struct {
	scope    *dump.Scope
	counts   dump.Counts
	oldest   time.Duration
	wait     float64
	pins     uint64
	children []int // in their order
	shown    bool
}

// branches returns a branch for each scope of a snapshot.
func branches(s *dump.Snapshot, order *scopeOrder) []branch {
	all := make([]branch, len(s.Scopes))
	for i := range s.Scopes {
		all[i] = branch{scope: &s.Scopes[i], counts: s.Scopes[i].States, pins: s.Scopes[i].Pins}
	}
	for i := range s.Groups {
		g := &s.Groups[i]
		if !waits(g.State) {
			continue // it waits for nothing
		}
		b := &all[g.Scope]
		b.oldest = max(b.oldest, g.Wait.Max)
		b.wait += max(float64(g.Wait.Median)*float64(g.Count), float64(g.Wait.Max))
	}
	for i := len(all) - 1; i > 0; i-- { // children come after their parents
		b, up := &all[i], &all[s.Scopes[i].Parent]
		up.counts.Add(&b.counts)
		up.oldest = max(up.oldest, b.oldest)
		up.wait += b.wait
		up.pins += b.pins
	}
	for i := 1; i < len(all); i++ {
		up := &all[s.Scopes[i].Parent]
		up.children = append(up.children, i)
	}
	for i := range all {
		slices.SortStableFunc(all[i].children, func(x, y int) int { return before(all, order, x, y) })
	}
	return all
}

func before(all []branch, order *scopeOrder, x, y int) int {
	return cmp.Or(cmp.Compare(order.of(&all[y]), order.of(&all[x])), cmp.Compare(all[y].scope.Total, all[x].scope.Total), cmp.Compare(x, y))
}

// tree is the tree of scopes: all of it if it is small, else those that come first in the order, and what leads to them. Children of the chosen scope and of open ones
// are in it however small they are.
func (v *view) tree(want *Subscription) *Scopes {
	order := orderOf(want.Order)
	out := &Scopes{Order: order.name, Rows: []ScopeRow{}}
	s := v.snapshot
	if s == nil || len(s.Scopes) == 0 {
		return out
	}
	all := branches(s, order)
	v.chooseRows(all, order, want)
	path := make([]string, 0, 16)
	var add func(i int)
	add = func(i int) {
		b := &all[i]
		path = append(path, b.scope.Name)
		row := scopeRow(b, strings.Join(path, "/"))
		if order.name == "oldest" || order.name == "wait" { // they grow all the time, and each change is sent
			row.Oldest, row.Wait = int64(b.oldest), b.wait
		}
		at := len(out.Rows)
		out.Rows = append(out.Rows, row)
		for _, c := range b.children {
			if all[c].shown {
				add(c)
				continue
			}
			out.Rows[at].Hidden++
			out.Rows[at].HiddenThreads += all[c].scope.Total
		}
		path = path[:len(path)-1]
	}
	add(0)
	for i := range all {
		if !all[i].shown {
			out.Rest.Rows += all[i].scope.Count
			out.Rest.Threads += all[i].scope.Own
		}
	}
	return out
}

// chooseRows marks the scopes that are shown. The parents of what is shown are shown too.
func (v *view) chooseRows(all []branch, order *scopeOrder, want *Subscription) {
	n := 0
	show := func(i, most int) {
		for ; i >= 0 && n < most && !all[i].shown; i = all[i].scope.Parent {
			all[i].shown = true
			n++
		}
	}
	show(0, 1)
	first := make([]int, len(all))
	for i := range first {
		first[i] = i
	}
	if len(first) > limits.Scopes {
		slices.SortFunc(first, func(x, y int) int { return before(all, order, x, y) })
	}
	for _, i := range first {
		way := 0 // of scopes that would be shown for this one
		for at := i; at >= 0 && !all[at].shown; at = all[at].scope.Parent {
			way++
		}
		if n+way <= limits.Scopes {
			show(i, limits.Scopes)
		}
		if n >= limits.Scopes {
			break
		}
	}
	open := append([]OpenScope{{want.Scope, limits.Scopes}}, want.Open...)
	for _, o := range open {
		at := v.scope(o.Scope)
		if at < 0 || o.Scope == "" {
			continue
		}
		if show(at, n+len(all)); n >= limits.Opened {
			return
		}
		for _, c := range all[at].children[:min(o.Rows, len(all[at].children))] {
			show(c, limits.Opened)
		}
	}
}

func scopeRow(b *branch, path string) ScopeRow {
	sc := b.scope
	row := ScopeRow{
		Key: sc.Key, Path: path, Name: sc.Name, Depth: sc.Depth, Fold: sc.Count,
		Own: sc.Own, Total: sc.Total, Change: sc.Change, Counts: append([]int(nil), b.counts[:]...),
		Pins: b.pins, Children: len(b.children),
	}
	if sc.Owner != 0 {
		row.Owner = "#" + strconv.FormatUint(uint64(sc.Owner), 10)
		if sc.OwnerName != "" {
			row.Owner += " " + strconv.Quote(sc.OwnerName)
		}
	}
	return row
}
