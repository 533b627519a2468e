package prom

import (
	"encoding/hex"
	"net/http"
	"strconv"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/vtscope/vtscope/tracing/metrics"
	"github.com/vtscope/vtscope/tracing/otel/traceid"
)

// The labels that all series have: those of the process.
var processLabels = []string{"pid", "program"}

// Handler serves what a collector tells.
func Handler(c *metrics.Collector) http.Handler {
	r := prometheus.NewRegistry()
	r.MustRegister(Collector(c))
	return promhttp.HandlerFor(r, promhttp.HandlerOpts{EnableOpenMetrics: true, MaxRequestsInFlight: 8})
}

// Collector is for programs that have a registry of their own.
func Collector(c *metrics.Collector) prometheus.Collector { return collector{c, descriptions()} }

type collector struct {
	from  *metrics.Collector
	descs map[string]*prometheus.Desc // by name of the instrument
}

func descriptions() map[string]*prometheus.Desc {
	all := map[string]*prometheus.Desc{}
	for i := range metrics.Instruments {
		in := &metrics.Instruments[i]
		labels := processLabels[:len(processLabels):len(processLabels)]
		for _, l := range in.Labels {
			labels = append(labels, metrics.PrometheusLabel(l.Name))
		}
		all[in.Name] = prometheus.NewDesc(in.PrometheusName(), help(in), labels, nil)
	}
	return all
}

func help(in *metrics.Instrument) string {
	text := strings.ToUpper(in.About[:1]) + in.About[1:]
	if in.Sampled {
		text += "; a sample, whose sum is taken from the buckets"
	}
	return text + " (" + unitWord(in.Unit) + ")."
}

// unitWord writes a unit for people.
func unitWord(unit string) string {
	switch unit {
	case "s":
		return "seconds"
	case "By":
		return "bytes"
	}
	return strings.Trim(unit, "{}")
}

// Describe implements [prometheus.Collector].
func (c collector) Describe(to chan<- *prometheus.Desc) {
	for _, d := range c.descs {
		to <- d
	}
}

// Collect implements [prometheus.Collector].
func (c collector) Collect(to chan<- prometheus.Metric) {
	for _, g := range c.from.Collect() {
		of := []string{strconv.Itoa(g.PID), g.Program}
		for _, f := range g.Families {
			desc := c.descs[f.Name]
			for i := range f.Points {
				p := &f.Points[i]
				to <- metric(desc, f.Instrument, p, append(of[:len(of):len(of)], p.Values...))
			}
		}
	}
}

func metric(desc *prometheus.Desc, in *metrics.Instrument, p *metrics.Point, values []string) prometheus.Metric {
	if p.Spread != nil {
		return histogram(desc, p.Spread, values)
	}
	kind := prometheus.GaugeValue
	if in.Kind == metrics.Counter {
		kind = prometheus.CounterValue
	}
	m, err := prometheus.NewConstMetric(desc, kind, p.Value, values...)
	if err != nil {
		return prometheus.NewInvalidMetric(desc, err)
	}
	return m
}

func histogram(desc *prometheus.Desc, d *metrics.Distribution, values []string) prometheus.Metric {
	buckets := make(map[float64]uint64, len(metrics.Bounds))
	below := uint64(0)
	for i, end := range metrics.Bounds {
		below += d.Counts[i]
		buckets[end] = below
	}
	m, err := prometheus.NewConstHistogram(desc, d.Count, d.Sum, buckets, values...)
	if err != nil {
		return prometheus.NewInvalidMetric(desc, err)
	}
	if len(d.Exemplars) == 0 {
		return m
	}
	exemplars := make([]prometheus.Exemplar, len(d.Exemplars))
	for i := range d.Exemplars {
		exemplars[i] = exemplar(&d.Exemplars[i])
	}
	with, err := prometheus.NewMetricWithExemplars(m, exemplars...)
	if err != nil {
		return m // a histogram without exemplars is better than none
	}
	return with
}

func exemplar(x *metrics.Exemplar) prometheus.Exemplar {
	labels := prometheus.Labels{"vt_thread_id": strconv.FormatUint(uint64(x.Thread), 10)}
	if x.Trace != (traceid.Trace{}) {
		labels["trace_id"], labels["span_id"] = hex.EncodeToString(x.Trace[:]), hex.EncodeToString(x.Span[:])
	}
	return prometheus.Exemplar{Value: x.Value, Labels: labels, Timestamp: x.At}
}
