package coro

import (
	"runtime"
	"sync"
	"sync/atomic"
	"unsafe"
)

// Undeferred reports whether none of the functions between the caller and the function with the entry outer, which both may have any, has a defer
// statement: so that nothing but outer can recover a panic of the caller's. It says no where it cannot tell, or would have
// to look at very many.
//
//go:noinline
func Undeferred(outer uintptr) bool {
	if !gIsAddress || !tellsDefers() {
		return false
	}
	g := getg()
	lo, hi := peek(g), peek(g+8)
	end := ends.Load()
	bp := nextFrame(getfp(), lo, hi) // ours returns to the caller, the caller's to the first that counts
	for range maxUndeferred {
		if bp == 0 {
			break
		}
		pc := peek(bp + 8)
		is := end != nil && *end == call{outer, pc}
		seen := &undeferred[pc/4%uintptr(len(undeferred))]
		if !is && seen.Load() != pc {
			f := function(pc)
			switch {
			case f == nil:
				return false
			case f.Entry() == outer:
				ends.Store(&call{outer, pc})
				is = true
			case defers(f):
				return false
			default:
				seen.Store(pc)
			}
		}
		if is {
			// Else the stack was moved meanwhile, and what was seen is nonsense.
			return peek(g) == lo && peek(g+8) == hi
		}
		bp = nextFrame(bp, lo, hi)
	}
	return false
}

const maxUndeferred = 64

// nextFrame returns the frame pointer of the caller's frame, 0 if there is none.
func nextFrame(bp, lo, hi uintptr) uintptr {
	if bp < lo || bp >= hi-8 || bp%8 != 0 {
		return 0
	}
	if next := peek(bp); next > bp && next < hi-8 && next%8 == 0 {
		return next
	}
	return 0
}

// ends is the latest call that a look ended at.
var ends atomic.Pointer[call]

type call struct{ function, pc uintptr }

// undeferred are return addresses in functions without defer statements.
var undeferred [1024]atomic.Uintptr

// deferReturn is the offset in a function's description in the program's text, which a runtime.Func is, of the 32 bits that tell where the function
// executes what it has deferred when it returns: 0 if it has no defer statement.
const deferReturn = 12

func defers(f *runtime.Func) bool {
	words := unsafe.Pointer(f)
	if *(*uint32)(words) == ^uint32(0) {
		return true // it describes an inlined call instead
	}
	return *(*uint32)(unsafe.Add(words, deferReturn)) != 0
}

// tellsDefers reports whether defers is right about some functions of ours. If it is not, after a Go release has moved what it
// reads, TestDefersAreTold fails, and continuation.Invoke is slower.
var tellsDefers = sync.OnceValue(func() bool {
	entries := func(fs ...func(int) int) (right []bool) {
		for _, f := range fs {
			right = append(right, defers(runtime.FuncForPC(**(**uintptr)(unsafe.Pointer(&f)))))
		}
		return right
	}
	for _, has := range entries(deferOne, deferInLoop, deferMaybe) {
		if !has {
			return false
		}
	}
	for _, has := range entries(deferNothing, deferElsewhere, deferNeither) {
		if has {
			return false
		}
	}
	return true
})

//go:noinline
func deferOne(n int) (r int) {
	defer func() { r = n }()
	return 0
}

//go:noinline
func deferInLoop(n int) (r int) {
	for range n {
		defer func() { r++ }()
	}
	return 0
}

//go:noinline
func deferMaybe(n int) (r int) {
	if n > 0 {
		defer deferNothing(n)
	}
	return deferNothing(n)
}

//go:noinline
func deferNothing(n int) int { return n }

//go:noinline
func deferElsewhere(n int) int { return deferOne(n) + deferMaybe(n) }

//go:noinline
func deferNeither(n int) (sum int) {
	var big [200]int
	for i := range big {
		big[i] = deferNothing(i)
		sum += big[i*n%len(big)]
	}
	return sum
}
