package agent

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vtscope/vtscope/dump"
	"github.com/vtscope/vtscope/runtime/flight"
)

// lone is a follower that nothing runs.
func lone(every time.Duration) *follower {
	f := &follower{agent: &Agent{options: Options{Interval: every}, meter: newMeter()}, key: "1-1", history: timeline{most: 10}, seen: noSurvey(), share: usualShare}
	f.mu.wake = make(chan struct{})
	return f
}

// lookOf is a look that has no more than a snapshot.
func lookOf(s *dump.Snapshot) *dump.Look {
	return &dump.Look{Snapshot: s, Taken: s.Taken, Took: s.Took}
}

func TestCostlySnapshotsAreTakenMoreRarelyAndThePageSaysSo(t *testing.T) {
	f := lone(time.Second)
	f.watched.Add(1)
	for _, c := range []struct{ cost, every time.Duration }{
		{50 * time.Millisecond, time.Second},
		{250 * time.Millisecond, time.Second},
		{251 * time.Millisecond, 2 * time.Second},
		{2 * time.Second, 8 * time.Second},
	} {
		f.take(result{look: lookOf(&dump.Snapshot{Took: time.Minute, Taken: time.Now()}), cost: c.cost}) // a busy machine
		if got := f.every(); got != c.every {
			t.Errorf("a snapshot that used %v: the next after %v, want %v", c.cost, got, c.every)
		}
		note := f.newView(flight.Process{}).header(Cost{}, time.Second).Snapshot.Note
		if told := note != ""; told != (c.every > time.Second) {
			t.Errorf("a snapshot that used %v: the note %q", c.cost, note)
		}
	}
}

func TestAProcessThatNobodyLooksAtGetsFewerSnapshots(t *testing.T) {
	f := lone(time.Second)
	if got := f.every(); got != unwatched*time.Second {
		t.Errorf("unwatched: a snapshot each %v, want each %v", got, unwatched*time.Second)
	}
	f.kick = make(chan struct{}, 1)
	f.enter()
	if got := f.every(); got != time.Second {
		t.Errorf("watched: a snapshot each %v, want each second", got)
	}
	if len(f.kick) != 1 {
		t.Error("who comes to look does not cause a snapshot")
	}
}

func TestAFailedSnapshotIsToldAndTheOneBeforeStays(t *testing.T) {
	f := lone(time.Second)
	f.take(result{look: lookOf(&dump.Snapshot{Threads: 7, Taken: time.Now()})})
	f.take(result{err: errors.New("cut short")})
	if v := f.newView(flight.Process{}); v.snapshot.Threads != 7 || !strings.Contains(v.problem, "cut short") {
		t.Errorf("snapshot %+v, problem %q; want the old one and the reason", v.snapshot, v.problem)
	}
	f.take(result{look: lookOf(&dump.Snapshot{Threads: 8, Taken: time.Now()})})
	if v := f.newView(flight.Process{}); v.snapshot.Threads != 8 || v.problem != "" {
		t.Errorf("snapshot %+v, problem %q; want the new one and none", v.snapshot, v.problem)
	}
}

func TestChangesAreOverHalfAMinuteAndBaselinesAreFew(t *testing.T) {
	f := lone(time.Second)
	at := time.Now()
	var over time.Duration
	for i := range 300 {
		s := &dump.Snapshot{Taken: at.Add(time.Duration(i) * time.Second), Scopes: []dump.Scope{{Key: "r", Parent: -1, Total: i}}}
		f.take(result{look: lookOf(s)})
		over = s.ChangeOver
		if i > 60 {
			if over < compareOver-compareStep || over > compareOver+compareStep {
				t.Fatalf("snapshot %d is compared over %v, want about %v", i, over, compareOver)
			}
			if got, want := s.Scopes[0].Change, int(over/time.Second); got != want {
				t.Fatalf("change %d, want %d", got, want)
			}
		}
		if len(f.lineage.baselines) > 5 {
			t.Fatalf("%d baselines are kept, want at most 5", len(f.lineage.baselines))
		}
	}
}

func TestTheTimeLineIsBoundedAndGivesEachPointOnce(t *testing.T) {
	line := timeline{most: 10}
	line.add(time.Now(), nil, counters{}, happened{})
	if len(line.points) != 0 {
		t.Fatal("a point without a snapshot")
	}
	s := &dump.Snapshot{}
	var got []int
	next := ^uint64(0)
	resets := 0
	for i := range 100 {
		s.States[flight.StateParked] = i
		line.add(time.Now(), s, counters{}, happened{})
		if i%3 != 0 {
			continue // this client is slow
		}
		points, n, reset := line.since(next)
		if reset {
			resets++
			got = nil
		}
		for _, p := range points {
			got = append(got, p.counts[flight.StateParked])
		}
		next = n
	}
	if resets != 1 {
		t.Errorf("%d resets, want the first only", resets)
	}
	for i, v := range got {
		if v != i {
			t.Fatalf("point %d is %d, want each once and in order: %v", i, v, got)
		}
	}
	if len(line.points) > 2*line.most {
		t.Errorf("%d points are kept, want at most %d", len(line.points), 2*line.most)
	}
	for range 20 {
		line.add(time.Now(), s, counters{}, happened{})
	}
	if points, _, reset := line.since(next); !reset || len(points) != 10 {
		t.Errorf("a client that lacks forgotten points gets %d, reset %v; want all 10 and a reset", len(points), reset)
	}
}

func TestTheTreeIsCutToTheLargestScopesWithTheirParents(t *testing.T) {
	s := &dump.Snapshot{Scopes: []dump.Scope{{Name: "root", Parent: -1, Count: 1}}}
	for i := range 1000 {
		at := len(s.Scopes)
		s.Scopes = append(s.Scopes,
			dump.Scope{Name: fmt.Sprint("a", i), Key: fmt.Sprint("a", i), Parent: 0, Depth: 1, Count: 1, Own: 1, Total: 1 + i},
			dump.Scope{Name: "b", Key: fmt.Sprint("b", i), Parent: at, Depth: 2, Count: 3, Own: i, Total: i},
		)
		s.Scopes[0].Total += 1 + i
	}
	for i := range s.Scopes {
		s.Scopes[i].States[flight.StateParked] = s.Scopes[i].Own
	}
	v := &view{snapshot: s}
	tree := v.tree(&Subscription{})
	if len(tree.Rows) != limits.Scopes {
		t.Fatalf("%d rows, want %d", len(tree.Rows), limits.Scopes)
	}
	paths := map[string]bool{}
	sum := tree.Rest.Threads
	for _, row := range tree.Rows {
		if up := strings.LastIndex(row.Path, "/"); up > 0 && !paths[row.Path[:up]] {
			t.Errorf("%s stands without its parent", row.Path)
		}
		paths[row.Path] = true
		sum += row.Own
	}
	if sum != s.Scopes[0].Total {
		t.Errorf("the rows and the rest have %d threads, want %d", sum, s.Scopes[0].Total)
	}
	if got := tree.Rows[0].Counts[flight.StateParked]; got != s.Scopes[0].Total {
		t.Errorf("root counts %d parked in and below, want %d", got, s.Scopes[0].Total)
	}
	if at := v.scope("root/a999/b"); at < 0 || s.Scopes[at].Key != "b999" {
		t.Errorf("the path root/a999/b names %d, want b999", at)
	}
	if at := v.scope("b7"); at < 0 || s.Scopes[at].Key != "b7" {
		t.Errorf("the key b7 names %d", at)
	}
}

func TestGroupsAreCutButTheChosenOneIsAmongThem(t *testing.T) {
	s := &dump.Snapshot{
		Scopes: []dump.Scope{{Name: "root", Parent: -1}, {Name: "a", Parent: 0, Depth: 1}, {Name: "b", Parent: 1, Depth: 2}, {Name: "c", Parent: 0, Depth: 1}},
		Stacks: []dump.Stack{{Frames: []dump.Frame{{Func: "runtime.gopark", Internal: true}, {Func: "x.wait"}, {Func: "x.run"}}}},
		Rest:   dump.Rest{Groups: 2, Threads: 5},
	}
	for i := range 100 {
		s.Groups = append(s.Groups, dump.Group{Key: fmt.Sprint("g", i), Scope: 1 + i%3, Count: 100 - i, State: flight.StateParked})
	}
	v := &view{snapshot: s}
	all := v.groups("", "g99")
	if len(all.Rows) != limits.Groups+1 || all.Rows[limits.Groups].Key != "g99" {
		t.Errorf("%d rows, want %d and the chosen one last", len(all.Rows), limits.Groups)
	}
	sum := all.Rest.Threads
	for _, row := range all.Rows {
		sum += row.Count
	}
	if want := 5050 + 5; sum != want || all.Total != want {
		t.Errorf("rows and rest have %d threads, total %d; want %d", sum, all.Total, want)
	}
	for _, row := range v.groups("root/a", "").Rows {
		if row.Scope != "root/a" && row.Scope != "root/a/b" {
			t.Errorf("a group of %s among those of root/a", row.Scope)
		}
	}
	if g := v.groups("root/gone", ""); g.Missing == "" || len(g.Rows) != 0 {
		t.Errorf("groups of a closed scope: %+v, want a reason why there are none", g)
	}
	if st := v.stack("", all); st.Group != "g0" || len(st.Frames) != 3 || st.Row.Top != "x.wait" || st.Row.Caller != "x.run" {
		t.Errorf("stack of the largest group: %+v", st)
	}
	if st := v.stack("no such", all); st.Missing == "" || st.Row != nil {
		t.Errorf("stack of a group that is gone: %+v, want a reason", st)
	}
}

func TestTheChosenStackStaysWhileItHasThreads(t *testing.T) {
	with := func(counts ...int) *view {
		s := &dump.Snapshot{Scopes: []dump.Scope{{Name: "root", Parent: -1}}}
		for i, n := range counts {
			if n > 0 {
				s.Groups = append(s.Groups, dump.Group{Key: fmt.Sprint("g", i), Stack: -1, Count: n})
			}
		}
		slices.SortFunc(s.Groups, func(a, b dump.Group) int { return b.Count - a.Count })
		return &view{snapshot: s}
	}
	c := &client{}
	for i, step := range []struct {
		view *view
		want string
	}{
		{with(5, 3), "g0"}, {with(5, 9), "g0"}, {with(1, 9, 9), "g0"}, {with(0, 3, 9), "g2"}, {with(4, 3, 1), "g2"}, {with(), ""},
	} {
		if got := c.group(step.view); got != step.want {
			t.Errorf("step %d: the stack of %q, want %q", i, got, step.want)
		}
	}
	c.subscribe(Subscription{Group: "g1"})
	v := with(5, 3)
	if got := c.group(v); got != "g1" {
		t.Errorf("the client wants g1 and gets %q", got)
	}
}
