package flight

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func countThreads(t *testing.T, r *Reader) int {
	t.Helper()
	n := 0
	torn, err := r.Threads(context.Background(), func(rows []ThreadRow) { n += len(rows) })
	if err != nil || torn != 0 {
		t.Fatalf("%d torn, error %v", torn, err)
	}
	return n
}

func TestHotPathsDoNotAllocate(t *testing.T) {
	r := newTest(t)
	g := r.AcquireRing(1, 0, 1024)
	rec := r.GetRecord()
	scope := r.OpenScope(1, "requests", 0, 0, 0, 1)
	r.CloseScope(scope)
	r.SetName(rec, "a name")
	var cache RecordCache
	cache.Put(r, cache.Get(r))
	for name, f := range map[string]func(){
		"Now":       func() { Now() },
		"Ring.Emit": func() { g.Emit(1, EventPark, ReasonPark, 1, 2, 3) },
		"Emit":      func() { r.Emit(1, EventPark, ReasonPark, 1, 2, 3) },
		"Init":      func() { rec.Init(StateNew, 1, 0, 0, 0, 0, 1) },
		"Goroutine": func() { rec.Goroutine(1) },
		"Mounted":   func() { rec.Mounted(1, 2) },
		"Parked":    func() { rec.Parked(1, StateParked, ReasonPark, 1, BlockThread(1)) },
		"Runnable":  func() { rec.Runnable(1, 2) },
		"Pinned":    func() { rec.Pinned(1, ReasonPinnedGo, 1, 0) },
		"Resumed":   func() { rec.Resumed(1) },
		"Yielded":   func() { rec.Yielded(1) },
		"End":       func() { rec.End(1) },
		"Stack":     func() { r.Stack(0) },
		"Cache":     func() { cache.Put(r, cache.Get(r)) },
		"GetRecord": func() { r.PutRecord(r.GetRecord()) },
		"OpenScope": func() { r.CloseScope(r.OpenScope(1, "requests", 0, 0, 0, 1)) },
		"SetName":   func() { r.SetName(rec, "another name") },
	} {
		if n := testing.AllocsPerRun(1000, f); n != 0 {
			t.Errorf("%s: got %v allocations, want 0", name, n)
		}
	}
}

func TestEverythingAcceptsNil(t *testing.T) {
	var (
		r     *Recorder
		g     *Ring
		rec   *Record
		cache RecordCache
	)
	g = r.AcquireRing(1, 0, 10)
	g.Emit(1, EventPark, 0, 0, 0, 0)
	g.SetCarrier(CarrierIdle)
	g.Release()
	r.Emit(1, EventPark, 0, 0, 0, 0)
	if rec = cache.Get(r); rec != nil {
		t.Errorf("got a record, want nil")
	}
	rec.Init(StateNew, 1, 0, 0, 0, 0, 1)
	rec.Goroutine(1)
	rec.Mounted(1, 1)
	rec.Parked(1, StateParked, 0, 0, 0)
	rec.Runnable(1, 1)
	rec.Pinned(1, 0, 0, 0)
	rec.Resumed(1)
	rec.Yielded(1)
	rec.End(1)
	cache.Put(r, rec)
	cache.Flush(r)
	r.PutRecord(r.GetRecord())
	r.SetName(rec, "x")
	r.CloseScope(r.OpenScope(1, "x", 0, 0, 0, 1))
	r.SetScopeState(1, ScopeJoining)
	r.DescribeScope(1, "x", 1)
	r.SetScopeQueued(1, 1)
	if r.Stack(0) != 0 || r.Intern("x") != 0 || r.AddStack([]Frame{{Func: "f"}}) != 0 || r.Path() != "" || r.Close() != nil {
		t.Error("want zero values of all")
	}
	if _, err := r.Reader(); err == nil {
		t.Error("got a reader of no recorder")
	}
}

func TestPrivateRecorderIsReadInTheProcess(t *testing.T) {
	r, err := New(Options{Mode: ModePrivate, Warn: func(s string) { t.Error("warns: ", s) }})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	recordGolden(r)
	rd, err := r.Reader()
	if err != nil {
		t.Fatal(err)
	}
	if n := countThreads(t, rd); n != goldenThreads {
		t.Errorf("got %d threads, want %d", n, goldenThreads)
	}
	if p := rd.Process(); p.Status != StatusRunning || p.Threads != goldenThreads || r.Path() != "" {
		t.Errorf("got %+v, path %q; want it running, without a path", p, r.Path())
	}
	if err := exerciseReader(rd); err != nil {
		t.Error(err)
	}
}

func TestAScopesPolicyAndLimitsComeBack(t *testing.T) {
	r := newTest(t)
	first := r.OpenScope(1, "first", 0, 0, 77, 1)
	r.DescribeScope(first, "All", 64)
	r.SetScopeQueued(first, 900)
	r.DescribeScope(0, "root", 1) // which never changes
	r.SetScopeQueued(0, 1)
	look := func(want ScopeRow) {
		t.Helper()
		reader, err := r.Reader()
		if err != nil {
			t.Fatal(err)
		}
		defer reader.Close()
		rows, err := reader.Scopes()
		if err != nil || len(rows) != 2 || rows[0].Limit != 0 || rows[0].Queued != 0 || rows[0].Policy != "" {
			t.Fatalf("got %+v, %v", rows, err)
		}
		if got := rows[1]; got.Policy != want.Policy || got.Limit != want.Limit || got.Queued != want.Queued || got.Deadline != want.Deadline {
			t.Errorf("got %+v, want %+v", got, want)
		}
	}
	look(ScopeRow{Policy: "All", Limit: 64, Queued: 900, Deadline: 77})
	r.CloseScope(first)
	r.OpenScope(2, "second", 0, 0, 0, 1) // in the same record
	look(ScopeRow{})
}

func TestBadOptionsAreErrors(t *testing.T) {
	for _, o := range []Options{{Mode: 7}, {MaxThreads: -1}, {MaxThreads: maxThreads + 1}} {
		if r, err := New(o); err == nil {
			r.Close()
			t.Errorf("%+v: got no error", o)
		}
	}
	if r, err := New(Options{Mode: ModeOff}); r != nil || err != nil {
		t.Errorf("off: got %v, %v; want nil, nil", r, err)
	}
}

func TestThreadsBeyondTheLimitAreCounted(t *testing.T) {
	const limit = 20_000
	var warned []string
	r, err := New(Options{Dir: tmpfsDir(t), MaxThreads: limit, Warn: func(s string) { warned = append(warned, s) }})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var recs []*Record
	for i := range limit + 100 {
		rec := r.GetRecord()
		rec.Init(StateNew, ThreadID(i+1), 0, 0, 0, 0, 1)
		if rec != nil {
			recs = append(recs, rec)
		}
	}
	rd := openFile(t, r)
	if n := countThreads(t, rd); n != len(recs) || n < limit-stripes*cacheRecords || n > limit {
		t.Errorf("got %d threads of %d recorded, want close to %d", n, len(recs), limit)
	}
	if got := rd.Lost().Threads; got != uint64(limit+100-len(recs)) {
		t.Errorf("got %d lost, want %d", got, limit+100-len(recs))
	}
	if len(warned) != 1 {
		t.Errorf("got warnings %q, want one", warned)
	}
	// Records that come back are used again.
	for _, rec := range recs {
		rec.End(2)
		r.PutRecord(rec)
	}
	if n := countThreads(t, rd); n != 0 {
		t.Errorf("got %d threads after the end of all, want 0", n)
	}
	if r.GetRecord() == nil {
		t.Error("no record after all came back")
	}
}

// Whose goroutine it is decides in which cache records are looked for first. None is left in another while a thread gets none.
func TestEveryRecordIsGivenWhoeverAsks(t *testing.T) {
	const limit = 1000
	r, err := New(Options{Dir: tmpfsDir(t), MaxThreads: limit, Warn: func(string) {}})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	got, turn := 0, make(chan struct{}, 1)
	turn <- struct{}{}
	var all sync.WaitGroup
	for range limit { // all live at the same time, so that their stacks lie everywhere, and ask in turn
		all.Go(func() {
			<-turn
			if r.GetRecord() != nil {
				got++
			}
			turn <- struct{}{}
		})
	}
	all.Wait()
	rd, err := r.Reader()
	if err != nil {
		t.Fatal(err)
	}
	defer rd.Close()
	if lost := rd.Lost().Threads; got != limit || lost != 0 {
		t.Errorf("got %d records and %d threads without, want %d and none", got, lost, limit)
	}
}

func TestRecordsAndScopesAndNamesAreReusedUnderLoad(t *testing.T) {
	r := newTest(t)
	var wg sync.WaitGroup
	var used sync.Map // records
	const goroutines, rounds = 8, 3000
	for g := range goroutines {
		wg.Go(func() {
			var cache RecordCache
			defer cache.Flush(r)
			ring := r.AcquireRing(CarrierID(g), 0, 128)
			defer ring.Release()
			for i := range rounds {
				id := ThreadID(g*rounds + i + 1)
				scope := r.OpenScope(ScopeID(id), "load", 0, 0, 0, Now())
				var rec *Record
				if i%2 == 0 {
					rec = cache.Get(r)
				} else {
					rec = r.GetRecord()
				}
				rec.Init(StateNew, id, scope, 0, 0, 0, Now())
				r.Emit(Now(), EventThreadStart, 0, 0, id, 0)
				used.Store(rec, true)
				if i%3 == 0 {
					r.SetName(rec, fmt.Sprint("thread ", id))
				} else {
					r.SetName(rec, "")
				}
				rec.Mounted(Now(), CarrierID(g))
				ring.Emit(Now(), EventMount, 0, 0, id, 0)
				rec.End(Now())
				r.Emit(Now(), EventThreadEnd, ReasonEnd, 0, id, 0)
				if i%4 < 2 {
					cache.Put(r, rec)
				} else {
					r.PutRecord(rec)
				}
				r.CloseScope(scope)
			}
		})
	}
	rd := openFile(t, r)
	for range 20 {
		if err := exerciseReader(rd); err != nil {
			t.Fatal(err)
		}
	}
	wg.Wait()
	if n := countThreads(t, rd); n != 0 {
		t.Errorf("got %d threads, want 0", n)
	}
	scopes, err := rd.Scopes()
	if err != nil || len(scopes) != 1 {
		t.Errorf("got scopes %+v, error %v; want the root alone", scopes, err)
	}
	if p := rd.Process(); p.Threads != 0 {
		t.Errorf("got %d threads by counts, want 0, dropped events included", p.Threads)
	}
	records, kept := 0, len(r.names.mu.free)
	used.Range(func(rec, _ any) bool {
		if records++; rec.(*Record).hasName() {
			kept++
		}
		return true
	})
	if n := int(r.names.mu.used); n > records || n != kept {
		t.Errorf("%d name slots for %d records, of which %d are free or a record's; want all, and no more than records", n, records, kept)
	}
	if l := rd.Lost(); l.Threads+l.Names+l.Scopes+l.Rings > 0 {
		t.Errorf("lost %+v", l)
	}
}

func TestNames(t *testing.T) {
	r := newTest(t)
	rd := openFile(t, r)
	rec := r.GetRecord()
	rec.Init(StateNew, 7, 0, 0, 0, 0, 1)
	long := "0123456789012345678901234567890123456789012345é789"
	for _, row := range []struct{ set, want string }{
		{"main", "main"},
		{"", ""},
		{"GET /cart", "GET /cart"},
		{long, "0123456789012345678901234567890123456789012345é…"},
		{long[:46] + "6é!!", long[:46] + "6…"},
		{"a\x1b[31mb", "a\ufffd[31mb"},
	} {
		r.SetName(rec, row.set)
		got, found, err := rd.FindThread(7)
		if err != nil || !found || rd.ThreadName(got) != row.want {
			t.Errorf("set %q: got %q, found %v, error %v; want %q", row.set, rd.ThreadName(got), found, err, row.want)
		}
	}
	row, _, _ := rd.FindThread(7)
	rec.End(2)
	r.PutRecord(rec)
	if name := rd.ThreadName(row); name != "" {
		t.Errorf("after the end: got name %q, want none", name)
	}
}

func TestStringsBeyondTheRoomAreCounted(t *testing.T) {
	r := newTest(t)
	big := make([]byte, 4000)
	for i := range big {
		big[i] = 'x'
	}
	n := 0
	for ; n < 2000; n++ {
		if r.Intern(fmt.Sprint(n, string(big))) == 0 {
			break
		}
	}
	rd := openFile(t, r)
	if got := rd.Lost().Strings; n == 2000 || got != 1 {
		t.Errorf("%d strings fit, %d lost; want a limit and 1", n, got)
	}
	if s := waitStack(t, r, r.AddStack([]Frame{{Func: "still.named", File: "f.go"}})); s.Frames[0].Func != "still.named" {
		t.Errorf("got %+v: scope names must not take the room of functions", s.Frames)
	}
	if id := r.Intern("1" + string(big)); rd.String(id) != "1"+string(big) {
		t.Errorf("got another string than was interned")
	}
}

func TestRecorderStartedInABubbleWorksOutsideOfIt(t *testing.T) {
	var r *Recorder
	dir := tmpfsDir(t)
	before := time.Now()
	synctest.Test(t, func(t *testing.T) {
		var err error
		if r, err = New(Options{Dir: dir}); err != nil {
			t.Fatal(err)
		}
		rec := r.GetRecord()
		rec.Init(StateNew, 1, 0, 0, 0, 0, Now())
		r.Stack(0)
		time.Sleep(time.Hour) // false time: no other goroutine of the bubble may be left
	})
	rd := openFile(t, r)
	if at, now := rd.Process().Start, time.Now(); at.Before(before) || at.After(now) {
		t.Errorf("recorder started at %v, want between %v and %v: a false clock", at, before, now)
	}
	synctest.Test(t, func(t *testing.T) {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	if !rd.Header().Ended {
		t.Error("want it ended")
	}
}

func TestWritersGoOnAfterClose(t *testing.T) {
	r := newTest(t)
	rec := r.GetRecord()
	g := r.AcquireRing(1, 0, 64)
	rd := openFile(t, r)
	for range 2 {
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
	}
	rec.Init(StateNew, 1, 0, 0, 0, 0, Now())
	g.Emit(Now(), EventMount, 0, 0, 1, 0)
	r.Stack(0)
	for range 40_000 { // beyond what can still grow
		r.GetRecord().Init(StateNew, 1, 0, 0, 0, 0, Now())
	}
	r.AcquireRing(2, 0, 1<<16).Emit(1, EventMount, 0, 0, 0, 0)
	r.CloseScope(r.OpenScope(1, "late", 0, 0, 0, 1))
	r.SetName(rec, "late")
	if p := rd.Process(); p.Status != StatusEnded {
		t.Errorf("got status %v, want ended", p.Status)
	}
}

func TestClockRunsWithTheKernels(t *testing.T) {
	t.Logf("clock %v, %.6f ns a tick", clockKind, nsPerTick())
	before, a, start := nanotime(), Now(), nanotime()
	for nanotime()-start < int64(20*time.Millisecond) {
	}
	end, got, after := nanotime(), Since(a), nanotime()
	if least, most := time.Duration(end-start), time.Duration(after-before); got < least*99/100 || got > most*101/100+time.Millisecond {
		t.Errorf("got %v, want %v to %v", got, least, most)
	}
	if d := a.Add(time.Second).Sub(a); d < time.Second-time.Microsecond || d > time.Second+time.Microsecond {
		t.Errorf("a second later is %v later", d)
	}
	r := newTest(t)
	rd := openFile(t, r)
	const near = 20 * time.Millisecond // the reader's clock runs by its own measurement
	first, present, last := Now(), rd.Now(), Now()
	if rd.Between(first, present) < -near || rd.Between(present, last) < -near {
		t.Errorf("the reader's present is %v after ours, and %v before what it was afterwards", rd.Between(first, present), rd.Between(present, last))
	}
	earlier, at, later := time.Now(), rd.Time(Now()), time.Now()
	if at.Sub(earlier) < -near || later.Sub(at) < -near {
		t.Errorf("the reader's time is %v, want %v to %v", at, earlier, later)
	}
}

func TestBlockers(t *testing.T) {
	for b, want := range map[Blocker]string{
		0:                     "",
		BlockThread(12):       "thread #12",
		BlockScope(3):         "scope #3",
		BlockLock(0xc0010000): "lock 0xc0010000",
		BlockFile(7):          "file #7",
		BlockSocket(7):        "socket #7",
		MakeBlocker(100, 5):   "unknown(100) 0x5",
	} {
		if got, limited := b.String(), b.Limited().String(); got != want || limited != want {
			t.Errorf("got %q, with a limit %q, want %q", got, limited, want)
		}
	}
}

func TestTablesAreComplete(t *testing.T) {
	for k, row := range Kinds {
		if row.Name == "" || row.About == "" {
			t.Errorf("kind %d: incomplete row %+v", k, row)
		}
	}
	if KindCount > kindSlots {
		t.Errorf("%d kinds, rings count only %d", KindCount, kindSlots)
	}
	for s, row := range States {
		if row.Name == "" || row.About == "" || len(row.Next) == 0 {
			t.Errorf("state %d: incomplete row %+v", s, row)
		}
	}
	for r, row := range Reasons {
		if row.About == "" || row.Name == "" && r != 0 {
			t.Errorf("reason %d: incomplete row %+v", r, row)
		}
	}
}

func TestRingsTellTheirScheduler(t *testing.T) {
	r := newTest(t)
	r.AcquireRing(5, 9, 64)
	if row := ringOfCarrier(t, openFile(t, r), 5); row.Scheduler != 9 {
		t.Errorf("got scheduler %d, want 9", row.Scheduler)
	}
}
