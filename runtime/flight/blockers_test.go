package flight

import (
	"errors"
	"net/netip"
	"slices"
	"testing"
	"time"
)

// recordBlockers writes blockers and waits of goroutines for the golden recording.
func recordBlockers(r *Recorder, stack StackID) {
	db := r.OpenBlocker(BlockerSpec{Blocker: BlockAt(BlockedBySemaphore, 0xc0020000), Name: "db", Made: stack, Capacity: 64}, Now())
	db.SetHolders(64, Holder{PartyThread(3), Now()}, Holder{}, Holder{PartyGoroutine(0xc0003000), Now()})
	db.Count(-2, 4021)
	lock := r.OpenBlocker(BlockerSpec{Blocker: BlockAt(BlockedByMutex, 0xc0010000)}, Now())
	lock.HeldBy(PartyThread(1), Now())
	r.CloseBlocker(r.OpenBlocker(BlockerSpec{Blocker: BlockAt(BlockedByLatch, 0xc0030000), Name: "gone"}, Now()))
	r.OpenWait(WaitSpec{Party: PartyGoroutine(0xc0003000), State: StateBlocked, Reason: ReasonLock, Stack: stack, Blocker: BlockAt(BlockedByMutex, 0xc0010000)}, Now())
	r.CloseWait(r.OpenWait(WaitSpec{Party: PartyGoroutine(0xc0004000), State: StateWaiting, Until: Now()}, Now()))
}

func TestBlockersOfTheGoldenRecordings(t *testing.T) {
	old, err := Open(unpacked(t, figuresGolden))
	if err != nil {
		t.Fatal(err)
	}
	defer old.Close()
	blockers, err := old.Blockers()
	waits, err2 := old.Waits()
	if len(blockers) != 0 || len(waits) != 0 || err != nil || err2 != nil {
		t.Errorf("before they were recorded: got %v, %v, %v, %v; want nothing", blockers, waits, err, err2)
	}
	for _, path := range []string{unpacked(t, blockerGolden), unpacked(t, programGolden), golden(t)} {
		r, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		checkBlockers(t, r)
	}
}

func checkBlockers(t *testing.T, r *Reader) {
	t.Helper()
	rows, err := r.Blockers()
	rows = slices.DeleteFunc(rows, func(b BlockerRow) bool { return b.Blocker.Kind() == BlockedBySignal }) // of a durable thread
	if err != nil || len(rows) != 2 {
		t.Fatalf("got %+v, %v; want two blockers", rows, err)
	}
	lock, db := &rows[0], &rows[1]
	if h := lock.Known(); lock.Blocker.String() != "mutex 0xc0010000" || lock.Held != 1 || len(h) != 1 || h[0].Party.Thread() != 1 || h[0].Since == 0 || lock.Since == 0 {
		t.Errorf("got %+v", lock)
	}
	if db.Name != "db" || db.Capacity != 64 || db.Available != -2 || db.Waiters != 4021 || db.Held != 64 {
		t.Errorf("got %+v", db)
	}
	if h := db.Known(); len(h) != 2 || h[0].Party.String() != "#3" || h[1].Party.String() != "goroutine 3221237760" || h[1].Party.Thread() != 0 {
		t.Errorf("got holders %v", h)
	}
	if st, err := r.Stack(db.Made); err != nil || len(st.Frames) != 3 {
		t.Errorf("got stack %+v, %v", st, err)
	}
	waits, err := r.Waits()
	if err != nil || len(waits) != 1 {
		t.Fatalf("got %+v, %v; want one goroutine", waits, err)
	}
	if w := waits[0]; w.Party.Goroutine() != 0xc0003000 || w.State != StateBlocked || w.Reason != ReasonLock || w.Blocker != lock.Blocker || w.Stack != db.Made || w.Until != 0 || w.Since == 0 {
		t.Errorf("got %+v", w)
	}
}

func TestARecorderOfThisProcessTellsBlockers(t *testing.T) {
	r := newTest(t)
	recordBlockers(r, r.AddStack([]Frame{{Func: "a"}, {Func: "b"}, {Func: "c"}}))
	checkBlockers(t, openFile(t, r))
	again := r.OpenBlocker(BlockerSpec{Blocker: BlockAt(BlockedByQueue, 0x1000)}, Now()) // in the place of the one that is gone
	rows, err := openFile(t, r).Blockers()
	if err != nil || len(rows) != 3 || rows[2].Held != 0 || rows[2].Name != "" || len(rows[2].Known()) != 0 || rows[2].Capacity != 0 {
		t.Errorf("got %+v, %v", rows, err)
	}
	r.CloseBlocker(again)
	var off *Recorder
	none := off.OpenBlocker(BlockerSpec{Name: "x"}, 0)
	none.HeldBy(1, 0)
	none.SetHolders(2, Holder{Party: 1})
	none.Count(1, 1)
	off.CloseBlocker(none)
	r.CloseBlocker(none)
	off.CloseWait(off.OpenWait(WaitSpec{}, 0))
	r.CloseWait(nil)
}

func TestFormerHoldersAreForgotten(t *testing.T) {
	r := newTest(t)
	b := r.OpenBlocker(BlockerSpec{Blocker: BlockAt(BlockedByRWMutex, 0x1000)}, Now())
	many := make([]Holder, HoldersKept+3)
	for i := range many {
		many[i].Party = PartyThread(ThreadID(i + 1))
	}
	for _, c := range []struct {
		tell        func()
		total, kept int
	}{
		{func() { b.SetHolders(len(many), many...) }, len(many), HoldersKept},
		{func() { b.HeldBy(PartyThread(9), Now()) }, 1, 1},
		{func() { b.SetHolders(2, Holder{Party: PartyThread(4)}) }, 2, 1},
		{func() { b.HeldBy(0, Now()) }, 1, 0},
		{func() { b.SetHolders(0) }, 0, 0},
	} {
		c.tell()
		rows, err := openFile(t, r).Blockers()
		if err != nil || len(rows) != 1 || int(rows[0].Held) != c.total || len(rows[0].Known()) != c.kept {
			t.Errorf("got %+v, %v; want %d holders, %d known", rows, err, c.total, c.kept)
		}
	}
}

func TestBlockersThatFindNoRoomAreCounted(t *testing.T) {
	r := newTest(t)
	const room = maxBlockerSegments * blockersPerSegment
	var last *BlockerRecord
	for i := range room {
		if last = r.OpenBlocker(BlockerSpec{Blocker: BlockAt(BlockedByFuture, uintptr(i+1))}, Now()); last == nil {
			t.Fatalf("no room for blocker %d of %d", i+1, room)
		}
	}
	for range 3 {
		if r.OpenBlocker(BlockerSpec{Blocker: BlockAt(BlockedByFuture, 1)}, Now()) != nil {
			t.Fatal("got a record beyond the last")
		}
	}
	for i := range maxWaitSegments*waitsPerSegment + 2 {
		r.OpenWait(WaitSpec{Party: PartyGoroutine(uintptr(i + 1)), State: StateBlocked}, Now())
	}
	f := openFile(t, r)
	rows, err := f.Blockers()
	waits, err2 := f.Waits()
	lost := f.Lost()
	if len(rows) != room || len(waits) != maxWaitSegments*waitsPerSegment || err != nil || err2 != nil || lost.Blockers != 3 || lost.Waits != 2 {
		t.Errorf("got %d and %d rows, %v, %v, %d and %d lost; want %d and %d rows, 3 and 2 lost",
			len(rows), len(waits), err, err2, lost.Blockers, lost.Waits, room, maxWaitSegments*waitsPerSegment)
	}
	r.CloseBlocker(last)
	if r.OpenBlocker(BlockerSpec{Blocker: BlockAt(BlockedByFuture, 1)}, Now()) == nil {
		t.Error("no room after one was closed")
	}
}

func TestABlockerThatIsBeingWrittenIsIncomplete(t *testing.T) {
	r := newTest(t)
	b := r.OpenBlocker(BlockerSpec{Blocker: BlockAt(BlockedByMutex, 0x1000)}, Now())
	w := r.OpenWait(WaitSpec{Party: PartyGoroutine(1), State: StateBlocked}, Now())
	bad := r.OpenWait(WaitSpec{Party: PartyThread(1), State: StateBlocked}, Now())
	beginWrite(&b.Ver)
	beginWrite(&w.Ver)
	f := openFile(t, r)
	if rows, err := f.Blockers(); len(rows) != 0 || !errors.Is(err, ErrIncomplete) {
		t.Errorf("got %v, %v; want ErrIncomplete", rows, err)
	}
	if rows, err := f.Waits(); len(rows) != 0 || !errors.Is(err, ErrIncomplete) {
		t.Errorf("got %v, %v; want ErrIncomplete", rows, err)
	}
	r.CloseWait(bad) // a thread has a record of its own
	endWrite(&w.Ver, w.Ver+1)
	if rows, err := f.Waits(); len(rows) != 1 || err != nil {
		t.Errorf("got %v, %v; want the goroutine", rows, err)
	}
}

func TestBlockersAreWholeWhileTheyChange(t *testing.T) {
	r := newTest(t)
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for i := uint64(1); ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			b := r.OpenBlocker(BlockerSpec{Blocker: BlockAt(BlockedBySemaphore, uintptr(i)), Capacity: i}, Ticks(i))
			b.SetHolders(2, Holder{PartyThread(ThreadID(i)), Ticks(i)}, Holder{PartyThread(ThreadID(i)), Ticks(i)})
			b.Count(int64(i), int(i))
			r.CloseBlocker(b)
		}
	}()
	f := openFile(t, r)
	seen := 0
	for deadline := time.Now().Add(time.Minute); seen < 20 && time.Now().Before(deadline); {
		rows, _ := f.Blockers() // one that does not hold still is left out
		for _, b := range rows {
			if seen++; b.Blocker.ID() != b.Capacity || uint64(b.Since) != b.Capacity || b.Available != 0 && uint64(b.Available) != b.Capacity ||
				len(b.Known()) > 0 && (uint64(b.Holders[0].Since) != b.Capacity || b.Holders[0] != b.Holders[1]) {
				t.Fatalf("got a mixture %+v", b)
			}
		}
	}
	close(stop)
	<-done
	if seen == 0 {
		t.Error("no blocker was ever seen")
	}
}

func TestABlockerCostsNoAllocation(t *testing.T) {
	r := newTest(t)
	if n := testing.AllocsPerRun(100, func() {
		b := r.OpenBlocker(BlockerSpec{Blocker: BlockAt(BlockedBySemaphore, 0x1000), Name: "db"}, Now())
		b.SetHolders(3, Holder{Party: PartyThread(1)}, Holder{Party: PartyThread(2)})
		b.HeldBy(PartyThread(7), Now())
		b.Count(1, 2)
		r.CloseBlocker(b)
		r.CloseWait(r.OpenWait(WaitSpec{Party: PartyGoroutine(1), State: StateBlocked}, Now()))
	}); n != 0 {
		t.Errorf("got %v allocations, want 0", n)
	}
}

func TestReadersTellATimeLimitFromTheBlocker(t *testing.T) {
	r := newTest(t)
	rec := r.GetRecord()
	rec.Init(StateRunnable, 7, 0, 0, 0, 0, Now())
	for _, limited := range []bool{true, false} {
		b := BlockAt(BlockedByMutex, 0x1000)
		if limited {
			b = b.Limited()
		}
		rec.Parked(Now(), StateBlocked, ReasonLock, 0, b)
		row, ok, err := openFile(t, r).FindThread(7)
		if !ok || err != nil || row.Limited != limited || row.Blocker != BlockAt(BlockedByMutex, 0x1000) {
			t.Errorf("got %+v, %v; want limited %v", row, err, limited)
		}
	}
}

func BenchmarkBlocker(b *testing.B) {
	r, err := New(Options{Mode: ModePrivate})
	if err != nil {
		b.Fatal(err)
	}
	defer r.Close()
	for b.Loop() {
		rec := r.OpenBlocker(BlockerSpec{Blocker: BlockAt(BlockedByMutex, 0x1000)}, 1)
		rec.HeldBy(PartyThread(7), 1)
		r.CloseBlocker(rec)
	}
}

func TestABlockerTellsTheAddressesOfItsSocket(t *testing.T) {
	rec, err := New(Options{Mode: ModePrivate})
	if err != nil {
		t.Fatal(err)
	}
	defer rec.Close()
	at := netip.MustParseAddrPort
	for i, c := range []struct {
		local, remote netip.AddrPort
		name          string
	}{
		{at("127.0.0.1:80"), at("10.1.2.3:4711"), "127.0.0.1:80→10.1.2.3:4711"},
		{at("[::]:443"), netip.AddrPort{}, "[::]:443"},
		{at("0.0.0.0:443"), netip.AddrPort{}, "0.0.0.0:443"},
		{netip.AddrPort{}, at("[2001:db8::1]:53"), "[2001:db8::1]:53"},
		{netip.AddrPort{}, netip.AddrPort{}, ""},
	} {
		b := rec.OpenBlocker(BlockerSpec{Blocker: BlockFile(uintptr(i + 3)), Local: c.local, Remote: c.remote, Pollers: [2]uint16{1, 7}}, Now())
		r, err := rec.Reader()
		if err != nil {
			t.Fatal(err)
		}
		rows, err := r.Blockers()
		if err != nil || len(rows) != 1 {
			t.Fatalf("got %+v, %v", rows, err)
		}
		if row := rows[0]; row.Local != c.local || row.Remote != c.remote || row.Name != c.name || row.Pollers != [2]uint16{1, 7} {
			t.Errorf("%v, %v: got %+v", c.local, c.remote, row)
		}
		rec.CloseBlocker(b) // and the next finds its record
	}
}
