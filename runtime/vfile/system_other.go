//go:build !unix

package vfile

import (
	"os"
	"syscall"

	"github.com/vtscope/vtscope/runtime/internal/poll"
)

// classify tells how f is waited for.
func classify(f *os.File, _ syscall.RawConn) (s sort, appends bool) {
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() && !info.IsDir() {
		return awaited, false
	}
	return onDisk, false // package os knows itself whether it appends
}

// Without pollers nothing is tried: see [awaited].

func blocking(syscall.RawConn) bool                       { return true }
func once(int, poll.Direction, []byte, bool) (int, error) { return 0, syscall.EINVAL }
func fileOf(fd int, name string) *os.File                 { return os.NewFile(uintptr(fd), name) }
func releaseFIFO(string)                                  {}
