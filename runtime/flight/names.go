package flight

import (
	"sync"
	"sync/atomic"
	"unicode/utf8"
	"unsafe"
)

const (
	namesPerSegment = 16384
	maxNameSegments = maxThreads / namesPerSegment
)

// A namePool holds the names of threads, in slots of their own so that a thread without a name
// pays nothing.
type namePool struct {
	mu struct {
		sync.Mutex
		segments []unsafe.Pointer
		used     uint32 // slots ever used
		free     []uint32
	}
}

func (rec *Record) hasName() bool { return atomic.LoadUint32(&rec.name) != 0 }

// SetName gives the thread of rec a name; "" takes it away. It may be called from any goroutine
// while the thread lives and may wait for other callers. Names beyond 48 bytes are cut, and marked.
func (r *Recorder) SetName(rec *Record, name string) {
	if r == nil || rec == nil {
		return
	}
	if name == "" {
		if rec.hasName() {
			r.freeName(rec)
		}
		return
	}
	p := &r.names
	p.mu.Lock()
	defer p.mu.Unlock()
	slot := atomic.LoadUint32(&rec.name)
	if slot == 0 {
		if slot = p.takeLocked(r); slot == 0 {
			r.lose(lostNames)
			return
		}
	}
	n := p.slotLocked(slot)
	var text [nameText]byte
	kept := cutText(name, nameText)
	copy(text[:], kept)
	flags := uint32(0)
	if len(kept) < len(name) {
		flags = nameTruncated
	}
	v := beginWrite(&n.Ver)
	put32(&n.Info, uint32(len(kept))|flags<<16)
	put64(&n.Thread, atomic.LoadUint64(&rec.id))
	words := (*[nameText / 8]uint64)(unsafe.Pointer(&text))
	for i := range words {
		put64(&n.Text[i], words[i])
	}
	endWrite(&n.Ver, v)
	atomic.StoreUint32(&rec.name, slot)
}

// freeName takes the name of rec's thread away.
func (r *Recorder) freeName(rec *Record) {
	p := &r.names
	p.mu.Lock()
	defer p.mu.Unlock()
	slot := atomic.SwapUint32(&rec.name, 0)
	if slot == 0 || slot > p.mu.used {
		return
	}
	n := p.slotLocked(slot)
	v := beginWrite(&n.Ver)
	put32(&n.Info, 0)
	put64(&n.Thread, 0)
	endWrite(&n.Ver, v)
	p.mu.free = append(p.mu.free, slot)
}

// takeLocked returns a free slot, counted from 1, or 0.
func (p *namePool) takeLocked(r *Recorder) uint32 {
	if n := len(p.mu.free); n > 0 {
		slot := p.mu.free[n-1]
		p.mu.free = p.mu.free[:n-1]
		return slot
	}
	if int(p.mu.used) == len(p.mu.segments)*namesPerSegment {
		if len(p.mu.segments) == maxNameSegments {
			return 0
		}
		base, err := r.addSegment(segmentName, namesPerSegment*nameSize, nameSize, namesPerSegment, nil)
		if err != nil {
			r.warnOnce("names are not recorded any more", err)
			return 0
		}
		p.mu.segments = append(p.mu.segments, base)
	}
	p.mu.used++
	return p.mu.used
}

func (p *namePool) slotLocked(slot uint32) *nameRecord {
	i := slot - 1
	return (*nameRecord)(unsafe.Add(p.mu.segments[i/namesPerSegment], i%namesPerSegment*nameSize))
}

// cutText returns the longest prefix of s of at most n bytes that does not end inside a character.
func cutText(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}
