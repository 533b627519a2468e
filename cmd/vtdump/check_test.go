package main

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/vtscope/vtscope/dump"
	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/flight/flighttest"
)

// troubled writes a flight file of this process, with a deadlock, a thread that is pinned, and pins that are over.
func troubled(t *testing.T) string {
	a, b := flight.BlockLock(0xc000010000), flight.BlockLock(0xc000020000)
	f := flighttest.Write(t, flighttest.Spec{
		Scopes:   []flighttest.Scope{{Name: "locks"}, {Name: "pins"}},
		Stacks:   []flighttest.Stack{{{Func: "example.org/shop.both", File: "/src/both.go", Line: 5}}, {{Func: "example.org/shop.pin", File: "/src/pin.go", Line: 9}}},
		Blockers: []flighttest.Blocker{{Blocker: a, Name: "a", Holders: []flighttest.Holder{{Party: flight.PartyThread(1)}}}, {Blocker: b, Name: "b", Holders: []flighttest.Holder{{Party: flight.PartyThread(2)}}}},
		Pins:     []flighttest.Pin{{Stack: 2, Reason: flight.ReasonPinnedSection, Held: time.Second, Victims: 3}},
		Threads:  4,
		Thread: func(i int) flighttest.Thread {
			switch i {
			case 0:
				return flighttest.Thread{Name: "left", Scope: 1, Stack: 1, State: flight.StateBlocked, Reason: flight.ReasonLock, Blocker: b, Age: time.Hour}
			case 1:
				return flighttest.Thread{Name: "right", Scope: 1, Stack: 1, State: flight.StateBlocked, Reason: flight.ReasonLock, Blocker: a, Age: time.Hour}
			case 2:
				return flighttest.Thread{Name: "pinned", Scope: 2, Stack: 2, State: flight.StatePinned, Reason: flight.ReasonPinnedSection, Age: time.Second}
			}
			return flighttest.Thread{Name: "well", Scope: 2, State: flight.StateRunnable, Reason: flight.ReasonYield}
		},
	})
	return f.Path
}

func TestCheckTellsWhichLimitsAreKept(t *testing.T) {
	path := troubled(t)
	for _, c := range []struct {
		args string
		code int
		want []string
	}{
		{"--max-threads 4", exitDone, []string{"4 threads  1 limit kept\n", "kept    max-threads 4: there are 4 threads\n"}},
		{"--max-threads 3", exitFailed, []string{"1 of 1 limit not kept", "FAILED  max-threads 3: there are 4 threads\n", "2 threads, blocked for up to 1 h\n", "in locks at shop.both both.go:5 #1 \"left\" #2 \"right\"\n", "try: vtdump " + path + "\n"}},
		{"--max-threads 0 --filter name=nobody", exitDone, []string{"only name=nobody\n", "kept    max-threads 0: there are 0 threads\n"}},
		{"--max-growth 20% --max-growth 5 --growth 1ms", exitDone, []string{"kept    max-growth 20%: there are 0 threads more than", ", when there were ", "kept    max-growth 5:"}},
		{"--max-growth 0 --growth 1ms", exitDone, []string{"kept    max-growth 0: there are 0 threads more than"}},
		{"--no-pins", exitFailed, []string{"FAILED  no-pins: 1 thread pinned now, 1 time before\n", "1 thread pinned for up to", "pinned 1 time, for up to 1 s, because of pin-section; 3 others waited for a carrier", "at shop.pin pin.go:9\n", "try: vtdump scheduler " + path}},
		{"--no-pins --filter name=well", exitDone, []string{"kept    no-pins: no thread is or was pinned\n"}},
		{"--no-pins --filter scope~pins", exitFailed, []string{"no-pins: 1 thread pinned now, 0 others before\n"}},
		{"--no-deadlock", exitFailed, []string{"FAILED  no-deadlock: 1 deadlock\n", "2 threads wait for each other, for 1 h: here for lock \"", "try: vtdump waits " + path}},
		{"--no-deadlock --filter name=right", exitFailed, []string{"no-deadlock: 1 deadlock\n"}},
		{"--no-deadlock --filter scope~pins", exitUnknown, []string{"  1 of 1 limit unknown\n", "unknown no-deadlock: none found among 0 waits that can be judged; 1 cannot (park 1: holders unknown)\n", "try: vtdump waits "}},
		{"--no-deadlock --filter name=well", exitDone, []string{"kept    no-deadlock: no threads wait for each other in a circle\n"}},
		{"--no-leaks pins --no-leaks shop", exitFailed, []string{"1 of 2 limits not kept", "FAILED  no-leaks pins: 2 threads in pins\n", "kept    no-leaks shop: 0 threads in shop\n", "try: vtdump " + path + " --scope 'pins'\n"}},
		{"--no-leaks pins --within 1ms --ascii --width 60", exitFailed, []string{"FAILED  no-leaks pins"}},
	} {
		r := vtdump(t, append([]string{"check", path}, strings.Fields(c.args)...)...)
		if r.code != c.code || r.errors != "" {
			t.Errorf("%s: got exit %d and %q, want %d", c.args, r.code, r.errors, c.code)
		}
		for _, want := range c.want {
			if !strings.Contains(r.out, want) {
				t.Errorf("%s: want %q in\n%s", c.args, want, r.out)
			}
		}
	}
	var v dump.Verdict
	r := vtdump(t, "check", "--json", path, "--no-deadlock", "--max-threads", "5")
	if err := json.Unmarshal([]byte(r.out), &v); err != nil || r.code != exitFailed || v.Format != dump.VerdictFormat || v.Failed() != 1 || len(v.Limits) != 2 ||
		!v.Limits[0].Kept || v.Limits[1].Limit != "no-deadlock" || len(v.Limits[1].Evidence) != 1 {
		t.Errorf("got exit %d, %v, %+v", r.code, err, v)
	}
}

func TestCallsOfCheckThatCannotBe(t *testing.T) {
	path := troubled(t)
	fails(t, exitUsage, "check needs a limit\n    try: vtdump check "+path+" --max-threads N, --max-growth N, --no-pins, --no-deadlock, --no-leaks PATH\n", "check", path)
	fails(t, exitUsage, `--max-threads "-1": want a whole number`, "check", path, "--max-threads", "-1")
	fails(t, exitUsage, `--no-leaks "": want a path`, "check", path, "--no-leaks", "")
	fails(t, exitUsage, "--no-pins means nothing to waits", "waits", path, "--no-pins")
	fails(t, exitUsage, "check needs a target", "check", "--no-pins")
}
