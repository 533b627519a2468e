package vthread

import (
	"context"
	"runtime/pprof"

	"github.com/vtscope/vtscope/runtime/flight"
)

// Do is [pprof.Do] on a thread: while f executes, the calling thread has the labels of ctx, and labels, beside its own, and so have threads that it makes meanwhile. Unlike those of
// pprof.Do they are in dumps and on the page too, and the labels of scope and name stay in profiles. f gets ctx with all of them. It is for what is known only once a thread
// executes, such as the trace of the request that it serves. On a goroutine that is no thread it is pprof.Do. It costs some microseconds.
func Do(ctx context.Context, labels pprof.LabelSet, f func(context.Context)) {
	t := Current()
	if t == nil {
		pprof.Do(ctx, labels, f)
		return
	}
	r := t.uncommon()
	own, children := r.labels, r.children.Load()
	after := pprof.WithLabels(t.profilerLabels().Base(), pprof.Labels(appendLabels(nil, programLabels(ctx))...))
	defer func() {
		r.labels = own
		r.children.Store(children)
		t.retellLabels(r)
		pprof.SetGoroutineLabels(after)
	}()
	r.labels = mergedLabels(own, programLabels(pprof.WithLabels(ctx, labels)))
	r.children.Store(nil) // it has the labels of before
	t.retellLabels(r)
	inside := t.profilerLabels().Base()
	pprof.SetGoroutineLabels(inside)
	var all []string
	pprof.ForLabels(inside, func(key, value string) bool { all = append(all, key, value); return true })
	f(pprof.WithLabels(ctx, pprof.Labels(all...)))
}

// programLabels returns the labels of a context but for those that threads have by themselves: it may come from another thread.
func programLabels(ctx context.Context) map[string]string {
	labels := map[string]string{}
	pprof.ForLabels(ctx, func(key, value string) bool {
		if key != LabelThread && key != LabelScope {
			labels[key] = value
		}
		return true
	})
	return labels
}

// retellLabels records the labels of t, which executes it, as they are now.
func (t *Thread) retellLabels(r *rare) {
	var from map[string]string
	if e := t.env.Load(); e != nil {
		from = e.told
	}
	r.told.Store(flight.Default().Relabel(r.told.Load(), t.ID(), flight.LabelsText(mergedLabels(from, r.labels))))
}
