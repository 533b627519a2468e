package metrics

import (
	"slices"
	"time"

	"github.com/vtscope/vtscope/runtime/flight"
)

// Bounds are where the buckets of histograms end, in seconds. Each is where a bucket of a [flight.Histogram] ends, so that none is divided: a power of two of
// nanoseconds, each fourth below a millisecond, each second above.
var Bounds = bounds()

func bounds() (all []float64) {
	for _, end := range ends {
		all = append(all, end.Seconds())
	}
	return all
}

var ends = func() (all []time.Duration) {
	for k := 11; k <= 34; k++ {
		if k > 20 || k%2 == 1 {
			all = append(all, 1<<k)
		}
	}
	return append(all, 1<<36, 1<<38)
}()

// newDistribution returns a histogram of flight's with less buckets.
func newDistribution(h *flight.Histogram, sum float64) *Distribution {
	d := &Distribution{Counts: make([]uint64, len(ends)+1), Sum: sum}
	for i, n := range h {
		at := len(ends)
		if i < len(h)-1 { // the last has no end
			at, _ = slices.BinarySearch(ends, flight.BucketEnd(i))
		}
		d.Counts[at] += n
		d.Count += n
	}
	return d
}

// bucketOf returns the bucket of a [Distribution] in which a duration counts.
func bucketOf(d time.Duration) int {
	b := flight.BucketOf(d)
	if b == flight.HistogramBuckets-1 {
		return len(ends)
	}
	at, _ := slices.BinarySearch(ends, flight.BucketEnd(b))
	return at
}

// middles returns about how long all durations took together, in seconds: as if each were in the middle of its bucket, which is at most a fifth wrong, and in the
// first and the last one more.
func middles(h *flight.Histogram) float64 {
	sum, from := 0.0, time.Duration(0)
	for i, n := range h {
		to := flight.BucketEnd(i)
		sum += float64(n) * float64(from+to) / 2
		from = to
	}
	return sum / 1e9
}
