package dump

import (
	"testing"
	"time"

	"github.com/vtscope/vtscope/runtime/flight"
)

func TestBucketsOfWaitsHaveNoLastOne(t *testing.T) {
	seen := 0
	for d := time.Duration(1); d > 0 && d < 100*365*24*time.Hour; d += d/3 + 1 {
		i := bucketOfWait(d)
		if d >= flight.BucketEnd(i) || i > 0 && d < flight.BucketEnd(i-1) {
			t.Errorf("%v is in bucket %d, from %v to %v", d, i, flight.BucketEnd(i-1), flight.BucketEnd(i))
		}
		if i >= flight.HistogramBuckets {
			seen++
		}
	}
	if seen < 10 {
		t.Errorf("%d durations were beyond the histogram, want more", seen)
	}
	if i := bucketOfWait(1<<63 - 1); i >= maxWaitBuckets {
		t.Errorf("the longest is in bucket %d", i)
	}
}
