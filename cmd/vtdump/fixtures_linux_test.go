package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/vtscope/vtscope/internal/childtest"
)

// fixture starts a program of fixtures, and returns the path of its flight file when it has printed its first line.
func fixture(t *testing.T, name string, args ...string) (path string, child *childtest.Child) {
	t.Helper()
	child = childtest.Start(t, "./fixtures/"+name, append(args, "-exit-with-stdin")...)
	child.WaitFor(regexp.MustCompile(name + `: .*; pid \d+; try: vtdump`))
	r := child.Flight()
	childtest.AwaitNames(t, r)
	return r.Process().Path, child
}

// namesAll reports whether no function of a document is without its name, which the process writes a moment after the stack.
func namesAll(doc string) bool { return !strings.Contains(doc, `"func": "0x`) }

// links returns what the members of the deadlocks are, "NAME ROLE, wants KIND NAME" each.
func (d *waitsDoc) links() map[string]bool {
	links := map[string]bool{}
	for _, x := range d.Deadlocks {
		for _, m := range x.Members {
			links[fmt.Sprintf("%s %s, wants %s %s", m.Name, m.Role, m.Wants.Kind, m.Wants.Name)] = true
		}
	}
	return links
}

func TestWaitsExplainsTheDeadlocksOfTheFixture(t *testing.T) {
	for _, c := range []struct {
		kind  string
		links []string
		text  []string
	}{
		{"locks", []string{"left holds, wants mutex b", "right holds, wants mutex a"},
			[]string{"deadlock 1   2 threads wait for each other, for ", `"left" in root, blocked` + "\n" + `    holds     mutex "a", made at main.locks kinds.go:`, `    wants     mutex "b", for `,
				"    at        main.lockBoth kinds.go:", "\n100 in root wait for the end of #"}},
		{"goroutine", []string{"left holds, wants mutex b", " holds, wants mutex a"},
			[]string{"1 goroutine among them  1 deadlock\n", "deadlock 1   1 thread and 1 goroutine wait for each other, for ",
				"\n  goroutine ", `    holds     mutex "b"`, `    wants     mutex "a", for `, "\n1 goroutine waits for mutex \"a\", for "}},
		{"joins", []string{"first is, wants thread second", "second is, wants thread third", "third is, wants thread first"},
			[]string{"deadlock 1   3 threads wait for each other, for ", `    wants     the end of #`, "    at        main.waitForOne main.go:"}},
		{"scope", []string{"order is, wants scope items", "item is in, wants thread order"},
			[]string{"deadlock 1   2 threads wait for each other, for ", `"item" in items, waiting`, `    is in     scope 1 "items"` + "\n", `wants     the threads of scope 1 "items", for `,
				"\n100 in root wait for the end of #"}},
		{"carriers", []string{"greedy holds one of, wants thread hungry", "hungry is, wants carriers single"},
			[]string{`"greedy" in root, pinned` + "\n    holds     a carrier of scheduler ", `"hungry" in root, runnable` + "\n    wants     a carrier of scheduler "}},
	} {
		t.Run(c.kind, func(t *testing.T) {
			path, child := fixture(t, "deadlock", "-kind", c.kind, "-victims", "100")
			want := map[string]bool{}
			for _, l := range c.links {
				want[l] = true
			}
			// A scheduler has its name in the file a moment after its first thread.
			_, code := seesWaits(t, path, func(d *waitsDoc) bool {
				return len(d.Deadlocks) == 1 && d.Deadlocks[0].Victims == 100 && maps.Equal(d.links(), want)
			})
			if code != exitFailed {
				t.Errorf("got exit %d, want 1", code)
			}
			out := vtdump(t, "waits", "--width", "200", path).out
			for _, want := range append(c.text, "; 100 more cannot go on because of them\n") {
				if !strings.Contains(out, want) {
					t.Errorf("want %q in\n%s", want, out)
				}
			}
			child.CloseStdin()
			child.WantExit(0)
		})
	}
}

// findingsDoc is what the tests read of the JSON document.
type findingsDoc struct{ Findings []foundDoc }

type foundDoc struct {
	Check, What string
	Count       int
	Scope       []string
	Place       struct{ Func string }
	Examples    []struct{ Name string }
	Evidence    []string
}

func TestADeadlockOfGosOwnLocksIsUnknownAndNotDenied(t *testing.T) {
	path, child := fixture(t, "deadlock", "-kind", "sync", "-victims", "3")
	var r result
	for deadline := time.Now().Add(time.Minute); ; {
		r = vtdump(t, "waits", "--width", "200", path)
		// Who blocks in Go is noticed when the watchdog comes by. Its stack may be that of a moment before the lock: so what it waits for is not asked.
		if strings.Contains(r.out, "  no deadlock found\n") && strings.Contains(r.out, "go-operation 2\n") && strings.Contains(r.out, "deadlocks: none found among 3 waits that can be judged; 3 cannot (") {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("two threads stand in sync.Mutex; waits says\n%s", r.out)
		}
	}
	r = vtdump(t, "check", "--width", "200", path, "--no-deadlock")
	if want := "unknown no-deadlock: none found among 3 waits that can be judged; 3 cannot ("; r.code != exitUnknown || !strings.Contains(r.out, want) || !strings.Contains(r.out, "1 of 1 limit unknown\n") {
		t.Errorf("check: got exit %d, want %d, and %q in\n%s", r.code, exitUnknown, want, r.out)
	}
	if r = vtdump(t, "check", path, "--no-deadlock", "--max-threads", "0"); r.code != exitFailed || !strings.Contains(r.out, "1 of 2 limits not kept, 1 unknown\n") {
		t.Errorf("check with a limit that fails: got exit %d and\n%s", r.code, r.out)
	}
	if r = vtdump(t, "findings", "--width", "200", path); !strings.Contains(r.out, "judged in part: deadlock: 3 waits cannot be judged (") || !strings.Contains(r.out, ": holders unknown), 3 can\n") {
		t.Errorf("findings: got\n%s", r.out)
	}
	child.CloseStdin()
	child.WantExit(0)
}

// seesFindings asks vtdump until the document is as wanted.
func seesFindings(t *testing.T, path string, wanted func(d *findingsDoc) bool, args ...string) {
	t.Helper()
	var r result
	for deadline := time.Now().Add(5 * time.Minute); time.Now().Before(deadline); {
		r = vtdump(t, append([]string{"findings", "--json", path}, args...)...)
		var d findingsDoc
		if json.Unmarshal([]byte(r.out), &d) == nil && namesAll(r.out) && wanted(&d) {
			if r.code != exitFailed {
				t.Errorf("got exit %d, want 1", r.code)
			}
			return
		}
	}
	t.Fatalf("vtdump findings --json %s: got exit %d, %q and\n%s", path, r.code, r.errors, r.out)
}

func TestFindingsSeeWhoStarves(t *testing.T) {
	path, child := fixture(t, "starve")
	seesFindings(t, path, func(d *findingsDoc) bool {
		for _, f := range d.Findings {
			if f.Check == "parked-longer" && f.Count == 1 && f.Place.Func == "main.(*resource).enter" && len(f.Examples) == 1 && f.Examples[0].Name == "report" {
				return true
			}
		}
		return false
	}, "--growth", "20ms")
	child.CloseStdin()
	child.WantExit(0)
}

func TestWaitsExplainsWhoStarves(t *testing.T) {
	path, child := fixture(t, "starve")
	_, code := seesWaits(t, path, func(d *waitsDoc) bool {
		for _, g := range d.Groups {
			if g.For.Kind == "semaphore" && g.For.Name == "seats" && g.Capacity == 4 && g.Held > 0 && strings.Join(g.Scope, "/") == "starve" {
				return true
			}
		}
		return false
	})
	if code != exitDone {
		t.Errorf("got exit %d, want %d: it is no deadlock", code, exitDone)
	}
	child.CloseStdin()
	child.WantExit(0)
}

func TestFindingsSeeWhatLeaks(t *testing.T) {
	path, child := fixture(t, "leak", "-rate", "1000")
	seesFindings(t, path, func(d *findingsDoc) bool {
		seen := map[string]bool{}
		for _, f := range d.Findings {
			seen[f.Check+" "+strings.Join(f.Scope, "/")+" "+f.Place.Func] = true
		}
		return seen["scope-growth server main.awaitAnswer"] && seen["unscoped  main.awaitWork"] && seen["holder-gone server main.audit"]
	}, "--growth", "300ms")
	child.CloseStdin()
	child.WantExit(0)
}

// Each trouble is found with its scope and place, also where the machine is slow: with low thresholds.
func TestFindingsSeeEachTrouble(t *testing.T) {
	for _, c := range []struct {
		fixture, check, threshold string
		scope, place              string
	}{
		{"deadlock -kind locks", "deadlock", "2", "", "main.lockBoth"},
		{"deadlock -kind carriers", "carriers-held", "100ms", "", "main.waitForOne"},
		{"storm -threads 1000 -on semaphore -hold 0", "long-held", "1s", "", "main.(*storm).waitForEnd"},
		{"trouble -kind victims", "pinned", "5", "", "main.hold"},
		{"trouble -kind monopoly", "hog", "200ms", "", "main.compute"},
		{"trouble -kind spawn", "spawn-storm", "50", "requests/orders", "main.idle"},
		{"trouble -kind timers", "timer-storm", "1000", "", ""},
		{"trouble -kind queue", "unbounded-queue", "100", "requests/orders", ""},
		{"trouble -kind calls", "os-threads", "100", "", "main.call"},
		{"trouble -kind park", "oldest-parked", "200ms", "requests", "main.wait"},
	} {
		t.Run(c.check, func(t *testing.T) {
			words := strings.Fields(c.fixture)
			path, child := fixture(t, words[0], words[1:]...)
			seesFindings(t, path, func(d *findingsDoc) bool {
				for _, f := range d.Findings {
					if f.Check == c.check && (c.scope == "" || strings.Join(f.Scope, "/") == c.scope) && (c.place == "" || f.Place.Func == c.place) {
						return true
					}
				}
				return false
			}, "--growth", "500ms", "--check", c.check+"="+c.threshold)
			child.CloseStdin()
			child.WantExit(0)
		})
	}
}

func TestFindingsFindNothingInAHealthyProgram(t *testing.T) {
	path, child := fixture(t, "trouble")
	r := vtdump(t, "findings", path, "--growth", "500ms", "--check", "carriers-held=20s", "--check", "hog=20s")
	if r.code != exitDone || !strings.Contains(r.out, "  no findings\n") {
		t.Errorf("got exit %d and\n%s", r.code, r.out)
	}
	child.CloseStdin()
	child.WantExit(0)
}

func TestWaitsExplainsAStormOfAMillionWaiters(t *testing.T) {
	n := 1_000_000
	if testing.Short() {
		n = 10_000
	}
	child := childtest.Start(t, "./fixtures/storm", "-threads", strconv.Itoa(n), "-scopes", "4", "-on", "semaphore", "-hold", "0", "-exit-with-stdin")
	child.WaitFor(regexp.MustCompile(`storm: starting .*; pid \d+\n`))
	file := child.Flight()
	path := file.Process().Path
	// So many threads may take a busy machine as long as they like, while there are ever more.
	for most, since := 0, time.Now(); !strings.Contains(child.Output(), "; try: vtdump"); time.Sleep(20 * time.Millisecond) {
		if n := file.Process().Threads; n > most {
			most, since = n, time.Now()
		}
		if time.Since(since) > 3*time.Minute {
			t.Fatalf("after the first %d threads there was nothing more for three minutes", most)
		}
	}
	var d waitsDoc
	r := vtdump(t, "waits", "--json", path)
	if err := json.Unmarshal([]byte(r.out), &d); err != nil || r.code != exitDone || r.errors != "" {
		t.Fatalf("got exit %d, %q and %v", r.code, r.errors, err)
	}
	waiters, scopes := 0, 0
	for _, g := range d.Groups {
		switch {
		case g.For.Kind == "semaphore" && g.For.Name == "gate" && g.For.Count == 1 && g.Capacity == 64 && g.Held > 0 && len(g.Scope) == 2 && g.Scope[0] == "storm" && strings.HasPrefix(g.Scope[1], "batch-"):
			waiters += g.Count
			scopes++
		case g.For.Kind != "scope":
			t.Errorf("got group %+v", g)
		}
	}
	if waiters != n || scopes != 4 || len(d.Deadlocks) != 0 || d.Waiting != n+4 {
		t.Errorf("got %d threads of %d scopes that wait for the semaphore, %d that wait, %d deadlocks; want %d, 4, %d and 0", waiters, scopes, d.Waiting, len(d.Deadlocks), n, n+4)
	}
	took := regexp.MustCompile(`taken in [^,]*`).FindString(vtdump(t, "waits", path).out)
	t.Logf("%d threads %s", n, took)
	child.CloseStdin()
	child.WantExit(0)
}

// Each fault of the demo is named by its cause. What a program without faults must not have, the tables of
// package dump test: on a starved machine a healthy shop does hold its locks for seconds.
func TestFindingsNameTheFaultsOfTheShop(t *testing.T) {
	const shop = "github.com/vtscope/vtscope/fixtures/shop/shop."
	pid, child := fixture(t, "shop", "-leak", "120", "-threads", "3000")
	about := map[string]string{} // what was found of the shop that is ill
	fault := func(f *foundDoc) string {
		evidence := strings.Join(f.Evidence, "\n")
		switch {
		case f.Check == "lock-convoy" && f.Place.Func == shop+"(*Stock).recount" && f.Count >= 10 && strings.Contains(f.What, `"recount stock" held it for `) && strings.Join(f.Scope, "/") == "shop/jobs":
			return "lock"
		case f.Check == "leak" && f.Place.Func == shop+"(*Carts).waitForDiscount" && len(f.Examples) > 0 && strings.HasPrefix(f.Examples[0].Name, "watch cart ") &&
			strings.Contains(evidence, "each of them began in shop.(*Carts).watch.func1 cart.go:") && strings.Contains(evidence, "outside of any scope"):
			return "leak"
		case strings.HasPrefix(f.Check, "pinned") && f.Place.Func == shop+"roundTrip" && strings.Contains(f.What, ": os-thread") && strings.Contains(evidence, "called by shop.signer.sign payment.go:"):
			return "library"
		case strings.HasPrefix(f.Check, "pinned") && f.Place.Func == shop+"(*mailer).send" && strings.Contains(f.What, ": go-operation"):
			return "channel"
		}
		return ""
	}
	seesFindings(t, pid, func(d *findingsDoc) bool {
		for i := range d.Findings {
			if f := &d.Findings[i]; fault(f) != "" {
				about[fault(f)] = f.What
			}
		}
		return len(about) == 4
	}, "--growth", "1s")
	child.CloseStdin()
	child.WantExit(0)
}
