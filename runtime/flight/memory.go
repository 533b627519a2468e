package flight

import (
	"errors"
	"unsafe"
)

// A memory is where a recorder's segments lie: a file or private memory. What it has handed out
// never moves and is never given back. Its methods need the recorder's lock, except during
// construction.
type memory interface {
	// reserve hands out size zeroed bytes, a multiple of segmentAlign or rounded up to it, and their
	// offset in the file.
	reserve(size int) (unsafe.Pointer, uint64, error)
	// readAt copies from what was handed out; n < len(p) means beyond the end.
	readAt(p []byte, offset uint64) (n int)
	// lost returns what another program has taken away of the file, nil if nothing.
	lost() *loss
	// remove takes the name of the file away. What was handed out stays usable.
	remove() error
}

// A loss is what other programs do to a flight file in use, as the program is warned of it.
type loss struct {
	subject string
	why     error
}

var (
	lossOfName = &loss{"the flight file was removed", errors.New("a reader that asks for the process's id finds it, others do not")}
	lossByCut  = &loss{"the flight file was cut", errors.New("another program has truncated it: nothing more can be read until this program is started again")}
)

func alignUp(n, to int) int { return (n + to - 1) / to * to }

// privateMemory is memory that no other process sees.
type privateMemory struct {
	pieces [][]byte
	end    uint64
}

func newPrivateMemory() *privateMemory { return &privateMemory{} }

func (m *privateMemory) reserve(size int) (unsafe.Pointer, uint64, error) {
	size = alignUp(size, segmentAlign)
	if err := spaceFor(size); err != nil {
		return nil, 0, err
	}
	b, err := anonymous(size)
	if err != nil {
		return nil, 0, err
	}
	m.pieces = append(m.pieces, b)
	offset := m.end
	m.end += uint64(size)
	return unsafe.Pointer(&b[0]), offset, nil
}

func (m *privateMemory) readAt(p []byte, offset uint64) int {
	n := 0
	for _, b := range m.pieces {
		if len(p) == n {
			break
		}
		if offset < uint64(len(b)) {
			n += copy(p[n:], b[offset:])
			offset = 0
			continue
		}
		offset -= uint64(len(b))
	}
	return n
}

func (m *privateMemory) lost() *loss { return nil }

func (m *privateMemory) remove() error { return nil }
