package agent

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/vtscope/vtscope/dump"
	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/flight/flighttest"
)

// following is a follower of a file that nothing runs.
func following(t *testing.T, file *flighttest.File) *follower {
	t.Helper()
	r, err := flight.Open(file.Path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	f := lone(time.Second)
	f.reader = r
	return f
}

// tell writes figures of which each is n times its number plus one, and n durations of 1 µs.
func tell(s *flight.SchedulerRecord, at flight.Ticks, n uint64) {
	var figures [flight.FigureCount]uint64
	for i := range figures {
		figures[i] = n * uint64(i+1)
	}
	var ready, slice flight.Histogram
	ready[flight.BucketOf(time.Microsecond)] = n
	slice[flight.BucketOf(time.Millisecond)] = 2 * n
	s.Write(at, &figures, &ready, &slice, new(flight.Histogram))
}

func TestAClientSeesWhatASchedulerTellsAndWhoHeldItsCarriers(t *testing.T) {
	spec := small()
	file := flighttest.Write(t, spec)
	record := file.Recorder.OpenScheduler(3, "default", flight.Now())
	for _, rec := range file.Records {
		rec.Moved(3)
	}
	ring := file.Recorder.AcquireRing(7, 3, 64)
	ring.SetCarrier(flight.CarrierIdle)
	now := flight.Now()
	tell(record, now, 5)
	file.Recorder.CountPin(file.Stacks[0], flight.ReasonPinnedGo, 30*time.Millisecond, 4, now)
	for range 2 {
		file.Recorder.Emit(now, flight.EventMonopolized, flight.ReasonMonopoly, file.Stacks[1], 1, uint64(flight.MakeHeld(20*time.Millisecond, 3)))
	}
	ring.Emit(now.Add(-3*time.Millisecond), flight.EventUnpark, 0, 0, 2, 0)
	ring.Emit(now.Add(-time.Millisecond), flight.EventMount, 0, 0, 2, 0)
	ring.Emit(now, flight.EventUnmount, flight.ReasonPark, 0, 2, 0)

	a := start(t, Options{Dirs: []string{file.Dir}})
	tab := connect(t, serve(t, a))
	if c := tab.config; len(c.Figures) != int(flight.FigureCount) || c.Figures[flight.FigurePinnedTime] != (FigureTerm{"pinned-time", flight.Figures[flight.FigurePinnedTime].About, true, "duration"}) {
		t.Errorf("figures of the configuration: %+v, want flight's table", c.Figures)
	}
	if c := tab.config; len(c.Buckets) != flight.HistogramBuckets || c.Buckets[1] != 192 {
		t.Errorf("buckets of the configuration: %v, want where flight's end", c.Buckets)
	}
	tab.subscribe("", "", "")
	tab.framesUntil("a survey", func() bool {
		w := tab.whole
		return w.Schedulers != nil && len(w.Schedulers.Rows) == 1 && len(w.Schedulers.Rows[0].Parked) > 0
	})
	row := tab.whole.Schedulers.Rows[0]
	if row.ID != 3 || row.Name != "default" || row.Figures[flight.FigureQueued] != float64(5*(flight.FigureQueued+1)) {
		t.Errorf("the scheduler tells %+v, want what was written", row)
	}
	if row.Parked[flight.ReasonSleep] != 79 || row.Parked[flight.ReasonLock] != 20 {
		t.Errorf("parked by reason: %v, want 79 that sleep and 20 that wait for a lock", row.Parked)
	}
	bucket := flight.BucketOf(time.Microsecond)
	if h := row.Ready.Total; h.Count != 5 || h.P99 != int64(flight.BucketEnd(bucket)) || h.First != bucket || len(h.Bars) != 1 {
		t.Errorf("ready in total: %+v, want 5 of 1 µs", h)
	}
	if pins := tab.whole.PinSites; len(pins.Rows) != 1 || pins.Rows[0].Func != "example.com/shop.(*Store).query" || pins.Rows[0].Line != 88 || pins.Rows[0].Victims != 4 {
		t.Errorf("pin sites %+v, want the one in query", pins)
	}
	warnings := tab.whole.Warnings.Rows
	if len(warnings) != 1 || warnings[0].Kind != "monopolized" || warnings[0].Count != 2 || warnings[0].Held != 20e6 || warnings[0].Victims != 3 || !warnings[0].Guessed {
		t.Errorf("warnings %+v, want one of two events", warnings)
	}
	var shown *DelayRow
	for i, d := range tab.whole.Delays.Rows {
		if d.Scope == "root/shop/requests" {
			shown = &tab.whole.Delays.Rows[i]
		}
	}
	near := func(ns int64, want time.Duration) bool { return ns > int64(want)*9/10 && ns < int64(want)*11/10 }
	if shown == nil || shown.Ready.Count != 1 || !near(shown.Ready.P99, 2*time.Millisecond) || !near(shown.Slice.P99, time.Millisecond) {
		t.Errorf("delays %+v, want one in root/shop/requests of 2 ms and 1 ms", tab.whole.Delays)
	}
	for _, c := range tab.whole.Carriers.Rows {
		if want := map[int]string{7: "default"}[c.ID]; c.Scheduler != want {
			t.Errorf("carrier %d is of the scheduler %q, want %q", c.ID, c.Scheduler, want)
		}
	}

	record.Close()
	tab.framesUntil("no scheduler, and why", func() bool { s := tab.whole.Schedulers; return len(s.Rows) == 0 && s.Missing != "" })
}

func TestRatesAndRecentDelaysAreThoseBetweenTellings(t *testing.T) {
	file := flighttest.Write(t, flighttest.Spec{})
	f := following(t, file)
	record := file.Recorder.OpenScheduler(1, "s", flight.Now())
	at, ticks := time.Now(), flight.Now()
	hear := func(after time.Duration) SchedulerRow {
		f.hear(at.Add(after))
		s := f.newView(flight.Process{}).schedulers()
		if len(s.Rows) != 1 {
			t.Fatalf("%d schedulers, want 1", len(s.Rows))
		}
		return s.Rows[0]
	}
	tell(record, ticks, 10)
	if row := hear(0); row.Rates[flight.FigureSteals] != 0 || row.Ready.Recent.Count != 0 || row.Ready.Total.Count != 10 {
		t.Errorf("told once: %+v, want no rates and nothing recent", row)
	}
	tell(record, ticks.Add(2*time.Second), 30)
	row := hear(2 * time.Second)
	want := 10 * float64(flight.FigureSteals+1)
	if got := row.Rates[flight.FigureSteals]; got < .98*want || got > 1.02*want {
		t.Errorf("%v steals per second, want %v", got, want)
	}
	if row.Rates[flight.FigureQueued] != 0 {
		t.Error("queued, which is no total, has a rate")
	}
	if row.Ready.Recent.Count != 20 || row.Slice.Recent.Count != 40 || row.Slice.Total.Count != 60 {
		t.Errorf("ready %+v, slice %+v; want 20 and 40 recent ones", row.Ready, row.Slice)
	}
	if d := f.newView(flight.Process{}).header(Cost{}, time.Second).Delay; d.Times != row.Ready.Recent.Times || d.Over != row.Ready.Over {
		t.Errorf("the header tells %+v of the one scheduler, want %+v", d, row.Ready)
	}
	if over := time.Duration(row.Ready.Over); over < 1900*time.Millisecond || over > 2100*time.Millisecond {
		t.Errorf("recent is over %v, want 2 s", over)
	}
	if row := hear(4 * time.Second); row.Rates[flight.FigureSteals] == 0 {
		t.Error("no rates 2 s after it told figures: it may be late")
	}
	if row := hear(6 * time.Second); row.Rates[flight.FigureSteals] != 0 || row.Ready.Recent.Count != 20 {
		t.Errorf("asleep for 4 s: %+v, want no rates, and what is recent still there", row)
	}
	if row := hear(13 * time.Second); row.Ready.Recent.Count != 0 || row.Ready.Over != 0 || row.Ready.Total.Count != 30 {
		t.Errorf("asleep for 11 s: %+v, want nothing recent", row.Ready)
	}
}

func TestTheDelayOfARecordedMomentIsThatOfThePointsBeforeIt(t *testing.T) {
	line := timeline{most: 100}
	us, ms := flight.BucketOf(time.Microsecond), flight.BucketOf(time.Millisecond)
	for i := range 20 { // a point each second; that of 15 s has the long ones
		var h spreads
		if h[us] = 3; i == 15 {
			h[ms] = 2
		}
		line.append(point{time: int64(i+1)*1000 + 1e12, ready: h.delays()})
	}
	for at, want := range map[int64]Delay{
		12_000: {int64(recentOver), Times{Count: 30, P99: int64(flight.BucketEnd(us))}},
		17_000: {int64(recentOver), Times{Count: 32, P99: int64(flight.BucketEnd(ms))}},
		2_000:  {int64(2 * time.Second), Times{Count: 6, P99: int64(flight.BucketEnd(us))}},
		500:    {},
	} {
		if got := line.delay(at + 1e12); got.Over != want.Over || got.Count != want.Count || got.P99 != want.P99 {
			t.Errorf("at %d ms: %+v, want %+v", at, got, want)
		}
	}
}

func TestATellingIsForgottenOnceItIsNotRecent(t *testing.T) {
	file := flighttest.Write(t, flighttest.Spec{})
	f := following(t, file)
	record := file.Recorder.OpenScheduler(1, "s", flight.Now())
	at, ticks := time.Now(), flight.Now()
	for i := range 100 {
		after := time.Duration(i) * time.Second
		tell(record, ticks.Add(after), uint64(i))
		f.hear(at.Add(after))
		if n := len(f.told.schedulers[0].tellings); n > 12 {
			t.Fatalf("after %v %d tellings are kept, want at most 12", after, n)
		}
	}
	if got := f.newView(flight.Process{}).schedulers().Rows[0].Ready.Recent.Count; got < 9 || got > 11 {
		t.Errorf("%d durations are recent, one each second; want about 10", got)
	}
}

func TestASchedulerThatTakesTheIDOfAnotherBeginsAnew(t *testing.T) {
	file := flighttest.Write(t, flighttest.Spec{})
	f := following(t, file)
	now, ticks := time.Now(), flight.Now()
	record := file.Recorder.OpenScheduler(1, "old", ticks)
	tell(record, ticks, 10)
	f.hear(now)
	record.Close()
	later := ticks.Add(time.Second)
	tell(file.Recorder.OpenScheduler(1, "new", later), later, 50)
	f.hear(now.Add(time.Second))
	row := f.newView(flight.Process{}).schedulers().Rows[0]
	if row.Name != "new" || row.Ready.Recent.Count != 0 || row.Rates[flight.FigureSteals] != 0 {
		t.Errorf("%+v, want the new one without rates", row)
	}
}

func TestOfTooManySchedulersThoseWithMostThreadsAreShown(t *testing.T) {
	file := flighttest.Write(t, flighttest.Spec{})
	f := following(t, file)
	n := limits.Schedulers + 5
	for i := range n {
		tell(file.Recorder.OpenScheduler(flight.SchedulerID(i+1), fmt.Sprint("s", i), flight.Now()), flight.Now(), uint64(i))
	}
	f.hear(time.Now())
	s := f.newView(flight.Process{}).schedulers()
	if len(s.Rows) != limits.Schedulers || s.Rest != 5 {
		t.Fatalf("%d rows and %d more, want %d and 5", len(s.Rows), s.Rest, limits.Schedulers)
	}
	for i, row := range s.Rows {
		if row.ID != i+6 {
			t.Errorf("row %d is of scheduler %d, want %d", i, row.ID, i+6)
		}
	}
}

func TestASurveyIsCutToItsLimitsAndSumsTheRest(t *testing.T) {
	all := &dump.Schedulers{AsOf: time.Now(), Incomplete: []string{"half of it"}}
	all.Rest.Incidents, all.Rest.Overwritten = 7, 9
	for i := range limits.PinSites + 3 {
		all.PinSites = append(all.PinSites, dump.PinSite{Place: &dump.Place{Frame: dump.Frame{Func: fmt.Sprint("f", i)}}, Count: 2, Total: time.Second})
	}
	for i := range 100 {
		all.Incidents = append(all.Incidents, dump.Incident{Kind: flight.EventPinned, Place: &dump.Place{Frame: dump.Frame{Func: fmt.Sprint("f", i%(limits.Warnings+4))}}})
		all.Scopes = append(all.Scopes, dump.ScopeDelays{Path: []string{"root", fmt.Sprint("s", i)}})
	}
	s := newSurvey(all)
	if p := s.pins; len(p.Rows) != limits.PinSites || p.Rest != (PinRest{3, 6, int64(3 * time.Second)}) {
		t.Errorf("%d pin sites and %+v, want %d and the sum of 3", len(p.Rows), p.Rest, limits.PinSites)
	}
	if d := s.delays; len(d.Rows) != limits.Delays || d.Rest != 100-limits.Delays || d.Rows[1].Scope != "root/s1" {
		t.Errorf("%d rows of delays and %d more, want %d", len(d.Rows), d.Rest, limits.Delays)
	}
	w, events := s.warnings, 0
	for _, row := range w.Rows {
		events += row.Count
	}
	if len(w.Rows) != limits.Warnings || w.Rows[0].Count != 8 || w.Rows[0].Func != "f0" || events+w.Rest != 100+7 || w.Overwritten != 9 {
		t.Errorf("warnings %+v, want %d, the first of 8 events, and the others told", w, limits.Warnings)
	}
	v := &view{seen: s, snapshot: &dump.Snapshot{Complete: true}}
	if h := v.header(Cost{}, time.Second).Snapshot; h.Complete || !slices.Equal(h.Incomplete, []string{"half of it"}) {
		t.Errorf("the header says %+v, want why the survey is incomplete", h)
	}
}

func TestACarrierThatIsHeldIsToldFromOneWhoseThreadComputes(t *testing.T) {
	spec := small()
	spec.Threads, spec.Carriers = 2, 2
	spec.Stacks = append(spec.Stacks, flighttest.Stack{
		{Func: "sync.(*Mutex).Lock", File: "/go/src/sync/mutex.go", Line: 46}, {Func: "example.com/shop.checkout", File: "/src/shop.go", Line: 90},
	})
	spec.Thread = func(i int) flighttest.Thread {
		return flighttest.Thread{State: flight.StateMounted, Carrier: flight.CarrierID(i)}
	}
	file := flighttest.Write(t, spec)
	file.Rings[0].Hold(1, flight.Now(), flight.ReasonPinnedGo, file.Stacks[2])
	file.Rings[1].Hold(2, flight.Now(), flight.ReasonMonopoly, file.Stacks[1])
	a := start(t, Options{Dirs: []string{file.Dir}})
	tab := connect(t, serve(t, a))
	tab.subscribe("", "", "")
	want := []CarrierRow{
		{State: "held", Thread: "1", Doing: "pinned", Reason: "go-operation", Where: "example.com/shop.checkout"},
		{State: "running", Thread: "2", Doing: "mounted", Reason: "monopoly", Where: "example.com/shop.work"},
	}
	var last []CarrierRow
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); {
		tab.frame()
		if tab.whole.Carriers == nil {
			continue
		}
		last = slices.Clone(tab.whole.Carriers.Rows)
		for i := range last {
			last[i] = CarrierRow{State: last[i].State, Thread: last[i].Thread, Doing: last[i].Doing, Reason: last[i].Reason, Where: last[i].Where}
		}
		if slices.Equal(last, want) {
			return
		}
	}
	t.Errorf("carriers %+v, want %+v", last, want)
}

func TestNobodyIsSurveyedWhileNobodyLooks(t *testing.T) {
	file := flighttest.Write(t, small())
	a := start(t, Options{Dirs: []string{file.Dir}})
	if v := shown(t, a); v.seen.parked != nil {
		t.Error("a survey was made though nobody looks")
	}
	tab := connect(t, serve(t, a))
	tab.subscribe("", "", "")
	until(t, "a survey", func() bool { return a.views()[0].seen.parked != nil })
	tab.conn.Close()
	until(t, "none any more", func() bool { return a.views()[0].seen.parked == nil })
}
