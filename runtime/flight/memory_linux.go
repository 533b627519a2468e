package flight

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"unsafe"
)

// sharedMemory is a flight file.
type sharedMemory struct {
	file *os.File
	dir  *os.File // open while the file has its name
	name string
	end  int64
	head unsafe.Pointer // of the file, mapped
	cut  bool           // somebody has truncated the file; what is reserved since then is private

	inUse bool     // by a recorder: mappings stay for ever
	maps  [][]byte // before that
}

const (
	tmpfsMagic   = 0x01021994
	filePrefix   = "vtscope-"
	fileSuffix   = ".flight"
	sharedMemDir = "/dev/shm"
	ofdGetLock   = 36 // F_OFD_GETLK
	ofdSetLock   = 37 // F_OFD_SETLK

	// fileMode lets nobody open the file to write or truncate it, but root. The recorder has it open.
	fileMode = 0o400
)

// defaultDir returns the directory of this user's flight files.
func defaultDir() string {
	if dir := os.Getenv("VTSCOPE_DIR"); dir != "" {
		return dir
	}
	return filepath.Join(sharedMemDir, filePrefix+strconv.Itoa(os.Getuid()))
}

// openDir makes and opens a directory for flight files and checks that nobody else can have put
// something there. No symbolic link is followed in its last part.
func openDir(path string) (*os.File, error) {
	if err := os.Mkdir(path, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return nil, err
	}
	d, err := os.OpenFile(path, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return nil, err
	}
	if err := checkDir(d, path); err != nil {
		d.Close()
		return nil, err
	}
	return d, nil
}

func checkDir(d *os.File, path string) error {
	var st syscall.Stat_t
	if err := syscall.Fstat(int(d.Fd()), &st); err != nil {
		return fmt.Errorf("stat %s: %w", path, err)
	}
	if int(st.Uid) != os.Geteuid() {
		return fmt.Errorf("use %s: it belongs to user %d", path, st.Uid)
	}
	if st.Mode&0o022 != 0 {
		return fmt.Errorf("use %s: others may write to it (mode %#o)", path, st.Mode&0o777)
	}
	var fs syscall.Statfs_t
	if err := syscall.Fstatfs(int(d.Fd()), &fs); err != nil {
		return fmt.Errorf("statfs %s: %w", path, err)
	}
	if int64(fs.Type) != tmpfsMagic {
		return fmt.Errorf("use %s: not on a tmpfs (type %#x)", path, int64(fs.Type))
	}
	return nil
}

// newSharedMemory makes an empty flight file in dir.
func newSharedMemory(dir string) (m *sharedMemory, path string, err error) {
	d, err := openDir(dir)
	if err != nil {
		return nil, "", err
	}
	self := strconv.Itoa(os.Getpid()) + "-" + strconv.FormatUint(selfIdentity().startTime, 10)
	for try := 1; ; try++ {
		name := self
		if try > 1 { // a second recorder of one process
			name += "-" + strconv.Itoa(try)
		}
		name += fileSuffix
		fd, err := openat(int(d.Fd()), name, syscall.O_RDWR|syscall.O_CREAT|syscall.O_EXCL|syscall.O_NOFOLLOW|syscall.O_CLOEXEC, fileMode)
		if err == syscall.EEXIST && try < 1000 {
			continue
		}
		path := filepath.Join(dir, name)
		if err != nil {
			d.Close()
			return nil, "", &os.PathError{Op: "create", Path: path, Err: err}
		}
		m := &sharedMemory{file: os.NewFile(uintptr(fd), path), dir: d, name: name}
		if err := lockFile(fd); err != nil {
			m.discard()
			return nil, "", fmt.Errorf("lock %s: %w", path, err)
		}
		return m, path, nil
	}
}

func openat(dir int, name string, flags int, mode uint32) (int, error) {
	for {
		fd, err := syscall.Openat(dir, name, flags, mode)
		if err != syscall.EINTR {
			return fd, err
		}
	}
}

// lockFile takes the lock that tells others, in whatever pid namespace, that the process lives: the
// kernel drops it when the last copy of the descriptor is gone. Readers only ask for it.
func lockFile(fd int) error {
	lock := syscall.Flock_t{Type: syscall.F_WRLCK, Whence: 0, Start: 0, Len: 1}
	err := syscall.FcntlFlock(uintptr(fd), ofdSetLock, &lock)
	if err == syscall.EINVAL || err == syscall.ENOSYS { // an emulated kernel: readers go by the pid alone
		return nil
	}
	return err
}

// reserve allocates before it maps: touching a page that a full tmpfs cannot provide would kill the
// process with SIGBUS.
func (m *sharedMemory) reserve(size int) (unsafe.Pointer, uint64, error) {
	size = alignUp(size, segmentAlign)
	if m.file == nil {
		return nil, 0, errClosed
	}
	if m.inUse && m.isCut() {
		return m.reservePrivate(size)
	}
	var limit syscall.Rlimit // beyond it the kernel sends SIGXFSZ, which kills
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &limit); err == nil && uint64(m.end)+uint64(size) > limit.Cur {
		return nil, 0, fmt.Errorf("grow to %d bytes: limit of file sizes: %w", m.end+int64(size), syscall.ENOSPC)
	}
	if err := spaceFor(size); err != nil {
		return nil, 0, err
	}
	fd := int(m.file.Fd())
	for {
		err := syscall.Fallocate(fd, 0, m.end, int64(size))
		if err == nil {
			break
		}
		if err != syscall.EINTR {
			return nil, 0, fmt.Errorf("grow to %d bytes: %w", m.end+int64(size), err)
		}
	}
	b, err := syscall.Mmap(fd, m.end, size, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED|syscall.MAP_POPULATE)
	if err != nil {
		return nil, 0, errors.Join(fmt.Errorf("map %d bytes: %w", size, err), syscall.Ftruncate(fd, m.end))
	}
	guard(b)
	offset := m.end
	m.end += int64(size)
	if offset == 0 {
		m.head = unsafe.Pointer(&b[0])
	}
	if !m.inUse {
		m.maps = append(m.maps, b)
	}
	return unsafe.Pointer(&b[0]), uint64(offset), nil
}

// reservePrivate reserves what no reader finds: to grow the file again would show them zeros where something was.
func (m *sharedMemory) reservePrivate(size int) (unsafe.Pointer, uint64, error) {
	if err := spaceFor(size); err != nil {
		return nil, 0, err
	}
	b, err := anonymous(size)
	if err != nil {
		return nil, 0, err
	}
	offset := m.end
	m.end += int64(size)
	return unsafe.Pointer(&b[0]), uint64(offset), nil
}

// isCut reports whether somebody has truncated the file of a recorder, also if it has been made larger since.
func (m *sharedMemory) isCut() bool {
	if !m.cut {
		var st syscall.Stat_t
		short := syscall.Fstat(int(m.file.Fd()), &st) == nil && st.Size < m.end
		m.cut = short || string(unsafe.Slice((*byte)(m.head), len(formatMagic))) != formatMagic
	}
	return m.cut
}

// spareSpace is how much address space a recorder leaves to the program where that is limited: Go's runtime, which takes it in
// pieces of this size, ends a program that gets none.
const spareSpace = 64 << 20

// spaceFor returns an error if the process has not enough address space to map size bytes.
func spaceFor(size int) error {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_AS, &limit); err != nil || limit.Cur == math.MaxUint64 {
		return nil
	}
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return nil
	}
	pages, _, _ := strings.Cut(string(text), " ")
	used, err := strconv.ParseUint(pages, 10, 64)
	if err == nil && used*uint64(os.Getpagesize())+uint64(size)+spareSpace > limit.Cur {
		return fmt.Errorf("map %d bytes: limit of address space: %w", size, syscall.ENOMEM)
	}
	return nil
}

func (m *sharedMemory) readAt(p []byte, offset uint64) int {
	if m.file == nil {
		return 0
	}
	n, _ := m.file.ReadAt(p, int64(offset)) // short is beyond the end
	return n
}

// adopted is called once the file is a recorder's.
func (m *sharedMemory) adopted() {
	m.inUse, m.maps = true, nil
	dumpSharedMappings()
}

// discard gives up a file that no recorder uses, and its space. Whatever goes wrong here is less
// important than the reason for giving up.
func (m *sharedMemory) discard() {
	for _, b := range m.maps {
		unguard(b)
		_ = syscall.Munmap(b)
	}
	_ = m.remove()
}

func (m *sharedMemory) lost() *loss {
	var st syscall.Stat_t
	switch {
	case m.file == nil:
		return nil
	case m.isCut():
		return lossByCut
	case syscall.Fstat(int(m.file.Fd()), &st) == nil && st.Nlink == 0:
		return lossOfName
	}
	return nil
}

func (m *sharedMemory) remove() error {
	if m.file == nil {
		return nil
	}
	err := unlinkat(int(m.dir.Fd()), m.name)
	if err == syscall.ENOENT { // somebody cleaned up
		err = nil
	}
	if err != nil {
		err = &os.PathError{Op: "remove", Path: m.file.Name(), Err: err}
	}
	err = errors.Join(err, m.file.Close(), m.dir.Close())
	m.file, m.dir = nil, nil
	return err
}

func unlinkat(dir int, name string) error { return syscall.Unlinkat(dir, name) }

// noSpace reports whether err may go away if less is asked for.
func noSpace(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.ENOMEM) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, syscall.EFBIG)
}

// dumpSharedMappings makes the kernel put file mappings into core dumps. Best effort: a core
// without them is completed by the file itself.
func dumpSharedMappings() {
	const path, shared = "/proc/self/coredump_filter", 1 << 3
	text, err := os.ReadFile(path)
	if err != nil {
		return
	}
	filter, err := strconv.ParseUint(trimSpace(text), 16, 32)
	if err != nil || filter&shared != 0 {
		return
	}
	_ = os.WriteFile(path, []byte("0x"+strconv.FormatUint(filter|shared, 16)), 0)
}
