//go:build (amd64 || arm64) && !race && !msan && !asan

package vnet

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// brief is the most that is moved by a call that Go's scheduler is not told of: some microseconds, in which a processor cannot be taken away.
const brief = 16 << 10

// briefRead reads once from a socket, which need not be non-blocking.
func briefRead(fd int, b []byte) (int, error) {
	n, _, e := syscall.RawSyscall6(unix.SYS_RECVFROM, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(b))), uintptr(len(b)), unix.MSG_DONTWAIT, 0, 0)
	return result(n, e)
}

// briefWrite writes once to a socket.
func briefWrite(fd int, b []byte) (int, error) {
	n, _, e := syscall.RawSyscall6(unix.SYS_SENDTO, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(b))), uintptr(len(b)), unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL, 0, 0)
	return result(n, e)
}

// result returns the errors that are usual without an allocation.
func result(n uintptr, e syscall.Errno) (int, error) {
	switch e {
	case 0:
		return int(n), nil
	case unix.EAGAIN:
		return 0, errAgain
	}
	return 0, e
}

var errAgain error = unix.EAGAIN
