package flight

import (
	"fmt"
	"math"
	"os"
	"runtime/metrics"
	"testing"
	"time"
)

// Bounds of what reading a golden recording of a few megabytes may take, however it is damaged. A whole one takes a tenth and less.
const (
	fuzzMemory = 64 << 20
	fuzzTime   = time.Minute // on a busy machine
)

// FuzzReader cuts a golden recording and changes bytes of it: which of them, how many bytes stay, and a list of 2-byte positions among those
// in use and the byte to put there.
func FuzzReader(f *testing.F) {
	var contents [][]byte
	var used [][]int
	for _, path := range []string{golden(f), unpacked(f, blockerGolden), unpacked(f, figuresGolden), unpacked(f, oldGolden)} {
		content, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		contents, used = append(contents, content), append(used, usedBytes(content))
	}
	const whole = math.MaxUint32
	for which := range byte(len(contents)) {
		f.Add(which, uint32(whole), []byte{})
		f.Add(which, uint32(whole), []byte{0, 0, 0})                  // no magic
		f.Add(which, uint32(whole), []byte{0, 68, 0xff, 0, 69, 0xff}) // segments
		f.Add(which, uint32(whole), []byte{0x06, 0x80, 0xff})         // an entry
		f.Add(which, uint32(headerSize), []byte{})
		f.Add(which, uint32(headerSize+segmentAlign+1), []byte{})
	}
	f.Fuzz(func(t *testing.T, which byte, size uint32, data []byte) {
		i := int(which) % len(contents)
		c := &sparseSource{content: contents[i][:min(uint64(size), uint64(len(contents[i])))], changed: map[uint64]byte{}}
		for ; len(data) >= 3; data = data[3:] {
			c.changed[uint64(used[i][(int(data[0])<<8|int(data[1]))%len(used[i])])] = data[2]
		}
		hang := time.AfterFunc(fuzzTime, func() { panic(fmt.Sprintf("reader hangs for %v", fuzzTime)) })
		defer hang.Stop()
		before := allocated()
		r, err := newReader("fuzz", c)
		if err != nil {
			return
		}
		_ = exerciseReader(r) // it must only come back
		if n := allocated() - before; n > fuzzMemory {
			t.Errorf("reading took %d bytes of memory, want at most %d", n, fuzzMemory)
		}
	})
}

// allocated is how many bytes were allocated so far.
func allocated() uint64 {
	s := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(s)
	return s[0].Value.Uint64()
}

// sparseSource is content with some bytes changed.
type sparseSource struct {
	content []byte
	changed map[uint64]byte
}

func (s *sparseSource) readAt(p []byte, offset uint64) int {
	if offset >= uint64(len(s.content)) {
		return 0
	}
	n := copy(p, s.content[offset:])
	for at, b := range s.changed {
		if at >= offset && at-offset < uint64(n) {
			p[at-offset] = b
		}
	}
	return n
}

func (s *sparseSource) size() uint64        { return uint64(len(s.content)) }
func (s *sparseSource) alive() (bool, bool) { return false, true }
func (s *sparseSource) close() error        { return nil }
