package vthread

import (
	"context"
	"hash/maphash"
	"maps"
	"runtime/pprof"
	"sync/atomic"

	"github.com/vtscope/vtscope/runtime/flight"
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
	scope := t.scope
	if name := t.Name(); r != nil && r.labels == nil && from == nil && name != "" {
		return namedLabels(scope, name)
	}
	labels := make([]string, 0, 8)
	if scope != nil {
		labels = append(labels, LabelScope, scope.Name)
	}
	if r != nil {
		labels = appendLabels(labels, r.labels)
		if name := t.Name(); name != "" {
			labels = append(labels, LabelThread, name)
		}
	}
	return &sched.Labels{Context: pprof.WithLabels(from.Base(), pprof.Labels(labels...))}
}

// A labelsEntry keeps the labels of a name, and of the name of a scope.
type labelsEntry struct {
	sched.Labels
	scope, name string
	scoped      bool
}

// latestLabels are those that threads with a name have had lately: to make them takes longer than all else that an adopted thread costs. They replace each other.
var (
	latestLabels [256]atomic.Pointer[labelsEntry]
	labelsSeed   = maphash.MakeSeed()
)

// namedLabels are the labels of a thread that has a name and nothing else of its own.
func namedLabels(s *Scope, name string) *sched.Labels {
	at := maphash.String(labelsSeed, name)
	scope := ""
	if s != nil {
		scope = s.Name
		at ^= maphash.String(labelsSeed, scope) * 31
	}
	kept := &latestLabels[at%uint64(len(latestLabels))]
	e := kept.Load()
	if e == nil || e.name != name || e.scope != scope || e.scoped != (s != nil) {
		labels := []string{LabelThread, name}
		if s != nil {
			labels = append(labels, LabelScope, scope)
		}
		e = &labelsEntry{sched.Labels{Context: pprof.WithLabels(context.Background(), pprof.Labels(labels...))}, scope, name, s != nil}
		kept.Store(e)
	}
	return &e.Labels
}

func (s *Scope) profilerLabels() *sched.Labels {
	l := s.labels.Load()
	if l == nil {
		l = &sched.Labels{Context: pprof.WithLabels(context.Background(), pprof.Labels(LabelScope, s.Name))}
		s.labels.Store(l)
	}
	return l
}

// mergedLabels returns the labels of both; those of own are stronger. It changes neither.
func mergedLabels(from, own map[string]string) map[string]string {
	if len(from) == 0 {
		return own
	}
	if len(own) == 0 {
		return from
	}
	all := maps.Clone(from)
	maps.Copy(all, own)
	return all
}

// tellLabels records t's labels, and reports whether it did: t is about to be started, has any, and they were not recorded before.
func (t *Thread) tellLabels() bool {
	var from, own map[string]string
	if e := t.env.Load(); e != nil {
		from = e.told
	}
	r := t.rare.Load()
	if r != nil {
		own = r.labels
	}
	if len(from) == 0 && len(own) == 0 || flight.Default() == nil {
		return false
	}
	if r == nil {
		r = t.uncommon()
	}
	if r.told.Load() != nil {
		return false
	}
	rec := flight.Default().OpenLabels(t.ID(), flight.LabelsText(mergedLabels(from, own)))
	if !r.told.CompareAndSwap(nil, rec) { // somebody else starts it too
		flight.Default().CloseLabels(rec)
		return false
	}
	return rec != nil
}

// untellLabels takes back what tellLabels did: t has ended, or was not started.
func (t *Thread) untellLabels() {
	if r := t.rare.Load(); r != nil {
		if rec := r.told.Swap(nil); rec != nil {
			flight.Default().CloseLabels(rec)
		}
	}
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
