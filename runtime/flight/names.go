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
// pays nothing. A record keeps its slot for the next thread, which most often has a name too: so threads that
// start with a name and end do not wait for each other.
type namePool struct {
	segments [maxNameSegments]unsafe.Pointer // those of slots that have been used do not change
	mu       struct {
		sync.Mutex
		reserved int    // segments
		used     uint32 // slots ever used
		free     []uint32
	}
}

func (rec *Record) hasName() bool { return atomic.LoadUint32(&rec.name) != 0 }

// SetName gives the thread of rec a name; "" takes away what it has, or the thread before it had. It may be called from
// any goroutine while the thread lives, by one at a time. It may wait for callers of other threads if rec has had no name.
// Names beyond 48 bytes are cut, and marked.
func (r *Recorder) SetName(rec *Record, name string) {
	switch {
	case r == nil || rec == nil:
	case name == "":
		r.freeName(rec)
	default:
		r.writeName(rec, name)
	}
}

func (r *Recorder) writeName(rec *Record, name string) {
	slot := atomic.LoadUint32(&rec.name)
	if slot == 0 {
		if slot = r.names.take(r); slot == 0 {
			r.lose(lostNames)
			return
		}
	}
	n := r.names.slot(slot)
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

// endName takes the name from rec's thread, which has ended, but not the slot from rec.
func (r *Recorder) endName(rec *Record) {
	if rec.hasName() {
		put64(&r.names.slot(atomic.LoadUint32(&rec.name)).Thread, 0)
	}
}

// freeName takes the name of rec's thread away.
func (r *Recorder) freeName(rec *Record) {
	if !rec.hasName() {
		return
	}
	p := &r.names
	slot := atomic.SwapUint32(&rec.name, 0)
	n := p.slot(slot)
	v := beginWrite(&n.Ver)
	put32(&n.Info, 0)
	put64(&n.Thread, 0)
	endWrite(&n.Ver, v)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mu.free = append(p.mu.free, slot)
}

// take returns a free slot, counted from 1, or 0.
func (p *namePool) take(r *Recorder) uint32 {
	p.mu.Lock()
	defer p.mu.Unlock()
	if n := len(p.mu.free); n > 0 {
		slot := p.mu.free[n-1]
		p.mu.free = p.mu.free[:n-1]
		return slot
	}
	if int(p.mu.used) == p.mu.reserved*namesPerSegment {
		if p.mu.reserved == maxNameSegments {
			return 0
		}
		base, err := r.addSegment(segmentName, namesPerSegment*nameSize, nameSize, namesPerSegment, nil)
		if err != nil {
			r.warnOnce("names are not recorded any more", err)
			return 0
		}
		p.segments[p.mu.reserved] = base
		p.mu.reserved++
	}
	p.mu.used++
	return p.mu.used
}

func (p *namePool) slot(slot uint32) *nameRecord {
	i := slot - 1
	return (*nameRecord)(unsafe.Add(p.segments[i/namesPerSegment], i%namesPerSegment*nameSize))
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
