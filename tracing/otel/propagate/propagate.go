package propagate

import (
	"context"
	"encoding/binary"

	"go.opentelemetry.io/otel/trace"

	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/structured"
	"github.com/vtscope/vtscope/tracing/otel/traceid"
)

// The event, and its fields in the order that [traceid.Parent] reads.
var (
	scope     = flight.CountField("scope")
	traceHigh = flight.CountField("trace-high")
	traceLow  = flight.CountField("trace-low")
	span      = flight.CountField("span")
	flags     = flight.CountField("flags")

	opened = flight.Register(traceid.EventName, scope, traceHigh, traceLow, span, flags)
)

func init() { structured.OnOpen(record) }

// record tells the flight file which span a scope was opened in.
func record(ctx context.Context, id flight.ScopeID) {
	in := trace.SpanContextFromContext(ctx)
	if !in.IsValid() {
		return
	}
	t, s := in.TraceID(), in.SpanID()
	opened.Mark(scope.Is(uint64(id)), traceHigh.Is(binary.BigEndian.Uint64(t[:8])), traceLow.Is(binary.BigEndian.Uint64(t[8:])),
		span.Is(binary.BigEndian.Uint64(s[:])), flags.Is(uint64(in.TraceFlags())))
}
