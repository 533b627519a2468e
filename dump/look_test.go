package dump_test

import (
	"fmt"
	"testing"

	"github.com/vtscope/vtscope/dump"
	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/flight/flighttest"
)

// What a page asks for each second: a look with the delays of scopes, of a process on many carriers.
func BenchmarkLook(b *testing.B) {
	for _, c := range []struct{ threads, carriers int }{{1_000_000, 2}, {1_000_000, 128}} {
		b.Run(fmt.Sprintf("threads=%d/carriers=%d", c.threads, c.carriers), func(b *testing.B) {
			const ring = 4096
			spec := flighttest.Spec{Threads: c.threads, Carriers: c.carriers, RingSize: ring}
			f := flighttest.Write(b, spec)
			for i, r := range f.Rings {
				for n := range ring / 4 {
					id := flight.ThreadID(1 + (i*ring/4+n)*7%c.threads)
					now := flight.Now()
					r.Emit(now, flight.EventUnpark, 0, 0, id, 0)
					r.Emit(now+100, flight.EventMount, 0, 0, id, 0)
					r.Emit(now+200, flight.EventPark, flight.ReasonPark, 0, id, 0)
					r.Emit(now+200, flight.EventUnmount, flight.ReasonPark, 0, id, 0)
				}
			}
			r, err := flight.Open(f.Path)
			if err != nil {
				b.Fatal(err)
			}
			defer r.Close()
			b.ReportAllocs()
			for b.Loop() {
				l, err := dump.LookOptions{Delays: true}.Take(b.Context(), r)
				if err != nil || l.Snapshot.Threads != c.threads || l.Schedulers.Sample.Ready == 0 {
					b.Fatalf("%v: %d threads, %+v", err, l.Snapshot.Threads, l.Schedulers.Sample)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Milliseconds())/float64(b.N), "ms/op")
		})
	}
}
