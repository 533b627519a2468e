package dump

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/vtscope/vtscope/runtime/flight"
)

func TestWaitBucketsCoverEveryWaitWithinThreePercent(t *testing.T) {
	last := -1
	check := func(v flight.Ticks) {
		i := waitBucket(v)
		if i < last || i >= len(waitHist{}) {
			t.Fatalf("bucket of %d: got %d, want at least %d and below %d", v, i, last, len(waitHist{}))
		}
		last = i
		if m := waitBucketMiddle(i); float64(max(m, v)-min(m, v)) > 0.033*float64(v) {
			t.Fatalf("middle of the bucket of %d: got %d, want it within 3.3 %%", v, m)
		}
	}
	for v := flight.Ticks(0); v < 5000; v++ {
		check(v)
	}
	for shift := 13; shift < 64; shift++ {
		for part := flight.Ticks(16); part < 32; part++ {
			check(part << (shift - 4))
			check((part+1)<<(shift-4) - 1)
		}
	}
	if last != len(waitHist{})-1 {
		t.Errorf("last bucket: got %d, want %d", last, len(waitHist{})-1)
	}
}

func TestMedianIsExactForFewAndCloseForMany(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{1, 2, 3, exactWaits - 1, exactWaits, exactWaits + 1, exactWaits + 2, 1000, 20000} {
		for round := range 5 {
			var parts [3]waitStat
			all := make([]flight.Ticks, n)
			for i := range all {
				all[i] = 1 + flight.Ticks(rng.ExpFloat64()*float64(uint64(1)<<(10+round*10)))
				parts[rng.IntN(len(parts))].add(all[i])
			}
			var w waitStat
			for i := range parts {
				w.merge(&parts[i])
			}
			slices.Sort(all)
			want := all[(n-1)/2]
			got := w.median()
			off := float64(max(got, want)-min(got, want)) / max(float64(want), 1)
			if n <= exactWaits && off != 0 || off > 0.05 {
				t.Errorf("median of %d: got %d, want %d", n, got, want)
			}
			if w.n != n || w.min != all[0] || w.max != all[n-1] {
				t.Errorf("of %d: got n=%d min=%d max=%d, want min=%d max=%d", n, w.n, w.min, w.max, all[0], all[n-1])
			}
		}
	}
}

func TestWaitsThatAreUnknownCountButDoNotMeasure(t *testing.T) {
	for _, n := range []int{1, 2, exactWaits - 1, exactWaits, exactWaits + 1, 5000} {
		var parts [3]waitStat
		for i := range n {
			parts[i%2].add(flight.Ticks(i + 7)) // the third has unknown ones only
			parts[i%3].add(unknownWait)
		}
		var w waitStat
		for i := range parts {
			w.merge(&parts[i])
		}
		got := w.wait(func(t flight.Ticks) time.Duration { return time.Duration(t) })
		off := math.Abs(float64(got.Median)-float64((n-1)/2+7)) / float64((n-1)/2+7)
		if w.n != 2*n || got.Unknown != n || got.Min != 7 || got.Max != time.Duration(n+6) || off > 0.05 {
			t.Errorf("of %d known and as many unknown: got n=%d and %+v", n, w.n, got)
		}
	}
}

// Of some it is at least known how long they wait at most.
func TestUnknownWaitsMayHaveABound(t *testing.T) {
	const now = 10_000
	span := func(t flight.Ticks) time.Duration { return time.Duration(t) }
	bounded, longer, boundless := flight.ThreadRow{After: now - 101}, flight.ThreadRow{After: now - 2345}, flight.ThreadRow{}
	known := flight.ThreadRow{Since: now - 5}
	for _, c := range []struct {
		rows []flight.ThreadRow
		want Wait
		text string
	}{
		{[]flight.ThreadRow{bounded}, Wait{Unknown: 1, Within: 110}, "<110ns"},
		{[]flight.ThreadRow{bounded, longer, bounded}, Wait{Unknown: 3, Within: 2400}, "<2.4µs"},
		{[]flight.ThreadRow{bounded, boundless}, Wait{Unknown: 2}, "?"},
		{[]flight.ThreadRow{bounded, known}, Wait{Min: 5, Median: 5, Max: 5, Unknown: 1, Within: 110}, "5ns or <110ns"},
		{[]flight.ThreadRow{known}, Wait{Min: 5, Median: 5, Max: 5}, "5ns"},
	} {
		var one, parts waitStat
		for i := range c.rows {
			one.addRow(&c.rows[i], now)
			var part waitStat
			part.addRow(&c.rows[i], now)
			parts.merge(&part)
		}
		for _, got := range []Wait{one.wait(span), parts.wait(span)} {
			if got != c.want || got.Text(len(c.rows), time.Duration.String) != c.text {
				t.Errorf("%+v: got %+v, %q; want %+v, %q", c.rows, got, got.Text(len(c.rows), time.Duration.String), c.want, c.text)
			}
		}
	}
	for want, w := range map[string]Wait{
		"": {Unknown: 2}, " for less than 9ns": {Unknown: 2, Within: 9}, " for up to 9ns": {Max: 5, Unknown: 1, Within: 9}, " for up to 5ns or ?": {Max: 5, Unknown: 1},
	} {
		if got := w.upTo(2, time.Duration.String); got != want {
			t.Errorf("%+v: got %q, want %q", w, got, want)
		}
	}
	for d, want := range map[time.Duration]time.Duration{0: 0, 7: 7, 99: 99, 101: 110, 3039 * time.Millisecond: 3100 * time.Millisecond, time.Minute + 1: time.Minute + time.Second, 2 * time.Hour: 2 * time.Hour, 2*time.Hour + 1: 2*time.Hour + time.Minute} {
		if got := roundUp(d); got != want {
			t.Errorf("%v rounded up: got %v, want %v", d, got, want)
		}
	}
}
