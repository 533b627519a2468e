package metrics_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/vtscope/vtscope/recording"
	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/flight/flighttest"
	"github.com/vtscope/vtscope/tracing/metrics"
)

func TestDurableThreadsAreMeasuredWhereThereAreSome(t *testing.T) {
	f := flighttest.Write(t, spec())
	c, _ := collect(t, f, metrics.Options{})
	told := func() map[string]metrics.Family {
		all := map[string]metrics.Family{}
		for _, g := range c.Collect() {
			for _, x := range g.Families {
				if len(x.Name) > 11 && x.Name[:11] == "vt.durable." {
					all[x.Name] = x
				}
			}
		}
		return all
	}
	if got := told(); len(got) != 0 {
		t.Fatalf("a program without durable threads: got %v", got)
	}
	r := f.Recorder
	rec := r.GetRecord()
	rec.Hibernated(flight.Now(), 4711, flight.ReasonSignal, 0, flight.DurableSignal.Blocker("go"))
	d := r.OpenDurable("order-1", "checkout")
	d.Is(4711, false)
	d.Waits(flight.DurableSignal, "go", 0, time.Now(), time.Time{})
	r.CountDurable(flight.DurableSteps, 214)
	r.CountDurable(flight.DurableBytes, 4096)
	r.CountReplay(100, 3*time.Millisecond)
	r.CountReplay(100, 5*time.Millisecond)
	// What is counted and what is seen in a snapshot are two looks, and either may be of amid these calls.
	var wrong []string
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("at last: %s", strings.Join(wrong, "\n"))
		}
	})
	await(t, "all that was told", func() bool {
		wrong = nil
		got := told()
		for name, want := range map[string]float64{"vt.durable.hibernated": 1, "vt.durable.steps": 214, "vt.durable.bytes": 4096, "vt.durable.resumes": 0, "vt.durable.leases": 0, "vt.durable.divergences": 0} {
			if x := got[name]; len(x.Points) != 1 || x.Points[0].Value != want {
				wrong = append(wrong, fmt.Sprintf("%s: got %+v, want %v", name, x.Points, want))
			}
		}
		if x := got["vt.durable.replay"]; len(x.Points) != 1 || x.Points[0].Spread.Count != 2 || x.Points[0].Spread.Sum != 0.008 {
			wrong = append(wrong, fmt.Sprintf("got replays %+v", x.Points))
		}
		found := false
		for _, p := range got["vt.durable.live"].Points {
			found = found || p.Values[0] == "signal" && p.Value == 1
		}
		if !found {
			wrong = append(wrong, fmt.Sprintf("got %+v, want one that waits for a signal", got["vt.durable.live"].Points))
		}
		return len(wrong) == 0
	})
}

// A program that is newer than who follows it tells kinds of events that nobody knows here.
func TestEventsOfUnknownKindsAreNoOutliers(t *testing.T) {
	c, err := metrics.New(metrics.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range c.Observe(flight.Process{PID: 1}, nil) {
		o.Event(&recording.Event{Kind: flight.KindCount}, recording.Change{}, nil)
		o.Event(&recording.Event{Kind: 255}, recording.Change{}, nil)
	}
}
