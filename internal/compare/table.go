package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"

	"github.com/vtscope/vtscope/internal/figures"
)

// A line is what the table says of a row.
type line struct {
	row
	medians              map[string]float64 // by way; those that were measured
	jdk, jfr, goroutines ratio              // ours, with the recorder on, to each of them
}

// A ratio is the median of the rounds' ratios, and their range. Its zero value is none.
type ratio struct{ median, low, top float64 }

func (r ratio) known() bool { return r != ratio{} }

func (r ratio) String() string {
	switch {
	case !r.known():
		return "–"
	case r.low == r.top:
		return fmt.Sprintf("%.2f", r.median)
	}
	return fmt.Sprintf("%.2f (%.2f..%.2f)", r.median, r.low, r.top)
}

// judge makes the line of a row. A figure that a way should have printed, and has not, or not in each round, is an error.
func judge(w work, r row, all measured, j jdk) (line, error) {
	l := line{row: r, medians: map[string]float64{}}
	rounds := len(all.values(ours, w, r))
	for _, y := range ways {
		if !y.does(w, j) {
			continue
		}
		values := all.values(y, w, r)
		if len(values) == 0 || len(values) != rounds {
			return l, fmt.Errorf("%s, %s: got %d figures %v, want one for each of %d rounds", r.name, y.name, len(values), w.metric(r, y.impl), rounds)
		}
		l.medians[y.name] = figures.Median(values)
	}
	to := func(y way) ratio { return ratioOf(all.values(ours, w, r), all.values(y, w, r)) }
	l.jdk, l.jfr, l.goroutines = to(plainJDK), to(jfr), to(goroutines)
	return l, nil
}

func ratioOf(of, over []float64) ratio {
	if len(over) == 0 {
		return ratio{}
	}
	values := make([]float64, len(of))
	for i := range of {
		values[i] = of[i] / over[i]
	}
	return ratio{figures.Median(values), slices.Min(values), slices.Max(values)}
}

// verdict tells whom ours, with the recorder on, is behind.
func (l line) verdict() string {
	var behind []string
	if l.jdk.known() && l.jdk.median >= 1 {
		name := "JDK"
		if l.jfr.known() && l.jfr.median < 1 {
			name += " (not JDK + JFR)"
		}
		behind = append(behind, name)
	}
	if l.goroutines.known() && l.goroutines.median >= 1 {
		behind = append(behind, "goroutines")
	}
	if behind == nil {
		return "ahead"
	}
	return "behind: " + strings.Join(behind, ", ")
}

// columns are those with figures.
var columns = []way{ours, oursOff, plainJDK, jfr, jfrAll, goroutines}

// printTable prints everything that was measured, as a table of Markdown.
func printTable(w io.Writer, machine string, chosen []work, all measured, j jdk) error {
	out := bufio.NewWriter(w)
	fmt.Fprintf(out, "%s.\n\n| work |", machine)
	for _, y := range columns {
		fmt.Fprintf(out, " %s |", y.name)
	}
	fmt.Fprintf(out, " ours / JDK | ours / JDK + JFR | ours / goroutines | ours is |\n| --- |%s --- |\n", strings.Repeat(" ---: |", len(columns)+3))
	var missing error
	ahead, behind := 0, 0
	for _, k := range chosen {
		for _, r := range k.rows {
			l, err := judge(k, r, all, j)
			if err != nil {
				missing = errors.Join(missing, err)
				continue
			}
			fmt.Fprintf(out, "| %s |", l.name)
			for _, y := range columns {
				cell := "–"
				if v, ok := l.medians[y.name]; ok {
					cell = l.form(v)
				}
				fmt.Fprintf(out, " %s |", cell)
			}
			verdict := l.verdict()
			fmt.Fprintf(out, " %v | %v | %v | %s |\n", l.jdk, l.jfr, l.goroutines, verdict)
			if verdict == "ahead" {
				ahead++
			} else {
				behind++
			}
		}
		if why := j.unmeasured(k); why != "" {
			defer fmt.Fprintf(w, "%s: not measured in Java: %s\n", k.rows[0].name, why)
		}
	}
	fmt.Fprintf(out, "\ncompare: %d ahead, %d behind\n", ahead, behind)
	return errors.Join(missing, out.Flush())
}

// machine says what the figures were measured with.
func machine(j jdk, rounds int) string {
	return fmt.Sprintf("%d × %s, %s/%s, %s, JDK %s%s; medians of %d rounds, ratios within each round and their range",
		runtime.NumCPU(), processor("/proc/cpuinfo"), runtime.GOOS, runtime.GOARCH, runtime.Version(), j.version, load("/proc/loadavg"), rounds)
}

// load says how busy the system was before anything was measured, if it tells that there: figures of a busy one are worth little.
func load(file string) string {
	text, err := os.ReadFile(file)
	if words := strings.Fields(string(text)); err == nil && len(words) > 0 {
		return ", load " + words[0] + " before"
	}
	return ""
}

// processor returns the name of the processor, if the system tells it there.
func processor(file string) string {
	text, err := os.ReadFile(file)
	if err == nil {
		for line := range strings.Lines(string(text)) {
			if key, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == "model name" {
				return strings.TrimSpace(value)
			}
		}
	}
	return "processor"
}
