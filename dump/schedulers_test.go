package dump_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vtscope/vtscope/dump"
	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/flight/flighttest"
)

func takeSchedulers(t testing.TB, path string) *dump.Schedulers {
	t.Helper()
	s, err := dump.TakeSchedulers(t.Context(), open(t, path))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func schedulersText(t testing.TB, s *dump.Schedulers, o dump.TextOptions) string {
	t.Helper()
	var b bytes.Buffer
	if err := dump.SchedulersText(&b, s, o); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// about reports whether d is what was written, and the test has taken some time since.
func about(d, want time.Duration) bool { return d > want-time.Millisecond && d < want+time.Minute }

// bank has a scheduler with carriers in every plight, another that has told nothing yet, and a thread of none.
func bank() flighttest.Spec {
	return flighttest.Spec{
		Scopes: []flighttest.Scope{{Name: "bank", Owner: 1}, {Name: "transfers", Parent: 1}, {Name: "transfers", Parent: 1}},
		Stacks: []flighttest.Stack{
			{
				{Func: "runtime.chanrecv1", File: "/go/src/runtime/chan.go", Line: 9, Internal: true},
				{Func: "example.org/bank.(*Ledger).receive", File: "/src/ledger.go", Line: 88},
			},
			{
				{Func: "internal/sync.(*Mutex).lockSlow", File: "/go/src/internal/sync/mutex.go", Line: 149, Internal: true},
				{Func: "sync.(*Mutex).Lock", File: "/go/src/sync/mutex.go", Line: 46},
				{Func: "example.org/bank.(*Account).move", File: "/src/account.go", Line: 12},
				{Func: "main.main", File: "/src/main.go", Line: 3},
			},
			{{Func: "example.org/bank.hash", File: "/src/hash.go", Line: 7}},
		},
		Threads: 8,
		Thread: func(i int) flighttest.Thread {
			switch i {
			case 0:
				return flighttest.Thread{Name: "receiver", Scheduler: 1, State: flight.StateMounted, Carrier: 0, Age: time.Second}
			case 1:
				return flighttest.Thread{Scheduler: 1, State: flight.StatePinned, Reason: flight.ReasonPinnedSection, Stack: 2, Carrier: 1, Age: 2 * time.Second}
			case 2:
				return flighttest.Thread{Name: "miner", Scope: 2, Scheduler: 1, State: flight.StateMounted, Carrier: 2, Age: 3 * time.Second}
			case 3:
				return flighttest.Thread{Scope: 3, Scheduler: 1, State: flight.StateRunnable, Age: 4 * time.Second}
			case 4, 5:
				return flighttest.Thread{Scope: 2, Scheduler: 1, State: flight.StateTimedParked, Reason: flight.ReasonSleep}
			case 6:
				return flighttest.Thread{Scope: 3, Scheduler: 1, State: flight.StateBlocked, Reason: flight.ReasonLock}
			}
			return flighttest.Thread{State: flight.StateParked}
		},
		Carriers: 6,
		Carrier: func(i int) flighttest.Carrier {
			switch i {
			case 0:
				return flighttest.Carrier{Scheduler: 1, Hold: &flighttest.Hold{Thread: 1, Reason: flight.ReasonPinnedGo, Age: time.Second, Stack: 1}}
			case 1:
				return flighttest.Carrier{Scheduler: 1, State: flight.CarrierHeld}
			case 2:
				return flighttest.Carrier{Scheduler: 1, Hold: &flighttest.Hold{Thread: 3, Reason: flight.ReasonMonopoly, Age: 3 * time.Second, Stack: 3}}
			case 3:
				return flighttest.Carrier{Scheduler: 1, State: flight.CarrierIdle}
			case 4:
				return flighttest.Carrier{Scheduler: 1, State: flight.CarrierStopped}
			}
			return flighttest.Carrier{}
		},
		Schedulers: []flighttest.Scheduler{
			{
				ID: 1, Name: "default", Began: 5 * time.Second, Age: 4 * time.Second,
				Figures: map[flight.Figure]uint64{
					flight.FigureParallelism: 2, flight.FigureMaxCarriers: 258, flight.FigureCarriers: 4, flight.FigureHeld: 2,
					flight.FigureSwitches: 1_204_123, flight.FigurePinnedTime: uint64(12300 * time.Millisecond), flight.FigureVictims: 40,
				},
				Ready: map[time.Duration]uint64{time.Microsecond: 90, time.Millisecond: 9, time.Second: 1},
				Slice: map[time.Duration]uint64{100 * time.Nanosecond: 50, time.Hour: 1},
			},
			{ID: 2, Name: "batch", Began: 3 * time.Second, Untold: true},
		},
		Pins: []flighttest.Pin{
			{Stack: 1, Reason: flight.ReasonPinnedGo, Held: 3 * time.Second, Victims: 2, Age: 6 * time.Second},
			{Stack: 1, Reason: flight.ReasonPinnedGo, Held: time.Second, Victims: 1, Age: 5 * time.Second},
			{Reason: flight.ReasonPinnedSection, Held: time.Millisecond, Age: 7 * time.Second},
		},
		Trace: []flighttest.Event{
			{Age: 8 * time.Second, Kind: flight.EventPinned, Code: flight.ReasonPinnedGo, Stack: 1, Thread: 1, Arg: uint64(flight.MakeHeld(3*time.Second, 2))},
			{Age: 7 * time.Second, Carrier: 2, Kind: flight.EventMonopolized, Code: flight.ReasonMonopoly, Stack: 3, Thread: 3, Arg: uint64(flight.MakeHeld(time.Second, 0))},
			{Age: 6 * time.Second, Kind: flight.EventStarved, Code: flight.ReasonPinnedSection, Stack: 2, Thread: 99, Arg: uint64(flight.MakeHeld(time.Minute, 7))},
		},
	}
}

func TestSchedulersAreTakenWithTheirFiguresAndThreads(t *testing.T) {
	s := takeSchedulers(t, flighttest.Write(t, bank()).Path)
	if len(s.Schedulers) != 2 || !s.Complete || s.None != "" || s.Process.Status != dump.StatusRunning {
		t.Fatalf("got %d schedulers, incomplete %q, none %q, %s; want 2 of a process that runs", len(s.Schedulers), s.Incomplete, s.None, s.Process.Status)
	}
	d := &s.Schedulers[0]
	if d.ID != 1 || d.Name != "default" || !d.Told || !about(d.Age, 4*time.Second) || !about(s.AsOf.Sub(d.Began), 5*time.Second) {
		t.Errorf("got %d %q, told %v, %v old, of %v", d.ID, d.Name, d.Told, d.Age, d.Began)
	}
	if d.Figures[flight.FigureSwitches] != 1_204_123 || d.Ready.Total() != 100 || d.Slice.Total() != 51 {
		t.Errorf("got %v, %d delays and %d slices", d.Figures, d.Ready.Total(), d.Slice.Total())
	}
	want := dump.Counts{
		flight.StateRunnable: 1, flight.StateMounted: 1, flight.StatePinned: 2, flight.StateTimedParked: 2, flight.StateBlocked: 1,
	}
	if d.Threads != want {
		t.Errorf("threads: got %v, want %v", d.Threads, want)
	}
	if want := (dump.Reasons{flight.ReasonSleep: 2, flight.ReasonLock: 1}); d.Reasons != want {
		t.Errorf("reasons: got %v, want %v", d.Reasons, want)
	}
	if b := &s.Schedulers[1]; b.ID != 2 || b.Told || len(b.Carriers) != 0 || b.Threads.Total() != 0 {
		t.Errorf("the other one: got %+v", b)
	}
	if o := &s.Others; o.Threads.Total() != 1 || len(o.Carriers) != 1 || o.Carriers[0].ID != 5 {
		t.Errorf("others: got %+v", o)
	}
}

// SD-13
func TestACarrierIsShownWithItsMountedThread(t *testing.T) {
	s := takeSchedulers(t, flighttest.Write(t, bank()).Path)
	type line struct {
		id     flight.CarrierID
		state  flight.CarrierState
		thread flight.ThreadID
		name   string
		reason flight.Reason
		place  string
	}
	var got []line
	for _, c := range s.Schedulers[0].Carriers {
		l := line{c.ID, c.State, c.Thread, c.Name, c.Reason, ""}
		if c.Place != nil {
			l.place = c.Place.Func
		}
		got = append(got, l)
	}
	want := []line{
		{1, flight.CarrierHeld, 2, "", flight.ReasonPinnedSection, "example.org/bank.(*Account).move"},
		{0, flight.CarrierHeld, 1, "receiver", flight.ReasonPinnedGo, "example.org/bank.(*Ledger).receive"},
		{2, flight.CarrierRunning, 3, "miner", flight.ReasonMonopoly, "example.org/bank.hash"},
		{3, flight.CarrierIdle, 0, "", flight.ReasonNone, ""},
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %+v\nwant %+v", got, want)
	}
	c := s.Schedulers[0].Carriers
	if !about(c[0].For, 2*time.Second) || !about(c[1].For, time.Second) || !c[2].Place.Guessed || c[0].Place.Calls != "sync.(*Mutex).Lock" {
		t.Errorf("got %+v", c)
	}
}

func TestACarrierWhoseThreadWentOnIsNotHeld(t *testing.T) {
	f := flighttest.Write(t, flighttest.Spec{
		Threads: 2,
		Thread: func(i int) flighttest.Thread {
			return flighttest.Thread{State: flight.StateMounted, Scheduler: 1, Age: time.Duration(2-i) * time.Second}
		},
		Carrier: func(int) flighttest.Carrier {
			return flighttest.Carrier{Scheduler: 1, Hold: &flighttest.Hold{Thread: 1, Reason: flight.ReasonPinnedGo}}
		},
		Schedulers: []flighttest.Scheduler{{ID: 1}},
	})
	c := takeSchedulers(t, f.Path).Schedulers[0].Carriers
	if len(c) != 1 || c[0].State != flight.CarrierRunning || c[0].Thread != 2 || c[0].Reason != flight.ReasonNone {
		t.Errorf("got %+v, want it to execute thread 2, which was mounted last", c)
	}
}

func TestSchedulersTellOfPollers(t *testing.T) {
	row := flight.PollerRow{Kind: flight.PollerWrite, Number: 2, PollerFigures: flight.PollerFigures{
		Watched: 5, Wakeups: 4, Ready: 20, Failed: 1, Batches: [flight.PollerBatches]uint32{3, 0, 0, 0, 1},
	}}
	f := flighttest.Write(t, flighttest.Spec{Pollers: []flight.PollerRow{row}})
	r, err := flight.Open(f.Path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	s, err := dump.TakeSchedulers(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Pollers) != 1 || s.Pollers[0].Ago < 0 {
		t.Fatalf("got %+v", s.Pollers)
	}
	got := s.Pollers[0]
	got.Ago = 0
	if want := (dump.Poller{Number: 2, Kind: "write", Watched: 5, Wakeups: 4, Ready: 20, Failed: 1, Batches: row.Batches}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestPinSitesAndIncidentsNameTheProgramsOwnPlaces(t *testing.T) {
	s := takeSchedulers(t, flighttest.Write(t, bank()).Path)
	if len(s.PinSites) != 2 {
		t.Fatalf("got pin sites %+v, want 2", s.PinSites)
	}
	p := s.PinSites[0]
	if p.Place.Func != "example.org/bank.(*Ledger).receive" || p.Place.Line != 88 || p.Count != 2 || p.Total != 4*time.Second ||
		p.Longest != 3*time.Second || p.Victims != 3 || p.Reason != flight.ReasonPinnedGo || !about(p.Ago, 5*time.Second) {
		t.Errorf("got %+v at %+v", p, p.Place)
	}
	if p := s.PinSites[1]; p.Place != nil || p.Reason != flight.ReasonPinnedSection {
		t.Errorf("without a place: got %+v", p)
	}
	var kinds []flight.Kind
	for _, e := range s.Incidents {
		kinds = append(kinds, e.Kind)
	}
	if want := []flight.Kind{flight.EventStarved, flight.EventMonopolized, flight.EventPinned}; !slices.Equal(kinds, want) {
		t.Fatalf("incidents: got %v, want the newest first: %v", kinds, want)
	}
	if e := s.Incidents[1]; e.Name != "miner" || e.Scheduler != 1 || e.For != time.Second || !e.Place.Guessed || !about(e.Ago, 7*time.Second) {
		t.Errorf("monopolized: got %+v", e)
	}
	if e := s.Incidents[0]; e.Thread != 99 || e.Victims != 7 || e.Scheduler != 0 || e.Place.Calls != "sync.(*Mutex).Lock" {
		t.Errorf("starved: got %+v", e)
	}
}

// delaysOf returns the delays of the scope whose path ends in name.
func delaysOf(t *testing.T, s *dump.Schedulers, name string) dump.ScopeDelays {
	t.Helper()
	for _, d := range s.Scopes {
		if len(d.Path) > 0 && d.Path[len(d.Path)-1] == name || len(d.Path) == 0 && name == "" {
			return d
		}
	}
	t.Fatalf("no scope %q in %+v", name, s.Scopes)
	return dump.ScopeDelays{}
}

// near reports whether a duration that went through ticks is what was written.
func near(d, want time.Duration) bool { return d > want-time.Millisecond && d < want+time.Millisecond }

func TestDelaysAndSlicesAreThoseOfTheScope(t *testing.T) {
	const start, unpark, mount, unmount, fork = flight.EventThreadStart, flight.EventUnpark, flight.EventMount, flight.EventUnmount, flight.EventScopeFork
	at := func(ago int, k flight.Kind, id flight.ThreadID, carrier flight.CarrierID) flighttest.Event {
		return flighttest.Event{Age: time.Duration(ago) * 100 * time.Millisecond, Kind: k, Thread: id, Carrier: carrier}
	}
	yielded := at(30, unmount, 2, 1)
	yielded.Code = flight.ReasonYield
	forked := at(96, fork, 77, 0)
	forked.Arg = 2 // the scope's id
	f := flighttest.Write(t, flighttest.Spec{
		Scopes:  []flighttest.Scope{{Name: "slow"}, {Name: "quick"}, {Name: "quick"}},
		Threads: 3,
		Thread: func(i int) flighttest.Thread {
			return flighttest.Thread{Scope: i + 1, State: flight.StateParked}
		},
		Carriers: 2,
		Trace: []flighttest.Event{
			// Thread 1 waits 5 s, then executes 1 s. It is woken by one carrier and mounted on the other.
			at(90, unpark, 1, 0), at(40, mount, 1, 1), at(30, unmount, 1, 1),
			// Thread 2 is started, executes, yields, and waits 100 ms for the next mount.
			at(50, start, 2, 0), at(49, mount, 2, 1), yielded, at(29, mount, 2, 0), at(28, unmount, 2, 0),
			// Thread 3 is mounted before anybody says that it was woken, and unparked while it is mounted: it was parked in place.
			at(20, mount, 3, 0), at(19, unpark, 3, 1), at(18, unmount, 3, 0), at(10, mount, 3, 0),
			// A thread that has ended, of a scope that is open, and one of which nothing is known.
			forked, at(95, start, 77, 0), at(94, mount, 77, 0), at(95, start, 78, 0), at(93, mount, 78, 0),
		},
	})
	s := takeSchedulers(t, f.Path)
	slow, quick, ended := delaysOf(t, s, "slow"), delaysOf(t, s, "quick"), delaysOf(t, s, "")
	if slow.Ready.Count != 1 || !near(slow.Ready.Longest, 5*time.Second) || slow.Slice.Count != 1 || !near(slow.Slice.P50, time.Second) {
		t.Errorf("slow: got %+v", slow)
	}
	if quick.Count != 2 || quick.Ready.Count != 3 || !near(quick.Ready.P99, 100*time.Millisecond) || quick.Slice.Count != 3 ||
		!near(quick.Slice.Longest, 1900*time.Millisecond) {
		t.Errorf("quick: got %+v", quick)
	}
	if ended.Ready.Count != 1 || !near(ended.Ready.P50, 200*time.Millisecond) {
		t.Errorf("ended: got %+v", ended)
	}
	if s.Scopes[0].Path[1] != "slow" {
		t.Errorf("got %v first, want the worst", s.Scopes[0].Path)
	}
	if s.Sample.Ready != 5 || s.Sample.Slice != 4 || !about(s.Sample.Window, 9500*time.Millisecond) {
		t.Errorf("got %+v", s.Sample)
	}
}

// If one ring has lost the mount that followed an unpark, the next mount must not be taken for it.
func TestEventsOfBeforeARingWasOverwrittenDoNotCount(t *testing.T) {
	trace := []flighttest.Event{
		{Age: 30 * time.Second, Kind: flight.EventUnpark, Thread: 1, Carrier: 0},
		{Age: 29 * time.Second, Kind: flight.EventMount, Thread: 1, Carrier: 1}, // overwritten
	}
	for i := range 20 {
		trace = append(trace, flighttest.Event{Age: time.Duration(25-i) * time.Second, Kind: flight.EventYield, Thread: 2, Carrier: 1})
	}
	trace = append(trace,
		flighttest.Event{Age: 3 * time.Second, Kind: flight.EventMount, Thread: 1, Carrier: 0},
		flighttest.Event{Age: 2 * time.Second, Kind: flight.EventUnpark, Thread: 2, Carrier: 0},
		flighttest.Event{Age: time.Second, Kind: flight.EventMount, Thread: 2, Carrier: 1})
	s := takeSchedulers(t, flighttest.Write(t, flighttest.Spec{Threads: 2, Carriers: 2, RingSize: 16, Trace: trace}).Path)
	d := delaysOf(t, s, "root")
	if d.Ready.Count != 1 || !near(d.Ready.Longest, time.Second) || s.Sample.Older != 1 {
		t.Errorf("got %+v of %+v, want one delay of 1s and one older event", d.Ready, s.Sample)
	}
}

// The rings of those who are no carriers are overwritten sooner. That takes no sample from the carriers, and makes no wrong one.
func TestSharedRingsThatAreOverwrittenMakeNoWrongDelays(t *testing.T) {
	f := flighttest.Write(t, flighttest.Spec{Threads: 3, Carriers: 2, Trace: []flighttest.Event{
		{Age: 30 * time.Second, Kind: flight.EventUnpark, Thread: 1, Carrier: 0},
		{Age: 20 * time.Second, Kind: flight.EventUnpark, Thread: 2, Carrier: 0},
		{Age: 18 * time.Second, Kind: flight.EventMount, Thread: 2, Carrier: 1},
		// Unparked in place before the window, as it seems; then it parks, and the unpark of its mount is lost.
		{Age: 17 * time.Second, Kind: flight.EventUnpark, Thread: 3, Carrier: 1},
		{Age: 16 * time.Second, Kind: flight.EventUnmount, Thread: 3, Carrier: 1},
		{Age: 12 * time.Second, Kind: flight.EventMount, Thread: 3, Carrier: 1},
	}})
	now := flight.Now()
	for i := range 3 * 4096 {
		f.Recorder.Emit(now.Add(-10*time.Second), flight.EventYield, 0, 0, flight.ThreadID(100+i%8), 0)
	}
	f.Recorder.Emit(now.Add(-5*time.Second), flight.EventMount, 0, 0, 1, 0) // another mount and unpark before it are lost
	f.Recorder.Emit(now.Add(-4*time.Second), flight.EventUnmount, flight.ReasonYield, 0, 1, 0)
	f.Recorder.Emit(now.Add(-3*time.Second), flight.EventMount, 0, 0, 1, 0)
	d := delaysOf(t, takeSchedulers(t, f.Path), "root")
	if d.Ready.Count != 2 || !near(d.Ready.Longest, 2*time.Second) || !near(d.Ready.P50, 2*time.Second) {
		t.Errorf("delays: got %+v, want one of 2s and one of 1s", d.Ready)
	}
	if d.Slice.Count != 1 || !near(d.Slice.Longest, time.Second) {
		t.Errorf("slices: got %+v, want one of 1s", d.Slice)
	}
}

func TestAThreadThatHasWaitedForLongMakesItsScopeTheWorst(t *testing.T) {
	s := takeSchedulers(t, flighttest.Write(t, bank()).Path)
	if d := s.Scopes[0]; d.Runnable != 1 || !about(d.Waited, 4*time.Second) || !slices.Equal(d.Path, []string{"root", "bank", "transfers"}) || d.Count != 2 {
		t.Errorf("got %+v", s.Scopes)
	}
}

func TestAProcessWithoutSchedulersSaysWhy(t *testing.T) {
	rec, err := flight.New(flight.Options{Mode: flight.ModePrivate})
	if err != nil {
		t.Fatal(err)
	}
	defer rec.Close()
	none := func() *dump.Schedulers {
		t.Helper()
		r, err := rec.Reader()
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		s, err := dump.TakeSchedulers(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	if s := none(); !strings.Contains(s.None, "no scheduler yet") || !strings.Contains(schedulersText(t, s, dump.TextOptions{}), s.None) {
		t.Errorf("before the first thread: got %q", s.None)
	}
	rec.AcquireRing(1, 0, 16).SetCarrier(flight.CarrierRunning)
	s := none()
	if text := schedulersText(t, s, dump.TextOptions{Width: 400}); !strings.Contains(text, "tell no figures") || !strings.Contains(text, "running") {
		t.Errorf("of a process of before there were figures: got\n%s", text)
	}
	if text := schedulersText(t, takeSchedulers(t, flighttest.Write(t, bank()).Path), dump.TextOptions{}); strings.Contains(text, "no figures:") {
		t.Errorf("with schedulers: got\n%s", text)
	}
}

func TestFiguresOfAProcessThatHasEndedAreAsOldAsWhenItEnded(t *testing.T) {
	spec := bank()
	spec.Ended = true
	s := takeSchedulers(t, flighttest.Write(t, spec).Path)
	if s.Process.Status != dump.StatusEnded || !about(s.Schedulers[0].Age, 4*time.Second) {
		t.Errorf("got %s, figures %v old", s.Process.Status, s.Schedulers[0].Age)
	}
	if text := schedulersText(t, s, dump.TextOptions{}); !strings.Contains(text, "before its last sign of life") || !strings.Contains(text, "process has ended; data is ") {
		t.Errorf("got\n%s", text)
	}
}

func TestTakeSchedulersStopsWhenItsContextDoes(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if s, err := dump.TakeSchedulers(ctx, open(t, flighttest.Write(t, bank()).Path)); !errors.Is(err, context.Canceled) || s != nil {
		t.Errorf("got %v, %v; want an error of the context", s, err)
	}
}

func TestSchedulersAsJSONHaveEveryFigureByName(t *testing.T) {
	var b bytes.Buffer
	if err := dump.SchedulersJSON(&b, takeSchedulers(t, flighttest.Write(t, bank()).Path)); err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Format     string
		Schedulers []struct {
			Name    string
			Age     int64 `json:"age_ns"`
			Figures map[string]uint64
			Ready   struct {
				Count   int
				Buckets []struct {
					UpTo  int64 `json:"up_to_ns"`
					Count uint64
				}
			}
			Slice    struct{ Buckets []map[string]uint64 }
			Threads  map[string]int
			Reasons  map[string]int
			Carriers []struct {
				ID     int
				State  string
				Thread uint64
				Reason string
				Place  struct{ Func, Calls string }
			}
		}
		Incidents []struct {
			Event   string
			Victims int
		}
		PinSites []struct {
			Reason  string
			Longest int64 `json:"longest_ns"`
		} `json:"pin_sites"`
	}
	if err := json.Unmarshal(b.Bytes(), &doc); err != nil || doc.Format != dump.SchedulersFormat || len(doc.Schedulers) != 2 {
		t.Fatalf("got %v in\n%s", err, b.Bytes())
	}
	d := doc.Schedulers[0]
	for f := range flight.FigureCount {
		name := strings.ReplaceAll(f.String(), "-", "_")
		if flight.Figures[f].Unit == flight.FieldDuration {
			name += "_ns"
		}
		if _, ok := d.Figures[name]; !ok {
			t.Errorf("figure %s: not in %v", name, d.Figures)
		}
	}
	if d.Figures["pinned_time_ns"] != 12_300_000_000 || d.Ready.Count != 100 || len(d.Ready.Buckets) != 3 || d.Ready.Buckets[0].UpTo != 1024 || d.Ready.Buckets[0].Count != 90 {
		t.Errorf("got %v and %+v", d.Figures, d.Ready)
	}
	if last := d.Slice.Buckets[1]; last["count"] != 1 || len(last) != 1 {
		t.Errorf("the bucket without an end: got %v", last)
	}
	if d.Threads["timed-parked"] != 2 || d.Reasons["lock"] != 1 || d.Carriers[0].State != "held" || d.Carriers[0].Place.Calls != "sync.(*Mutex).Lock" || d.Carriers[1].Thread != 1 {
		t.Errorf("got %+v", d)
	}
	if doc.Incidents[0].Event != "starved" || doc.Incidents[0].Victims != 7 || doc.PinSites[0].Reason != "go-operation" {
		t.Errorf("got %+v, %+v", doc.Incidents, doc.PinSites)
	}
}

func TestTheTopOfEachListIsKeptAndTheOthersCounted(t *testing.T) {
	s := takeSchedulers(t, flighttest.Write(t, bank()).Path)
	s.KeepTop(1)
	if len(s.PinSites) != 1 || len(s.Incidents) != 1 || len(s.Scopes) != 1 || s.Rest != (dump.SchedulersRest{PinSites: 1, Incidents: 2}) {
		t.Errorf("got %d, %d, %d and %+v", len(s.PinSites), len(s.Incidents), len(s.Scopes), s.Rest)
	}
}

func TestDamagedFilesNeverCrashTakeSchedulers(t *testing.T) {
	whole, err := os.ReadFile(flighttest.Write(t, bank()).Path)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "1-1.flight")
	pages := used(whole)
	rng := rand.New(rand.NewPCG(3, 4))
	const damagedRounds = 100
	read := 0
	for range damagedRounds {
		b := slices.Clone(whole)
		for range 1 + rng.IntN(30) {
			b[pages[rng.IntN(len(pages))]+rng.IntN(4096)] ^= 1 << rng.IntN(8)
		}
		if rng.IntN(3) == 0 {
			b = b[:rng.IntN(len(b))]
		}
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		r, err := flight.Open(path)
		if err != nil {
			continue
		}
		s, err := dump.TakeSchedulers(t.Context(), r)
		r.Close()
		if err != nil {
			continue
		}
		read++
		for line := range strings.Lines(schedulersText(t, s, dump.TextOptions{})) {
			if n := dump.Columns(strings.TrimSuffix(line, "\n")); n > 100 {
				t.Errorf("line of %d columns: %q", n, line)
			}
		}
		if err := dump.SchedulersJSON(&bytes.Buffer{}, s); err != nil {
			t.Errorf("JSON: %v", err)
		}
	}
	if read == 0 {
		t.Error("no damaged file was readable: nothing was tested")
	}
	t.Logf("%d of %d read", read, damagedRounds)
}
