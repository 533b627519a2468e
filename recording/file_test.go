package recording_test

import (
	"bytes"
	"compress/flate"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vtscope/vtscope/recording"
	"github.com/vtscope/vtscope/recording/recordingtest"
	"github.com/vtscope/vtscope/runtime/flight"
)

// all is what a source gives.
type all struct {
	events []recording.Event
	states []recording.State
	lost   uint64
}

func readAll(t testing.TB, s recording.Source) all {
	t.Helper()
	var a all
	if err := s.Read(t.Context(), func(b *recording.Batch) bool {
		a.lost += b.Lost
		for i := range b.Events {
			e := b.Events[i]
			if len(e.More) == 0 {
				e.More = nil
			}
			e.More = slices.Clone(e.More)
			a.events = append(a.events, e)
		}
		if b.State != nil {
			st := *b.State
			slices.SortFunc(st.Threads, func(x, y recording.Thread) int { return int(x.ID) - int(y.ID) })
			a.states = append(a.states, st)
		}
		return true
	}); err != nil {
		t.Fatal(err)
	}
	return a
}

// recorded writes a source as a recording.
func recorded(t testing.TB, s recording.Source) ([]byte, recording.Totals) {
	t.Helper()
	var out bytes.Buffer
	w := recording.NewWriter(&out, s.Info(), s, nil)
	var err error
	if readErr := s.Read(t.Context(), func(b *recording.Batch) bool { err = w.WriteBatch(b); return err == nil }); err != nil || readErr != nil {
		t.Fatal(err, readErr)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes(), w.Totals()
}

func opened(t testing.TB, b []byte) *recording.File {
	t.Helper()
	f, err := recording.NewFile(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// odd is a script with a bit of everything.
func odd() *recordingtest.Script {
	s := recordingtest.New()
	s.Define(flight.UserKindInfo{Number: 3, Name: "cart.Checkout", Fields: []flight.Field{{Name: "items", At: flight.AtMore, Use: flight.FieldCount}, {Name: "shop", At: flight.AtMore + 1, Use: flight.FieldString}}})
	s.Open(1, "requests", 0, 0)
	s.After(us).Start(1, 1, 0)
	s.Name(1, "GET /cart")
	s.After(us).Mount(1, 7)
	s.Emit(recording.Event{Kind: flight.EventMark, Carrier: 7, Ref: 3, Thread: 1, More: []uint64{12, uint64(s.Intern("Ulm")), 1<<64 - 1}})
	s.Emit(recording.Event{Kind: 200, Code: 255, Carrier: 65535, Ref: 1<<32 - 1, Thread: 1<<64 - 1, Arg: 1<<64 - 1}) // of a later version
	s.After(us).Park(1, flight.ReasonLock, flight.BlockLock(0xc000010000).Limited(), s.At("a.b c.go:1", "d.e f.go:2"))
	s.Batch()
	s.Lose(17)
	s.After(time.Hour).Unpark(1, 0)
	s.After(us).Mount(1, 9)
	s.Emit(recording.Event{Kind: flight.EventPinned, Code: flight.ReasonPinnedGo, Carrier: 9, Thread: 1, Ref: uint32(s.At("a.b c.go:1")), Arg: uint64(flight.MakeHeld(time.Millisecond, 5))})
	s.Yield(1)
	s.After(us).Mount(1, 9)
	s.End(1, flight.ReasonGoexit)
	s.Close(1)
	return s
}

func TestWhatIsWrittenIsRead(t *testing.T) {
	for name, s := range map[string]recording.Source{
		"script": odd(), "load": recordingtest.NewLoad(200_000), "many threads": &recordingtest.Load{Threads: 20_000, Carriers: 300, Events: 200_000},
	} {
		t.Run(name, func(t *testing.T) {
			want := readAll(t, s)
			b, totals := recorded(t, s)
			f := opened(t, b)
			got := readAll(t, f)
			if !reflect.DeepEqual(got.events, want.events) {
				i := 0
				for i < len(got.events) && i < len(want.events) && reflect.DeepEqual(got.events[i], want.events[i]) {
					i++
				}
				t.Fatalf("event %d of %d: got %+v, want %+v", i, len(want.events), got.events[i:min(i+1, len(got.events))], want.events[i:min(i+1, len(want.events))])
			}
			if got.lost != want.lost || totals.Events != uint64(len(want.events)) || f.Totals().Events != totals.Events || f.Totals().Bytes != uint64(len(b)) {
				t.Errorf("got %d lost, totals %+v and %+v; want %d lost, %d events in %d bytes", got.lost, totals, f.Totals(), want.lost, len(want.events), len(b))
			}
			if in := f.Info(); in.Program != "script" || !in.From.Equal(recordingtest.Began) || len(in.Incomplete) > 0 || !in.To.Equal(in.From.Add(want.events[len(want.events)-1].Time)) {
				t.Errorf("got %+v, want a complete recording of script to its last event", in)
			}
			for i := range want.events {
				e := &want.events[i]
				if e.Kind == flight.EventPark && !reflect.DeepEqual(f.Stack(flight.StackID(e.Ref)), s.Stack(flight.StackID(e.Ref))) {
					t.Fatalf("stack %d: got %+v, want %+v", e.Ref, f.Stack(flight.StackID(e.Ref)), s.Stack(flight.StackID(e.Ref)))
				}
			}
			t.Logf("%d events, %d bytes: %.2f an event; of them %d for states and %d for definitions", totals.Events, len(b), float64(totals.EventBytes)/float64(totals.Events), totals.StateBytes, totals.DefinitionBytes)
		})
	}
}

func TestStatesAreThoseThatTheEventsLeadTo(t *testing.T) {
	s := odd()
	b, _ := recorded(t, s)
	f := opened(t, b)
	got, want := readAll(t, f).states, readAll(t, s).states
	if len(got) != 2 {
		t.Fatalf("got %d states, want 2", len(got))
	}
	got[1].At = want[1].At // the state of the script is as late as the next event
	if !reflect.DeepEqual(got[1], want[1]) {
		t.Errorf("got  %+v\nwant %+v", got[1], want[1])
	}
	if k := f.UserKind(3); k == nil || !reflect.DeepEqual(k, s.UserKind(3)) {
		t.Errorf("got %+v, want %+v", k, s.UserKind(3))
	}
	if got := f.String(s.Intern("Ulm")); got != "Ulm" {
		t.Errorf("string of a user's event: got %q, want Ulm", got)
	}
}

func TestEventsAreSortedWithinAChunk(t *testing.T) {
	var out bytes.Buffer
	s := recordingtest.New()
	w := recording.NewWriter(&out, s.Info(), s, nil)
	for _, i := range rand.New(rand.NewPCG(1, 1)).Perm(1000) {
		w.Add(recording.Event{Time: time.Duration(i), Kind: flight.EventMark, Thread: 1})
	}
	if err := w.Flush(499); err != nil {
		t.Fatal(err)
	}
	if n := w.Pending(); n != 500 {
		t.Errorf("got %d events pending, want 500", n)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	events := readAll(t, opened(t, out.Bytes())).events
	if len(events) != 1000 || !slices.IsSortedFunc(events, func(a, b recording.Event) int { return int(a.Time - b.Time) }) {
		t.Errorf("got %d events, want 1,000 in order", len(events))
	}
}

// many is a recording of several chunks, where each begins, and how many events are before that.
func many(t testing.TB) (b []byte, at, before []int) {
	var out bytes.Buffer
	s := recordingtest.NewLoad(3000)
	_ = s.Info()
	w := recording.NewWriter(&out, s.Info(), s, nil)
	n := 0
	if err := s.Read(context.Background(), func(b *recording.Batch) bool {
		for i := 0; i < len(b.Events); i += 500 {
			at, before = append(at, out.Len()), append(before, n)
			chunk := b.Events[i:min(i+500, len(b.Events))]
			n += len(chunk)
			w.Add(chunk...)
			if err := w.Flush(time.Hour); err != nil {
				t.Fatal(err)
			}
		}
		return true
	}); err != nil {
		t.Fatal(err)
	}
	at, before = append(at, out.Len()), append(before, n)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes(), at, before
}

func TestCutRecordingGivesAllWholeChunks(t *testing.T) {
	b, at, before := many(t)
	if len(at) < 6 {
		t.Fatalf("got %d chunks, want several", len(at))
	}
	whole := readAll(t, opened(t, b)).events
	for cut := len(b) - 1; cut > 0; cut -= 1 + cut/97 {
		f, err := recording.NewFile(bytes.NewReader(b[:cut]), int64(cut))
		chunks := 0
		for chunks+1 < len(at) && at[chunks+1] <= cut {
			chunks++
		}
		if chunks == 0 {
			if err == nil {
				t.Fatalf("cut after %d bytes: got a recording, want an error", cut)
			}
			continue
		}
		if err != nil {
			t.Fatalf("cut after %d bytes: %v", cut, err)
		}
		got := readAll(t, f)
		if want := before[chunks]; len(got.events) != want || got.lost != 0 || !reflect.DeepEqual(got.events, whole[:want]) {
			t.Fatalf("cut after %d bytes: got %d events, want %d", cut, len(got.events), want)
		}
		if len(f.Info().Incomplete) == 0 {
			t.Fatalf("cut after %d bytes: got a complete recording, want it to say that it is cut", cut)
		}
	}
}

func TestDamagedChunkIsLeftOutAndCounted(t *testing.T) {
	b, at, _ := many(t)
	whole := readAll(t, opened(t, b)).events
	for name, where := range map[string]int{"body": at[2] + 100, "header": at[2] + 20, "magic": at[2]} {
		damaged := slices.Clone(b)
		damaged[where] ^= 0x40
		f := opened(t, damaged)
		got := readAll(t, f)
		want := slices.Concat(whole[:1000], whole[1500:])
		if !reflect.DeepEqual(got.events, want) {
			t.Errorf("%s: got %d events, want %d: all but those of the third chunk", name, len(got.events), len(want))
		}
		if in := f.Info().Incomplete; len(in) == 0 {
			t.Errorf("%s: got nothing incomplete, want it told", name)
		} else {
			t.Logf("%s: %s", name, strings.Join(in, "; "))
		}
		if name == "body" && got.lost != 500 {
			t.Errorf("%s: got %d events lost, want 500", name, got.lost)
		}
	}
}

func TestReadSinceBeginsAtAState(t *testing.T) {
	var out bytes.Buffer
	s := recordingtest.New()
	w := recording.NewWriter(&out, s.Info(), s, nil)
	for i := range 10 {
		w.Add(recording.Event{Time: time.Duration(i) * time.Second, Kind: flight.EventThreadStart, Thread: flight.ThreadID(i + 1)})
		if err := w.Begin(&recording.State{At: time.Duration(i) * time.Second}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	f := opened(t, out.Bytes())
	for _, at := range []time.Duration{-time.Second, 0, 5500 * time.Millisecond, time.Hour} {
		var first *recording.Batch
		var events int
		if err := f.ReadSince(t.Context(), at, func(b *recording.Batch) bool {
			if first == nil {
				first = &recording.Batch{State: b.State}
			}
			events += len(b.Events)
			return true
		}); err != nil {
			t.Fatal(err)
		}
		if first == nil || first.State == nil || first.State.At > max(at, 0) || first.State.At < min(at, 9*time.Second)-time.Second {
			t.Errorf("since %v: got first state %+v, want the last one before", at, first)
		}
	}
}

func TestOtherFilesAreRefused(t *testing.T) {
	for _, b := range [][]byte{nil, []byte("vtrchunk"), bytes.Repeat([]byte("vtrchunk"), 1000), make([]byte, 100_000)} {
		if _, err := recording.NewFile(bytes.NewReader(b), int64(len(b))); err == nil {
			t.Errorf("%d bytes of something else: got no error", len(b))
		}
	}
	if _, err := recording.Open(t.TempDir()); err == nil {
		t.Error("a directory: got no error")
	}
	if _, err := recording.Open(filepath.Join(t.TempDir(), "none.vtr")); !os.IsNotExist(err) && (err == nil || !strings.Contains(err.Error(), "no such file")) {
		t.Errorf("no file: got %v", err)
	}
}

// readAnything reads bytes that may be anything; it must end, and give no event that the header does not have.
func readAnything(t testing.TB, b []byte) {
	f, err := recording.NewFile(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		return
	}
	n := uint64(0)
	if err := f.Read(context.Background(), func(b *recording.Batch) bool { n += uint64(len(b.Events)); return true }); err != nil {
		t.Fatal(err)
	}
	if have := f.Totals().Events; n > have {
		t.Fatalf("got %d events, the headers say %d", n, have)
	}
	_ = f.ReadSince(context.Background(), time.Millisecond, func(*recording.Batch) bool { return false })
}

func TestEveryTruncationAndRandomFlipsAreRead(t *testing.T) {
	b, _ := recorded(t, odd())
	for n := range b {
		readAnything(t, b[:n])
	}
	many, _, _ := many(t)
	random := rand.New(rand.NewPCG(2, 2))
	for range 300 {
		damaged := slices.Clone(many)
		for range 1 + random.IntN(8) {
			damaged[random.IntN(len(damaged))] ^= byte(1 << random.IntN(8))
		}
		readAnything(t, damaged)
	}
}

// fixed are the 32 bytes of an event in a ring, what a recording would be without any thought; deflated or not.
type fixed struct{ to io.Writer }

func (f *fixed) WriteBatch(b *recording.Batch) error {
	var buf []byte
	for i := range b.Events {
		e := &b.Events[i]
		buf = binary.LittleEndian.AppendUint64(buf, uint64(e.Time))
		buf = append(buf, byte(e.Kind), byte(e.Code))
		buf = binary.LittleEndian.AppendUint16(buf, uint16(e.Carrier))
		buf = binary.LittleEndian.AppendUint32(buf, e.Ref)
		buf = binary.LittleEndian.AppendUint64(buf, uint64(e.Thread))
		buf = binary.LittleEndian.AppendUint64(buf, e.Arg)
		for _, w := range e.More {
			buf = binary.LittleEndian.AppendUint64(buf, w)
		}
	}
	_, err := f.to.Write(buf)
	return err
}

// written counts bytes.
type written struct{ n int }

func (w *written) Write(b []byte) (int, error) { w.n += len(b); return len(b), nil }

func BenchmarkWrite(b *testing.B) {
	l := &recordingtest.Load{Threads: 10_000, Events: 300_000}
	var batches []recording.Batch
	events := 0
	if err := l.Read(b.Context(), func(batch *recording.Batch) bool {
		c := *batch
		c.Events = slices.Clone(c.Events)
		events += len(c.Events)
		batches = append(batches, c)
		return true
	}); err != nil {
		b.Fatal(err)
	}
	type batchWriter interface {
		WriteBatch(*recording.Batch) error
	}
	for _, as := range []struct {
		name string
		to   func(io.Writer) (batchWriter, func() error)
	}{
		{"recording", func(to io.Writer) (batchWriter, func() error) {
			w := recording.NewWriter(to, l.Info(), l, nil)
			return w, w.Close
		}},
		{"fixed", func(to io.Writer) (batchWriter, func() error) { return &fixed{to}, func() error { return nil } }},
		{"fixed-deflated", func(to io.Writer) (batchWriter, func() error) {
			w, _ := flate.NewWriter(to, flate.BestSpeed)
			return &fixed{w}, w.Close
		}},
	} {
		b.Run("as="+as.name, func(b *testing.B) {
			n, bytes := 0, 0
			for b.Loop() {
				var out written
				w, end := as.to(&out)
				for i := range batches {
					if err := w.WriteBatch(&batches[i]); err != nil {
						b.Fatal(err)
					}
				}
				if err := end(); err != nil {
					b.Fatal(err)
				}
				n, bytes = n+events, out.n
			}
			b.ReportMetric(float64(n)/b.Elapsed().Seconds()/1e6, "Mevents/s")
			b.ReportMetric(float64(bytes)/float64(events), "B/event")
		})
	}
}

func BenchmarkRead(b *testing.B) {
	bytes, totals := recorded(b, &recordingtest.Load{Threads: 10_000, Events: 300_000})
	n := 0
	for b.Loop() {
		if err := opened(b, bytes).Read(b.Context(), func(batch *recording.Batch) bool { n += len(batch.Events); return true }); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(n)/b.Elapsed().Seconds()/1e6, "Mevents/s")
	b.ReportMetric(float64(totals.Bytes)/float64(totals.Events), "B/event")
}

func ExampleFile() {
	s := recordingtest.New()
	s.Start(1, 0, 0)
	s.After(time.Millisecond).Mount(1, 0)
	var out bytes.Buffer
	w := recording.NewWriter(&out, s.Info(), s, nil)
	_ = s.Read(context.Background(), func(b *recording.Batch) bool { return w.WriteBatch(b) == nil })
	_ = w.Close()

	f, err := recording.NewFile(bytes.NewReader(out.Bytes()), int64(out.Len()))
	if err != nil {
		fmt.Println(err)
		return
	}
	tracker := recording.NewTracker(f)
	_ = f.Read(context.Background(), func(b *recording.Batch) bool {
		for i := range b.Events {
			c := tracker.Apply(&b.Events[i])
			fmt.Printf("%v thread %d %v after %v %v\n", b.Events[i].Time, c.Thread.ID, c.Thread.State, c.For, c.From)
		}
		return true
	})
	// Output:
	// 0s thread 1 runnable after 0s free
	// 1ms thread 1 mounted after 1ms runnable
}
