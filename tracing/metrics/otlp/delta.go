package otlp

import (
	"time"

	"go.opentelemetry.io/otel/attribute"

	"github.com/vtscope/vtscope/tracing/metrics"
	"github.com/vtscope/vtscope/tracing/otel/otlpenv"
)

// deltas turns what a process has counted since its beginning into what came since the last message that was taken.
//
//	D1  told is what the collector has taken; now is what the message under way tells. Only took makes the one the other.
//	D2  A count that went back is of something new with the same name: all of it is new.
//
// A nil one leaves totals as they are.
type deltas struct {
	mode  otlpenv.Temporality
	first time.Time // before any message: from when on is counted
	last  time.Time // of the figures that were taken last

	told, now map[series]reading
}

type series struct {
	name       string
	attributes attribute.Distinct
}

type reading struct {
	value  float64
	spread *metrics.Distribution
}

// newDeltas returns deltas of a process that is met now, which an exporter of since may not have seen begin.
func newDeltas(mode otlpenv.Temporality, g *metrics.Group, since time.Time) *deltas {
	if mode != otlpenv.Delta && mode != otlpenv.LowMemory {
		return nil
	}
	d := &deltas{mode: mode, first: g.Start, told: map[series]reading{}, now: map[series]reading{}}
	if g.Start.Before(since) {
		convert(g, d) // as if it had been told
		d.took(g)
		d.first = g.At
	}
	return d
}

// counters and histograms report which are told as differences. To tell counters so that are read as totals takes memory: what OpenTelemetry calls asynchronous.
func (d *deltas) counters() bool   { return d != nil && d.mode == otlpenv.Delta }
func (d *deltas) histograms() bool { return d != nil }

// since returns from when on is counted.
func (d *deltas) since(*metrics.Group) time.Time {
	if d.last.IsZero() {
		return d.first
	}
	return d.last
}

// took notes that the collector has taken what was converted of a group.
func (d *deltas) took(g *metrics.Group) {
	if d == nil {
		return
	}
	d.told, d.now, d.last = d.now, make(map[series]reading, len(d.now)), g.At
}

func (d *deltas) number(name string, set attribute.Set, v float64) float64 {
	key := series{name, set.Equivalent()}
	d.now[key] = reading{value: v}
	if was := d.told[key].value; was <= v {
		return v - was
	}
	return v
}

func (d *deltas) spread(name string, set attribute.Set, s *metrics.Distribution) *metrics.Distribution {
	key := series{name, set.Equivalent()}
	d.now[key] = reading{spread: s}
	was := d.told[key].spread
	if was == nil || was.Count > s.Count {
		return s
	}
	out := &metrics.Distribution{Counts: make([]uint64, len(s.Counts)), Count: s.Count - was.Count, Sum: max(s.Sum-was.Sum, 0)}
	for i, n := range s.Counts {
		if n < was.Counts[i] {
			return s
		}
		out.Counts[i] = n - was.Counts[i]
	}
	return out
}
