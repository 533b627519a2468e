package agent

import (
	"strings"
	"testing"
	"time"

	"github.com/vtscope/vtscope/dump"
	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/flight/flighttest"
)

// While the first snapshot is read it is told how many threads were read, and what they do; at the end that is what the snapshot says.
func TestTheFirstSnapshotTellsHowFarItIs(t *testing.T) {
	spec := small()
	spec.Threads = 10_000
	r, err := flight.Open(flighttest.Write(t, spec).Path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var told []soFar
	s, err := dump.Take(t.Context(), firstReader{r, 0, func(s soFar) { told = append(told, s) }, func() {}}, dump.Options{})
	if err != nil || len(told) < 5 {
		t.Fatalf("%v; told %d times, want a few times", err, len(told))
	}
	n := 0
	for _, s := range told {
		if s.counts.Total() <= n || s.threads < s.counts.Total() {
			t.Fatalf("%d threads read of %d after %d", s.counts.Total(), s.threads, n)
		}
		n = s.counts.Total()
	}
	if last := told[len(told)-1]; last.counts != s.States || n != 10_000 {
		t.Errorf("at the end %v, want %v as in the snapshot", last.counts, s.States)
	}
}

// Before there is a snapshot the header has the states that were read, and says that the rest comes. The first snapshot is shown before it is judged.
func TestWhatIsCheapIsShownBeforeTheFirstLook(t *testing.T) {
	f := lone(time.Second)
	header := func() *Process { return f.newView(flight.Process{Threads: 4_000}).header(Cost{}, time.Second) }
	if p := header(); !strings.HasPrefix(p.Snapshot.Note, "the threads are being read: scopes") || p.Threads != 4_000 || p.Snapshot.Time != 0 {
		t.Errorf("at first: %+v", p)
	}
	f.soFar = &soFar{threads: 4_000}
	f.soFar.counts[flight.StateParked] = 1_500
	if p := header(); !strings.Contains(p.Snapshot.Note, "first 1,500 of about 4,000;") || p.Counts[flight.StateParked] != 1_500 {
		t.Errorf("while it is read: %+v", p)
	}
	s := &dump.Snapshot{Threads: 4_001, Taken: time.Now()}
	f.take(result{look: lookOf(s), first: true})
	v := f.newView(flight.Process{Threads: 4_000})
	if p := v.header(Cost{}, time.Second); p.Snapshot.Note != "" || p.Threads != 4_001 || v.findings().Missing == "" || f.lineage.before != nil {
		t.Errorf("the first snapshot: %+v, findings %q", p, v.findings().Missing)
	}
	f.take(result{look: lookOf(s)})
	if v := f.newView(flight.Process{}); v.findings().Missing != "" {
		t.Errorf("after the look: findings are missing: %s", v.findings().Missing)
	}
}

// A view that another one follows within the interval is none that a slow client misses.
func TestAViewSoFarIsNoFrameThatIsLost(t *testing.T) {
	f := lone(time.Second)
	f.keeper.total = &f.agent.meter.past
	f.publish(flight.Process{})
	before := f.view()
	_, wake := f.watch()
	f.publishSoFar(flight.Process{Threads: 5})
	if v := f.view(); v.version != before.version || v.row.Threads != 5 {
		t.Errorf("version %d with %d threads, want %d with 5", v.version, v.row.Threads, before.version)
	}
	select {
	case <-wake:
	default:
		t.Error("nobody is woken")
	}
	f.publish(flight.Process{})
	if v := f.view(); v.version != before.version+1 {
		t.Errorf("version %d, want %d", v.version, before.version+1)
	}
}
