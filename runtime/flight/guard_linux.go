//go:build amd64 || arm64

package flight

import (
	"sync"
	"sync/atomic"
	"syscall"
	"unsafe"
)

// A flight file can be truncated by anybody who may write to it: its user, root, a cleaner. The next access to a page that is gone raises SIGBUS, which ends a
// Go program. busHandler stands before Go's handler. It maps private memory over the lost end of a guarded range and lets the access happen again. All other signals
// go on to Go's handler. So the accesses themselves, which are on the hottest paths, need no check.
//
//	B1  busHandler executes on whatever thread and stack was interrupted. It touches no g, calls nothing, and reads the five variables below alone.
//	B2  A range is guarded before its first access, and no longer before it is unmapped: its addresses may then be somebody else's.
//	B3  guardRanges never shrinks and its arrays are never freed: a handler may be reading an older one.
//	B4  guardCount is stored after the range that it counts, and loaded before guardRanges.
//
// It relies on this: Go's runtime installs its handler for SIGBUS once, at the start, and os/signal cannot change it. C code may, and then B's are void. docs/decisions/0016
// has the other ways that there are.
var (
	guardRanges *guardedRange // the first of an array
	guardCount  uint64
	//lint:ignore U1000 assembly reads it
	guardNext uintptr // Go's handler
	//lint:ignore U1000 assembly reads it
	guardMask uintptr // clears the offset in a page
	guardHits uint64  // how often memory was replaced
)

// A guardedRange is empty when from and to are 0.
type guardedRange struct{ from, to uintptr }

var guards struct {
	sync.Mutex
	tried  bool
	arrays [][]guardedRange // all there were; the last is in use
}

// busHandler is a signal handler of the C ABI: only the kernel calls it.
//
//lint:ignore U1000 assembly takes its address
func busHandler()

// busHandlerAddress returns where it begins.
func busHandlerAddress() uintptr

// A kernelAction is what rt_sigaction takes.
type kernelAction struct{ handler, flags, restorer, mask uintptr }

const (
	needFlags   = 0x4 | 0x08000000 // SA_SIGINFO, SA_ONSTACK
	sigsetBytes = 8
)

// installGuard puts busHandler before the handler that is there. Without one, as in a program whose signals C code handles, nothing changes.
func installGuard() {
	var a kernelAction
	if sigaction(nil, &a) != 0 || a.handler <= 1 || a.flags&needFlags != needFlags {
		return
	}
	guardMask = ^uintptr(syscall.Getpagesize() - 1)
	guardNext = a.handler
	a.handler = busHandlerAddress()
	sigaction(&a, nil)
}

func sigaction(to, from *kernelAction) syscall.Errno {
	_, _, e := syscall.RawSyscall6(syscall.SYS_RT_SIGACTION, uintptr(syscall.SIGBUS), uintptr(unsafe.Pointer(to)), uintptr(unsafe.Pointer(from)), sigsetBytes, 0, 0)
	return e
}

// guard lets the process live on when the file under b is cut.
func guard(b []byte) {
	g := &guards
	g.Lock()
	defer g.Unlock()
	if !g.tried {
		g.tried = true
		installGuard()
	}
	from := uintptr(unsafe.Pointer(&b[0]))
	one := guardedRange{from, from + uintptr(len(b))}
	var all []guardedRange
	if n := len(g.arrays); n > 0 {
		all = g.arrays[n-1]
	}
	for i := range all {
		if all[i] == (guardedRange{}) {
			all[i].from = ^uintptr(0) // no address is in it while it is half written
			atomic.StoreUintptr(&all[i].to, one.to)
			atomic.StoreUintptr(&all[i].from, one.from)
			return
		}
	}
	grown := append(all, one)
	if cap(grown) != cap(all) {
		g.arrays = append(g.arrays, grown)
		atomic.StorePointer((*unsafe.Pointer)(unsafe.Pointer(&guardRanges)), unsafe.Pointer(&grown[0]))
	} else {
		g.arrays[len(g.arrays)-1] = grown
	}
	atomic.StoreUint64(&guardCount, uint64(len(grown)))
}

// unguard is called before b is unmapped.
func unguard(b []byte) {
	g := &guards
	g.Lock()
	defer g.Unlock()
	from := uintptr(unsafe.Pointer(&b[0]))
	all := g.arrays[len(g.arrays)-1]
	for i := range all {
		if all[i].from == from {
			atomic.StoreUintptr(&all[i].to, 0)
			atomic.StoreUintptr(&all[i].from, 0)
		}
	}
}
