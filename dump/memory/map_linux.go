package memory

import (
	"os"
	"syscall"
)

// mapFile maps a file to read it, and is nil if that cannot be done.
func mapFile(f *os.File, size int64) []byte {
	if size <= 0 || int64(int(size)) != size {
		return nil
	}
	b, err := syscall.Mmap(int(f.Fd()), 0, int(size), syscall.PROT_READ, syscall.MAP_SHARED)
	if err != nil {
		return nil
	}
	return b
}

func unmap(b []byte) error { return syscall.Munmap(b) }

// forget lets the kernel take back what it has mapped of the file, which else counts as ours.
func forget(b []byte) { _ = syscall.Madvise(b, syscall.MADV_DONTNEED) } // it is a hint
