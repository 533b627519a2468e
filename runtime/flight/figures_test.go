package flight

import (
	"errors"
	"math"
	"testing"
	"time"
)

// recordFigures writes schedulers and places of pins for the golden recording.
func recordFigures(r *Recorder, stack StackID) {
	s := r.OpenScheduler(1, "default", Now())
	var figures [FigureCount]uint64
	for i := range figures {
		figures[i] = uint64(1000 + i)
	}
	var ready, slice Histogram
	ready[BucketOf(time.Millisecond)] = 61
	slice[BucketOf(time.Microsecond)] = 122
	s.Write(Now(), &figures, &ready, &slice, new(Histogram))
	r.OpenScheduler(2, "gone", Now()).Close()
	r.CountPin(stack, ReasonPinnedGo, 3*time.Millisecond, 2, Now())
	r.CountPin(stack, ReasonPinnedGo, 5*time.Millisecond, 1, Now())
	r.CountPin(stack, ReasonPinnedSection, time.Millisecond, 0, Now())
}

func TestFiguresOfTheGoldenRecordings(t *testing.T) {
	old, err := Open(unpacked(t, oldGolden))
	if err != nil {
		t.Fatal(err)
	}
	defer old.Close()
	schedulers, err := old.Schedulers()
	sites, err2 := old.PinSites()
	if len(schedulers) != 0 || len(sites) != 0 || err != nil || err2 != nil {
		t.Errorf("before they were recorded: got %v, %v, %v, %v; want nothing", schedulers, sites, err, err2)
	}
	for _, path := range []string{unpacked(t, figuresGolden), unpacked(t, blockerGolden), golden(t)} {
		r, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		checkFigures(t, r)
	}
}

func checkFigures(t *testing.T, r *Reader) {
	t.Helper()
	schedulers, err := r.Schedulers()
	if err != nil || len(schedulers) != 1 {
		t.Fatalf("got %+v, %v; want one scheduler", schedulers, err)
	}
	s := schedulers[0]
	if s.ID != 1 || s.Name != "default" || s.Written < s.Began || s.Figures[FigureSteals] != 1000+uint64(FigureSteals) {
		t.Errorf("got %+v", s)
	}
	if s.Ready.Total() != 61 || s.Slice.Quantile(0.5) != 1024*time.Nanosecond {
		t.Errorf("got delays %v, slices %v", s.Ready, s.Slice)
	}
	sites, err := r.PinSites()
	if err != nil || len(sites) != 2 {
		t.Fatalf("got %+v, %v; want two places", sites, err)
	}
	if p := sites[0]; p.Reason != ReasonPinnedGo || p.Count != 2 || p.Total != 8*time.Millisecond || p.Longest != 5*time.Millisecond || p.Victims != 3 || p.Last == 0 {
		t.Errorf("got %+v", p)
	}
	if st, err := r.Stack(sites[1].Stack); err != nil || len(st.Frames) != 3 {
		t.Errorf("got stack %+v, %v", st, err)
	}
}

func TestARecorderOfThisProcessTellsFigures(t *testing.T) {
	r := newTest(t)
	recordFigures(r, r.AddStack([]Frame{{Func: "a"}, {Func: "b"}, {Func: "c"}}))
	checkFigures(t, openFile(t, r))
	again := r.OpenScheduler(3, "again", Now()) // in the place of the one that is gone
	rows, err := openFile(t, r).Schedulers()
	if err != nil || len(rows) != 2 || rows[1].ID != 3 || rows[1].Figures != [FigureCount]uint64{} {
		t.Errorf("got %+v, %v", rows, err)
	}
	again.Close()
	var off *Recorder
	off.OpenScheduler(1, "x", 0).Write(0, new([FigureCount]uint64), new(Histogram), new(Histogram), new(Histogram))
	off.OpenScheduler(1, "x", 0).Close()
	off.CountPin(0, 0, 0, 0, 0)
}

func TestPlacesOfPinsThatFindNoRoomAreCountedTogether(t *testing.T) {
	r := newTest(t)
	const places = maxPinSiteSegments*pinSitesPerSegment + 10
	for i := range places {
		r.CountPin(StackID(i+1), ReasonPinnedGo, time.Millisecond, 0, Now())
	}
	rows, err := openFile(t, r).PinSites()
	var sum, rest uint64
	for _, p := range rows {
		sum += p.Count
		if p.Stack == 0 {
			rest += p.Count
		}
	}
	if sum != places || rest != 11 || err != nil { // one record is the rest's
		t.Errorf("got %d pins, %d of them without a place, %v; want %d and 11", sum, rest, err, places)
	}
}

func TestManySchedulersHaveRecords(t *testing.T) {
	r := newTest(t)
	var all []*SchedulerRecord
	for i := range 2*schedulersPerSegment + 1 {
		all = append(all, r.OpenScheduler(SchedulerID(i+1), "many", Now()))
	}
	rows, err := openFile(t, r).Schedulers()
	if err != nil || len(rows) != len(all) || rows[len(all)-1].ID != SchedulerID(len(all)) {
		t.Errorf("got %d schedulers, %v; want %d", len(rows), err, len(all))
	}
	for _, s := range all {
		s.Close()
	}
	if rows, err := openFile(t, r).Schedulers(); len(rows) != 0 || err != nil {
		t.Errorf("after all were closed: got %v, %v", rows, err)
	}
}

func TestASchedulerOfNoKnownStateIsIncomplete(t *testing.T) {
	r := newTest(t)
	s := r.OpenScheduler(1, "x", Now())
	s.rec.State = uint32(SchedulerStateCount)
	if rows, err := openFile(t, r).Schedulers(); len(rows) != 0 || !errors.Is(err, ErrIncomplete) {
		t.Errorf("got %v, %v; want ErrIncomplete", rows, err)
	}
}

func TestBucketsFollowEachOther(t *testing.T) {
	if BucketOf(-1) != 0 || BucketOf(math.MaxInt64) != HistogramBuckets-1 {
		t.Errorf("got buckets %d and %d for the least and the greatest", BucketOf(-1), BucketOf(math.MaxInt64))
	}
	for i := range HistogramBuckets - 1 {
		end := BucketEnd(i)
		if BucketOf(end-1) != i || BucketOf(end) != i+1 {
			t.Errorf("bucket %d ends at %v: what is before is in %d, what follows in %d", i, end, BucketOf(end-1), BucketOf(end))
		}
	}
}

func TestAQuantileIsNotTooShort(t *testing.T) {
	var h Histogram
	if h.Quantile(0.5) != 0 {
		t.Errorf("of nothing: got %v", h.Quantile(0.5))
	}
	for i := range 1000 {
		h[BucketOf(time.Duration(i)*time.Microsecond)]++
	}
	for _, q := range []float64{0, 0.5, 0.9, 0.99, 1} {
		exact := time.Duration(q*999) * time.Microsecond
		if got := h.Quantile(q); got < exact || got > exact*3/2+200 {
			t.Errorf("quantile %v: got %v, want %v or up to half more", q, got, exact)
		}
	}
	var sum Histogram
	sum.Add(&h)
	sum.Add(&h)
	if sum.Total() != 2000 || sum.Above(time.Millisecond) != 0 || h.Above(0) != 999 {
		t.Errorf("got %d, %d above, %d above 0", sum.Total(), sum.Above(time.Millisecond), h.Above(0))
	}
}

func TestAHeldWordHoldsBoth(t *testing.T) {
	for _, c := range []struct {
		d       time.Duration
		victims uint64
		want    Held
		text    string
	}{
		{12500 * time.Microsecond, 0, 12500000, "12.5ms"},
		{time.Second, 3, 3<<48 | 1_000_000_000, "1s, 3 waited"},
		{-1, 0, 0, "0s"},
		{1 << 50, 1 << 20, math.MaxUint64, "78h11m14.976710655s, 65535 or more waited"},
	} {
		h := MakeHeld(c.d, c.victims)
		if h != c.want || h.String() != c.text {
			t.Errorf("%v, %d: got %#x %q, want %#x %q", c.d, c.victims, uint64(h), h, uint64(c.want), c.text)
		}
	}
	if h := Held(7 * time.Millisecond); h.Duration() != 7*time.Millisecond || h.Victims() != 0 {
		t.Errorf("a word of before there were victims: got %v, %d", h.Duration(), h.Victims())
	}
}

func TestTablesAreWhole(t *testing.T) {
	for f := range FigureCount {
		if i := Figures[f]; i.Name == "" || i.About == "" || i.Unit != FieldCount && i.Unit != FieldDuration {
			t.Errorf("figure %d: got %+v", f, i)
		}
	}
	if FigureCount > figureSlots {
		t.Errorf("%d figures, room for %d", FigureCount, figureSlots)
	}
	for u := FieldUnused + 1; u < FieldUseCount; u++ {
		i, v := FieldUses[u], uint64(BlockThread(5))
		if u == FieldReason {
			v = uint64(ReasonPark)
		}
		if i.Name == "" || i.Type == "" || (i.Text(v) == "") != (u == FieldText) {
			t.Errorf("use %d: got %q, %q, %q", u, i.Name, i.Type, i.Text(v))
		}
	}
}

func TestAThreadsSchedulerComesBack(t *testing.T) {
	r := newTest(t)
	rec := r.GetRecord()
	rec.Init(StateRunnable, 7, 0, 0, 0, RecordOnGoroutine.With(300), Now())
	check := func(want SchedulerID) {
		t.Helper()
		row, ok, err := openFile(t, r).FindThread(7)
		if !ok || err != nil || row.Scheduler != want || row.Flags != RecordOnGoroutine {
			t.Errorf("got scheduler %d, flags %d, %v; want %d, %d", row.Scheduler, row.Flags, err, want, RecordOnGoroutine)
		}
	}
	check(300)
	rec.Moved(65535)
	check(65535)
}

func TestCountsHoldWhatRingsForgot(t *testing.T) {
	r := newTest(t)
	g := r.AcquireRing(0, 1, 16)
	for range 100 {
		g.Emit(Now(), EventMount, 0, 0, 1, 0)
		g.Emit(Now(), EventPark, ReasonSleep, 0, 1, 0)
	}
	g.Emit(Now(), EventPark, ReasonLock, 0, 1, 0)
	c, err := openFile(t, r).Counts()
	if err != nil || c.Kinds[EventMount] != 100 || c.Kinds[EventPark] != 101 || c.Parks[ReasonSleep] != 100 || c.Parks[ReasonLock] != 1 {
		t.Errorf("got %+v, %v; want 100 mounts, 101 parks, 100 of them sleeps", c, err)
	}
}

func TestPinsAreReadAsTheyWereTold(t *testing.T) {
	r := newTest(t)
	rec := r.OpenScheduler(1, "default", Now())
	var pinned, want Histogram
	for i := range pinned {
		pinned[i] = uint64(i + 1)
		want[max(i, pinnedFirst)] += uint64(i + 1)
	}
	rec.Write(Now(), new([FigureCount]uint64), new(Histogram), new(Histogram), &pinned)
	reader, err := r.Reader()
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	rows, err := reader.Schedulers()
	if err != nil || len(rows) != 1 {
		t.Fatalf("got %+v, %v; want one scheduler", rows, err)
	}
	if rows[0].Pinned != want || rows[0].Slice != (Histogram{}) {
		t.Errorf("got %v, slices %v; want %v and none", rows[0].Pinned, rows[0].Slice, want)
	}
}
