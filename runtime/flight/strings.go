package flight

import (
	"strings"
	"sync"
	"unsafe"
)

const (
	maxStringSegments     = 16
	maxUserStringSegments = 12 // the rest is kept for the names of functions and files
)

// A stringTable interns strings: each is stored once and never removed.
type stringTable struct {
	mu struct {
		sync.RWMutex
		ids      map[string]StringID
		segments []unsafe.Pointer
		used     int // bytes of the last segment
	}
}

func (t *stringTable) start(r *Recorder) func() error {
	return func() error {
		t.mu.ids = make(map[string]StringID)
		if err := t.growLocked(r); err != nil {
			return err
		}
		r.scopes.nameRoot(r)
		return nil
	}
}

func (t *stringTable) growLocked(r *Recorder) error {
	base, err := r.addSegment(segmentString, tableSegmentSize, 0, 0, startTable)
	if err != nil {
		return err
	}
	t.mu.segments = append(t.mu.segments, base)
	t.mu.used = tableHeaderSize
	return nil
}

func startTable(base unsafe.Pointer) { put64(&(*tableHeader)(base).Used, tableHeaderSize) }

// Intern returns the id of s. It may be called from any goroutine and may wait for other callers;
// meant for names of which there are few. Strings beyond 4,096 bytes are cut, and marked. Without
// room it returns 0, the empty string, and counts the loss.
func (r *Recorder) Intern(s string) StringID {
	if r == nil || s == "" {
		return 0
	}
	return r.intern(s, maxUserStringSegments)
}

func (r *Recorder) intern(s string, limit int) StringID {
	t := &r.strings
	t.mu.RLock()
	id, ok := t.mu.ids[s]
	t.mu.RUnlock()
	if ok {
		return id
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if id, ok := t.mu.ids[s]; ok {
		return id
	}
	id = t.addLocked(r, s, limit)
	if id == 0 {
		r.lose(lostStrings)
		return 0
	}
	t.mu.ids[strings.Clone(s)] = id
	return id
}

func (t *stringTable) addLocked(r *Recorder, s string, limit int) StringID {
	kept := cutText(s, maxFileString)
	need := alignUp(stringRecordSize+len(kept), unitSize)
	if t.mu.used+need > tableSegmentSize {
		if len(t.mu.segments) >= limit {
			return 0
		}
		if err := t.growLocked(r); err != nil {
			r.warnOnce("strings are not recorded any more", err)
			return 0
		}
	} else if len(t.mu.segments) > limit {
		return 0
	}
	last := len(t.mu.segments) - 1
	base := t.mu.segments[last]
	rec := (*stringRecord)(unsafe.Add(base, t.mu.used))
	rec.Len = uint16(len(kept))
	if len(kept) < len(s) {
		rec.Flags = stringTruncated
	}
	rec.Sum = textSum(kept)
	copy(unsafe.Slice((*byte)(unsafe.Add(unsafe.Pointer(rec), stringRecordSize)), len(kept)), kept)
	id := StringID(last*unitsPerSegment + t.mu.used/unitSize)
	t.mu.used += need
	put64(&(*tableHeader)(base).Used, uint64(t.mu.used))
	return id
}

// textSum is 32-bit FNV-1a. It tells a string's record from stray bytes.
func textSum(s string) uint32 {
	h := uint32(2166136261)
	for i := range len(s) {
		h = (h ^ uint32(s[i])) * 16777619
	}
	return h
}
