package profile

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	pprof "github.com/google/pprof/profile"

	"github.com/vtscope/vtscope/dump"
)

// Text writes a profile for people: of each sample the values, the labels, and the calls, innermost first.
func Text(w io.Writer, name string, p *pprof.Profile) error {
	var b strings.Builder
	types := make([]string, len(p.SampleType))
	for i, t := range p.SampleType {
		types[i] = t.Type + "/" + t.Unit
	}
	total := make([]int64, len(types))
	for _, s := range p.Sample {
		for i, v := range s.Value {
			total[i] += v
		}
	}
	fmt.Fprintf(&b, "profile %s: %s, %s", name, values(p, total), dump.Count(len(p.Sample), "sample"))
	if p.DurationNanos > 0 {
		fmt.Fprintf(&b, ", of %s", dump.Span(time.Duration(p.DurationNanos)))
	}
	b.WriteByte('\n')
	for _, c := range p.Comments {
		fmt.Fprintf(&b, "# %s\n", dump.Printable(c))
	}
	for _, s := range p.Sample {
		fmt.Fprintf(&b, "\n%s", values(p, s.Value))
		for _, k := range slices.Sorted(maps.Keys(s.Label)) {
			fmt.Fprintf(&b, "  %s=%q", k, strings.Join(s.Label[k], ","))
		}
		for _, k := range slices.Sorted(maps.Keys(s.NumLabel)) {
			fmt.Fprintf(&b, "  %s=%v", k, s.NumLabel[k])
		}
		b.WriteByte('\n')
		for _, l := range s.Location {
			for _, line := range l.Line {
				if line.Function == nil {
					continue
				}
				fmt.Fprintf(&b, "#\t%s", dump.Printable(line.Function.Name))
				if line.Function.Filename != "" {
					fmt.Fprintf(&b, "\t%s:%d", dump.Printable(line.Function.Filename), line.Line)
				}
				b.WriteByte('\n')
			}
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// values writes "12 contentions, delay 3.4s".
func values(p *pprof.Profile, v []int64) string {
	parts := make([]string, 0, len(v))
	for i, t := range p.SampleType[:min(len(v), len(p.SampleType))] {
		switch t.Unit {
		case "nanoseconds":
			parts = append(parts, t.Type+" "+dump.Span(time.Duration(v[i])))
		case "microseconds":
			parts = append(parts, t.Type+" "+dump.Span(time.Duration(min(v[i], int64(maxTime)/1000))*time.Microsecond))
		default:
			parts = append(parts, dump.Thousands(int(v[i]))+" "+t.Type)
		}
	}
	return strings.Join(parts, ", ")
}
