package otlp_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/tracing/metrics"
	"github.com/vtscope/vtscope/tracing/metrics/otlp"
)

// two are figures of two processes.
func two() metrics.Figures {
	var all metrics.Figures
	for pid := range 2 {
		p := metrics.Process{Process: flight.Process{PID: 100 + pid, Program: "shop", Start: time.Now()}, Key: string(rune('a' + pid)), At: time.Now()}
		p.Counts.Kinds[flight.EventThreadStart] = uint64(10 + pid)
		p.Schedulers = []flight.SchedulerRow{{ID: 1, Name: "default"}}
		p.Schedulers[0].Pinned[40] = 3
		p.Schedulers[0].Figures[flight.FigurePinnedTime] = 5e9
		all.Processes = append(all.Processes, p)
	}
	return all
}

func TestAReaderOfAnSDKGetsAllProcesses(t *testing.T) {
	c, err := metrics.New(metrics.Options{})
	if err != nil {
		t.Fatal(err)
	}
	reader := metric.NewManualReader(metric.WithProducer(otlp.NewProducer(c)))
	provider := metric.NewMeterProvider(metric.WithReader(reader))
	defer provider.Shutdown(context.Background())
	var rm metricdata.ResourceMetrics
	if err := reader.Collect(context.Background(), &rm); err != nil || len(rm.ScopeMetrics) != 0 {
		t.Errorf("before there is anything: got %+v, %v", rm.ScopeMetrics, err)
	}
	c.From(two)
	if err := reader.Collect(context.Background(), &rm); err != nil || len(rm.ScopeMetrics) != 1 || rm.ScopeMetrics[0].Scope.Name != otlp.Scope {
		t.Fatalf("got %+v, %v; want one scope", rm.ScopeMetrics, err)
	}
	if s := rm.ScopeMetrics[0].Scope; s.Version == "" || s.SchemaURL == "" {
		t.Errorf("the scope is %+v, want a version and a schema URL", s)
	}
	seen := map[string]bool{}
	for _, m := range rm.ScopeMetrics[0].Metrics {
		if seen[m.Name] {
			t.Errorf("%s comes twice", m.Name)
		}
		seen[m.Name] = true
		switch m.Name {
		case "vt.thread.started":
			d, ok := m.Data.(metricdata.Sum[int64])
			if !ok || !d.IsMonotonic || d.Temporality != metricdata.CumulativeTemporality || len(d.DataPoints) != 2 {
				t.Fatalf("got %+v", m.Data)
			}
			for i, p := range d.DataPoints {
				if pid, _ := p.Attributes.Value("process.pid"); pid.AsInt64() != int64(100+i) || p.Value != int64(10+i) {
					t.Errorf("got %+v", p)
				}
			}
		case "vt.thread.pinned":
			d, ok := m.Data.(metricdata.Histogram[float64])
			if !ok || m.Unit != "s" || len(d.DataPoints) != 2 || d.DataPoints[0].Count != 3 || d.DataPoints[0].Sum != 5 || len(d.DataPoints[0].BucketCounts) != len(metrics.Bounds)+1 {
				t.Errorf("got %+v", m.Data)
			}
		}
	}
	if !seen["vt.thread.started"] || !seen["vt.thread.pinned"] {
		t.Errorf("got %v", seen)
	}
}

func Example() {
	c, err := metrics.New(metrics.Options{})
	if err != nil {
		panic(err)
	}
	c.From(two) // as a rule the method Figures of an agent
	reader := metric.NewManualReader(metric.WithProducer(otlp.NewProducer(c)))
	provider := metric.NewMeterProvider(metric.WithReader(reader))
	defer provider.Shutdown(context.Background())
	var rm metricdata.ResourceMetrics
	if err := reader.Collect(context.Background(), &rm); err != nil {
		panic(err)
	}
	for _, m := range rm.ScopeMetrics[0].Metrics {
		if d, ok := m.Data.(metricdata.Sum[int64]); ok && m.Name == "vt.thread.started" {
			fmt.Println(m.Name, d.DataPoints[0].Value, d.DataPoints[1].Value)
		}
	}
	// Output: vt.thread.started 10 11
}
