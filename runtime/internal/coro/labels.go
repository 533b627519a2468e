package coro

import (
	"context"
	"runtime/pprof"
	"sync"
	"unsafe"
)

// LabelsContext returns a context with profiler labels that [Labels] has returned, so that more can
// be added to them. Where it is not known how package pprof keeps labels in a context, it has none.
func LabelsContext(labels unsafe.Pointer) context.Context {
	if k := labelKey(); labels != nil && k.kind != nil {
		return &labelled{context.Background(), labels, k}
	}
	return context.Background()
}

// labelled is a context that has labels where package pprof looks for them.
type labelled struct {
	context.Context
	labels unsafe.Pointer
	key    keyOfLabels
}

func (l *labelled) Value(key any) any {
	if key != l.key.key {
		return nil
	}
	var v any
	*(*anyWords)(unsafe.Pointer(&v)) = anyWords{l.key.kind, l.labels}
	return v
}

// anyWords are the words of an interface value.
type anyWords struct{ kind, data unsafe.Pointer }

// keyOfLabels is how package pprof keeps labels in a context: under which key, and as a pointer to
// which type.
type keyOfLabels struct {
	key  any
	kind unsafe.Pointer
}

// labelKey finds it out: the key is what pprof asks a context for, the pointer must be what it
// gives to a goroutine. If a Go release keeps labels in another way the kind is nil, and
// TestLabelsOfAGoroutineCanBeAddedTo fails.
var labelKey = sync.OnceValue(func() keyOfLabels {
	if !SwapsLabels {
		return keyOfLabels{}
	}
	asked := &recordKey{Context: context.Background()}
	pprof.ForLabels(asked, func(string, string) bool { return true })
	v := pprof.WithLabels(context.Background(), pprof.Labels("key", "value"))
	words := *(*anyWords)(unsafe.Pointer(new(v.Value(asked.key))))
	found := make(chan unsafe.Pointer)
	go func() {
		pprof.SetGoroutineLabels(v)
		found <- Labels()
	}()
	if asked.key == nil || words.data != <-found {
		return keyOfLabels{}
	}
	return keyOfLabels{asked.key, words.kind}
})

type recordKey struct {
	context.Context
	key any
}

func (r *recordKey) Value(key any) any {
	r.key = key
	return nil
}
