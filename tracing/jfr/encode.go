package jfr

import (
	"encoding/binary"
	"math"
)

// How strings are written: the first byte of each.
const (
	stringNull   = 0
	stringEmpty  = 1
	stringPooled = 2 // a key of the pool of strings follows
	stringUTF8   = 3
)

// padded is how many bytes the size of an event takes that does not fit in one.
const padded = 4

// appendVarint appends v as JFR's LEB128: seven bits a byte, and all eight of the ninth.
func appendVarint(b []byte, v uint64) []byte {
	for range 8 {
		if v < 0x80 {
			return append(b, byte(v))
		}
		b = append(b, byte(v)|0x80)
		v >>= 7
	}
	return append(b, byte(v))
}

// appendInt appends an int, which takes five bytes if it is negative.
func appendInt(b []byte, v int32) []byte { return appendVarint(b, uint64(uint32(v))) }

// appendUTF8 appends s in the one form that every reader takes for symbols, even if it is empty.
func appendUTF8(b []byte, s string) []byte {
	b = append(b, stringUTF8)
	b = appendVarint(b, uint64(len(s)))
	return append(b, s...)
}

// appendString appends s, short if it is empty.
func appendString(b []byte, s string) []byte {
	if s == "" {
		return append(b, stringEmpty)
	}
	return appendUTF8(b, s)
}

// appendNullable appends s, or null if it is empty.
func appendNullable(b []byte, s string) []byte {
	if s == "" {
		return append(b, stringNull)
	}
	return appendUTF8(b, s)
}

func appendPooled(b []byte, key uint32) []byte {
	if key == 0 {
		return append(b, stringNull)
	}
	return appendVarint(append(b, stringPooled), uint64(key))
}

func appendBool(b []byte, v bool) []byte {
	if v {
		return append(b, 1)
	}
	return append(b, 0)
}

func appendDouble(b []byte, v float64) []byte {
	return binary.BigEndian.AppendUint64(b, math.Float64bits(v))
}

// begin appends room for the size of an event, its type and its time. [end] fills in the size.
func begin(b []byte, class int, ticks uint64) []byte {
	b = append(b, 0)
	b = appendVarint(b, uint64(class))
	return appendVarint(b, ticks)
}

// end fills in the size of the event that began at b[at:], moving it if it takes more than a byte.
func end(b []byte, at int) []byte {
	n := len(b) - at
	if n < 0x80 {
		b[at] = byte(n)
		return b
	}
	b = append(b, make([]byte, padded-1)...)
	copy(b[at+padded:], b[at+1:len(b)-(padded-1)])
	putPadded(b[at:], n+padded-1)
	return b
}

// putPadded writes a size in exactly [padded] bytes.
func putPadded(b []byte, n int) {
	b[0], b[1], b[2], b[3] = byte(n)|0x80, byte(n>>7)|0x80, byte(n>>14)|0x80, byte(n>>21)&0x7f
}

// A header is the beginning of a chunk.
type header struct {
	size, pools, metadata     uint64 // bytes from the beginning of the chunk
	startNanos, durationNanos uint64
	startTicks                uint64
}

const (
	headerSize     = 68
	ticksPerSecond = 1_000_000_000 // a tick is a nanosecond: readers divide without loss

	flagVarints = 1
	flagLast    = 2
)

// put writes h in front of a chunk that is complete.
func (h *header) put(b []byte, last bool) {
	copy(b, "FLR\x00\x00\x02\x00\x01")
	for i, v := range []uint64{h.size, h.pools, h.metadata, h.startNanos, h.durationNanos, h.startTicks, ticksPerSecond} {
		binary.BigEndian.PutUint64(b[8+8*i:], v)
	}
	copy(b[64:headerSize], []byte{0, 0, 0, flagVarints}) // state 0: the chunk is finished
	if last {
		b[67] |= flagLast
	}
}
