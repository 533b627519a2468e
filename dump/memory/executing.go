package memory

import (
	"bytes"
	"encoding/binary"

	"github.com/vtscope/vtscope/runtime/flight"
)

// executing returns a function that reads the stack of a mounted thread, whose goroutine an OS thread executes. hold stops that one, if it is not
// stopped, returns its registers, and a function that lets it go on.
func (w *walker) executing(hold func(tid int) (r registers, release func(), ok bool)) func(k *flight.Look) bool {
	return func(k *flight.Look) bool {
		m, ok := word(w.space, k.G+uint64(w.layout.gM))
		if ok && m == 0 && w.stopped {
			w.preempted(k)
			return true
		}
		if !ok || m == 0 {
			return false // on its way
		}
		tid, ok := word(w.space, m+uint64(w.layout.mProcID))
		if !ok || tid == 0 || tid > 1<<31 {
			return false
		}
		r, release, ok := hold(int(tid))
		if !ok {
			return true // there is no more to see
		}
		defer release()
		w.executes(k, m, r)
		return true
	}
}

// executes sets the stack of the thread of k, if the OS thread m, which is stopped, executes it.
func (w *walker) executes(k *flight.Look, m uint64, r registers) {
	if now, ok := word(w.space, m+uint64(w.layout.mCurG)); !ok || now != k.G {
		return
	}
	g := make([]byte, w.layout.gSize)
	if w.space.ReadMemory(g, k.G) < len(g) || !bytes.Equal(g[w.layout.gSelf:w.layout.gSelf+8], binary.LittleEndian.AppendUint64(nil, k.G)) {
		return
	}
	le := binary.LittleEndian
	l := &w.layout
	lo, hi := le.Uint64(g[l.gStackLo:]), le.Uint64(g[l.gStackHi:])
	status := le.Uint32(g[l.gStatus:]) &^ statusScan
	stack := area{lo, hi}
	switch {
	case hi-lo > maxStack:
		return
	case status == statusSyscall:
		r = registers{pc: le.Uint64(g[l.gSyscallPC:]), sp: le.Uint64(g[l.gSyscallSP:]), bp: le.Uint64(g[l.gSyscBP:]), arm: r.arm}
		w.byPointers(k, r, stack)
		w.mark(k)
	case status != statusRunning:
		return
	case !stack.has(r.sp):
		if before, ok := w.interrupted(r); ok && stack.has(before.sp) {
			before.pc++
			w.fromTables(k, before, stack)
			return
		}
		// The OS thread is on its own stack, for the runtime or for a call of the kernel's: the goroutine's registers are put away.
		if at, ok := word(w.space, m+uint64(l.mVdsoSP)); ok && at != 0 {
			r.pc, _ = word(w.space, m+uint64(l.mVdsoSP)+8)
			r.sp = at
			w.fromTables(k, r, stack)
			return
		}
		r = registers{pc: le.Uint64(g[l.gPC:]), sp: le.Uint64(g[l.gSP:]), bp: le.Uint64(g[l.gBP:]), arm: r.arm}
		w.byPointers(k, r, stack)
	default:
		r.pc++ // it has not called: see module.frames
		w.fromTables(k, r, stack)
	}
}

// preempted sets the stack of the thread of k, whose goroutine waits for Go's scheduler while all is stopped.
func (w *walker) preempted(k *flight.Look) {
	g := make([]byte, w.layout.gSize)
	if w.space.ReadMemory(g, k.G) < len(g) {
		return
	}
	le := binary.LittleEndian
	l := &w.layout
	if le.Uint64(g[l.gSelf:]) != k.G || le.Uint32(g[l.gStatus:])&^statusScan != statusRunnable {
		return
	}
	w.byPointers(k, registers{pc: le.Uint64(g[l.gPC:]), sp: le.Uint64(g[l.gSP:]), bp: le.Uint64(g[l.gBP:])}, area{le.Uint64(g[l.gStackLo:]), le.Uint64(g[l.gStackHi:])})
}

// byPointers unwinds by frame pointers, from a place where the function's own is made.
func (w *walker) byPointers(k *flight.Look, r registers, stack area) {
	if !stack.has(r.sp) {
		return
	}
	pcs, ended := w.follow(append(w.pcs[:0], r.pc), &span{address: r.sp}, r.sp, stack.to, r.bp)
	if w.pcs = pcs; ended {
		k.Stack = w.stacks.intern(pcs, len(pcs) >= maxDepth)
	}
}

// fromTables is [unwinder.byTables] for an OS thread's registers.
func (w *walker) fromTables(k *flight.Look, r registers, stack area) {
	pcs, ended := w.byTables(w.pcs[:0], r, stack, &span{})
	if w.pcs = pcs; ended {
		k.Stack = w.stacks.intern(pcs, len(pcs) >= maxDepth)
	}
}
