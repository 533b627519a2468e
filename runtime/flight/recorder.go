package flight

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"
)

// A Mode tells where a recorder keeps what it records.
type Mode uint8

// The modes.
const (
	ModeShared  Mode = iota // a file that other processes of the user can read
	ModePrivate             // memory of the process
	ModeOff                 // no recording

	modeCount
)

// Options set up a [Recorder]. The zero value means the documented defaults.
type Options struct {
	// Dir is the directory of the flight file, made if missing. It must be on a tmpfs, belong to the
	// user and be writable by nobody else. Default: $VTSCOPE_DIR, else /dev/shm/vtscope-UID.
	Dir string
	// Mode tells where to record. Default: ModeShared.
	Mode Mode
	// Settings tell what to record at first: see [Recorder.SetSettings]. Default: those of the name "default".
	Settings *Settings
	// Program is shown as the process's name. Default: the base name of the executable.
	Program string
	// MaxThreads bounds the threads recorded at once. Default and greatest: 4,194,304.
	MaxThreads int
	// Collections: events tell of Go's garbage collections. The default recorder has it always.
	Collections bool
	// Warn is told, once each, what the recorder had to do without. It must not block.
	// Default: a line on standard error.
	Warn func(string)
}

const maxThreads = 4 << 20

// A Recorder writes a flight file. The nil Recorder is one that is turned off: all methods accept
// it and do nothing.
//
// What decides anything lives in Go memory: the file is written, never read back, so that nobody
// who scribbles in it can harm the process.
type Recorder struct {
	options Options
	header  *fileHeader
	entries *[maxSegments]segmentEntry
	path    string
	private bool

	mu struct { // guards the memory and the directory
		sync.Mutex
		memory   memory
		segments int
		ordinals [segmentKindCount]int
		closed   bool
		warned   map[string]bool
		full     fullness
	}
	threads threadPool
	caches  [stripes]recordStripe
	stripes [stripes]ringStripe
	rings   ringPool
	strings stringTable
	stacks  stackTable
	symbols symbolTable
	names   namePool
	scopes  scopePool

	schedulers schedulerPool
	pinSites   pinSiteTable
	recent     recentTable
	durables   recordPool
	labels     recordPool
	durable    durableTotals
	blockers   recordPool
	waits      recordPool
	pollers    recordPool

	userKinds    userKindPool
	totals       totals
	gate         gate
	settingsLock sync.Mutex
	settings     Settings // guarded by settingsLock

	back   *background
	closer sync.Once
}

// stripes is how many rings and record caches those who own none share.
const stripes = 8

// New starts a recorder. Lack of space, rights or a tmpfs is no error: the recorder then does with
// less, in the end with private memory, and warns. An error means that o is wrong. With
// [ModeOff] the recorder is nil. New is meant for tests; programs use [Default].
func New(o Options) (*Recorder, error) {
	if o.Mode >= modeCount {
		return nil, fmt.Errorf("flight: unknown mode %d", o.Mode)
	}
	if o.MaxThreads < 0 || o.MaxThreads > maxThreads {
		return nil, fmt.Errorf("flight: bad number of threads %d: want 0 to %d", o.MaxThreads, maxThreads)
	}
	if o.Mode == ModeOff {
		return nil, nil
	}
	if o.Settings == nil {
		s := DefaultSettings()
		o.Settings = &s
	}
	if o.MaxThreads == 0 {
		o.MaxThreads = maxThreads
	}
	if o.Warn == nil {
		o.Warn = func(s string) { fmt.Fprintln(os.Stderr, s) }
	}
	if o.Program == "" {
		o.Program = programName()
	}
	var r *Recorder
	if o.Mode == ModeShared {
		dir := o.Dir
		if dir == "" {
			dir = defaultDir()
		}
		var err error
		for _, size := range []startSize{normalSize, smallSize} {
			if r, err = newShared(o, dir, size); err == nil || !noSpace(err) {
				break
			}
		}
		if err != nil {
			o.Warn("flight: recording into private memory, invisible to other processes: " + err.Error())
			r = nil
		}
	}
	if r == nil {
		r = &Recorder{options: o, private: true}
		r.mu.memory = newPrivateMemory()
		if err := r.layOut(normalSize); err != nil {
			return nil, fmt.Errorf("flight: %w", err)
		}
	}
	publishRegistry(r)
	r.SetSettings(*o.Settings)
	r.back = <-handouts
	r.back.start <- r
	return r, nil
}

// newShared makes the recorder of a file in dir.
func newShared(o Options, dir string, size startSize) (*Recorder, error) {
	m, path, err := newSharedMemory(dir)
	if err != nil {
		return nil, err
	}
	r := &Recorder{options: o, path: path}
	r.mu.memory = m
	if err := r.layOut(size); err != nil {
		m.discard()
		return nil, err
	}
	m.adopted()
	return r, nil
}

// A startSize is how much a recorder reserves at its start beyond what it cannot do without.
type startSize struct{ stripes, stripeEvents int }

var (
	normalSize = startSize{stripes, 4096}
	smallSize  = startSize{2, 128}
)

// layOut reserves and fills what every flight file has. The recorder is not shared yet.
func (r *Recorder) layOut(size startSize) error {
	base, _, err := r.mu.memory.reserve(headerSize)
	if err != nil {
		return fmt.Errorf("reserve header: %w", err)
	}
	r.header = (*fileHeader)(base)
	r.entries = (*[maxSegments]segmentEntry)(unsafe.Add(base, headerPage))
	r.mu.warned = map[string]bool{}
	fillHeader(r.header, r.options)
	for _, step := range []func() error{r.threads.start(r), r.scopes.start(r), r.strings.start(r), r.stacks.start(r), r.symbols.start(r)} {
		if err := step(); err != nil {
			return err
		}
	}
	rings, err := r.addRings(size.stripes, size.stripeEvents)
	if err != nil {
		return err
	}
	for i := range r.stripes {
		g := rings[i%len(rings)]
		r.stripes[i].lock = &g.lock
		r.stripes[i].ring = g
		g.setOwner(NoCarrier, RingOfOthers, CarrierRunning)
	}
	if size == normalSize {
		r.addTotals(0)
	}
	// Last: a file without its magic is none.
	copy(r.header.Magic[:], formatMagic)
	return nil
}

func fillHeader(h *fileHeader, o Options) {
	h.Version = FormatVersion
	h.HeaderSize = headerSize
	h.PID = uint32(os.Getpid())
	h.UID = uint32(os.Getuid())
	p := selfIdentity()
	h.StartTime, h.BootID, h.PIDSpace = p.startTime, p.bootID, p.pidSpace
	a := readAnchor()
	h.WallStart, h.Heartbeat = a.Real, a.Real
	h.Status = statusRunning
	h.ClockKind = uint32(clockKind)
	h.Anchors = [2]anchor{{Ticks: startTicks, Mono: startMono, Real: a.Real - (a.Mono - startMono)}, a}
	h.Address = uint64(uintptr(unsafe.Pointer(h)))
	copyText(h.GoArch[:], runtime.GOARCH)
	copyText(h.GoVersion[:], runtime.Version())
	copyText(h.Program[:], o.Program)
	exe, _ := os.Executable()
	copyText(h.Exe[:], exe)
	copyText(h.BuildID[:], selfBuildID())
	h.Marker = marker()
}

// copyText copies s, cut so that a zero byte ends it.
func copyText(to []byte, s string) { copy(to[:len(to)-1], s) }

func programName() string {
	if exe, err := os.Executable(); err == nil {
		return filepath.Base(exe)
	}
	return filepath.Base(os.Args[0])
}

var (
	errClosed      = errors.New("recorder is closed")
	errThreadLimit = errors.New("limit of threads reached")
)

// addSegment reserves a segment and enters it in the directory, unless init fails to fill it: init
// runs before readers can see the segment.
func (r *Recorder) addSegment(k segmentKind, size, stride, count int, init func(unsafe.Pointer)) (unsafe.Pointer, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.mu.closed:
		return nil, errClosed
	case r.mu.segments == maxSegments:
		return nil, fmt.Errorf("add %s segment: directory is full", k)
	}
	if err := r.mu.full.check(size); err != nil {
		return nil, fmt.Errorf("reserve %s segment of %d KiB: %w", k, size>>10, err)
	}
	base, offset, err := r.mu.memory.reserve(size)
	r.mu.full.note(size, err)
	if err != nil {
		return nil, fmt.Errorf("reserve %s segment of %d KiB: %w", k, size>>10, err)
	}
	if init != nil {
		init(base)
	}
	e := &r.entries[r.mu.segments]
	*e = segmentEntry{
		Offset: offset, Address: uint64(uintptr(base)), Size: uint32(size), Kind: k,
		Ordinal: uint16(r.mu.ordinals[k]), Stride: uint32(stride), Count: uint32(count),
	}
	r.mu.ordinals[k]++
	r.mu.segments++
	atomic.StoreUint32(&r.header.Segments, uint32(r.mu.segments))
	publishSegments(r, r.mu.segments)
	return base, nil
}

// A fullness remembers that there was no room, because to ask costs the kernel a good part of a
// millisecond: for a while, nothing of that size is asked for again.
type fullness struct {
	size  int
	err   error
	until int64 // by nanotime
	asked int   // how often there was none
}

const askAgainAfter = int64(time.Second)

func (f *fullness) check(size int) error {
	if f.err != nil && size >= f.size && nanotime() < f.until {
		return f.err
	}
	return nil
}

func (f *fullness) note(size int, err error) {
	if err != nil {
		*f = fullness{size, err, nanotime() + askAgainAfter, f.asked + 1}
	}
}

// lose counts something that could not be recorded.
func (r *Recorder) lose(what int) {
	if what < lostSlots {
		atomic.AddUint64(&r.header.Lost[what], 1)
	} else {
		atomic.AddUint64(&r.header.LostMore[what-lostSlots], 1)
	}
}

// warnOnce tells the program what it has to do without, the first time for each subject.
func (r *Recorder) warnOnce(subject string, err error) {
	r.mu.Lock()
	known := r.mu.warned[subject] || r.mu.closed
	r.mu.warned[subject] = true
	r.mu.Unlock()
	if !known {
		r.options.Warn("flight: " + subject + ": " + err.Error())
	}
}

// Path returns the path of the flight file, or "" if there is none.
func (r *Recorder) Path() string {
	if r == nil {
		return ""
	}
	return r.path
}

// Close marks the file as ended, removes it, and waits for the recorder's goroutine. Calls after the
// first do nothing. Threads may go on recording: the memory stays, only nobody sees it.
func (r *Recorder) Close() error {
	if r == nil {
		return nil
	}
	var err error
	r.closer.Do(func() {
		close(r.back.stop)
		<-r.back.done
		r.beat()
		r.mu.Lock()
		defer r.mu.Unlock()
		r.mu.closed = true
		atomic.StoreUint32(&r.header.Status, statusEnded)
		err = r.mu.memory.remove()
	})
	return err
}

// beat renews the anchor and the heartbeat. Only the background goroutine calls it, and Close after
// that has ended.
func (r *Recorder) beat() {
	a := readAnchor()
	h := r.header
	v := beginWrite(&h.AnchorSeq)
	put64(&h.Anchors[1].Ticks, a.Ticks)
	atomic.StoreInt64(&h.Anchors[1].Mono, a.Mono)
	atomic.StoreInt64(&h.Anchors[1].Real, a.Real)
	endWrite(&h.AnchorSeq, v)
	atomic.StoreInt64(&h.Heartbeat, a.Real)
	if clockKind == ClockTSC {
		calibrate()
	}
	r.mu.Lock()
	lost := r.mu.memory.lost()
	r.mu.Unlock()
	if lost == lossByCut {
		unpublishRegistry(r) // what a reader of memory would find is zero
	}
	if lost != nil {
		r.warnOnce(lost.subject, lost.why)
	}
}
