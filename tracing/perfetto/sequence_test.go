package perfetto

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/vtscope/vtscope/recording"
	"github.com/vtscope/vtscope/recording/recordingtest"
	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/tracing/perfetto/perfettotest"
)

func TestSequencesBeginAnewWhenTooMuchIsInterned(t *testing.T) {
	var out bytes.Buffer
	x := newExport(&out, recordingtest.New(), Options{Threads: 1, Scopes: 1, Lanes: 1, Flows: 1, Every: time.Second})
	x.w.most = 10
	long := strings.Repeat("long ", 1000) // lengths of one, two and three bytes
	for i := range 300 {
		c := x.carrier(0)
		if i%3 == 0 {
			c = x.carrier(1)
		}
		c.mount(x, time.Duration(i)*time.Millisecond, 1, nil, time.Duration(i))
		c.q.event(time.Duration(i)*time.Millisecond, typeInstant, 0)
		c.q.named(fmt.Sprint("event ", i), "")
		c.q.noteShared("text", long[:i*16])
		c.q.sent()
	}
	x.finish()
	x.w.flush()
	trace, err := perfettotest.Read(out.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	if x.w.epoch < 30 {
		t.Errorf("got %d beginnings, want some dozens", x.w.epoch)
	}
	seen := 0
	for _, k := range trace.Tracks {
		for _, e := range k.Instants {
			if e.Name == "recording" {
				continue
			}
			var i int
			if _, err := fmt.Sscanf(e.Name, "event %d", &i); err != nil || e.Notes["text"] != long[:i*16] || e.Time != int64(i)*int64(time.Millisecond)+int64(time.Minute) {
				t.Errorf("got %q at %d with a text of %d bytes", e.Name, e.Time, len(e.Notes["text"].(string)))
			}
			seen++
		}
	}
	if seen != 300 {
		t.Errorf("got %d instants, want 300", seen)
	}
}

// weighed is a source that looks how much memory is in use before its last batches.
type weighed struct {
	*recordingtest.Load
	heap uint64
}

func (w *weighed) Read(ctx context.Context, f func(*recording.Batch) bool) error {
	n := 0
	return w.Load.Read(ctx, func(b *recording.Batch) bool {
		if n++; n%20 == 0 {
			runtime.GC()
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			w.heap = m.HeapAlloc
		}
		return f(b)
	})
}

func TestMemoryIsThatOfWhatLivesAtATime(t *testing.T) {
	var heap [2]uint64
	for i, events := range []int{400_000, 1_600_000} {
		w := &weighed{Load: recordingtest.NewLoad(events)}
		w.Threads = 2000
		stats, err := Write(context.Background(), io.Discard, w, Options{})
		if err != nil || stats.Events < uint64(events) || stats.Lost != 0 {
			t.Fatalf("got %+v, %v, want %d events", stats, err, events)
		}
		heap[i] = w.heap
	}
	t.Logf("heap: %d and %d bytes", heap[0], heap[1])
	if heap[1] > heap[0]+8<<20 {
		t.Errorf("got a heap of %d bytes, and of %d with four times the events", heap[0], heap[1])
	}
}

func TestSwitchesAllocateNothing(t *testing.T) {
	s := recordingtest.New()
	at := s.At("f f.go:1")
	x := newExport(io.Discard, s, Options{Threads: 1, Scopes: 1, Lanes: 1, Flows: 1 << 30, Every: time.Second})
	events := []recording.Event{
		{Kind: flight.EventMount, Thread: 1},
		{Kind: flight.EventUnpark, Thread: 2, Arg: 1},
		{Kind: flight.EventPark, Thread: 1, Code: flight.ReasonLock, Ref: uint32(at)},
		{Kind: flight.EventUnmount, Thread: 1, Code: flight.ReasonLock},
		{Kind: flight.EventMount, Thread: 2},
		{Kind: flight.EventUnpark, Thread: 1, Arg: 2},
		{Kind: flight.EventPark, Thread: 2, Code: flight.ReasonSleep, Ref: uint32(at)},
		{Kind: flight.EventUnmount, Thread: 2, Code: flight.ReasonSleep},
	}
	b := &recording.Batch{State: &recording.State{}, Events: events}
	now := time.Duration(0)
	turn := func() {
		for i := range events {
			now += time.Microsecond
			events[i].Time = now
		}
		x.batch(b)
	}
	turn()
	before := x.w.packets
	if n := testing.AllocsPerRun(10_000, turn); n != 0 {
		t.Errorf("got %v allocations for %d events, want none", n, len(events))
	}
	if packets := x.w.packets - before; packets < 50_000 {
		t.Errorf("got %d packets, want five or more for each turn", packets)
	}
}
