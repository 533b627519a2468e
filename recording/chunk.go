package recording

import (
	"bytes"
	"compress/flate"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"time"
)

// FormatVersion is the version of the recordings that are written; all from 1 on can be read. docs/recordings.md describes it.
const FormatVersion = 1

// A recording is a row of chunks and nothing else. Each is a header and a body.
const (
	chunkMagic  = "vtrchunk"
	chunkHeader = 72

	// What a reader believes at most. A writer writes less.
	maxBody        = 64 << 20
	maxChunkEvents = 1 << 17
	maxChunks      = 1 << 20
)

// The flags of a chunk. Values are part of the format.
const (
	chunkHasState uint16 = 1 << iota // it begins with the state of all threads
	chunkIsLast                      // the recorder had no more to say
)

// The sections of a body. Values are part of the format; readers skip those they do not know.
const (
	sectionInfo = 1 + iota
	sectionState
	sectionDefinitions
	sectionEvents
	sectionLabels
	sectionBlockers
	sectionHolds
)

// A chunkHead is the header of a chunk.
type chunkHead struct {
	flags       uint16
	body        uint32
	events      uint32
	sum         uint32        // of the body
	first, last time.Duration // all events are from first to last
	lost        uint64        // events that are missing before or among those of the chunk
	recording   uint64        // the same in all chunks of a recording, another one in any other
	number      uint64        // counted from 0
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func (h *chunkHead) append(b []byte) []byte {
	le := binary.LittleEndian
	at := len(b)
	b = append(b, chunkMagic...)
	b = le.AppendUint16(b, FormatVersion)
	b = le.AppendUint16(b, h.flags)
	for _, v := range []uint32{h.body, h.events, h.sum} {
		b = le.AppendUint32(b, v)
	}
	for _, v := range []uint64{uint64(h.first), uint64(h.last), h.lost, h.recording, h.number} {
		b = le.AppendUint64(b, v)
	}
	b = le.AppendUint32(b, 0)
	return le.AppendUint32(b, crc32.Checksum(b[at:], castagnoli))
}

// parse reads a header, and says what is wrong with it.
func (h *chunkHead) parse(b *[chunkHeader]byte) error {
	le := binary.LittleEndian
	switch {
	case string(b[:8]) != chunkMagic:
		return fmt.Errorf("no chunk: %w", ErrFormat)
	case crc32.Checksum(b[:chunkHeader-4], castagnoli) != le.Uint32(b[chunkHeader-4:]):
		return fmt.Errorf("damaged header of a chunk: %w", ErrFormat)
	}
	if v := le.Uint16(b[8:]); v == 0 || v > FormatVersion {
		return fmt.Errorf("version %d: want 1 to %d: %w", v, FormatVersion, ErrFormat)
	}
	*h = chunkHead{
		flags: le.Uint16(b[10:]), body: le.Uint32(b[12:]), events: le.Uint32(b[16:]), sum: le.Uint32(b[20:]),
		first: time.Duration(le.Uint64(b[24:])), last: time.Duration(le.Uint64(b[32:])),
		lost: le.Uint64(b[40:]), recording: le.Uint64(b[48:]), number: le.Uint64(b[56:]),
	}
	if h.body > maxBody || h.events > maxChunkEvents || h.last < h.first {
		return fmt.Errorf("a chunk of %d bytes with %d events from %v to %v: %w", h.body, h.events, h.first, h.last, ErrFormat)
	}
	return nil
}

// deflated is added to the kind of a section whose content is deflated. States are a quarter as large then, definitions a third; of columns of events there is
// little to gain.
const deflated = 0x80

// appendSection appends a section.
func appendSection(b []byte, kind byte, content []byte) []byte {
	b = append(b, kind)
	b = binary.AppendUvarint(b, uint64(len(content)))
	return append(b, content...)
}

// A deflater appends sections that are deflated.
type deflater struct {
	out bytes.Buffer
	w   *flate.Writer
}

func (d *deflater) appendSection(b []byte, kind byte, content []byte) []byte {
	d.out.Reset()
	if d.w == nil {
		d.w, _ = flate.NewWriter(&d.out, flate.BestSpeed) // only a bad level is an error
	} else {
		d.w.Reset(&d.out)
	}
	_, _ = d.w.Write(content) // to memory
	_ = d.w.Close()
	if d.out.Len() >= len(content) {
		return appendSection(b, kind, content)
	}
	size := binary.AppendUvarint(nil, uint64(len(content)))
	b = append(b, kind|deflated)
	b = binary.AppendUvarint(b, uint64(len(size)+d.out.Len()))
	b = append(b, size...)
	return append(b, d.out.Bytes()...)
}

// maxInflate is how many times larger than in the file a section is believed to be.
const maxInflate = 256

// inflate returns the content of a deflated section.
func inflate(c *cursor) ([]byte, error) {
	n := c.uvarint()
	if c.bad || n > maxBody || n > maxInflate*uint64(len(c.b)) {
		return nil, fmt.Errorf("a section of %d bytes in %d: %w", n, len(c.b), ErrFormat)
	}
	content := make([]byte, n)
	if _, err := io.ReadFull(flate.NewReader(bytes.NewReader(c.b)), content); err != nil {
		return nil, fmt.Errorf("inflate: %v: %w", err, ErrFormat)
	}
	return content, nil
}
