package jdk_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/vtscope/vtscope/dump"
	"github.com/vtscope/vtscope/dump/filter"
	"github.com/vtscope/vtscope/dump/jdk"
	"github.com/vtscope/vtscope/dump/roster"
	"github.com/vtscope/vtscope/internal/leaktest"
	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/flight/flighttest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

var update = flag.Bool("update", false, "rewrite the golden files")

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s: got\n%s\nwant\n%s\n(-update rewrites it)", name, got, want)
	}
}

var moment = time.Date(2026, 3, 4, 5, 6, 7, 8, time.UTC)

// shop has a thread in each state, and names that need escapes.
func shop() *roster.Roster {
	r := roster.New(flight.Process{PID: 4711, UID: 1000, Program: "shop", Exe: "/srv/shop", GoVersion: "go1.26.8", Start: moment.Add(-time.Hour)}, moment)
	shop := r.AddScope(flight.ScopeRow{ID: 1, Name: "shop", Owner: 1})
	checkout := r.AddScope(flight.ScopeRow{ID: 26, Name: "checkout", Parent: shop, Policy: "all", Limit: 4, Queued: 1, Deadline: flight.Ticks(moment.Add(time.Second).UnixNano())})
	other := r.AddScope(flight.ScopeRow{ID: 27, Name: "checkout", Parent: shop, Owner: 3})
	label := r.Scope(0, `GET "/cart"`)
	sleep := r.Intern([]flight.Frame{
		{Func: "github.com/vtscope/vtscope/runtime/vthread.Sleep", File: "/go/vthread/sleep.go", Line: 9, Internal: true},
		{Func: "example.org/shop.(*Store).query", File: `C:\src\store.go`, Line: 88},
		{Func: "main.main", File: "/src/main.go", Line: 3},
	}, false)
	lock := r.Intern([]flight.Frame{{Func: "example.org/shop.(*Cart).add[...]", File: "/src/cart.go", Line: 230}, {PC: 0x4711}}, true)
	db := flight.BlockAt(flight.BlockedByMutex, 0xc000012340)
	r.Blocker(flight.BlockerRow{Blocker: db, Name: "d\tb", Held: 1, Holders: [flight.HoldersKept]flight.Holder{{Party: flight.PartyThread(3)}}})
	add := func(t roster.Thread) { r.Add(t) }
	on := func(c flight.CarrierID) roster.More { return roster.More{Carrier: c, Mounts: 2} }
	off := roster.More{Carrier: flight.NoCarrier, Mounts: 7, Pins: 1, Waker: 3, Scheduler: 1}
	add(roster.Thread{ID: 5, Name: "sleeper", Scope: checkout, Stack: sleep, State: flight.StateTimedParked, Reason: flight.ReasonSleep, Wait: 3 * time.Second, More: off})
	blocked := off
	blocked.Blocker, blocked.Limited = db, true
	add(roster.Thread{ID: 2, Scope: other, Stack: lock, State: flight.StateBlocked, Reason: flight.ReasonLock, Wait: time.Minute, More: blocked})
	add(roster.Thread{ID: 6, Scope: other, Stack: lock, State: flight.StateParked, Reason: flight.ReasonLock, Wait: time.Minute, More: blocked})
	waiting := off
	waiting.Blocker = flight.BlockCondition(0xc000099990)
	add(roster.Thread{ID: 7, Scope: other, Stack: lock, State: flight.StateWaiting, Reason: flight.ReasonCondition, More: waiting})
	add(roster.Thread{ID: 1, Name: "ma\nin \"é\" \x00\xff", State: flight.StateMounted, Stack: sleep, More: on(0), Flags: flight.RecordOnOSThread})
	add(roster.Thread{ID: 3, Name: "holder", Scope: shop, State: flight.StatePinned, Reason: flight.ReasonPinnedGo, Stack: sleep, More: on(1)})
	add(roster.Thread{ID: 8, Scope: shop, State: flight.StateRunnable, Reason: flight.ReasonYield, More: off})
	add(roster.Thread{ID: 1<<53 + 1, Scope: label, State: flight.StateNew, Flags: flight.RecordOnGoroutine})
	add(roster.Thread{ID: 9, Scope: label, State: flight.StateHibernated})
	add(roster.Thread{ID: 10, Scope: label, State: flight.StateDone})
	r.Miss("two threads are not in it")
	return r
}

func write(t *testing.T, src dump.Source, o jdk.Options) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := jdk.JSON(t.Context(), &b, src, o); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func read(t *testing.T, doc []byte) *roster.Roster {
	t.Helper()
	if !jdk.IsDump(doc[:min(len(doc), 64)]) {
		t.Errorf("not seen to be a dump: %.64s", doc)
	}
	r, err := jdk.Read(bytes.NewReader(doc))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestDumpIsAsTheJDKWritesIt(t *testing.T) {
	golden(t, "shop.json", write(t, shop(), jdk.Options{}))
	golden(t, "shop-1.json", write(t, shop(), jdk.Options{Version: 1, Bare: true}))
	f, err := filter.Parse("scope~shop")
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "shop-filtered.json", write(t, shop(), jdk.Options{Filter: f}))
	var b bytes.Buffer
	if err := jdk.Text(t.Context(), &b, shop(), jdk.Options{}); err != nil {
		t.Fatal(err)
	}
	golden(t, "shop.txt", b.Bytes())
}

// A line is what a thread of a listing is compared by.
func lines(t *testing.T, src dump.Source) (all []string) {
	t.Helper()
	l, err := dump.List(t.Context(), src, dump.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := l.ByScope(t.Context(), func(at int) error {
		s := &l.Scopes[at]
		all = append(all, fmt.Sprintf("%q id %d owner %d policy %q limit %d queued %d deadline %v", l.Path(at), s.ID, s.Owner, s.Policy, s.Limit, s.Queued, s.Deadline))
		return nil
	}, func(th *dump.Thread) error {
		if th.State == flight.StateDone {
			return nil
		}
		calls := ""
		if th.Stack != 0 {
			s, err := src.Stack(th.Stack)
			if err != nil {
				return err
			}
			for _, f := range s.Frames {
				calls += fmt.Sprintf(" %s:%d(%v)", f.Func, f.Line, f.Internal)
			}
			calls += fmt.Sprint(s.Truncated)
		}
		row := th.Row
		row.Stack, row.Since, row.Index, row.Name, row.Scope = 0, 0, 0, 0, 0
		row.Carrier = th.Carrier
		if row.Flags&flight.RecordOnOSThread != 0 {
			row.Carrier = 0 // the JDK knows carriers of virtual threads only
		}
		all = append(all, fmt.Sprintf("  %+v %q wait %v%s", row, l.Name(th), th.Wait, calls))
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return all
}

func TestDumpReadsBackAsItWas(t *testing.T) {
	want := lines(t, shop())
	for version := 1; version <= 2; version++ {
		back := read(t, write(t, shop(), jdk.Options{Version: version}))
		got := lines(t, back)
		for i := range want {
			// What is no UTF-8 cannot come back.
			if w := strings.ReplaceAll(want[i], `\xff`, "\ufffd"); i >= len(got) || got[i] != w {
				t.Errorf("version %d, line %d: got\n%q\nwant\n%q", version, i, append(got, "")[min(i, len(got))], w)
			}
		}
		if len(got) != len(want) {
			t.Errorf("version %d: got %d lines, want %d", version, len(got), len(want))
		}
		p := back.Process()
		if p.PID != 4711 || p.Program != "shop" || p.GoVersion != "go1.26.8" || !back.At().Equal(moment) {
			t.Errorf("version %d: got %+v of %v", version, p, back.At())
		}
		if got := back.Incomplete(); !reflect.DeepEqual(got, []string{"two threads are not in it"}) {
			t.Errorf("version %d: got missing %q", version, got)
		}
	}
}

// shape lists the paths of the members of a document with the types of their values; of x-vtscope only that it is there.
func shape(t *testing.T, doc []byte) map[string]bool {
	t.Helper()
	var v any
	if err := json.Unmarshal(doc, &v); err != nil {
		t.Fatal(err)
	}
	all := map[string]bool{}
	var walk func(path string, v any)
	walk = func(path string, v any) {
		switch v := v.(type) {
		case map[string]any:
			all[path+" object"] = true
			for name, v := range v {
				if name != "x-vtscope" {
					walk(path+"."+name, v)
				}
			}
		case []any:
			all[path+" array"] = true
			for _, v := range v {
				walk(path+"[]", v)
			}
		default:
			all[path+" "+fmt.Sprintf("%T", v)] = true
		}
	}
	walk("", v)
	return all
}

func TestLocksReadBackWithTheirNamesAndAllTheirHolders(t *testing.T) {
	r := roster.New(flight.Process{PID: 4711}, moment)
	lock := flight.BlockAt(flight.BlockedByRWMutex, 0xc000012340)
	row := flight.BlockerRow{Blocker: lock, Name: "prices", Held: 3}
	for i := range 3 {
		row.Holders[i].Party = flight.PartyThread(flight.ThreadID(i + 1))
	}
	r.Blocker(row)
	r.Add(roster.Thread{ID: 2, State: flight.StateMounted})
	r.Add(roster.Thread{ID: 4, State: flight.StateBlocked, Reason: flight.ReasonLock, More: roster.More{Blocker: lock, Carrier: flight.NoCarrier}})
	r.Add(roster.Thread{ID: 1, State: flight.StateMounted})
	r.Add(roster.Thread{ID: 3, State: flight.StateMounted})
	rows, err := read(t, write(t, r, jdk.Options{})).Blockers()
	if err != nil || len(rows) != 1 || rows[0].Name != "prices" || rows[0].Held != 3 || len(rows[0].Known()) != 3 {
		t.Errorf("got %+v, %v; want %+v", rows, err, row)
	}
}

func TestVersion1HasTheMembersOfTheJDKsOwnDump(t *testing.T) {
	sample, err := os.ReadFile("testdata/jdk25.json")
	if err != nil {
		t.Fatal(err)
	}
	theirs, ours := shape(t, sample), shape(t, write(t, shop(), jdk.Options{Version: 1}))
	for member := range ours {
		if !theirs[member] && !strings.Contains(member, ".owner ") && !strings.Contains(member, ".blockedOn ") {
			t.Errorf("the JDK has no %s", member)
		}
	}
	for member := range theirs {
		if !ours[member] {
			t.Errorf("got no %s", member)
		}
	}
	if len(theirs) < 20 {
		t.Errorf("the sample has %d members", len(theirs))
	}
}

func TestDumpOfJDK25IsRead(t *testing.T) {
	sample, err := os.ReadFile("testdata/jdk25.json")
	if err != nil {
		t.Fatal(err)
	}
	checkJava(t, read(t, sample), "ThreadPerTaskExecutor", "mounted")
}

// checkJava checks a dump of testdata/Waits.java: of its executor's scope, and of the state of a thread that spins.
func checkJava(t *testing.T, r *roster.Roster, executor, spins string) {
	t.Helper()
	s, err := dump.Take(t.Context(), r, dump.Options{})
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	for i := range s.Groups {
		g := &s.Groups[i]
		names := ""
		for _, e := range g.Examples {
			names += " " + e.Name
		}
		found[fmt.Sprintf("%s: %d %s %s%s", s.Scopes[g.Scope].Name, g.Count, g.State, g.Reason, names)] = true
		if g.Reason == flight.ReasonLock && !strings.Contains(g.Blocker, "java.") {
			t.Errorf("%+v waits for a lock: got blocker %q", g, g.Blocker)
		}
	}
	for _, want := range []string{
		executor + ": 5 timed-parked sleep     ",
		"root: 1 waiting condition waiter",
		"root: 1 parked lock locker",
		"root: 1 blocked lock enterer",
		"root: 1 parked park say \"hi\"/\n",
		"root: 1 " + spins + "  spinner",
	} {
		if !found[want] {
			t.Errorf("got no group %q", want)
		}
	}
	if t.Failed() {
		for f := range found {
			t.Logf("%q", f)
		}
	}
	rows, _ := r.Blockers()
	held := false
	for i := range rows {
		held = held || strings.HasPrefix(rows[i].Name, "java.lang.Object@") && rows[i].Held == 1
	}
	if !held {
		t.Errorf("nobody holds the monitor: %+v", rows)
	}
}

// What the plain form has reads back: all but scopes and what is only in the extras.
func TestAPlainDumpReadsBack(t *testing.T) {
	var doc bytes.Buffer
	if err := jdk.Text(t.Context(), &doc, shop(), jdk.Options{}); err != nil {
		t.Fatal(err)
	}
	back := read(t, doc.Bytes())
	got := strings.Join(lines(t, back), "\n")
	for _, want := range []string{
		"ID:5 ", `"sleeper"`, "timed-parked", "example.org/shop.(*Store).query:88(false)",
		"ID:2 ", "blocked Reason:lock", "ID:7 ", "waiting Reason:condition", `"holder"`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("want %q in\n%s", want, got)
		}
	}
	if p := back.Process(); p.PID != 4711 || p.GoVersion != "go1.26.8" || !back.At().Equal(moment) || back.Len() != 9 {
		t.Errorf("got %d threads, %+v of %v; want 9", back.Len(), p, back.At())
	}
	if missing := strings.Join(back.Incomplete(), "\n"); !strings.Contains(missing, "no scopes and no carriers") || strings.Contains(missing, "ends within") {
		t.Errorf("got missing %q", missing)
	}
}

func TestPlainDumpsOfAllJDKsAreRead(t *testing.T) {
	const (
		begin = "4711\n2026-01-01T10:00:00.123456789Z\n21.0.4+7-LTS\n\n"
		of21  = "#1 \"main\"\n      java.base/java.lang.Thread.sleep0(Native Method)\n      java.base/java.lang.Thread.sleep(Thread.java:509)\n\n" +
			"#31 \"say \"hi\"/\n to all\" virtual\n      java.base/java.util.concurrent.locks.LockSupport.park(LockSupport.java:1)\n\n"
		of26 = "#32 \"\" virtual WAITING 2026-01-01T10:00:00.123Z\n    at java.base/java.lang.VirtualThread.park(VirtualThread.java:600)\n" +
			"    - parking to wait for <java.util.concurrent.locks.ReentrantLock$NonfairSync@1f>, owner #31\n    - lock is eliminated\n    at App.run(App.java:7)\n    - locked <java.lang.Object@2f>\n\n"
	)
	for _, c := range []struct {
		name, text string
		threads    int
		want       []string // in the lines of its threads
		miss       []string
	}{
		{"JDK 21", begin + of21, 2, []string{"timed-parked Reason:sleep", `"say \"hi\"/\n to all"`, "parked Reason:park"}, []string{"guessed", "no scopes"}},
		{"JDK 26", begin + of26, 1, []string{"parked", "App.run:7(false)"}, []string{"no scopes"}},
		{"lines of Windows", strings.ReplaceAll(begin+of26, "\n", "\r\n"), 1, []string{"App.run:7(false)"}, []string{"no scopes"}},
		{"cut", begin + of26[:len(of26)-1], 1, nil, []string{"ends within thread 32", "no scopes"}},
		{"damaged", begin + "???\n\n" + of26, 1, []string{"App.run:7"}, []string{"1 line of no thread", "no scopes"}},
		{"a long line", begin + of26 + "#33 \"" + strings.Repeat("x", 1<<20) + "\n", 1, nil, []string{"cannot be read to its end", "no scopes"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := read(t, []byte(c.text))
			got := strings.Join(lines(t, r), "\n")
			for _, want := range c.want {
				if !strings.Contains(got, want) {
					t.Errorf("want %q in\n%s", want, got)
				}
			}
			missing := r.Incomplete()
			for i, want := range c.miss {
				if len(missing) != len(c.miss) || !strings.Contains(strings.Join(missing, "\n"), want) {
					t.Errorf("got missing %q, want %q", missing, c.miss[i])
				}
			}
			if r.Len() != c.threads {
				t.Errorf("got %d threads, want %d:\n%s", r.Len(), c.threads, got)
			}
		})
	}
	r := read(t, []byte(begin+of26))
	rows, _ := r.Blockers()
	if len(rows) != 2 || rows[0].Holders[0].Party != flight.PartyThread(31) && rows[1].Holders[0].Party != flight.PartyThread(31) {
		t.Errorf("got %+v, want a lock of thread 31 and a monitor", rows)
	}
}

func TestADumpWithoutVirtualThreadsIsCalledSo(t *testing.T) {
	for _, doc := range []string{
		"2026-11-20 08:11:11\nFull thread dump OpenJDK 64-Bit Server VM (25.0.3+9 mixed mode):\n\n\"main\" #3 prio=5\n",
		"4711:\n2026-11-20 08:11:11\nFull thread dump OpenJDK 64-Bit Server VM\n",
	} {
		if !jdk.IsDump([]byte(doc)) {
			t.Errorf("not seen to be a dump: %q", doc)
		}
		if _, err := jdk.Read(strings.NewReader(doc)); !errors.Is(err, jdk.ErrPrinted) {
			t.Errorf("%q: got %v, want %v", doc, err, jdk.ErrPrinted)
		}
	}
	if jdk.IsDump([]byte("2026-11-20 08:11:11 GET /\n")) {
		t.Error("a log is seen to be a dump")
	}
}

func TestDumpWithoutStatesIsGuessed(t *testing.T) {
	r := read(t, []byte(`{ "threadDump": {"processId": "7", "time": "2023-09-19T10:00:00Z", "runtimeVersion": "21", "threadContainers": [
		{"container": "<root>", "parent": null, "owner": null, "threads": [
			{"tid": "1", "name": "a", "stack": ["java.base\/java.lang.Thread.sleep(Thread.java:1)"]},
			{"tid": "22", "name": "", "stack": ["java.base\/java.util.concurrent.locks.LockSupport.park(LockSupport.java:1)", "App.run(App.java)"]},
			{"tid": "23", "name": "", "stack": []}], "threadCount": "4"}]}}`))
	got := strings.Join(lines(t, r), "\n")
	for _, want := range []string{"timed-parked Reason:sleep", "parked Reason:park", "App.run:0"} {
		if !strings.Contains(got, want) {
			t.Errorf("want %q in\n%s", want, got)
		}
	}
	if missing := r.Incomplete(); len(missing) != 1 || !strings.Contains(missing[0], "guessed") {
		t.Errorf("got missing %q", missing)
	}
}

func TestDamagedDumpSaysWhereItEnds(t *testing.T) {
	doc := write(t, shop(), jdk.Options{})
	for _, n := range []int{len(doc) / 3, len(doc) / 2, len(doc) - 40} {
		r, err := jdk.Read(bytes.NewReader(doc[:n]))
		if err != nil {
			t.Errorf("%d bytes: %v", n, err)
			continue
		}
		if missing := r.Incomplete(); len(missing) == 0 || !strings.Contains(strings.Join(missing, ""), "cannot be read after byte") || r.Len() == 0 {
			t.Errorf("%d bytes: got %d threads, missing %q", n, r.Len(), missing)
		}
	}
	for _, bad := range []string{"", "{", "[]", "{}", `{"a":1}`, `{"threadDump":[]}`, `{"threadDump":{"processId":"x"}}`, strings.Repeat("[", 100_000)} {
		if r, err := jdk.Read(strings.NewReader(bad)); err == nil && r.Len()+len(r.Incomplete()) > 0 {
			t.Errorf("%.40q: got %d threads and no error", bad, r.Len())
		}
	}
}

func TestContainersThatPointNowhereAreShownBelowTheRoot(t *testing.T) {
	r := read(t, []byte(`{"threadDump": {"threadContainers": [{"container": "<root>", "threads": []},
		{"container": "a/X@1", "parent": "b/X@2", "threads": [{"tid": 1}]}, {"container": "b/X@2", "parent": "a/X@1", "threads": [{"tid": 2}]},
		{"container": "c", "parent": "nowhere", "threads": [{"tid": 3}]}]}}`))
	got := lines(t, r)
	if n := len(got); n != 7 {
		t.Errorf("got %d lines, want 4 scopes and 3 threads:\n%s", n, strings.Join(got, "\n"))
	}
	if missing := strings.Join(r.Incomplete(), "\n"); !strings.Contains(missing, "1 container shown below the root") {
		t.Errorf("got %q", missing)
	}
}

func TestAWriterThatFailsEndsTheDump(t *testing.T) {
	full := errors.New("full")
	err := jdk.JSON(t.Context(), failing{full}, shop(), jdk.Options{})
	if !errors.Is(err, full) {
		t.Errorf("got %v, want %v", err, full)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := jdk.Text(ctx, io.Discard, shop(), jdk.Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want that of the context", err)
	}
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }

// storm is a flight file with n threads in 400 scopes and 60 stacks of 20 frames.
func storm(n int) flighttest.Spec {
	spec := flighttest.Spec{Threads: n, Thread: func(i int) flighttest.Thread {
		return flighttest.Thread{Scope: 1 + i%400, Stack: 1 + i%60, State: flight.StateParked, Reason: flight.ReasonPark, Age: time.Minute}
	}}
	for i := range 400 {
		spec.Scopes = append(spec.Scopes, flighttest.Scope{Name: "batch", Parent: i / 20})
	}
	for i := range 60 {
		var s flighttest.Stack
		for d := range 20 {
			s = append(s, flight.Frame{Func: fmt.Sprintf("example.org/shop/store.(*Store).query%d", (i+d)%60), File: "/src/shop/store.go", Line: i*100 + d})
		}
		spec.Stacks = append(spec.Stacks, s)
	}
	return spec
}

func TestEveryThreadOfAFlightFileIsWritten(t *testing.T) {
	const n = 5000
	r, err := flight.Open(flighttest.Write(t, storm(n)).Path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	back := read(t, write(t, r, jdk.Options{}))
	if back.Len() != n {
		t.Errorf("got %d threads, want %d", back.Len(), n)
	}
	a, err := dump.Take(t.Context(), r, dump.Options{})
	if err != nil {
		t.Fatal(err)
	}
	b, err := dump.Take(t.Context(), back, dump.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if len(a.Groups) != len(b.Groups) || len(a.Stacks) != len(b.Stacks) || a.ScopeCount != b.ScopeCount || a.States != b.States {
		t.Errorf("got %d groups, %d stacks, %d scopes; want %d, %d, %d", len(b.Groups), len(b.Stacks), b.ScopeCount, len(a.Groups), len(a.Stacks), a.ScopeCount)
	}
}

func BenchmarkJSON(b *testing.B) {
	const n = 200_000
	r, err := flight.Open(flighttest.Write(b, storm(n)).Path)
	if err != nil {
		b.Fatal(err)
	}
	defer r.Close()
	b.ReportAllocs()
	for b.Loop() {
		if err := jdk.JSON(b.Context(), io.Discard, r, jdk.Options{}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds(), "threads/s")
}

func BenchmarkRead(b *testing.B) {
	const n = 20_000
	r, err := flight.Open(flighttest.Write(b, storm(n)).Path)
	if err != nil {
		b.Fatal(err)
	}
	defer r.Close()
	var doc bytes.Buffer
	if err := jdk.JSON(b.Context(), &doc, r, jdk.Options{}); err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(doc.Len()))
	for b.Loop() {
		if _, err := jdk.Read(bytes.NewReader(doc.Bytes())); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds(), "threads/s")
	runtime.KeepAlive(doc)
}

func FuzzRead(f *testing.F) {
	var doc bytes.Buffer
	if err := jdk.JSON(f.Context(), &doc, shop(), jdk.Options{}); err != nil {
		f.Fatal(err)
	}
	f.Add(doc.Bytes())
	if sample, err := os.ReadFile("testdata/jdk25.json"); err == nil {
		f.Add(sample)
	}
	f.Add([]byte("7\n2026-01-01T10:00:00Z\n25\n\n#1 \"a\nb\" virtual WAITING 2026-01-01T10:00:00Z\n    at A.b(A.java:1)\n    - parking to wait for <A@1>, owner #2\n\n"))
	f.Add([]byte(`{"threadDump":{"threadContainers":[{},{"parent":"","owner":"1","threads":[{"tid":18446744073709551615,"carrier":-1}]}]}}`))
	f.Fuzz(func(t *testing.T, doc []byte) {
		r, err := jdk.Read(bytes.NewReader(doc))
		if err != nil {
			return
		}
		if _, err := dump.Take(t.Context(), r, dump.Options{}); err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		if err := jdk.JSON(t.Context(), &out, r, jdk.Options{}); err != nil {
			t.Fatal(err)
		}
		if !json.Valid(out.Bytes()) {
			t.Fatalf("not JSON: %s", out.Bytes())
		}
	})
}

var plainHeader = regexp.MustCompile(`^#(\d+) "(.*)" (virtual )?([A-Z_]+) (\S+)$`) // as in the JDK's own tests

func TestPlainDumpHasHeadersThatTheJDKsTestsRead(t *testing.T) {
	var b bytes.Buffer
	if err := jdk.Text(t.Context(), &b, shop(), jdk.Options{}); err != nil {
		t.Fatal(err)
	}
	n := 0
	for i, line := range strings.Split(b.String(), "\n") {
		if i < 4 || !strings.HasPrefix(line, "#") {
			continue
		}
		m := plainHeader.FindStringSubmatch(line)
		if m == nil {
			t.Errorf("got header %q", line)
			continue
		}
		if _, err := time.Parse(time.RFC3339Nano, m[5]); err != nil {
			t.Error(err)
		}
		n++
	}
	if n != 9 {
		t.Errorf("got %d threads, want 9", n)
	}
}
