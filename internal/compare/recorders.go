package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os/exec"

	"github.com/vtscope/vtscope/internal/figures"
)

// A contest compares what recorders add to a work. Its zero value is none.
type contest struct {
	word     string  // of the work in BenchmarkCost and BenchmarkEventBytes of package bench
	what     string  // that an operation has
	switches float64 // so many of that
}

// A recorder takes part in all contests.
type recorder struct {
	name  string
	bench string // its word in those benchmarks; or
	way   way    // the way that has it, against plainJDK
}

// recorders, ours first. JFR of the default settings and with all events tells nothing of most switches: what it adds is none the less.
var recorders = []recorder{
	{name: "ours", bench: "default"},
	{name: "ours, profile", bench: "profile"},
	{name: "runtime/trace", bench: "gotrace"},
	{name: "JFR", way: jfr},
	{name: "JFR, all", way: jfrAll},
	{name: "JFR, each wait", way: jfrEach},
}

// costs is the key under which [measured] has what the benchmarks of recorders print.
const costs = "costs"

// recorders runs the benchmarks of the recorders that are not the JDK's.
func (b bench) recorders(w work) *exec.Cmd {
	c := exec.Command(b.binary, "-test.run", "^$", "-test.bench", "^Benchmark(Cost|EventBytes)$/./^work="+w.recorder.word+"$", "-test.benchtime", "3x", "-test.timeout", "10m")
	c.Dir = "bench"
	return c
}

// added returns the nanoseconds that the recorder adds, one a round; none if that was not measured.
func (r recorder) added(w work, all measured) (values []float64) {
	if r.bench != "" {
		return all[costs][figures.Metric{Benchmark: "Cost/recorder=" + r.bench + "/work=" + w.recorder.word, Unit: "added-ns"}]
	}
	without := all.values(plainJDK, w, w.rows[0])
	for i, with := range all.values(r.way, w, w.rows[0]) {
		values = append(values, (with-without[i])/w.recorder.switches)
	}
	return values
}

// bytes returns how many an event has on the disk, one a round; none if that was not measured.
func (r recorder) bytes(w work, all measured) []float64 {
	if r.bench != "" {
		return all[costs][figures.Metric{Benchmark: "EventBytes/recorder=" + r.bench + "/work=" + w.recorder.word, Unit: "B/event"}]
	}
	return all[r.way.name][figures.Metric{Benchmark: "EventBytes/work=" + w.bench + "/impl=" + r.way.impl, Unit: "B/event"}]
}

// printRecorders prints what recorders add, and who adds least. A figure of ours or of Go's trace that is missing is an error.
func printRecorders(w io.Writer, chosen []work, all measured) error {
	out := bufio.NewWriter(w)
	var missing error
	head := false
	for _, k := range chosen {
		if !k.asksForAll() {
			continue
		}
		if !head {
			head = true
			fmt.Fprint(out, "\n| recorders |")
			for _, r := range recorders {
				fmt.Fprintf(out, " %s |", r.name)
			}
			fmt.Fprint(out, " cheapest |\n| --- |")
			for range recorders {
				fmt.Fprint(out, " ---: |")
			}
			fmt.Fprintln(out, " --- |")
		}
		missing = errors.Join(missing,
			printContest(out, "added to "+k.recorder.what, k, all, recorder.added, nanos),
			printContest(out, "an event of "+k.java+" on disk", k, all, recorder.bytes, tenths))
	}
	return errors.Join(missing, out.Flush())
}

func tenths(v float64) string { return fmt.Sprintf("%.1f B", v) }

func printContest(out io.Writer, what string, k work, all measured, figure func(r recorder, w work, all measured) []float64, print form) error {
	fmt.Fprintf(out, "| %s |", what)
	var (
		cheapest string
		least    float64
	)
	for _, r := range recorders {
		values := figure(r, k, all)
		if len(values) == 0 {
			if r.bench != "" {
				return fmt.Errorf("%s: no figure of %s", what, r.name)
			}
			fmt.Fprint(out, " – |")
			continue
		}
		v := figures.Median(values)
		if cheapest == "" || v < least {
			cheapest, least = r.name, v
		}
		fmt.Fprintf(out, " %s |", print(v))
	}
	fmt.Fprintf(out, " %s |\n", cheapest)
	return nil
}
