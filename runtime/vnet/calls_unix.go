//go:build unix

package vnet

import (
	"io"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// largest is the most that is read or written by a call: more is refused on some systems.
const largest = 1 << 30

// readFD reads once. At the end of what there is it returns [io.EOF].
func readFD(fd int, b []byte) (int, error) {
	call := unix.Read
	if 0 < len(b) && len(b) <= brief {
		call = briefRead
	}
	n, err := call(fd, b[:min(len(b), largest)])
	if err != nil {
		return 0, err
	}
	if n == 0 && len(b) > 0 {
		return 0, io.EOF
	}
	return n, nil
}

// writeFD writes once.
func writeFD(fd int, b []byte) (int, error) {
	call := unix.Write
	if 0 < len(b) && len(b) <= brief {
		call = briefWrite
	}
	n, err := call(fd, b[:min(len(b), largest)])
	if err != nil {
		return 0, err
	}
	if n == 0 && len(b) > 0 {
		return 0, io.ErrUnexpectedEOF
	}
	return n, nil
}

// readable fails with EAGAIN unless a descriptor is ready to be read, or has failed.
func readable(fd int) (int, error) {
	fds := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
	n, err := unix.Poll(fds, 0)
	if err == nil && n == 0 {
		err = syscall.EAGAIN
	}
	return n, err
}

func isDescriptorsExhausted(err error) bool {
	se, ok := err.(*os.SyscallError)
	return ok && (se.Err == syscall.EMFILE || se.Err == syscall.ENFILE)
}
