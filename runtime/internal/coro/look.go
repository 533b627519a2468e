package coro

import (
	"runtime"
	"strings"
	"time"
	"unsafe"
)

// A layout tells where a runtime.g keeps what [Look] reads of other goroutines: byte offsets.
type layout struct {
	status uintptr // 32 bits
	bp     uintptr // the saved frame pointer of a goroutine that does not run
}

// The states of a goroutine that count here, as runtime2.go numbers them since Go 1.4.
const (
	goRunning = 2
	goSyscall = 3
	goWaiting = 4
	goScan    = 0x1000 // added while the garbage collector looks at it
)

// A Doing is what another goroutine was doing when [Look] looked.
type Doing uint8

// What a goroutine may be doing.
const (
	DoingUnknown Doing = iota
	DoingWork          // it runs, or could
	DoingSyscall       // it is in a system call; its frames are not known
	DoingWait          // it waits in a Go operation: a channel, a mutex, a timer
)

// Look looks at another goroutine, given its g ([G]), without stopping it, and stores the program counters of its stack, innermost first, if
// it waits. What it stores was true at one moment: a goroutine that goes on meanwhile is [DoingWork], or [DoingUnknown]. It costs a fraction of a
// microsecond. On architectures without frame pointers and on Go releases that have moved what it reads it
// knows nothing.
//
// A g is never freed, and the memory of a stack never unmapped, so looking at a goroutine that ends meanwhile does no harm.
func (l *Lookout) Look(g uintptr, pcs []uintptr) (n int, what Doing) {
	if l.at.status == 0 || g == 0 {
		return 0, DoingUnknown
	}
	switch status(g, l.at) {
	case goWaiting:
	case goSyscall:
		return 0, DoingSyscall
	default:
		return 0, DoingWork
	}
	lo, hi, bp := peek(g), peek(g+8), peek(g+l.at.bp)
	n = walk(bp, lo, hi, pcs)
	if status(g, l.at) != goWaiting || peek(g) != lo || peek(g+8) != hi || peek(g+l.at.bp) != bp {
		return 0, DoingUnknown
	}
	return n, DoingWait
}

// A Lookout looks at other goroutines.
type Lookout struct{ at layout }

// Sees reports whether the lookout can see anything here.
func (l *Lookout) Sees() bool { return l.at.status != 0 }

// NewLookout finds out where this Go release keeps what has to be read. It blocks for about a millisecond.
//
// It parks a goroutine of its own in a channel, and searches its g for the frame pointer from which the frames lead to the
// parked function, and for the state that is "waiting" there and "running" here. If there is not exactly one of each, or
// not on the first ten looks, the lookout sees nothing; TestLookout fails on such a release.
func NewLookout() *Lookout {
	l := &Lookout{}
	if !gIsAddress {
		return l
	}
	begun, end := make(chan uintptr), make(chan struct{})
	go parkToBeSeen(begun, end)
	g := <-begun
	for range 10 {
		time.Sleep(100 * time.Microsecond)
		if at, ok := search(g); ok {
			l.at = at
			break
		}
	}
	close(end)
	return l
}

//go:noinline
func parkToBeSeen(begun chan<- uintptr, end <-chan struct{}) {
	begun <- getg()
	<-end
}

func search(g uintptr) (at layout, ok bool) {
	lo, hi, self := peek(g), peek(g+8), getg()
	frames, states := 0, 0
	var pcs [16]uintptr
	for i := uintptr(2); i < gWords; i++ {
		off := i * unsafe.Sizeof(g)
		if v := peek(g + off); v >= lo && v < hi && leadsTo(pcs[:walk(v, lo, hi, pcs[:])], ".parkToBeSeen") {
			at.bp = off
			frames++
		}
		for half := off; half < off+8; half += 4 {
			if peek32(g+half) == goWaiting && peek32(self+half) == goRunning {
				at.status = half
				states++
			}
		}
	}
	return at, frames == 1 && states == 1
}

// leadsTo reports whether all addresses are in functions, and one is in that which is meant.
func leadsTo(pcs []uintptr, name string) (found bool) {
	for _, pc := range pcs {
		f := runtime.FuncForPC(pc - 1)
		if f == nil {
			return false
		}
		found = found || strings.HasSuffix(f.Name(), name)
	}
	return found
}

func status(g uintptr, at layout) uint32 { return peek32(g+at.status) &^ goScan }

// walk follows the frame pointers from bp within the stack.
//
//go:norace
func walk(bp, lo, hi uintptr, pcs []uintptr) (n int) {
	for n < len(pcs) && bp >= lo && bp < hi-8 && bp%8 == 0 {
		pc := peek(bp + 8)
		if pc == 0 {
			break
		}
		pcs[n] = pc
		n++
		next := peek(bp)
		if next <= bp {
			break
		}
		bp = next
	}
	return n
}

// peek reads a word of memory that is not ours to read: it may change at any time.
//
//go:norace
func peek(addr uintptr) uintptr { return **(**uintptr)(unsafe.Pointer(&addr)) }

//go:norace
func peek32(addr uintptr) uint32 { return **(**uint32)(unsafe.Pointer(&addr)) }
