package vfile

import (
	"syscall"

	"golang.org/x/sys/unix"
)

func isTerminal(raw syscall.RawConn) (is bool) {
	_ = raw.Control(func(fd uintptr) {
		_, err := unix.IoctlGetTermios(int(fd), unix.TCGETS)
		is = err == nil
	})
	return is
}
