package coro

import (
	"iter"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"unsafe"
)

// A layout tells where a runtime.g keeps what a [Lookout] reads of other goroutines: byte offsets, and 0 for what was not found.
type layout struct {
	status uintptr // 32 bits
	bp     uintptr // the saved frame pointer of a goroutine that does not run
	start  uintptr // the entry of the goroutine's first function
}

// The states of a goroutine that count here, as runtime2.go numbers them since Go 1.4.
const (
	goRunnable  = 1
	goRunning   = 2
	goSyscall   = 3
	goWaiting   = 4
	goDead      = 6
	goPreempted = 9
	goScan      = 0x1000 // added while the garbage collector looks at it, and perhaps moves its stack
)

// A Doing is what another goroutine was doing when [Lookout.Look] looked.
type Doing uint8

// What a goroutine may be doing.
const (
	DoingUnknown Doing = iota
	DoingWork          // it runs
	DoingReady         // it could run, but has no processor
	DoingSyscall       // it is in a system call
	DoingWait          // it waits in a Go operation: a channel, a mutex, a timer
)

// A Lookout looks at other goroutines.
type Lookout struct {
	at  layout
	end uintptr // the return address of every goroutine's first function
}

// SharedLookout returns the one lookout of the process, made when it is first asked for.
var SharedLookout = sync.OnceValue(NewLookout)

// Look looks at another goroutine, given its g ([G]), without stopping it, and stores the program counters of its stack, innermost first, if
// it waits or is in a system call. What it stores was true at one moment: a goroutine that goes on meanwhile is [DoingReady], [DoingWork], or
// [DoingUnknown]. It costs a fraction of a microsecond. On architectures without frame pointers and on Go
// releases that have moved what it reads it knows nothing.
//
// A g is never freed, and the memory of a stack unmapped on few systems, if at all, where [DoingUnknown] comes of it; so looking at a goroutine that ends
// meanwhile does no harm.
func (l *Lookout) Look(g uintptr, pcs []uintptr) (n int, what Doing) {
	if !l.Sees() || g == 0 {
		return 0, DoingUnknown
	}
	s := l.status(g)
	switch s {
	case goWaiting:
		what = DoingWait
	case goSyscall:
		what = DoingSyscall
	case goWaiting | goScan, goSyscall | goScan:
		return 0, DoingUnknown
	case goRunnable, goRunnable | goScan:
		return 0, DoingReady
	default:
		return 0, DoingWork
	}
	n, ok := l.stillThere(g, s, pcs)
	if !ok && what == DoingWait {
		what = DoingUnknown
	}
	return n, what
}

// Sees reports whether the lookout can see anything here.
func (l *Lookout) Sees() bool { return l.at.status != 0 }

// NewLookout finds out where this Go release keeps what has to be read.
//
// It suspends a coroutine of its own, and searches its g for the frame pointer from which the frames lead to the
// suspended function, for the state that is "waiting" there and "running" here, and for the entry of the outermost function. If there
// is not exactly one of each the lookout sees nothing; TestLookout fails on such a release.
func NewLookout() *Lookout {
	l := &Lookout{}
	if !gIsAddress {
		return l
	}
	var g uintptr
	next, stop := iter.Pull(func(yield func(struct{}) bool) { suspendToBeSeen(&g, yield) })
	defer stop()
	next()
	if at, end, ok := search(g); ok {
		l.at, l.end = at, end
	}
	return l
}

//go:noinline
func suspendToBeSeen(g *uintptr, yield func(struct{}) bool) {
	*g = getg()
	yield(struct{}{})
}

func search(g uintptr) (at layout, end uintptr, ok bool) {
	lo, hi, self := peek(g), peek(g+8), getg()
	frames, states, starts := 0, 0, 0
	var buf [32]uintptr
	var pcs []uintptr
	// Before are the bounds of the stack and its guards. Those point into it, to where others may have left what looks as frames.
	for i := uintptr(4); i < gWords; i++ {
		off := i * unsafe.Sizeof(g)
		if v := peek(g + off); v >= lo && v < hi {
			if n := walk(v, lo, hi, buf[:]); leadsTo(buf[:n], ".suspendToBeSeen") {
				at.bp, pcs = off, slices.Clone(buf[:n]) // the next walk writes into buf
				frames++
			}
		}
		for half := off; half < off+8; half += 4 {
			if peek32(g+half) == goWaiting && peek32(self+half) == goRunning {
				at.status = half
				states++
			}
		}
	}
	if frames != 1 || states != 1 || len(pcs) < 2 || len(pcs) == len(buf) {
		return layout{}, 0, false
	}
	end = pcs[len(pcs)-1]
	outermost := runtime.FuncForPC(pcs[len(pcs)-2] - 1)
	if outermost == nil {
		return layout{}, 0, false
	}
	first := outermost.Entry()
	for i := uintptr(2); i < gWords; i++ {
		if off := i * unsafe.Sizeof(g); peek(g+off) == first {
			at.start = off
			starts++
		}
	}
	return at, end, starts == 1
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

func (l *Lookout) status(g uintptr) uint32 { return peek32(g + l.at.status) }

// stillThere is still, but false where the memory is gone.
func (l *Lookout) stillThere(g uintptr, s uint32, pcs []uintptr) (n int, ok bool) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if recover() != nil {
			n, ok = 0, false
		}
	}()
	return l.still(g, s, pcs)
}

// still walks the frames of a goroutine that does not run and is in state s. It returns false if that was not so all the time, or the
// frames do not lead to the goroutine's beginning.
func (l *Lookout) still(g uintptr, s uint32, pcs []uintptr) (n int, ok bool) {
	lo, hi, bp := peek(g), peek(g+8), peek(g+l.at.bp)
	n = walk(bp, lo, hi, pcs)
	if n > 0 && n < len(pcs) && pcs[n-1] != l.end {
		return 0, false
	}
	// It may have gone on and come to rest in the same place, deep below which it is elsewhere: two walks agree only if it has not.
	if !walks(bp, lo, hi, pcs[:n]) || l.status(g) != s || peek(g) != lo || peek(g+8) != hi || peek(g+l.at.bp) != bp {
		return 0, false
	}
	return n, true
}

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

// walks reports whether [walk] would give pcs.
//
//go:norace
func walks(bp, lo, hi uintptr, pcs []uintptr) bool {
	for i, pc := range pcs {
		if bp < lo || bp >= hi-8 || bp%8 != 0 || peek(bp+8) != pc {
			return false
		}
		if i < len(pcs)-1 {
			bp = peek(bp)
		}
	}
	return true
}

// peek reads a word of memory that is not ours to read: it may change at any time.
//
//go:norace
func peek(addr uintptr) uintptr { return **(**uintptr)(unsafe.Pointer(&addr)) }

//go:norace
func peek32(addr uintptr) uint32 { return **(**uint32)(unsafe.Pointer(&addr)) }
