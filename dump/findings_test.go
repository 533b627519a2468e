package dump_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vtscope/vtscope/dump"
	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/flight/flighttest"
)

func look(t *testing.T, f *flighttest.File) *dump.Look {
	t.Helper()
	r, err := flight.Open(f.Path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	l, err := dump.TakeLook(context.Background(), r)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// found returns the findings of a check, and whether it was judged.
func found(t *testing.T, name string, now, before *dump.Look, o dump.CheckOptions) (all []dump.Finding, judged bool) {
	t.Helper()
	f, err := dump.Check(now, before, o)
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range f.Findings {
		if x.Check == name {
			all = append(all, x)
		}
	}
	return all, !slices.ContainsFunc(f.Unjudged, func(u dump.Unjudged) bool { return u.Check == name })
}

var findingScopes = []flighttest.Scope{{Name: "requests"}, {Name: "jobs", Owner: 900}, {Name: "jobs", Owner: 901}, {Name: "own", Owner: 1}, {Name: "gone", Owner: 902, State: flight.ScopeClosed}}

// troubled has all that is to be found: threads 1 … 12 wait at one place, the first for long; 13 … 15 wait for what a thread holds that is gone, one of
// them with a time limit; n more in "requests", and as many outside of any scope.
func troubled(n int) flighttest.Spec {
	return flighttest.Spec{
		Scopes: findingScopes, Stacks: waitStacks, Threads: 15 + 2*n,
		Thread: func(i int) flighttest.Thread {
			switch {
			case i < 12:
				th := flighttest.Thread{Scope: 4, State: flight.StateParked, Reason: flight.ReasonPark, Stack: 1, Age: 10 * time.Millisecond}
				if i == 0 {
					th.Age, th.Name = time.Minute, "starved"
				}
				return th
			case i < 15:
				th := waiting(4, mutex(0xb))
				th.Limited = i == 14
				return th
			case i < 15+n:
				return flighttest.Thread{Scope: 1, State: flight.StateTimedParked, Reason: flight.ReasonSleep, Stack: 2, Age: time.Second}
			}
			return flighttest.Thread{State: flight.StateTimedParked, Reason: flight.ReasonSleep, Stack: 3, Age: time.Hour}
		},
		Blockers: []flighttest.Blocker{held(mutex(0xb), thread(5000))},
	}
}

func TestChecksFindWithEvidence(t *testing.T) {
	before, now := look(t, flighttest.Write(t, troubled(150))), look(t, flighttest.Write(t, troubled(300)))
	for _, c := range []struct {
		check, what, place string
		count              int
		since              time.Duration
		examples           int
	}{
		{"holder-gone", "2 threads of own wait without a time limit for mutex 0xb, whose holder #5000 has ended", "store.go:88", 2, time.Minute, 1},
		{"scope-growth", "scope requests has 300 threads, 150 more than ", "export.go:20", 300, time.Second, 5},
		{"scope-orphaned", "2 scopes of name jobs are open though the owners have ended", "", 2, 0, 2},
		{"parked-longer", "1 thread of own has waited for up to 1 m at a place where 12 wait for ", "store.go:88", 1, time.Minute, 1},
		{"unscoped", "300 threads were started outside of any scope", "store.go:12", 300, time.Hour, 5},
	} {
		all, judged := found(t, c.check, now, before, dump.CheckOptions{})
		if i := slices.IndexFunc(all, func(f dump.Finding) bool { return strings.HasPrefix(f.What, c.what) }); !judged || i < 0 {
			t.Errorf("%s: got %+v, want %q", c.check, all, c.what)
		} else {
			f := all[i]
			place := ""
			if f.Place != nil {
				place = fmt.Sprintf("%s:%d", f.Place.File, f.Place.Line)
			}
			if f.Count != c.count || place != c.place || f.Since < c.since || len(f.Examples) != c.examples || f.Page != "docs/findings/"+c.check+".md" {
				t.Errorf("%s: got %+v at %s", c.check, f, place)
			}
		}
		if all, judged := found(t, c.check, now, before, dump.CheckOptions{Off: []string{c.check}}); len(all) != 0 || judged {
			t.Errorf("%s, off: got %+v", c.check, all)
		}
		if all, judged := found(t, c.check, now, before, dump.CheckOptions{Threshold: map[string]int64{c.check: 1_000_000}}); len(all) != 0 || !judged {
			t.Errorf("%s, with a high threshold: got %+v", c.check, all)
		}
	}
}

func TestChecksOfOneLookSayWhatTheyCannotJudge(t *testing.T) {
	s := troubled(150)
	s.Ended = true
	now := look(t, flighttest.Write(t, s))
	for check, n := range map[string]int{"holder-gone": 1, "scope-orphaned": 1, "parked-longer": 1, "unscoped": 1, "scope-growth": -1, "spawn-storm": -1, "recorder-drops": 0} {
		if all, judged := found(t, check, now, nil, dump.CheckOptions{}); judged != (n >= 0) || judged && len(all) != n {
			t.Errorf("%s: judged %v, got %+v", check, judged, all)
		}
	}
}

func TestSiblingsAreThoseAtOnePlaceOnWhateverWayTheyCame(t *testing.T) {
	at := flight.Frame{Func: "shop.await", File: "queue.go", Line: 5}
	l := look(t, flighttest.Write(t, flighttest.Spec{
		Stacks: []flighttest.Stack{{at, {Func: "shop.report"}}, {at, {Func: "shop.client"}}, {at, {Func: "shop.other"}}}, Threads: 20,
		Thread: func(i int) flighttest.Thread {
			th := flighttest.Thread{State: flight.StateParked, Reason: flight.ReasonPark, Stack: i%2 + 2, Age: time.Duration(i+1) * time.Millisecond}
			if i == 7 {
				th.Stack, th.Age = 1, time.Hour
			}
			return th
		},
	}))
	all, _ := found(t, "parked-longer", l, nil, dump.CheckOptions{})
	if len(all) != 1 || all[0].Count != 1 || len(all[0].Examples) != 1 || all[0].Examples[0].Thread != 8 || !strings.Contains(all[0].What, " at a place where 20 wait ") {
		t.Errorf("got %+v", all)
	}
}

func TestChecksFindNothingWhereAllIsWell(t *testing.T) {
	well := look(t, flighttest.Write(t, flighttest.Spec{
		Scopes: []flighttest.Scope{{Name: "requests", Owner: 1}}, Stacks: waitStacks, Threads: 500,
		Thread: func(i int) flighttest.Thread {
			if i == 0 {
				return flighttest.Thread{State: flight.StateBlocked, Blocker: flight.BlockScope(1), Stack: 1}
			}
			return flighttest.Thread{Scope: 1, State: flight.StateTimedParked, Reason: flight.ReasonSleep, Stack: 2, Age: time.Duration(i) * time.Minute}
		},
	}))
	for _, before := range []*dump.Look{well, nil} {
		if f, err := dump.Check(well, before, dump.CheckOptions{}); err != nil || len(f.Findings) != 0 {
			t.Errorf("got %+v, %v", f.Findings, err)
		}
	}
}

// What was not so a moment ago may be a record that changed while the file was read.
func TestHoldersAndOwnersMustBeGoneInBothLooks(t *testing.T) {
	now := look(t, flighttest.Write(t, troubled(1)))
	before := look(t, flighttest.Write(t, flighttest.Spec{}))
	for _, check := range []string{"holder-gone", "scope-orphaned"} {
		if all, _ := found(t, check, now, before, dump.CheckOptions{}); len(all) != 0 {
			t.Errorf("%s: got %+v", check, all)
		}
		if all, judged := found(t, check, now, nil, dump.CheckOptions{}); judged {
			t.Errorf("%s of one look at a process that lives: judged, got %+v", check, all)
		}
	}
}

// A lock that many want names a holder that has ended whenever one has just overtaken the others: then nobody has waited for it for long.
func TestAHolderIsGoneOnlyForWhoWaitsAllTheTime(t *testing.T) {
	hot := func(longest time.Duration) flighttest.Spec {
		s := troubled(1)
		of := s.Thread
		s.Thread = func(i int) flighttest.Thread {
			th := of(i)
			if th.Blocker == mutex(0xb) {
				th.Age = longest
			}
			return th
		}
		return s
	}
	for longest, want := range map[time.Duration]int{2 * time.Second: 0, time.Minute: 1} {
		looks := looksAt(t, []flighttest.Spec{hot(longest), hot(longest)})
		if all := checkOver(t, "holder-gone", looks); len(all) != want {
			t.Errorf("who waits has waited for %v at most, and the looks are 10 s apart: got %+v, want %d findings", longest, all, want)
		}
	}
}

func TestChecksRefuseWhatTheyDoNotKnow(t *testing.T) {
	l := look(t, flighttest.Write(t, flighttest.Spec{}))
	for _, o := range []dump.CheckOptions{{Off: []string{"x"}}, {Threshold: map[string]int64{"x": 1}}, {Threshold: map[string]int64{"unscoped": 0}}} {
		if _, err := dump.Check(l, nil, o); err == nil {
			t.Errorf("%+v: got no error", o)
		}
	}
}

func TestEveryCheckHasAPageWithItsThreshold(t *testing.T) {
	index, err := os.ReadFile(filepath.FromSlash("../docs/findings/README.md"))
	if err != nil {
		t.Fatal(err)
	}
	for i := range dump.Checks {
		c := &dump.Checks[i]
		page, err := os.ReadFile(filepath.FromSlash("../" + c.Page()))
		if err != nil {
			t.Error(err)
		}
		if !strings.HasPrefix(string(page), "# "+c.Name+"\n") || !strings.Contains(string(page), "\n**Threshold**: "+c.ThresholdText()+".") ||
			!strings.Contains(string(page), "\n**Severity**: "+string(c.Severity)+".\n") {
			t.Errorf("%s: the page has another name, severity or threshold than %s, %s", c.Name, c.Severity, c.ThresholdText())
		}
		for _, part := range []string{"\n**Evidence**: ", "\n**How it is measured**: ", "\n**How it comes about**: ", "\n**What to do**: ", "\n**Example**: `vtdump findings ", "\n```\n" + c.Name + " " + string(c.Severity) + "   "} {
			if !strings.Contains(string(page), part) {
				t.Errorf("%s: the page has no %q", c.Name, part)
			}
		}
		said, _, _ := strings.Cut(string(page[bytes.Index(page, []byte("**What to do**: "))+len("**What to do**: "):]), "\n\n")
		said = strings.ReplaceAll(strings.ReplaceAll(strings.ReplaceAll(said, ": see [settings](../settings.md)", ""), "`", ""), "\n", " ")
		if c.Remedy == "" || said != c.Remedy {
			t.Errorf("%s: the page says what to do: %q, want as the table %q", c.Name, said, c.Remedy)
		}
		if row := fmt.Sprintf("| [%s](%s.md) | %s | %s | %s |\n", c.Name, c.Name, c.Severity, c.About, c.Unit.Text(c.Threshold)); !strings.Contains(string(index), row) {
			t.Errorf("the index has no row %q", row)
		}
	}
	pages, err := filepath.Glob(filepath.FromSlash("../docs/findings/*.md"))
	if err != nil || len(pages) != len(dump.Checks)+1 {
		t.Errorf("got pages %v, %v; want one for each check, and the index", pages, err)
	}
}

func TestFindingsAsTextAndJSON(t *testing.T) {
	s := troubled(150)
	s.Ended = true
	f, err := dump.Check(look(t, flighttest.Write(t, s)), nil, dump.CheckOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := dump.FindingsText(&b, f, dump.TextOptions{Width: 200}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"  4 findings\n", "\nparked-longer warning   1 thread of own has waited for up to 1 m at a place where 12 wait for ",
		"    at        shop.(*Store).query store.go:88\n    since     1 m ago\n    threads   #1 \"starved\"\n    judged    ", ": it is found from 50 times on\n    see       docs/findings/parked-longer.md\n",
		"\nnot judged: leak: it needs two looks of a process that runs\n",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("want %q in\n%s", want, b.String())
		}
	}
	b.Reset()
	if err := dump.FindingsJSON(&b, f); err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Format   string
		Findings []struct{ Check string }
		Unjudged []struct{ Check, Why string }
	}
	if err := json.Unmarshal(b.Bytes(), &doc); err != nil || doc.Format != dump.FindingsFormat || len(doc.Findings) != 4 || len(doc.Unjudged) != 6 || strings.Contains(b.String(), "null") {
		t.Errorf("got %v and\n%s", err, b.String())
	}
}

func TestThresholdsAreReadInTheUnitOfTheCheck(t *testing.T) {
	var o dump.CheckOptions
	for _, text := range []string{"hog=20ms", "unscoped=7", "deadlock=off", "pinned=off", "pinned=3", "scope-growth=5"} {
		if err := o.Set(text); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
	if o.Threshold["hog"] != int64(20*time.Millisecond) || o.Threshold["unscoped"] != 7 || o.Threshold["pinned"] != 3 || !slices.Equal(o.Off, []string{"deadlock"}) {
		t.Errorf("got %+v", o)
	}
	for _, text := range []string{"", "nothing=1", "hog=7", "hog=-1s", "hog", "unscoped=1s", "unscoped=0", "unscoped=99999999999999999999", "unscoped=x"} {
		if err := o.Set(text); err == nil {
			t.Errorf("%q was taken", text)
		}
	}
}
