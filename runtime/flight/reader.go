package flight

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"
)

// A Reader reads the flight file of another process, or of a dead one. It copies with pread and
// never maps the file, which others may cut at any time; it trusts no number in it. It may be used
// by several goroutines at once.
type Reader struct {
	version atomic.Uint32 // of the format; stored once
	rings   atomic.Int32  // how many there were at the last reading, for the next
	path    string
	src     source
	pid     int                                  // as seen from here, 0 if unknown
	rewrite func(kind TextKind, s string) string // nil: texts are given as they are; set by Rewrite
	exit    exitWatch
	pauses  pauses

	openNamer func(Executable) Namer // guarded by mu after the first use; nil: none, or it was called

	mu struct {
		sync.Mutex
		header   fileHeader   // as last read
		fresh    headerOfPage // while it is read
		clock    tickClock
		segments [segmentKindCount][]segment // by ordinal
		entries  int                         // of the directory, looked at
		end      uint64                      // of the last segment
		damage   []string                    // found in what does not change
		strings  map[StringID]string
		stacks   map[StackID]Stack
		symbols  map[uint64][]symbolFrame
		symbolAt int    // symbol segment to go on with
		symbolTo uint64 // what is read of it
		namer    Namer  // nil: none
	}
}

// A source is what a Reader reads.
type source interface {
	// readAt copies from offset; n < len(p) means beyond the end.
	readAt(p []byte, offset uint64) (n int)
	size() uint64
	// alive asks whether the writer lives; known is false if that cannot be told.
	alive() (alive, known bool)
	close() error
}

// A segment is a checked entry of the directory.
type segment struct {
	offset uint64
	size   uint32
	stride uint32
	count  uint32
	bad    bool // cut off or damaged: never read
}

// Reader returns a reader of what r records, for observers inside the process; with a private
// recorder there is no other way. It is an error if r is nil.
func (r *Recorder) Reader() (*Reader, error) {
	if r == nil {
		return nil, fmt.Errorf("flight: read recorder: it is off: %w", ErrNotVtscope)
	}
	return newReader(r.path, recorderSource{r})
}

// recorderSource reads the memory of a recorder of this process.
type recorderSource struct{ r *Recorder }

func (s recorderSource) readAt(p []byte, offset uint64) int {
	s.r.mu.Lock()
	defer s.r.mu.Unlock()
	return s.r.mu.memory.readAt(p, offset)
}

func (s recorderSource) size() uint64        { return math.MaxInt64 }
func (s recorderSource) alive() (bool, bool) { return true, true }
func (s recorderSource) close() error        { return nil }

// fileSource reads a file.
type fileSource struct{ file *os.File }

func (s fileSource) readAt(p []byte, offset uint64) int {
	if offset > math.MaxInt64 {
		return 0
	}
	n, _ := s.file.ReadAt(p, int64(offset)) // what is missing counts as beyond the end
	return n
}

func (s fileSource) size() uint64 {
	info, err := s.file.Stat()
	if err != nil {
		return 0
	}
	return uint64(info.Size())
}

func (s fileSource) close() error { return s.file.Close() }

// Open opens a flight file, of whatever process. Errors match [ErrFormat], [ErrPermission] or
// [fs.ErrNotExist].
func Open(path string) (*Reader, error) { return openReader(path, 0) }

// openReader opens a flight file with further flags for open.
func openReader(path string, flags int) (*Reader, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|openNonblock|flags, 0)
	if err != nil {
		var pe *fs.PathError
		if errors.As(err, &pe) {
			err = pe.Err
		}
		if errors.Is(err, fs.ErrPermission) {
			err = ErrPermission
		}
		return nil, fmt.Errorf("flight: open %s: %w", path, err)
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("not a regular file: %w", ErrFormat)
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("flight: open %s: %w", path, err)
	}
	r, err := newReader(path, fileSource{f})
	if err != nil {
		f.Close()
	}
	return r, err
}

func newReader(path string, src source) (*Reader, error) {
	r := &Reader{path: path, src: src}
	r.mu.strings = make(map[StringID]string)
	r.mu.stacks = make(map[StackID]Stack)
	r.mu.symbols = make(map[uint64][]symbolFrame)
	r.mu.end = headerSize
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.refreshLocked(); err != nil {
		return nil, fmt.Errorf("flight: read %s: %w", path, err)
	}
	return r, nil
}

// Close closes the file. The reader must not be used afterwards.
func (r *Reader) Close() error {
	r.exit.close()
	r.mu.Lock()
	namer := r.mu.namer
	r.mu.namer, r.openNamer = nil, nil
	r.mu.Unlock()
	if namer != nil {
		return errors.Join(namer.Close(), r.src.close())
	}
	return r.src.close()
}

// refreshLocked reads what changes: header, clock and new entries of the directory.
func (r *Reader) refreshLocked() error {
	h := &r.mu.fresh.fileHeader
	if n := r.readHeaderLocked(); n < headerPage {
		return fmt.Errorf("header is cut after %d bytes%s: %w", n, r.whileAlive(), ErrFormat)
	}
	switch {
	case string(h.Magic[:]) != formatMagic:
		return fmt.Errorf("header has no magic%s: %w", r.whileAlive(), ErrFormat)
	case h.Version == 0 || h.Version > FormatVersion:
		return fmt.Errorf("version %d: want 1 to %d: %w", h.Version, FormatVersion, ErrFormat)
	case h.HeaderSize != headerSize:
		return fmt.Errorf("header size %d: want %d: %w", h.HeaderSize, headerSize, ErrFormat)
	case h.Segments > maxSegments:
		return fmt.Errorf("%d segments: want at most %d: %w", h.Segments, maxSegments, ErrFormat)
	}
	for try := 0; (h.AnchorSeq%2 != 0 || h.Settings.Ver%2 != 0) && try < 16; try++ {
		r.readHeaderLocked()
	}
	if h.AnchorSeq%2 == 0 || r.mu.clock.perTick == 0 {
		r.mu.clock = newTickClock(h)
	}
	r.mu.header = *h
	r.version.CompareAndSwap(0, h.Version)
	return r.readDirectoryLocked(int(h.Segments))
}

// whileAlive returns what it means that the header of a process that lives cannot be read.
func (r *Reader) whileAlive() string {
	if alive, known := r.src.alive(); alive && known {
		return ", and its process lives: another program has truncated the file, or the process has just begun"
	}
	return ""
}

// readHeaderLocked reads the first page to r.mu.fresh, and returns how much of it there is. Who follows a process does so a hundred times a second, so nothing is
// allocated. A [fileHeader] lies in memory as in the file, but for the order of bytes.
func (r *Reader) readHeaderLocked() (n int) {
	page := (*[headerPage]byte)(unsafe.Pointer(&r.mu.fresh))
	if n = r.src.readAt(page[:], 0); n == headerPage && !littleEndian {
		raw := *page
		if _, err := binary.Decode(raw[:], binary.LittleEndian, &r.mu.fresh.fileHeader); err != nil {
			return 0
		}
	}
	return n
}

// littleEndian tells that this machine orders bytes as the file does.
var littleEndian = binary.NativeEndian.Uint16([]byte{1, 0}) == 1

// A headerOfPage is a header with what lies behind it in its page.
type headerOfPage struct {
	fileHeader
	_ [headerPage - unsafe.Sizeof(fileHeader{})]byte
}

// readDirectoryLocked checks the entries up to n that it has not seen yet.
func (r *Reader) readDirectoryLocked(n int) error {
	if n <= r.mu.entries {
		return nil
	}
	buf := make([]byte, (n-r.mu.entries)*segmentEntrySize)
	if got := r.src.readAt(buf, uint64(headerPage+r.mu.entries*segmentEntrySize)); got < len(buf) {
		return fmt.Errorf("directory is cut: %w", ErrFormat)
	}
	size := r.src.size()
	for ; r.mu.entries < n; r.mu.entries++ {
		var e segmentEntry
		if _, err := binary.Decode(buf, binary.LittleEndian, &e); err != nil {
			return fmt.Errorf("directory: %w", err)
		}
		buf = buf[segmentEntrySize:]
		if e.Kind == segmentNone || e.Kind >= segmentKindCount {
			r.damageLocked("segment %d is of unknown kind %d", r.mu.entries, e.Kind)
			continue
		}
		s := segment{offset: e.Offset, size: e.Size, stride: e.Stride, count: e.Count}
		if why := checkEntry(&e, len(r.mu.segments[e.Kind]), r.mu.end, size, uint32(r.ringHeader())); why != "" {
			r.damageLocked("segment %d (%s): %s", r.mu.entries, e.Kind, why)
			s.bad = true
		} else {
			r.mu.end = e.Offset + uint64(e.Size)
		}
		r.mu.segments[e.Kind] = append(r.mu.segments[e.Kind], s)
	}
	return nil
}

const (
	maxDamage      = 16
	maxRingSegment = ringHeaderSize + maxRing*eventSize
)

func (r *Reader) damageLocked(format string, args ...any) {
	if len(r.mu.damage) < maxDamage {
		r.mu.damage = append(r.mu.damage, fmt.Sprintf(format, args...))
	}
}

// checkEntry returns what is wrong with an entry. Segments lie in the order of the directory and do
// not overlap, so that no file can make a reader read more than there is.
func checkEntry(e *segmentEntry, ordinal int, end, size uint64, ringHeader uint32) string {
	var stride, count uint32 // as the kind demands
	want := uint32(tableSegmentSize)
	switch e.Kind {
	case segmentThread:
		stride, count, want = recordSize, threadsPerSegment, threadSegmentSize
	case segmentScope:
		stride, count, want = scopeSize, scopesPerSegment, scopesPerSegment*scopeSize
	case segmentName:
		stride, count, want = nameSize, namesPerSegment, namesPerSegment*nameSize
	case segmentScheduler:
		stride, count, want = schedulerSize, schedulersPerSegment, schedulerSegmentSize
	case segmentPinSite:
		stride, count, want = pinSiteSize, pinSitesPerSegment, pinSiteSegmentSize
	case segmentRecent:
		stride, count, want = recentSize, recentPerSegment, recentSegmentSize
	case segmentBlocker:
		stride, count, want = blockerSize, blockersPerSegment, blockerSegmentSize
	case segmentWait:
		stride, count, want = waitSize, waitsPerSegment, waitSegmentSize
	case segmentUserKind:
		stride, count, want = userKindSize, userKindsPerSegment, userKindSegmentSize
	case segmentPoller:
		stride, count, want = pollerSize, pollersPerSegment, pollerSegmentSize
	case segmentDurable:
		stride, count, want = durableSize, durablesPerSegment, durableSegmentSize
	case segmentLabel:
		stride, count, want = labelSize, labelsPerSegment, labelSegmentSize
	case segmentDurableTotals:
		stride, count, want = durableTotalsSize, 1, durableTotalsSize
	case segmentTotals:
		stride, count, want = totalsSize, scopesPerSegment, totalsSegmentSize
	case segmentRing:
		stride, count, want = e.Stride, e.Count, e.Size
		events := (stride - ringHeader) / eventSize
		if stride < ringHeader || ringHeader+events*eventSize != stride || events < minRing || events > maxRing || events&(events-1) != 0 {
			return fmt.Sprintf("bad size of a ring: %d", stride)
		}
		if e.Size > maxRingSegment || count == 0 || uint64(count)*uint64(stride) > uint64(e.Size) {
			return fmt.Sprintf("%d rings of %d bytes in %d", count, stride, e.Size)
		}
	}
	switch {
	case int(e.Ordinal) != ordinal:
		return fmt.Sprintf("number %d of its kind: want %d", e.Ordinal, ordinal)
	case e.Size != want || e.Stride != stride || e.Count != count:
		return fmt.Sprintf("%d records of %d in %d bytes: want %d of %d in %d", e.Count, e.Stride, e.Size, count, stride, want)
	case e.Offset%segmentAlign != 0 || e.Offset < end || e.Offset > math.MaxInt64/2:
		return fmt.Sprintf("bad offset %#x", e.Offset)
	case e.Offset+uint64(e.Size) > size:
		return fmt.Sprintf("beyond the end of the file: at %#x, file has %#x", e.Offset, size)
	}
	return ""
}

// segmentsLocked returns the segments of a kind known so far. The slice is only appended to.
func (r *Reader) segmentsOf(k segmentKind) ([]segment, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	err := r.refreshLocked()
	if err != nil {
		err = fmt.Errorf("flight: read %s: %w", r.path, err)
	}
	return r.mu.segments[k], err
}

// incomplete makes the error of a result that lacks something, or nil.
func (r *Reader) incomplete(more ...string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	why := append(r.mu.damage[:len(r.mu.damage):len(r.mu.damage)], more...)
	if len(why) == 0 {
		return nil
	}
	return fmt.Errorf("flight: read %s: %w: %s%s", r.path, ErrIncomplete, why[0], andMore(len(why)-1))
}

func andMore(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(" (and %d more)", n)
}

// Header returns what the file says about its process, read afresh.
func (r *Reader) Header() Header {
	r.mu.Lock()
	defer r.mu.Unlock()
	_ = r.refreshLocked() // what was read last will do
	return makeHeader(&r.mu.header)
}

func makeHeader(h *fileHeader) Header {
	return Header{
		Version: int(h.Version), PID: int(h.PID), UID: int(h.UID), StartTime: h.StartTime, BootID: h.BootID,
		Start: time.Unix(0, h.WallStart), Ended: h.Status == statusEnded, Program: fileText(h.Program[:]), Exe: fileText(h.Exe[:]),
		GoVersion: fileText(h.GoVersion[:]), GoArch: fileText(h.GoArch[:]), Clock: ClockKind(h.ClockKind),
		Heartbeat: time.Unix(0, h.Heartbeat), Segments: int(h.Segments),
	}
}

// fileText returns the text before the first zero byte, safe to print.
func fileText(b []byte) string {
	if i := bytes.IndexByte(b, 0); i >= 0 {
		b = b[:i]
	}
	return safeText(string(b))
}

// safeText replaces what a hostile file could use to confuse a terminal: control characters and
// broken UTF-8.
func safeText(s string) string {
	clean := true
	for _, c := range s {
		if c < ' ' || c == 0x7f || c >= 0x80 && c < 0xa0 || c == '\ufffd' {
			clean = false
			break
		}
	}
	if clean {
		return s
	}
	b := make([]rune, 0, len(s))
	for _, c := range s {
		if c < ' ' || c == 0x7f || c >= 0x80 && c < 0xa0 {
			c = '\ufffd'
		}
		b = append(b, c)
	}
	return string(b)
}

// Lost returns what the recorder could not record so far.
func (r *Reader) Lost() Lost {
	r.mu.Lock()
	defer r.mu.Unlock()
	_ = r.refreshLocked() // what was read last will do
	l := &r.mu.header.Lost
	return Lost{
		Threads: l[lostThreads], Events: l[lostEvents], Strings: l[lostStrings], Stacks: l[lostStacks],
		Symbols: l[lostSymbols], Scopes: l[lostScopes], Names: l[lostNames], Rings: l[lostRings],
		Blockers: r.mu.header.LostMore[lostBlockers-lostSlots], Waits: r.mu.header.LostMore[lostWaits-lostSlots],
		Durables: r.mu.header.LostMore[lostDurables-lostSlots],
		Labels:   r.mu.header.LostMore[lostLabels-lostSlots],
	}
}
