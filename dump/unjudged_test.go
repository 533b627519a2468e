package dump_test

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vtscope/vtscope/dump"
	"github.com/vtscope/vtscope/dump/filter"
	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/flight/flighttest"
)

// blind is a process of which eight threads block where nobody records who can end that, one waits for a mutex whose holder executes, and others wait for what ends by itself.
func blind() flighttest.Spec {
	top := func(name string) flighttest.Stack {
		return flighttest.Stack{{Func: name, File: "x.go", Line: 1}, {Func: "shop.handle", File: "shop.go", Line: 7}}
	}
	stacks := []flighttest.Stack{
		top("sync.(*Mutex).Lock"), top("shop.receive"), top("time.Sleep"), top("internal/poll.runtime_pollWait"),
		{{Func: "sync.runtime_SemacquireWaitGroup"}, {Func: "sync.(*WaitGroup).Wait"}, {Func: "shop.handle"}},
	}
	held := []int{1, 1, 1, 2, 3, 4, 5} // stacks of threads that block in operations of Go's own
	return flighttest.Spec{
		Stacks: stacks, Threads: len(held) + 8, Carriers: len(held),
		Carrier: func(i int) flighttest.Carrier {
			return flighttest.Carrier{Scheduler: 1, Hold: &flighttest.Hold{Thread: flight.ThreadID(i + 1), Reason: flight.ReasonPinnedGo, Age: time.Second, Stack: held[i]}}
		},
		Thread: func(i int) flighttest.Thread {
			switch i - len(held) {
			case 0, 1:
				return flighttest.Thread{Name: "parked", State: flight.StateParked, Reason: flight.ReasonPark}
			case 2:
				return waiting(0, flight.BlockCondition(0xc))
			case 3:
				return waiting(0, mutex(0xa))
			case 4:
				return flighttest.Thread{Name: "executes", State: flight.StateRunnable}
			case 5:
				return flighttest.Thread{Name: "sleeps", State: flight.StateTimedParked, Reason: flight.ReasonSleep}
			case 6:
				return flighttest.Thread{Name: "reads", State: flight.StateParked, Reason: flight.ReasonRead, Blocker: flight.MakeBlocker(flight.BlockedBySocket, 3)}
			case 7:
				return flighttest.Thread{Name: "looks up", State: flight.StateParked, Reason: flight.ReasonLookup}
			}
			return flighttest.Thread{Name: "go", Scheduler: 1, State: flight.StateMounted, Carrier: flight.CarrierID(i)}
		},
		Blockers: []flighttest.Blocker{holding(mutex(0xa), len(held)+5)},
	}
}

func holding(b flight.Blocker, by int) flighttest.Blocker { return held(b, thread(by)) }

const blindWords = "none found among 1 wait that can be judged; 8 cannot (sync.Mutex 3, park 2, channel 1, condition 1, sync.WaitGroup 1: holders unknown)"

func TestWaitsThatCannotBeJudgedAreCountedByWhatTheyAreFor(t *testing.T) {
	w := takeWaits(t, blind())
	if got := w.JudgedWords(); got != blindWords || w.Judged != 1 {
		t.Errorf("got %q and %d, want %q and 1", got, w.Judged, blindWords)
	}
	out := waitsPage(t, w)
	if !strings.Contains(out, "  no deadlock found\n") || !strings.Contains(out, "deadlocks: "+blindWords+"\n") {
		t.Errorf("want no deadlock found, and %q, in\n%s", blindWords, out)
	}
}

// A goroutine that is a thread may wait in Go while it is mounted: nobody knows.
func TestThreadsOnGoroutinesMayWaitForWhatCannotBeJudged(t *testing.T) {
	s := flighttest.Spec{Threads: 5, Thread: func(i int) flighttest.Thread {
		th := flighttest.Thread{State: flight.StateMounted, Carrier: flight.NoCarrier}
		if i < 3 {
			th.Flags = []flight.RecordFlags{flight.RecordAdopted, flight.RecordOnGoroutine, flight.RecordOnOSThread}[i]
		} else {
			th.Carrier = flight.CarrierID(i)
		}
		return th
	}}
	const want = "none found among 0 waits that can be judged; 3 cannot (thread on a goroutine 3: holders unknown)"
	if got := takeWaits(t, s).JudgedWords(); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestADeadlockIsFoundBesideWaitsThatCannotBeJudged(t *testing.T) {
	s := blind()
	others := s.Thread
	s.Thread = func(i int) flighttest.Thread {
		if i == 11 {
			return waiting(0, mutex(0xb))
		}
		return others(i)
	}
	s.Blockers = append(s.Blockers, held(mutex(0xb), thread(11)))
	if out := waitsPage(t, takeWaits(t, s)); !strings.Contains(out, "  1 deadlock\n") || !strings.Contains(out, "deadlocks: 1 found among 2 waits that can be judged; 8 cannot (") {
		t.Errorf("got\n%s", out)
	}
}

func TestWhoeverIsNotKnownMakesAWaitOneThatCannotBeJudged(t *testing.T) {
	for name, c := range map[string]struct {
		s    flighttest.Spec
		want string
	}{
		"a holder that is not known": {flighttest.Spec{Threads: 1, Thread: oneOf(waiting(0, mutex(0xb))), Blockers: []flighttest.Blocker{{Blocker: mutex(0xb), Held: 1}}}, "mutex 1"},
		"no record of the mutex":     {flighttest.Spec{Threads: 1, Thread: oneOf(waiting(0, mutex(0xb)))}, "mutex 1"},
		"a goroutine that waits for nothing that is recorded": {flighttest.Spec{Threads: 1, Thread: oneOf(waiting(0, mutex(0xb))), Blockers: []flighttest.Blocker{held(mutex(0xb), flight.PartyGoroutine(5))}},
			"mutex held by a goroutine 1"},
		"a mutex that is free": {flighttest.Spec{Threads: 1, Thread: oneOf(waiting(0, mutex(0xb))), Blockers: []flighttest.Blocker{{Blocker: mutex(0xb)}}}, ""},
	} {
		c.s.Stacks = waitStacks
		w := takeWaits(t, c.s)
		if got := w.JudgedWords(); (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
		if c.want == "" && !strings.Contains(waitsPage(t, w), "  no deadlock\n") {
			t.Errorf("%s: got\n%s", name, waitsPage(t, w))
		}
	}
}

func judgeBlind(t *testing.T, text string) *dump.Verdict {
	t.Helper()
	r, err := flight.Open(flighttest.Write(t, blind()).Path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	f, err := filter.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	v, err := dump.Judge(context.Background(), r, dump.Limits{NoDeadlock: true, MaxThreads: new(1000)}, nil, dump.Options{Filter: f})
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestALimitThatCannotBeJudgedIsNeitherKeptNorFailed(t *testing.T) {
	v := judgeBlind(t, "")
	if x := v.Limits[1]; v.Failed() != 0 || v.Unknown() != 1 || x.Kept || !x.Unknown || x.What != blindWords || x.Try != "waits TARGET" {
		t.Errorf("got %d failed, %d unknown and %+v", v.Failed(), v.Unknown(), x)
	}
	var b bytes.Buffer
	if err := dump.VerdictText(&b, v, "shop", dump.TextOptions{Width: 200}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"  1 of 2 limits unknown\n", "unknown no-deadlock: " + blindWords + "\n", "try: vtdump waits shop\n", "kept    max-threads 1000"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("want %q in\n%s", want, b.String())
		}
	}
	for text, want := range map[string]string{
		"name=parked": "none found among 0 waits that can be judged; 2 cannot (park 2: holders unknown)",
		"name=sleeps": "no threads wait for each other in a circle",
	} {
		if v := judgeBlind(t, text); v.Limits[1].What != want || v.Limits[1].Kept != (text == "name=sleeps") {
			t.Errorf("of %s: got %+v, want %q", text, v.Limits[1], want)
		}
	}
}

func TestFindingsSayOfWhichWaitsDeadlocksAreJudged(t *testing.T) {
	r, err := flight.Open(flighttest.Write(t, blind()).Path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	l, err := dump.TakeLook(context.Background(), r)
	if err != nil {
		t.Fatal(err)
	}
	f, err := dump.Check(l, nil, dump.CheckOptions{})
	if err != nil {
		t.Fatal(err)
	}
	want := dump.Unjudged{
		Check: "deadlock", Partly: true,
		Why: "8 waits cannot be judged (sync.Mutex 3, park 2, channel 1, condition 1, sync.WaitGroup 1: holders unknown), 1 can",
	}
	if !slices.Contains(f.Unjudged, want) {
		t.Errorf("got %+v, want %+v", f.Unjudged, want)
	}
	var b bytes.Buffer
	if err := dump.FindingsText(&b, f, dump.TextOptions{Width: 200}); err != nil || !strings.Contains(b.String(), "judged in part: deadlock: "+want.Why+"\n") {
		t.Errorf("got %v and\n%s", err, b.String())
	}
}
