package flight

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

// A gcWatch tells of the cycles of Go's garbage collector. Only the background goroutine uses it.
//
// Each cycle frees a small object that nothing refers to, and that wakes the background goroutine: between cycles it costs nothing. A cycle that ends before the
// one before it was told is told with it.
type gcWatch struct {
	ended chan struct{} // has room for one
	stats debug.GCStats
	told  int64 // cycles
	heap  []metrics.Sample
}

// A bait is large enough to be an object by itself: Go packs smaller ones without pointers together.
type bait struct{ _ [32]byte }

// watchGC begins with the next cycle that ends.
func watchGC() *gcWatch {
	g := &gcWatch{ended: make(chan struct{}, 1), heap: []metrics.Sample{{Name: "/gc/heap/live:bytes"}}}
	debug.ReadGCStats(&g.stats)
	g.told = g.stats.NumGC
	g.lay()
	return g
}

// lay makes the object that the next cycle frees. It must not be in a function whose frame keeps it.
//
//go:noinline
func (g *gcWatch) lay() {
	runtime.AddCleanup(new(bait), func(ended chan struct{}) {
		select {
		case ended <- struct{}{}:
		default:
		}
	}, g.ended)
}

// tell emits an event for each cycle that has ended since the last call. Of several only the newest has the size of the heap that it left.
func (g *gcWatch) tell(r *Recorder) {
	g.lay()
	debug.ReadGCStats(&g.stats)
	fresh := g.stats.NumGC - g.told
	g.told = g.stats.NumGC
	metrics.Read(g.heap)
	var live uint64
	if v := g.heap[0].Value; v.Kind() == metrics.KindUint64 {
		live = v.Uint64()
	}
	now := Now()
	for i := min(fresh, int64(len(g.stats.Pause))) - 1; i >= 0; i-- { // the newest is the first
		heap := uint64(0)
		if i == 0 {
			heap = live
		}
		r.EmitMore(now, EventGC, 0, StackID(g.stats.NumGC-i), 0, uint64(max(g.stats.Pause[i], 0)), heap)
	}
}
