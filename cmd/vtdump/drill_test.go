package main

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/vtscope/vtscope/dump"
	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/flight/flighttest"
)

func TestGroupsAreDrilledInByKeyAndByPlace(t *testing.T) {
	path := recorded(t).Path
	var s dump.Snapshot
	if err := json.Unmarshal([]byte(succeeds(t, "--json", path)), &s); err != nil {
		t.Fatal(err)
	}
	key := s.Groups[0].Key
	page := succeeds(t, path)
	if short := s.ShortKeys()[0]; !strings.Contains(page, "   group "+short+"\n") {
		t.Errorf("want key %s in\n%s", short, page)
	}
	for _, word := range []string{"1", key, key[:6]} {
		out := succeeds(t, path, "--group", word)
		for _, want := range []string{"group " + key + "  999 threads, 1 other\n", "called      999  GET /cart/*\n", "shop.(*Store).query  /src/store.go:88\n"} {
			if !strings.Contains(out, want) {
				t.Errorf("--group %s: want %q in\n%s", word, want, out)
			}
		}
	}
	var g dump.GroupReport
	if err := json.Unmarshal([]byte(succeeds(t, path, "--group", "1", "--json", "--filter", "id<=11")), &g); err != nil || g.Count != 10 || g.Filter != "id<=11" {
		t.Errorf("got %v %+v", err, g)
	}
	file := dumped(t, path, nil)
	if out := succeeds(t, file, "--group", "1"); !strings.Contains(out, "group "+key+"  999 threads, 1 other\n") {
		t.Errorf("of a dump: got %s", out)
	}
	fails(t, exitFailed, "there is no group beef", path, "--group", "beef")
	fails(t, exitFailed, "there is no group 3", file, "--group", "3")
	fails(t, exitFailed, "a dump has groups, and not threads", file, "--thread", "3")
}

func TestScopesAreDrilledInByPath(t *testing.T) {
	path := recorded(t).Path
	for scope, threads := range map[string]string{"requests": "999 threads", "shop": "999 threads", "shop/req*": "999 threads", "root": "1,000 threads", "request": "0 threads", "requests/shop": "0 threads"} {
		if out := succeeds(t, path, "--scope", scope); !strings.Contains(out, threads+" in 3 scopes") || !strings.Contains(out, "\nonly scope~") {
			t.Errorf("--scope %s: want %s in\n%s", scope, threads, out)
		}
	}
	if out := succeeds(t, path, "--filter", "id<=2 or id=3", "--scope", "requests"); !strings.Contains(out, "2 threads in 3 scopes") {
		t.Errorf("with a filter: got %s", out)
	}
	if out := succeeds(t, "diff", "--scope", "requests", path, path); !strings.Contains(out, "999 → 999 threads") {
		t.Errorf("of a diff: got %s", out)
	}
}

func TestWhomAGroupWaitsForIsTold(t *testing.T) {
	lock := flight.MakeBlocker(flight.BlockedByMutex, 0xc000012340)
	other := flight.MakeBlocker(flight.BlockedByMutex, 0xc000012380)
	path := flighttest.Write(t, flighttest.Spec{
		Scopes: []flighttest.Scope{{Name: "requests"}, {Name: "jobs"}},
		Stacks: []flighttest.Stack{
			{{Func: "shop.query", File: "/src/store.go", Line: 88}}, {{Func: "shop.commit", File: "/src/store.go", Line: 99}}, {{Func: "shop.flush", File: "/src/log.go", Line: 7}},
		},
		Threads: 12,
		Thread: func(i int) flighttest.Thread {
			switch {
			case i == 0: // has the lock that the requests want, and sleeps
				return flighttest.Thread{Name: "owner", Scope: 2, Stack: 2, State: flight.StateTimedParked, Reason: flight.ReasonSleep, Age: time.Minute}
			case i < 9:
				return flighttest.Thread{Scope: 1, Stack: 1, State: flight.StateBlocked, Reason: flight.ReasonLock, Blocker: lock, Age: 30 * time.Second}
			}
			return flighttest.Thread{Scope: 2, Stack: 3, State: flight.StateBlocked, Reason: flight.ReasonLock, Blocker: other, Age: 20 * time.Second}
		},
		Blockers: []flighttest.Blocker{
			{Blocker: lock, Name: "db", Holders: []flighttest.Holder{{Party: flight.PartyThread(1), Age: time.Minute}}}, {Blocker: other, Name: "log"},
		},
	}).Path
	for _, args := range []string{"--group 1 --waits", "--scope requests --waits", "--filter state=blocked --scope requests --waits"} {
		out := succeeds(t, append(strings.Fields(args), path)...)
		for _, want := range []string{"8 threads  8 wait for others", "no deadlock", "\"db\"", "owner", "shop.commit", "store.go:99", "\nonly "} {
			if !strings.Contains(out, want) {
				t.Errorf("%s: want %q in\n%s", args, want, out)
			}
		}
		if strings.Contains(out, "\"log\"") || strings.Contains(out, "shop.flush") {
			t.Errorf("%s: got those of others:\n%s", args, out)
		}
	}
	if out := succeeds(t, "waits", path, "--scope", "jobs"); !strings.Contains(out, "4 threads  3 wait for others") || !strings.Contains(out, "\"log\"") || strings.Contains(out, "\"db\"") {
		t.Errorf("waits of a scope: got\n%s", out)
	}
	var w struct {
		Group  string
		Groups []struct{ Count int }
	}
	if err := json.Unmarshal([]byte(succeeds(t, path, "--group", "1", "--waits", "--json")), &w); err != nil || len(w.Groups) != 1 || w.Groups[0].Count != 8 || w.Group == "" {
		t.Errorf("got %v %+v", err, w)
	}
	file := dumped(t, path, nil)
	fails(t, exitFailed, "and not who holds what\n    try: vtdump PID --waits", file, "--waits")
	fails(t, exitFailed, "there is no group beef", path, "--group", "beef", "--waits")
	fails(t, exitUsage, "--thread tells what the thread waits for", path, "--thread", "3", "--waits")

	deadlocked := troubled(t)
	if r := vtdump(t, deadlocked, "--scope", "locks", "--waits"); r.code != exitFailed || !strings.Contains(r.out, "1 deadlock") {
		t.Errorf("in a deadlock: got exit %d and\n%s", r.code, r.out)
	}
	if out := succeeds(t, deadlocked, "--scope", "pins", "--waits"); !strings.Contains(out, "no deadlock") {
		t.Errorf("beside a deadlock: got\n%s", out)
	}
}

func TestThreadsAreDrilledInByNumber(t *testing.T) {
	path := recorded(t).Path
	for _, id := range []string{"2", "#2"} {
		if out := succeeds(t, path, "--thread", id); !strings.Contains(out, "thread #2 \"GET /cart/1\"\n") || !regexp.MustCompile(`state +timed-parked for (3[1-9]|[4-9]\d) s`).MatchString(out) {
			t.Errorf("--thread %s: got %s", id, out)
		}
	}
	if out := succeeds(t, path, "--thread", "2", "--events"); !strings.Contains(out, "state       timed-parked") || !strings.Contains(out, "events of thread #2 \"GET /cart/1\"\n") || !strings.Contains(out, "thread-start") {
		t.Errorf("--events: got %s", out)
	}
	fails(t, exitFailed, "there is no thread #4711, and no event of one is still known", path, "--thread", "4711", "--events")

	run := recordingFile(t)
	out := succeeds(t, run+"@3500ms", "--thread", "1", "--events")
	for _, want := range []string{"thread #1 \"GET /cart\"\na moment of a recording", "state       timed-parked for 1.5 s", "scope       requests\n", "shop.query     /src/shop/store.go:88\n", "thread-start", "unpark", "thread-end"} {
		if !strings.Contains(out, want) {
			t.Errorf("want %q in\n%s", want, out)
		}
	}
	if out := succeeds(t, "events", run, "--thread", "1"); strings.Contains(out, "scope-open") || !strings.Contains(out, "cart.Checkout") {
		t.Errorf("got %s", out)
	}
	if r := vtdump(t, "events", run, "--thread", "2"); r.code != exitDone || r.out != "" || !strings.Contains(r.errors, "no event of thread #2 is still known\n") {
		t.Errorf("of a thread that did nothing: got %+v", r)
	}
	fails(t, exitFailed, "there is no thread #4711 among 1,000 threads", path, "--thread", "4711")
}

func TestCallsOfDrillingThatCannotBe(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{"4711 --thread x", `--thread "x": want the number of a thread`},
		{"4711 --thread 0", "want the number of a thread"},
		{"4711 --events", "--events needs --thread\n    try: vtdump events 4711"},
		{"4711 --thread 3 --events --json", "--events is text"},
		{"4711 --thread 3 --group 1", "only one of them"},
		{"4711 --group 1 --by state", "--by means nothing to --group"},
		{"4711 --group 1 --growth 2s", "--growth means nothing to --group"},
		{"4711 --group 1 -f folded", "--format folded means nothing to --group"},
		{"waits 4711 --group 1", "--group means nothing to waits"},
	} {
		fails(t, exitUsage, c.want, strings.Fields(c.args)...)
	}
}
