package flight

import (
	"runtime"
	"sync/atomic"
	"unsafe"
)

// amd64 keeps the order of one processor's stores, so plain stores publish to readers in other
// processes. Only the compiler could still drop or move them: it removes a store that a later one
// to the same address covers unless something in between may read memory, and KeepAlive is, to it,
// such a thing. It costs no instruction. TestVersionIsOddWhileARecordChanges fails without it.

func put32(p *uint32, v uint32) { *p = v }
func put64(p *uint64, v uint64) { *p = v }

// beginWrite makes the version odd and returns the even one that [endWrite] stores.
func beginWrite(ver *uint32) uint32 {
	v := *ver
	*ver = v | 1
	runtime.KeepAlive(unsafe.Pointer(ver))
	return (v | 1) + 1
}

func endWrite(ver *uint32, v uint32) {
	*ver = v
	runtime.KeepAlive(unsafe.Pointer(ver))
}

func get64(p *uint64) uint64 { return atomic.LoadUint64(p) }
