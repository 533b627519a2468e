package dump_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/vtscope/vtscope/dump"
	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/flight/flighttest"
)

func takeWaits(t testing.TB, s flighttest.Spec) *dump.Waits {
	t.Helper()
	r, err := flight.Open(flighttest.Write(t, s).Path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	w, err := dump.TakeWaits(context.Background(), r)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func waitsPage(t testing.TB, w *dump.Waits) string {
	t.Helper()
	var b bytes.Buffer
	if err := dump.WaitsText(&b, w, dump.TextOptions{Width: 200}); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func mutex(addr uintptr) flight.Blocker { return flight.BlockAt(flight.BlockedByMutex, addr) }

func thread(id int) flight.Party { return flight.PartyThread(flight.ThreadID(id)) }

// waiting is a thread that waits for b.
func waiting(scope int, b flight.Blocker) flighttest.Thread {
	return flighttest.Thread{Scope: scope, State: flight.StateBlocked, Reason: flight.ReasonLock, Stack: 1, Blocker: b, Age: time.Minute}
}

// joining is a thread that waits for all threads of a scope.
func joining(scope int, id flight.ScopeID) flighttest.Thread {
	th := waiting(scope, flight.BlockScope(id))
	th.State, th.Reason = flight.StateWaiting, flight.ReasonScopeJoin
	return th
}

func oneOf(threads ...flighttest.Thread) func(i int) flighttest.Thread {
	return func(i int) flighttest.Thread { return threads[i] }
}

func held(b flight.Blocker, by ...flight.Party) flighttest.Blocker {
	out := flighttest.Blocker{Blocker: b, Age: time.Minute}
	for _, p := range by {
		out.Holders = append(out.Holders, flighttest.Holder{Party: p, Age: 2 * time.Minute})
	}
	return out
}

var waitStacks = []flighttest.Stack{
	{{Func: "vsync.(*Mutex).Lock", File: "mutex.go", Line: 31, Internal: true}, {Func: "shop.(*Store).query", File: "store.go", Line: 88}, {Func: "shop.handle", File: "shop.go", Line: 7}},
	{{Func: "shop.export", File: "export.go", Line: 20}},
	{{Func: "shop.open", File: "store.go", Line: 12}},
}

func TestWaitsSayWhoHoldsASemaphore(t *testing.T) {
	db := flight.BlockAt(flight.BlockedBySemaphore, 0xc000010000)
	b := flighttest.Blocker{Blocker: db, Name: "db", Made: 3, Capacity: 64, Held: 64, Age: 2 * time.Minute}
	for i := range 8 {
		b.Holders = append(b.Holders, flighttest.Holder{Party: thread(4022 + i), Age: 2 * time.Minute})
	}
	w := takeWaits(t, flighttest.Spec{
		Scopes: []flighttest.Scope{{Name: "requests"}, {Name: "export"}}, Stacks: waitStacks, Threads: 4021 + 64, Blockers: []flighttest.Blocker{b},
		Thread: func(i int) flighttest.Thread {
			if i < 4021 {
				th := waiting(1, db)
				th.Age = time.Duration(i%60+60) * time.Second
				return th
			}
			return flighttest.Thread{Scope: 2, State: flight.StateTimedParked, Reason: flight.ReasonSleep, Stack: 2, Age: time.Minute}
		},
	})
	if len(w.Deadlocks) != 0 || len(w.Groups) != 1 || w.Waiting != 4021 || w.Threads != 4085 || w.Others[flight.ReasonSleep] != 64 || !w.Complete {
		t.Fatalf("got %+v", w)
	}
	out := waitsPage(t, w)
	for _, want := range []string{
		`4,021 in requests wait for semaphore "db" (64 permits), for 1m..1m59s` + "\n",
		"    at        shop.(*Store).query store.go:88\n              shop.handle shop.go:7\n",
		"    made at   shop.open store.go:12\n",
		"    held by   64, of whom the 8 known are threads of export; #4022, timed-parked for 1 m, holds it for 2 m\n    at        shop.export export.go:20\n",
		"others: sleep 64\n",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("want %q in\n%s", want, out)
		}
	}
}

// roles writes the members of a deadlock as "#1 holds mutex 0xa wants mutex 0xb".
func roles(d *dump.Deadlock) string {
	var all []string
	for _, m := range d.Members {
		who := fmt.Sprintf("#%d", m.Thread)
		if m.Goroutine != "" {
			who = "goroutine " + m.Goroutine
		}
		all = append(all, fmt.Sprintf("%s %s %s %s wants %s %s", who, m.Role, m.Keeps.Kind, m.Keeps.ID, m.Wants.Kind, m.Wants.ID))
	}
	return strings.Join(all, "; ")
}

func TestDeadlocksAreFound(t *testing.T) {
	rw, sem, once := flight.BlockAt(flight.BlockedByRWMutex, 0xe), flight.BlockAt(flight.BlockedBySemaphore, 0xd), flight.BlockAt(flight.BlockedByOnce, 0xf)
	goroutine := flight.PartyGoroutine(57)
	for _, c := range []struct {
		name    string
		spec    flighttest.Spec
		want    string
		victims int
	}{
		{name: "two mutexes in two orders, and who waits behind", spec: flighttest.Spec{Threads: 5,
			Thread:   oneOf(waiting(0, mutex(0xb)), waiting(0, mutex(0xa)), waiting(0, mutex(0xa)), waiting(0, flight.BlockThread(3)), waiting(0, mutex(0xc))),
			Blockers: []flighttest.Blocker{held(mutex(0xa), thread(1)), held(mutex(0xb), thread(2)), held(mutex(0xc), thread(1000))},
		}, want: "#2 holds mutex 0xb wants mutex 0xa; #1 holds mutex 0xa wants mutex 0xb", victims: 2},
		{name: "threads that join each other", spec: flighttest.Spec{Threads: 3,
			Thread: oneOf(waiting(0, flight.BlockThread(2)), waiting(0, flight.BlockThread(3)), waiting(0, flight.BlockThread(1))),
		}, want: "#2 is thread 2 wants thread 3; #3 is thread 3 wants thread 1; #1 is thread 1 wants thread 2"},
		{name: "a thread that joins itself", spec: flighttest.Spec{Threads: 1, Thread: oneOf(waiting(0, flight.BlockThread(1)))},
			want: "#1 is thread 1 wants thread 1"},
		{name: "a thread that joins the owner of its scope", spec: flighttest.Spec{Threads: 2, Scopes: []flighttest.Scope{{Name: "orders", Owner: 1}},
			Thread: oneOf(joining(0, 1), waiting(1, flight.BlockThread(1))),
		}, want: "#2 is in scope 1 wants thread 1; #1 is thread 1 wants scope 1"},
		{name: "a scope that joins its ancestor", spec: flighttest.Spec{Threads: 2, Scopes: []flighttest.Scope{{Name: "outer", Owner: 1}, {Name: "inner", Owner: 1, Parent: 1}},
			Thread: oneOf(joining(0, 2), joining(2, 1)),
		}, want: "#2 is in scope 2 wants scope 1; #1 owns scope 1 wants scope 2"},
		{name: "a lock across a goroutine", spec: flighttest.Spec{Threads: 1, Thread: oneOf(waiting(0, mutex(0xb))),
			Blockers:   []flighttest.Blocker{held(mutex(0xa), thread(1)), held(mutex(0xb), goroutine)},
			Goroutines: []flighttest.Goroutine{{ID: 57, State: flight.StateBlocked, Reason: flight.ReasonLock, Blocker: mutex(0xa), Age: time.Minute}},
		}, want: "goroutine 57 holds mutex 0xb wants mutex 0xa; #1 holds mutex 0xa wants mutex 0xb"},
		{name: "a reader that reads again behind a writer", spec: flighttest.Spec{Threads: 2, Thread: oneOf(waiting(0, rw), waiting(0, rw)),
			Blockers: []flighttest.Blocker{held(rw, thread(1), thread(77))},
		}, want: "#1 holds rwmutex 0xe wants rwmutex 0xe", victims: 1},
		{name: "all who have permits want more", spec: flighttest.Spec{Threads: 2, Thread: oneOf(waiting(0, sem), waiting(0, sem)),
			Blockers: []flighttest.Blocker{held(sem, thread(1), thread(2))},
		}, want: "#1 holds semaphore 0xd wants semaphore 0xd", victims: 1},
		{name: "what is done once needs itself", spec: flighttest.Spec{Threads: 1, Thread: oneOf(waiting(0, once)), Blockers: []flighttest.Blocker{held(once, thread(1))}},
			want: "#1 holds once 0xf wants once 0xf"},
		{name: "carriers that are held for a thread that waits for one", spec: flighttest.Spec{Threads: 2, Thread: oneOf(
			flighttest.Thread{State: flight.StatePinned, Reason: flight.ReasonPinnedSection, Blocker: flight.BlockThread(2), Scheduler: 3, Age: time.Second},
			flighttest.Thread{State: flight.StateRunnable, Scheduler: 3, Age: time.Second}),
			Carrier: func(int) flighttest.Carrier { return flighttest.Carrier{Scheduler: 3, State: flight.CarrierHeld} },
		}, want: "#1 holds one of carriers 3 wants thread 2; #2 is thread 2 wants carriers 3"},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, ended := range []bool{false, true} {
				c.spec.Stacks, c.spec.Ended = waitStacks, ended
				w := takeWaits(t, c.spec)
				if len(w.Deadlocks) != 1 {
					t.Fatalf("ended %v: got %d deadlocks, want one:\n%s", ended, len(w.Deadlocks), waitsPage(t, w))
				}
				d := &w.Deadlocks[0]
				if got := roles(d); !sameCircle(got, c.want) || d.Victims != c.victims || d.For < time.Second {
					t.Errorf("ended %v: got %s and %d victims for %v; want %s and %d", ended, got, d.Victims, d.For, c.want, c.victims)
				}
				if out := waitsPage(t, w); !strings.Contains(out, "\ndeadlock 1   ") || !strings.Contains(out, "1 deadlock\n") {
					t.Errorf("got\n%s", out)
				}
			}
		})
	}
}

// sameCircle compares circles that may begin anywhere.
func sameCircle(a, b string) bool {
	x, y := strings.Split(a, "; "), strings.Split(b, "; ")
	for range y {
		if strings.Join(x, "; ") == strings.Join(y, "; ") {
			return true
		}
		y = append(y[1:], y[0])
	}
	return false
}

func TestWhatMayGoOnIsNoDeadlock(t *testing.T) {
	sem, cond := flight.BlockAt(flight.BlockedBySemaphore, 0xd), flight.BlockCondition(0xc)
	timed, limited := waiting(0, mutex(0xa)), waiting(0, mutex(0xa))
	timed.State, limited.Limited = flight.StateTimedParked, true
	sleeps := flighttest.Thread{State: flight.StateTimedParked, Reason: flight.ReasonSleep, Stack: 1, Age: time.Minute}
	executes := flighttest.Thread{State: flight.StateMounted}
	for name, s := range map[string]flighttest.Spec{
		"one waits with a time limit": {Threads: 2, Thread: oneOf(waiting(0, mutex(0xb)), timed),
			Blockers: []flighttest.Blocker{held(mutex(0xa), thread(1)), held(mutex(0xb), thread(2))}},
		"one waits for a lock with a time limit": {Threads: 2, Thread: oneOf(waiting(0, mutex(0xb)), limited),
			Blockers: []flighttest.Blocker{held(mutex(0xa), thread(1)), held(mutex(0xb), thread(2))}},
		"a goroutine waits with a time limit": {Threads: 1, Thread: oneOf(waiting(0, mutex(0xb))),
			Blockers:   []flighttest.Blocker{held(mutex(0xa), thread(1)), held(mutex(0xb), flight.PartyGoroutine(5))},
			Goroutines: []flighttest.Goroutine{{ID: 5, State: flight.StateBlocked, Blocker: mutex(0xa), Limited: true}}},
		"a goroutine that does not wait":    {Threads: 1, Thread: oneOf(waiting(0, mutex(0xb))), Blockers: []flighttest.Blocker{held(mutex(0xb), flight.PartyGoroutine(5))}},
		"a holder that sleeps":              {Threads: 2, Thread: oneOf(waiting(0, mutex(0xb)), sleeps), Blockers: []flighttest.Blocker{held(mutex(0xb), thread(2))}},
		"a holder that executes":            {Threads: 2, Thread: oneOf(waiting(0, mutex(0xb)), executes), Blockers: []flighttest.Blocker{held(mutex(0xb), thread(2))}},
		"a holder that is gone":             {Threads: 1, Thread: oneOf(waiting(0, mutex(0xb))), Blockers: []flighttest.Blocker{held(mutex(0xb), thread(200))}},
		"a holder that is not known":        {Threads: 1, Thread: oneOf(waiting(0, mutex(0xb))), Blockers: []flighttest.Blocker{{Blocker: mutex(0xb), Held: 1}}},
		"a condition, which anybody may be": {Threads: 2, Thread: oneOf(waiting(0, cond), waiting(0, flight.BlockThread(1)))},
		"one who has permits executes": {Threads: 2, Thread: oneOf(waiting(0, sem), executes),
			Blockers: []flighttest.Blocker{held(sem, thread(1), thread(2))}},
		"not all who have permits are known": {Threads: 2, Thread: oneOf(waiting(0, sem), waiting(0, sem)),
			Blockers: []flighttest.Blocker{{Blocker: sem, Held: 3, Holders: held(sem, thread(1), thread(2)).Holders}}},
		"another carrier is idle": {Threads: 2, Carriers: 2, Thread: oneOf(
			flighttest.Thread{State: flight.StatePinned, Reason: flight.ReasonPinnedSection, Blocker: flight.BlockThread(2), Scheduler: 3},
			flighttest.Thread{State: flight.StateRunnable, Scheduler: 3}),
			Carrier: func(i int) flighttest.Carrier {
				return flighttest.Carrier{Scheduler: 3, State: []flight.CarrierState{flight.CarrierHeld, flight.CarrierIdle}[i]}
			}},
		"who waits for room in a scope, where one waits for it": {Threads: 2, Scopes: []flighttest.Scope{{Name: "s", Owner: 1}},
			Thread: oneOf(waiting(0, flight.BlockScope(1)), waiting(1, flight.BlockThread(1)))},
		"a scope whose threads execute": {Threads: 2, Scopes: []flighttest.Scope{{Name: "s", Owner: 1}},
			Thread: oneOf(joining(0, 1), flighttest.Thread{Scope: 1, State: flight.StateMounted})},
	} {
		s.Stacks = waitStacks
		if w := takeWaits(t, s); len(w.Deadlocks) != 0 || len(w.Groups) == 0 || !strings.Contains(waitsPage(t, w), "no deadlock") {
			t.Errorf("%s: got\n%s", name, waitsPage(t, w))
		}
	}
}

func TestAChainOfManyThreadsIsNoDeadlockUnlessItClosesACircle(t *testing.T) {
	const n = 50_000
	for _, end := range []int{0, 1} {
		w := takeWaits(t, flighttest.Spec{Stacks: waitStacks, Threads: n, Thread: func(i int) flighttest.Thread {
			if i == n-1 && end == 0 {
				return flighttest.Thread{State: flight.StateMounted}
			}
			return waiting(0, flight.BlockThread(flight.ThreadID((i+1)%n+1)))
		}})
		if len(w.Deadlocks) != end || len(w.Groups) != 1 || w.Groups[0].For.Count != n-1+end {
			t.Errorf("got %d deadlocks, %d groups; want %d and one", len(w.Deadlocks), len(w.Groups), end)
		}
		if end == 1 && len(w.Deadlocks) == 1 {
			d := &w.Deadlocks[0]
			if d.Threads != n || len(d.Members) != 100 || d.Victims != 0 {
				t.Errorf("got a circle of %d threads, %d of them told, and %d victims; want %d, 100 and none", d.Threads, len(d.Members), d.Victims, n)
			}
			if out := waitsPage(t, w); !strings.Contains(out, "50,000 threads wait for each other") || !strings.Contains(out, "  … 49,988 more until the circle closes\n") {
				t.Errorf("got\n%s", out)
			}
		}
	}
}

func TestThingsAlikeAreOneGroup(t *testing.T) {
	spec := flighttest.Spec{Scopes: []flighttest.Scope{{Name: "a"}, {Name: "b"}, {Name: "a"}}, Stacks: waitStacks, Threads: 31}
	spec.Thread = func(i int) flighttest.Thread {
		if i == 30 {
			return flighttest.Thread{State: flight.StateMounted}
		}
		return waiting(i%3+1, mutex(uintptr(i%10+1)))
	}
	for i := range 10 {
		b := held(mutex(uintptr(i+1)), thread(31))
		b.Made = 3
		spec.Blockers = append(spec.Blockers, b)
	}
	w := takeWaits(t, spec)
	if len(w.Groups) != 2 || w.Groups[0].Count != 20 || w.Groups[0].For.Count != 10 || w.Groups[1].Count != 10 {
		t.Errorf("got\n%s", waitsPage(t, w))
	}
	w.KeepTop(1)
	if len(w.Groups) != 1 || w.Rest.Groups != 1 || w.Rest.Threads != 10 || w.Waiting != 30 {
		t.Errorf("got %d groups, rest %+v, %d waiting", len(w.Groups), w.Rest, w.Waiting)
	}
}

func TestAHolderThatIsGoneIsSaid(t *testing.T) {
	w := takeWaits(t, flighttest.Spec{Threads: 1, Thread: oneOf(waiting(0, mutex(0xb))), Stacks: waitStacks, Blockers: []flighttest.Blocker{held(mutex(0xb), thread(200))}})
	if !w.Groups[0].Gone || !strings.Contains(waitsPage(t, w), "held by   #200, which has ended, holds it for 2 m\n") {
		t.Errorf("got\n%s", waitsPage(t, w))
	}
}

func TestGroupsOfASnapshotNameWhatTheyWaitFor(t *testing.T) {
	named, bare := held(mutex(0xa), thread(1)), held(mutex(0xb), thread(1))
	named.Name = "ledger"
	r, err := flight.Open(flighttest.Write(t, flighttest.Spec{Threads: 2, Scopes: []flighttest.Scope{{Name: "x"}}, Stacks: waitStacks,
		Thread: oneOf(waiting(0, mutex(0xa)), waiting(1, mutex(0xb))), Blockers: []flighttest.Blocker{named, bare}}).Path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	s, err := dump.Take(context.Background(), r, dump.Options{})
	if err != nil || len(s.Groups) != 2 {
		t.Fatalf("got %+v, %v", s, err)
	}
	for _, g := range s.Groups {
		if want := map[string]string{"root": `mutex "ledger"`, "x": "mutex 0xb"}[s.Scopes[g.Scope].Name]; g.Blocker != want {
			t.Errorf("got %s, want %s", g.Blocker, want)
		}
	}
}

func TestWaitsAsJSONHaveNoNulls(t *testing.T) {
	for _, s := range []flighttest.Spec{
		{},
		{Threads: 2, Stacks: waitStacks, Thread: oneOf(waiting(0, mutex(0xb)), waiting(0, mutex(0xa))),
			Blockers: []flighttest.Blocker{held(mutex(0xa), thread(1)), held(mutex(0xb), thread(2))}},
	} {
		var b bytes.Buffer
		if err := dump.WaitsJSON(&b, takeWaits(t, s)); err != nil {
			t.Fatal(err)
		}
		var doc map[string]any
		if err := json.Unmarshal(b.Bytes(), &doc); err != nil || doc["format"] != dump.WaitsFormat || strings.Contains(b.String(), "null") {
			t.Errorf("got %v and\n%s", err, b.String())
		}
	}
}

func TestWaitsStopWhenTheirContextEnds(t *testing.T) {
	r, err := flight.Open(flighttest.Write(t, flighttest.Spec{Threads: 10}).Path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := dump.TakeWaits(ctx, r); err != context.Canceled {
		t.Errorf("got %v, want that it was cancelled", err)
	}
}

func BenchmarkWaits(b *testing.B) {
	db := flight.BlockAt(flight.BlockedBySemaphore, 0xd)
	sleeps := flighttest.Thread{State: flight.StateTimedParked, Reason: flight.ReasonSleep, Stack: 2}
	for _, c := range []struct {
		name   string
		thread func(i int) flighttest.Thread
	}{
		{"on=semaphore", func(i int) flighttest.Thread { return waiting(i%4+1, db) }},
		{"on=1000-mutexes", func(i int) flighttest.Thread { return waiting(i%4+1, mutex(uintptr(i*7919%1000+1))) }},
		{"on=1000000-futures", func(i int) flighttest.Thread {
			return waiting(i%4+1, flight.BlockAt(flight.BlockedByFuture, uintptr(i+1)<<6))
		}},
		{"on=500000-threads", func(i int) flighttest.Thread {
			if i%2 == 0 {
				return sleeps
			}
			return waiting(i%4+1, flight.BlockThread(flight.ThreadID(i)))
		}},
		{"on=chain", func(i int) flighttest.Thread { return waiting(i%4+1, flight.BlockThread(flight.ThreadID(i))) }},
	} {
		b.Run(c.name, func(b *testing.B) {
			scopes := []flighttest.Scope{{Name: "a"}, {Name: "b"}, {Name: "c"}, {Name: "d"}}
			f := flighttest.Write(b, flighttest.Spec{Scopes: scopes, Stacks: waitStacks, Threads: 1_000_000, Thread: c.thread,
				Blockers: []flighttest.Blocker{held(db, flight.PartyGoroutine(7))}})
			r, err := flight.Open(f.Path)
			if err != nil {
				b.Fatal(err)
			}
			defer r.Close()
			for b.Loop() {
				w, err := dump.TakeWaits(context.Background(), r)
				if err != nil || w.Waiting < 500_000 {
					b.Fatal(err, w.Waiting)
				}
			}
		})
	}
}

// A damaged file may say anything; whoever reads it must come back.
func TestWaitsAndFindingsOfADamagedFileComeBack(t *testing.T) {
	spec := troubled(20)
	spec.Goroutines = []flighttest.Goroutine{{ID: 57, State: flight.StateBlocked, Reason: flight.ReasonLock, Blocker: mutex(0xb), Age: time.Minute}}
	spec.Ended = true
	path := flighttest.Write(t, spec).Path
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var used []int // beyond the header, the directory and the rings of events
	for i := 64 << 10; i < len(content); i++ {
		if content[i] != 0 {
			used = append(used, i)
		}
	}
	seed := uint64(time.Now().UnixNano())
	random := rand.New(rand.NewPCG(seed, 0))
	for round := range 60 {
		damaged := bytes.Clone(content)
		for range 1 + random.IntN(30) {
			damaged[used[random.IntN(len(used))]] ^= 1 << random.IntN(8)
		}
		if err := os.WriteFile(path, damaged, 0o600); err != nil {
			t.Fatal(err)
		}
		r, err := flight.Open(path)
		if err != nil {
			continue
		}
		l, err := dump.TakeLook(context.Background(), r)
		r.Close()
		if err != nil {
			t.Fatalf("seed %d, round %d: %v", seed, round, err)
		}
		f, err := dump.Check(l, l, dump.CheckOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(dump.WaitsText(io.Discard, l.Waits, dump.TextOptions{Top: -1}), dump.FindingsText(io.Discard, f, dump.TextOptions{})); err != nil {
			t.Fatal(err)
		}
	}
}
