package coro

import (
	"math/bits"
	"sync/atomic"
	"unsafe"

	"github.com/vtscope/vtscope/runtime/internal/spin"
)

// A goTable maps goroutines to routines: those whose shard it is.
//
//	T1  Only the goroutine itself adds, removes and looks up its key. So a look-up races with changes to other keys
//	    and with growth, never with a change of its own entry.
//	T2  A value is stored before its key. Entries are never moved within an array.
//	T3  Growth copies to a new array under the lock and publishes it; a reader that still holds the old
//	    one finds its entry there.
type goTable struct {
	entries atomic.Pointer[[]goEntry]
	mu      struct {
		spin.Mutex
		used int // keys and tombs
		live int
	}
}

type goEntry struct {
	key atomic.Uintptr
	val atomic.Pointer[Routine]
}

const (
	emptyKey = 0
	tombKey  = 1 // no g is at address 1, and no goroutine but the runtime's first has number 1
)

// shardBits is of how many goTables there are: goroutines that become routines and stop being ones at the
// same time, on as many processors, shall not wait for each other.
const shardBits = 6

var tables [1 << shardBits]struct {
	goTable
	_ [cacheLine - unsafe.Sizeof(goTable{})%cacheLine]byte
}

const cacheLine = 64

func tableOf(g uintptr) *goTable { return &tables[hashG(g)>>(bits.UintSize-shardBits)].goTable }

func hashG(g uintptr) uintptr {
	h := uint64(g) * 0x9e3779b97f4a7c15
	return uintptr(h ^ h>>29)
}

func (t *goTable) find(g uintptr) *Routine {
	p := t.entries.Load()
	if p == nil {
		return nil
	}
	es := *p
	for i, mask := hashG(g), uintptr(len(es)-1); ; i++ {
		e := &es[i&mask]
		switch e.key.Load() {
		case g:
			return e.val.Load()
		case emptyKey:
			return nil
		}
	}
}

func (t *goTable) add(g uintptr, r *Routine) {
	t.mu.Lock()
	p := t.entries.Load()
	if p == nil || t.mu.used >= len(*p)*3/4 {
		t.growLocked(p)
		p = t.entries.Load()
	}
	t.putLocked(*p, g, r)
	t.mu.live++
	t.mu.Unlock()
}

func (t *goTable) putLocked(es []goEntry, g uintptr, r *Routine) {
	for i, mask := hashG(g), uintptr(len(es)-1); ; i++ {
		e := &es[i&mask]
		k := e.key.Load()
		if k == emptyKey || k == tombKey {
			e.val.Store(r)
			e.key.Store(g)
			if k == emptyKey {
				t.mu.used++
			}
			return
		}
	}
}

func (t *goTable) growLocked(old *[]goEntry) {
	size := 16
	for size < t.mu.live*2+2 {
		size *= 2
	}
	es := make([]goEntry, size)
	t.mu.used = 0
	if old != nil {
		for i := range *old {
			e := &(*old)[i]
			if k := e.key.Load(); k != emptyKey && k != tombKey {
				t.putLocked(es, k, e.val.Load())
			}
		}
	}
	t.entries.Store(&es)
}

// replace gives g, which is the caller and in the table, another routine.
func (t *goTable) replace(g uintptr, r *Routine) {
	t.mu.Lock() // growth copies
	defer t.mu.Unlock()
	es := *t.entries.Load()
	for i, mask := hashG(g), uintptr(len(es)-1); ; i++ {
		if e := &es[i&mask]; e.key.Load() == g {
			e.val.Store(r)
			return
		}
	}
}

func (t *goTable) remove(g uintptr) {
	t.mu.Lock()
	defer t.mu.Unlock()
	es := *t.entries.Load()
	for i, mask := hashG(g), uintptr(len(es)-1); ; i++ {
		e := &es[i&mask]
		switch e.key.Load() {
		case g:
			e.key.Store(tombKey)
			e.val.Store(nil)
			t.mu.live--
			return
		case emptyKey:
			return
		}
	}
}
