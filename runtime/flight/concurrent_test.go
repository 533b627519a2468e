package flight

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// forLong bounds what must happen some time.
const forLong = 2 * time.Minute

// emitNumber emits an event that carries the same number in all words, so that a half overwritten one shows.
// numberKind is one of the kinds that are recorded in one slot, whatever they say.
func numberKind(n uint64) Kind {
	var kinds []Kind
	for k := range KindCount {
		if Kinds[k].Default.On && Kinds[k].More == 0 && Kinds[k].Category != CategoryProgram {
			kinds = append(kinds, k)
		}
	}
	return kinds[n%uint64(len(kinds))]
}

func emitNumber(g *Ring, n uint64) {
	g.Emit(Ticks(n), numberKind(n), Reason(n), StackID(n), ThreadID(n), n)
}

func checkNumber(t *testing.T, e Event, pos uint64) {
	t.Helper()
	want := Event{Time: Ticks(pos), Kind: numberKind(pos), Code: Reason(pos), Carrier: 5, Stack: StackID(pos), Thread: ThreadID(pos), Arg: pos}
	if e != want {
		t.Fatalf("event %d: got %+v, want %+v", pos, e, want)
	}
}

func ringOfCarrier(t *testing.T, r *Reader, c CarrierID) RingRow {
	t.Helper()
	rings, err := r.Rings()
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range rings {
		if g.Carrier == c && g.Owner == RingOfCarrier {
			return g
		}
	}
	t.Fatalf("no ring of carrier %d in %+v", c, rings)
	return RingRow{}
}

func TestRingKeepsTheNewestEventsAfterItWrapsAround(t *testing.T) {
	r := newTest(t)
	g := r.AcquireRing(5, 0, 16)
	rd := openFile(t, r)
	row := ringOfCarrier(t, rd, 5)
	if row.Size != 16 {
		t.Fatalf("got a ring of %d, want 16", row.Size)
	}
	for head := uint64(0); head < 100; head++ {
		evs, next, lost, err := rd.Events(row.Index, 0, 1000)
		wantOldest := uint64(0)
		if head >= 16 {
			wantOldest = head - 15 // R1: the slot of head-size may be half overwritten
		}
		if err != nil || next != head || lost != wantOldest || uint64(len(evs)) != head-wantOldest {
			t.Fatalf("head %d: got %d events, next %d, lost %d, error %v; want %d, %d, %d, nil", head, len(evs), next, lost, err, head-wantOldest, head, wantOldest)
		}
		for i, e := range evs {
			checkNumber(t, e, wantOldest+uint64(i))
		}
		if head > 20 { // a part, across the ring's end
			evs, next, lost, err := rd.Events(row.Index, head-10, 5)
			if err != nil || next != head-5 || lost != 0 || len(evs) != 5 {
				t.Fatalf("head %d: got %d events, next %d, lost %d, error %v; want 5, %d, 0, nil", head, len(evs), next, lost, err, head-5)
			}
			checkNumber(t, evs[0], head-10)
		}
		emitNumber(g, head)
	}
	var total uint64
	for _, n := range ringOfCarrier(t, rd, 5).Counts {
		total += n
	}
	if total != 100 {
		t.Errorf("got counts of %d events, want 100, overwritten ones included", total)
	}
	if evs, next, lost, err := rd.Events(row.Index, 1000, 10); len(evs) != 0 || next != 100 || lost != 0 || err != nil {
		t.Errorf("beyond the head: got %d events, next %d, lost %d, error %v; want 0, 100, 0, nil", len(evs), next, lost, err)
	}
}

func openFile(t testing.TB, r *Recorder) *Reader {
	t.Helper()
	rd, err := Open(r.Path())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { rd.Close() })
	return rd
}

// followEvents reads a ring of numbered events for a while, and until it has read min and others were overwritten before it came; it checks each and accounts for all.
func followEvents(t *testing.T, rd *Reader, min uint64, until time.Duration) (read, lost uint64) {
	t.Helper()
	row := ringOfCarrier(t, rd, 5)
	from := uint64(0)
	for end := time.Now().Add(until); time.Now().Before(end) || read < min || lost == 0; {
		evs, next, gone, err := rd.Events(row.Index, from, 4096)
		if err != nil {
			t.Fatal(err)
		}
		if next != from+gone+uint64(len(evs)) {
			t.Fatalf("from %d: %d lost and %d read do not make next %d", from, gone, len(evs), next)
		}
		for i, e := range evs {
			checkNumber(t, e, from+gone+uint64(i))
		}
		read, lost, from = read+uint64(len(evs)), lost+gone, next
		if time.Now().After(end.Add(forLong)) {
			t.Fatalf("%d events read and %d overwritten after %v, want %d and some: else the test proves nothing", read, lost, forLong, min)
		}
	}
	return read, lost
}

func TestReaderSeesOnlyWholeEventsWhileTheyAreOverwritten(t *testing.T) {
	r := newTest(t)
	for _, size := range []int{16, 64, 1024} {
		g := r.AcquireRing(5, 0, size)
		stop := make(chan struct{})
		var wg sync.WaitGroup
		wg.Go(func() {
			for n := uint64(0); ; n++ {
				select {
				case <-stop:
					return
				default:
					emitNumber(g, n)
				}
			}
		})
		read, lost := followEvents(t, openFile(t, r), 1000, 300*time.Millisecond)
		close(stop)
		wg.Wait()
		g.SetCarrier(CarrierStopped)
		g.setOwner(1, RingOfCarrier, CarrierStopped)
		t.Logf("ring of %d: %d read, %d lost", size, read, lost)
	}
}

// writeNumbered changes a record for ever so that all words that Parked writes agree.
func writeNumbered(rec *Record, stop <-chan struct{}) {
	for n := uint32(1); ; n++ {
		select {
		case <-stop:
			return
		default:
			rec.Parked(Ticks(n), StateParked, ReasonPark, StackID(n), Blocker(n))
		}
	}
}

// checkNumbered reads rows for a while and fails on the first that is made of two.
func checkNumbered(t *testing.T, rd *Reader, until time.Duration) (rows, torn int) {
	t.Helper()
	last := map[ThreadID]Ticks{}
	end := time.Now().Add(until)
	for reads := 0; time.Now().Before(end) || rows < 100; reads++ {
		n, err := rd.Threads(context.Background(), func(block []ThreadRow) {
			for _, row := range block {
				if row.Since == 0 {
					continue // not written yet
				}
				if uint64(row.Since) != uint64(row.Stack) || uint64(row.Blocker) != uint64(row.Stack) {
					t.Fatalf("got a torn row as whole: %+v", row)
				}
				if row.Since < last[row.ID] {
					t.Fatalf("thread %d went back from %d to %d", row.ID, last[row.ID], row.Since)
				}
				last[row.ID] = row.Since
				rows++
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		torn += n
		if time.Now().After(end.Add(forLong)) {
			t.Fatalf("only %d rows in %d reads", rows, reads)
		}
	}
	return rows, torn
}

func numberedRecord(r *Recorder, id ThreadID) *Record {
	rec := r.GetRecord()
	rec.Init(StateNew, id, 0, 0, 0, 0, 0)
	return rec
}

func TestTornRecordsAreNeverAccepted(t *testing.T) {
	r := newTest(t)
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for id := range ThreadID(2) {
		rec := numberedRecord(r, id+1)
		wg.Go(func() { writeNumbered(rec, stop) })
	}
	rows, torn := checkNumbered(t, openFile(t, r), time.Second)
	close(stop)
	wg.Wait()
	t.Logf("%d rows whole, %d torn", rows, torn)
}

func TestVersionIsOddWhileARecordChanges(t *testing.T) {
	// What the test above cannot see: that the odd version is stored also by a method that loads
	// nothing, where the compiler would take the store for a dead one.
	if runtime.NumCPU() < 2 {
		t.Skip("one processor: nobody can look while the writer is in the middle of it")
	}
	if n := runtime.GOMAXPROCS(0); n < 2 {
		runtime.GOMAXPROCS(2)
		defer runtime.GOMAXPROCS(n)
	}
	r := newTest(t)
	rec := numberedRecord(r, 1)
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for n := Ticks(0); ; n++ {
			select {
			case <-stop:
				return
			default:
				rec.End(n)
			}
		}
	})
	defer wg.Wait()
	defer close(stop)
	for deadline := time.Now().Add(forLong); time.Now().Before(deadline); {
		for range 100_000 {
			if atomic.LoadUint32(&rec.ver)&1 == 1 {
				return
			}
		}
	}
	t.Fatal("never saw an odd version")
}

func TestKilledInTheMiddleOfAWriteIsOneTornRecord(t *testing.T) {
	r := newTest(t)
	for id := range ThreadID(10) {
		numberedRecord(r, id+1)
	}
	broken := numberedRecord(r, 11)
	beginWrite(&broken.ver)
	n := 0
	torn, err := openFile(t, r).Threads(context.Background(), func(rows []ThreadRow) { n += len(rows) })
	if n != 10 || torn != 1 || err != nil {
		t.Errorf("got %d rows, %d torn, error %v; want 10, 1, nil", n, torn, err)
	}
}

// writerEnv makes the test binary a process that writes until it is killed.
const writerEnv = "VTSCOPE_TEST_WRITER"

func TestMain(m *testing.M) {
	if os.Getenv(writerEnv) != "" {
		writeUntilKilled()
	}
	if what := os.Getenv(announceEnv); what != "" {
		announced(what)
		return
	}
	os.Exit(m.Run())
}

func writeUntilKilled() {
	r := Default()
	g := r.AcquireRing(5, 0, 1024)
	rec := numberedRecord(r, 1)
	r.Emit(Now(), EventThreadStart, 0, 0, 1, 0)
	r.SetName(rec, "writer")
	var id StackID
	deep(3, func() { id = r.Stack(0) })
	stop := make(chan struct{})
	go func() {
		for n := uint64(0); ; n++ {
			emitNumber(g, n)
		}
	}()
	go writeNumbered(rec, stop)
	json.NewEncoder(os.Stdout).Encode(writerReport{r.Path(), id})
	switch os.Getenv(writerEnv) {
	case "close":
		os.Stdin.Read(make([]byte, 1)) // until the parent says so
		Close()
		os.Stdout.Write([]byte("closed\n"))
		os.Stdin.Read(make([]byte, 1))
		os.Exit(0)
	case "leave", "fail":
		os.Stdin.Read(make([]byte, 1))
		os.Exit(map[string]int{"fail": 3}[os.Getenv(writerEnv)])
	default:
		select {}
	}
}

type writerReport struct {
	Path  string
	Stack StackID
}

type writer struct {
	writerReport
	cmd *exec.Cmd
	in  *os.File
	out *json.Decoder
	raw *os.File
}

// startWriter starts a process that writes until it is killed.
func startWriter(t *testing.T, how, dir string) *writer {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if os.Getenv("QEMU_LD_PREFIX") != "" {
		t.Skip("no second process under emulation")
	}
	w := &writer{cmd: exec.Command(exe)}
	w.cmd.Env = append(os.Environ(), writerEnv+"="+how, "VTSCOPE_DIR="+dir, "VTSCOPE=")
	inR, inW, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	outR, outW, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	w.cmd.Stdin, w.cmd.Stdout, w.cmd.Stderr = inR, outW, os.Stderr
	if err := w.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	inR.Close()
	outW.Close()
	t.Cleanup(func() { w.cmd.Process.Kill(); w.cmd.Wait(); inW.Close(); outR.Close() })
	w.in, w.raw, w.out = inW, outR, json.NewDecoder(outR)
	if err := w.out.Decode(&w.writerReport); err != nil {
		t.Fatalf("writer says nothing: %v", err)
	}
	return w
}

func TestReaderOfAnotherProcessSeesWholeEventsAndRecords(t *testing.T) {
	w := startWriter(t, "run", tmpfsDir(t))
	rd, err := Open(w.Path)
	if err != nil {
		t.Fatal(err)
	}
	defer rd.Close()
	read, lost := followEvents(t, rd, 1000, 300*time.Millisecond)
	rows, torn := checkNumbered(t, rd, 300*time.Millisecond)
	t.Logf("%d events read, %d lost; %d rows whole, %d torn", read, lost, rows, torn)
}
