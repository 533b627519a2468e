package agent

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vtscope/vtscope/dump"
	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/flight/flighttest"
)

// viewOf is a view of a snapshot that is made up.
func viewOf(s *dump.Snapshot) *view { return &view{snapshot: s, shelf: &shelf{}} }

// snapshotOf is one of groups in the scopes root, root/a, root/a/b and root/c. Stacks are given as the functions from the outermost on; "" is none. A function that
// begins with "runtime." is internal.
func snapshotOf(groups ...dump.Group) func(stacks ...string) *dump.Snapshot {
	return func(stacks ...string) *dump.Snapshot {
		s := &dump.Snapshot{Groups: groups, Scopes: []dump.Scope{
			{Key: "r", Parent: -1, Name: "root"}, {Key: "a", Parent: 0, Depth: 1, Name: "a"}, {Key: "b", Parent: 1, Depth: 2, Name: "b"}, {Key: "c", Parent: 0, Depth: 1, Name: "c"},
		}}
		for _, text := range stacks {
			var st dump.Stack
			for i, name := range strings.Fields(text) {
				st.Frames = append([]dump.Frame{{Func: name, File: "/src/" + name + ".go", Line: i + 1, Internal: strings.HasPrefix(name, "runtime.")}}, st.Frames...)
			}
			s.Stacks = append(s.Stacks, st)
		}
		for i := range groups {
			s.Threads += groups[i].Count
		}
		return s
	}
}

func group(scope, stack, count int, state flight.State, wait time.Duration) dump.Group {
	return dump.Group{Key: fmt.Sprint(scope, stack, state), Scope: scope, Stack: stack, Count: count, State: state, Wait: dump.Wait{Min: wait, Median: wait, Max: wait}}
}

// callLines writes calls, a line each: the path of names, threads, own threads, and how many of them are in the state that most are in.
func callLines(c *Calls) string {
	var b strings.Builder
	paths := make([]string, len(c.Parents))
	for i, p := range c.Parents {
		if p >= 0 {
			paths[i] = paths[p] + "/" + c.Funcs[c.Calls[i]].Name
		} else {
			paths[i] = c.Funcs[c.Calls[i]].Name
		}
		fmt.Fprintf(&b, "%s:%d %d own %d, %d %s, %d ms\n", paths[i], c.Lines[i], c.Threads[i], c.Own[i], c.InState[i], flight.State(c.States[i]), c.WaitsMS[i])
	}
	return b.String()
}

func wantCalls(t *testing.T, c *Calls, want string) {
	t.Helper()
	if got := callLines(c); got != want {
		t.Errorf("calls\n%s\nwant\n%s", got, want)
	}
}

func mixed() *dump.Snapshot {
	s := snapshotOf(
		group(1, 0, 10, flight.StateParked, time.Second),
		group(2, 1, 5, flight.StateBlocked, 2*time.Second),
		group(3, 2, 3, flight.StateParked, time.Minute),
		group(0, -1, 2, flight.StateMounted, 0),
		group(3, 3, 1, flight.StateParked, 0),
	)("runtime.go main handle query runtime.park", "runtime.go main handle lock runtime.park", "main loop loop sleep", "tail")
	s.Stacks[3].Truncated = true
	return s
}

func TestStacksAreMergedFromTheOutermostCallOn(t *testing.T) {
	c := viewOf(mixed()).calls(callsOf{})
	wantCalls(t, c, `:0 21 own 0, 14 parked, 200000 ms
/[mounted]:0 2 own 2, 2 mounted, 0 ms
/[not recorded]:0 1 own 0, 1 parked, 0 ms
/[not recorded]/tail:1 1 own 1, 1 parked, 0 ms
/main:0 18 own 0, 13 parked, 200000 ms
/main/handle:3 15 own 0, 10 parked, 20000 ms
/main/handle/lock:4 5 own 5, 5 blocked, 10000 ms
/main/handle/query:4 10 own 10, 10 parked, 10000 ms
/main/loop:2 3 own 0, 3 parked, 180000 ms
/main/loop/loop:3 3 own 0, 3 parked, 180000 ms
/main/loop/loop/sleep:4 3 own 3, 3 parked, 180000 ms
`)
	if c.Total != 21 || c.WaitedMS != 200_000 || c.Missing != "" || c.Scope != "root" || c.Rest != (Rest{}) {
		t.Errorf("calls of %q, %d threads, %d ms, rest %+v, missing %q: want all 21 of root", c.Scope, c.Total, c.WaitedMS, c.Rest, c.Missing)
	}
	if c.Compared || len(c.Changes) != 0 {
		t.Errorf("changes %v since no snapshot", c.Changes)
	}
}

func TestRuntimeFramesAreShownOnDemand(t *testing.T) {
	c := viewOf(mixed()).calls(callsOf{scope: "root/a/b", runtime: true})
	wantCalls(t, c, `:0 5 own 0, 5 blocked, 10000 ms
/runtime.go:1 5 own 0, 5 blocked, 10000 ms
/runtime.go/main:2 5 own 0, 5 blocked, 10000 ms
/runtime.go/main/handle:3 5 own 0, 5 blocked, 10000 ms
/runtime.go/main/handle/lock:4 5 own 0, 5 blocked, 10000 ms
/runtime.go/main/handle/lock/runtime.park:5 5 own 5, 5 blocked, 10000 ms
`)
	if f := c.Funcs[c.Calls[1]]; f.Name != "runtime.go" || !f.Internal || f.File != "/src/runtime.go.go" {
		t.Errorf("function %+v, want the runtime's with its file", f)
	}
}

func TestCallersAndCalleesOfAFunctionAreMergedApart(t *testing.T) {
	v := viewOf(mixed())
	wantCalls(t, v.calls(callsOf{function: "handle"}), `handle:0 15 own 0, 10 parked, 20000 ms
handle/lock:4 5 own 5, 5 blocked, 10000 ms
handle/query:4 10 own 10, 10 parked, 10000 ms
`)
	wantCalls(t, v.calls(callsOf{function: "handle", outward: true}), `handle:0 15 own 0, 10 parked, 20000 ms
handle/main:2 15 own 15, 10 parked, 20000 ms
`)
	// A function that calls itself is split at its outermost call.
	wantCalls(t, v.calls(callsOf{function: "loop"}), `loop:0 3 own 0, 3 parked, 180000 ms
loop/loop:3 3 own 0, 3 parked, 180000 ms
loop/loop/sleep:4 3 own 3, 3 parked, 180000 ms
`)
	if c := v.calls(callsOf{function: "nowhere"}); !strings.Contains(c.Missing, "nowhere") || c.Total != 21 || len(c.Parents) != 0 {
		t.Errorf("calls of a function that nobody is in: missing %q of %d, %d calls", c.Missing, c.Total, len(c.Parents))
	}
	if c := v.calls(callsOf{scope: "root/gone"}); !strings.Contains(c.Missing, "root/gone") {
		t.Errorf("calls of a scope that is gone: missing %q", c.Missing)
	}
}

func TestCallsTellHowTheyChanged(t *testing.T) {
	v := viewOf(snapshotOf(group(1, 0, 10, flight.StateParked, 0), group(3, 1, 3, flight.StateParked, 0))("main query", "main other"))
	v.before = snapshotOf(group(1, 1, 4, flight.StateParked, 0), group(1, 0, 6, flight.StateParked, 0))("main gone", "main query")
	v.snapshot.ChangeOver = time.Second
	c := v.calls(callsOf{})
	wantCalls(t, c, `:0 13 own 0, 13 parked, 0 ms
/main:1 13 own 0, 13 parked, 0 ms
/main/other:2 3 own 3, 3 parked, 0 ms
/main/query:2 10 own 10, 10 parked, 0 ms
`)
	if want := []int{3, 3, 3, 6}; !c.Compared || !slices.Equal(c.Changes, want) {
		t.Errorf("changes %v, want %v: six threads left main/gone", c.Changes, want)
	}
	c = v.calls(callsOf{scope: "root/c"})
	if want := []int{3, 3, 3}; !slices.Equal(c.Changes, want) {
		t.Errorf("changes %v in a scope, want %v", c.Changes, want)
	}
}

// large is a million threads in 5,000 groups, with a hundred thousand different calls.
func large() *dump.Snapshot {
	random := rand.New(rand.NewPCG(3, 4))
	var groups []dump.Group
	var stacks []string
	for i := range 5_000 {
		groups = append(groups, group(random.IntN(4), i, 200, flight.StateParked, time.Duration(random.IntN(3600))*time.Second))
		var b strings.Builder
		for depth := range 30 {
			fmt.Fprintf(&b, "example.com/some/long/path.(*Type%d).method%d ", depth, random.IntN(2+depth*4))
		}
		stacks = append(stacks, b.String())
	}
	return snapshotOf(groups...)(stacks...)
}

func TestTheCallsOfAMillionThreadsAreCutAndSayWhatIsLeftOut(t *testing.T) {
	v := viewOf(large())
	v.before, v.snapshot.ChangeOver = v.snapshot, time.Second
	began := time.Now()
	c := v.calls(callsOf{})
	t.Logf("made in %v", time.Since(began))
	if len(c.Parents) != limits.Calls || c.Total != 1_000_000 || c.Threads[0] != 1_000_000 {
		t.Fatalf("%d calls of %d threads, want %d of a million", len(c.Parents), c.Total, limits.Calls)
	}
	if c.Rest.Rows < 50_000 {
		t.Errorf("%d calls are left out, want most of them", c.Rest.Rows)
	}
	left := append([]int{}, c.Threads...) // of each call: neither its own nor in one that is shown below
	for i, p := range c.Parents {
		left[i] -= c.Own[i]
		if p < 0 {
			continue
		}
		if p >= i || c.Threads[i] > c.Threads[p] || c.WaitsMS[i] > c.WaitsMS[p] {
			t.Fatalf("call %d of %d threads stands below call %d of %d", i, c.Threads[i], p, c.Threads[p])
		}
		left[p] -= c.Threads[i]
		if c.Changes[i] != 0 {
			t.Fatalf("call %d changed by %d since the same snapshot", i, c.Changes[i])
		}
	}
	sum := 0
	for i, n := range left {
		if n < 0 {
			t.Fatalf("the calls below call %d have %d threads more than it", i, -n)
		}
		sum += n
	}
	if sum != c.Rest.Threads || sum == 0 {
		t.Errorf("%d threads are in no call that is shown, rest tells %d", sum, c.Rest.Threads)
	}
	p := newPart(c, noRows)
	if len(p.json) > 400<<10 {
		t.Errorf("a frame has %d bytes of it", len(p.json))
	}
	next := *c
	next.WaitsMS = append([]int64{}, c.WaitsMS...)
	for i := range next.WaitsMS {
		next.WaitsMS[i] += int64(c.Threads[i])
	}
	if delta := newPart(&next, noRows).from(p); delta == nil || len(delta) > 40<<10 {
		t.Errorf("a second later a delta has %d bytes, of %d", len(delta), len(p.json))
	}
}

func TestThreadsWithoutAGroupAreTold(t *testing.T) {
	s := mixed()
	s.Rest = dump.Rest{Groups: 7, Threads: 70}
	if c := viewOf(s).calls(callsOf{}); c.Total != 91 || !strings.Contains(callLines(c), "/[more groups]:0 70 own 70") {
		t.Errorf("%d threads in\n%s\nwant 70 in more groups", c.Total, callLines(c))
	}
}

func TestAClientGetsCallsOnlyWhenItNamesThem(t *testing.T) {
	file := flighttest.Write(t, small())
	a := start(t, Options{Dirs: []string{file.Dir}})
	tab := connect(t, serve(t, a))
	tab.say(`{"type":"subscribe"}`)
	for range 5 {
		if f := tab.frame(); f.Flame != nil || f.Callers != nil {
			t.Fatal("calls come to a client that does not name them")
		}
	}
	tab.say(`{"type":"subscribe","panels":["flame","callers"],"filter":"state=parked"}`)
	tab.framesUntil("calls of the filter", func() bool {
		return tab.whole.Flame != nil && tab.whole.Flame.Filter != "" && tab.whole.Flame.Missing == ""
	})
	query := "example.com/shop.(*Store).query"
	if c := tab.whole.Flame; c.Total != 79 || !strings.Contains(callLines(c), "/example.com/shop.handle/"+query+":88 79 own 79") {
		t.Errorf("%d threads in\n%s\nwant 79 in query", c.Total, callLines(c))
	}
	if c := tab.whole.Callers; c == nil || len(c.Parents) != 0 {
		t.Errorf("callers %+v of no function", c)
	}
	b, err := json.Marshal(Subscription{Type: TypeSubscribe, Panels: []string{"flame", "callers"}, Scope: "root/shop", Func: query})
	if err != nil {
		t.Fatal(err)
	}
	tab.say(string(b))
	tab.framesUntil("callers", func() bool { return len(tab.whole.Callers.Parents) == 2 })
	if c := tab.whole.Callers; !c.Outward || c.Scope != "root/shop" || c.Total != 99 || c.Funcs[c.Calls[1]].Name != "example.com/shop.handle" {
		t.Errorf("callers in %q of %d threads:\n%s", c.Scope, c.Total, callLines(c))
	}
	for _, wrong := range []string{`{"type":"subscribe","groupOrder":"name"}`, `{"type":"subscribe","func":"` + strings.Repeat("x", longestName+1) + `"}`} {
		tab.say(wrong)
		var p Problem
		for p.Type != TypeError {
			if err := json.Unmarshal(tab.read(), &p); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func TestCallsOfAMomentOfThePastAreThoseOfThen(t *testing.T) {
	file := flighttest.Write(t, small())
	a := start(t, Options{Dirs: []string{file.Dir}})
	tab := connect(t, serve(t, a))
	tab.say(`{"type":"subscribe","panels":["flame","groups"]}`)
	tab.framesUntil("something to compare with", func() bool {
		return tab.whole.Flame != nil && tab.whole.Flame.Compared && tab.whole.Process.Snapshot.ChangeOver > 0 && tab.whole.Process.Counts[flight.StateBlocked] == 20
	})
	then := tab.whole.Process.Snapshot.Time
	keep(t, a, then)
	for _, rec := range file.Records[80:] {
		rec.Parked(flight.Now(), flight.StateParked, flight.ReasonPark, file.Stacks[0], 0)
	}
	tab.framesUntil("all in query", func() bool { return strings.Contains(callLines(tab.whole.Flame), "query:88 99 own 99, 99 parked") })
	if c := tab.whole.Flame; !slices.Contains(c.Changes, 20) {
		t.Errorf("changes %v, want 20 more in query", c.Changes)
	}
	b, err := json.Marshal(Subscription{Type: TypeSubscribe, Panels: []string{"flame", "moment"}, At: then})
	if err != nil {
		t.Fatal(err)
	}
	tab.say(string(b))
	tab.framesUntil("as it was", func() bool { return strings.Contains(callLines(tab.whole.Flame), "query:88 79 own 79, 79 parked") })
	if c := tab.whole.Flame; !c.Compared || slices.ContainsFunc(c.Changes, func(n int) bool { return n != 0 }) {
		t.Errorf("changes %v until then, compared %v; want none", c.Changes, c.Compared)
	}
}

func TestGroupsComeInTheOrderThatAClientWants(t *testing.T) {
	old, fast, growing := group(1, 0, 5, flight.StateParked, time.Hour), group(1, 1, 50, flight.StateParked, time.Second), group(3, 1, 20, flight.StateBlocked, time.Minute)
	growing.Change, fast.Change = 15, -3
	v := viewOf(snapshotOf(fast, growing, old)("main old", "main fast"))
	for order, want := range map[string][]int{"": {50, 20, 5}, "change": {20, 5, 50}, "wait": {5, 20, 50}} {
		g := v.groupsBy(order, "", "")
		var got []int
		for _, row := range g.Rows {
			got = append(got, row.Count)
		}
		if !slices.Equal(got, want) || g.Order != order || g.Total != 75 {
			t.Errorf("by %q: %v of %d, want %v of 75", order, got, g.Total, want)
		}
	}
}

func BenchmarkCalls(b *testing.B) {
	v := viewOf(large())
	v.before, v.snapshot.ChangeOver = v.snapshot, time.Second
	for b.Loop() {
		v.calls(callsOf{})
	}
}
