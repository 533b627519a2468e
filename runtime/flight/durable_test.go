package flight

import (
	"runtime"
	"strings"
	"testing"
	"time"
)

var (
	durableSince = time.Date(2026, 11, 22, 9, 30, 0, 7, time.UTC)
	durableUntil = durableSince.Add(48 * time.Hour)
)

// recordDurable writes the durable threads of the golden recording.
func recordDurable(r *Recorder) {
	waits := r.OpenDurable("order-4711", "checkout")
	waits.Is(7, false)
	waits.Learned(214, 2)
	waits.Waits(DurableSignal, "approved", 0, durableSince, durableUntil)
	r.CountDurable(DurableSteps, 214)
	r.CountReplay(100, 3*time.Millisecond)
	gone := r.OpenDurable("gone", "checkout")
	gone.Is(8, false)
	r.CloseDurable(gone)
}

func checkDurable(t *testing.T, r *Reader) {
	t.Helper()
	rows, err := r.Durables()
	if err != nil || len(rows) != 1 {
		t.Fatalf("got %+v, %v; want one durable thread", rows, err)
	}
	d := rows[0]
	if !d.Since.Equal(durableSince) || !d.Until.Equal(durableUntil) {
		t.Errorf("got from %v to %v, want from %v to %v", d.Since, d.Until, durableSince, durableUntil)
	}
	d.Since, d.Until = time.Time{}, time.Time{}
	if want := (DurableRow{Thread: 7, ID: "order-4711", Body: "checkout", Steps: 214, Errors: 2, Wait: DurableSignal, Name: "approved", Blocker: DurableSignal.Blocker("approved")}); d != want {
		t.Errorf("got %+v, want %+v", d, want)
	}
	blockers, err := r.Blockers()
	if err != nil {
		t.Error(err)
	}
	named := ""
	for _, b := range blockers {
		if b.Blocker == d.Blocker {
			named += b.Name
		}
	}
	if named != "approved" {
		t.Errorf("its blocker is called %q, want approved", named)
	}
	totals, ok, err := r.DurableTotals()
	if err != nil || !ok || totals.Counts[DurableSteps] != 214 || totals.Counts[DurableReplays] != 1 || totals.Counts[DurableReplayed] != 100 ||
		totals.Counts[DurableReplayTime] != uint64(3*time.Millisecond) || totals.Replay[BucketOf(3*time.Millisecond)] != 1 {
		t.Errorf("got %+v, %v, %v", totals, ok, err)
	}
}

func TestDurableThreadsAreDescribedBesideTheirThreads(t *testing.T) {
	r := newTest(t)
	recordDurable(r)
	checkDurable(t, openFile(t, r))
}

func TestOldRecordingsHaveNoDurableThreads(t *testing.T) {
	r, err := Open(unpacked(t, programGolden))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	rows, err := r.Durables()
	_, ok, err2 := r.DurableTotals()
	if len(rows) != 0 || err != nil || ok || err2 != nil {
		t.Errorf("got %+v, %v, %v, %v; want nothing", rows, err, ok, err2)
	}
	now, err := Open(golden(t))
	if err != nil {
		t.Fatal(err)
	}
	defer now.Close()
	checkDurable(t, now)
}

func TestADurableThreadSaysWhatItDoesNow(t *testing.T) {
	r := newTest(t)
	rec := r.OpenDurable(strings.Repeat("ü", 100), "b")
	row := func() DurableRow {
		t.Helper()
		rows, err := openFile(t, r).Durables()
		if err != nil || len(rows) != 1 {
			t.Fatalf("got %+v, %v", rows, err)
		}
		return rows[0]
	}
	if rows, err := openFile(t, r).Durables(); len(rows) != 0 || err != nil {
		t.Errorf("before it is a thread: got %+v, %v", rows, err)
	}
	rec.Is(3, true)
	if d := row(); d.Thread != 3 || !d.Replays || d.Wait != DurableRuns || d.ID != strings.Repeat("ü", 60)+"…" {
		t.Errorf("got %+v", d)
	}
	rec.Replayed()
	rec.Waits(DurableCall, strings.Repeat("n", 200), 0, durableSince, time.Time{})
	if d := row(); d.Replays || d.Wait != DurableCall || d.Name != strings.Repeat("n", 80)+"…" || d.Blocker != 0 || !d.Until.IsZero() {
		t.Errorf("got %+v", d)
	}
	rec.Waits(DurableChild, "o/2", 2, durableSince, time.Time{})
	if d := row(); d.Child != 2 || d.Name != "o/2" || d.Blocker.Kind() != BlockedByChild {
		t.Errorf("got %+v", d)
	}
	rec.Goes()
	if d := row(); d.Wait != DurableRuns || d.Name != "" || !d.Since.IsZero() {
		t.Errorf("got %+v", d)
	}
	rec.Is(4, false) // in another thread
	if d := row(); d.Thread != 4 || d.ID == "" {
		t.Errorf("got %+v", d)
	}
}

func TestAProgramWithoutDurableThreadsPaysNothingForThem(t *testing.T) {
	r := newTest(t)
	rec := r.GetRecord()
	rec.Init(StateNew, 1, 0, 0, 0, 0, Now())
	f := openFile(t, r)
	for _, k := range []segmentKind{segmentDurable, segmentDurableTotals} {
		if s, err := f.segmentsOf(k); len(s) != 0 || err != nil {
			t.Errorf("got %d segments of %s, %v; want none", len(s), k, err)
		}
	}
	var none *DurableRecord // of a recorder that is off
	var off *Recorder
	if n := testing.AllocsPerRun(100, func() {
		none.Is(1, true)
		none.Learned(1, 0)
		none.Waits(DurableSignal, "s", 0, durableSince, durableUntil)
		none.Goes()
		none.Replayed()
		off.CountDurable(DurableSteps, 1)
		off.CloseDurable(off.OpenDurable("id", "body"))
	}); n != 0 {
		t.Errorf("a recorder that is off: got %v allocations, want 0", n)
	}
	d := r.OpenDurable("id", "body")
	d.Is(1, false)
	r.CountDurable(DurableSteps, 1)
	if n := testing.AllocsPerRun(100, func() {
		d.Learned(1, 0)
		d.Waits(DurableSignal, "s", 0, durableSince, durableUntil)
		d.Goes()
		r.CountDurable(DurableSteps, 1)
		r.CountReplay(1, time.Second)
	}); n != 0 {
		t.Errorf("a step: got %v allocations, want 0", n)
	}
	runtime.KeepAlive(rec)
}

func TestALeaseThatMovesIsCountedAndTold(t *testing.T) {
	r := newTest(t)
	r.LeaseMoved(LeaseMove{Thread: "order-1", Body: "checkout", From: "a", To: "b"})
	f := openFile(t, r)
	totals, ok, err := f.DurableTotals()
	if !ok || err != nil || totals.Counts[DurableLeases] != 1 {
		t.Errorf("got %+v, %v, %v", totals, ok, err)
	}
	counts, err := f.Counts()
	if err != nil || counts.Kinds[EventDurableLease] != 1 {
		t.Errorf("got %d events, %v; want 1", counts.Kinds[EventDurableLease], err)
	}
	var off *Recorder
	off.LeaseMoved(LeaseMove{})
}

func TestDurableThreadsBeyondTheTableAreCounted(t *testing.T) {
	r := newTest(t)
	r.durables.mu.segments = maxDurableSegments
	if rec := r.OpenDurable("id", "body"); rec != nil {
		t.Errorf("got %+v, want nil", rec)
	}
	if l := openFile(t, r).Lost(); l.Durables != 1 {
		t.Errorf("got %+v, want one", l)
	}
}
