package perfetto

import (
	"encoding/binary"
	"math"
	"math/bits"
	"strings"
)

// A field is the number of a field in its message.
type field uint64

const (
	wireVarint = 0
	wireFixed  = 1
	wireBytes  = 2
)

// The functions below append a field to a message that is being written.

func putUint(b []byte, f field, v uint64) []byte {
	return binary.AppendUvarint(binary.AppendUvarint(b, uint64(f<<3|wireVarint)), v)
}

func putFixed(b []byte, f field, v uint64) []byte {
	return binary.LittleEndian.AppendUint64(binary.AppendUvarint(b, uint64(f<<3|wireFixed)), v)
}

func putDouble(b []byte, f field, v float64) []byte { return putFixed(b, f, math.Float64bits(v)) }

func putText[T string | []byte](b []byte, f field, s T) []byte {
	return append(binary.AppendUvarint(binary.AppendUvarint(b, uint64(f<<3|wireBytes)), uint64(len(s))), s...)
}

// text is s as protobuf wants texts: valid UTF-8.
func text(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

// begin begins a message within the message; what is appended until end(b, at) belongs to it.
func begin(b []byte, f field) (_ []byte, at int) {
	b = append(binary.AppendUvarint(b, uint64(f<<3|wireBytes)), 0)
	return b, len(b)
}

// end writes the length of the message that began at at. There is room for one byte of it; longer ones, which are rare, make more.
func end(b []byte, at int) []byte {
	n := len(b) - at
	if n < 1<<7 {
		b[at-1] = byte(n)
		return b
	}
	more := (bits.Len(uint(n))+6)/7 - 1
	for range more {
		b = append(b, 0)
	}
	copy(b[at+more:], b[at:at+n])
	binary.PutUvarint(b[at-1:], uint64(n))
	return b
}
