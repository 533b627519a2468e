package perfetto_test

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"testing"

	"github.com/vtscope/vtscope/recording"
	"github.com/vtscope/vtscope/recording/recordingtest"
	"github.com/vtscope/vtscope/tracing/perfetto"
)

// repeated is a source that gives the batches of another without making them anew.
type repeated struct {
	recording.Source
	batches []recording.Batch
}

func (r *repeated) Read(ctx context.Context, f func(*recording.Batch) bool) error {
	for i := range r.batches {
		if b := r.batches[i]; !f(&b) || ctx.Err() != nil {
			break
		}
	}
	return ctx.Err()
}

// BenchmarkWrite writes more than a million events: ns for each, and bytes of the trace.
func BenchmarkWrite(b *testing.B) {
	for _, threads := range []int{1000, 100_000} {
		b.Run(fmt.Sprintf("threads=%d", threads), func(b *testing.B) { benchmarkWrite(b, threads) })
	}
}

func benchmarkWrite(b *testing.B, threads int) {
	l := recordingtest.NewLoad(1_000_000)
	l.Threads, l.Scopes, l.Carriers = threads, 100, 8
	src := &repeated{Source: l}
	events := 0
	if err := l.Read(context.Background(), func(batch *recording.Batch) bool {
		kept := *batch
		kept.Events = append([]recording.Event(nil), batch.Events...)
		src.batches = append(src.batches, kept)
		events += len(kept.Events)
		return true
	}); err != nil {
		b.Fatal(err)
	}
	runtime.GC()
	b.ResetTimer()
	var bytes uint64
	for b.Loop() {
		stats, err := perfetto.Write(context.Background(), io.Discard, src, perfetto.Options{})
		if err != nil {
			b.Fatal(err)
		}
		bytes = stats.Bytes
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(events), "ns/event")
	b.ReportMetric(float64(events)*float64(b.N)/b.Elapsed().Seconds(), "events/s")
	b.ReportMetric(float64(bytes)/float64(events), "B/event")
}
