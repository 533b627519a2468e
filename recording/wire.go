package recording

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// ErrFormat marks bytes that are no recording, or a damaged one.
var ErrFormat = errors.New("not a readable recording")

func zigzag(v int64) uint64   { return uint64(v<<1) ^ uint64(v>>63) }
func unzigzag(v uint64) int64 { return int64(v>>1) ^ -int64(v&1) }

func appendText(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

// A cursor reads numbers from bytes that nobody vouches for. After the first that is missing or too large all are 0, and bad tells.
type cursor struct {
	b   []byte
	bad bool
}

func (c *cursor) uvarint() uint64 {
	if len(c.b) > 0 && c.b[0] < 0x80 {
		v := c.b[0]
		c.b = c.b[1:]
		return uint64(v)
	}
	v, n := binary.Uvarint(c.b)
	if n <= 0 {
		c.fail()
		return 0
	}
	c.b = c.b[n:]
	return v
}

func (c *cursor) varint() int64 { return unzigzag(c.uvarint()) }

func (c *cursor) byte() byte {
	if len(c.b) == 0 {
		c.fail()
		return 0
	}
	v := c.b[0]
	c.b = c.b[1:]
	return v
}

// take returns the next n bytes, which are shared with the cursor.
func (c *cursor) take(n uint64) []byte {
	if n > uint64(len(c.b)) {
		c.fail()
		return nil
	}
	v := c.b[:n:n]
	c.b = c.b[n:]
	return v
}

func (c *cursor) text() string { return string(c.take(c.uvarint())) }

// count returns a number of things of which each takes at least so many bytes of what is left.
func (c *cursor) count(atLeast int) int {
	n := c.uvarint()
	if n > uint64(len(c.b)/atLeast) {
		c.fail()
		return 0
	}
	return int(n)
}

func (c *cursor) fail() { c.b, c.bad = nil, true }

func (c *cursor) err(what string) error {
	if c.bad {
		return fmt.Errorf("%s: cut or damaged: %w", what, ErrFormat)
	}
	return nil
}

// columns are streams of bytes that are written side by side and stored one after the other.
type columns [][]byte

// pack appends the columns to b, each with its length before it.
func (cs columns) pack(b []byte) []byte {
	for _, c := range cs {
		b = append(binary.AppendUvarint(b, uint64(len(c))), c...)
	}
	return b
}

func (cs columns) reset() {
	for i := range cs {
		cs[i] = cs[i][:0]
	}
}

func (cs columns) uvarint(i int, v uint64) { cs[i] = binary.AppendUvarint(cs[i], v) }
func (cs columns) varint(i int, v int64)   { cs[i] = binary.AppendUvarint(cs[i], zigzag(v)) }

// cursors reads what columns are packed in c.
func unpack(c *cursor, n int) []cursor {
	all := make([]cursor, n)
	for i := range all {
		all[i].b = c.take(c.uvarint())
	}
	return all
}

// anyBad reports whether one of the cursors failed or was not read to its end.
func anyBad(all []cursor) bool {
	for i := range all {
		if all[i].bad || len(all[i].b) > 0 {
			return true
		}
	}
	return false
}
