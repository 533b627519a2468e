package recording_test

import (
	"bytes"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/vtscope/vtscope/recording"
	"github.com/vtscope/vtscope/recording/recordingtest"
	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/vthread"
)

// rowOf returns the row of a thread at a moment.
func rowOf(t *testing.T, m *recording.Moment, id flight.ThreadID) (row flight.ThreadRow, ok bool) {
	t.Helper()
	if _, err := m.Threads(t.Context(), func(rows []flight.ThreadRow) {
		for i := range rows {
			if rows[i].ID == id {
				row, ok = rows[i], true
			}
		}
	}); err != nil {
		t.Fatal(err)
	}
	return row, ok
}

// callsOf returns the functions of a stack.
func callsOf(t *testing.T, m *recording.Moment, id flight.StackID) string {
	t.Helper()
	s, err := m.Stack(id)
	if err != nil {
		t.Fatal(err)
	}
	calls := ""
	for _, f := range s.Frames {
		calls += f.Func + " "
	}
	return calls
}

//go:noinline
func waitsHere(d time.Duration) { time.Sleep(d) }

//go:noinline
func waitsThere(d time.Duration) { time.Sleep(d) }

// A visit is from before a thread went somewhere until after it had been there.
type visit struct {
	from, to time.Time
	function string
}

// Of a thread that blocks in Go a moment tells where it was seen, and when; and there it was.
func TestAMomentOfAThreadThatHoldsItsCarrierIsRightOrMarked(t *testing.T) {
	r := ours(t)
	var stop bool
	var visits []visit
	var mu sync.Mutex
	rec := record(t, r, recording.Options{Every: 10 * time.Millisecond})
	th := vthread.Start(func() {
		for over := false; !over; {
			for function, wait := range map[string]func(time.Duration){"waitsHere": waitsHere, "waitsThere": waitsThere} {
				began := time.Now()
				wait(30 * time.Millisecond)
				mu.Lock()
				visits = append(visits, visit{began, time.Now(), function})
				over = stop
				mu.Unlock()
			}
		}
	})
	time.Sleep(time.Second)
	rec.end()
	mu.Lock()
	stop = true
	mu.Unlock()
	th.Join()
	if rec.err != nil {
		t.Fatal(rec.err)
	}

	f := opened(t, rec.out.Bytes())
	end := f.Info().To.Sub(f.Info().From)
	const clocks = 2 * time.Millisecond // how far those of the recording and of the test may differ, and how long a look takes at most
	held := 0
	for at := f.Begins(); at < end; at += 7 * time.Millisecond {
		m := momentOf(t, f, at)
		row, ok := rowOf(t, m, th.ID())
		if !ok || row.State != flight.StatePinned {
			continue
		}
		held++
		if row.Seen == 0 || m.Now().Before(row.Seen) {
			t.Fatalf("at %v: got seen at %v, want a time before", at, m.Time(row.Seen))
		}
		calls, seen := callsOf(t, m, row.Stack), m.Time(row.Seen)
		if !slices.ContainsFunc(visits, func(v visit) bool {
			return strings.Contains(calls, v.function) && !seen.Before(v.from.Add(-clocks)) && !seen.After(v.to.Add(clocks))
		}) {
			t.Errorf("at %v: got %s, seen at %v; it was elsewhere then", at, calls, seen)
		}
	}
	if held < 10 {
		t.Errorf("the thread held its carrier at %d moments: what is tested?", held)
	}
}

// A thread that blocks in Go until after the end of the recording: no event tells of it.
func TestARecordingHasTheThreadsThatHoldTheirCarriersAllTheTime(t *testing.T) {
	r := ours(t)
	never := make(chan struct{})
	th := vthread.Start(func() { <-never })
	defer func() { close(never); th.Join() }()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		rings, err := r.Rings()
		if err != nil {
			t.Fatal(err)
		}
		if slices.ContainsFunc(rings, func(row flight.RingRow) bool { return row.Hold.Thread == th.ID() }) {
			break
		}
		if time.Now().After(deadline) {
			t.Skip("holds are not seen here")
		}
	}
	rec := record(t, r, recording.Options{Every: time.Millisecond})
	time.Sleep(50 * time.Millisecond)
	rec.end()
	if rec.err != nil {
		t.Fatal(rec.err)
	}
	f := opened(t, rec.out.Bytes())
	m := momentOf(t, f, f.Info().To.Sub(f.Info().From))
	row, _ := rowOf(t, m, th.ID())
	if calls := callsOf(t, m, row.Stack); row.State != flight.StatePinned || row.Reason != flight.ReasonPinnedGo || row.Seen == 0 || !strings.Contains(calls, "HoldTheirCarriersAllTheTime") {
		t.Errorf("got %v because of %v at %s, want it pinned in this test", row.State, row.Reason, calls)
	}
}

// TestHoldsAreKnownFromEachState reads a recording from its second state on.
func TestHoldsAreKnownFromEachState(t *testing.T) {
	var out bytes.Buffer
	s := recordingtest.New()
	here, there := s.At("main.here f.go:1"), s.At("main.there f.go:2")
	thread := func(id flight.ThreadID) recording.Thread { return recording.Thread{ID: id, State: flight.StateMounted} }
	w := recording.NewWriter(&out, recording.Info{From: recordingtest.Began, Started: recordingtest.Began}, s, &recording.State{Threads: []recording.Thread{thread(1), thread(2), thread(3)}})
	const reason = flight.ReasonPinnedGo
	pinned := func(at, since time.Duration, id flight.ThreadID, stack flight.StackID) {
		w.Add(recording.Event{Time: at, Kind: flight.EventPinned, Code: reason, Thread: id, Ref: uint32(stack), Arg: uint64(flight.MakeHeld(at-since, 0))})
	}
	flush := func(at time.Duration) {
		t.Helper()
		if err := w.Flush(at); err != nil {
			t.Fatal(err)
		}
	}
	const sec = time.Second
	w.Hold([]recording.Hold{{1, sec, 2 * sec, reason, here}, {2, sec, 2 * sec, reason, there}})
	flush(2 * sec)
	pinned(3*sec, sec, 2, there)
	w.Hold([]recording.Hold{{1, sec, 4 * sec, reason, here}, {2, 3500 * time.Millisecond, 4 * sec, reason, here}})
	flush(4 * sec)
	if err := w.Begin(&recording.State{At: 5 * sec, Threads: []recording.Thread{thread(1), thread(2), thread(3)}}); err != nil {
		t.Fatal(err)
	}
	w.Add(recording.Event{Time: 6 * sec, Kind: flight.EventMark})
	flush(6 * sec)
	if err := w.CloseAt(7 * sec); err != nil {
		t.Fatal(err)
	}
	f := opened(t, out.Bytes())
	for _, c := range []struct {
		at    time.Duration
		id    flight.ThreadID
		stack flight.StackID // 0: it is mounted
		seen  time.Duration
	}{
		{sec / 2, 1, 0, 0},
		{3 * sec / 2, 1, here, sec},     // the look before the moment was at the beginning
		{5 * sec / 2, 1, here, 2 * sec}, // there is one between
		{5 * sec / 2, 2, there, 2 * sec},
		{3200 * time.Millisecond, 2, 0, 0}, // the event at the end tells
		{9 * sec / 2, 2, here, 4 * sec},
		{6 * sec, 1, here, 4 * sec}, // read from the second state on
		{6 * sec, 2, here, 4 * sec},
		{6 * sec, 3, 0, 0},
	} {
		m := momentOf(t, f, c.at)
		row, _ := rowOf(t, m, c.id)
		if c.stack == 0 {
			if row.State != flight.StateMounted || row.Seen != 0 {
				t.Errorf("at %v: thread %d: got %v, seen %v; want it mounted", c.at, c.id, row.State, row.Seen)
			}
			continue
		}
		if seen := m.Time(row.Seen).Sub(recordingtest.Began); row.State != flight.StatePinned || row.Stack != c.stack || seen != c.seen {
			t.Errorf("at %v: thread %d: got %v at %d, seen at %v; want it pinned at %d, seen at %v", c.at, c.id, row.State, row.Stack, seen, c.stack, c.seen)
		}
	}
}
