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
	space  space
	layout layout
	stacks *stackTable
	nested map[flight.StackID]bool // see stackTable.inContinuation

	order  []int // of looks, by goroutine
	runs   []span
	arena  []byte
	again  []byte
	places []place
	tops   []span
	stack  []byte
	more   [stackTop]byte
	pcs    []uint64

	walked, unlike int // goroutines that wait, and of them those that are none by layout

	holds  map[flight.CarrierID]flight.Hold // what the recorder says of threads that block in operations of Go's own
	blocks map[flight.ThreadID]bool         // of mounted threads whose stack was read: they do not execute

	onGoroutines bool // the threads on goroutines alone are looked at

	stopped bool                      // the process is, or gone: nothing changes
	mounted func(k *flight.Look) bool // reads the stack of one that executes; nil: nobody does
}

// A place is where the goroutine of a look was copied to.
type place struct{ run, at int }

const (
	runGap   = 1024 // bytes between goroutines that are read with them rather than by another call
	stackTop = 4096 // bytes of a stack that are read at once
	maxStack = 1 << 30
	maxDepth = 4096 // frames

	maxRun = 512 << 10
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
	w.plan(looks)
	w.space.readMany(w.runs)
	w.readTops()
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

// plan lays out how the goroutines are read: neighbours together.
func (w *walker) plan(looks []flight.Look) {
	w.runs, w.places = w.runs[:0], w.places[:0]
	size := uint64(w.layout.gSize)
	total := 0
	for _, i := range w.order {
		g := looks[i].G
		n := len(w.runs)
		if n > 0 {
			r := &w.runs[n-1]
			if end := r.address + uint64(r.n); g <= end+runGap && g+size-r.address <= maxRun && g+size > g {
				if more := int(g + size - r.address); more > r.n {
					total += more - r.n
					r.n = more
				}
				w.places = append(w.places, place{n - 1, int(g - r.address)})
				continue
			}
		}
		w.runs = append(w.runs, span{address: g, n: int(size)}) // n is the length, until there is a buffer
		w.places = append(w.places, place{n, 0})
		total += int(size)
	}
	if cap(w.arena) < total {
		w.arena, w.again = make([]byte, total), make([]byte, total)
	}
	at := 0
	for i := range w.runs {
		r := &w.runs[i]
		r.to, at, r.n = w.arena[at:at+r.n:at+r.n], at+r.n, 0
	}
}

// goroutine returns the copy of the goroutine of place i, or nil.
func (w *walker) goroutine(i int) []byte {
	p := w.places[i]
	r := &w.runs[p.run]
	if p.at+w.layout.gSize > r.n {
		return nil
	}
	return r.to[p.at : p.at+w.layout.gSize]
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

// readTops reads the innermost parts of the stacks.
func (w *walker) readTops() {
	w.tops = w.tops[:0]
	total := 0
	for i := range w.order {
		sp, hi, ok := w.bounds(w.goroutine(i))
		n := 0
		if ok {
			n = int(min(hi-sp, stackTop))
		}
		w.tops = append(w.tops, span{address: sp, n: n})
		total += n
	}
	if cap(w.stack) < total {
		w.stack = make([]byte, total)
	}
	at := 0
	for i := range w.tops {
		t := &w.tops[i]
		t.to, at, t.n = w.stack[at:at+t.n:at+t.n], at+t.n, 0
	}
	w.space.readMany(w.tops)
}

// walk follows the frame pointers of a goroutine (W3), and sets Stack and Seen.
func (w *walker) walk(k *flight.Look, i int) {
	g := w.goroutine(i)
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
	w.pcs, ended = w.follow(w.pcs, &w.tops[i], sp, hi, le.Uint64(g[w.layout.gBP:]))
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

// follow appends return addresses to pcs from the frame pointer bp on. It is false if they do not lead to where goroutines begin.
func (w *walker) follow(pcs []uint64, top *span, sp, hi, bp uint64) ([]uint64, bool) {
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

// check reads the goroutines again, and takes back what was seen of those that have changed (W2).
func (w *walker) check(looks []flight.Look) {
	if w.stopped {
		return
	}
	at := 0
	for i := range w.runs {
		n := len(w.runs[i].to)
		w.tops = append(w.tops[:i], span{address: w.runs[i].address, to: w.again[at : at+n : at+n]})
		at += n
	}
	w.space.readMany(w.tops)
	l := &w.layout
	for i, j := range w.order {
		k := &looks[j]
		if !k.Seen || k.Stack == 0 {
			continue
		}
		p := w.places[i]
		t := &w.tops[p.run]
		if p.at+l.gSize > t.n {
			k.Seen = false
			continue
		}
		before, after := w.goroutine(i), t.to[p.at:p.at+l.gSize]
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
