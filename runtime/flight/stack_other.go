//go:build !amd64 && !arm64

package flight

import (
	"runtime"
	"sync/atomic"
)

// stackSample is how many calls of Stack share one walk here, where a walk takes close to a
// microsecond.
const stackSample = 16

var stackCalls atomic.Uint32

// Stack interns the stack of its caller, without the skip innermost calls, and returns its id. On
// this architecture it does so for one call in 16 and returns 0 for the others.
//
//go:noinline
func (r *Recorder) Stack(skip int) StackID {
	if r == nil || r.gate.depth.Load() == 0 || stackCalls.Add(1)%stackSample != 1 {
		return 0
	}
	var pcs [maxStackDepth + 1]uintptr
	n := runtime.Callers(2, pcs[:])
	depth := min(int(r.gate.depth.Load())+skip, maxStackDepth)
	truncated := n > depth
	n = min(n, depth)
	var flags uint64
	if truncated {
		flags = stackTruncated
	}
	sum := uint64(0)
	for i, pc := range pcs[:n] {
		sum += uint64(pc) * stackKeys[i]
	}
	h := finishHash(sum, n, truncated, skip)
	if id := r.stacks.lookup(h); id != 0 {
		return id
	}
	id := r.reserveStack(n)
	if id == 0 {
		return 0
	}
	to := r.stacks.at(uint64(id)).pcs()
	for i, pc := range pcs[:n] {
		to[i] = uint64(pc)
	}
	return r.publishStack(id, h, n, flags, uint64(skip))
}

// EndStacks does nothing here.
func EndStacks(int) {}

func isStackEnd(uint64) bool { return false }
