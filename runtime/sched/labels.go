package sched

import (
	"context"
	"runtime/pprof"
	"sync/atomic"
	"unsafe"

	"github.com/vtscope/vtscope/runtime/internal/coro"
)

// Labels are profiler labels that threads share: one pointer for those that are the same.
type Labels struct {
	Context context.Context
	mixed   atomic.Pointer[mixture] // the last one
}

// A mixture is what a goroutine has that had labels before it became a thread with others.
type mixture struct {
	under unsafe.Pointer // the goroutine's, which most goroutines of a server share
	both  context.Context
}

// Base returns the context with the labels, for more to be added; nil has none.
func (l *Labels) Base() context.Context {
	if l == nil {
		return context.Background()
	}
	return l.Context
}

// over returns the labels added to those of a goroutine, as [coro.Labels] returned them.
func (l *Labels) over(under unsafe.Pointer) context.Context {
	if m := l.mixed.Load(); m != nil && m.under == under {
		return m.both
	}
	var list []string
	pprof.ForLabels(l.Context, func(key, value string) bool { list = append(list, key, value); return true })
	both := pprof.WithLabels(coro.LabelsContext(under), pprof.Labels(list...))
	l.mixed.Store(&mixture{under, both})
	return both
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
