package propagate

import (
	"bytes"
	"context"
	"testing"

	"go.opentelemetry.io/otel/trace"

	"github.com/vtscope/vtscope/internal/leaktest"
	"github.com/vtscope/vtscope/recording"
	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/structured"
	"github.com/vtscope/vtscope/tracing/otel/traceid"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

func TestTheSpanOfTheContextIsRecordedWithTheScope(t *testing.T) {
	if flight.Default() == nil {
		t.Skip("the recorder is off")
	}
	in := trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1, 15: 2}, SpanID: trace.SpanID{3, 7: 4}, TraceFlags: trace.FlagsSampled})
	for _, ctx := range []context.Context{t.Context(), trace.ContextWithSpanContext(t.Context(), in)} {
		if err := structured.Run(ctx, "scope", func(*structured.Scope) error { return nil }); err != nil {
			t.Fatal(err)
		}
	}
	r, err := flight.Default().Reader()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var run bytes.Buffer
	ctx, cancel := context.WithCancel(t.Context())
	cancel() // what the rings hold is enough
	if _, err := recording.Record(ctx, r, &run, recording.Options{Held: true}); err != nil {
		t.Fatal(err)
	}
	f, err := recording.NewFile(bytes.NewReader(run.Bytes()), int64(run.Len()))
	if err != nil {
		t.Fatal(err)
	}
	p := &places{Follower: traceid.NewFollower(r.Process(), f)}
	if err := recording.Observe(t.Context(), f, p); err != nil {
		t.Fatal(err)
	}
	got := p.closed
	if len(got) != 2 || !got[0].Begins() || got[1].Trace != traceid.Trace(in.TraceID()) || got[1].Parent != traceid.Span(in.SpanID()) || !got[1].Program.Sampled {
		t.Errorf("got %+v, want one that begins a trace, and one that is in the span", got)
	}
}

// places is an observer that notes where scopes stood when they were closed.
type places struct {
	*traceid.Follower
	closed []traceid.Place
}

func (p *places) Event(e *recording.Event, c recording.Change, t *recording.Tracker) {
	p.Follower.Event(e, c, t)
	if e.Kind == flight.EventScopeClose {
		p.closed = append(p.closed, p.Scope(nil, flight.ScopeID(e.Arg)))
	}
}
