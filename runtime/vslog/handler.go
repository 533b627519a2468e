package vslog

import (
	"context"
	"log/slog"
	"slices"

	"github.com/vtscope/vtscope/runtime/vthread"
)

// Options say what else records tell. The zero value is usable.
type Options struct {
	// Trace returns the trace and the span of a context, as hexadecimal ids; empty ones are left out. With OpenTelemetry:
	//
	//	func(ctx context.Context) (trace, span string) {
	//		if s := oteltrace.SpanContextFromContext(ctx); s.IsValid() {
	//			return s.TraceID().String(), s.SpanID().String()
	//		}
	//		return "", ""
	//	}
	Trace func(ctx context.Context) (trace, span string)
}

// The keys of what a [Handler] adds. KeyThread is a group with the members id and, if the thread has one, name.
const (
	KeyThread = "thread"
	KeyScope  = "scope"
	KeyTrace  = "trace_id"
	KeySpan   = "span_id"
)

// A Handler adds to each record the thread that calls it, the innermost scope of that thread, and the trace of the context, outside of all groups. A
// record of a goroutine that is no thread has the trace alone.
type Handler struct {
	top     slog.Handler // without groups and attributes
	inner   slog.Handler // with those that were given
	with    []func(slog.Handler) slog.Handler
	grouped bool // attributes that are added to a record are in a group
	options Options
}

var _ slog.Handler = (*Handler)(nil)

// New returns a handler that passes records on to h.
func New(h slog.Handler, o Options) *Handler { return &Handler{top: h, inner: h, options: o} }

// Enabled reports whether the handler behind wants records of a level.
func (h *Handler) Enabled(ctx context.Context, level slog.Level) bool {
	return h.inner.Enabled(ctx, level)
}

// Handle passes a record on, with what is added. It blocks as long as the handler behind does. Its error is that one's.
func (h *Handler) Handle(ctx context.Context, r slog.Record) error {
	added := h.added(ctx)
	switch {
	case len(added) == 0:
		return h.inner.Handle(ctx, r)
	case !h.grouped:
		r = r.Clone()
		r.AddAttrs(added...)
		return h.inner.Handle(ctx, r)
	}
	inner := h.top.WithAttrs(added)
	for _, with := range h.with {
		inner = with(inner)
	}
	return inner.Handle(ctx, r)
}

func (h *Handler) added(ctx context.Context) (all []slog.Attr) {
	if t := vthread.Current(); t != nil {
		who := []slog.Attr{slog.Uint64("id", uint64(t.ID()))}
		if name := t.Name(); name != "" {
			who = append(who, slog.String("name", name))
		}
		all = append(all, slog.Attr{Key: KeyThread, Value: slog.GroupValue(who...)})
		if s := t.Innermost(); s != nil && s.Name != "" {
			all = append(all, slog.String(KeyScope, s.Name))
		} else if s := t.Scope(); s != nil && s.Name != "" {
			all = append(all, slog.String(KeyScope, s.Name))
		}
	}
	if h.options.Trace != nil {
		trace, span := h.options.Trace(ctx)
		if trace != "" {
			all = append(all, slog.String(KeyTrace, trace))
		}
		if span != "" {
			all = append(all, slog.String(KeySpan, span))
		}
	}
	return all
}

// WithAttrs returns a handler whose records have more attributes.
func (h *Handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	if len(attrs) == 0 {
		return h
	}
	return h.and(func(to slog.Handler) slog.Handler { return to.WithAttrs(attrs) }, h.grouped)
}

// WithGroup returns a handler whose records have their further attributes in a group.
func (h *Handler) WithGroup(name string) slog.Handler {
	if name == "" {
		return h
	}
	return h.and(func(to slog.Handler) slog.Handler { return to.WithGroup(name) }, true)
}

func (h *Handler) and(with func(slog.Handler) slog.Handler, grouped bool) *Handler {
	n := *h
	n.inner, n.with, n.grouped = with(h.inner), append(slices.Clip(h.with), with), grouped
	return &n
}
