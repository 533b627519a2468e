package vthread

import (
	"context"
	"runtime/pprof"

	"github.com/vtscope/vtscope/runtime/sched"
)

// The keys of the profiler labels that threads have by themselves.
const (
	LabelThread = sched.LabelThread // its name
	LabelScope  = sched.LabelScope  // the name of its scope
)

// profilerLabels are what t's goroutine is labelled with while it executes t; nil for nothing. Those of a thread that has neither a name nor
// labels of its own are made once for its scope.
func (t *Thread) profilerLabels() *sched.Labels {
	var from *sched.Labels
	if e := t.env.Load(); e != nil {
		from = e.labels
	}
	r := t.rare.Load()
	if r == nil || r.labels == nil && r.name.Load() == nil {
		if t.scope == nil {
			return from
		}
		if from == nil {
			return t.scope.profilerLabels()
		}
	}
	labels := make([]string, 0, 8)
	if t.scope != nil {
		labels = append(labels, LabelScope, t.scope.Name)
	}
	if r != nil {
		labels = appendLabels(labels, r.labels)
		if name := t.Name(); name != "" {
			labels = append(labels, LabelThread, name)
		}
	}
	return &sched.Labels{Context: pprof.WithLabels(from.Base(), pprof.Labels(labels...))}
}

func (s *Scope) profilerLabels() *sched.Labels {
	l := s.labels.Load()
	if l == nil {
		l = &sched.Labels{Context: pprof.WithLabels(context.Background(), pprof.Labels(LabelScope, s.Name))}
		s.labels.Store(l)
	}
	return l
}

func withLabels(ctx context.Context, labels map[string]string) context.Context {
	return pprof.WithLabels(ctx, pprof.Labels(appendLabels(nil, labels)...))
}

func appendLabels(list []string, labels map[string]string) []string {
	for key, value := range labels {
		list = append(list, key, value)
	}
	return list
}
