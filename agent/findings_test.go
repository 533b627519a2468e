package agent

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vtscope/vtscope/dump"
	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/flight/flighttest"
)

// stuck has two threads of a scope that wait for each other.
func stuck() flighttest.Spec {
	a, b := flight.BlockAt(flight.BlockedByMutex, 0xa), flight.BlockAt(flight.BlockedByMutex, 0xb)
	s := small()
	s.Threads = 102
	well := s.Thread
	s.Thread = func(i int) flighttest.Thread {
		th := flighttest.Thread{Scope: 2, Stack: 1, State: flight.StateBlocked, Reason: flight.ReasonLock, Age: time.Hour}
		switch i {
		case 100:
			th.Name, th.Blocker = "left", b
		case 101:
			th.Name, th.Blocker = "right", a
		default:
			return well(i)
		}
		return th
	}
	for id, x := range map[flight.ThreadID]flight.Blocker{101: a, 102: b} {
		s.Blockers = append(s.Blockers, flighttest.Blocker{Blocker: x, Holders: []flighttest.Holder{{Party: flight.PartyThread(id)}}})
	}
	return s
}

func TestAClientSeesWhatTheChecksFindAndCanGoThere(t *testing.T) {
	file := flighttest.Write(t, stuck())
	told := make(chan *dump.Findings, 1000)
	a := start(t, Options{
		Dirs: []string{file.Dir}, Interval: 50 * time.Millisecond,
		Checks: dump.CheckOptions{Off: []string{"hog"}, Threshold: map[string]int64{"oldest-parked": int64(30 * time.Minute)}},
		Found: func(_ flight.Process, f *dump.Findings) {
			select {
			case told <- f:
			default:
			}
		},
	})
	tab := connect(t, serve(t, a))
	if !slices.Contains(tab.config.Panels, "findings") || tab.config.Limits.Findings != limits.Findings {
		t.Errorf("config %+v, want the panel findings", tab.config)
	}
	rowOf := func(check string) *FindingRow {
		if tab.whole.Findings == nil {
			return nil
		}
		if i := slices.IndexFunc(tab.whole.Findings.Rows, func(r FindingRow) bool { return r.Check == check }); i >= 0 {
			return &tab.whole.Findings.Rows[i]
		}
		return nil
	}
	tab.framesUntil("a deadlock and the oldest", func() bool { return rowOf("deadlock") != nil && rowOf("oldest-parked") != nil })
	row := rowOf("deadlock")
	if !strings.HasPrefix(row.What, "2 threads wait for each other, for ") || row.Severity != "error" || row.Scope != "root/shop/requests" || row.Value != 2 || row.From != "1 thread" ||
		row.At.Func != "example.com/shop.(*Store).query" || len(row.Threads) != 2 || len(row.Evidence) != 2 || row.Page != "docs/findings/deadlock.md" {
		t.Errorf("got %+v", row)
	}
	if began := time.UnixMilli(row.Since); time.Since(began) < time.Hour-time.Minute || time.Since(began) > 2*time.Hour {
		t.Errorf("it is so since %v, want an hour ago", began)
	}
	if tab.whole.Findings.Rows[0].Check != "deadlock" {
		t.Errorf("first comes %+v, want the worst", tab.whole.Findings.Rows[0])
	}
	if i := slices.IndexFunc(tab.whole.Findings.Unjudged, func(u UnjudgedRow) bool { return u.Check == "hog" }); i < 0 || tab.whole.Findings.Unjudged[i].Why != "it is switched off" {
		t.Errorf("not judged: %+v, want the one that is off", tab.whole.Findings.Unjudged)
	}
	// A click shows the group.
	scope, group := row.ScopeKey, row.Group
	tab.subscribe("", scope, group)
	tab.framesUntil("the group of the deadlock", func() bool {
		return tab.whole.Stack != nil && tab.whole.Stack.Group == group && tab.whole.Stack.Missing == ""
	})
	if all := a.Findings(); len(all) != 1 || all[0].Findings == nil || len(all[0].Findings.Findings) < 2 || all[0].Findings.Findings[0].Check != "deadlock" {
		t.Errorf("got %+v", all)
	}
	for deadline := time.After(patience); ; {
		select {
		case f := <-told:
			if slices.ContainsFunc(f.Findings, func(x dump.Finding) bool { return x.Check == "deadlock" }) {
				return
			}
		case <-deadline:
			t.Fatal("nobody was told of the deadlock")
		}
	}
}

// looked is what one look has found.
func looked(at time.Duration, unjudged []string, found ...dump.Finding) *dump.Findings {
	f := &dump.Findings{AsOf: time.UnixMilli(0).Add(at), Findings: found}
	for _, check := range unjudged {
		f.Unjudged = append(f.Unjudged, dump.Unjudged{Check: check})
	}
	for i := range f.Findings {
		f.Findings[i].First = f.AsOf.Add(-f.Findings[i].Since)
	}
	return f
}

func TestAFindingComesWhenItLastsAndGoesWhenItIsMissingForLong(t *testing.T) {
	var o lookout
	hog := dump.Finding{Key: "1", Check: "hog", Severity: dump.SeverityWarning, Since: time.Second}
	lock := dump.Finding{Key: "2", Check: "deadlock", Severity: dump.SeverityError}
	growth := dump.Finding{Key: "3", Check: "scope-growth", Severity: dump.SeverityWarning}
	step := func(what string, f *dump.Findings, lives bool, want ...string) {
		t.Helper()
		o.judge(f, lives)
		var got []string
		for i := range o.found.Findings {
			got = append(got, o.found.Findings[i].Check)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: got %v, want %v", what, got, want)
		}
	}
	step("once", looked(10*time.Second, nil, hog), true)
	step("not again", looked(11*time.Second, nil), true)
	step("once more", looked(12*time.Second, nil, hog), true)
	step("twice in a row", looked(13*time.Second, nil, hog, growth), true, "hog")
	if first := o.found.Findings[0].First; !first.Equal(time.UnixMilli(11_000)) {
		t.Errorf("it is so since %v, want a second before it was seen first", first)
	}
	step("an error at once", looked(14*time.Second, nil, lock, growth), true, "deadlock", "hog", "scope-growth")
	step("missing twice", looked(15*time.Second, []string{"scope-growth"}, lock), true, "deadlock", "hog", "scope-growth")
	step("missing three times, one not judged", looked(16*time.Second, []string{"scope-growth"}, lock), true, "deadlock", "scope-growth")
	step("the end", looked(17*time.Second, []string{"scope-growth"}, hog), false, "hog", "scope-growth")
}

// What grows is judged over half a minute, by few looks that are kept, and those have no more than it needs.
func TestALookoutKeepsFewLooks(t *testing.T) {
	var o lookout
	at := time.Now()
	for i := range 120 {
		s := &dump.Snapshot{
			Taken: at.Add(time.Duration(i) * time.Second), Scopes: []dump.Scope{{Key: "r", Parent: -1, Name: "root"}, {Key: "a", Name: "jobs", Depth: 1, Count: 1, Own: 200 + 10*i}},
		}
		l := lookOf(s)
		l.AsOf, l.Waits, l.Schedulers = s.Taken, &dump.Waits{}, &dump.Schedulers{Incidents: make([]dump.Incident, 100)}
		if err := o.add(l, true); err != nil {
			t.Fatal(err)
		}
		if len(o.earlier) > 5 {
			t.Fatalf("%d looks are kept, want a few", len(o.earlier))
		}
		for _, kept := range o.earlier {
			if kept.Waits != nil || len(kept.Schedulers.Incidents) > 0 {
				t.Fatalf("what is kept has more than what grows: %+v", kept)
			}
		}
	}
	if over := o.found.Over; over < compareOver-compareStep || over > compareOver+compareStep {
		t.Errorf("looks are compared over %v, want about %v", over, compareOver)
	}
	// 10 threads a second more at 1,390 are 43 % a minute, or 300 in half a minute.
	if len(o.found.Findings) != 1 || o.found.Findings[0].Check != "scope-growth" || !strings.Contains(o.found.Findings[0].What, "scope jobs has 1,390 threads, ") {
		t.Errorf("got %+v", o.found.Findings)
	}
	// Documents of it can be written.
	if _, err := json.Marshal(o.found); err != nil {
		t.Error(err)
	}
}

// What two looks take for new the agent may have seen for long.
func TestWhatIsFoundIsAsOldAsTheAgentKnows(t *testing.T) {
	at := time.Unix(1000, 0)
	v := &view{found: &dump.Findings{Findings: []dump.Finding{{Key: "a", First: at}, {Key: "b", First: at.Add(time.Hour)}, {Key: "gone", First: at}}}}
	f := &dump.Findings{Findings: []dump.Finding{{Key: "a", First: at.Add(time.Minute)}, {Key: "b", First: at.Add(time.Minute)}, {Key: "new", First: at.Add(time.Minute)}}}
	v.sinceWhen(f)
	for i, want := range []time.Time{at, at.Add(time.Minute), at.Add(time.Minute)} {
		if got := f.Findings[i]; !got.First.Equal(want) || len(f.Findings) != 3 {
			t.Errorf("%s: since %v, want %v", got.Key, got.First, want)
		}
	}
	(&view{}).sinceWhen(f) // nothing was judged yet
}

func TestBadChecksAreRefused(t *testing.T) {
	if a, err := New(Options{Dirs: []string{t.TempDir()}, Checks: dump.CheckOptions{Off: []string{"nothing"}}}); err == nil {
		a.Close()
		t.Error("got no error")
	}
}
