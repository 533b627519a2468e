package otel

import (
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	resourcepb "go.opentelemetry.io/proto/otlp/resource/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/vtscope/vtscope/tracing/otel/otlpenv"
	"github.com/vtscope/vtscope/tracing/otel/traceid"
)

// A slab gives values of a type, and takes all back at once. They keep what they were given, so that their slices are used again.
type slab[T any] struct {
	chunks [][]T
	used   int
}

const slabChunk = 128

func (s *slab[T]) next() *T {
	if s.used == len(s.chunks)*slabChunk {
		s.chunks = append(s.chunks, make([]T, slabChunk))
	}
	v := &s.chunks[s.used/slabChunk][s.used%slabChunk]
	s.used++
	return v
}

// A batch is the spans of one export, made of messages that are used again.
//
//	B1  Who fills it has [queue].mu; then it is in full, then its sender's, then in free.
type batch struct {
	spans   slab[tracepb.Span]
	events  slab[tracepb.Span_Event]
	links   slab[tracepb.Span_Link]
	pairs   slab[commonpb.KeyValue]
	values  slab[commonpb.AnyValue]
	texts   slab[commonpb.AnyValue_StringValue]
	ints    slab[commonpb.AnyValue_IntValue]
	doubles slab[commonpb.AnyValue_DoubleValue]
	bools   slab[commonpb.AnyValue_BoolValue]

	groups []*tracepb.ResourceSpans // one for each process
	idle   []*tracepb.ResourceSpans // groups to use again
	size   int                      // about what it takes on the wire
	limit  int                      // most bytes of a text; 0: maxText
}

// maxText bounds a text where the environment does not.
const maxText = 4096

func (b *batch) reset() {
	b.spans.used, b.events.used, b.links.used, b.pairs.used, b.values.used = 0, 0, 0, 0, 0
	b.texts.used, b.ints.used, b.doubles.used, b.bools.used = 0, 0, 0, 0
	b.idle = append(b.idle, b.groups...)
	b.groups, b.size = b.groups[:0], 0
}

// of returns the list of the spans of a process.
func (b *batch) of(r *resourcepb.Resource) *tracepb.ScopeSpans {
	for _, g := range b.groups {
		if g.Resource == r {
			return g.ScopeSpans[0]
		}
	}
	var g *tracepb.ResourceSpans
	if n := len(b.idle); n > 0 {
		g, b.idle = b.idle[n-1], b.idle[:n-1]
	} else {
		g = &tracepb.ResourceSpans{ScopeSpans: []*tracepb.ScopeSpans{{Scope: instrumentation(), SchemaUrl: schemaURL}}, SchemaUrl: schemaURL}
	}
	g.Resource = r
	g.ScopeSpans[0].Spans = g.ScopeSpans[0].Spans[:0]
	b.groups = append(b.groups, g)
	return g.ScopeSpans[0]
}

// A span is one that is being built.
type span struct {
	*tracepb.Span
	b *batch
}

// Flags of spans: the W3C's sampled, and that it is known whether the parent is remote.
const (
	flagSampled     = 1
	flagRemoteKnown = 0x100
)

// add begins a span. Times are nanoseconds since 1970.
func (b *batch) add(to *tracepb.ScopeSpans, trace traceid.Trace, id, parent traceid.Span, name string, from, until int64) span {
	s := b.spans.next()
	s.TraceId = append(s.TraceId[:0], trace[:]...)
	s.SpanId = append(s.SpanId[:0], id[:]...)
	s.ParentSpanId = s.ParentSpanId[:0]
	if parent != (traceid.Span{}) {
		s.ParentSpanId = append(s.ParentSpanId, parent[:]...)
	}
	s.Flags = flagSampled | flagRemoteKnown
	s.Name, s.Kind = b.cut(name), tracepb.Span_SPAN_KIND_INTERNAL
	s.StartTimeUnixNano, s.EndTimeUnixNano = uint64(from), uint64(max(until, from))
	s.Attributes, s.Events, s.Links = s.Attributes[:0], s.Events[:0], s.Links[:0]
	s.DroppedAttributesCount, s.DroppedEventsCount, s.DroppedLinksCount = 0, 0, 0
	s.Status = nil
	to.Spans = append(to.Spans, s)
	b.size += 80 + len(s.Name)
	return span{s, b}
}

// limit drops the attributes and events that are more than the limits have, the last first.
func (s span) limit(l *otlpenv.SpanLimits) {
	if n := len(s.Attributes) - l.Attributes; n > 0 {
		s.Attributes, s.DroppedAttributesCount = s.Attributes[:l.Attributes], uint32(n)
	}
	if n := len(s.Events) - l.Events; n > 0 {
		s.Events, s.DroppedEventsCount = s.Events[:l.Events], s.DroppedEventsCount+uint32(n)
	}
}

func (b *batch) event(s span, name string, at int64) *tracepb.Span_Event {
	e := b.events.next()
	e.Name, e.TimeUnixNano, e.Attributes, e.DroppedAttributesCount = name, uint64(at), e.Attributes[:0], 0
	s.Events = append(s.Events, e)
	b.size += 20 + len(name)
	return e
}

func (b *batch) link(s span, to traceid.Parent) *tracepb.Span_Link {
	l := b.links.next()
	l.TraceId = append(l.TraceId[:0], to.Trace[:]...)
	l.SpanId = append(l.SpanId[:0], to.Span[:]...)
	l.Attributes, l.DroppedAttributesCount, l.Flags = l.Attributes[:0], 0, flagSampled|flagRemoteKnown
	s.Links = append(s.Links, l)
	b.size += 40
	return l
}

// pair adds an attribute without a value.
func (b *batch) pair(to *[]*commonpb.KeyValue, a attribute) *commonpb.AnyValue {
	kv, v := b.pairs.next(), b.values.next()
	kv.Key, kv.Value = Attributes[a].Key, v
	*to = append(*to, kv)
	b.size += 14 + len(kv.Key)
	return v
}

// text adds an attribute unless it is empty.
func (b *batch) text(to *[]*commonpb.KeyValue, a attribute, text string) {
	if text == "" {
		return
	}
	v := b.texts.next()
	v.StringValue = b.cut(text)
	b.pair(to, a).Value = v
	b.size += len(v.StringValue)
}

func (b *batch) int(to *[]*commonpb.KeyValue, a attribute, n int64) {
	v := b.ints.next()
	v.IntValue = n
	b.pair(to, a).Value = v
}

func (b *batch) double(to *[]*commonpb.KeyValue, a attribute, f float64) {
	v := b.doubles.next()
	v.DoubleValue = f
	b.pair(to, a).Value = v
}

// yes adds an attribute that is true.
func (b *batch) yes(to *[]*commonpb.KeyValue, a attribute, is bool) {
	if is {
		v := b.bools.next()
		v.BoolValue = true
		b.pair(to, a).Value = v
	}
}

func (b *batch) cut(text string) string { return cut(text, b.limit) }

// statuses are shared: a message is only read when it is sent.
var (
	statusPanic    = &tracepb.Status{Code: tracepb.Status_STATUS_CODE_ERROR, Message: "panic"}
	statusGoexit   = &tracepb.Status{Code: tracepb.Status_STATUS_CODE_ERROR, Message: "goexit"}
	statusThreads  = &tracepb.Status{Code: tracepb.Status_STATUS_CODE_ERROR, Message: "a thread has failed"}
	statusDeadline = &tracepb.Status{Code: tracepb.Status_STATUS_CODE_ERROR, Message: "the deadline has passed"}
	statusGone     = &tracepb.Status{Code: tracepb.Status_STATUS_CODE_ERROR, Message: "the process is gone"}
)
