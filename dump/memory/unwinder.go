package memory

import "encoding/binary"

// registers are those of an OS thread that unwinding needs.
type registers struct {
	pc, sp, bp, lr uint64
	arm            bool // arm64: return addresses lie where amd64 has none
}

// An unwinder finds the calls of a stack.
type unwinder struct {
	space  space
	stacks *stackTable
	pcs    []uint64
	more   [stackTop]byte
	sizes  map[uint64]frameSize // by address
}

// A frameSize is what the compiler says of a function at an address.
type frameSize struct {
	size     int32 // -1: not known
	preempts bool  // it was not called there, but put in the way
}

// follow appends return addresses to pcs from the frame pointer bp on. It is false if they do not lead to where goroutines begin.
func (w *unwinder) follow(pcs []uint64, top *span, sp, hi, bp uint64) ([]uint64, bool) {
	var (
		le   = binary.LittleEndian
		have = top.to[:top.n]
		from = top.address
	)
	for last := sp - 1; bp != 0; {
		if bp <= last || bp > hi-16 || bp%8 != 0 {
			return pcs, false
		}
		if bp-from+16 > uint64(len(have)) {
			n := w.space.ReadMemory(w.more[:min(stackTop, hi-bp)], bp)
			if have, from = w.more[:n], bp; n < 16 {
				return pcs, false
			}
		}
		pcs = append(pcs, le.Uint64(have[bp-from+8:]))
		if len(pcs) >= maxDepth {
			return pcs, true
		}
		last, bp = bp, le.Uint64(have[bp-from:])
	}
	return pcs, w.stacks.begins(pcs[len(pcs)-1])
}

// byTables appends return addresses to pcs from any instruction on, by what the compiler says of the sizes of frames: at the beginning and the end of a
// function, and in one that calls none, frame pointers do not lead to its caller. r.pc is behind the instruction, as a return address is. top is what was read of
// the stack. It is false if they do not lead to where goroutines begin.
func (w *unwinder) byTables(pcs []uint64, r registers, stack area, top *span) ([]uint64, bool) {
	for first := true; len(pcs) < maxDepth; first = false {
		pcs = append(pcs, r.pc)
		if w.stacks.begins(r.pc) {
			return pcs, true
		}
		f := w.frameAt(r.pc)
		if f.size < 0 || !stack.has(r.sp) {
			return pcs, false
		}
		ok := true
		if r.arm {
			at := r.sp
			r.sp += uint64(f.size)
			if r.pc = r.lr; f.size > 0 || !first {
				r.pc, ok = w.word(at, top)
			}
		} else {
			r.pc, ok = w.word(r.sp+uint64(f.size), top)
			r.sp += uint64(f.size) + 8
		}
		if !ok {
			return pcs, false
		}
		if f.preempts {
			r.pc++ // this one has not called
		}
	}
	return pcs, true
}

// interrupted returns the registers that an OS thread had when a signal came that it handles, which is how Go programs crash; false if it handles none. The
// kernel has put them on the stack of the handler, above the function that it calls.
func (w *unwinder) interrupted(r registers) (registers, bool) {
	const (
		most = 64 // frames of a handler
		bp   = 120
		sp   = 160
		pc   = 168
	)
	if r.arm {
		return r, false
	}
	r.pc++ // it has not called
	for range most {
		f, ok := w.stacks.module.find(r.pc - 1)
		size := w.frameAt(r.pc).size
		if !ok || size < 0 {
			return r, false
		}
		r.pc, ok = word(w.space, r.sp+uint64(size))
		r.sp += uint64(size) + 8
		switch w.stacks.module.nameAt(f.name) {
		case "runtime.sigtramp", "runtime.cgoSigtramp": // the kernel has called it
			var context [pc + 8]byte
			n := w.space.ReadMemory(context[:], r.sp)
			le := binary.LittleEndian
			return registers{pc: le.Uint64(context[pc:]), sp: le.Uint64(context[sp:]), bp: le.Uint64(context[bp:])}, n == len(context)
		}
		if !ok {
			return r, false
		}
	}
	return r, false
}

// frameAt returns the size of the frame of an address.
func (w *unwinder) frameAt(pc uint64) frameSize {
	known, ok := w.sizes[pc]
	if ok {
		return known
	}
	known.size = -1
	if f, ok := w.stacks.module.find(pc - 1); ok {
		if size, ok := w.stacks.module.value(f.pcsp, f, pc-1); ok {
			known = frameSize{size, w.stacks.module.nameAt(f.name) == "runtime.asyncPreempt"}
		}
	}
	if w.sizes == nil || len(w.sizes) == 1<<16 {
		w.sizes = map[uint64]frameSize{}
	}
	w.sizes[pc] = known
	return known
}

// word reads a word of a stack.
func (w *unwinder) word(address uint64, top *span) (uint64, bool) {
	if at := address - top.address; address >= top.address && at+8 <= uint64(top.n) {
		return binary.LittleEndian.Uint64(top.to[at:]), true
	}
	return word(w.space, address)
}
