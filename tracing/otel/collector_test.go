package otel

import (
	"context"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	collogspb "go.opentelemetry.io/proto/otlp/collector/logs/v1"
	coltracepb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	logspb "go.opentelemetry.io/proto/otlp/logs/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"github.com/vtscope/vtscope/tracing/otel/otlpenv"
)

// A collector is a gRPC server that does as a test wants; fixtures/backends/otlp has the collector's own receiver.
type collector struct {
	coltracepb.UnimplementedTraceServiceServer
	server *grpc.Server
	addr   string
	answer atomic.Pointer[func(spans int) (refused int64, err error)]

	mu struct {
		sync.Mutex
		spans     []*tracepb.Span
		logs      []*logspb.LogRecord
		resources map[string]string
		unnamed   []string // what was sent without a version, or a schema URL
	}
}

// named notes what does not say of what version it is.
func (c *collector) named(scope *commonpb.InstrumentationScope, scopeSchema, resourceSchema string) {
	if scope.GetName() == "" || scope.GetVersion() == "" || scopeSchema == "" || resourceSchema == "" {
		c.mu.unnamed = append(c.mu.unnamed, fmt.Sprintf("scope %v, schema URLs %q and %q", scope, scopeSchema, resourceSchema))
	}
}

type logService struct {
	collogspb.UnimplementedLogsServiceServer
	c *collector
}

func startCollector(t testing.TB, addr string) *collector {
	t.Helper()
	l, err := net.Listen("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	return startCollectorAt(t, l)
}

func startCollectorAt(t testing.TB, l net.Listener) *collector {
	t.Helper()
	c := &collector{server: grpc.NewServer(), addr: l.Addr().String()}
	c.mu.resources = map[string]string{}
	coltracepb.RegisterTraceServiceServer(c.server, c)
	collogspb.RegisterLogsServiceServer(c.server, logService{c: c})
	done := make(chan struct{})
	go func() { defer close(done); c.server.Serve(l) }()
	t.Cleanup(func() {
		c.server.Stop()
		<-done
		c.mu.Lock()
		defer c.mu.Unlock()
		if len(c.mu.unnamed) > 0 {
			t.Errorf("%d times something was sent without a version or a schema URL, first: %s", len(c.mu.unnamed), c.mu.unnamed[0])
		}
	})
	return c
}

func (c *collector) Export(_ context.Context, r *coltracepb.ExportTraceServiceRequest) (*coltracepb.ExportTraceServiceResponse, error) {
	answer := &coltracepb.ExportTraceServiceResponse{}
	if f := c.answer.Load(); f != nil {
		spans := 0
		for _, rs := range r.ResourceSpans {
			for _, ss := range rs.ScopeSpans {
				spans += len(ss.Spans)
			}
		}
		refused, err := (*f)(spans)
		if err != nil {
			return nil, err
		}
		if refused > 0 {
			answer.PartialSuccess = &coltracepb.ExportTracePartialSuccess{RejectedSpans: refused, ErrorMessage: "not these"}
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, rs := range r.ResourceSpans {
		for _, kv := range rs.Resource.GetAttributes() {
			c.mu.resources[kv.Key] = kv.Value.GetStringValue()
		}
		for _, ss := range rs.ScopeSpans {
			c.named(ss.Scope, ss.SchemaUrl, rs.SchemaUrl)
			for _, s := range ss.Spans {
				c.mu.spans = append(c.mu.spans, proto.CloneOf(s))
			}
		}
	}
	return answer, nil
}

func (s logService) Export(_ context.Context, r *collogspb.ExportLogsServiceRequest) (*collogspb.ExportLogsServiceResponse, error) {
	s.c.mu.Lock()
	defer s.c.mu.Unlock()
	for _, rl := range r.ResourceLogs {
		for _, sl := range rl.ScopeLogs {
			s.c.named(sl.Scope, sl.SchemaUrl, rl.SchemaUrl)
			s.c.mu.logs = append(s.c.mu.logs, sl.LogRecords...)
		}
	}
	return &collogspb.ExportLogsServiceResponse{}, nil
}

func (c *collector) spans() []*tracepb.Span {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.mu.spans
}

// env returns an environment that sends to the collector.
func (c *collector) env(t testing.TB, more ...string) otlpenv.Config {
	return envOf(t, c.addr, more...)
}

func envOf(t testing.TB, addr string, more ...string) otlpenv.Config {
	t.Helper()
	m := map[string]string{
		"OTEL_EXPORTER_OTLP_ENDPOINT": "http://" + addr, "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc", "OTEL_BSP_SCHEDULE_DELAY": "20", "OTEL_BLRP_SCHEDULE_DELAY": "20",
		// What takes longer is sent again, or given up.
		"OTEL_EXPORTER_OTLP_TIMEOUT": "600000", "OTEL_BSP_EXPORT_TIMEOUT": "600000", "OTEL_BLRP_EXPORT_TIMEOUT": "600000",
	}
	for i := 0; i < len(more); i += 2 {
		m[more[i]] = more[i+1]
	}
	c, err := otlpenv.Read(func(name string) (string, bool) { v, ok := m[name]; return v, ok })
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func newExporter(t testing.TB, o Options) *Exporter {
	t.Helper()
	x, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closes(t, x, 100*time.Millisecond) })
	return x
}

// closes closes an exporter, within a while.
func closes(t testing.TB, x *Exporter, within time.Duration) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	if err := x.Close(ctx); err != nil {
		t.Errorf("close: %v", err)
	}
}

func until(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !ok(); {
		if time.Now().After(deadline) {
			t.Fatalf("never: %s", what)
		}
		time.Sleep(2 * time.Millisecond)
	}
}

// values are the attributes, as texts and numbers.
func values(kvs []*commonpb.KeyValue) map[string]any {
	m := map[string]any{}
	for _, kv := range kvs {
		switch v := kv.Value.Value.(type) {
		case *commonpb.AnyValue_StringValue:
			m[kv.Key] = v.StringValue
		case *commonpb.AnyValue_IntValue:
			m[kv.Key] = v.IntValue
		case *commonpb.AnyValue_DoubleValue:
			m[kv.Key] = v.DoubleValue
		case *commonpb.AnyValue_BoolValue:
			m[kv.Key] = v.BoolValue
		}
	}
	return m
}
