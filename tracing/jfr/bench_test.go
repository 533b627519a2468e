package jfr_test

import (
	"context"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/vtscope/vtscope/recording"
	"github.com/vtscope/vtscope/recording/recordingtest"
	"github.com/vtscope/vtscope/tracing/jfr"
)

// A loop is a source that gives the same batch again and again, with threads and times of its own each round: making events costs it little.
type loop struct {
	*recordingtest.Script
	state  *recording.State
	events []recording.Event
	took   time.Duration
	ids    uint64 // of threads in a round
	rounds int
}

func newLoop(threads, events int) *loop {
	load := &recordingtest.Load{Threads: threads, Events: min(events, 1_000_000)}
	l := &loop{}
	for b := range batches(load) {
		if l.state == nil {
			l.state = b.State
		}
		l.events = append(l.events, b.Events...)
	}
	for i := range l.events {
		l.ids = max(l.ids, uint64(l.events[i].Thread))
	}
	l.Script = load.Script
	l.took = l.events[len(l.events)-1].Time + time.Microsecond
	l.rounds = (events + len(l.events) - 1) / len(l.events)
	return l
}

// batches iterates over the batches of a source, which are copies.
func batches(src recording.Source) func(yield func(*recording.Batch) bool) {
	return func(yield func(*recording.Batch) bool) {
		err := src.Read(context.Background(), func(b *recording.Batch) bool {
			c := *b
			c.Events = append([]recording.Event(nil), b.Events...)
			return yield(&c)
		})
		if err != nil {
			panic(err)
		}
	}
}

func (l *loop) Read(ctx context.Context, f func(*recording.Batch) bool) error {
	const size = 8192
	b := recording.Batch{State: l.state, Events: make([]recording.Event, size)}
	for round := range l.rounds {
		for from := 0; from < len(l.events); from += size {
			part := l.events[from:min(from+size, len(l.events))]
			b.Events = b.Events[:copy(b.Events[:size], part)]
			for i := range b.Events {
				e := &b.Events[i]
				e.Time += time.Duration(round) * l.took
			}
			if ctx.Err() != nil || !f(&b) {
				return ctx.Err()
			}
			b.State = nil
		}
	}
	return nil
}

func BenchmarkWrite(b *testing.B) {
	for _, threads := range []int{1000, 100_000} {
		b.Run(fmt.Sprintf("events=10000000/threads=%d", threads), func(b *testing.B) {
			src := newLoop(threads, 10_000_000)
			b.ReportAllocs()
			var all uint64
			for b.Loop() {
				stats, err := jfr.Write(b.Context(), io.Discard, src, jfr.Options{})
				if err != nil {
					b.Fatal(err)
				}
				all += stats.Read
				b.ReportMetric(float64(stats.Bytes)/float64(stats.Read), "bytes/event")
			}
			b.ReportMetric(float64(all)/b.Elapsed().Seconds(), "events/s")
		})
	}
}
