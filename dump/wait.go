package dump

import (
	"math/bits"

	"github.com/vtscope/vtscope/runtime/flight"
)

// exactWaits is the number of waits of a group that are kept as they are; with more, they go to a histogram.
const exactWaits = 256

// A waitStat summarises waits in ticks: minimum, maximum, and a median that is exact for up to exactWaits of them.
// The zero value holds none.
type waitStat struct {
	n        int
	min, max flight.Ticks
	exact    []flight.Ticks // n of them, while n <= exactWaits
	hist     *waitHist      // all of them, once n > exactWaits
}

func (w *waitStat) add(t flight.Ticks) {
	if w.n == 0 || t < w.min {
		w.min = t
	}
	if t > w.max {
		w.max = t
	}
	w.n++
	if w.hist != nil {
		w.hist[waitBucket(t)]++
		return
	}
	if w.n <= exactWaits {
		if w.n == 2 {
			w.exact = append(make([]flight.Ticks, 0, 16), w.exact...)
		}
		w.exact = append(w.exact, t)
		return
	}
	w.spill()
	w.hist[waitBucket(t)]++
}

func (w *waitStat) spill() {
	w.hist = new(waitHist)
	for _, t := range w.exact {
		w.hist[waitBucket(t)]++
	}
	w.exact = nil
}

// merge adds the waits of o, which must not be used afterwards.
func (w *waitStat) merge(o *waitStat) {
	switch {
	case o.n == 0:
		return
	case w.n == 0:
		*w = *o
		return
	}
	w.min, w.max = min(w.min, o.min), max(w.max, o.max)
	w.n += o.n
	if w.hist == nil && o.hist == nil && w.n <= exactWaits {
		w.exact = append(w.exact, o.exact...)
		return
	}
	if w.hist == nil {
		w.spill()
	}
	if o.hist == nil {
		o.spill()
	}
	for i, c := range o.hist {
		w.hist[i] += c
	}
}

// median returns the middle wait, the lower of two.
func (w *waitStat) median() flight.Ticks {
	if w.n == 0 {
		return 0
	}
	if w.hist == nil {
		return nth(w.exact, (w.n-1)/2)
	}
	left := (w.n - 1) / 2
	for i, c := range w.hist {
		if left < int(c) {
			return min(max(waitBucketMiddle(i), w.min), w.max)
		}
		left -= int(c)
	}
	return w.max
}

// nth returns what would be s[k] if s were sorted. It reorders s.
func nth(s []flight.Ticks, k int) flight.Ticks {
	for len(s) > 1 {
		// Hoare's partition: afterwards s[:j+1] <= pivot <= s[i:], and between them lies only the pivot.
		pivot := s[len(s)/2]
		i, j := 0, len(s)-1
		for i <= j {
			for s[i] < pivot {
				i++
			}
			for s[j] > pivot {
				j--
			}
			if i <= j {
				s[i], s[j] = s[j], s[i]
				i++
				j--
			}
		}
		switch {
		case k <= j:
			s = s[:j+1]
		case k >= i:
			s, k = s[i:], k-i
		default:
			return pivot
		}
	}
	return s[0]
}

// A waitHist counts waits in buckets of which sixteen span a doubling, so that the middle of a bucket
// is at most 1/32 off what lies in it.
type waitHist [(64-5)*16 + 32]uint32

func waitBucket(t flight.Ticks) int {
	if t < 32 {
		return int(t)
	}
	shift := bits.Len64(uint64(t)) - 5
	return shift*16 + int(t>>shift)
}

func waitBucketMiddle(i int) flight.Ticks {
	if i < 32 {
		return flight.Ticks(i)
	}
	shift := i/16 - 1
	return flight.Ticks(i%16+16)<<shift + 1<<shift/2
}
