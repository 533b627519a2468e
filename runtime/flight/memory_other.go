//go:build !unix

package flight

import "unsafe"

// anonymous takes size zeroed bytes from the heap, aligned to a cache line.
func anonymous(size int) ([]byte, error) {
	const line = 64
	b := make([]byte, size+line)
	skip := -uintptr(unsafe.Pointer(&b[0])) % line
	return b[skip : skip+uintptr(size)], nil
}
