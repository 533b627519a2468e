package flight

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// deadCopy returns a reader of the recorder's file as it would be if the process had died now.
func deadCopy(t *testing.T, r *Recorder) *Reader {
	t.Helper()
	content, err := os.ReadFile(r.Path())
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), filepath.Base(r.Path()))
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	rd, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { rd.Close() })
	if got := rd.Process().Status; got == StatusRunning {
		t.Skipf("a copy of the file has status %v: this system has no locks of open files", got)
	}
	return rd
}

func TestHalfWrittenRecordOfADeadProcessIsShown(t *testing.T) {
	r := newTest(t)
	const whole, parking, made, madeAgain = 1, 2, 3, 4
	var records [5]*Record
	for id := ThreadID(1); id <= 4; id++ {
		rec := r.GetRecord()
		rec.Init(StateNew, id, 0, 0, 0, 0, 1)
		rec.Mounted(2, 1)
		records[id] = rec
	}
	beginWrite(&records[parking].ver) // and the state, which is the first word
	put32(&records[parking].word, uint32(StateParked)|uint32(ReasonPark)<<8)
	records[made].End(3)
	beginWrite(&records[made].ver)
	put32(&records[made].word, uint32(StateNew))
	put64(&records[made].id, 5) // its other half still has the id of before
	records[madeAgain].End(3)
	beginWrite(&records[madeAgain].ver)
	put32(&records[madeAgain].word, uint32(StateNew))
	got := map[ThreadID]ThreadRow{}
	torn, err := deadCopy(t, r).Threads(context.Background(), func(rows []ThreadRow) {
		for _, row := range rows {
			got[row.ID] = row
		}
	})
	if err != nil || torn != 2 || len(got) != 2 {
		t.Errorf("got rows %+v, %d torn, error %v; want threads %d and %d, 2 torn", got, torn, err, whole, parking)
	}
	if row := got[whole]; row.State != StateMounted || row.Torn {
		t.Errorf("got %+v, want mounted and whole", row)
	}
	if row := got[parking]; row.State != StateParked || row.Reason != ReasonPark || !row.Torn {
		t.Errorf("got %+v, want parked and torn", row)
	}
	torn, err = openFile(t, r).Threads(context.Background(), func([]ThreadRow) {})
	if err != nil || torn != 3 {
		t.Errorf("of the live process: got %d torn, error %v; want 3", torn, err)
	}
}

func TestNobodyWaitsForARecordOfADeadProcess(t *testing.T) {
	r := newTest(t)
	rec := r.GetRecord()
	rec.Init(StateNew, 1, 0, 0, 0, 0, 1)
	beginWrite(&rec.ver)
	rd := deadCopy(t, r)
	row, found, err := rd.FindThread(1)
	if !found || err != nil {
		t.Fatalf("got thread %+v, error %v", row, err)
	}
	offset, _ := rd.locate(segmentThread, row.Index, threadsPerSegment, recordSize)
	still := newPatience()
	if rd.copyStill(make([]byte, recordSize), offset, still) {
		t.Error("the record is half written: got a copy")
	}
	if want := newPatience().slow; still.slow != want {
		t.Errorf("it paused %d times, want none", want-still.slow)
	}
}

func TestClockOfAProcessThatDiedYoungIsRightOnItsMachine(t *testing.T) {
	if clockKind == ClockMonotonic {
		t.Skip("the clock of this machine counts nanoseconds: it has no rate")
	}
	id := selfIdentity().bootID
	if id == [16]byte{} {
		t.Skip("this system does not name its boots")
	}
	b := readAnchor()
	// It lived for 6 ms, of which it lost 5 between the two readings of its first anchor.
	a := anchor{Ticks: b.Ticks - uint64(durationToTicks(6*time.Millisecond)), Mono: b.Mono - int64(time.Millisecond), Real: b.Real}
	for nanotime()-b.Mono < int64(3*time.Millisecond) {
	}
	for name, h := range map[string]fileHeader{
		"whole": {ClockKind: uint32(clockKind), BootID: id, Anchors: [2]anchor{a, b}},
		"died while it wrote its newest anchor": {ClockKind: uint32(clockKind), BootID: id, AnchorSeq: 1,
			Anchors: [2]anchor{b, {Ticks: b.Ticks + 1e6, Mono: b.Mono}}},
	} {
		c := newTickClock(&h)
		later := Ticks(b.Ticks) + Ticks(durationToTicks(time.Second))
		if got := c.between(Ticks(b.Ticks), later); (got - time.Second).Abs() > 10*time.Millisecond {
			t.Errorf("%s: got %v for a second", name, got)
		}
		if c.at != b {
			t.Errorf("%s: got anchor %+v, want %+v", name, c.at, b)
		}
		h.BootID[0]++ // of another machine: what the file says must do
		if got, want := newTickClock(&h).perTick, 1.0/6*nsPerTick(); name == "whole" && math.Abs(got/want-1) > 0.01 {
			t.Errorf("another machine: got %v ns a tick, want the file's %v", got, want)
		}
	}
}
