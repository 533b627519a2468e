package agent

import (
	"strings"
	"testing"
	"time"

	"github.com/vtscope/vtscope/dump"
	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/flight/flighttest"
)

func TestALaneTellsWhatACarrierDidAtTheNewestLooks(t *testing.T) {
	var l lane
	for _, c := range []carrier{
		{state: flight.CarrierIdle},
		{state: flight.CarrierIdle, switches: 3},
		{state: flight.CarrierRunning},
		{state: flight.CarrierRunning, reason: flight.ReasonMonopoly},
		{state: flight.CarrierHeld, pinned: true, reason: flight.ReasonPinnedGo},
		{state: flight.CarrierHeld},
	} {
		l = l.with(&c)
	}
	if l != "isrcpp" {
		t.Errorf("the lane is %q, want isrcpp", l)
	}
	for range 2 * longestLane {
		l = l.with(&carrier{state: flight.CarrierRunning})
	}
	l = l.with(&carrier{state: flight.CarrierIdle})
	if want := strings.Repeat("r", longestLane-1) + "i"; string(l) != want {
		t.Errorf("after many looks the lane is %q, want the newest %d", l, longestLane)
	}
}

func TestAClientSeesTheLanesOfCarriers(t *testing.T) {
	spec := small()
	spec.Threads, spec.Carriers = 2, 2
	spec.Thread = func(i int) flighttest.Thread {
		return flighttest.Thread{State: flight.StateMounted, Carrier: flight.CarrierID(i)}
	}
	file := flighttest.Write(t, spec)
	file.Rings[0].Hold(1, flight.Now(), flight.ReasonPinnedGo, file.Stacks[1])
	a := start(t, Options{Dirs: []string{file.Dir}})
	tab := connect(t, serve(t, a))
	tab.subscribe("", "", "")
	tab.framesUntil("three looks at both", func() bool {
		c := tab.whole.Carriers
		return c != nil && len(c.Rows) == 2 && strings.HasSuffix(c.Rows[0].Past, "ppp") && strings.HasSuffix(c.Rows[1].Past, "rrr")
	})
	if got, want := tab.whole.Process.Carrying, (Carrying{Total: 2, Busy: 2, Held: 1}); got != want {
		t.Errorf("the header counts %+v, want %+v", got, want)
	}
}

func TestAClientSeesGarbageCollectionsInTheTimeLine(t *testing.T) {
	file := flighttest.Write(t, small())
	a := start(t, Options{Dirs: []string{file.Dir}})
	tab := connect(t, serve(t, a))
	tab.subscribe("", "", "")
	var n uint64
	var stopped int64
	points := 0
	until := func(what string, true func() bool) {
		for deadline := time.Now().Add(patience); time.Now().Before(deadline); {
			if p := tab.frame().Points; p != nil {
				points += len(p.Time)
				for i := range p.Time {
					n, stopped = n+p.GC[i], stopped+p.Stopped[i]
				}
			}
			if true() {
				return
			}
		}
		t.Fatalf("after %v: still not %s", patience, what)
	}
	until("two points", func() bool { return points >= 2 })
	for i := range 3 {
		file.Recorder.EmitMore(flight.Now(), flight.EventGC, 0, flight.StackID(i+1), 0, uint64(200*time.Microsecond), 1<<20)
	}
	until("three collections", func() bool { return n >= 3 })
	if n != 3 || stopped != int64(600*time.Microsecond) {
		t.Errorf("%d collections that stopped everything for %v, want 3 and 600 µs", n, time.Duration(stopped))
	}
}

func TestAClientSeesPollers(t *testing.T) {
	spec := small()
	read := flight.PollerFigures{Watched: 900, Wakeups: 40, Ready: 100, Batches: [flight.PollerBatches]uint32{10, 20, 10}}
	spec.Pollers = []flight.PollerRow{
		{Kind: flight.PollerRead, Number: 1, PollerFigures: read},
		{Kind: flight.PollerRing, Number: 2, PollerFigures: flight.PollerFigures{Watched: 3, Failed: 1}},
	}
	file := flighttest.Write(t, spec)
	a := start(t, Options{Dirs: []string{file.Dir}})
	tab := connect(t, serve(t, a))
	tab.say(`{"type":"subscribe","panels":["pollers"]}`)
	tab.framesUntil("two pollers", func() bool { return tab.whole.Pollers != nil && len(tab.whole.Pollers.Rows) == 2 })
	p := tab.whole.Pollers.Rows
	if p[0].Kind != "read" || p[0].Unit != "sockets" || p[0].Watched != 900 || p[0].Wakeups != 40 || p[0].Ready != 100 || len(p[0].Batches) != flight.PollerBatches || p[0].Batches[1] != 20 {
		t.Errorf("the poller of reads tells %+v", p[0])
	}
	if p[0].Last == 0 || p[1].Last != 0 {
		t.Errorf("the pollers woke last at %d and %d, want a moment of the first only", p[0].Last, p[1].Last)
	}
	if p[1].Kind != "ring" || p[1].Unit != "operations" || p[1].Failed != 1 || p[1].Number != 2 {
		t.Errorf("the ring tells %+v", p[1])
	}
}

func TestRatesOfPollersAreThoseBetweenSurveys(t *testing.T) {
	at := time.Now()
	made := func(after time.Duration, wakeups ...uint64) *survey {
		all := &dump.Schedulers{AsOf: at.Add(after)}
		for i, n := range wakeups {
			all.Pollers = append(all.Pollers, dump.Poller{Number: i, Kind: "read", Wakeups: n, Ready: 3 * n, Ago: time.Second})
		}
		return newSurvey(all)
	}
	first, second := made(0, 10, 500), made(2*time.Second, 30, 100, 7)
	if none := noSurvey(); none.pollers.Known || none.pins.Known || !first.pollers.Known || !first.pins.Known {
		t.Error("pollers and pin sites are known before there was a survey, or not after it")
	}
	first.since(noSurvey())
	if first.pollers.Over != 0 {
		t.Errorf("the first survey has rates over %v", time.Duration(first.pollers.Over))
	}
	second.since(first)
	rows := second.pollers.Rows
	if second.pollers.Over != int64(2*time.Second) || rows[0].WakeupRate != 10 || rows[0].ReadyRate != 30 || rows[1].WakeupRate != 0 || rows[2].WakeupRate != 0 {
		t.Errorf("rates %+v over %v, want 10 and 30 of the first poller only", rows, time.Duration(second.pollers.Over))
	}
	if want := at.Add(time.Second).Round(time.Second).UnixMilli(); rows[0].Last != want {
		t.Errorf("woke last at %d, want %d", rows[0].Last, want)
	}
	var many []uint64
	for range limits.Pollers + 2 {
		many = append(many, 1)
	}
	if p := made(0, many...).pollers; len(p.Rows) != limits.Pollers || p.Rest != 2 {
		t.Errorf("%d pollers and %d more, want %d and 2", len(p.Rows), p.Rest, limits.Pollers)
	}
}

func TestAClientSeesTheNewestSlowOperations(t *testing.T) {
	at := time.Now()
	all := &dump.Schedulers{AsOf: at}
	for i := range limits.SlowIO + 3 {
		all.Slow = append(all.Slow, dump.SlowIO{
			Reason: flight.ReasonRead, Blocker: "socket #12", With: "10.1.2.3:80", Ago: time.Duration(i) * time.Second, For: 30 * time.Millisecond, Bytes: 11, Thread: 7, Name: "payment",
			Place: &dump.Place{Frame: dump.Frame{Func: "main.call", File: "/src/main.go", Line: 4}},
		})
	}
	got := newSurvey(all).slow
	want := SlowIORow{Place{Func: "main.call", File: "/src/main.go", Line: 4}, "read", "socket #12", "10.1.2.3:80", 11, 30e6, at.Round(time.Second).UnixMilli(), "7", "payment"}
	if len(got.Rows) != limits.SlowIO || got.Rest != 3 || got.Rows[0] != want {
		t.Errorf("%d rows and %d more, the first %+v, want %d and 3, %+v", len(got.Rows), got.Rest, got.Rows[0], limits.SlowIO, want)
	}
}
