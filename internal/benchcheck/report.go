package main

import (
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/vtscope/vtscope/internal/figures"
)

// A verdict is what a budget's line says.
type verdict struct {
	budget
	figure   float64 // the median; of pairs the mean
	low, top float64 // the range of the rounds; of pairs the confidence interval
	of, peer float64 // medians of what the figure is made of
}

// word tells what the line says. What has no limit is neither ok nor over; what needs a confidence interval is undecided while the limit is in it.
func (v verdict) word() string {
	switch {
	case math.IsInf(v.limit, 1):
		return "-"
	case v.form.paired && v.low <= v.limit && v.top > v.limit:
		return "undecided"
	case v.form.paired && v.top <= v.limit, !v.form.paired && v.figure <= v.limit:
		return "ok"
	}
	return "over"
}

// judge takes the medians. A budget whose metric is missing, or was measured less often than its peer, is an
// error: a benchmark has lost its name.
func judge(b budget, f figures.Figures) (verdict, error) {
	of, over := f[b.of], f[b.over]
	if b.over == none {
		over = make([]float64, len(of))
	}
	if len(of) == 0 {
		return verdict{}, fmt.Errorf("%s: no benchmark printed %s of %s", b.name, b.of.Unit, b.of.Benchmark)
	}
	if len(of) != len(over) {
		return verdict{}, fmt.Errorf("%s: %d figures of %s, %d of %s", b.name, len(of), b.of.Benchmark, len(over), b.over.Benchmark)
	}
	values := make([]float64, len(of))
	for i := range of {
		values[i] = b.form.figure(of[i], over[i])
	}
	v := verdict{
		budget: b, figure: figures.Median(values), low: slices.Min(values), top: slices.Max(values),
		of: figures.Median(of), peer: figures.Median(over),
	}
	if b.form.paired {
		mean, half := figures.Confidence(values)
		v.figure, v.low, v.top = mean, mean-half, mean+half
	}
	return v, nil
}

// report prints all lines, and returns how many budgets are over.
func report(w io.Writer, verdicts []verdict) (over int) {
	fmt.Fprintf(w, "%-50s %10s %10s  %-4s  %s\n", "budget", "figure", "limit", "", "rounds; medians of the peers")
	count := map[string]int{}
	for _, v := range verdicts {
		word, limit := v.word(), "-"
		count[word]++
		if !math.IsInf(v.limit, 1) {
			limit = v.form.print(v.limit)
		}
		detail := fmt.Sprintf("%s .. %s", v.form.print(v.low), v.form.print(v.top))
		if v.form.paired {
			detail += " with 95 % confidence"
		}
		if v.peer != 0 {
			digits := 0
			if v.peer < 10 {
				digits = 1
			}
			detail += fmt.Sprintf("; %.*f %s against %.*f %s", digits, v.of, v.form.peers, digits, v.peer, v.form.peers)
		}
		fmt.Fprintf(w, "%-50s %10s %10s  %-4s  %s\n", v.name, v.form.print(v.figure), limit, word, detail)
	}
	for _, n := range notYet {
		fmt.Fprintf(w, "not yet: %s: %s\n", n[0], n[1])
	}
	fmt.Fprintf(w, "bench-check: %d ok, %d over", count["ok"], count["over"])
	if n := count["undecided"]; n > 0 {
		fmt.Fprintf(w, ", %d undecided", n)
	}
	fmt.Fprintln(w)
	return count["over"]
}
