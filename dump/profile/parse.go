package profile

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"

	"github.com/google/pprof/profile"
)

// MostMemory is for [Parse] of a profile that a process took of itself: more than one of 30 seconds
// on a hundred processors becomes.
const MostMemory = 256 << 20

// ErrLarge is what the error of [Parse] matches of a profile that would take more memory than it
// may.
var ErrLarge = errors.New("the profile is too large")

// Parse reads a profile as Go's runtime writes it, compressed or not, which may be somebody else's:
// it takes about most bytes of memory, and not more. A few KiB that are compressed may be
// gigabytes, and two bytes of a message become a structure of a hundred.
func Parse(from io.Reader, most int) (*profile.Profile, error) {
	data, err := unzip(from, most/8)
	if err != nil {
		return nil, err
	}
	if n := memoryOf(data); n > most {
		return nil, fmt.Errorf("%w: it takes %d MiB of memory, of at most %d", ErrLarge, n>>20, most>>20)
	}
	p, err := profile.ParseUncompressed(data)
	if err == nil {
		err = p.CheckValid()
	}
	if err != nil {
		return nil, fmt.Errorf("malformed profile: %w", err)
	}
	return p, nil
}

// unzip reads at most so many bytes that may be compressed, and may become no more.
func unzip(from io.Reader, most int) ([]byte, error) {
	data, err := readMost(from, most)
	if err != nil || !bytes.HasPrefix(data, []byte{0x1f, 0x8b}) {
		return data, err
	}
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err == nil {
		data, err = readMost(z, most)
	}
	if err != nil && !errors.Is(err, ErrLarge) {
		err = fmt.Errorf("decompress profile: %w", err)
	}
	return data, err
}

func readMost(from io.Reader, most int) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(from, int64(most)+1))
	if err == nil && len(data) > most {
		err = fmt.Errorf("%w: more than %d MiB", ErrLarge, most>>20)
	}
	return data, err
}

// What the parts of a profile cost in memory when it is read: each message becomes a structure,
// each number of a list an integer and a pointer, and labels become maps.
const (
	messageCost = 128
	labelCost   = 256
	numberCost  = 16
)

// Fields of the format: of a profile those that have messages within, and of a sample the lists of
// numbers.
const (
	sampleField, locationField = 2, 4
	lastNumbersOfSample        = 2
)

// memoryOf estimates how much memory a profile takes when it is read. It ends where that does, at
// what is malformed.
func memoryOf(data []byte) int {
	n := len(data)
	eachField(data, func(field uint64, value []byte) {
		n += messageCost
		if field != sampleField && field != locationField {
			return
		}
		eachField(value, func(within uint64, value []byte) {
			switch {
			case field == sampleField && within > lastNumbersOfSample:
				n += labelCost
			case value == nil:
				n += numberCost
			case field == locationField:
				n += messageCost
			}
			if field == sampleField {
				for _, b := range value {
					if b < 0x80 { // the last byte of a number
						n += numberCost
					}
				}
			}
		})
	})
	return n
}

// eachField calls f with each field of a protobuf message, as package profile reads it; value is
// nil of one that is a number.
func eachField(data []byte, f func(field uint64, value []byte)) {
	for len(data) > 0 {
		tag, n := varint(data)
		data = data[n:]
		var value []byte
		switch tag & 7 {
		case 0:
			_, n = varint(data)
		case 1:
			n = 8
		case 2:
			var size uint64
			if size, n = varint(data); size > uint64(len(data)-n) {
				return
			}
			value = data[n : n+int(size)]
			n += int(size)
		case 5:
			n = 4
		default:
			return
		}
		if n == 0 || n > len(data) {
			return
		}
		f(tag>>3, value)
		data = data[n:]
	}
}

// varint returns a number and how many bytes it has; 0: it has no end. Unlike encoding/binary it
// accepts what does not fit in 64 bits, as package profile does.
func varint(data []byte) (u uint64, n int) {
	for i := range min(len(data), 10) {
		u |= uint64(data[i]&0x7f) << (7 * i)
		if data[i] < 0x80 {
			return u, i + 1
		}
	}
	return 0, 0
}
