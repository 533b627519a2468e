package memory

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"slices"

	"github.com/vtscope/vtscope/runtime/flight"
)

// A walker reads the stacks of threads that wait, from the memory of a process that runs on meanwhile.
//
//	W1  A goroutine that waits is left alone by everybody but the garbage collector, which may move its stack.
//	W2  What was read counts if the goroutine waited before and after, at the same place of the same stack (status, sched, stack), has not run in between
//	    (trackingSeq), and the thread's record did not change meanwhile ([flight.Reader.LookAtThreads]).
//	W3  Frame pointers lead from frame to frame, always towards the stack's end, and to the function in which all goroutines begin. A stack
//	    for which that is not so is not one.
type walker struct {
	layout layout
	nested map[flight.StackID]bool // see stackTable.inContinuation

	unwinder
	order []int // of looks, by goroutine
	gs    neighbours
	tops  tops

	walked, unlike int // goroutines that wait, and of them those that are none by layout

	holds  map[flight.CarrierID]flight.Hold // what the recorder says of threads that block in operations of Go's own
	blocks map[flight.ThreadID]bool         // of mounted threads whose stack was read: they do not execute

	onGoroutines bool // the threads on goroutines alone are looked at

	stopped bool                      // the process is, or gone: nothing changes
	mounted func(k *flight.Look) bool // reads the stack of one that executes; nil: nobody does
}

const (
	maxStack = 1 << 30
	maxDepth = 4096 // frames
)

// suspended reports whether threads in a state have a stack that nobody executes.
func suspended(s flight.State) bool {
	switch s {
	case flight.StateRunnable, flight.StateParked, flight.StateTimedParked, flight.StateBlocked, flight.StateWaiting, flight.StatePinned:
		return true
	}
	return false
}

// look is for [flight.Reader.LookAtThreads].
func (w *walker) look(looks []flight.Look) {
	w.order = w.order[:0]
	for i := range looks {
		k := &looks[i]
		switch {
		case w.onGoroutines && !k.Row.OnGoroutine():
			k.Seen = true // nothing to see
		case k.G != 0 && (w.holdOf(k) != nil || k.Row.OnGoroutine()):
			w.order = append(w.order, i)
		case k.Row.State == flight.StateMounted && w.mounted != nil && k.G != 0:
			k.Seen = w.mounted(k)
		case k.G == 0 || !suspended(k.Row.State):
			k.Seen = true // nothing to see
		default:
			w.order = append(w.order, i)
		}
	}
	if len(w.order) == 0 {
		return
	}
	slices.SortFunc(w.order, func(a, b int) int { return cmp.Compare(looks[a].G, looks[b].G) })
	w.gs.size = w.layout.gSize
	w.gs.plan(len(w.order), func(i int) uint64 { return looks[w.order[i]].G })
	w.gs.read(w.space)
	w.tops.spans = w.tops.spans[:0]
	for i := range w.order {
		sp, hi, _ := w.bounds(w.gs.before(i))
		w.tops.plan(sp, hi)
	}
	w.tops.read(w.space)
	for i, at := range w.order {
		w.walk(&looks[at], i)
	}
	w.check(looks)
}

// holdOf returns what somebody saw of a thread that blocks in an operation of Go's own and cannot record it, or nil.
func (w *walker) holdOf(k *flight.Look) *flight.Hold {
	h, ok := w.holds[k.Row.Carrier]
	if !ok || h.Thread != k.Row.ID || h.Reason == flight.ReasonMonopoly || k.Row.State != flight.StateMounted || h.Since.Before(k.Row.Since) {
		return nil
	}
	return &h
}

// bounds returns the part of its stack that a goroutine uses, if it waits and looks like one.
func (w *walker) bounds(g []byte) (sp, hi uint64, ok bool) {
	if g == nil {
		return 0, 0, false
	}
	le := binary.LittleEndian
	l := &w.layout
	lo, hi, sp := le.Uint64(g[l.gStackLo:]), le.Uint64(g[l.gStackHi:]), le.Uint64(g[l.gSP:])
	if le.Uint32(g[l.gStatus:]) != statusWaiting || lo >= sp || sp >= hi || hi-lo > maxStack || sp%8 != 0 {
		return 0, 0, false
	}
	return sp, hi, true
}

// walk follows the frame pointers of a goroutine (W3), and sets Stack and Seen.
func (w *walker) walk(k *flight.Look, i int) {
	g := w.gs.before(i)
	sp, hi, ok := w.bounds(g)
	if !ok && k.Row.State == flight.StateMounted { // it executes, or is in a call of the kernel's
		k.Seen = w.mounted == nil || w.mounted(k)
		return
	}
	if !ok && w.stopped && w.mounted != nil {
		w.mounted(k) // it was about to wait, or to go on
		k.Seen = k.Stack != 0 || k.Row.State == flight.StatePinned
		return
	}
	if !ok {
		// A pinned thread may block in the kernel: then the stack that it has recorded is all there is, and will be.
		k.Seen = k.Row.State == flight.StatePinned
		return
	}
	w.walked++
	le := binary.LittleEndian
	if le.Uint64(g[w.layout.gSelf:]) != k.G {
		w.unlike++
		return
	}
	var ended bool
	w.pcs = append(w.pcs[:0], le.Uint64(g[w.layout.gPC:]))
	w.pcs, ended = w.follow(w.pcs, &w.tops.spans[i], sp, hi, le.Uint64(g[w.layout.gBP:]))
	if !ended {
		return
	}
	k.Stack, k.Seen = w.stacks.intern(w.pcs, len(w.pcs) >= maxDepth), true
	w.mark(k)
}

// mark notes that the stack of a mounted thread is that of one that blocks.
func (w *walker) mark(k *flight.Look) {
	if k.Row.State == flight.StateMounted && w.blocks != nil {
		w.blocks[k.Row.ID] = true
	}
}

// check reads the goroutines again, and takes back what was seen of those that have changed (W2).
func (w *walker) check(looks []flight.Look) {
	if w.stopped {
		return
	}
	w.gs.readAgain(w.space)
	l := &w.layout
	for i, j := range w.order {
		k := &looks[j]
		if !k.Seen || k.Stack == 0 {
			continue
		}
		before, after := w.gs.before(i), w.gs.after(i)
		if after == nil {
			k.Seen = false
			continue
		}
		if !bytes.Equal(before[l.gStackLo:l.gStackHi+8], after[l.gStackLo:l.gStackHi+8]) || !bytes.Equal(before[l.gSP:l.gBP+8], after[l.gSP:l.gBP+8]) ||
			!bytes.Equal(before[l.gStatus:l.gStatus+4], after[l.gStatus:l.gStatus+4]) || before[l.gSeq] != after[l.gSeq] {
			k.Seen = false
		}
	}
}

// whole reports whether a stack is all of its thread's; that of one in a continuation is not.
func (w *walker) whole(id flight.StackID) bool {
	nested, ok := w.nested[id]
	if !ok {
		nested = w.stacks.inContinuation(id)
		w.nested[id] = nested
	}
	return !nested
}
