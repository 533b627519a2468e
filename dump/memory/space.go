package memory

import (
	"encoding/binary"

	"github.com/vtscope/vtscope/runtime/flight"
)

// A space is the memory of a process.
type space interface {
	flight.Memory
	// readMany fills spans, each as far as it can be read.
	readMany(spans []span)
	// writable returns the areas that initialised data of the executable is in.
	writable() []area
	close() error
}

// A span is a piece of memory to read.
type span struct {
	address uint64
	to      []byte
	n       int // how much was read
}

// An area is a range of addresses.
type area struct{ from, to uint64 }

func (a area) has(address uint64) bool { return a.from <= address && address < a.to }

// word reads a 64-bit word.
func word(s flight.Memory, address uint64) (uint64, bool) {
	var b [8]byte
	n := s.ReadMemory(b[:], address)
	return binary.LittleEndian.Uint64(b[:]), n == len(b)
}

const scanChunk = 1 << 20

// scan calls visit with the writable memory of the executable in pieces that begin at a multiple of 8 and overlap by some bytes, until it returns false.
func scan(s space, visit func(data []byte, address uint64) bool) {
	const overlap = 512
	buf := make([]byte, scanChunk)
	for _, a := range s.writable() {
		for at := a.from &^ 7; at < a.to; at += scanChunk - overlap {
			n := s.ReadMemory(buf[:min(scanChunk, a.to-at)], at)
			if n > 0 && !visit(buf[:n], at) {
				return
			}
			if a.to-at <= scanChunk {
				break
			}
		}
	}
}

// findRegistry searches for the registry of a recorder. Without one the error matches [flight.ErrNotVtscope].
func findRegistry(s space) (flight.Registry, error) {
	var (
		found flight.Registry
		err   error = flight.ErrNotVtscope
	)
	scan(s, func(data []byte, address uint64) bool {
		for {
			i := flight.RegistryIn(data)
			if i < 0 {
				return true
			}
			var g flight.Registry
			if g, err = flight.ReadRegistry(s, address+uint64(i)); err == nil {
				found = g
				return false
			}
			data, address = data[i+8:], address+uint64(i)+8
		}
	})
	return found, err
}

// A window reads memory that does not change by the page, and remembers what it read.
type window struct {
	memory flight.Memory
	pages  map[uint64][]byte
}

const (
	windowPage  = 16 << 10
	windowPages = 1 << 12
)

// bytes returns up to n bytes from an address on; they must not be changed.
func (w *window) bytes(address uint64, n int) []byte {
	at := address % windowPage
	p := w.page(address - at)
	if at >= uint64(len(p)) {
		return nil
	}
	p = p[at:]
	if len(p) >= n || at+uint64(len(p)) < windowPage {
		return p[:min(n, len(p))]
	}
	out := append(make([]byte, 0, n), p...)
	return append(out, w.bytes(address+uint64(len(p)), n-len(p))...)
}

func (w *window) page(address uint64) []byte {
	p, ok := w.pages[address]
	if !ok {
		if w.pages == nil || len(w.pages) == windowPages {
			w.pages = map[uint64][]byte{}
		}
		p = make([]byte, windowPage)
		p = p[:w.memory.ReadMemory(p, address)]
		w.pages[address] = p
	}
	return p
}

func (w *window) uint32(address uint64) (uint32, bool) {
	b := w.bytes(address, 4)
	if len(b) < 4 {
		return 0, false
	}
	return binary.LittleEndian.Uint32(b), true
}

const maxText = 4096

// text reads a string that a zero byte ends.
func (w *window) text(address uint64) string {
	var out []byte
	for len(out) < maxText {
		b := w.bytes(address+uint64(len(out)), 64)
		for i, c := range b {
			if c == 0 {
				return string(append(out, b[:i]...))
			}
		}
		if len(b) == 0 {
			break
		}
		out = append(out, b...)
	}
	return string(out)
}
