package vthread_test

import (
	"fmt"
	"sync/atomic"

	"github.com/vtscope/vtscope/runtime/vthread"
)

// A Tally counts for many at once: each carrier counts in a stripe of its own. Its zero value is ready.
type Tally struct {
	stripes vthread.CarrierLocal[atomic.Int64]
}

// Add adds n. It never waits.
func (t *Tally) Add(n int64) { t.stripes.Get().Add(n) }

// Sum returns the sum of what was added. While others add, it may or may not have their part.
func (t *Tally) Sum() (sum int64) {
	for stripe := range t.stripes.All() {
		sum += stripe.Load()
	}
	return sum
}

func ExampleCarrierLocal() {
	var hits Tally
	var threads []*vthread.Thread
	for range 1000 {
		threads = append(threads, vthread.Start(func() { hits.Add(1) }))
	}
	for _, t := range threads {
		t.Join()
	}
	hits.Add(1) // a goroutine counts too
	fmt.Println(hits.Sum())
	// Output: 1001
}
