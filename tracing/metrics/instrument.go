package metrics

import (
	"strings"

	"github.com/vtscope/vtscope/runtime/flight"
)

// A Kind tells how the values of an instrument behave.
type Kind uint8

// The kinds of instruments.
const (
	Counter   Kind = iota // only grows, from the start of the process on
	UpDown                // how much there is now; sums mean something
	Gauge                 // how it is now; sums mean nothing
	Spread                // a histogram of durations, in seconds
	KindCount = iota
)

// Kinds names every kind, indexed by [Kind].
var Kinds = [KindCount]string{"counter", "up-down counter", "gauge", "histogram"}

// String returns the kind's name.
func (k Kind) String() string {
	if k < KindCount {
		return Kinds[k]
	}
	return "unknown"
}

// A Label is an attribute of an instrument's points.
type Label struct {
	Name  string // as OpenTelemetry writes it
	About string
}

// An Instrument is a row of the table.
type Instrument struct {
	Name   string // as OpenTelemetry writes it
	About  string // no full stop
	Unit   string // of UCUM
	Kind   Kind
	Labels []Label
	// Same is the metric of the JVM that means the same, "" if there is none; Differs says in what it does not.
	Same, Differs string
	// Outliers are events that tell of single durations: exemplars.
	Outliers flight.Kind
	// Anywhere says that it is known of processes without a recorder, too, whose threads are goroutines.
	Anywhere bool
	Sampled  bool // the counts of the histogram stand for a sample, and its sum is taken from its buckets

	// One of the two.
	process func(p *Process, to *points)
	agent   func(a *Agent, c *Collector, to *points)
}

// OfAgent reports whether the instrument is of who follows processes, and not of a process.
func (in *Instrument) OfAgent() bool { return in.agent != nil }

// Whole reports whether the values are whole numbers.
func (in *Instrument) Whole() bool { return in.Unit != "s" && in.Unit != "1" }

// PrometheusName returns the name with the unit and the suffix that Prometheus wants.
func (in *Instrument) PrometheusName() string {
	name := PrometheusLabel(in.Name)
	switch in.Unit {
	case "s":
		name = withSuffix(name, "_seconds")
	case "By":
		name = withSuffix(name, "_bytes")
	}
	if in.Kind == Counter {
		name = withSuffix(name, "_total")
	}
	return name
}

func withSuffix(name, suffix string) string { return strings.TrimSuffix(name, suffix) + suffix }

// PrometheusLabel returns the name of a label or metric as Prometheus writes it.
func PrometheusLabel(name string) string {
	return strings.Map(func(c rune) rune {
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' {
			return c
		}
		return '_'
	}, name)
}
