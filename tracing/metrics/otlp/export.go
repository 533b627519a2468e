package otlp

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetricgrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/resource"
	"google.golang.org/grpc/credentials"

	"github.com/vtscope/vtscope/tracing/metrics"
	"github.com/vtscope/vtscope/tracing/otel/otlpenv"
)

// Options say where metrics go. Config is what [otlpenv.Read] returned.
type Options struct {
	Config otlpenv.Config
	Warn   func(string) // told when the collector does not take messages any more, and when it does again; nil: nobody
}

// An Exporter sends what a collector tells, again and again.
type Exporter struct {
	from    *metrics.Collector
	options Options
	client  metric.Exporter
	began   time.Time
	stop    context.CancelFunc
	done    chan struct{}

	sent, failed atomic.Uint64 // stored by whoever holds turn

	turn struct {
		sync.Mutex
		processes map[string]*process // by key
		down      bool
	}
}

// process is what is remembered of one from one message to the next.
type process struct {
	resource *resource.Resource
	deltas   *deltas
}

// Start begins to send. It does not wait for the collector: one that is away is tried again at each interval. ctx is that of all that the exporter does.
func Start(ctx context.Context, c *metrics.Collector, o Options) (*Exporter, error) {
	if o.Warn == nil {
		o.Warn = func(string) {}
	}
	client, err := newClient(ctx, &o.Config.Metrics)
	if err != nil {
		return nil, fmt.Errorf("send metrics to %v: %w", &o.Config.Metrics, err)
	}
	e := &Exporter{from: c, options: o, client: client, began: time.Now(), done: make(chan struct{})}
	e.turn.processes = map[string]*process{}
	c.Exported("metrics", e.Exported)
	ctx, e.stop = context.WithCancel(ctx)
	go e.run(ctx)
	return e, nil
}

func newClient(ctx context.Context, s *otlpenv.Signal) (metric.Exporter, error) {
	tls, err := s.TLS()
	if err != nil {
		return nil, err
	}
	if s.Protocol == otlpenv.GRPC {
		all := []otlpmetricgrpc.Option{
			otlpmetricgrpc.WithEndpoint(s.Endpoint.Host), otlpmetricgrpc.WithHeaders(s.Headers), otlpmetricgrpc.WithTimeout(s.Timeout),
		}
		if s.Insecure() {
			all = append(all, otlpmetricgrpc.WithInsecure())
		} else {
			all = append(all, otlpmetricgrpc.WithTLSCredentials(credentials.NewTLS(tls)))
		}
		if s.Gzip {
			all = append(all, otlpmetricgrpc.WithCompressor("gzip"))
		}
		return otlpmetricgrpc.New(ctx, all...)
	}
	all := []otlpmetrichttp.Option{
		otlpmetrichttp.WithEndpointURL(s.Endpoint.String()), otlpmetrichttp.WithHeaders(s.Headers), otlpmetrichttp.WithTimeout(s.Timeout),
	}
	if !s.Insecure() {
		all = append(all, otlpmetrichttp.WithTLSClientConfig(tls))
	}
	if s.Gzip {
		all = append(all, otlpmetrichttp.WithCompression(otlpmetrichttp.GzipCompression))
	}
	return otlpmetrichttp.New(ctx, all...)
}

func (e *Exporter) run(ctx context.Context) {
	defer close(e.done)
	tick := time.NewTicker(e.options.Config.Interval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			e.round(ctx) // an error is counted, and told once
		}
	}
}

// round sends one message for each process. When one is not taken, the rest is left for the next round: the collector is away.
func (e *Exporter) round(ctx context.Context) error {
	e.turn.Lock()
	defer e.turn.Unlock()
	limit, cancel := context.WithTimeout(ctx, e.options.Config.MaxExport)
	defer cancel()
	seen := map[string]bool{}
	groups := e.from.Collect()
	for i := range groups {
		seen[groups[i].Key] = true
	}
	for key := range e.turn.processes {
		if !seen[key] {
			delete(e.turn.processes, key)
		}
	}
	for i := range groups {
		g := &groups[i]
		p := e.turn.processes[g.Key]
		if p == nil {
			p = &process{e.resource(g), newDeltas(e.options.Config.Temporality, g, e.began)}
			e.turn.processes[g.Key] = p
		}
		rm := &metricdata.ResourceMetrics{Resource: p.resource, ScopeMetrics: []metricdata.ScopeMetrics{convert(g, p.deltas)}}
		if err := e.client.Export(limit, rm); err != nil {
			e.failed.Add(1)
			if ctx.Err() == nil && !e.turn.down {
				e.turn.down = true
				e.options.Warn(fmt.Sprintf("no metrics to %v: %v; they are sent when it takes them again", &e.options.Config.Metrics, err))
			}
			return err
		}
		p.deltas.took(g)
		e.sent.Add(1)
	}
	if e.turn.down {
		e.turn.down = false
		e.options.Warn(fmt.Sprintf("metrics to %v again", &e.options.Config.Metrics))
	}
	return nil
}

// resource describes a process. It is made once, while the process lives.
func (e *Exporter) resource(g *metrics.Group) *resource.Resource {
	var all []attribute.KeyValue
	for _, a := range e.options.Config.Resource(g.Process) {
		switch v := a.Value.(type) {
		case string:
			all = append(all, attribute.String(a.Key, v))
		case int64:
			all = append(all, attribute.Int64(a.Key, v))
		}
	}
	return resource.NewWithAttributes(otlpenv.SchemaURL, all...)
}

// Flush sends what there is to tell now, and waits until it is taken, or ctx or the limit of an export ends.
func (e *Exporter) Flush(ctx context.Context) error { return e.round(ctx) }

// Exported returns what was sent so far.
func (e *Exporter) Exported() metrics.Export {
	return metrics.Export{Sent: e.sent.Load(), Failed: e.failed.Load()}
}

// Shutdown sends a last time, as far as ctx allows, and stops. It returns when the exporter's goroutine is gone.
func (e *Exporter) Shutdown(ctx context.Context) error {
	e.stop()
	<-e.done
	return errors.Join(e.round(ctx), e.client.Shutdown(ctx))
}
