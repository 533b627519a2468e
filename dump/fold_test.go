package dump

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/vtscope/vtscope/runtime/flight"
)

func twoScopes() *tree {
	t := newTree()
	t.add([]flight.ScopeRow{row(0, 0, "root"), row(1, 0, "a"), row(2, 0, "a"), row(3, 0, "b")})
	return t
}

func identity(id flight.StackID) flight.StackID { return id }

func TestThreadsFoldByFamilyStackStateAndReason(t *testing.T) {
	f := newFolder(twoScopes(), 1000, Options{})
	same := flight.ThreadRow{State: flight.StateParked, Reason: flight.ReasonSleep, Stack: 5, Scope: 1, Since: 400}
	var rows []flight.ThreadRow
	add := func(change func(r *flight.ThreadRow)) {
		r := same
		r.ID = flight.ThreadID(len(rows) + 1)
		change(&r)
		rows = append(rows, r)
	}
	add(func(r *flight.ThreadRow) {})
	add(func(r *flight.ThreadRow) { r.Scope, r.Since = 2, 300 }) // a scope of the same name
	add(func(r *flight.ThreadRow) { r.Waker, r.Mounts, r.Name = 9, 7, 3 })
	add(func(r *flight.ThreadRow) { r.Stack = 6 })
	add(func(r *flight.ThreadRow) { r.State = flight.StateRunnable })
	add(func(r *flight.ThreadRow) { r.Reason = flight.ReasonPark })
	add(func(r *flight.ThreadRow) { r.Scope = 3 })
	add(func(r *flight.ThreadRow) { r.Scope = 0 })
	f.add(rows)
	groups := f.mergeEqualStacks(identity)
	if len(groups) != 6 || groups[0].waits.n != 3 {
		t.Fatalf("got %d groups, the first with %d threads; want 6 and 3", len(groups), groups[0].waits.n)
	}
	g := groups[0]
	if g.waits.min != 600 || g.waits.max != 700 || g.examples[0].id != 2 || g.kept != 3 {
		t.Errorf("got waits %d..%d, %d examples, first #%d; want 600..700, 3 and #2", g.waits.min, g.waits.max, g.kept, g.examples[0].id)
	}
}

func TestStaleStacksOfThreadsThatExecuteAreNotShown(t *testing.T) {
	f := newFolder(newTree(), 1000, Options{})
	for i, s := range []flight.State{flight.StateMounted, flight.StateNew, flight.StateDone} {
		f.add([]flight.ThreadRow{
			{ID: 1, State: s, Stack: 5, Reason: flight.ReasonSleep},
			{ID: 2, State: s, Stack: 6, Reason: flight.ReasonLock},
		})
		if len(f.groups) != i+1 || f.groups[i].key.stack != 0 || f.groups[i].key.reason != 0 {
			t.Fatalf("%s: got %+v, want one group without stack and reason", s, f.groups[i].key)
		}
	}
}

func TestRecordsThatMakeNoSenseAreCountedAndLeftOut(t *testing.T) {
	f := newFolder(newTree(), 1000, Options{})
	f.add([]flight.ThreadRow{{ID: 1, State: 200}, {ID: 2}, {ID: 3, State: flight.StateParked, Reason: 99, Since: 1 << 60}})
	if f.bad != 2 || len(f.groups) != 1 || f.groups[0].waits.wait(func(t flight.Ticks) time.Duration { return time.Duration(t) }).Max != 1 {
		t.Errorf("got %d bad and %+v, want 2 bad and a group that has waited for the least", f.bad, f.groups)
	}
}

func TestThreadsOfScopesOpenedMeanwhileFindTheirScope(t *testing.T) {
	tr := twoScopes()
	f := newFolder(tr, 1000, Options{})
	f.add([]flight.ThreadRow{{ID: 1, State: flight.StateParked, Scope: 8}, {ID: 2, State: flight.StateParked, Scope: 9}})
	if len(f.groups) != 0 {
		t.Fatalf("got %d groups before the scopes were read again, want none", len(f.groups))
	}
	tr.add([]flight.ScopeRow{row(8, 3, "new")})
	f.settle()
	if len(f.groups) != 2 || tr.families[f.groups[0].key.family].name != "new" || f.groups[1].key.family != 0 || f.unplaced != 1 {
		t.Errorf("got %+v, %d unplaced; want one in the new scope, one in the root, 1 unplaced", f.groups, f.unplaced)
	}
}

func TestGroupsBeyondTheBoundAreOnlyCounted(t *testing.T) {
	tr := twoScopes()
	f := newFolder(tr, 1000, Options{MaxGroups: 10})
	for i := range 100 {
		f.add([]flight.ThreadRow{{ID: 1, State: flight.StateParked, Scope: 1, Stack: flight.StackID(i % 50)}})
	}
	f.sum()
	n := 0
	for _, g := range f.groups {
		n += g.waits.n
	}
	if len(f.groups) != 10 || n != 20 || f.over != 80 || tr.families[1].states.Total() != 100 {
		t.Errorf("got %d groups with %d threads, %d over, %d in the scope; want 10, 20, 80, 100",
			len(f.groups), n, f.over, tr.families[1].states.Total())
	}
}

func TestExamplesAreTheLongestWaiting(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for _, limit := range []int{-1, 0, 1, 3, 5, 9} {
		want := min(max(limit, 0), maxExamples)
		if limit == 0 {
			want = maxExamples
		}
		f := newFolder(newTree(), 10_000, Options{Examples: limit})
		for _, since := range rng.Perm(1000) {
			// Two stacks that look the same, to pass through merge as well.
			f.add([]flight.ThreadRow{{ID: flight.ThreadID(since), State: flight.StateParked, Since: flight.Ticks(since + 1), Stack: flight.StackID(1 + rng.IntN(2))}})
		}
		g := f.mergeEqualStacks(func(flight.StackID) flight.StackID { return 1 })
		if len(g) != 1 || g[0].waits.n != 1000 || int(g[0].kept) != want {
			t.Fatalf("limit %d: got %d groups, %d threads, %d examples; want 1, 1000, %d", limit, len(g), g[0].waits.n, g[0].kept, want)
		}
		for i, e := range g[0].examples[:g[0].kept] {
			if e.id != flight.ThreadID(i) {
				t.Errorf("limit %d: example %d: got #%d, want #%d", limit, i, e.id, i)
			}
		}
	}
}

func BenchmarkFold(b *testing.B) {
	for _, bench := range []struct {
		name           string
		scopes, stacks int
	}{{"groups=1", 1, 1}, {"groups=100", 10, 10}, {"groups=10000", 1000, 10}} {
		b.Run(bench.name, func(b *testing.B) {
			scopes := []flight.ScopeRow{row(0, 0, "root")}
			for i := range bench.scopes {
				scopes = append(scopes, row(flight.ScopeIndex(i+1), 0, Thousands(i)))
			}
			rows := make([]flight.ThreadRow, 16384)
			for i := range rows {
				rows[i] = flight.ThreadRow{
					ID: flight.ThreadID(i + 1), State: flight.StateParked, Since: flight.Ticks(i * 1000),
					Scope: flight.ScopeIndex(i%bench.scopes + 1), Stack: flight.StackID(i/bench.scopes%bench.stacks + 1),
				}
			}
			b.ReportAllocs()
			for b.Loop() {
				t := newTree()
				t.add(scopes)
				f := newFolder(t, 1<<40, Options{})
				for range 61 {
					f.add(rows)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/61/16384, "ns/thread")
		})
	}
}
