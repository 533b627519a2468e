//go:build unix

package flight

import (
	"fmt"
	"syscall"
)

// anonymous maps size zeroed bytes outside the garbage collector's heap.
func anonymous(size int) ([]byte, error) {
	b, err := syscall.Mmap(-1, 0, size, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		return nil, fmt.Errorf("map %d bytes: %w", size, err)
	}
	return b, nil
}
