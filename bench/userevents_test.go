//go:build unix

package bench

import (
	"testing"
	"time"

	"github.com/vtscope/vtscope/runtime/flight"
)

var (
	eventItems = flight.CountField("items")
	eventTotal = flight.FloatField("total")
	eventPaid  = flight.BoolField("paid")
	eventBare  = flight.Register("bench.Bare")
	eventThree = flight.Register("bench.Three", eventItems, eventTotal, eventPaid)
)

// BenchmarkUserEvents records events of a program's own, on a thread.
func BenchmarkUserEvents(b *testing.B) {
	for name, event := range map[string]func(){
		"event=mark/fields=0": func() { eventBare.Mark() },
		"event=mark/fields=3": func() { eventThree.Mark(eventItems.Is(3), eventTotal.Is(1.5), eventPaid.Is(true)) },
		"event=span/fields=3": func() { eventThree.Begin().End(eventItems.Is(3), eventTotal.Is(1.5), eventPaid.Is(true)) },
	} {
		b.Run(name, measure(func(n int) (d time.Duration) {
			onThread(func() {
				began := time.Now()
				for range n {
					event()
				}
				d = time.Since(began)
			})
			return d
		}))
	}
}
