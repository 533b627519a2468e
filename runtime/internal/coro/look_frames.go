package coro

import (
	"runtime"
	"runtime/debug"
	"slices"
	"unsafe"
)

// Visible returns the calling goroutine's g if [Frames] can see its frames, or 0.
func Visible() uintptr {
	if !SharedLookout().Sees() {
		return 0
	}
	return G()
}

// Frames stores the program counters of a goroutine's stack, given its g ([G]), innermost first, as return addresses: what
// package runtime's CallersFrames takes. A goroutine that has ended, or has not begun, has none. Those beyond len(pcs)
// are left out, outermost first. The goroutine is not stopped, and may do what it likes meanwhile; Frames does not block.
//
// exact tells that these were the frames at one moment: of a goroutine that waits, is suspended in a [Slot], or is in a system call. Of one that
// runs, or could, nobody knows where its stack ends. What is stored then are the functions of its latest calls,
// outermost to innermost, which leave their traces: the outer ones are right, an inner one may have returned, and on a goroutine that
// executes one thing after the other it may be of an earlier thing: whoever knows where the present one
// begins should compare. A g is used again for another goroutine after the end of this one; the caller finds out whether it has ended.
func Frames(g uintptr, pcs []uintptr) (n int, exact bool) {
	l := SharedLookout()
	if !l.Sees() || g == 0 || len(pcs) == 0 {
		return 0, false
	}
	// A stack's memory is never unmapped, as long as Go's runtime is what it is. Should that change, this is a panic, not a crash.
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if recover() != nil {
			n, exact = 0, false
		}
	}()
	for range 3 {
		s := l.status(g)
		switch s {
		case goWaiting, goSyscall:
			if n, ok := l.still(g, s, pcs); ok {
				return n, true
			}
		case goRunnable, goPreempted:
			if n, ok := l.still(g, s, pcs); ok {
				return n, false
			}
		case goDead:
			return 0, false
		}
	}
	return l.moving(g, pcs), false
}

const (
	maxGap  = 64 << 10 // between the records of two frames; more is not searched
	maxScan = 8 << 20
)

// moving finds the frames of a goroutine that runs, by the traces its calls have left on its stack.
//
// Each call of a function leaves a record: the caller's frame pointer, which is the address of the caller's record, and
// the return address. The outermost one has a frame pointer of 0 and returns to the runtime. From there the next
// is searched inwards: the nearest whose frame pointer is the address of the last. A call that has returned leaves its record until another
// overwrites it, at the same place; so each level shows the function's latest call. Memory that was somebody else's stack before
// may hold records, too: hence the look at what was called ([callee]), and at the function that the goroutine began with.
//
//go:norace
func (l *Lookout) moving(g uintptr, pcs []uintptr) (n int) {
	lo, hi := peek(g), peek(g+8)
	if size := hi - lo; lo == 0 || size&(size-1) != 0 || peek(g) != lo || peek(g+8) != hi {
		return 0 // it is just being given another stack
	}
	last := uintptr(0)               // the record's address
	want, known := uintptr(0), false // the entry of the function whose frame comes next, if it is known
	stop := max(lo, hi-min(maxScan, hi-lo))
	for at, low := hi-16, hi-16-min(maxGap, hi-16-lo); at >= max(stop, low); at -= 8 {
		if peek(at) != last {
			continue
		}
		pc := peek(at + 8)
		if last == 0 {
			if pc != l.end {
				continue
			}
			want, known = peek(g+l.at.start), true
		} else {
			f := function(pc)
			if f == nil || known && f.Entry() != want {
				continue
			}
			want, known = callee(pc)
		}
		pcs[n%len(pcs)] = pc
		n++
		last, low = at, at-min(maxGap, at-lo)
	}
	if n > len(pcs) { // a ring, in which the newest comes before the oldest
		slices.Reverse(pcs[n%len(pcs):])
		n = n % len(pcs)
		slices.Reverse(pcs[:n])
		return len(pcs)
	}
	slices.Reverse(pcs[:n])
	return n
}

// function returns the function that a return address is in, inlined calls aside, or nil. The address may also be that at which Go has
// preempted the goroutine, which may be a function's first.
func function(pc uintptr) *runtime.Func {
	if f := runtime.FuncForPC(pc); f != nil && f.Entry() == pc {
		return f
	}
	f := runtime.FuncForPC(pc - 1)
	if f != nil {
		f = runtime.FuncForPC(f.Entry())
	}
	return f
}

// text returns n bytes of a function's code.
func text(addr uintptr, n int) []byte {
	return unsafe.Slice(*(**byte)(unsafe.Pointer(&addr)), n)
}
