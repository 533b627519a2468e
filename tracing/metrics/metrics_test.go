package metrics_test

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vtscope/vtscope/agent"
	"github.com/vtscope/vtscope/dump"
	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/flight/flighttest"
	"github.com/vtscope/vtscope/tracing/metrics"
	"github.com/vtscope/vtscope/tracing/metrics/metricstest"
	"github.com/vtscope/vtscope/tracing/otel/traceid"
)

// spec has something for most instruments.
func spec() flighttest.Spec {
	return flighttest.Spec{
		Scopes:  []flighttest.Scope{{Name: "request 1"}, {Name: "request 2"}, {Name: "jobs"}},
		Stacks:  []flighttest.Stack{{{Func: "main.wait"}}},
		Threads: 30,
		Thread: func(i int) flighttest.Thread {
			th := flighttest.Thread{Scope: 1 + i%3, State: flight.StateParked, Reason: flight.ReasonPark, Scheduler: 1}
			switch {
			case i == 0:
				th.State, th.Reason = flight.StatePinned, flight.ReasonPinnedSection
			case i < 4:
				th.State = flight.StateRunnable
			}
			return th
		},
		Events: 20, Trace: []flighttest.Event{
			{Kind: flight.EventPark, Code: flight.ReasonLock, Thread: 5}, {Kind: flight.EventSubmitFailed, Thread: 6}, {Kind: flight.EventThreadEnd, Thread: 99},
		},
		Carrier: func(int) flighttest.Carrier { return flighttest.Carrier{Scheduler: 1} },
		Schedulers: []flighttest.Scheduler{{
			ID: 1, Name: "default", Began: time.Minute,
			Figures: map[flight.Figure]uint64{flight.FigureParallelism: 2, flight.FigureSubmissions: 77, flight.FigurePins: 3, flight.FigurePinnedTime: 9e6},
			Ready:   map[time.Duration]uint64{time.Microsecond: 17, 30 * time.Millisecond: 2},
			Slice:   map[time.Duration]uint64{time.Microsecond: 34, 10 * time.Minute: 1},
			Pinned:  map[time.Duration]uint64{time.Microsecond: 1, 4 * time.Millisecond: 2},
		}},
		Pins: []flighttest.Pin{{Stack: 1, Reason: flight.ReasonPinnedSection, Held: 9 * time.Millisecond, Victims: 4}, {Reason: flight.ReasonPinnedGo, Held: time.Second}},
	}
}

// collect returns what is told of a flight file by way of an agent that follows it.
func collect(t *testing.T, f *flighttest.File, o metrics.Options) (*metrics.Collector, *agent.Agent) {
	t.Helper()
	c, err := metrics.New(o)
	if err != nil {
		t.Fatal(err)
	}
	a, err := agent.New(agent.Options{Dirs: []string{f.Dir}, Interval: 50 * time.Millisecond, Observe: c.Observe})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.Close() })
	c.From(a.Figures)
	await(t, "a snapshot", func() bool {
		p := a.Figures().Processes
		return len(p) == 1 && p[0].Snapshot != nil
	})
	return c, a
}

func await(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("within a minute there was not %s", what)
		}
	}
}

// value returns the sum of the points of an instrument that have the labels, and how many there are.
func value(g *metrics.Group, w *metricstest.Want) (sum float64, points int) {
	for _, f := range g.Families {
		if f.Name != w.Instrument.Name {
			continue
		}
		for _, p := range f.Points {
			fits := true
			for name, want := range w.Labels {
				i := slices.IndexFunc(f.Labels, func(l metrics.Label) bool { return l.Name == name })
				fits = fits && i >= 0 && p.Values[i] == want
			}
			if fits {
				points++
				if sum += p.Value; p.Spread != nil {
					sum += float64(p.Spread.Count)
				}
			}
		}
	}
	return sum, points
}

func TestMetricsAreThoseOfTheFlightFile(t *testing.T) {
	f := flighttest.Write(t, spec())
	c, _ := collect(t, f, metrics.Options{})
	groups := c.Collect()
	if len(groups) != 2 || groups[0].Key == "" || groups[1].Key != "" {
		t.Fatalf("got %d groups, want the process and the agent", len(groups))
	}
	r, err := flight.Open(f.Path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	wants, err := metricstest.Read(context.Background(), r)
	if err != nil || len(wants) < 20 {
		t.Fatalf("got %d values to compare, %v", len(wants), err)
	}
	for i := range wants {
		if got, n := value(&groups[0], &wants[i]); got != wants[i].Value || n == 0 {
			t.Errorf("%s: got %v in %d points, want %v", wants[i].Query("", 0), got, n, wants[i].Value)
		}
	}
	for _, in := range metrics.Instruments {
		if _, n := value(&groups[1], &metricstest.Want{Instrument: &in}); in.OfAgent() != (n > 0) && !strings.HasPrefix(in.Name, "vt.export.") {
			t.Errorf("%s: the agent tells %d points", in.Name, n)
		}
	}
}

func TestHistogramsKeepEveryDuration(t *testing.T) {
	if !slices.IsSorted(metrics.Bounds) || metrics.Bounds[0] != 2048e-9 || metrics.Bounds[len(metrics.Bounds)-1] < 274 {
		t.Errorf("got bounds %v", metrics.Bounds)
	}
	for d := time.Duration(100); d < 1000*time.Second; d = d * 5 / 4 {
		s := spec()
		s.Threads, s.Trace = 1, nil
		var h flight.Histogram
		h[flight.BucketOf(d)] = 8
		p := metrics.Process{Process: flight.Process{PID: 1}, Key: "k", At: time.Now(), Schedulers: []flight.SchedulerRow{{ID: 1, Ready: h}}}
		c := of(t, p)
		for _, f := range c.Collect()[0].Families {
			if f.Name != "vt.scheduler.ready_delay" {
				continue
			}
			x := f.Points[0].Spread
			at := slices.Index(x.Counts, 8)
			lower, upper := 0.0, 1e9
			if at > 0 {
				lower = metrics.Bounds[at-1]
			}
			if at < len(metrics.Bounds) {
				upper = metrics.Bounds[at]
			}
			if x.Count != 8 || d.Seconds() < lower || d.Seconds() > upper {
				t.Errorf("%v: got %d in all, and bucket %d of %v to %v", d, x.Count, at, lower, upper)
			}
			if d > 200 && d < 250*time.Second && (x.Sum < 8*d.Seconds()*.75 || x.Sum > 8*d.Seconds()*1.3) {
				t.Errorf("%v: got a sum of %v, want about %v", d, x.Sum, 8*d.Seconds())
			}
		}
	}
}

// of returns a collector of processes as they are.
func of(t *testing.T, p ...metrics.Process) *metrics.Collector {
	t.Helper()
	c, err := metrics.New(metrics.Options{Scopes: 10, Schedulers: 2, Keep: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	c.From(func() metrics.Figures { return metrics.Figures{Processes: p} })
	return c
}

func scopesOf(names map[string]int) *dump.Snapshot {
	s := &dump.Snapshot{}
	for name, n := range names {
		s.Scopes = append(s.Scopes, dump.Scope{Name: name, Count: 2, Own: n})
	}
	return s
}

func TestNamesBeyondTheLimitAreOneSeries(t *testing.T) {
	names := map[string]int{}
	for i := range 50 {
		names[fmt.Sprintf("scope-%c%c", 'a'+i/26, 'a'+i%26)] = 100 + i
	}
	p := metrics.Process{Key: "k", At: time.Now(), Snapshot: scopesOf(names)}
	c := of(t)
	c.From(func() metrics.Figures { return metrics.Figures{Processes: []metrics.Process{p}} })
	series := func() (names []string, threads, scopes, over float64) {
		g := c.Collect()[0]
		for _, f := range g.Families {
			for _, x := range f.Points {
				switch f.Name {
				case "vt.scope.threads":
					names = append(names, x.Values[0])
					if threads += x.Value; x.Values[1] == "true" {
						over = x.Value
					}
				case "vt.scope.open":
					scopes += x.Value
				}
			}
		}
		return names, threads, scopes, over
	}
	first, threads, scopes, over := series()
	if len(first) != 11 || threads != 50*100+49*50/2 || scopes != 100 || over == 0 || first[0] != "scope-bx" || first[10] != "(other)" {
		t.Errorf("got %q with %v threads and %v scopes, %v of them beyond the limit", first, threads, scopes, over)
	}
	// Others become larger: who has a series keeps it.
	for name := range names {
		if !slices.Contains(first, name) {
			names[name] = 1000
		}
	}
	p.Snapshot = scopesOf(names)
	again, _, _, _ := series()
	slices.Sort(first)
	slices.Sort(again)
	if !slices.Equal(first, again) {
		t.Errorf("got %q, want %q again", again, first)
	}
	p.Snapshot = scopesOf(map[string]int{"cart 7": 1, "cart 8": 2})
	if names, threads, scopes, _ := series(); !slices.Equal(names, []string{"cart *"}) || threads != 3 || scopes != 4 {
		t.Errorf("got %q with %v threads and %v scopes, want one template", names, threads, scopes)
	}
}

func TestSchedulersBeyondTheLimitAreSummed(t *testing.T) {
	p := metrics.Process{Key: "k", At: time.Now()}
	for i := range 5 {
		row := flight.SchedulerRow{ID: flight.SchedulerID(5 - i), Name: "pool"}
		row.Figures[flight.FigureSteals] = 10
		row.Ready[20] = 3
		p.Schedulers = append(p.Schedulers, row)
	}
	g := of(t, p).Collect()[0]
	steals := metricstest.Want{Instrument: metricstest.Lookup("vt.scheduler.steals")}
	if got, n := value(&g, &steals); got != 50 || n != 3 {
		t.Errorf("got %v steals in %d series, want 50 in 3", got, n)
	}
	steals.Labels = map[string]string{"otel.metric.overflow": "true"}
	if got, n := value(&g, &steals); got != 30 || n != 1 {
		t.Errorf("got %v steals in %d series beyond the limit, want 30 in one", got, n)
	}
	if got, _ := value(&g, &metricstest.Want{Instrument: metricstest.Lookup("vt.scheduler.ready_delay")}); got != 15 {
		t.Errorf("got %v delays, want 15", got)
	}
}

func TestOfAProcessThatIsGoneTotalsAreToldForAWhile(t *testing.T) {
	p := metrics.Process{Key: "k", At: time.Now(), Gone: true, Snapshot: &dump.Snapshot{}, Size: 5}
	p.Counts.Kinds[flight.EventThreadStart] = 7
	p.Snapshot.States[flight.StateParked] = 3
	g := of(t, p).Collect()
	if len(g) != 1 {
		t.Fatalf("got %d groups, want one", len(g))
	}
	if got, _ := value(&g[0], &metricstest.Want{Instrument: metricstest.Lookup("vt.thread.started")}); got != 7 {
		t.Errorf("got %v threads started, want 7", got)
	}
	for _, f := range g[0].Families {
		if f.Kind == metrics.UpDown {
			t.Errorf("%s: got %v, want nothing of what is no more", f.Name, f.Points)
		}
	}
	c, err := metrics.New(metrics.Options{Keep: 1})
	if err != nil {
		t.Fatal(err)
	}
	c.From(func() metrics.Figures { return metrics.Figures{Processes: []metrics.Process{p}} })
	await(t, "the end of telling", func() bool { return len(c.Collect()) == 0 })
}

func TestOutliersBecomeExemplarsOfTheirBucket(t *testing.T) {
	s := spec()
	f := flighttest.Write(t, s)
	c, a := collect(t, f, metrics.Options{Traced: true})
	var found []metrics.Exemplar
	await(t, "an exemplar", func() bool {
		f.Rings[0].Emit(flight.Now(), flight.EventPinned, flight.ReasonPinnedSection, f.Stacks[0], 1, uint64(flight.MakeHeld(33*time.Millisecond, 2)))
		for _, fam := range c.Collect()[0].Families {
			if fam.Name == "vt.thread.pinned" {
				found = fam.Points[0].Spread.Exemplars
			}
		}
		return len(found) > 0
	})
	seed := traceid.Of(a.Figures().Processes[0].Process)
	x := found[0]
	if len(found) != 1 || x.Value != .033 || x.Thread != 1 || x.Span != seed.Scope(1) || x.Trace == (traceid.Trace{}) || time.Since(x.At).Abs() > time.Hour || x.Scope != "request 1" {
		t.Errorf("got %+v, want thread 1 of request 1, 33 ms, in the span %x", found, seed.Scope(1))
	}
}

func TestEveryInstrumentIsWellDescribed(t *testing.T) {
	name := regexp.MustCompile(`^vt(\.[a-z][a-z0-9_]*)+$`)
	seen := map[string]bool{}
	for _, in := range metrics.Instruments {
		p := in.PrometheusName()
		if !name.MatchString(in.Name) || seen[in.Name] || seen[p] {
			t.Errorf("%s (%s): not a name, or twice", in.Name, p)
		}
		seen[in.Name], seen[p] = true, true
		if in.About == "" || strings.HasSuffix(in.About, ".") || in.Unit == "" || in.Differs != "" && in.Same == "" {
			t.Errorf("%s: got %q, unit %q", in.Name, in.About, in.Unit)
		}
		if (in.Kind == metrics.Spread) != strings.HasSuffix(p, "_seconds") && in.Kind == metrics.Spread || in.Kind == metrics.Counter != strings.HasSuffix(p, "_total") {
			t.Errorf("%s: Prometheus calls it %s", in.Name, p)
		}
	}
	for _, jvm := range []string{"jvm.thread.virtual.pinned", "jvm.thread.virtual.submit_failed"} {
		i := slices.IndexFunc(metrics.Instruments, func(in metrics.Instrument) bool { return in.Same == jvm })
		if i < 0 || strings.TrimPrefix(jvm, "jvm.thread.virtual") != strings.TrimPrefix(metrics.Instruments[i].Name, "vt.thread") {
			t.Errorf("no instrument has the name of %s", jvm)
		}
	}
}

func TestBadOptionsAreRefused(t *testing.T) {
	for _, o := range []metrics.Options{{Scopes: -1}, {Schedulers: -1}, {Keep: -1}} {
		if _, err := metrics.New(o); err == nil {
			t.Errorf("%+v: got no error", o)
		}
	}
}
