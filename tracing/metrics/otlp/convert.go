package otlp

import (
	"math"
	"strconv"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/vtscope/vtscope/tracing/metrics"
	"github.com/vtscope/vtscope/tracing/otel/otlpenv"
	"github.com/vtscope/vtscope/tracing/otel/traceid"
)

// Scope names the instrumentation.
const Scope = "github.com/vtscope/vtscope"

// convert makes metrics of a group, with further attributes at each point.
func convert(g *metrics.Group, d *deltas, further ...attribute.KeyValue) metricdata.ScopeMetrics {
	sm := metricdata.ScopeMetrics{Scope: instrumentation.Scope{Name: Scope, Version: otlpenv.Version(), SchemaURL: otlpenv.SchemaURL}}
	for _, f := range g.Families {
		m := metricdata.Metrics{Name: f.Name, Description: f.About, Unit: f.Unit}
		switch {
		case f.Kind == metrics.Spread:
			m.Data = histogram(g, &f, d, further)
		case f.Whole():
			m.Data = numbers[int64](g, &f, d, further)
		default:
			m.Data = numbers[float64](g, &f, d, further)
		}
		sm.Metrics = append(sm.Metrics, m)
	}
	return sm
}

func attributes(f *metrics.Family, p *metrics.Point, further []attribute.KeyValue) attribute.Set {
	all := make([]attribute.KeyValue, 0, len(further)+len(p.Values))
	all = append(all, further...)
	for i, v := range p.Values {
		switch {
		case v == "":
		case v == "true":
			all = append(all, attribute.Bool(f.Labels[i].Name, true))
		default:
			all = append(all, attribute.String(f.Labels[i].Name, v))
		}
	}
	return attribute.NewSet(all...)
}

func numbers[N int64 | float64](g *metrics.Group, f *metrics.Family, d *deltas, further []attribute.KeyValue) metricdata.Aggregation {
	begin, delta := g.Start, f.Kind == metrics.Counter && d.counters()
	if delta {
		begin = d.since(g)
	}
	points := make([]metricdata.DataPoint[N], 0, len(f.Points))
	for i := range f.Points {
		p := &f.Points[i]
		set := attributes(f, p, further)
		v := p.Value
		if delta {
			v = d.number(f.Name, set, v)
		}
		points = append(points, metricdata.DataPoint[N]{Attributes: set, StartTime: begin, Time: g.At, Value: N(v)})
	}
	if f.Kind == metrics.Gauge {
		return metricdata.Gauge[N]{DataPoints: points}
	}
	return metricdata.Sum[N]{DataPoints: points, Temporality: temporality(delta), IsMonotonic: f.Kind == metrics.Counter}
}

func temporality(delta bool) metricdata.Temporality {
	if delta {
		return metricdata.DeltaTemporality
	}
	return metricdata.CumulativeTemporality
}

func histogram(g *metrics.Group, f *metrics.Family, d *deltas, further []attribute.KeyValue) metricdata.Aggregation {
	begin, delta := g.Start, d.histograms()
	if delta {
		begin = d.since(g)
	}
	points := make([]metricdata.HistogramDataPoint[float64], 0, len(f.Points))
	for i := range f.Points {
		set, s := attributes(f, &f.Points[i], further), f.Points[i].Spread
		exemplars := exemplars(s, begin)
		if delta {
			s = d.spread(f.Name, set, s)
		}
		points = append(points, metricdata.HistogramDataPoint[float64]{
			Attributes: set, StartTime: begin, Time: g.At, Count: s.Count, Sum: s.Sum, Bounds: metrics.Bounds, BucketCounts: s.Counts, Exemplars: exemplars,
		})
	}
	return metricdata.Histogram[float64]{DataPoints: points, Temporality: temporality(delta)}
}

// exemplars returns those of after a moment.
func exemplars(s *metrics.Distribution, after time.Time) (all []metricdata.Exemplar[float64]) {
	for i := range s.Exemplars {
		x := &s.Exemplars[i]
		if x.At.Before(after) {
			continue
		}
		e := metricdata.Exemplar[float64]{Value: x.Value, Time: x.At, FilteredAttributes: []attribute.KeyValue{threadAttribute(uint64(x.Thread))}}
		if x.Scope != "" {
			e.FilteredAttributes = append(e.FilteredAttributes, attribute.String("vt.scope.name", x.Scope))
		}
		if x.Trace != (traceid.Trace{}) {
			e.TraceID, e.SpanID = x.Trace[:], x.Span[:]
		}
		all = append(all, e)
	}
	return all
}

func threadAttribute(id uint64) attribute.KeyValue {
	if id > math.MaxInt64 {
		return attribute.String("thread.id", strconv.FormatUint(id, 10))
	}
	return attribute.Int64("thread.id", int64(id))
}
