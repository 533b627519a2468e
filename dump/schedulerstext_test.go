package dump

import (
	"bytes"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/vtscope/vtscope/runtime/flight"
)

// bankSample is what [TakeSchedulers] makes of a process whose carriers are all in some plight.
func bankSample() *Schedulers {
	account := &Place{Frame: frame("example.org/bank.(*Account).move", "/src/account.go", 12), Calls: "sync.(*Mutex).Lock"}
	ledger := &Place{Frame: frame("example.org/bank.(*Ledger).receive", "/src/ledger.go", 88)}
	hash := &Place{Frame: frame("example.org/bank.hash", "/src/hash.go", 7), Guessed: true}
	d := Scheduler{
		ID: 1, Name: "default", Began: sampleTime.Add(-3 * time.Hour), Told: true, Age: 340 * time.Millisecond,
		Figures: Figures{
			flight.FigureParallelism: 2, flight.FigureMinCarriers: 2, flight.FigureMaxCarriers: 1024, flight.FigureCarriers: 16,
			flight.FigureRunning: 2, flight.FigureHeld: 3, flight.FigureIdle: 11, flight.FigureSpare: 14, flight.FigureMounted: 5, flight.FigureQueued: 12,
			flight.FigureParked: 1_000_188, flight.FigureTimers: 900_000, flight.FigureStarts: 1_204_123, flight.FigureSwitches: 98_120_311,
			flight.FigureSubmissions: 98_120_323, flight.FigureStarving: uint64(1200 * time.Millisecond), flight.FigurePins: 512,
			flight.FigurePinnedTime: uint64(125 * time.Second), flight.FigureVictims: 40,
		},
		Threads:  Counts{flight.StateParked: 100_188, flight.StateTimedParked: 900_000, flight.StateRunnable: 12, flight.StateMounted: 2, flight.StatePinned: 3},
		Reasons:  Reasons{flight.ReasonSleep: 900_000, flight.ReasonIO: 100_000, flight.ReasonLock: 188},
		Carriers: []Carrier{},
	}
	for i, n := range map[time.Duration]uint64{200: 4, time.Microsecond: 41_000, 30 * time.Microsecond: 9_000, time.Millisecond: 300, 2 * time.Second: 1} {
		d.Ready.Histogram[flight.BucketOf(i)] += n
		d.Slice.Histogram[flight.BucketOf(3*i)] += n / 2
	}
	d.Slice.Histogram[flight.HistogramBuckets-1] = 2
	d.Carriers = append(d.Carriers,
		Carrier{ID: 4, State: flight.CarrierHeld, Thread: 17, Name: "import of the year 2025", For: 12 * time.Minute, Reason: flight.ReasonPinnedGo, Place: ledger},
		Carrier{ID: 1, State: flight.CarrierHeld, Thread: 18, For: 300 * time.Millisecond, Reason: flight.ReasonPinnedSection, Place: account},
		Carrier{ID: 9, State: flight.CarrierHeld, Thread: 19, For: time.Millisecond, Reason: flight.ReasonPinnedOSThread},
		Carrier{ID: 2, State: flight.CarrierRunning, Thread: 1204, For: 31 * time.Second, Reason: flight.ReasonMonopoly, Place: hash},
		Carrier{ID: 3, State: flight.CarrierRunning, Thread: 5, Name: "GET /cart", For: 3 * time.Microsecond})
	for i := range 11 {
		d.Carriers = append(d.Carriers, Carrier{ID: flight.CarrierID(100 + i), State: flight.CarrierIdle})
	}
	return &Schedulers{
		Format: SchedulersFormat, Taken: sampleTime, AsOf: sampleTime, Took: 7 * time.Millisecond, Complete: true,
		Process: Process{PID: 4711, Program: "bank", Status: StatusRunning},
		Schedulers: []Scheduler{
			d,
			{ID: 2, Name: "batch", Began: sampleTime.Add(-time.Minute)},
			{
				ID: 3, Began: sampleTime.Add(-time.Minute), Told: true, Age: 31 * time.Second, Figures: Figures{flight.FigureParallelism: 1},
				Carriers: []Carrier{{ID: 7, State: flight.CarrierIdle}},
			},
		},
		Others: Others{Threads: Counts{flight.StateParked: 7}, Carriers: []Carrier{{ID: 12, State: flight.CarrierRunning}}},
		Pollers: []Poller{
			{Number: 1, Kind: "read", Watched: 10_412, Wakeups: 4_000_000, Ready: 9_300_000, Ago: 2 * time.Millisecond, Batches: [flight.PollerBatches]uint32{2_000_000, 1, 5, 0, 0, 1}},
			{Number: 2, Kind: "write", Failed: 3},
			{Number: 3, Kind: "ring", Watched: 1, Wakeups: 1, Ready: 200, Ago: time.Hour, Batches: [flight.PollerBatches]uint32{7: 1}},
		},
		PinSites: []PinSite{
			{ledger, flight.ReasonPinnedGo, 500, 2 * time.Minute, 12 * time.Second, 38, 3 * time.Second},
			{account, flight.ReasonPinnedSection, 11, 5 * time.Second, 4 * time.Second, 2, 2 * time.Minute},
			{nil, flight.ReasonNone, 1, time.Millisecond, time.Millisecond, 0, time.Hour},
		},
		Incidents: []Incident{
			{Kind: flight.EventStarved, Ago: 200 * time.Millisecond, Thread: 17, For: time.Second, Victims: 12, Reason: flight.ReasonPinnedGo, Place: ledger},
			{Kind: flight.EventMonopolized, Ago: 4 * time.Second, Scheduler: 1, Thread: 1204, For: 31 * time.Second, Reason: flight.ReasonMonopoly, Place: hash},
			{Kind: flight.EventPinned, Ago: time.Minute, Scheduler: 1, Thread: 99, Name: "order 17", For: 25 * time.Millisecond, Reason: flight.ReasonPinnedSection, Place: account},
		},
		Scopes: []ScopeDelays{
			{Path: []string{"root", "bank", "transfers"}, Count: 312, Ready: Times{Count: 40, P99: time.Millisecond}, Runnable: 12, Waited: 1200 * time.Millisecond},
			{Ready: Times{1204, 3 * time.Microsecond, 4 * time.Microsecond, 900 * time.Microsecond, time.Second}, Slice: Times{1, 1, 1, 1, 1}},
			{Path: []string{"root"}, Count: 1, Slice: Times{3, 2, 2, 2, 2}},
		},
		Sample: Sample{Window: 340 * time.Millisecond, Ready: 1244, Slice: 4, Dropped: 3},
		Rest:   SchedulersRest{Incidents: 4, Overwritten: 1},
	}
}

func schedulersPageOf(t *testing.T, s *Schedulers, o TextOptions) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := SchedulersText(&b, s, o); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// SD-12, SD-13
func TestSchedulersTextShowsEachSchedulerWithItsCarriers(t *testing.T) {
	golden(t, "schedulers.txt", schedulersPageOf(t, bankSample(), TextOptions{}))
	golden(t, "schedulers-ascii.txt", schedulersPageOf(t, bankSample(), TextOptions{ASCII: true, Width: 70, Top: 2}))
	golden(t, "schedulers-color.txt", schedulersPageOf(t, bankSample(), TextOptions{Color: true, Top: -1}))
}

func TestSchedulersTextSaysHowOldItIs(t *testing.T) {
	s := bankSample()
	line := func() string {
		t.Helper()
		for line := range strings.Lines(string(schedulersPageOf(t, s, TextOptions{}))) {
			if strings.HasPrefix(line, "scheduler 1 ") {
				return strings.TrimSpace(line[strings.LastIndex(line, "   "):])
			}
		}
		t.Fatal("no scheduler 1")
		return ""
	}
	for _, c := range []struct {
		age    time.Duration
		status Status
		want   string
	}{
		{10 * time.Millisecond, StatusRunning, "figures are 10 ms old"},
		{10 * time.Second, StatusRunning, "figures are 10 s old, though it tells them every second"},
		{10 * time.Second, StatusStopped, "figures are 10 s old"},
		{10 * time.Second, StatusGone, "figures of 10 s before its last sign of life"},
		{0, StatusEnded, "figures of its last sign of life"},
	} {
		s.Process.Status, s.Schedulers[0].Age = c.status, c.age
		if got := line(); got != c.want {
			t.Errorf("%v old of a process that is %s: got %q, want %q", c.age, c.status, got, c.want)
		}
	}
	s.Process.Status, s.Schedulers[0].Carriers = StatusRunning, []Carrier{{State: flight.CarrierIdle}}
	s.Schedulers[0].Age = 10 * time.Minute
	if got, want := line(), "figures are 10 m old: of when it fell asleep"; got != want {
		t.Errorf("asleep: got %q, want %q", got, want)
	}
	s.Complete, s.Incomplete = false, []string{"scheduler segment 0 is cut"}
	if text := string(schedulersPageOf(t, s, TextOptions{})); !strings.Contains(text, "; incomplete\n  ! scheduler segment 0 is cut\n") {
		t.Errorf("incomplete: got\n%s", text)
	}
}

func TestEveryFigureHasAPlaceOnThePage(t *testing.T) {
	seen := map[flight.Figure]int{}
	for _, g := range figureGroups {
		for _, f := range g.figures {
			seen[f]++
		}
	}
	for f := range flight.FigureCount {
		if seen[f] != 1 {
			t.Errorf("%s: in %d groups, want 1", f, seen[f])
		}
		if n := len(f.String()); n > figureName {
			t.Errorf("%s: %d columns, want at most %d", f, n, figureName)
		}
	}
}

func TestSchedulersTextIsNarrowAndCannotChangeTheTerminal(t *testing.T) {
	s := bankSample()
	evil := "a\n\x1b]0;b\x07\u202ec\xff" + strings.Repeat("long", 30)
	s.Process.Program, s.Schedulers[0].Name, s.Schedulers[0].Carriers[0].Name, s.Incidents[0].Name = evil, evil, evil, evil
	s.Incomplete = []string{evil}
	for i := range s.PinSites[:2] {
		s.PinSites[i].Place = &Place{Frame: frame(evil, evil, 1<<30), Calls: evil}
	}
	s.Scopes[0].Path = []string{evil, evil, evil, evil}
	for f := range s.Schedulers[0].Figures {
		s.Schedulers[0].Figures[f] = 1<<63 - 1
	}
	for _, o := range []TextOptions{{}, {Width: 10}, {Width: 61, ASCII: true}, {Width: 200, Top: -1}} {
		wide := max(o.Width, minWidth)
		if o.Width == 0 {
			wide = 100
		}
		text := string(schedulersPageOf(t, s, o))
		if strings.ContainsAny(text, "\x1b\x07\u202e") || !utf8.ValidString(text) {
			t.Errorf("%+v: control characters in %q", o, text)
		}
		for line := range strings.Lines(text) {
			if n := Columns(strings.TrimSuffix(line, "\n")); n > wide || strings.HasSuffix(line, " \n") {
				t.Errorf("%+v: line of %d columns, or with a space at its end: %q", o, n, line)
			}
			if o.ASCII && strings.ContainsFunc(line, func(r rune) bool { return r > '~' }) {
				t.Errorf("not ASCII: %q", line)
			}
		}
	}
}

func TestBarsCountEachDurationOnce(t *testing.T) {
	var h flight.Histogram
	for i := range h {
		h[i] = 1
	}
	counts := bars(&h)
	sum, at := uint64(0), 0
	for i, n := range counts {
		sum += n
		for ; at < flight.HistogramBuckets && (barEnd(i) == 0 || flight.BucketEnd(at) <= barEnd(i)) && n > 0; n-- {
			at++
		}
		if n != 0 && i < barCount-1 {
			t.Errorf("bar %d, up to %v, counts durations that are longer", i, barEnd(i))
		}
	}
	if sum != flight.HistogramBuckets || at != flight.HistogramBuckets {
		t.Errorf("got %d durations in the bars and %d below their ends, want %d", sum, at, flight.HistogramBuckets)
	}
}

func TestAPlaceIsTheProgramsOwn(t *testing.T) {
	f := func(fn, file string, internal bool) flight.Frame {
		return flight.Frame{Func: fn, File: file, Line: 1, Internal: internal}
	}
	var (
		recv   = f("runtime.chanrecv1", "/go/src/runtime/chan.go", true)
		lock   = f("sync.(*Mutex).Lock", "/go/src/sync/mutex.go", false)
		read   = f("net.(*conn).Read", "net/net.go", false) // built with -trimpath
		body   = f("net/http.(*body).Read", `C:\go\src\net\http\transfer.go`, false)
		mine   = f("shop.query", "/srv/shop/query.go", false) // of a module without a dot
		theirs = f("example.org/db.(*DB).Query", "/pkg/mod/example.org/db/db.go", false)
		sleep  = f("time.Sleep", "/go/src/runtime/time.go", false)
		start  = f("main.main", "/src/main.go", false)
		bare   = f("", "", false)
	)
	for _, c := range []struct {
		frames    []flight.Frame
		fn, calls string
	}{
		{[]flight.Frame{recv, mine, start}, "shop.query", ""},
		{[]flight.Frame{recv, lock, mine}, "shop.query", "sync.(*Mutex).Lock"},
		{[]flight.Frame{recv, read, body, theirs, mine}, "example.org/db.(*DB).Query", "net/http.(*body).Read"},
		{[]flight.Frame{lock, start}, "main.main", "sync.(*Mutex).Lock"},
		{[]flight.Frame{sleep, mine}, "shop.query", "time.Sleep"},
		{[]flight.Frame{recv, lock}, "sync.(*Mutex).Lock", ""},
		{[]flight.Frame{recv, read, body}, "net.(*conn).Read", "net/http.(*body).Read"},
		{[]flight.Frame{recv}, "runtime.chanrecv1", ""},
		{[]flight.Frame{bare}, "", ""},
	} {
		if p := placeOf(c.frames); p.Func != c.fn || p.Calls != c.calls {
			t.Errorf("%v: got %q, which calls %q; want %q, %q", c.frames, p.Func, p.Calls, c.fn, c.calls)
		}
	}
}
