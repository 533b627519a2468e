package jfr

import (
	"bytes"
	"encoding/hex"
	"math"
	"testing"
)

func TestNumbersAreWrittenAsTheFormatSays(t *testing.T) {
	for want, got := range map[string][]byte{
		"00":                 appendVarint(nil, 0),
		"7f":                 appendVarint(nil, 127),
		"8001":               appendVarint(nil, 128),
		"808001":             appendVarint(nil, 16384),
		"ffffffff0f":         appendInt(nil, -1),
		"ffffffffffffffffff": appendVarint(nil, math.MaxUint64),
		"808080808080808080": appendVarint(nil, 1<<63),
		"ffffffffffffffff7f": appendVarint(nil, math.MaxInt64),
		"3fe8000000000000":   appendDouble(nil, 0.75),
		"0300":               appendUTF8(nil, ""),
		"01":                 appendString(nil, ""),
		"03026869":           appendString(nil, "hi"),
	} {
		if hex.EncodeToString(got) != want {
			t.Errorf("got %x, want %s", got, want)
		}
	}
}

func TestSizesOfEventsCountThemselves(t *testing.T) {
	for _, n := range []int{0, 1, 100, 122, 123, 124, 125, 126, 127, 128, 129, 200, 600, 120_000} {
		before := []byte("before")
		b := begin(before, 10, 5)
		b = append(b, bytes.Repeat([]byte{0xab}, n)...)
		b = end(b, len(before))
		event := b[len(before):]
		size, width := int(event[0]), 1
		if event[0] >= 0x80 {
			size, width = int(event[0]&0x7f)|int(event[1]&0x7f)<<7|int(event[2]&0x7f)<<14|int(event[3])<<21, 4
		}
		if size != len(event) || event[width] != 10 || event[width+1] != 5 || len(event) != width+2+n {
			t.Errorf("%d bytes: got size %d of %d, then %x", n, size, len(event), event[:min(8, len(event))])
		}
		if bytes.Count(event, []byte{0xab}) < n {
			t.Errorf("%d bytes: the fields were moved apart", n)
		}
	}
}

func TestMetadataIsTheSameEachTime(t *testing.T) {
	a, b := newMetadata(values, annotations, environment), newMetadata(values, annotations, environment)
	if !bytes.Equal(a.append(nil, 1), b.append(nil, 1)) {
		t.Error("got other bytes the second time")
	}
}
