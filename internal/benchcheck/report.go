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
	figure   float64 // the median
	low, top float64 // the range of the rounds
	of, peer float64 // medians of what the figure is made of
}

func (v verdict) ok() bool { return v.figure <= v.limit }

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
	return verdict{
		budget: b, figure: figures.Median(values), low: slices.Min(values), top: slices.Max(values),
		of: figures.Median(of), peer: figures.Median(over),
	}, nil
}

// report prints all lines, and returns how many budgets are over. What has no limit is neither ok nor over.
func report(w io.Writer, verdicts []verdict) (over int) {
	fmt.Fprintf(w, "%-50s %10s %10s  %-4s  %s\n", "budget", "figure", "limit", "", "rounds; medians of the peers")
	ok := 0
	for _, v := range verdicts {
		word, limit := "ok", v.form.print(v.limit)
		switch {
		case math.IsInf(v.limit, 1):
			word, limit = "-", "-"
		case v.ok():
			ok++
		default:
			word = "over"
			over++
		}
		detail := fmt.Sprintf("%s .. %s", v.form.print(v.low), v.form.print(v.top))
		if v.peer != 0 {
			detail += fmt.Sprintf("; %.0f %s against %.0f %[2]s", v.of, v.form.peers, v.peer)
		}
		fmt.Fprintf(w, "%-50s %10s %10s  %-4s  %s\n", v.name, v.form.print(v.figure), limit, word, detail)
	}
	for _, n := range notYet {
		fmt.Fprintf(w, "not yet: %s: %s\n", n[0], n[1])
	}
	fmt.Fprintf(w, "bench-check: %d ok, %d over\n", ok, over)
	return over
}
