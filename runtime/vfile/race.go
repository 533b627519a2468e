//go:build race

package vfile

import (
	"runtime"
	"unsafe"
)

// The race detector does not see what the kernel reads and writes for a ring: it is told. As with system calls, what is read from files happens after what was written.

var raceOfAll byte

func raceBefore(code uint8, b []byte) {
	if code == opWrite && len(b) > 0 {
		runtime.RaceReleaseMerge(unsafe.Pointer(&raceOfAll))
		runtime.RaceReadRange(unsafe.Pointer(unsafe.SliceData(b)), len(b))
	}
}

func raceAfter(code uint8, b []byte) {
	if code == opRead && len(b) > 0 {
		runtime.RaceWriteRange(unsafe.Pointer(unsafe.SliceData(b)), len(b))
		runtime.RaceAcquire(unsafe.Pointer(&raceOfAll))
	}
}
