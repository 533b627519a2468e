package trigger

import (
	"testing"
	"time"

	"github.com/vtscope/vtscope/dump"
	"github.com/vtscope/vtscope/runtime/flight"
)

// A judge asks one rule at moments that the test makes.
type judge struct {
	t *testing.T
	c *condition
}

func newJudge(t *testing.T, text string) *judge {
	t.Helper()
	r, err := Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	all, _, err := (&Options{Rules: []Rule{r}, Fire: func([]Firing) {}}).prepare(nil)
	if err != nil {
		t.Fatal(err)
	}
	return &judge{t, all[0]}
}

var epoch = time.Date(2026, 11, 20, 20, 15, 3, 0, time.UTC)

// threads says how many threads of the scope "requests" there are at a moment, and whether the rule must come true then.
func (j *judge) threads(at time.Duration, n int, want bool) {
	j.t.Helper()
	s := &dump.Snapshot{Threads: n, Scopes: []dump.Scope{{Parent: -1}, {Name: "requests", Depth: 1, Own: n}}}
	if _, got := j.c.judge(&look{at: epoch.Add(at), threads: s}); got != want {
		j.t.Errorf("%s, %d threads at %v: came true: %v, want %v", j.c.rule, n, at, got, want)
	}
}

func TestARuleIsToldAgainOnlyAfterItWasFalse(t *testing.T) {
	j := newJudge(t, "threads > 10")
	j.threads(0, 10, false)
	j.threads(1, 11, true)
	j.threads(2, 12, false)
	j.threads(3, 9, false)
	j.threads(4, 11, true)

	j = newJudge(t, "threads > 10 in requests for 3s")
	j.threads(0, 11, false)
	j.threads(2*time.Second, 11, false)
	j.threads(3*time.Second, 11, true)
	j.threads(9*time.Second, 11, false)
	j.threads(10*time.Second, 1, false)
	j.threads(11*time.Second, 11, false)
	j.threads(13*time.Second, 11, false)
	j.threads(14*time.Second, 11, true)
}

func TestThreadsAreComparedWithTheFewestOfThatTime(t *testing.T) {
	j := newJudge(t, "threads doubled in 10s")
	j.threads(0, 100, false)
	j.threads(5*time.Second, 300, true) // sooner than that
	j.threads(10*time.Second, 300, false)
	j.threads(12*time.Second, 300, false) // still so: compared with the 100
	j.threads(15*time.Second, 300, false)
	j.threads(25*time.Second, 599, false)
	j.threads(35*time.Second, 1198, true)

	j = newJudge(t, "threads doubled in 10s")
	j.threads(0, 10, false)
	j.threads(10*time.Second, 109, false) // ten times as many, and too few
	j.threads(11*time.Second, 110, true)
}

func TestQueueDelaysAreThoseSinceTheSchedulerToldLast(t *testing.T) {
	j := newJudge(t, "queue delay p99 > 100ms")
	r, err := mustRecorder(t).Reader()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	written := r.Now()
	ask := func(what string, row flight.SchedulerRow, told, want bool) {
		t.Helper()
		if told {
			written++
		}
		row.ID, row.Written, row.Name = 1, written, "default"
		if _, got := j.c.judge(&look{reader: r, at: r.Time(written), schedulers: []flight.SchedulerRow{row}}); got != want {
			t.Errorf("%s: came true: %v, want %v", what, got, want)
		}
	}
	var row flight.SchedulerRow
	slow, fast := flight.BucketOf(time.Second), flight.BucketOf(time.Millisecond)
	row.Ready[slow] = 1000
	ask("before it was watched", row, true, false)
	row.Ready[fast] += 1000
	ask("fast ones", row, true, false)
	row.Ready[fast] += 900
	row.Ready[slow] += 100
	ask("one in ten is slow", row, true, true)
	ask("nothing new is told", row, false, false) // it is as it was
	row.Ready[fast] += 1000
	ask("fast ones again", row, true, false)
	row.Figures[flight.FigureStarving] = uint64(time.Second)
	ask("nobody is mounted", row, true, true)
}

func mustRecorder(t *testing.T) *flight.Recorder {
	t.Helper()
	r, err := flight.New(flight.Options{Mode: flight.ModePrivate})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}
