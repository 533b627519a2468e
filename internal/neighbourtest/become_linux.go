package neighbourtest

import (
	"errors"
	"os"
	"syscall"
)

var errNotRoot = errors.New("not root")

// become changes the user that the kernel asks about files and gives to new sockets, of this OS thread alone.
func become(uid int) error {
	if os.Geteuid() != 0 {
		return errNotRoot
	}
	if _, _, e := syscall.RawSyscall(syscall.SYS_SETFSUID, uintptr(uid), 0, 0); e != 0 {
		return e
	}
	_, _, e := syscall.RawSyscall(syscall.SYS_SETFSGID, uintptr(uid), 0, 0)
	if e != 0 {
		return e
	}
	return nil
}
