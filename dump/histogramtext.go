package dump

import (
	"strings"
	"time"

	"github.com/vtscope/vtscope/runtime/flight"
)

// A bar of a text histogram stands for the buckets of two doublings. The first is the one below 128 ns.
const bucketsPerBar = 4

// barCount is how many bars hold all buckets.
const barCount = 1 + (flight.HistogramBuckets-1+bucketsPerBar-1)/bucketsPerBar

// bars adds up the buckets of each bar.
func bars(h *flight.Histogram) (counts [barCount]uint64) {
	for i, n := range h {
		counts[(i+bucketsPerBar-1)/bucketsPerBar] += n
	}
	return counts
}

// barEnd returns how long what a bar counts is at most; 0 for the last, which has no end.
func barEnd(bar int) time.Duration {
	if bar == barCount-1 {
		return 0
	}
	return flight.BucketEnd(bar * bucketsPerBar)
}

// histograms prints the ready-to-run delays and the slices of a scheduler, side by side.
func (p *schedulersPage) histograms(s *Scheduler) {
	if s.Ready.Total()+s.Slice.Total() == 0 {
		return
	}
	p.quantiles("delays", "from runnable to mounted", &s.Ready)
	p.quantiles("slices", "from mounted to unmounted", &s.Slice)
	ready, slice := bars(&s.Ready.Histogram), bars(&s.Slice.Histogram)
	half := (p.width - labelColumns) / 2
	p.right(dim, "delays", labelColumns+countColumns)
	p.right(dim, "slices", labelColumns+half+countColumns)
	p.endLine()
	for i := range barCount {
		if ready[i]+slice[i] == 0 {
			continue
		}
		what := "<" + p.span(barEnd(i))
		if i == barCount-1 {
			what = ">" + p.span(barEnd(i-1))
		}
		p.right(dim, what, labelColumns-2)
		p.drawBar(ready[i], &ready, labelColumns, half)
		p.drawBar(slice[i], &slice, labelColumns+half, half)
		p.endLine()
	}
}

// countColumns is how wide the number beside a bar is.
const countColumns = 12

// drawBar prints a count and its bar between two columns.
func (p *schedulersPage) drawBar(n uint64, all *[barCount]uint64, start, width int) {
	if n == 0 {
		return
	}
	most := uint64(0)
	for _, m := range all {
		most = max(most, m)
	}
	p.right(plain, Thousands(n), start+countColumns)
	room := max(width-countColumns-3, 1)
	long := int(float64(n)/float64(most)*float64(room) + 0.5)
	bar := strings.Repeat(p.bar, long)
	if long == 0 {
		bar = "."
	}
	p.text(plain, " ")
	p.text(stateStyle(flight.StateRunnable), bar)
}

func (p *schedulersPage) quantiles(name, about string, h *Histogram) {
	p.label(name)
	t := h.Times()
	if t.Count == 0 {
		p.text(dim, about+": none")
		p.endLine()
		return
	}
	longest := p.span(t.Longest)
	if h.Histogram[flight.HistogramBuckets-1] > 0 {
		longest = "over " + p.span(flight.BucketEnd(flight.HistogramBuckets-2))
	}
	p.items([]lineItem{
		{dim, "p50", " " + p.span(t.P50)}, {dim, "p90", " " + p.span(t.P90)}, {dim, "p99", " " + p.span(t.P99)}, {dim, "longest", " " + longest},
		{dim, "of about " + Thousands(t.Count) + " " + about, ""},
	})
}
