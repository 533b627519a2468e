package flight

import (
	"encoding/binary"
	"fmt"
	"math"
	"sort"
	"sync"
)

// A Memory is that of a process, which lives or has left a core file.
type Memory interface {
	// ReadMemory copies what is at an address, and returns how many bytes there were before something that cannot be read.
	ReadMemory(p []byte, address uint64) (n int)
	// Alive asks whether the process lives; known is false if that cannot be told.
	Alive() (alive, known bool)
}

// A Registry is what a process keeps for those who read its memory: where its recorder lies. docs/flight-format.md describes it.
type Registry struct {
	Address  uint64 // of the registry itself
	Header   uint64 // address of the header of the flight file; 0: it has no recorder
	Segments int    // entries of the directory
}

const registrySize = 80

// RegistryIn returns the position of a registry in a copy of initialised data that begins at a multiple of 8, or -1.
func RegistryIn(data []byte) int {
	le := binary.LittleEndian
	for i := 0; i+registrySize <= len(data); i += 8 {
		if le.Uint64(data[i:]) == registryMagic0 && le.Uint64(data[i+8:]) == registryMagic1 {
			return i
		}
	}
	return -1
}

// ReadRegistry reads and checks the registry at an address. Errors match [ErrFormat], or [ErrNotVtscope] if there is no recorder.
func ReadRegistry(m Memory, address uint64) (Registry, error) {
	fail := func(err error) (Registry, error) {
		return Registry{}, fmt.Errorf("flight: read registry at %#x: %w", address, err)
	}
	var b [registrySize]byte
	if m.ReadMemory(b[:], address) < len(b) {
		return fail(fmt.Errorf("not in the memory: %w", ErrFormat))
	}
	le := binary.LittleEndian
	if RegistryIn(b[:]) != 0 {
		return fail(fmt.Errorf("no magic: %w", ErrFormat))
	}
	r := Registry{Address: address, Header: le.Uint64(b[24:])}
	segments, entries := le.Uint64(b[32:]), le.Uint64(b[40:])
	switch version := le.Uint32(b[16:]); {
	case version == 0 || version > FormatVersion:
		return fail(fmt.Errorf("version %d: want 1 to %d: %w", version, FormatVersion, ErrFormat))
	case le.Uint32(b[20:]) != headerSize || le.Uint32(b[48:]) != segmentEntrySize || le.Uint32(b[52:]) != recordSize:
		return fail(fmt.Errorf("sizes of another format: %w", ErrFormat))
	case r.Header == 0:
		return fail(fmt.Errorf("the recorder is off, or has not started: %w", ErrNotVtscope))
	case r.Header%8 != 0 || r.Header > math.MaxInt64 || entries != r.Header+headerPage || segments > maxSegments:
		return fail(fmt.Errorf("bad addresses %#x and %#x: %w", r.Header, entries, ErrFormat))
	}
	r.Segments = int(segments)
	return r, nil
}

// OpenMemory opens the recorder in the memory of a process. name is what errors call it, and pid the process as it is seen from here, 0 if it
// is gone. The reader does not close the memory. Errors match [ErrFormat].
func OpenMemory(name string, m Memory, g Registry, pid int) (*Reader, error) {
	r, err := newReader(name, &memorySource{memory: m, header: g.Header})
	if err != nil {
		return nil, err
	}
	r.pid = pid
	r.mu.Lock()
	defer r.mu.Unlock()
	if at := r.mu.header.Address; at != g.Header {
		return nil, fmt.Errorf("flight: read %s: header at %#x says that it is at %#x: %w", name, g.Header, at, ErrFormat)
	}
	return r, nil
}

// Wrote reports whether the process with that registry wrote the file, or another with the same addresses: what there is in a core file
// that left the shared memory out.
func (r *Reader) Wrote(g Registry) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return g.Header != 0 && r.mu.header.Address == g.Header && int(r.mu.header.Segments) >= g.Segments
}

// memorySource reads segments where they lie in memory.
type memorySource struct {
	memory Memory
	header uint64 // its address
	mu     struct {
		sync.Mutex
		pieces []piece // of the directory, in its order, that of offsets
		read   int     // entries looked at
	}
}

// A piece is a segment: where in the file, and where in memory.
type piece struct{ offset, size, address uint64 }

func (s *memorySource) readAt(p []byte, offset uint64) int {
	if offset < headerSize {
		return s.memory.ReadMemory(p[:min(uint64(len(p)), headerSize-offset)], s.header+offset)
	}
	at, ok := s.find(offset)
	if !ok {
		return 0
	}
	return s.memory.ReadMemory(p[:min(uint64(len(p)), at.offset+at.size-offset)], at.address+offset-at.offset)
}

// find returns the segment that holds an offset.
func (s *memorySource) find(offset uint64) (piece, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		i := sort.Search(len(s.mu.pieces), func(i int) bool { return s.mu.pieces[i].offset > offset }) - 1
		if i >= 0 && offset-s.mu.pieces[i].offset < s.mu.pieces[i].size {
			return s.mu.pieces[i], true
		}
		if !s.growLocked() {
			return piece{}, false
		}
	}
}

// growLocked reads new entries of the directory, and reports whether there were any. Whether they make sense, and are in order, the
// reader checks, which does not ask for those that do not.
func (s *memorySource) growLocked() bool {
	var count [4]byte
	if s.memory.ReadMemory(count[:], s.header+68) < len(count) {
		return false
	}
	le := binary.LittleEndian
	n := min(int(le.Uint32(count[:])), maxSegments)
	if n <= s.mu.read {
		return false
	}
	buf := make([]byte, (n-s.mu.read)*segmentEntrySize)
	if s.memory.ReadMemory(buf, s.header+headerPage+uint64(s.mu.read*segmentEntrySize)) < len(buf) {
		return false
	}
	end := uint64(headerSize)
	if k := len(s.mu.pieces); k > 0 {
		end = s.mu.pieces[k-1].offset + s.mu.pieces[k-1].size
	}
	for ; len(buf) > 0; buf = buf[segmentEntrySize:] {
		s.mu.read++
		p := piece{le.Uint64(buf), uint64(le.Uint32(buf[16:])), le.Uint64(buf[8:])}
		if p.offset < end || p.offset > math.MaxInt64/2 || p.address > math.MaxInt64 {
			continue
		}
		s.mu.pieces = append(s.mu.pieces, p)
		end = p.offset + p.size
	}
	return true
}

func (s *memorySource) size() uint64        { return math.MaxInt64 }
func (s *memorySource) alive() (bool, bool) { return s.memory.Alive() }
func (s *memorySource) close() error        { return nil }

// NewFrame returns a frame with what this package knows of its function by name. shown is false for a wrapper that the compiler has made,
// which nobody wants to see.
func NewFrame(function, file string, line int, pc uint64, inlined bool) (f Frame, shown bool) {
	f = Frame{Func: safeText(function), File: safeText(file), Line: line, PC: pc, Inlined: inlined, Internal: InternalFunction(function, file)}
	return f, function != "" && !isWrapper(function, file)
}
