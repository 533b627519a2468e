package otlp

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/vtscope/vtscope/tracing/metrics"
)

// A Producer gives metrics to a reader of an SDK, with the totals of each process since its beginning. Since the SDK has one resource, each point has the
// attributes process.pid and process.executable.name.
type Producer struct{ from *metrics.Collector }

// NewProducer returns a producer.
func NewProducer(c *metrics.Collector) *Producer { return &Producer{c} }

var _ metric.Producer = (*Producer)(nil)

// Produce implements [metric.Producer].
func (p *Producer) Produce(context.Context) ([]metricdata.ScopeMetrics, error) {
	groups := p.from.Collect()
	if len(groups) == 0 {
		return nil, nil
	}
	merged := map[string]int{} // positions in out.Metrics, by name
	var out metricdata.ScopeMetrics
	for i := range groups {
		g := &groups[i]
		sm := convert(g, nil, attribute.Int("process.pid", g.PID), attribute.String("process.executable.name", g.Program))
		out.Scope = sm.Scope
		for _, m := range sm.Metrics {
			at, ok := merged[m.Name]
			if !ok {
				merged[m.Name] = len(out.Metrics)
				out.Metrics = append(out.Metrics, m)
				continue
			}
			join(&out.Metrics[at], &m)
		}
	}
	return []metricdata.ScopeMetrics{out}, nil
}

// join adds the points of a metric to those of another with the same name.
func join(to, m *metricdata.Metrics) {
	switch all := to.Data.(type) {
	case metricdata.Sum[int64]:
		all.DataPoints = append(all.DataPoints, m.Data.(metricdata.Sum[int64]).DataPoints...)
		to.Data = all
	case metricdata.Sum[float64]:
		all.DataPoints = append(all.DataPoints, m.Data.(metricdata.Sum[float64]).DataPoints...)
		to.Data = all
	case metricdata.Gauge[int64]:
		all.DataPoints = append(all.DataPoints, m.Data.(metricdata.Gauge[int64]).DataPoints...)
		to.Data = all
	case metricdata.Gauge[float64]:
		all.DataPoints = append(all.DataPoints, m.Data.(metricdata.Gauge[float64]).DataPoints...)
		to.Data = all
	case metricdata.Histogram[float64]:
		all.DataPoints = append(all.DataPoints, m.Data.(metricdata.Histogram[float64]).DataPoints...)
		to.Data = all
	}
}
