package dump_test

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vtscope/vtscope/dump"
	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/flight/flighttest"
)

// crowd is n threads that are alike.
func crowd(n int, th flighttest.Thread) flighttest.Spec {
	return flighttest.Spec{
		Scopes: []flighttest.Scope{{Name: "requests", Owner: 1}}, Stacks: waitStacks, Threads: n, Thread: func(int) flighttest.Thread { return th },
	}
}

// queued is n threads that wait for the carriers of a scheduler, of which some are held for 200 ms, others run.
func queued(n, held, run int) flighttest.Spec {
	s := crowd(n, flighttest.Thread{Scope: 1, Scheduler: 1, State: flight.StateRunnable, Age: time.Second})
	s.Schedulers = []flighttest.Scheduler{{ID: 1, Name: "default", Began: time.Minute, Figures: map[flight.Figure]uint64{flight.FigureCarriers: uint64(held + run)}}}
	s.Carriers = held + run
	s.Carrier = func(i int) flighttest.Carrier {
		if i >= held {
			return flighttest.Carrier{Scheduler: 1}
		}
		return flighttest.Carrier{Scheduler: 1, Hold: &flighttest.Hold{Thread: flight.ThreadID(9000 + i), Reason: flight.ReasonPinnedGo, Age: 200 * time.Millisecond, Stack: 2}}
	}
	return s
}

// calling is a scheduler of which n threads are in system calls.
func calling(n int) flighttest.Spec {
	s := queued(1, 1, 1)
	s.Schedulers[0].Figures = map[flight.Figure]uint64{flight.FigureCalls: uint64(n), flight.FigureMaxCarriers: 1024}
	return s
}

// circle is two threads of which each has what the other wants, with or without a time limit.
func circle(limited bool) flighttest.Spec {
	one, two := waiting(1, mutex(0xb)), waiting(1, mutex(0xa))
	one.Name, two.Limited = "left", limited
	return flighttest.Spec{
		Scopes: findingScopes, Stacks: waitStacks, Threads: 2, Thread: oneOf(one, two),
		Blockers: []flighttest.Blocker{held(mutex(0xa), thread(1)), held(mutex(0xb), thread(2))},
	}
}

// heldUp has n threads in two scopes that wait for what thread 1 has, which is parked at a stack, since age.
func heldUp(n int, age time.Duration, at int) flighttest.Spec {
	return flighttest.Spec{
		Scopes: findingScopes, Stacks: waitStacks, Threads: n + 1, Blockers: []flighttest.Blocker{{Blocker: mutex(0xd), Holders: []flighttest.Holder{{Party: thread(1)}}}},
		Thread: func(i int) flighttest.Thread {
			if i == 0 {
				return flighttest.Thread{Name: "keeper", Scope: 1, State: flight.StateParked, Reason: flight.ReasonPark, Stack: at, Age: age}
			}
			return waiting(4-i%2*3, mutex(0xd))
		},
	}
}

// computed has a thread that computed for d, so long ago.
func computed(d, ago time.Duration) flighttest.Spec {
	return flighttest.Spec{Stacks: waitStacks, Trace: []flighttest.Event{
		{Age: ago, Kind: flight.EventMonopolized, Code: flight.ReasonMonopoly, Stack: 2, Thread: 7, Arg: uint64(flight.MakeHeld(d, 0))},
	}}
}

// slept has n sleeps and late timers that are late.
func slept(n, late int) flighttest.Spec {
	s := crowd(3, flighttest.Thread{Scope: 1, State: flight.StateTimedParked, Reason: flight.ReasonSleep, Stack: 2})
	for range n {
		s.Trace = append(s.Trace, flighttest.Event{Kind: flight.EventPark, Code: flight.ReasonSleep, Thread: 1})
	}
	for range late {
		s.Trace = append(s.Trace, flighttest.Event{Kind: flight.EventTimerLate, Thread: 1, Arg: uint64(time.Second)})
	}
	return s
}

// limited is a scope in which n threads wait for others to end before they begin.
func limited(n int) flighttest.Spec {
	s := crowd(n, flighttest.Thread{Scope: 1, State: flight.StateNew})
	s.Scopes[0].Queued, s.Scopes[0].Limit = n, 4
	return s
}

// pinSites has victims at one place, by how many pins of 10 ms.
func pinSites(pins int, victims uint64) flighttest.Spec {
	s := flighttest.Spec{Stacks: waitStacks}
	for range pins {
		s.Pins = append(s.Pins, flighttest.Pin{Stack: 2, Reason: flight.ReasonPinnedSection, Held: 10 * time.Millisecond, Victims: victims / uint64(pins)})
	}
	return s
}

func waited(age time.Duration, why flight.Reason) flighttest.Spec {
	return crowd(3, flighttest.Thread{Scope: 1, State: flight.StateParked, Reason: why, Stack: 2, Age: age})
}

func parked(n int) flighttest.Spec {
	return crowd(n, flighttest.Thread{Scope: 1, State: flight.StateParked, Reason: flight.ReasonPark, Stack: 2})
}

// calledStacks is a place with a caller.
var calledStacks = []flighttest.Stack{{{Func: "shop.export", File: "export.go", Line: 20}, {Func: "shop.run", File: "run.go", Line: 7}}}

// steadyPins has n pins of 200 ms with victims, one each 5.5 s.
func steadyPins(n int, victims uint64) flighttest.Spec {
	s := flighttest.Spec{Stacks: calledStacks}
	for i := range n {
		s.Pins = append(s.Pins, flighttest.Pin{Stack: 1, Reason: flight.ReasonPinnedOSThread, Held: 200 * time.Millisecond, Victims: victims, Age: time.Duration(n-i) * 11 * time.Second / 2})
	}
	return s
}

// convoy has n holds of a lock by thread 1, 15 s apart, for which others wait.
func convoy(n int, held time.Duration, waiting int) flighttest.Spec {
	s := crowd(3, flighttest.Thread{Name: "recount", Scope: 1, State: flight.StateTimedParked, Reason: flight.ReasonSleep, Stack: 2})
	for i := range n {
		s.Holds = append(s.Holds, flighttest.LockHold{Blocker: mutex(0xd), Name: "stock", Stack: 3, Thread: 1, Held: held, Waiting: waiting, Age: time.Duration(n-i) * 15 * time.Second})
	}
	return s
}

// comers are threads of which five came in each 5 s of the last minute, without those gone, and with others that have just come.
func comers(gone, fresh int) flighttest.Spec {
	s := crowd(60-gone+fresh, flighttest.Thread{})
	s.Stacks = calledStacks
	s.Thread = func(i int) flighttest.Thread {
		th := flighttest.Thread{Name: "watch", Scope: 1, State: flight.StateParked, Reason: flight.ReasonPark, Stack: 1}
		if i < 60-gone {
			th.Age = 2500*time.Millisecond + time.Duration(i/5)*5*time.Second
		}
		return th
	}
	return s
}

// A checkCase is a process that a check finds something in, and one that is almost like it, and well. Looks are 10 s apart, the last is now.
type checkCase struct {
	check       string
	shows, well []flighttest.Spec
	what        string // prefix
	count       int
	value       int64
	evidence    string // prefix of the first line
	scope       string // of which the finding is
	grouped     bool   // it names a group
}

var checkCases = []checkCase{
	{check: "deadlock", shows: []flighttest.Spec{circle(false)}, well: []flighttest.Spec{circle(true)}, what: "2 threads wait for each other, for 1",
		count: 2, value: 2, evidence: `#1 "left" wants mutex 0xb`, scope: "requests", grouped: true},
	{check: "holder-gone", shows: []flighttest.Spec{troubled(1), troubled(1)}, well: []flighttest.Spec{circle(true), circle(true)}, what: "2 threads of own wait without a time limit for mutex 0xb, whose holder #5000 has ended",
		count: 2, value: 2, scope: "own", grouped: true},
	{check: "os-threads", shows: []flighttest.Spec{calling(800)}, well: []flighttest.Spec{calling(799)},
		what: "scheduler default: 800 threads are in system calls, and each holds an OS thread; from 1,024 on, others wait", count: 800, value: 800, evidence: "#9000 holds carrier 0 for 2"},
	{check: "long-held", shows: []flighttest.Spec{heldUp(10, time.Minute, 3)}, well: []flighttest.Spec{heldUp(9, time.Minute, 3)}, what: `10 threads wait for mutex 0xd, which #1 "keeper" has held for 1`,
		count: 10, value: int64(time.Minute), evidence: `#1 "keeper" of requests has held it for 1`, scope: "requests", grouped: true},
	{check: "long-held", shows: []flighttest.Spec{heldUp(500, 11*time.Second, 3)}, well: []flighttest.Spec{heldUp(500, 9*time.Second, 3), circle(false)}, what: `500 threads wait for mutex 0xd, which #1 "keeper" has held for 1`,
		count: 500, value: int64(11 * time.Second), evidence: `#1 "keeper" of requests`, scope: "requests", grouped: true},
	{check: "carriers-held", shows: []flighttest.Spec{queued(3, 2, 0)}, well: []flighttest.Spec{queued(3, 2, 1)}, what: "scheduler default: 3 queued threads, and none was mounted for ",
		count: 3, value: int64(200 * time.Millisecond), evidence: "#9000 holds carrier 0 for "},
	{check: "carriers-held", shows: []flighttest.Spec{queued(1, 1, 0)}, well: []flighttest.Spec{queued(0, 2, 0)}, what: "scheduler default: 1 queued thread, and none was mounted for ",
		count: 1, value: int64(200 * time.Millisecond)},
	{check: "pinned", shows: []flighttest.Spec{pinSites(2, 10), pinSites(5, 50)}, well: []flighttest.Spec{pinSites(2, 42), pinSites(5, 50)}, what: "40 times a thread waited for a carrier while threads held theirs 3 times for 30 ms in all: pin-section",
		count: 40, value: 40},
	{check: "pinned", shows: []flighttest.Spec{queued(30, 2, 1)}, well: []flighttest.Spec{queued(9, 2, 1)}, what: "30 threads wait for a carrier while threads hold theirs for ",
		count: 30, value: 30, evidence: "#9000 holds carrier 0"},
	{check: "pinned", shows: []flighttest.Spec{steadyPins(8, 3), steadyPins(8, 3)}, well: []flighttest.Spec{steadyPins(8, 1), steadyPins(8, 1)},
		what: "24 times a thread waited for a carrier while threads held theirs 8 times for 1.6 s in all: os-thread, in the last minute", count: 24, value: 24, evidence: "called by shop.run run.go:7"},
	{check: "pinned-often", shows: []flighttest.Spec{steadyPins(8, 0)}, well: []flighttest.Spec{steadyPins(4, 0)},
		what: "threads held their carriers 8 times for 1.6 s in all in the last minute, and none waited for one: os-thread", count: 8, value: int64(1600 * time.Millisecond), evidence: "called by shop.run run.go:7"},
	{check: "lock-convoy", shows: []flighttest.Spec{convoy(3, 600*time.Millisecond, 40)}, well: []flighttest.Spec{convoy(1, 600*time.Millisecond, 40)},
		what: `40 threads waited for mutex "stock" while #1 "recount" held it for 600 ms`, count: 40, value: int64(600 * time.Millisecond),
		evidence: "locks that others waited for were released there 3 times in the last minute, after 1.8 s in all", scope: "requests", grouped: true},
	{check: "lock-convoy", shows: []flighttest.Spec{convoy(2, time.Second, 10)}, well: []flighttest.Spec{convoy(3, time.Second, 9)}, what: "10 threads waited for ", count: 10, value: int64(time.Second), scope: "requests", grouped: true},
	{check: "lock-convoy", shows: []flighttest.Spec{convoy(2, time.Second, 10)}, well: []flighttest.Spec{convoy(3, 450*time.Millisecond, 90)}, what: "10 threads waited for ", count: 10, value: int64(time.Second), scope: "requests", grouped: true},
	{check: "leak", shows: []flighttest.Spec{comers(0, 0), comers(0, 2)}, well: []flighttest.Spec{comers(0, 0), comers(2, 2)},
		what: "62 threads wait without a time limit at a place to which others come and which none leaves: 32 came in the last 30 s", count: 62, value: 32,
		evidence: "each of them began in shop.run run.go:7", scope: "requests", grouped: true},
	{check: "hog", shows: []flighttest.Spec{computed(300*time.Millisecond, time.Second)}, well: []flighttest.Spec{computed(90*time.Millisecond, time.Second)}, what: "thread #7 computed without a scheduling point for 300 ms",
		count: 1, value: int64(300 * time.Millisecond), evidence: "#7 for 300 ms: monopoly, in shop.export export.go:20"},
	{check: "hog", shows: []flighttest.Spec{computed(300*time.Millisecond, time.Second)}, well: []flighttest.Spec{computed(300*time.Millisecond, 11*time.Second)}, what: "thread #7 computed",
		count: 1, value: int64(300 * time.Millisecond)},
	{check: "scope-growth", shows: []flighttest.Spec{parked(150), parked(200), parked(190), parked(300)}, well: []flighttest.Spec{parked(150), parked(301), parked(200), parked(300)},
		what: "scope requests has 300 threads, 150 more than 30 s ago", count: 300, value: 200, scope: "requests", grouped: true},
	{check: "scope-growth", shows: []flighttest.Spec{parked(3000), parked(3200)}, well: []flighttest.Spec{parked(6000), parked(6190)}, // 19 % a minute
		what: "scope requests has 3,200 threads", count: 3200, value: 40, scope: "requests", grouped: true},
	{check: "spawn-storm", shows: []flighttest.Spec{parked(1), parked(10_011)}, well: []flighttest.Spec{parked(1), parked(9_991)}, what: "1,001 threads start each second and 0 end: 10,010 more than 10 s ago",
		count: 10_011, value: 1001, scope: "requests", grouped: true},
	{check: "timer-storm", shows: []flighttest.Spec{slept(0, 0), slept(900, 10_000)}, well: []flighttest.Spec{slept(0, 0), slept(900, 9_000)},
		what: "90 times a second a thread goes to sleep, and 1,000 timers a second are late; 3 threads sleep or wait", count: 3, value: 100_000, scope: "requests", grouped: true},
	{check: "unbounded-queue", shows: []flighttest.Spec{queued(1000, 0, 1), queued(1200, 0, 1)}, well: []flighttest.Spec{queued(1200, 0, 1), queued(1210, 0, 1)},
		what: "scheduler default: 1,200 threads wait for a carrier, 200 more than 10 s ago", count: 1200, value: 1200, scope: "requests", grouped: true},
	{check: "unbounded-queue", shows: []flighttest.Spec{limited(1000), limited(1500), limited(2000)}, well: []flighttest.Spec{limited(1000), limited(2001), limited(2000)},
		what: "scope requests: 2,000 threads wait for others to end before they begin, 1,000 more than 20 s ago", count: 2000, value: 2000, evidence: "4 threads of it may execute at a time",
		scope: "requests", grouped: true},
	{check: "oldest-parked", shows: []flighttest.Spec{waited(time.Hour, flight.ReasonCondition)}, well: []flighttest.Spec{waited(time.Hour, flight.ReasonRead)},
		what: "the oldest of 3 threads of requests at this place has been parked for 1", count: 3, value: int64(time.Hour), scope: "requests", grouped: true},
	{check: "oldest-parked", shows: []flighttest.Spec{waited(11*time.Minute, flight.ReasonLock)}, well: []flighttest.Spec{waited(9*time.Minute, flight.ReasonLock)}, what: "the oldest of 3",
		count: 3, value: int64(11 * time.Minute), scope: "requests", grouped: true},
	{check: "parked-longer", shows: []flighttest.Spec{troubled(1)}, well: []flighttest.Spec{parked(500)}, what: "1 thread of own has waited for up to 1 m at a place where 12 wait for ", count: 1, scope: "own", grouped: true},
	{check: "scope-orphaned", shows: []flighttest.Spec{troubled(1), troubled(1)}, well: []flighttest.Spec{parked(500), parked(500)}, what: "2 scopes of name jobs are open though the owners have ended", count: 2, value: 2, scope: "jobs"},
	{check: "unscoped", shows: []flighttest.Spec{troubled(100)}, well: []flighttest.Spec{troubled(99)}, what: "100 threads were started outside of any scope", count: 100, value: 100, grouped: true},
}

// looksAt takes a look at each, 10 s apart as far as checks can tell.
func looksAt(t *testing.T, specs []flighttest.Spec) []*dump.Look {
	t.Helper()
	var all []*dump.Look
	for i, s := range specs {
		l := look(t, flighttest.Write(t, s))
		back := time.Duration(len(specs)-1-i) * 10 * time.Second
		l.Taken = l.Taken.Add(-back)
		all = append(all, l)
	}
	last := all[len(all)-1].Taken
	for i, l := range all { // exactly
		l.Taken = last.Add(-time.Duration(len(all)-1-i) * 10 * time.Second)
		if l.Snapshot != nil {
			l.Snapshot.Taken = l.Taken
		}
	}
	return all
}

func checkOver(t *testing.T, check string, looks []*dump.Look) []dump.Finding {
	t.Helper()
	var o dump.CheckOptions
	n := len(looks) - 1
	var before *dump.Look
	if n > 0 {
		before, o.Earlier = looks[n-1], looks[:n-1]
	}
	all, judged := found(t, check, looks[n], before, o)
	if !judged {
		t.Errorf("%s was not judged", check)
	}
	return all
}

func TestEachCheckFindsWhatItIsForAndIsSilentWhereAllIsWell(t *testing.T) {
	for _, c := range checkCases {
		all := checkOver(t, c.check, looksAt(t, c.shows))
		if len(all) != 1 {
			t.Errorf("%s: got %+v, want one finding: %s", c.check, all, c.what)
			continue
		}
		f := all[0]
		info := dump.CheckOf(c.check)
		near := f.Value == c.value || c.value == 0 || info.Unit == dump.UnitDuration && about(time.Duration(f.Value), time.Duration(c.value))
		if !strings.HasPrefix(f.What, c.what) || f.Count != c.count || !near {
			t.Errorf("%s: got %q, count %d, value %d; want %q, %d and %d", c.check, f.What, f.Count, f.Value, c.what, c.count, c.value)
		}
		if f.Severity != info.Severity || f.Threshold != info.Threshold || f.Unit != info.Unit || f.Page != info.Page() || f.First.IsZero() || len(f.Key) != 16 {
			t.Errorf("%s: got %+v", c.check, f)
		}
		if strings.Join(f.Scope, "/") != c.scope || (f.GroupKey != "") != c.grouped || (f.ScopeKey == "") != (c.scope == "" && c.check != "unscoped") {
			t.Errorf("%s: got scope %q %q and group %q; want %q and a group: %v", c.check, f.Scope, f.ScopeKey, f.GroupKey, c.scope, c.grouped)
		}
		if c.evidence != "" && (len(f.Evidence) == 0 || !strings.HasPrefix(f.Evidence[0], c.evidence)) {
			t.Errorf("%s: got evidence %q, want %q", c.check, f.Evidence, c.evidence)
		}
		if all := checkOver(t, c.check, looksAt(t, c.well)); len(all) != 0 {
			t.Errorf("%s: got %+v of a process that is well", c.check, all)
		}
	}
	for i := range dump.Checks {
		if name := dump.Checks[i].Name; name != "recorder-drops" && !slices.ContainsFunc(checkCases, func(c checkCase) bool { return c.check == name }) {
			t.Errorf("no case of %s", name)
		}
	}
}

// Who holds something for long is told of, unless others go on beside it, or nobody can say for how long.
func TestWhatIsLongHeldDependsOnItsHolders(t *testing.T) {
	gate := flight.BlockAt(flight.BlockedBySemaphore, 0xe)
	held := func(spec flighttest.Spec, b flight.Blocker, state flight.State, ages ...time.Duration) flighttest.Spec {
		before := spec.Thread
		blocker := flighttest.Blocker{Blocker: b, Name: "gate", Made: 3}
		for i := range ages {
			blocker.Holders = append(blocker.Holders, flighttest.Holder{Party: thread(i + 1)})
		}
		spec.Blockers = []flighttest.Blocker{blocker}
		spec.Thread = func(i int) flighttest.Thread {
			if i >= len(ages) {
				return waiting(4, b)
			}
			th := before(0)
			th.Age, th.State = ages[i], state
			return th
		}
		return spec
	}
	long := heldUp(40, time.Minute, 3)
	unknown := held(long, gate, flight.StateMounted, time.Minute)
	since := unknown
	since.Blockers = []flighttest.Blocker{{Blocker: gate, Name: "gate", Holders: []flighttest.Holder{{Party: thread(1), Age: time.Minute}}}}
	for _, c := range []struct {
		name, what, place, scope string
		spec                     flighttest.Spec
		examples                 int
	}{
		{"one permit of three goes on", `38 threads wait for semaphore "gate", which 3 hold, the one in the middle for 1 m`, "store.go:12", "requests",
			held(long, gate, flight.StateParked, time.Second, time.Minute, time.Minute), 3},
		{"two permits of three go on", "", "", "", held(long, gate, flight.StateParked, time.Second, time.Minute, time.Second), 0},
		{"it runs, nobody knows since when", "", "", "", unknown, 0},
		{"it runs, and has had it for long", `40 threads wait for semaphore "gate", which #1 "keeper" has held for 1 m`, "store.go:88", "own", since, 1},
		{"it has ended", "", "", "", troubled(150), 0},
	} {
		all, judged := found(t, "long-held", look(t, flighttest.Write(t, c.spec)), nil, dump.CheckOptions{})
		if !judged {
			t.Errorf("%s: not judged", c.name)
		}
		if c.what == "" {
			if len(all) != 0 {
				t.Errorf("%s: got %+v, want none", c.name, all)
			}
			continue
		}
		if len(all) != 1 || !strings.HasPrefix(all[0].What, c.what) || all[0].Place == nil || fmt.Sprintf("%s:%d", all[0].Place.File, all[0].Place.Line) != c.place ||
			strings.Join(all[0].Scope, "/") != c.scope || len(all[0].Examples) != c.examples {
			t.Errorf("%s: got %+v, want %q at %s of %s", c.name, all, c.what, c.place, c.scope)
		}
	}
}

// A recorder that is full: of the events that are lost those since the earlier look count, of the records all.
func TestDropsOfTheRecorderAreFound(t *testing.T) {
	rec, err := flight.New(flight.Options{Mode: flight.ModePrivate, MaxThreads: 1024, Warn: func(string) {}})
	if err != nil {
		t.Fatal(err)
	}
	defer rec.Close()
	take := func(n int) *dump.Look {
		for range n {
			if r := rec.GetRecord(); r != nil {
				r.Init(flight.StateNew, flight.ThreadID(n), 0, 0, 0, 0, flight.Now())
			}
		}
		r, err := rec.Reader()
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
	before := take(10)
	if all := checkOver(t, "recorder-drops", []*dump.Look{before}); len(all) != 0 {
		t.Errorf("got %+v, want none", all)
	}
	now := take(10_000)
	lost := int(now.Counters.Lost.Threads)
	all := checkOver(t, "recorder-drops", []*dump.Look{before, now})
	if lost == 0 || len(all) != 1 || all[0].Count != lost || !strings.HasPrefix(all[0].What, "the recorder lost "+dump.Count(lost, "thread")+" without a record") {
		t.Errorf("got %+v, want %d threads lost", all, lost)
	}
	now.Counters.Lost, before.Counters.Lost = flight.Lost{Events: 30}, flight.Lost{Events: 10}
	if all := checkOver(t, "recorder-drops", []*dump.Look{before, now}); len(all) != 1 || all[0].Count != 20 {
		t.Errorf("got %+v, want 20 events", all)
	}
	if all := checkOver(t, "recorder-drops", []*dump.Look{now, now}); len(all) != 0 {
		t.Errorf("got %+v: nothing was lost since", all)
	}
}

// What is the same trouble has the same key at each look, and what is another has another.
func TestAFindingKeepsItsKey(t *testing.T) {
	keys := map[string]string{}
	for _, c := range checkCases {
		a, b := checkOver(t, c.check, looksAt(t, c.shows)), checkOver(t, c.check, looksAt(t, c.shows))
		if len(a) != 1 || len(b) != 1 || a[0].Key != b[0].Key {
			t.Errorf("%s: got %+v and %+v", c.check, a, b)
			continue
		}
		if other, ok := keys[a[0].Key]; ok && other != c.check {
			t.Errorf("%s and %s have one key", c.check, other)
		}
		keys[a[0].Key] = c.check
	}
}

// A look that was taken for some checks judges those, and says that it does not judge the others.
func TestALookForSomeChecksReadsOnlyWhatTheyNeed(t *testing.T) {
	r, err := flight.Open(flighttest.Write(t, circle(false)).Path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	l, err := dump.LookOptions{For: []string{"hog"}}.Take(context.Background(), r)
	if err != nil || l.Snapshot != nil || l.Waits != nil || l.Schedulers == nil {
		t.Fatalf("got %+v, %v", l, err)
	}
	f, err := dump.Check(l, nil, dump.CheckOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, u := range f.Unjudged {
		if u.Check == "hog" || u.Check == "recorder-drops" {
			t.Errorf("not judged: %+v", u)
		}
	}
	if len(f.Unjudged) != len(dump.Checks)-2 || len(f.Findings) != 0 {
		t.Errorf("got %+v", f)
	}
}

// The parts of a look that share one reading of the threads are those that one gets each for itself.
func TestALookIsWhatItsPartsAre(t *testing.T) {
	for name, s := range map[string]flighttest.Spec{"bank": bank(), "troubled": troubled(150), "circle": circle(false)} {
		r, err := flight.Open(flighttest.Write(t, s).Path)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		l, err := dump.LookOptions{Delays: true}.Take(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		snap, err := dump.Take(t.Context(), r, dump.Options{})
		if err != nil {
			t.Fatal(err)
		}
		waits, err := dump.TakeWaits(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		scheds, err := dump.TakeSchedulers(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		if l.Snapshot.States != snap.States || len(l.Snapshot.Groups) != len(snap.Groups) || len(l.Snapshot.Scopes) != len(snap.Scopes) {
			t.Errorf("%s: got %+v, want %+v", name, l.Snapshot, snap)
		}
		if l.Waits.Waiting != waits.Waiting || len(l.Waits.Groups) != len(waits.Groups) || len(l.Waits.Deadlocks) != len(waits.Deadlocks) {
			t.Errorf("%s: got %+v, want %+v", name, l.Waits, waits)
		}
		if l.Schedulers.Sample.Ready != scheds.Sample.Ready || len(l.Schedulers.Scopes) != len(scheds.Scopes) || len(l.Schedulers.Incidents) != len(scheds.Incidents) ||
			len(l.Schedulers.Schedulers) != len(scheds.Schedulers) {
			t.Errorf("%s: got %+v, want %+v", name, l.Schedulers, scheds)
		}
		for i := range scheds.Schedulers {
			if l.Schedulers.Schedulers[i].Threads != scheds.Schedulers[i].Threads || len(l.Schedulers.Schedulers[i].Carriers) != len(scheds.Schedulers[i].Carriers) {
				t.Errorf("%s: got %+v, want %+v", name, l.Schedulers.Schedulers[i], scheds.Schedulers[i])
			}
		}
	}
}

// Threads come to a place all the time where one might think that they leak, and do not.
func TestNoLeakWhereThreadsLeaveOrWaitForWhatComes(t *testing.T) {
	type thread = flighttest.Thread
	for _, c := range []struct {
		name   string
		change func(i int, th *thread)
		n      int
	}{
		{"for a condition", func(_ int, th *thread) { th.State, th.Reason = flight.StateWaiting, flight.ReasonCondition }, 1},
		{"with a time limit", func(_ int, th *thread) { th.State = flight.StateTimedParked }, 0},
		{"one of them with a time limit", func(i int, th *thread) {
			th.State, th.Reason, th.Blocker, th.Limited = flight.StateWaiting, flight.ReasonCondition, flight.BlockAt(flight.BlockedByCondition, 0xc), i == 9
		}, 0},
		{"for a message", func(_ int, th *thread) { th.Reason = flight.ReasonRead }, 0},
		{"for a thread", func(_ int, th *thread) { th.Reason = flight.ReasonJoin }, 0},
		{"for a lock", func(_ int, th *thread) { th.State, th.Reason = flight.StateBlocked, flight.ReasonLock }, 0},
		{"with a break", func(_ int, th *thread) {
			if th.Age > 10*time.Second && th.Age < 15*time.Second {
				th.Age += 5 * time.Second
			}
		}, 0},
		{"for half a minute in the middle", func(i int, th *thread) {
			if i < 60 {
				th.Age = time.Duration(-30 * math.Log(1-(float64(i)+0.5)/60) * float64(time.Second))
			}
		}, 0},
	} {
		change := func(s flighttest.Spec) flighttest.Spec {
			before := s.Thread
			s.Thread = func(i int) thread {
				th := before(i)
				c.change(i, &th)
				return th
			}
			return s
		}
		if all := checkOver(t, "leak", looksAt(t, []flighttest.Spec{change(comers(0, 0)), change(comers(0, 2))})); len(all) != c.n {
			t.Errorf("%s: got %+v, want %d findings", c.name, all, c.n)
		}
	}
	if all := checkOver(t, "leak", looksAt(t, []flighttest.Spec{comers(0, 0), parked(3), comers(0, 2)})); len(all) != 1 {
		t.Errorf("a look without them between: got %+v, want one finding", all)
	}
}

// What a process had counted in its life is no news when it ends.
func TestOfAProcessThatEndedWhatCameSinceTheLookBeforeIsJudged(t *testing.T) {
	looks := looksAt(t, []flighttest.Spec{pinSites(2, 42), pinSites(5, 50)})
	for _, l := range looks[1:] {
		l.Process.Status = dump.StatusGone
	}
	if all, judged := found(t, "pinned", looks[1], nil, dump.CheckOptions{}); !judged || len(all) != 1 || all[0].Count != 50 {
		t.Errorf("of its whole life: %+v, judged %v, want 50 waits", all, judged)
	}
	if all, judged := found(t, "pinned", looks[1], looks[0], dump.CheckOptions{}); !judged || len(all) != 0 {
		t.Errorf("since the look before: %+v, judged %v, want none: 8 waits are few", all, judged)
	}
	if _, judged := found(t, "scope-growth", looks[1], looks[0], dump.CheckOptions{}); judged {
		t.Error("growth of a process that is gone is judged")
	}
}
