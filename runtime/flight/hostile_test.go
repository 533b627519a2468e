package flight

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"flag"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"
	"unsafe"
)

var update = flag.Bool("update", false, "rewrite the newest golden recording")

const (
	goldenFile    = "testdata/v2.flight.gz"          // the newest
	programGolden = "testdata/v2-program.flight.gz"  // of before durable threads were recorded; never rewritten
	blockerGolden = "testdata/v1-blockers.flight.gz" // the last of version 1; never rewritten
	figuresGolden = "testdata/v1-figures.flight.gz"  // of before blockers and waits of goroutines were recorded; never rewritten
	oldGolden     = "testdata/v1.flight.gz"          // of before schedulers and places of pins were recorded; never rewritten
)

// goldenThreads is how many threads the golden recording has.
const goldenThreads = 100

// recordGolden writes what the golden recording holds.
func recordGolden(r *Recorder) {
	shop := r.OpenScope(1, "shop", 0, 1, 0, Now())
	requests := r.OpenScope(2, "requests", shop, 1, Now().Add(time.Hour), Now())
	r.SetScopeState(requests, ScopeJoining)
	stack := r.AddStack([]Frame{
		{Func: "vsync.(*Mutex).Lock", File: "mutex.go", Line: 31, Internal: true},
		{Func: "shop.(*Store).query", File: "store.go", Line: 88, Inlined: true},
		{Func: "shop.handleCheckout", File: "checkout.go", Line: 41},
	})
	g := r.AcquireRing(3, 0, 64)
	g.SetCarrier(CarrierRunning)
	for i := range goldenThreads {
		id := ThreadID(i + 1)
		rec := r.GetRecord()
		rec.Init(StateNew, id, []ScopeIndex{0, shop, requests}[i%3], 1, 0x4711, 0, Now())
		rec.Goroutine(0xc0001000)
		r.Emit(Now(), EventThreadStart, 0, 0, id, 1)
		rec.Mounted(Now(), 3)
		g.Emit(Now(), EventMount, 0, 0, id, 0)
		switch i % 3 {
		case 1:
			rec.Parked(Now(), StateBlocked, ReasonLock, stack, BlockLock(0xc0010000))
			g.Emit(Now(), EventPark, ReasonLock, stack, id, uint64(BlockLock(0xc0010000)))
		case 2:
			rec.Parked(Now(), StateParked, ReasonJoin, stack, BlockThread(1))
			rec.Runnable(Now(), 1)
		}
		if i%10 == 0 {
			r.SetName(rec, "GET /cart")
		}
	}
	recordFigures(r, stack)
	recordBlockers(r, stack)
	recordProgram(r)
	recordDurable(r)
}

// golden returns the newest golden recording, in a file.
func golden(t testing.TB) string {
	t.Helper()
	if *update {
		writeGolden(t)
	}
	return unpacked(t, goldenFile)
}

func unpacked(t testing.TB, packed string) string {
	t.Helper()
	f, err := os.Open(packed)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	content, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "4711-12345.flight")
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func writeGolden(t testing.TB) {
	t.Helper()
	r, err := New(Options{Dir: tmpfsDir(t), Program: "golden"})
	if err != nil {
		t.Fatal(err)
	}
	recordGolden(r)
	content, err := os.ReadFile(r.Path())
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	// Nothing of the machine that made it.
	var h fileHeader
	clear(content[unsafe.Offsetof(h.Exe):][:len(h.Exe)])
	copy(content[unsafe.Offsetof(h.Exe):], "/usr/bin/golden")
	clear(content[unsafe.Offsetof(h.BootID):][:len(h.BootID)])
	var out bytes.Buffer
	z, _ := gzip.NewWriterLevel(&out, gzip.BestCompression) // the level is good
	if _, err := z.Write(content); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(goldenFile, out.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestGoldenRecordingsOfAllVersionsCanBeRead(t *testing.T) {
	for _, path := range []string{unpacked(t, oldGolden), unpacked(t, figuresGolden), unpacked(t, blockerGolden), unpacked(t, programGolden), golden(t)} {
		r, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		checkGolden(t, r)
	}
}

func checkGolden(t *testing.T, r *Reader) {
	states := map[State]int{}
	torn, err := r.Threads(context.Background(), func(rows []ThreadRow) {
		for _, row := range rows {
			states[row.State]++
			if row.ID == 2 && (row.Blocker != BlockLock(0xc0010000) || row.Reason != ReasonLock || row.Carrier != 3 || row.Mounts != 1) {
				t.Errorf("got %+v", row)
			}
			if row.ID == 11 && r.ThreadName(row) != "GET /cart" {
				t.Errorf("thread 11: got name %q", r.ThreadName(row))
			}
			s, err := r.Stack(row.Stack)
			if err != nil || row.Stack != 0 && (len(s.Frames) != 3 || s.Frames[1].Func != "shop.(*Store).query" || !s.Frames[1].Inlined || !s.Frames[0].Internal) {
				t.Errorf("thread %d: got stack %+v, error %v", row.ID, s, err)
			}
			d, err := r.ThreadDetail(row.Index)
			if err != nil || d.ID != row.ID || d.Entry != 0x4711 || d.Creator != 1 {
				t.Errorf("thread %d: got detail %+v, error %v", row.ID, d, err)
			}
		}
	})
	if torn != 0 || err != nil || states[StateMounted] != 34 || states[StateBlocked] != 33 || states[StateRunnable] != 33 {
		t.Errorf("got states %v, %d torn, error %v", states, torn, err)
	}
	scopes, err := r.Scopes()
	if err != nil || len(scopes) != 3 || scopes[2].Name != "requests" || scopes[2].Deadline == 0 || scopes[2].State != ScopeJoining {
		t.Errorf("got scopes %+v, error %v", scopes, err)
	}
	g := ringOfCarrier(t, r, 3)
	evs, _, lost, err := r.Events(g.Index, 0, 1000)
	if err != nil || g.Head != 133 || lost != 70 || len(evs) != 63 || evs[62].Kind != EventMount || evs[62].Thread != 100 {
		t.Errorf("got head %d, %d events, %d lost, error %v", g.Head, len(evs), lost, err)
	}
	p := r.Process()
	if p.Program != "golden" || p.Status != StatusGone || p.Threads != goldenThreads || time.Since(p.LastSeen) < 0 {
		t.Errorf("got %+v", p)
	}
}

// exercise reads all that a file has. It returns an error if anything is missing; it must not panic.
func exercise(path string) error {
	r, err := Open(path)
	if err != nil {
		return err
	}
	defer r.Close()
	return exerciseReader(r)
}

func exerciseReader(r *Reader) error {
	var errs []error
	note := func(err error) {
		if err != nil && len(errs) < 4 {
			errs = append(errs, err)
		}
	}
	n := 0
	_, err := r.Threads(context.Background(), func(rows []ThreadRow) {
		for _, row := range rows {
			if n++; n > 300 {
				return
			}
			_, err := r.Stack(row.Stack)
			note(err)
			r.ThreadName(row)
			if _, err = r.ThreadDetail(row.Index); !errors.Is(err, ErrIncomplete) { // a record in use need not hold still
				note(err)
			}
		}
	})
	note(err)
	_, err = r.Scopes()
	note(err)
	_, err = r.Schedulers()
	note(err)
	_, err = r.PinSites()
	note(err)
	_, err = r.Recent()
	note(err)
	_, err = r.Blockers()
	note(err)
	_, err = r.Waits()
	note(err)
	_, err = r.Durables()
	note(err)
	_, _, err = r.DurableTotals()
	note(err)
	rings, err := r.Rings()
	note(err)
	for _, g := range rings {
		_, _, _, err := r.Events(g.Index, 0, 1<<30)
		note(err)
	}
	_, _, err = r.FindThread(50)
	note(err)
	_, err = r.Settings()
	note(err)
	_, err = r.UserKinds()
	note(err)
	_, err = r.Totals()
	note(err)
	r.Header()
	r.Process()
	r.Lost()
	r.Time(r.Now())
	return errors.Join(errs...)
}

func TestEveryPrefixOfAFileGivesAnErrorOrIsMarkedIncomplete(t *testing.T) {
	path := golden(t)
	if err := exercise(path); err != nil {
		t.Fatalf("whole file: %v", err)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	steps := 0
	for size := info.Size() - 1; size >= 0; size -= prefixStep(size) {
		if err := f.Truncate(size); err != nil {
			t.Fatal(err)
		}
		if err := exercise(path); !errors.Is(err, ErrFormat) && !errors.Is(err, ErrIncomplete) {
			t.Fatalf("first %d bytes: got error %v, want ErrFormat or ErrIncomplete", size, err)
		}
		steps++
	}
	t.Logf("%d prefixes", steps)
	if steps < 200 {
		t.Errorf("only %d prefixes tried", steps)
	}
}

// prefixStep is small where something begins.
func prefixStep(size int64) int64 {
	switch at := size % segmentAlign; {
	case size < 256:
		return 1
	case size < headerSize:
		return 1021
	case at < 4 || at > segmentAlign-4:
		return 1
	}
	return 16381
}

func TestFileCutUnderAnOpenReaderIsIncomplete(t *testing.T) {
	path := golden(t)
	r, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for _, size := range []int64{3 << 20, 200_000, headerSize, 100, 0} {
		if err := os.Truncate(path, size); err != nil {
			t.Fatal(err)
		}
		if err := exerciseReader(r); !errors.Is(err, ErrFormat) && !errors.Is(err, ErrIncomplete) {
			t.Errorf("cut to %d bytes: got error %v, want ErrFormat or ErrIncomplete", size, err)
		}
	}
}

func TestFlippedBitsNeverCrashOrHangTheReader(t *testing.T) {
	path := golden(t)
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	used := usedBytes(content)
	rounds := 300
	if testing.Short() {
		rounds = 50
	}
	seed := uint64(time.Now().UnixNano())
	random := rand.New(rand.NewPCG(seed, 0))
	found := 0
	for range rounds {
		var undo []int
		for range 1 + random.IntN(20) {
			at := used[random.IntN(len(used))]
			undo = append(undo, at)
			b := content[at] ^ 1<<random.IntN(8)
			if _, err := f.WriteAt([]byte{b}, int64(at)); err != nil {
				t.Fatal(err)
			}
		}
		done := make(chan error, 1)
		go func() { done <- exercise(path) }()
		select {
		case err := <-done:
			if err != nil {
				found++
			}
		case <-time.After(time.Minute):
			t.Fatalf("reader hangs; seed %d, bytes %v", seed, undo)
		}
		for _, at := range undo {
			if _, err := f.WriteAt(content[at:at+1], int64(at)); err != nil {
				t.Fatal(err)
			}
		}
	}
	t.Logf("%d of %d damaged files gave errors", found, rounds)
	if err := exercise(path); err != nil {
		t.Errorf("after all was undone: %v", err)
	}
}

func TestFileFullOfHalfWrittenRecordsIsReadQuickly(t *testing.T) {
	r := newTest(t)
	var cache RecordCache
	const threads = 200_000
	for i := range threads {
		rec := cache.Get(r)
		rec.Init(StateNew, ThreadID(i+1), 0, 0, 0, 0, 1)
		beginWrite(&rec.ver)
	}
	start := time.Now()
	torn, err := openFile(t, r).Threads(context.Background(), func(rows []ThreadRow) { t.Errorf("got %d rows", len(rows)) })
	if torn != threads || err != nil {
		t.Errorf("got %d torn, error %v; want %d, nil", torn, err, threads)
	}
	if d := time.Since(start); d > 2*time.Minute { // it takes a second; to wait for each of them would take twenty minutes
		t.Errorf("took %v", d)
	}
}

// usedBytes returns the positions of what is not zero, and of all of header and first entries.
func usedBytes(content []byte) []int {
	var at []int
	for i, b := range content {
		if b != 0 || i < 1704 || i >= headerPage && i < headerPage+10*segmentEntrySize {
			at = append(at, i)
		}
	}
	return at
}
