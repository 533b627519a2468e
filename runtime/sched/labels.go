package sched

import (
	"context"
	"runtime/pprof"
	"unsafe"

	"github.com/vtscope/vtscope/runtime/internal/coro"
)

// Labels are profiler labels that threads share: one pointer for those that are the same.
type Labels struct{ Context context.Context }

// Base returns the context with the labels, for more to be added; nil has none.
func (l *Labels) Base() context.Context {
	if l == nil {
		return context.Background()
	}
	return l.Context
}

// over returns ctx with the labels added.
func (l *Labels) over(ctx context.Context) context.Context {
	var list []string
	pprof.ForLabels(l.Base(), func(key, value string) bool { list = append(list, key, value); return true })
	return pprof.WithLabels(ctx, pprof.Labels(list...))
}

// label gives the calling goroutine, which is r, the labels of the body that it is about to execute: those of the task before may be
// on it still.
func label(r *coro.Routine, l *Labels) {
	if unsafe.Pointer(l) == r.Labels {
		return
	}
	r.Labels = unsafe.Pointer(l)
	pprof.SetGoroutineLabels(l.Base())
}
