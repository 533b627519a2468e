package flight

import (
	"math/bits"
	"time"
)

// HistogramBuckets is how many buckets a [Histogram] has. It is part of the flight format.
const HistogramBuckets = 64

// A Histogram counts durations in buckets that grow with what is in them: below 128 ns, then up to 192 ns, 256 ns, 384 ns, and so on, two for
// each doubling, and the last for all from 275 seconds on. So a quantile is at most half too long.
type Histogram [HistogramBuckets]uint64

const firstBucketBits = 7 // the first bucket ends at 1<<7 ns

// BucketOf returns the bucket of a duration; one below 0 counts as 0.
func BucketOf(d time.Duration) int {
	if d < 1<<firstBucketBits {
		return 0
	}
	octave := bits.Len64(uint64(d)) - 1
	half := int(uint64(d) >> (octave - 1) & 1)
	return min(1+2*(octave-firstBucketBits)+half, HistogramBuckets-1)
}

// BucketEnd returns where a bucket ends and the next begins. The last has no end: it returns that of a bucket which would be as wide.
func BucketEnd(i int) time.Duration {
	if i <= 0 {
		return 1 << firstBucketBits
	}
	octave := (i-1)/2 + firstBucketBits
	if (i-1)%2 == 0 {
		return 3 << (octave - 1)
	}
	return 2 << octave
}

// Total returns how many durations are counted.
func (h *Histogram) Total() (n uint64) {
	for _, c := range h {
		n += c
	}
	return n
}

// Quantile returns the duration that the part q of all, from 0 to 1, does not exceed: the end of its bucket. It is 0 if there are none.
func (h *Histogram) Quantile(q float64) time.Duration {
	total := h.Total()
	if total == 0 {
		return 0
	}
	rank := uint64(q * float64(total))
	sum := uint64(0)
	last := 0
	for i, c := range h {
		if c == 0 {
			continue
		}
		last = i
		if sum += c; sum > rank {
			break
		}
	}
	return BucketEnd(last)
}

// Above returns how many durations are longer than d, those in d's own bucket left out.
func (h *Histogram) Above(d time.Duration) (n uint64) {
	for _, c := range h[BucketOf(d)+1:] {
		n += c
	}
	return n
}

// Add adds the counts of o.
func (h *Histogram) Add(o *Histogram) {
	for i, c := range o {
		h[i] += c
	}
}
