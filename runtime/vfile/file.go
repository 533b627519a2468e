package vfile

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/internal/poll"
	"github.com/vtscope/vtscope/runtime/sched"
	"github.com/vtscope/vtscope/runtime/vsync"
)

// A File is an [os.File] for threads, with all of its methods: a thread that reads, writes, synchronizes … parks until that is done. On a plain goroutine each
// call is that of [os.File]. Its methods may be used by several threads and goroutines at a time.
type File struct {
	// F1  While a ring executes an operation the descriptor is open: it is made inside of [syscall.RawConn], in which the thread parks.
	// F2  at is held by whoever reads or writes where the file stands, or moves that.

	outer
	raw    syscall.RawConn
	append bool
	sort   sort
	noTry  atomic.Bool
	at     vsync.Mutex
	stream *stream // of what can be polled

	mu struct {
		sync.Mutex
		closed  bool
		blocker *flight.BlockerRecord // nil: nobody has waited
	}
	known atomic.Bool // the blocker is described
}

// outer has the methods of package os one level deeper than those of File, which so come first.
type outer struct{ *os.File }

// A sort is how a file is waited for.
type sort uint8

const (
	onDisk   sort = iota // operations end by themselves: of regular files, folders, block devices
	polled               // pollers tell when it is ready
	awaited              // it may wait for others without end, and cannot be polled
	streamed             // onDisk, without a position: devices such as /dev/null
)

// Wrap returns a file for threads that is f otherwise, which must not be used any more.
func Wrap(f *os.File) *File {
	w := &File{outer: outer{f}}
	if f == nil {
		return w
	}
	raw, err := f.SyscallConn()
	if err != nil { // it is closed: each call says so
		return w
	}
	w.raw = raw
	w.sort, w.append = classify(f, raw)
	if w.sort == polled {
		w.stream = newStream(w)
	}
	return w
}

// Open opens a file for reading, as [os.Open].
func Open(name string) (*File, error) { return OpenFile(name, os.O_RDONLY, 0) }

// Create creates or truncates a file, as [os.Create].
func Create(name string) (*File, error) {
	return OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o666)
}

// OpenFile opens a file, as [os.OpenFile]. A thread parks meanwhile: also until the other side of a FIFO is opened. If it is interrupted then, it gives up.
func OpenFile(name string, flag int, perm fs.FileMode) (*File, error) {
	me := sched.Current()
	if me == nil {
		return wrapped(os.OpenFile(name, flag, perm))
	}
	if fd, err, handled := openFD(me, name, flag, modeBits(perm)); handled {
		if err != nil {
			return nil, &os.PathError{Op: "open", Path: name, Err: err}
		}
		return Wrap(fileOf(fd, name)), nil
	}
	return openByHelper(name, flag, perm)
}

// openByHelper opens a file on a helper. One that may wait for its other side has a goroutine of its own, which an interrupt releases.
func openByHelper(name string, flag int, perm fs.FileMode) (*File, error) {
	info, err := Stat(name)
	if errors.Is(err, errInterrupted) { // and so it is not known whether it may wait without end
		return nil, &os.PathError{Op: "open", Path: name, Err: errInterrupted}
	}
	waits := err == nil && info.Mode()&(fs.ModeNamedPipe|fs.ModeCharDevice) != 0
	if !waits {
		return wrapped(outside(name, false, func() (*os.File, error) { return os.OpenFile(name, flag, perm) }))
	}
	var f *os.File
	var stopped, ended atomic.Bool
	began := started()
	theEngine().helpers.doOr(sched.Current(), filePause(0), true, func() {
		f, err = os.OpenFile(name, flag, perm)
		ended.Store(true)
	}, func() {
		stopped.Store(true)
		poll.Start(func() { // the helper may be about to open it: it is released until it has
			for d := time.Millisecond; !ended.Load(); d = min(2*d, 100*time.Millisecond) {
				releaseFIFO(name)
				time.Sleep(d)
			}
		})
	})
	told(began, 0, 0, name)
	if stopped.Load() {
		if err == nil {
			f.Close()
		}
		return nil, &os.PathError{Op: "open", Path: name, Err: errInterrupted}
	}
	return wrapped(f, err)
}

func wrapped(f *os.File, err error) (*File, error) {
	if err != nil {
		return nil, err
	}
	return Wrap(f), nil
}

// modeBits are a mode as the system has it.
func modeBits(m fs.FileMode) uint32 {
	bits := uint32(m.Perm())
	if m&fs.ModeSetuid != 0 {
		bits |= 0o4000
	}
	if m&fs.ModeSetgid != 0 {
		bits |= 0o2000
	}
	if m&fs.ModeSticky != 0 {
		bits |= 0o1000
	}
	return bits
}

// inner is the file of package os. A nil one has its methods, too: they say that it is invalid.
func (f *File) inner() *os.File {
	if f == nil {
		return nil
	}
	return f.outer.File
}

// thread returns the calling thread, if the call must be made for one: nil means that package os makes it.
func (f *File) thread() *sched.Task {
	if f == nil || f.raw == nil {
		return nil
	}
	return sched.Current()
}

// Read reads up to len(b) bytes, as [os.File.Read].
func (f *File) Read(b []byte) (int, error) {
	me := f.thread()
	if me == nil || len(b) == 0 {
		return f.plain(b, (*os.File).Read)
	}
	switch f.sort {
	case polled:
		return f.stream.read(me, b)
	case awaited:
		return f.elsewhere(me, b, (*os.File).Read)
	case onDisk:
		f.at.Lock()
		defer f.at.Unlock()
	}
	n, err := f.transfer(me, opRead, b, position, func(b []byte) (int, error) { return f.inner().Read(b) })
	if n == 0 && err == nil {
		err = io.EOF
	}
	return n, err
}

// Write writes all of b, as [os.File.Write].
func (f *File) Write(b []byte) (n int, err error) {
	me := f.thread()
	if me == nil || len(b) == 0 {
		return f.plain(b, (*os.File).Write)
	}
	switch f.sort {
	case polled:
		return f.stream.write(me, b)
	case awaited:
		return f.elsewhere(me, b, (*os.File).Write)
	case onDisk:
		f.at.Lock()
		defer f.at.Unlock()
	}
	for n < len(b) {
		m, err := f.transfer(me, opWrite, b[n:], position, func(b []byte) (int, error) { return f.inner().Write(b) })
		n += m
		if err != nil {
			return n, err
		}
		if m == 0 {
			return n, &os.PathError{Op: "write", Path: f.Name(), Err: io.ErrUnexpectedEOF}
		}
	}
	return n, nil
}

// plain makes a call of package os for a goroutine, in turn with threads.
func (f *File) plain(b []byte, call func(*os.File, []byte) (int, error)) (int, error) {
	if f == nil || f.sort != onDisk {
		return call(f.inner(), b)
	}
	f.at.Lock()
	defer f.at.Unlock()
	return call(f.outer.File, b)
}

// ReadAt fills b from off on, as [os.File.ReadAt]. What the system has in memory is read at once; else the thread parks.
func (f *File) ReadAt(b []byte, off int64) (n int, err error) {
	me := f.thread()
	if me == nil || len(b) == 0 || off < 0 || f.sort == polled || f.sort == awaited {
		return f.inner().ReadAt(b, off)
	}
	for n < len(b) {
		m, err := f.transfer(me, opRead, b[n:], uint64(off), func(b []byte) (int, error) { return f.inner().ReadAt(b, off) })
		n += m
		off += int64(m)
		if err != nil {
			return n, err
		}
		if m == 0 {
			return n, io.EOF
		}
	}
	return n, nil
}

// WriteAt writes b from off on, as [os.File.WriteAt].
func (f *File) WriteAt(b []byte, off int64) (n int, err error) {
	me := f.thread()
	if me == nil || len(b) == 0 || off < 0 || f.append || f.sort == polled || f.sort == awaited {
		return f.inner().WriteAt(b, off)
	}
	for n < len(b) {
		m, err := f.transfer(me, opWrite, b[n:], uint64(off), func(b []byte) (int, error) { return f.inner().WriteAt(b, off) })
		n += m
		off += int64(m)
		if err != nil {
			return n, err
		}
		if m == 0 {
			return n, &os.PathError{Op: "write", Path: f.Name(), Err: io.ErrUnexpectedEOF}
		}
	}
	return n, nil
}

// WriteString is Write of a string.
func (f *File) WriteString(s string) (int, error) { return f.Write([]byte(s)) }

// ReadFrom writes all that r has, as [io.ReaderFrom] says.
func (f *File) ReadFrom(r io.Reader) (int64, error) {
	if f.thread() == nil {
		return f.inner().ReadFrom(r)
	}
	return io.Copy(writer{f}, r)
}

// WriteTo reads to the end, and writes to w, as [io.WriterTo] says.
func (f *File) WriteTo(w io.Writer) (int64, error) {
	if f.thread() == nil {
		return f.inner().WriteTo(w)
	}
	return io.Copy(w, reader{f})
}

// The methods that copying uses by itself are hidden: it would call itself.
type (
	writer struct{ io.Writer }
	reader struct{ io.Reader }
)

// largest is the most that one operation moves: more is refused on some systems.
const largest = 1 << 30

// transfer makes one operation for the thread me, which may move less than all of b. call is what a helper calls, if it has to.
func (f *File) transfer(me *sched.Task, code uint8, b []byte, off uint64, call func([]byte) (int, error)) (int, error) {
	b = b[:min(len(b), largest)]
	o := ops.Get().(*op)
	defer o.free()
	o.f, o.me, o.code, o.b, o.off = f, me, code, b, off
	switch err := f.raw.Control(o.run); {
	case err != nil:
		return 0, f.error(code, os.ErrClosed)
	case !o.handled:
		return f.help(me, code, func() (int, error) { return call(b) })
	case o.errno != nil:
		return 0, f.error(code, o.errno)
	}
	me.Pace(o.n)
	return o.n, nil
}

// error is as package os has it.
func (f *File) error(code uint8, err error) error {
	op := "write"
	switch code {
	case opRead:
		op = "read"
	case opFsync:
		op = "sync"
	}
	return &os.PathError{Op: op, Path: f.Name(), Err: err}
}

// help makes a call on a helper.
func (f *File) help(me *sched.Task, code uint8, call func() (int, error)) (n int, err error) {
	fd := f.number()
	began := started()
	h := theEngine().helpers
	if !h.do(me, f.pause(fd, h.number), false, func() { n, err = call() }) {
		err = f.error(code, errInterrupted)
	}
	told(began, fd, n, f.Name())
	return n, err
}

// elsewhere makes a call that may wait without end on a goroutine of its own. An interrupt closes the file, which ends the call where Go's own poller waits for it.
func (f *File) elsewhere(me *sched.Task, b []byte, call func(*os.File, []byte) (int, error)) (n int, err error) {
	fd := f.number()
	p := f.pause(fd, 0)
	p.Reason = flight.ReasonRead
	var stopped atomic.Bool
	theEngine().helpers.doOr(me, p, true, func() { n, err = call(f.inner(), b) }, func() {
		stopped.Store(true)
		_ = f.inner().Close()
	})
	if stopped.Load() && err != nil {
		err = &os.PathError{Op: "read", Path: f.Name(), Err: errClosedByInterrupt}
	}
	return n, err
}

// number is the descriptor; 0: it is closed.
func (f *File) number() (fd int) {
	_ = f.raw.Control(func(n uintptr) { fd = int(n) }) // a closed one has none
	return fd
}

// pause is what a dump shows of a thread that waits for the file, which the poller with a number completes.
func (f *File) pause(fd, poller int) sched.Pause {
	if !f.known.Load() && flight.Default() != nil {
		f.mu.Lock()
		if f.mu.blocker == nil && !f.mu.closed {
			f.mu.blocker = flight.Default().OpenBlocker(flight.BlockerSpec{
				Blocker: flight.BlockFile(uintptr(fd)), Name: f.Name(), Pollers: [2]uint16{uint16(poller), uint16(poller)},
			}, flight.Now())
		}
		f.mu.Unlock()
		f.known.Store(true)
	}
	return filePause(fd)
}

func filePause(fd int) sched.Pause {
	p := sched.Pause{State: flight.StateParked, Reason: flight.ReasonFile}
	if fd > 0 {
		p.Blocker = flight.BlockFile(uintptr(fd))
	}
	return p
}

// Close closes the file, as [os.File.Close]: who waits for a pipe returns with an error that matches [os.ErrClosed]; an operation on a file goes on to its end, and its
// descriptor is closed then.
func (f *File) Close() error {
	if f == nil || f.raw == nil {
		return f.inner().Close()
	}
	f.mu.Lock()
	f.mu.closed = true
	flight.Default().CloseBlocker(f.mu.blocker)
	f.mu.blocker = nil
	f.mu.Unlock()
	if f.stream != nil {
		return f.stream.close()
	}
	return f.outer.File.Close()
}

// Seek moves where the file is read and written, as [os.File.Seek]. It waits for reads and writes there that are under way.
func (f *File) Seek(offset int64, whence int) (int64, error) {
	if f == nil || f.sort != onDisk {
		return f.inner().Seek(offset, whence)
	}
	f.at.Lock()
	defer f.at.Unlock()
	return f.outer.File.Seek(offset, whence)
}

// Sync makes what was written stay, as [os.File.Sync].
func (f *File) Sync() error {
	me := f.thread()
	if me == nil {
		return f.inner().Sync()
	}
	_, err := f.transfer(me, opFsync, nil, 0, func([]byte) (int, error) { return 0, f.inner().Sync() })
	return err
}

// did makes a call that has no result on a helper.
func (f *File) did(call func() error) error {
	if f.thread() == nil {
		return call()
	}
	_, err := outside(f.Name(), false, func() (struct{}, error) { return struct{}{}, call() })
	return err
}

// Truncate changes the size, as [os.File.Truncate].
func (f *File) Truncate(size int64) error {
	return f.did(func() error { return f.inner().Truncate(size) })
}

// Chmod changes the mode, as [os.File.Chmod].
func (f *File) Chmod(mode fs.FileMode) error {
	return f.did(func() error { return f.inner().Chmod(mode) })
}

// Chown changes the owner, as [os.File.Chown].
func (f *File) Chown(uid, gid int) error {
	return f.did(func() error { return f.inner().Chown(uid, gid) })
}

// Chdir makes a folder the current one, as [os.File.Chdir].
func (f *File) Chdir() error { return f.inner().Chdir() }

// Stat describes the file, as [os.File.Stat].
func (f *File) Stat() (fs.FileInfo, error) {
	if f.thread() == nil {
		return f.inner().Stat()
	}
	return outside(f.Name(), false, f.outer.File.Stat)
}

// ReadDir lists a folder, as [os.File.ReadDir].
func (f *File) ReadDir(n int) ([]fs.DirEntry, error) {
	if f.thread() == nil {
		return f.inner().ReadDir(n)
	}
	return outside(f.Name(), false, func() ([]fs.DirEntry, error) { return f.inner().ReadDir(n) })
}

// Readdir lists a folder, as [os.File.Readdir].
func (f *File) Readdir(n int) ([]fs.FileInfo, error) {
	if f.thread() == nil {
		return f.inner().Readdir(n)
	}
	return outside(f.Name(), false, func() ([]fs.FileInfo, error) { return f.inner().Readdir(n) })
}

// Readdirnames lists a folder, as [os.File.Readdirnames].
func (f *File) Readdirnames(n int) ([]string, error) {
	if f.thread() == nil {
		return f.inner().Readdirnames(n)
	}
	return outside(f.Name(), false, func() ([]string, error) { return f.inner().Readdirnames(n) })
}

// Name is the name that the file was opened with, as [os.File.Name].
func (f *File) Name() string { return f.inner().Name() }

// Fd is the descriptor, as [os.File.Fd]. That of a pipe blocks from then on; threads that wait park all the same.
func (f *File) Fd() uintptr {
	fd := f.inner().Fd()
	if f != nil && f.stream != nil {
		f.stream.blocks.Store(true)
	}
	return fd
}

// SyscallConn is [os.File.SyscallConn].
func (f *File) SyscallConn() (syscall.RawConn, error) { return f.inner().SyscallConn() }

// SetDeadline is SetReadDeadline and SetWriteDeadline.
func (f *File) SetDeadline(t time.Time) error {
	return f.deadline(t, (*os.File).SetDeadline, true, true)
}

// SetReadDeadline sets when reads of a pipe or terminal give up, as [os.File.SetReadDeadline]. Of a file on disk it returns [os.ErrNoDeadline].
func (f *File) SetReadDeadline(t time.Time) error {
	return f.deadline(t, (*os.File).SetReadDeadline, true, false)
}

// SetWriteDeadline is SetReadDeadline for writes.
func (f *File) SetWriteDeadline(t time.Time) error {
	return f.deadline(t, (*os.File).SetWriteDeadline, false, true)
}

func (f *File) deadline(t time.Time, set func(*os.File, time.Time) error, read, write bool) error {
	err := set(f.inner(), t)
	if err == nil && f.stream != nil {
		f.stream.setDeadline(t, read, write)
	}
	return err
}
