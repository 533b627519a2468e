package recording

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/vtscope/vtscope/internal/plainfile"
	"github.com/vtscope/vtscope/runtime/flight"
)

// A File is a recording that is read. It trusts nothing in it: what is cut or damaged is left out, and said in Info().Incomplete. Its memory is bounded by
// the largest chunk, and by what its definitions name.
type File struct {
	parts  []part
	chunks []chunkAt
	info   Info
	words  glossary
	events eventDecoder
	buf    []byte
	batch  []Event
	bad    map[int]bool // of chunks, those whose damage was noted
}

// A part is one of the files that a recording is in.
type part struct {
	io.ReaderAt
	size int64
	name string
	file *os.File // to close; nil if it is somebody else's
}

// A chunkAt is a chunk with a good header.
type chunkAt struct {
	chunkHead
	part   int
	offset int64
}

// Open opens a recording, with what [Previous] says of it.
func Open(path string) (*File, error) {
	newest, err := openPart(path)
	if err != nil {
		return nil, err
	}
	f := newFile()
	if older, err := openPart(Previous(path)); err == nil {
		f.parts = append(f.parts, older)
	}
	f.parts = append(f.parts, newest)
	if err := f.index(); err != nil {
		f.Close()
		return nil, fmt.Errorf("recording: read %s: %w", path, err)
	}
	return f, nil
}

// Previous returns the file that has what came before the recording of a path, if its size or age was limited and it has not ended: of run.vtr run.1.vtr.
func Previous(path string) string {
	if base, ok := strings.CutSuffix(path, Extension); ok {
		return base + ".1" + Extension
	}
	return path + ".1"
}

// Extension is what names of recordings end in.
const Extension = ".vtr"

func openPart(path string) (part, error) {
	file, err := plainfile.Open(path)
	if err != nil {
		if errors.Is(err, plainfile.ErrIrregular) {
			err = fmt.Errorf("%w: %w", plainfile.ErrIrregular, ErrFormat)
		}
		var pe *fs.PathError
		if errors.As(err, &pe) {
			err = pe.Err
		}
		return part{}, fmt.Errorf("recording: open %s: %w", path, err)
	}
	info, err := file.Stat()
	if err != nil {
		file.Close()
		return part{}, fmt.Errorf("recording: open %s: %w", path, err)
	}
	return part{file, info.Size(), path, file}, nil
}

// NewFile reads a recording of some bytes, such as one inside of another file.
func NewFile(r io.ReaderAt, size int64) (*File, error) {
	f := newFile()
	f.parts = []part{{ReaderAt: r, size: size}}
	if err := f.index(); err != nil {
		return nil, fmt.Errorf("recording: read: %w", err)
	}
	return f, nil
}

func newFile() *File { return &File{words: newGlossary(), bad: map[int]bool{}} }

// IsRecording reports whether bytes are the beginning of a recording.
func IsRecording(b []byte) bool { return bytes.HasPrefix(b, []byte(chunkMagic)) }

// Close closes the files that Open opened.
func (f *File) Close() error {
	var errs []error
	for _, p := range f.parts {
		if p.file != nil {
			errs = append(errs, p.file.Close())
		}
	}
	return errors.Join(errs...)
}

// Copy writes the files that Open opened as they are, the oldest first: together they are a recording too.
func (f *File) Copy(to io.Writer) error {
	for _, p := range f.parts {
		if _, err := io.Copy(to, io.NewSectionReader(p, 0, p.size)); err != nil {
			return err
		}
	}
	return nil
}

// index finds the chunks and reads what the first and the last of them tell.
func (f *File) index() error {
	var first error
	for i := range f.parts {
		if err := f.indexPart(i); err != nil {
			first = err
		}
	}
	if len(f.chunks) == 0 {
		if first == nil {
			first = fmt.Errorf("it is empty: %w", ErrFormat)
		}
		return first
	}
	id := f.chunks[len(f.chunks)-1].recording
	all := len(f.chunks)
	f.chunks = slices.DeleteFunc(f.chunks, func(c chunkAt) bool { return c.recording != id && len(f.parts) > 1 && c.part == 0 })
	if len(f.chunks) < all { // what is called as the previous file of this one is that of another
		f.info.Incomplete = slices.DeleteFunc(f.info.Incomplete, func(s string) bool { return strings.HasPrefix(s, f.parts[0].name) })
	}
	slices.SortStableFunc(f.chunks, func(a, b chunkAt) int {
		switch {
		case a.number < b.number:
			return -1
		case a.number > b.number:
			return 1
		}
		return 0
	})
	missing := f.info.Incomplete
	for i := len(f.chunks) - 1; i >= 0; i-- { // the last one knows most
		info, _, err := f.load(i, false)
		if err == nil {
			f.info = info
			break
		}
	}
	f.info.Incomplete = append(f.info.Incomplete, missing...)
	for i := 1; i < len(f.chunks); i++ {
		if a, b := f.chunks[i-1].number, f.chunks[i].number; b != a+1 {
			f.miss("chunks %d to %d are missing", a+1, b-1)
		}
	}
	if first := &f.chunks[0]; first.number > 0 {
		f.miss("what was recorded of before %v was dropped", first.first)
	}
	if f.chunks[0].flags&chunkHasState == 0 {
		f.miss("threads are known from their first event on: the recording has no state to begin with")
	}
	last := &f.chunks[len(f.chunks)-1]
	f.info.To = f.info.From.Add(last.last)
	if last.flags&chunkIsLast == 0 {
		f.miss("the recording was not finished: its last moments may be missing")
	}
	return nil
}

const maxMissing = 32

func (f *File) miss(format string, args ...any) {
	what := fmt.Sprintf(format, args...)
	if len(f.info.Incomplete) < maxMissing && !slices.Contains(f.info.Incomplete, what) {
		f.info.Incomplete = append(f.info.Incomplete, what)
	}
}

// indexPart finds the chunks of a part. The error says why there is none.
func (f *File) indexPart(at int) error {
	p := &f.parts[at]
	called := ""
	if p.name != "" {
		called = p.name + ": "
	}
	var h [chunkHeader]byte
	var why error
	for offset := int64(0); offset < p.size; {
		n, err := p.ReadAt(h[:], offset)
		var head chunkHead
		switch {
		case n < len(h):
			if err == io.EOF {
				err = fmt.Errorf("cut: %w", ErrFormat)
			}
		default:
			err = head.parse(&h)
		}
		whole := offset + chunkHeader + int64(head.body)
		switch {
		case err == nil && whole <= p.size && len(f.chunks) < maxChunks:
			f.chunks = append(f.chunks, chunkAt{head, at, offset})
			offset = whole
			continue
		case err == nil && whole <= p.size:
			f.miss("%sthere are more than %d chunks", called, maxChunks)
			return nil
		case err == nil:
			err = fmt.Errorf("cut: %w", ErrFormat)
		}
		if why == nil {
			why = err
		}
		next := f.search(p, offset+1)
		if next < 0 {
			f.miss("%sthe last %d bytes are no whole chunk", called, p.size-offset)
			return why
		}
		f.miss("%s%d bytes at %d are no chunk", called, next-offset, offset)
		offset = next
	}
	return why
}

// search returns where the next chunk seems to begin, or -1.
func (f *File) search(p *part, from int64) int64 {
	buf := make([]byte, 64<<10)
	for from < p.size {
		n, _ := p.ReadAt(buf, from)
		if i := bytes.Index(buf[:n], []byte(chunkMagic)); i >= 0 {
			return from + int64(i)
		}
		if n < len(buf) {
			return -1
		}
		from += int64(n) - int64(len(chunkMagic)) + 1
	}
	return -1
}

// load reads chunk i: its info and, if all, its definitions, state and events, which are valid until the next call.
func (f *File) load(i int, all bool) (Info, *Batch, error) {
	c := &f.chunks[i]
	f.buf = slices.Grow(f.buf[:0], int(c.body))[:c.body]
	if n, err := f.parts[c.part].ReadAt(f.buf, c.offset+chunkHeader); n < len(f.buf) {
		return Info{}, nil, fmt.Errorf("chunk %d: %w", c.number, err)
	}
	if crc32.Checksum(f.buf, castagnoli) != c.sum {
		return Info{}, nil, fmt.Errorf("chunk %d is damaged: %w", c.number, ErrFormat)
	}
	var info Info
	b := &Batch{Lost: c.lost}
	body := cursor{b: f.buf}
	seen := uint32(0)
	for len(body.b) > 0 {
		kind := body.byte()
		in := cursor{b: body.take(body.uvarint())}
		var err error
		if kind&deflated != 0 && (all || kind&^deflated == sectionInfo) {
			if in.b, err = inflate(&in); err != nil {
				return info, nil, fmt.Errorf("chunk %d: %w", c.number, err)
			}
		}
		switch kind &^= deflated; {
		case kind == sectionInfo:
			info, err = decodeInfo(&in)
		case !all:
		case kind == sectionDefinitions:
			err = f.words.decode(&in)
		case kind == sectionState:
			b.State, err = decodeState(&in)
		case kind == sectionEvents:
			f.batch, err = f.events.decode(f.batch[:0], &in, c.first, int(c.events))
			b.Events = f.batch
			seen = uint32(len(b.Events))
		case kind == sectionLabels:
			b.LabelsAt, b.Labels, err = decodeLabels(&in)
		case kind == sectionHolds:
			b.Holds, err = decodeHolds(&in)
		case kind == sectionBlockers:
			err = f.words.decodeBlockers(&in)
		}
		if err != nil {
			return info, nil, fmt.Errorf("chunk %d: %w", c.number, err)
		}
	}
	if body.bad || all && seen != c.events {
		return info, nil, fmt.Errorf("chunk %d: has %d of %d events: %w", c.number, seen, c.events, ErrFormat)
	}
	return info, b, nil
}

// Begins returns the time of the first state or event: not 0 if what was recorded before was dropped.
func (f *File) Begins() time.Duration { return f.chunks[0].first }

// Info tells what is known of the recording. Reading may add to Incomplete.
func (f *File) Info() Info {
	in := f.info
	in.Incomplete = slices.Clone(in.Incomplete)
	return in
}

// Totals returns what the headers of the chunks say.
func (f *File) Totals() Totals {
	t := Totals{Chunks: uint64(len(f.chunks))}
	for i := range f.chunks {
		t.Events += uint64(f.chunks[i].events)
		t.Lost += f.chunks[i].lost
		t.Bytes += chunkHeader + uint64(f.chunks[i].body)
	}
	return t
}

// Read calls f with the batches of all chunks. One that is damaged counts as lost.
func (f *File) Read(ctx context.Context, visit func(*Batch) bool) error {
	return f.readFrom(ctx, 0, visit)
}

// ReadSince is Read from the last state on that is not after a time.
func (f *File) ReadSince(ctx context.Context, at time.Duration, visit func(*Batch) bool) error {
	// Chunks overlap by little, so the first that begins later is near.
	i := sort.Search(len(f.chunks), func(i int) bool { return f.chunks[i].first > at })
	for i--; i > 0 && f.chunks[i].flags&chunkHasState == 0; i-- {
	}
	return f.readFrom(ctx, max(i, 0), visit)
}

func (f *File) readFrom(ctx context.Context, first int, visit func(*Batch) bool) error {
	var lost uint64
	begun := false
	for i := first; i < len(f.chunks); i++ {
		if err := ctx.Err(); err != nil {
			return err
		}
		_, b, err := f.load(i, true)
		if err != nil {
			if !f.bad[i] {
				f.bad[i] = true
				f.miss("%v", strings.TrimSuffix(err.Error(), ": "+ErrFormat.Error()))
			}
			lost += f.chunks[i].lost + uint64(f.chunks[i].events)
			continue
		}
		if !begun && b.State == nil {
			b.State = &State{At: f.chunks[i].first}
		}
		begun = true
		b.Lost += lost
		lost = 0
		if !visit(b) {
			return nil
		}
	}
	if lost > 0 {
		visit(&Batch{Lost: lost})
	}
	return nil
}

// Stack returns a stack that a batch named which was read.
func (f *File) Stack(id flight.StackID) flight.Stack { return f.words.stacks[id] }

// String returns a string that a batch named which was read.
func (f *File) String(id flight.StringID) string { return f.words.strings[id] }

// UserKind returns a kind of the program's own that a batch named which was read.
func (f *File) UserKind(number uint32) *flight.UserKindInfo { return f.words.kinds[number] }
