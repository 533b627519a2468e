package jfr_test

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vtscope/vtscope/recording"
	"github.com/vtscope/vtscope/recording/recordingtest"
	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/tracing/jfr"
	"github.com/vtscope/vtscope/tracing/jfr/jfrtest"
)

// ours are the types that have an event for each of the source.
func ours() map[string]bool {
	names := map[string]bool{"jdk.ThreadStart": true, "jdk.ThreadEnd": true, "vt.Mark": true, "vt.SpanEnd": true}
	for k := flight.EventNone + 1; k < flight.KindCount; k++ {
		names[typeName(k)] = true
	}
	return names
}

const epoch = 10 * time.Minute // how much time there is in a file before a recording

// compare compares each event of a source with the event it became, in the order that they were in.
func compare(t *testing.T, src recording.Source, f *jfrtest.File) {
	t.Helper()
	names := ours()
	var out []*jfrtest.Event
	for e := range f.Events("") {
		if names[e.Class.Name] {
			out = append(out, e)
		}
	}
	n := 0
	for b := range batches(src) {
		for i := range b.Events {
			in := &b.Events[i]
			if in.Kind == flight.EventNone || in.Kind == flight.EventMore || in.Kind >= flight.KindCount {
				continue
			}
			if n == len(out) {
				t.Fatalf("the file has %d events, the source more", n)
			}
			if err := differs(src, in, out[n]); err != nil {
				t.Fatalf("event %d, %s of thread %d: %v", n, in.Kind, in.Thread, err)
			}
			n++
		}
	}
	if n != len(out) {
		t.Errorf("the file has %d events, the source %d", len(out), n)
	}
}

// differs says what of an event is not as it was.
func differs(src recording.Source, in *recording.Event, out *jfrtest.Event) error {
	k := &flight.Kinds[in.Kind]
	if out.Class.Name != typeName(in.Kind) {
		return fmt.Errorf("is a %s", out.Class.Name)
	}
	end := time.Duration(out.Start()+out.Duration()) - epoch
	if end != in.Time {
		return fmt.Errorf("ends at %v, want %v", end, in.Time)
	}
	thread, _ := out.Get("eventThread.javaThreadId").(int64)
	if in.Thread != 0 && thread != int64(in.Thread) {
		return fmt.Errorf("is of thread %d", thread)
	}
	if want := carrierName(in.Carrier); out.Has("carrier") && fmt.Sprint(out.Get("carrier.javaName")) != want {
		return fmt.Errorf("happened on %v, want %v", out.Get("carrier.javaName"), want)
	}
	for _, field := range k.Fields {
		if err := fieldDiffers(src, in, out, field); err != nil {
			return fmt.Errorf("%s: %w", field.Name, err)
		}
	}
	return nil
}

func carrierName(c flight.CarrierID) string {
	if c == flight.NoCarrier {
		return "<nil>"
	}
	return fmt.Sprintf("carrier-%d", c)
}

func fieldDiffers(src recording.Source, in *recording.Event, out *jfrtest.Event, field flight.Field) error {
	v := in.Word(field)
	var got, want any
	switch field.Use {
	case flight.FieldReason:
		if in.Kind == flight.EventPinned {
			got, want = out.Get("pinnedReason"), flight.Reasons[v].About
		} else {
			got, want = text(out.Get(field.Name)), flight.Reason(v).String()
		}
	case flight.FieldThread:
		got, want = out.Get(field.Name+".javaThreadId"), any(nil)
		if v != 0 {
			want = int64(v)
		}
	case flight.FieldScope:
		got, want = out.Get(field.Name+"Id"), int64(v)
	case flight.FieldDuration:
		if k := &flight.Kinds[in.Kind]; k.Span {
			got, want = out.Duration(), int64(v)
		} else {
			got, want = out.Get(field.Name), int64(v)
		}
	case flight.FieldCount, flight.FieldBytes, flight.FieldInt:
		if got, want = out.Get(field.Name), int64(v); in.Kind == flight.EventGC && field.Name == "cycle" {
			got, want = out.Get("gcId"), int64(v)
		}
	case flight.FieldStack:
		var functions []string
		for _, f := range src.Stack(flight.StackID(v)).Frames {
			functions = append(functions, f.Func)
		}
		got, want = strings.Join(out.Stack(), "\n"), strings.Join(functions, "\n")
	case flight.FieldBlocker:
		b := flight.Blocker(v)
		id, _ := out.Get("blockerId").(int64)
		at, _ := out.Get("address").(int64)
		got, want = fmt.Sprint(text(out.Get("blocker")), id+at), fmt.Sprint(flight.BlockerKinds[b.Kind()].Name, b.ID())
	case flight.FieldText:
		got, want = text(out.Get(field.Name)), field.Text(in.More)
	case flight.FieldScopeIndex, flight.FieldFlags, flight.FieldUserKind, flight.FieldString, flight.FieldTicks, flight.FieldScheduler:
		return nil // what they resolve to is compared in tests of their own
	default:
		return fmt.Errorf("a use that this test does not know: %d", field.Use)
	}
	if got != want {
		return fmt.Errorf("got %v, want %v", got, want)
	}
	return nil
}

func text(v any) string { s, _ := v.(string); return s }

// JF-04: events of very many threads have the right thread, and none is lost, wherever chunks end.
func TestEventsOfManyThreadsHaveTheRightThread(t *testing.T) {
	load := &recordingtest.Load{Threads: 20_000, Events: 150_000}
	f, stats, _ := export(t, load, jfr.Options{ChunkSize: 512 << 10})
	if stats.Chunks < 5 || stats.Threads < 20_000 || stats.Kinds != load.Counts {
		t.Errorf("got %d threads in %d chunks, kinds %v; want more than 20,000 in 5 or more, %v", stats.Threads, stats.Chunks, stats.Kinds, load.Counts)
	}
	compare(t, load, f)
}

func TestEveryKindKeepsItsFields(t *testing.T) {
	s := everything()
	f, _, _ := export(t, s, jfr.Options{})
	compare(t, s, f)
}

// A mix is a load with events of other kinds at random places, and losses.
type mix struct {
	*recordingtest.Load
	seed uint64
}

func (m *mix) Read(ctx context.Context, f func(*recording.Batch) bool) error {
	random := rand.New(rand.NewPCG(m.seed, 2))
	return m.Load.Read(ctx, func(b *recording.Batch) bool {
		c := *b
		c.Events = nil
		for i := range b.Events {
			c.Events = append(c.Events, b.Events[i])
			if random.IntN(4) == 0 {
				c.Events = append(c.Events, m.other(random, &b.Events[i]))
			}
		}
		return f(&c)
	})
}

// others are kinds that say nothing about the states of threads.
var others = []flight.Kind{
	flight.EventPinned, flight.EventMonopolized, flight.EventStarved, flight.EventDeadlock, flight.EventQueued, flight.EventSlice, flight.EventSteal, flight.EventCompensated,
	flight.EventLockWait, flight.EventLockHold, flight.EventTimerLate, flight.EventScopeJoin, flight.EventScopeCancel, flight.EventScopeDeadline, flight.EventLocalSet,
	flight.EventMark, flight.EventSpanBegin, flight.EventSpanEnd, flight.EventSettings, flight.EventThreadName,
}

func (m *mix) other(random *rand.Rand, after *recording.Event) recording.Event {
	e := recording.Event{Kind: others[random.IntN(len(others))], Time: after.Time, Carrier: flight.CarrierID(random.IntN(5)), Thread: after.Thread}
	if e.Thread == 0 {
		e.Thread = flight.ThreadID(1 + random.IntN(1000))
	}
	k := &flight.Kinds[e.Kind]
	for _, field := range k.Fields {
		var v uint64
		switch field.Use {
		case flight.FieldReason:
			v = uint64(random.IntN(int(flight.ReasonCount)))
		case flight.FieldStack:
			v = uint64(random.IntN(16))
		case flight.FieldString:
			v = uint64(random.IntN(3))
		case flight.FieldUserKind:
			v = 1
		case flight.FieldDuration:
			v = uint64(random.Int64N(int64(time.Minute)))
		case flight.FieldThread:
			v = uint64(random.IntN(1000))
		case flight.FieldBlocker:
			v = uint64(flight.MakeBlocker(flight.BlockerKind(random.IntN(int(flight.BlockerKindCount))), random.Uint64N(1<<40)))
		case flight.FieldText:
			e.More = recordingtest.Text(fmt.Sprintf("renamed %d", random.IntN(100)))
			continue
		default:
			v = random.Uint64N(1 << random.IntN(40))
		}
		put(&e, field.At, v)
	}
	switch e.Kind {
	case flight.EventMark, flight.EventSpanBegin, flight.EventSpanEnd:
		e.More = checkoutWords()
	}
	return e
}

func put(e *recording.Event, at flight.Place, v uint64) {
	switch at {
	case flight.AtCode:
		e.Code = flight.Reason(v)
	case flight.AtRef:
		e.Ref = uint32(v)
	case flight.AtArg:
		e.Arg = v
	case flight.AtArgLow:
		e.Arg |= v
	case flight.AtArgHigh:
		e.Arg |= min(v, 1<<16-1) << 48
	default:
		for len(e.More) < 3 || len(e.More) <= int(at-flight.AtMore) {
			e.More = append(e.More, 0)
		}
		e.More[at-flight.AtMore] = v
	}
}

func (m *mix) UserKind(number uint32) *flight.UserKindInfo {
	if number == checkout.Number {
		return &checkout
	}
	return nil
}

func TestAnyMixOfEventsComesOutAsItWentInWhereverChunksEnd(t *testing.T) {
	rounds := 12
	if testing.Short() {
		rounds = 3
	}
	random := rand.New(rand.NewPCG(11, 12))
	for range rounds {
		seed := random.Uint64()
		load := &recordingtest.Load{
			Threads: 1 + random.IntN(300), Carriers: 1 + random.IntN(6), Scopes: 1 + random.IntN(12), Slices: 1 + random.IntN(6),
			Events: 1 + random.IntN(12_000), Step: time.Duration(1 + random.IntN(1_000_000)), Seed: seed,
		}
		size := 4<<10 + random.IntN(300<<10)
		t.Run(fmt.Sprintf("seed=%d/chunk=%d", seed, size), func(t *testing.T) {
			src := &mix{load, seed}
			f, _, _ := export(t, src, jfr.Options{ChunkSize: size})
			compare(t, src, f)
		})
	}
}

func TestChunksHaveTheSizeThatReadersLike(t *testing.T) {
	load := &recordingtest.Load{Threads: 5000, Events: 2_000_000}
	chunks := &sizes{}
	stats, err := jfr.Write(t.Context(), chunks, load, jfr.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if len(chunks.got) != stats.Chunks || stats.Chunks < 3 {
		t.Fatalf("got %d writes for %d chunks, want 3 at least, each in one", len(chunks.got), stats.Chunks)
	}
	for i, n := range chunks.got[:len(chunks.got)-1] {
		if n < 12_000_000 || n > 16<<20 {
			t.Errorf("chunk %d: got %d bytes, want 12 to 16 MB", i, n)
		}
	}
	t.Logf("%d events, %.1f bytes each", stats.Read, float64(stats.Bytes)/float64(stats.Read))
}

type sizes struct{ got []int }

func (s *sizes) Write(b []byte) (int, error) { s.got = append(s.got, len(b)); return len(b), nil }

func TestMemoryDoesNotGrowWithTheEvents(t *testing.T) {
	src := &measured{newLoop(1000, 3_000_000), nil}
	if _, err := jfr.Write(t.Context(), io.Discard, src, jfr.Options{}); err != nil {
		t.Fatal(err)
	}
	if len(src.heap) < 3 {
		t.Fatalf("got %d measurements, want 3", len(src.heap))
	}
	first, last := src.heap[0], slices.Max(src.heap)
	t.Logf("heap in use after each round: %d bytes", src.heap)
	if last > first+8<<20 {
		t.Errorf("got %d bytes after the first round and %d at most, want no more than 8 MiB beyond", first, last)
	}
}

// measured is a loop that looks at the heap after each round.
type measured struct {
	*loop
	heap []uint64
}

func (m *measured) Read(ctx context.Context, f func(*recording.Batch) bool) error {
	n := 0
	return m.loop.Read(ctx, func(b *recording.Batch) bool {
		if n += len(b.Events); n >= (len(m.heap)+1)*len(m.events) {
			runtime.GC()
			var s runtime.MemStats
			runtime.ReadMemStats(&s)
			m.heap = append(m.heap, s.HeapAlloc)
		}
		return f(b)
	})
}
