package dump_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/vtscope/vtscope/dump"
	"github.com/vtscope/vtscope/dump/filter"
	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/flight/flighttest"
)

// till is a flight file in which 20 clerks wait for the till that #2 "cashier" has, who waits for the end of #1.
func till(t *testing.T) string {
	lock := flight.BlockLock(0xc000010000)
	return flighttest.Write(t, flighttest.Spec{
		Scopes: []flighttest.Scope{{Name: "shop", Owner: 2}, {Name: "GET /cart", Parent: 1}},
		Stacks: []flighttest.Stack{
			{{Func: "example.org/shop.(*Till).Open", File: "/src/till.go", Line: 7}, {Func: "example.org/shop.serve", File: "/src/serve.go", Line: 12}},
			{{Func: "github.com/vtscope/vtscope/runtime/vthread.Join", File: "/go/join.go", Line: 3, Internal: true}, {Func: "example.org/shop.run", File: "/src/run.go", Line: 30}},
		},
		Blockers: []flighttest.Blocker{{Blocker: lock, Name: "till", Made: 1, Holders: []flighttest.Holder{{Party: flight.PartyThread(2), Age: time.Minute}}}},
		Threads:  22,
		Thread: func(i int) flighttest.Thread {
			switch i {
			case 0:
				return flighttest.Thread{Name: "main", State: flight.StateMounted, Carrier: 3}
			case 1:
				return flighttest.Thread{
					Name: "cashier", Scope: 1, Stack: 2, State: flight.StateWaiting, Reason: flight.ReasonJoin, Blocker: flight.BlockThread(1), Age: time.Hour,
					Creator: 1, Mounts: 3,
				}
			}
			return flighttest.Thread{
				Name: fmt.Sprint("clerk ", i), Scope: 2, Stack: 1, State: flight.StateBlocked, Reason: flight.ReasonLock, Blocker: lock,
				Age: time.Duration(i) * time.Second, Limited: i%2 == 0,
			}
		},
	}).Path
}

func threadReport(t *testing.T, path string, id flight.ThreadID) *dump.ThreadReport {
	t.Helper()
	r, err := dump.TakeThread(t.Context(), open(t, path), id)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestAThreadReportTellsWhatTheThreadWaitsForAndWhoWaitsForIt(t *testing.T) {
	path := till(t)
	r := threadReport(t, path, 2)
	if !r.Complete || r.ID != 2 || r.Name != "cashier" || !reflect.DeepEqual(r.Scope, []string{"shop"}) || r.State != "waiting" || r.Reason != "join" || r.Kind != "virtual" ||
		r.Wait < time.Hour || r.Mounts < 3 {
		t.Errorf("got %+v", r)
	}
	if f := r.For; f == nil || f.Thing != "thread #1" || len(f.Holders) != 1 || f.Holders[0].Name != "main" || f.Holders[0].State != "mounted" {
		t.Errorf("waits for: got %+v", f)
	}
	if r.Creator == nil || r.Creator.Name != "main" {
		t.Errorf("got creator %+v", r.Creator)
	}
	if len(r.Owns) != 1 || r.Owns[0].Threads != 1 || !reflect.DeepEqual(r.Owns[0].Scope, []string{"shop"}) {
		t.Errorf("owns: got %+v", r.Owns)
	}
	if len(r.Waiters) != 1 || r.Waiters[0].Count != 20 || r.Waiters[0].Thing != `lock "till"` || r.Waiters[0].Example.Name != "clerk 21" || r.Waiters[0].Longest < 21*time.Second {
		t.Errorf("waited for by: got %+v", r.Waiters)
	}
	if r.Stack == nil || len(r.Stack.Frames) != 2 || !r.Stack.Frames[0].Internal {
		t.Errorf("stack: got %+v", r.Stack)
	}

	r = threadReport(t, path, 6)
	f := r.For
	if f == nil || f.Thing != `lock "till"` || f.Made == nil || f.Made.Line != 7 || f.Held != 1 || len(f.Holders) != 1 || len(r.Waiters) != 0 {
		t.Fatalf("got %+v and %+v", f, r.Waiters)
	}
	if h := f.Holders[0]; h.Thread != 2 || h.Name != "cashier" || h.State != "waiting" || h.Held < time.Minute {
		t.Errorf("held by: got %+v", h)
	}
	if r = threadReport(t, path, 1); r.State != "mounted" || r.Stack != nil || r.For != nil || len(r.Waiters) != 1 || r.Waiters[0].Example.Thread != 2 || r.Carrier == nil || *r.Carrier != 3 {
		t.Errorf("of a thread that executes: got %+v", r)
	}
}

func TestThreadTextIsReadTopDown(t *testing.T) {
	path := till(t)
	for id, want := range map[flight.ThreadID][]string{
		2: {"thread #2 \"cashier\"\n", "\nstate       waiting for 1 h, ", "   join\n", "\nscope       shop\n", "\nwaits for   thread #1\n  that is   #1 \"main\", mounted for ",
			"by #1 \"main\"\n", "owns        scope ", "\"shop\" with 1 thread\n", "\nawaited by  #22 \"clerk 21\" and 19 others for lock \"till\", for up to ",
			"\n\nvthread.Join  /go/join.go:3\nshop.run      /src/run.go:30\n"},
		5: {"\nstate       blocked for ", "\nwaits for   lock \"till\", with a time limit, made at shop.(*Till).Open till.go:7\n  held by   #2 \"cashier\" in shop, waiting for 1 h, holds it for "},
		1: {"\nstate       mounted for ", "\nno stack is known\n"},
	} {
		var b bytes.Buffer
		if err := dump.ThreadText(&b, threadReport(t, path, id), dump.TextOptions{}); err != nil {
			t.Fatal(err)
		}
		for _, w := range want {
			if !strings.Contains(b.String(), w) {
				t.Errorf("#%d: want %q in\n%s", id, w, b.String())
			}
		}
		var ascii bytes.Buffer
		if err := dump.ThreadText(&ascii, threadReport(t, path, id), dump.TextOptions{ASCII: true, Width: 50, Depth: 1}); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(ascii.String()) {
			if n := dump.Columns(strings.TrimSuffix(line, "\n")); n > 50 || line != dump.ASCII(line) {
				t.Errorf("#%d: line of %d columns: %q", id, n, line)
			}
		}
	}
}

func TestAThreadThatIsNotThereIsAnErrorOfItsOwn(t *testing.T) {
	_, err := dump.TakeThread(t.Context(), open(t, till(t)), 4711)
	var no dump.NoThreadError
	if !errors.As(err, &no) || no.ID != 4711 || no.Threads != 22 {
		t.Errorf("got %v", err)
	}
}

func TestAGroupReportTellsWhatItsThreadsHaveInCommon(t *testing.T) {
	path := till(t)
	s := take(t, path, dump.Options{})
	g, err := dump.TakeGroup(t.Context(), open(t, path), s.Groups[0].Key, dump.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if !g.Complete || g.Count != 20 || g.Others != 2 || !reflect.DeepEqual(g.Scope, []string{"shop", "GET /cart"}) || g.State != "blocked" || g.Reason != "lock" ||
		!reflect.DeepEqual(g.Blockers, []dump.Share{{Value: `lock "till"`, Count: 20}}) || !reflect.DeepEqual(g.Names, []dump.Share{{Value: "clerk *", Count: 20}}) {
		t.Errorf("got %+v", g)
	}
	var n uint64
	for _, w := range g.Waits {
		n += w
	}
	if n != 20 || g.Wait.Min < 2*time.Second || g.Wait.Max < 21*time.Second || g.Wait.Max > 10*time.Minute {
		t.Errorf("got waits of %d threads, %+v", n, g.Wait)
	}
	ids := func(all []dump.Example) (ids []flight.ThreadID) {
		for _, e := range all {
			ids = append(ids, e.ID)
		}
		return ids
	}
	if got := ids(g.Oldest); !reflect.DeepEqual(got, []flight.ThreadID{22, 21, 20, 19, 18}) || g.Oldest[0].Name != "clerk 21" {
		t.Errorf("oldest: got %v", g.Oldest)
	}
	if got := ids(g.Newest); !reflect.DeepEqual(got, []flight.ThreadID{3, 4, 5, 6, 7}) {
		t.Errorf("newest: got %v", g.Newest)
	}
	if got := ids(g.Random); len(got) != 5 {
		t.Errorf("random: got %v", g.Random)
	}

	var b bytes.Buffer
	if err := dump.GroupText(&b, g, dump.TextOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"group " + g.Key + "  20 threads, 2 others\n", "\nscope       shop/GET /cart\n", "\nwait for    20  lock \"till\"\n", "\ncalled      20  clerk *\n", "\nwaits  ",
		"█", "\noldest      #22 \"clerk 21\"   ", "\nnewest      #3 \"clerk 2\"   ", "\nrandom      #", "\nshop.(*Till).Open  /src/till.go:7\n"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("want %q in\n%s", want, b.String())
		}
	}

	f, err := filter.Parse("wait>10m")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := dump.TakeGroup(t.Context(), open(t, path), g.Key, dump.Options{Filter: f}); !errors.As(err, new(dump.NoGroupError)) {
		t.Errorf("of no thread: got %v", err)
	}
	of, err := dump.GroupOf(s, g.Key)
	if err != nil || of.Count != 20 || of.Others != 2 || len(of.Oldest) != 5 || !reflect.DeepEqual(of.Stack, g.Stack) {
		t.Errorf("of a snapshot: got %+v, %v", of, err)
	}
}

func TestAGroupIsMeantByItsKeyOrPlace(t *testing.T) {
	s := &dump.Snapshot{}
	for _, key := range []string{"abcd1200", "abcd1300", "00020000", "ffff0000"} {
		s.Groups = append(s.Groups, dump.Group{Key: key})
	}
	for word, want := range map[string]string{
		"abcd1200": "abcd1200", "abcd13": "abcd1300", "ffff": "ffff0000", "1": "abcd1200", "4": "ffff0000", "0002": "00020000", // a key, and no place
		"abcd": "", "fff": "", "5": "", "0": "", "-1": "", "": "", "1x": "", "beef": "",
	} {
		got, err := s.GroupKey(word)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%q: got %q, %v; want %q", word, got, err, want)
		}
	}
	_, err := s.GroupKey("abcd")
	if no := (dump.NoGroupError{}); !errors.As(err, &no) || !reflect.DeepEqual(no.Keys, []string{"abcd1200", "abcd1300"}) {
		t.Errorf("of an ambiguous one: got %v", err)
	}
	if got := s.ShortKeys(); !reflect.DeepEqual(got, []string{"abcd12", "abcd13", "0002", "ffff"}) {
		t.Errorf("short keys: got %q", got)
	}
}

func TestReportsAreReadAsTheyWereWritten(t *testing.T) {
	path := till(t)
	r := threadReport(t, path, 2)
	var b bytes.Buffer
	if err := dump.ThreadJSON(&b, r); err != nil {
		t.Fatal(err)
	}
	var thread dump.ThreadReport
	if err := json.Unmarshal(b.Bytes(), &thread); err != nil || thread.Format != dump.ThreadFormat || thread.For.Thing != r.For.Thing {
		t.Errorf("got %+v, %v", thread, err)
	}
	g, err := dump.TakeGroup(t.Context(), open(t, path), take(t, path, dump.Options{}).Groups[0].Key, dump.Options{})
	if err != nil {
		t.Fatal(err)
	}
	b.Reset()
	if err := dump.GroupJSON(&b, g); err != nil {
		t.Fatal(err)
	}
	var group dump.GroupReport
	if err := json.Unmarshal(b.Bytes(), &group); err != nil || !reflect.DeepEqual(group.Names, g.Names) || group.Format != dump.GroupFormat {
		t.Errorf("got %+v, %v", group, err)
	}
}
