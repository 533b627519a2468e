package dump

import (
	"math/bits"
	"time"

	"github.com/vtscope/vtscope/runtime/flight"
)

// exactWaits is the number of waits of a group that are kept as they are; with more, they go to a histogram.
const exactWaits = 256

// unknownWait is the wait of a thread of which nobody recorded since when it is in its state. Known ones are at least 1.
const unknownWait flight.Ticks = 0

// A waitStat summarises waits in ticks: minimum, maximum, and a median that is exact for up to exactWaits of them.
// The zero value holds none.
type waitStat struct {
	n         int          // all
	unknown   int          // those of n that are [unknownWait]; the rest is of the others
	boundless int          // those of unknown that may be of any length
	within    flight.Ticks // the others of unknown are shorter
	min, max  flight.Ticks
	exact     []flight.Ticks // known of them, while known <= exactWaits
	hist      *waitHist      // all that are known, once they are more
}

func (w *waitStat) known() int { return w.n - w.unknown }

// addRow adds how long a thread is in its state, and returns it.
func (w *waitStat) addRow(r *flight.ThreadRow, now flight.Ticks) flight.Ticks {
	t := elapsed(r.Since, now)
	if t != unknownWait {
		w.add(t)
		return t
	}
	w.n++
	w.unknown++
	if r.After == 0 {
		w.boundless++
	} else {
		w.within = max(w.within, elapsed(r.After, now))
	}
	return t
}

// add adds one of which nothing else is known.
func (w *waitStat) add(t flight.Ticks) {
	w.n++
	if t == unknownWait {
		w.unknown++
		w.boundless++
		return
	}
	known := w.known()
	if known == 1 || t < w.min {
		w.min = t
	}
	if t > w.max {
		w.max = t
	}
	if w.hist != nil {
		w.hist[waitBucket(t)]++
		return
	}
	if known <= exactWaits {
		if known == 2 {
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
	case o.known() == 0:
		w.mergeUnknown(o)
		w.n += o.n
		return
	case w.known() == 0:
		was := *w
		*w = *o
		w.mergeUnknown(&was)
		w.n += was.n
		return
	}
	w.min, w.max = min(w.min, o.min), max(w.max, o.max)
	w.mergeUnknown(o)
	w.n += o.n
	if w.hist == nil && o.hist == nil && w.known() <= exactWaits {
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

func (w *waitStat) mergeUnknown(o *waitStat) {
	w.unknown += o.unknown
	w.boundless += o.boundless
	w.within = max(w.within, o.within)
}

// median returns the middle wait, the lower of two.
func (w *waitStat) median() flight.Ticks { return w.rank((w.known() - 1) / 2) }

// rank returns the wait than which k are shorter; 0 if none is known. It reorders exact.
func (w *waitStat) rank(k int) flight.Ticks {
	if w.known() == 0 {
		return 0
	}
	if w.hist == nil {
		return nth(w.exact, k)
	}
	for i, c := range w.hist {
		if k < int(c) {
			return min(max(waitBucketMiddle(i), w.min), w.max)
		}
		k -= int(c)
	}
	return w.max
}

// younger returns how many waits are known that are shorter than t; of more than exactWaits, about so many.
func (w *waitStat) younger(t flight.Ticks) int {
	n := 0
	if w.hist == nil {
		for _, d := range w.exact {
			if d < t {
				n++
			}
		}
		return n
	}
	for _, c := range w.hist[:waitBucket(t)] {
		n += int(c)
	}
	return n
}

// wait returns what the statistics say, in time.
func (w *waitStat) wait(span func(flight.Ticks) time.Duration) Wait {
	all := Wait{Min: span(w.min), Median: span(w.median()), Max: span(w.max), Unknown: w.unknown}
	if w.boundless == 0 {
		all.Within = roundUp(span(w.within))
	}
	return all
}

// roundUp rounds a bound so that it is still one when it is written, with two digits or in seconds or minutes.
func roundUp(d time.Duration) time.Duration {
	step := time.Minute
	switch {
	case d <= 0:
		return 0
	case d < time.Minute:
		for step = 1; d >= 100*step; {
			step *= 10
		}
	case d < time.Hour:
		step = time.Second
	}
	return (d + step - 1) / step * step
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
