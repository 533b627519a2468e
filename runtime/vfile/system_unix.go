//go:build unix

package vfile

import (
	"io"
	"io/fs"
	"os"
	"runtime"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/vtscope/vtscope/runtime/internal/poll"
)

// classify tells how f is waited for, and whether it is written at its end only.
func classify(f *os.File, raw syscall.RawConn) (s sort, appends bool) {
	var st unix.Stat_t
	var err error
	var flags int
	_ = raw.Control(func(fd uintptr) { // a closed one is nothing that is waited for
		if err = unix.Fstat(int(fd), &st); err == nil {
			flags, err = unix.FcntlInt(fd, unix.F_GETFL, 0)
		}
	})
	if err != nil {
		return onDisk, false
	}
	appends = flags&unix.O_APPEND != 0
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFREG, unix.S_IFDIR, unix.S_IFBLK:
		return onDisk, appends
	case unix.S_IFIFO, unix.S_IFSOCK:
		// On macOS the queue does not tell of a FIFO that its other side was closed: golang.org/issue/24164.
		if poll.Polls && (runtime.GOOS != "darwin" || f.Name() == "|0" || f.Name() == "|1") {
			return polled, appends
		}
		return awaited, appends
	}
	if !isTerminal(raw) { // a device: it can be polled if package os can
		if f.SetDeadline(time.Time{}) != nil {
			return streamed, appends
		}
	}
	if runtime.GOOS == "linux" {
		return polled, appends
	}
	return awaited, appends
}

// blocking reports whether a descriptor blocks.
func blocking(raw syscall.RawConn) (blocks bool) {
	_ = raw.Control(func(fd uintptr) {
		flags, err := unix.FcntlInt(fd, unix.F_GETFL, 0)
		blocks = err != nil || flags&unix.O_NONBLOCK == 0
	})
	return blocks
}

// atomicWrite is how much a pipe that is ready takes without blocking, on every system.
const atomicWrite = 512

// once reads or writes once, without waiting. A descriptor that blocks is asked first.
func once(fd int, dir poll.Direction, b []byte, blocks bool) (n int, err error) {
	if blocks {
		p := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
		if dir == poll.Writing {
			p[0].Events = unix.POLLOUT
			b = b[:min(len(b), atomicWrite)]
		}
		if n, err := unix.Poll(p, 0); err != nil {
			return 0, err
		} else if n == 0 {
			return 0, syscall.EAGAIN
		}
	}
	if dir == poll.Writing {
		n, err = unix.Write(fd, b)
	} else if n, err = unix.Read(fd, b); n == 0 && err == nil {
		err = io.EOF
	}
	return max(n, 0), err
}

// fileOf makes a file of package os of a descriptor, which OpenFile of that package would not block in where it can be polled.
func fileOf(fd int, name string) *os.File {
	var st unix.Stat_t
	switch unix.Fstat(fd, &st); st.Mode & unix.S_IFMT {
	case unix.S_IFIFO, unix.S_IFSOCK, unix.S_IFCHR:
		was, err := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0)
		if err != nil || was&unix.O_NONBLOCK != 0 || unix.SetNonblock(fd, true) != nil {
			break
		}
		f := os.NewFile(uintptr(fd), name)
		if f.SetDeadline(time.Time{}) != nil { // it cannot
			_ = unix.SetNonblock(fd, false) // as it was
		}
		return f
	}
	return os.NewFile(uintptr(fd), name)
}

// releaseFIFO lets who waits for the other side of a FIFO go on.
func releaseFIFO(name string) {
	info, err := os.Stat(name)
	if err != nil || info.Mode()&fs.ModeNamedPipe == 0 {
		return
	}
	for _, flag := range []int{unix.O_WRONLY, unix.O_RDONLY} {
		if fd, err := unix.Open(name, flag|unix.O_NONBLOCK|unix.O_CLOEXEC, 0); err == nil {
			unix.Close(fd)
		}
	}
}
