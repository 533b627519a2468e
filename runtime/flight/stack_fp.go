//go:build amd64 || arm64

package flight

import "sync/atomic"

// hashFrames follows the frame pointers from its caller's frame to the goroutine's first, and sums
// up at most max return addresses, from 1 to 64, times [stackKeys]. n is their number; max+1 if there are more.
// The innermost return address is the one of its caller, not its own. It stays within the
// goroutine's stack, so that code that uses the frame pointer for something else does no harm.
//
//go:noescape
func hashFrames(max int) (sum uint64, n int)

// copyFrames stores the addresses that hashFrames sums up, at most max, and returns their number.
//
//go:noescape
func copyFrames(to *uint64, max int) (n int)

// stackEnds are the return addresses at which walks end: what lies above is the same in every stack. They are
// stored once each, and read by the assembly.
var stackEnds [2]uint64

// EndStacks makes recorded stacks end with the function that calls it: its callers are the runtime's, the same for
// all threads, and cost as much on every walk as the frames that tell something. which is 0 or 1, for the two kinds of
// stacks there are. Calls after the first one for each are ignored. On architectures without frame pointers it does nothing.
//
//go:noinline
func EndStacks(which int) {
	var pcs [2]uint64
	if copyFrames(&pcs[0], 2) == 2 { // into our caller, and into its caller
		atomic.CompareAndSwapUint64(&stackEnds[which], 0, pcs[1])
	}
}

func isStackEnd(pc uint64) bool {
	return pc == atomic.LoadUint64(&stackEnds[0]) || pc == atomic.LoadUint64(&stackEnds[1])
}

// Stack interns the stack of its caller, without the skip innermost calls (inlined ones count), and
// returns its id: 0 when there is no room, or the settings want no stacks of parks. A stack met before costs some nanoseconds, takes no lock
// and allocates nothing; a new one is copied, and named by the recorder's goroutine. Frames beyond
// the innermost, 64 or as the settings say of parks, are cut off, and the stack marked.
//
// The two walks start from the same frame, hence the form of this function.
//
//go:noinline
func (r *Recorder) Stack(skip int) StackID {
	if r == nil {
		return 0
	}
	depth := int(r.gate.depth.Load())
	if depth == 0 {
		return 0
	}
	depth = min(depth+skip, maxStackDepth)
	sum, n := hashFrames(depth)
	truncated := n > depth
	if truncated {
		n = depth
	}
	h := finishHash(sum, n, truncated, skip)
	if id := r.stacks.lookup(h); id != 0 {
		return id
	}
	id := r.reserveStack(n)
	if id == 0 {
		return 0
	}
	copyFrames(&r.stacks.at(uint64(id)).pcs()[0], n)
	var flags uint64
	if truncated {
		flags = stackTruncated
	}
	return r.publishStack(id, h, n, flags, uint64(skip))
}
