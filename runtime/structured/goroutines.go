package structured

import (
	"sync"
	"sync/atomic"

	"github.com/vtscope/vtscope/runtime/vthread"
)

// goroutines has what goroutines that are no threads have opened. Only those that have opened something are in it.
var goroutines goroutineTable

type goroutineTable [16]goroutinePart

// A goroutinePart is a hash table with linear probing.
//
//	G1  Only the goroutine itself adds, changes, removes and looks up its key, which no other goroutine has ever had. So a look-up needs no lock.
//	G2  Entries are changed under the lock, and never moved within an array. Growth copies them to another; who looks its own up has the array that
//	    its last change was made in, or a newer one.
//	G3  Less than 3/4 of an array are keys and tombs, so that every search ends.
type goroutinePart struct {
	entries atomic.Pointer[[]goroutineEntry]
	mu      struct {
		sync.Mutex
		used int // keys and tombs
		live int // keys
	}
	_ [32]byte // no two parts share a cache line
}

type goroutineEntry struct {
	key       atomic.Int64 // 0: free
	innermost atomic.Pointer[vthread.Scope]
}

const goroutineTomb = -1

func (t *goroutineTable) part(g int64) *goroutinePart { return &t[g%int64(len(t))] }

// find returns what g, the caller, has opened last.
func (t *goroutineTable) find(g int64) *vthread.Scope {
	if p := t.part(g).entries.Load(); p != nil {
		if e := find(*p, g); e.key.Load() == g {
			return e.innermost.Load()
		}
	}
	return nil
}

// find returns the entry of g, or else the free one where the search ended.
func find(in []goroutineEntry, g int64) *goroutineEntry {
	h := uint64(g) * 0x9e3779b97f4a7c15
	for i := h >> 32; ; i++ {
		e := &in[i&uint64(len(in)-1)]
		if k := e.key.Load(); k == g || k == 0 {
			return e
		}
	}
}

// set sets what g, the caller, has opened last; nil for nothing.
func (t *goroutineTable) set(g int64, s *vthread.Scope) {
	p := t.part(g)
	p.mu.Lock()
	defer p.mu.Unlock()
	es := p.roomLocked()
	e := find(es, g)
	known := e.key.Load() == g
	switch {
	case s != nil && !known:
		e.innermost.Store(s)
		e.key.Store(g)
		p.mu.used++
		p.mu.live++
	case s != nil:
		e.innermost.Store(s)
	case known:
		e.innermost.Store(nil)
		e.key.Store(goroutineTomb)
		p.mu.live--
	}
}

// roomLocked returns an array with room for one more.
func (p *goroutinePart) roomLocked() []goroutineEntry {
	old := p.entries.Load()
	if old != nil && 4*(p.mu.used+1) < 3*len(*old) {
		return *old
	}
	size := 8
	for size < 4*(p.mu.live+1) {
		size *= 2
	}
	es := make([]goroutineEntry, size)
	p.mu.used = p.mu.live
	if old != nil {
		for i := range *old {
			from := &(*old)[i]
			if k := from.key.Load(); k > 0 {
				to := find(es, k)
				to.innermost.Store(from.innermost.Load())
				to.key.Store(k)
			}
		}
	}
	p.entries.Store(&es)
	return es
}
