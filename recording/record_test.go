package recording_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/vtscope/vtscope/internal/leaktest"
	"github.com/vtscope/vtscope/recording"
	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/flight/flighttest"
	"github.com/vtscope/vtscope/runtime/structured"
	"github.com/vtscope/vtscope/runtime/vsync"
	"github.com/vtscope/vtscope/runtime/vthread"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// ours returns a reader of this process's own recorder.
func ours(t testing.TB) *flight.Reader {
	t.Helper()
	r, err := flight.Default().Reader()
	if err != nil {
		t.Skipf("the recorder is off: %v", err)
	}
	return r
}

// A row is what the flight file says of a thread.
type row struct {
	flight.ThreadRow
	name string
}

// live returns the rows of the living threads, by id.
func live(t testing.TB, r *flight.Reader) map[flight.ThreadID]row {
	t.Helper()
	rows := map[flight.ThreadID]row{}
	if _, err := r.Threads(t.Context(), func(some []flight.ThreadRow) {
		for _, th := range some {
			rows[th.ID] = row{th, r.ThreadName(th)}
		}
	}); err != nil {
		t.Fatal(err)
	}
	return rows
}

// A recordingNow is one that is made in a goroutine.
type recordingNow struct {
	out    bytes.Buffer
	report recording.Report
	err    error
	end    func() // and wait
	begun  chan struct{}
}

type announcer struct {
	w    *recordingNow
	once sync.Once
}

func (w *announcer) Write(b []byte) (int, error) {
	defer w.once.Do(func() { close(w.w.begun) })
	return w.w.out.Write(b)
}

// record begins to record, and returns when the first chunk was written.
func record(t testing.TB, r *flight.Reader, o recording.Options) *recordingNow {
	t.Helper()
	rec := &recordingNow{begun: make(chan struct{})}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		rec.report, rec.err = recording.Record(ctx, r, &announcer{w: rec}, o)
	}()
	rec.end = func() { cancel(); <-done }
	t.Cleanup(rec.end)
	for begun := false; !begun; {
		// A chunk is written when there is an event to write.
		vthread.Start(func() {}).Join()
		select {
		case <-rec.begun:
			begun = true
		case <-done:
			t.Fatalf("the recording ended before it began: %v", rec.err)
		case <-time.After(time.Millisecond):
		}
	}
	return rec
}

func TestRecordedStateIsThatOfTheThreads(t *testing.T) {
	testStates(t, func(t *testing.T, r *flight.Reader) func() (recording.Source, *recording.Tracker, uint64) {
		rec := record(t, r, recording.Options{Every: time.Millisecond})
		return func() (recording.Source, *recording.Tracker, uint64) {
			rec.end()
			if rec.err != nil {
				t.Fatal(rec.err)
			}
			f := opened(t, rec.out.Bytes())
			var last keeper
			if err := recording.Observe(t.Context(), f, &last); err != nil {
				t.Fatal(err)
			}
			return f, last.tracker, rec.report.Lost
		}
	})
}

// A keeper is an observer that knows the state at the end.
type keeper struct {
	tracker *recording.Tracker
	lost    uint64
	events  int
}

func (k *keeper) Reset(t *recording.Tracker)                                   { k.tracker = t }
func (k *keeper) Event(*recording.Event, recording.Change, *recording.Tracker) { k.events++ }
func (k *keeper) Lost(n uint64)                                                { k.lost += n }
func (k *keeper) Flush(*recording.Tracker)                                     {}

// testStates follows the process, and compares what it ends with with the flight file. follow returns when it has begun; what it returns ends it.
func testStates(t *testing.T, follow func(*testing.T, *flight.Reader) func() (recording.Source, *recording.Tracker, uint64)) {
	r := ours(t)
	for try := 1; ; try++ {
		lost := compareStates(t, r, follow)
		t.Logf("%d events were lost", lost)
		if lost == 0 || t.Failed() {
			return // what was compared is what events led to, not a state that was read again
		}
		if try == 10 {
			t.Fatalf("events were lost in each of %d tries", try)
		}
	}
}

// compareStates follows until some hundred threads stand still.
func compareStates(t *testing.T, r *flight.Reader, follow func(*testing.T, *flight.Reader) func() (recording.Source, *recording.Tracker, uint64)) (lost uint64) {
	end := follow(t, r)

	// A bit of everything, that in the end stands still.
	stop := vsync.NewLatch(1)
	var lock vsync.Mutex
	lock.Lock()
	var wait sync.WaitGroup
	var threads []*vthread.Thread
	var owner *vthread.Thread
	vthread.Start(func() { // of a carrier's ring less is lost
		for i := range 300 {
			if i%10 == 0 {
				vthread.Sleep(time.Millisecond) // a ring may have room for no more than a thousand events
			}
			wait.Add(1)
			threads = append(threads, vthread.Builder{Name: fmt.Sprintf("worker-%d", i)}.Start(func() {
				for range i % 7 {
					vthread.Yield()
					vthread.Sleep(time.Microsecond)
				}
				wait.Done()
				switch i % 4 {
				case 0:
					lock.Lock()
					lock.Unlock()
				case 1:
					stop.Wait()
				case 2:
					vthread.Sleep(time.Hour)
				case 3:
					vthread.Park()
				}
			}))
		}
		owner = vthread.Start(func() {
			_ = structured.Run(context.Background(), "requests", func(s *structured.Scope) error {
				for range 20 {
					s.Fork(func() error { stop.Wait(); return nil })
				}
				return s.Join()
			})
		})
	}).Join()
	wait.Wait()
	still := func(rows map[flight.ThreadID]row) bool {
		for _, row := range rows {
			if row.State == flight.StateRunnable || row.State == flight.StateMounted {
				return false
			}
		}
		return len(rows) >= 321
	}
	rows := live(t, r)
	for deadline := time.Now().Add(time.Minute); !still(rows); rows = live(t, r) {
		if time.Now().After(deadline) {
			t.Fatalf("the threads do not stand still: %d rows", len(rows))
		}
		time.Sleep(time.Millisecond)
	}
	src, tracker, lost := end()
	scopes, err := r.Scopes()
	if err != nil {
		t.Fatal(err)
	}
	stop.Done()
	lock.Unlock()
	for _, th := range threads {
		th.Unpark()
		th.Interrupt()
	}
	for _, th := range append(threads, owner) {
		th.Join()
	}
	scopeOf := map[flight.ScopeIndex]flight.ScopeID{}
	for _, sc := range scopes {
		scopeOf[sc.Index] = sc.ID
	}
	for id, row := range rows {
		th := tracker.Thread(id)
		if th == nil {
			t.Errorf("thread %d: got none, want %+v", id, row)
			continue
		}
		got := fmt.Sprintln(th.State, th.Reason, th.Stack, th.Blocker, th.Limited, th.Name, th.Scope, th.Waker, th.Mounts, th.Carrier, th.Incomplete)
		want := fmt.Sprintln(row.State, row.Reason, row.Stack, row.Blocker, row.Limited, row.name, scopeOf[row.Scope], row.Waker, row.Mounts, row.Carrier, false)
		if got != want {
			t.Errorf("thread %d:\ngot  %swant %s", id, got, want)
		}
		if off := src.Info().From.Add(th.Since).Sub(r.Time(row.Since)).Abs(); off > time.Millisecond {
			t.Errorf("thread %d: parked %v from when it was", id, off)
		}
	}
	if tracker.Len() != len(rows) {
		tracker.Threads(func(th *recording.Thread) bool {
			if _, ok := rows[th.ID]; !ok {
				t.Errorf("got a thread that does not live: %+v", *th)
			}
			return true
		})
	}
	return lost
}

func TestEveryEventIsRecordedOrCounted(t *testing.T) {
	r := ours(t)
	count := func() (all [flight.KindCount]uint64) {
		rings, err := r.Rings()
		if err != nil {
			t.Fatal(err)
		}
		for i := range rings {
			for k := range all {
				all[k] += rings[i].Counts[k]
			}
		}
		return all
	}
	before := count()
	rec := record(t, r, recording.Options{Held: true, Every: time.Millisecond})
	var threads []*vthread.Thread
	for range 100 {
		threads = append(threads, vthread.Start(func() {
			for range 50 {
				vthread.Sleep(10 * time.Microsecond)
			}
		}))
	}
	for _, th := range threads {
		th.Join()
	}
	made := count() // and a garbage collection, say, may come while the recording ends
	rec.end()
	after := count()
	if rec.err != nil {
		t.Fatal(rec.err)
	}
	f := opened(t, rec.out.Bytes())
	var got [flight.KindCount]uint64
	if err := f.Read(t.Context(), func(b *recording.Batch) bool {
		for i := range b.Events {
			got[b.Events[i].Kind]++
		}
		return true
	}); err != nil {
		t.Fatal(err)
	}
	missing := uint64(0)
	for k := range got {
		n := made[k] - before[k]
		if got[k] > after[k] || rec.report.Lost == 0 && got[k] < n {
			t.Errorf("%v: got %d events, want %d", flight.Kind(k), got[k], n)
		}
		missing += max(n, got[k]) - got[k]
	}
	if missing > rec.report.Lost || got[flight.EventThreadStart]+rec.report.Lost < 100 || got[flight.EventMount]+rec.report.Lost < 1000 {
		t.Errorf("got %d starts, %d mounts, %d events missing, %d of them counted", got[flight.EventThreadStart], got[flight.EventMount], missing, rec.report.Lost)
	}
	if f.Totals().Lost != rec.report.Lost {
		t.Errorf("the recording has %d lost, the report %d", f.Totals().Lost, rec.report.Lost)
	}
}

func TestWhatRingsHoldIsInARecordingOfAMoment(t *testing.T) {
	r := ours(t)
	for range 20 {
		vthread.Start(func() { vthread.Sleep(time.Microsecond) }).Join()
	}
	var out bytes.Buffer
	report, err := recording.Record(t.Context(), r, &out, recording.Options{Held: true, For: time.Nanosecond})
	if err != nil {
		t.Fatal(err)
	}
	f := opened(t, out.Bytes())
	events := readAll(t, f).events
	if len(events) < 100 || uint64(len(events)) != report.Events {
		t.Fatalf("got %d events, the report says %d, want 100 at least", len(events), report.Events)
	}
	first, last := events[0].Time, events[len(events)-1].Time
	if end := f.Info().To.Sub(f.Info().From); first < 0 || last > end || last <= first {
		t.Errorf("got events from %v to %v, want them within 0 and %v", first, last, end)
	}
	m, err := f.At(t.Context(), last)
	if err != nil {
		t.Fatal(err)
	}
	for _, th := range m.State().Threads {
		if th.State != flight.StateParked && th.State != flight.StateTimedParked && th.State != flight.StateWaiting && th.Incomplete {
			t.Errorf("got %+v at the end, want no thread of before", th)
		}
	}
}

func TestQuietProcessHasARecordingUntilTheEnd(t *testing.T) {
	r := ours(t)
	th := vthread.Start(func() { vthread.Park() })
	defer func() { th.Unpark(); th.Join() }()
	alone := func() bool { // and those of tests before have left the tables
		rows := live(t, r)
		return len(rows) == 1 && rows[th.ID()].State == flight.StateParked
	}
	for deadline := time.Now().Add(time.Minute); !alone(); {
		if time.Now().After(deadline) {
			t.Fatalf("the thread is not there alone, parked: %+v", live(t, r))
		}
	}
	var out bytes.Buffer
	if _, err := recording.Record(t.Context(), r, &out, recording.Options{For: 20 * time.Millisecond}); err != nil {
		t.Fatal(err)
	}
	f := opened(t, out.Bytes())
	end := f.Info().To.Sub(f.Info().From)
	if end <= 0 || f.Begins() != 0 {
		t.Fatalf("got a recording from %v to %v, want one from 0 on", f.Begins(), end)
	}
	for _, at := range []time.Duration{0, end / 2, end} {
		m, err := f.At(t.Context(), at)
		if err != nil || len(m.State().Threads) != 1 || m.State().Threads[0].ID != th.ID() || m.State().Threads[0].State != flight.StateParked {
			t.Errorf("at %v: got %+v, %v; want the thread, parked", at, m, err)
		}
	}
}

// Rings may hold less than what moved the threads: the process records some kinds of events only, or none. What its threads do now is known all the same.
func TestARecordingOfWhatRingsHoldEndsWithWhatThereIs(t *testing.T) {
	for name, trace := range map[string][]flighttest.Event{
		"starts alone": nil,
		"an event of a thread that the tables do not have": {{Age: time.Second, Kind: flight.EventMount, Thread: 1000}},
	} {
		t.Run(name, func(t *testing.T) {
			file := flighttest.Write(t, flighttest.Spec{
				Threads: 30, Trace: trace,
				Thread: func(i int) flighttest.Thread {
					return flighttest.Thread{State: flight.StateBlocked, Reason: flight.ReasonLock, Age: time.Duration(i) * time.Second}
				},
			})
			r, err := flight.Open(file.Path)
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			var out bytes.Buffer
			if _, err := recording.Record(t.Context(), r, &out, recording.Options{Held: true, For: 20 * time.Millisecond}); err != nil {
				t.Fatal(err)
			}
			f := opened(t, out.Bytes())
			m, err := f.At(t.Context(), f.Info().To.Sub(f.Info().From))
			if err != nil {
				t.Fatal(err)
			}
			if n := len(m.State().Threads); n != 30 {
				t.Errorf("got %d threads at the end, want 30", n)
			}
			for _, th := range m.State().Threads {
				if th.State != flight.StateBlocked || th.Reason != flight.ReasonLock {
					t.Errorf("got %+v, want it blocked", th)
				}
			}
		})
	}
}

// full is a disk with so much room.
type full struct{ room int }

var errFull = errors.New("no space left on device")

func (w *full) Write(b []byte) (int, error) {
	if w.room -= len(b); w.room < 0 {
		return 0, errFull
	}
	return len(b), nil
}

func TestFullDiskEndsTheRecordingWithItsError(t *testing.T) {
	r := ours(t)
	done := make(chan error, 1)
	go func() {
		_, err := recording.Record(t.Context(), r, &full{room: 3000}, recording.Options{Every: time.Millisecond})
		done <- err
	}()
	for {
		vthread.Start(func() {}).Join()
		select {
		case err := <-done:
			if !errors.Is(err, errFull) {
				t.Errorf("got %v, want %v", err, errFull)
			}
			return
		default:
		}
	}
}

func TestStoreKeepsTheNewestWithinItsLimit(t *testing.T) {
	const limit = 3 << 20
	path := filepath.Join(t.TempDir(), "run.vtr")
	st, err := recording.Create(path, recording.Limits{MaxSize: limit})
	if err != nil {
		t.Fatal(err)
	}
	w := recording.NewStoreWriter(st, 4_000_000)
	for chunk := 0; w.Written() < 4*limit; chunk++ {
		if err := w.WriteChunk(chunk); err != nil {
			t.Fatal(err)
		}
		if chunk%50 == 49 { // as it is while it is written
			f, err := recording.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			got := f.Totals()
			f.Close()
			if got.Bytes > limit+limit/8 || w.Written() > limit && got.Bytes < limit/3 {
				t.Fatalf("got %d bytes kept of %d, limit %d", got.Bytes, w.Written(), limit)
			}
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	f, err := recording.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	got := readAll(t, f)
	if n := f.Totals().Bytes; n > limit || n < limit/3 || len(got.states) == 0 || f.Begins() == 0 {
		t.Errorf("got %d bytes, %d states, from %v; want at most %d bytes, and the oldest dropped", n, len(got.states), f.Begins(), limit)
	}
	if in := strings.Join(f.Info().Incomplete, "; "); !strings.Contains(in, "was dropped") || strings.Contains(in, "missing") {
		t.Errorf("got %q, want it to say that the oldest was dropped, and no more", in)
	}
}
