package jfrtest

import (
	"encoding/binary"
	"fmt"
	"math"
	"unicode/utf16"
	"unicode/utf8"
)

// A cursor reads what is in a part of a file. The first error stays.
type cursor struct {
	data []byte
	at   int
	end  int
	err  error
}

func (c *cursor) fail(format string, args ...any) {
	if c.err == nil {
		c.err = fmt.Errorf("at %d: %s", c.at, fmt.Sprintf(format, args...))
	}
	c.at = c.end
}

func (c *cursor) left() int { return c.end - c.at }

func (c *cursor) byte() byte {
	if c.at >= c.end {
		c.fail("the event ends early")
		return 0
	}
	c.at++
	return c.data[c.at-1]
}

// varint reads seven bits a byte, and all of the ninth.
func (c *cursor) varint() uint64 {
	var v uint64
	for shift := 0; shift < 56; shift += 7 {
		b := c.byte()
		v |= uint64(b&0x7f) << shift
		if b < 0x80 {
			return v
		}
	}
	return v | uint64(c.byte())<<56
}

// count reads how many things follow, of at least a byte each.
func (c *cursor) count() int {
	n := c.varint()
	if n > uint64(c.left()) {
		c.fail("%d things in %d bytes", n, c.left())
		return 0
	}
	return int(n)
}

func (c *cursor) bytes(n int) []byte {
	if n > c.left() {
		c.fail("%d bytes in %d", n, c.left())
		return make([]byte, min(n, 8))
	}
	c.at += n
	return c.data[c.at-n : c.at]
}

func (c *cursor) float() float64 {
	return float64(math.Float32frombits(binary.BigEndian.Uint32(c.bytes(4))))
}
func (c *cursor) double() float64 { return math.Float64frombits(binary.BigEndian.Uint64(c.bytes(8))) }

// string reads a string: nil, a string, or, of one in the pool, its key.
func (c *cursor) string() any {
	switch how := c.byte(); how {
	case 0:
		return nil
	case 1:
		return ""
	case 2:
		return pooledString(c.varint())
	case 3:
		b := c.bytes(c.count())
		if !utf8.Valid(b) {
			c.fail("a string that is not UTF-8: %q", b)
		}
		return string(b)
	case 4:
		units := make([]uint16, c.count())
		for i := range units {
			units[i] = uint16(c.varint())
		}
		return string(utf16.Decode(units))
	case 5:
		var s []rune
		for _, b := range c.bytes(c.count()) {
			s = append(s, rune(b))
		}
		return string(s)
	default:
		c.fail("string of encoding %d", how)
		return nil
	}
}

type pooledString uint64
