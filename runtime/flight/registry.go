package flight

import (
	"sync"
	"sync/atomic"
	"unsafe"
)

// registry lets a reader of a core file, or of the process's memory, find everything without
// symbols: it lies in initialised data and starts with two words to search for. Words are stored by
// the recorder that came first, atomically, and never read by this process.
// docs/flight-format.md describes it.
var registry = struct {
	Magic      [2]uint64
	Version    uint32
	HeaderSize uint32
	Header     uint64 // address of the fileHeader, 0 before a recorder has started
	Segments   uint64 // entries of the directory in use
	Entries    uint64 // address of the first segmentEntry
	EntrySize  uint32
	RecordSize uint32
	ColdOffset uint32
	EventSize  uint32
	ScopeSize  uint32
	NameSize   uint32
	UnitSize   uint32
	RingHeader uint32
}{
	Magic:      [2]uint64{registryMagic0, registryMagic1},
	Version:    FormatVersion,
	HeaderSize: headerSize,
	EntrySize:  segmentEntrySize,
	RecordSize: recordSize,
	ColdOffset: coldOffset,
	EventSize:  eventSize,
	ScopeSize:  scopeSize,
	NameSize:   nameSize,
	UnitSize:   unitSize,
	RingHeader: ringHeaderSize,
}

const (
	registryMagic0 = 0x65706f6373747600 | 0x76 // "vvtscope"
	registryMagic1 = 0xf11687f11e5ca1ed
)

var registered struct {
	sync.Mutex
	recorder *Recorder
}

// publishRegistry makes r the recorder that the registry shows, unless there is one.
func publishRegistry(r *Recorder) {
	registered.Lock()
	defer registered.Unlock()
	if registered.recorder != nil {
		return
	}
	registered.recorder = r
	atomic.StoreUint64(&registry.Entries, uint64(uintptr(unsafe.Pointer(r.entries))))
	atomic.StoreUint64(&registry.Segments, uint64(atomic.LoadUint32(&r.header.Segments)))
	atomic.StoreUint64(&registry.Header, uint64(uintptr(unsafe.Pointer(r.header))))
}

// unpublishRegistry makes room for another recorder, when r has recorded nothing or its file was cut.
func unpublishRegistry(r *Recorder) {
	registered.Lock()
	defer registered.Unlock()
	if r == nil || registered.recorder != r {
		return
	}
	registered.recorder = nil
	atomic.StoreUint64(&registry.Header, 0)
	atomic.StoreUint64(&registry.Segments, 0)
	atomic.StoreUint64(&registry.Entries, 0)
}

func publishSegments(r *Recorder, n int) {
	registered.Lock()
	defer registered.Unlock()
	if registered.recorder == r {
		atomic.StoreUint64(&registry.Segments, uint64(n))
	}
}
