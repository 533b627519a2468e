package dump_test

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vtscope/vtscope/dump"
	"github.com/vtscope/vtscope/dump/filter"
	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/flight/flighttest"
)

func takeTable(t *testing.T, spec flighttest.Spec, by string, o dump.Options) *dump.Table {
	t.Helper()
	f := flighttest.Write(t, spec)
	r, err := f.Recorder.Reader()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	dims, err := dump.ParseBy(by)
	if err != nil {
		t.Fatal(err)
	}
	table, err := dump.TakeTable(context.Background(), r, dims, o)
	if err != nil {
		t.Fatal(err)
	}
	return table
}

// lines are the rows as "count value", indented.
func rowLines(t *dump.Table) (all []string) {
	for _, r := range t.Rows {
		all = append(all, fmt.Sprint(strings.Repeat("  ", r.Depth), r.Count, " ", r.Value))
	}
	return all
}

func TestThreadsAreGroupedByWhatIsAskedInAnyOrder(t *testing.T) {
	for by, want := range map[string][]string{
		"state":       {"270 blocked", "29 timed-parked", "1 mounted"},
		"reason":      {"270 lock", "29 sleep", "1 (no reason)"},
		"state,scope": {"270 blocked", "  270 root/shop/requests/checkout", "29 timed-parked", "  29 root/shop/requests", "1 mounted", "  1 root"},
		"scope,state": {"270 root/shop/requests/checkout", "  270 blocked", "29 root/shop/requests", "  29 timed-parked", "1 root", "  1 mounted"},
		"stack":       {"270 shop.(*Cart).add", "29 shop.(*Store).query < shop.serve", "1 (no stack)"},
		"blocker":     {"270 lock 0xc000010000", "30 (nothing known)"},
		"name":        {"299 (no name)", "1 main"},
		"carrier":     nil,
		"creator":     nil,
		"scheduler":   nil,
	} {
		table := takeTable(t, shop(300), by, dump.Options{})
		got := rowLines(table)
		if want != nil && !slices.Equal(got, want) {
			t.Errorf("by %s: got\n%s\nwant\n%s", by, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
		n := 0
		for _, r := range table.Rows {
			if r.Depth == 0 {
				n += r.Count
			}
			waits := uint64(0)
			for _, c := range r.Waits {
				waits += c
			}
			if r.States.Total() != r.Count || waits != uint64(r.Count) || r.Oldest.Wait < r.Newest.Wait || r.Random.Wait > r.Oldest.Wait || r.Wait.Max != r.Oldest.Wait {
				t.Errorf("by %s: row does not add up: %+v", by, r)
			}
		}
		if n != 300 || table.Threads != 300 {
			t.Errorf("by %s: got %d in rows, %d threads, want 300", by, n, table.Threads)
		}
	}
}

func TestATableHasTheThreadsThatMatch(t *testing.T) {
	f, err := filter.Parse("state=timed-parked")
	if err != nil {
		t.Fatal(err)
	}
	table := takeTable(t, shop(300), "state,reason", dump.Options{Filter: f})
	if got := strings.Join(rowLines(table), "\n"); got != "29 timed-parked\n  29 sleep" || table.Filtered != 271 {
		t.Errorf("got\n%s\nand %d others", got, table.Filtered)
	}
}

func TestTooManyRowsAreCounted(t *testing.T) {
	spec := shop(300)
	whole := spec.Thread
	spec.Thread = func(i int) flighttest.Thread {
		th := whole(i)
		th.Name = strings.Repeat("x", i%50+1)
		return th
	}
	table := takeTable(t, spec, "name", dump.Options{MaxGroups: 10})
	if len(table.Rows) != 10 || table.Rest != 300-60 || table.Complete || table.Threads != 300 {
		t.Errorf("got %d rows, %d in none, complete %v", len(table.Rows), table.Rest, table.Complete)
	}
}

func TestTheTopOfATableHasParents(t *testing.T) {
	table := takeTable(t, shop(300), "state,scope", dump.Options{})
	table.KeepTop(1)
	if got := strings.Join(rowLines(table), "\n"); got != "270 blocked\n  270 root/shop/requests/checkout" || table.Rows[1].Parent != 0 {
		t.Errorf("got\n%s", got)
	}
}

func TestATableIsPrinted(t *testing.T) {
	spec := shop(300)
	table := takeTable(t, spec, "scope,state", dump.Options{})
	var b bytes.Buffer
	if err := dump.TableText(&b, table, dump.TextOptions{Top: 2, Width: 90}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"300 threads by scope, state", "270  1m", "root/shop/requests/checkout", "  blocked", "1 more row"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("got\n%s\nwant %q", b.String(), want)
		}
	}
	for line := range strings.Lines(b.String()) {
		if n := dump.Columns(strings.TrimRight(line, "\n")); n > 90 {
			t.Errorf("%d columns: %s", n, line)
		}
	}
}

func TestBadDimensionsAreRefused(t *testing.T) {
	for text, want := range map[string]string{
		"":            `nothing to group by is called ""`,
		"scopes":      `nothing to group by is called "scopes": want scope, stack`,
		"scope,scope": "scope is there twice",
		"label:":      "nothing to group by",
		"scope,stack,state,reason,blocker,name,creator": "want at most 6",
	} {
		if _, err := dump.ParseBy(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", text, err, want)
		}
	}
}

func TestTemplatesKeepWhatNamesHaveInCommon(t *testing.T) {
	for name, want := range map[string]string{
		"GET /cart/123":        "GET /cart/*",
		"GET /v2/cart/123":     "GET /v2/cart/*",
		"worker 7":             "worker *",
		"worker-17":            "worker-*",
		"conn 10.0.0.1:80":     "conn *.*.*.*:*",
		"job 9f86d081884c7d65": "job *",
		"job 123e4567-e89b-12d3-a456-426614174000 done": "job * done",
		"deadbeef": "deadbeef", // no digit: a word
		"main":     "main",
		"":         "",
		"http2":    "http*",
		"a/b":      "a/b",
		"é 1":      "é *",
	} {
		if got := dump.Template(name); got != want {
			t.Errorf("%q: got %q, want %q", name, got, want)
		}
	}
}

func TestSimilarStacksCountAsOne(t *testing.T) {
	frames := func(f string, line int) flighttest.Stack {
		return flighttest.Stack{{Func: f, File: "/src/a.go", Line: line}, {Func: "main.main", File: "/src/main.go", Line: 3}}
	}
	spec := flighttest.Spec{
		Stacks: []flighttest.Stack{
			frames("main.work[go.shape.int].func1", 10), frames("main.work[go.shape.int].func1", 11), frames("main.work[go.shape.string].func2.1", 20), frames("main.other", 5),
		},
		Threads: 8,
		Thread: func(i int) flighttest.Thread {
			return flighttest.Thread{Stack: i%4 + 1, State: flight.StateParked, Reason: flight.ReasonPark, Age: time.Second}
		},
	}
	for similar, want := range map[dump.Similarity]int{dump.SameLines: 4, dump.SameFunctions: 3, dump.SameShape: 2} {
		if table := takeTable(t, spec, "stack", dump.Options{Similar: similar}); len(table.Rows) != want {
			t.Errorf("%s: got %d rows, want %d: %v", similar, len(table.Rows), want, rowLines(table))
		}
		name, err := dump.ParseSimilarity(similar.String())
		if err != nil || name != similar {
			t.Errorf("%s: got %v, %v", similar, name, err)
		}
	}
}

func TestScopesWhoseNamesDifferInNumbersOnlyShareALine(t *testing.T) {
	spec := flighttest.Spec{Threads: 1000, Thread: func(i int) flighttest.Thread {
		return flighttest.Thread{Scope: i + 1, State: flight.StateParked, Reason: flight.ReasonPark}
	}}
	for i := range 1000 {
		spec.Scopes = append(spec.Scopes, flighttest.Scope{Name: fmt.Sprint("GET /cart/", i)})
	}
	f := flighttest.Write(t, spec)
	r, err := f.Recorder.Reader()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	s, err := dump.Take(context.Background(), r, dump.Options{})
	if err != nil || len(s.Scopes) != 2 || s.Scopes[1].Name != "GET /cart/*" || s.Scopes[1].Count != 1000 {
		t.Errorf("got %d scopes, %v; want root and GET /cart/*", len(s.Scopes), err)
	}
}
