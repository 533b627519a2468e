//go:build unix

package durable

import (
	"os"

	"golang.org/x/sys/unix"

	"github.com/vtscope/vtscope/internal/plainfile"
)

// lockFile returns the file, locked until it is closed or the process ends.
func lockFile(path string) (*os.File, error) {
	f, err := plainfile.OpenFile(path, os.O_RDWR|os.O_CREATE)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		f.Close()
		if err == unix.EWOULDBLOCK {
			return nil, ErrInUse
		}
		return nil, os.NewSyscallError("flock", err)
	}
	return f, nil
}

// stillNamed reports an error if no folder has the file any more: what is written there is gone with the process.
func stillNamed(f *os.File) error {
	var s unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &s); err != nil {
		return os.NewSyscallError("fstat", err)
	}
	if s.Nlink == 0 {
		return &os.PathError{Op: "write", Path: f.Name(), Err: os.ErrNotExist}
	}
	return nil
}

const foldersSync = true
