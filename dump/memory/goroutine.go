package memory

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"slices"
	"time"

	"github.com/vtscope/vtscope/runtime/flight"
)

// A goroutine is what was read of one.
type goroutine struct {
	at             uint64 // address of its g
	id, parent     uint64
	status         uint32
	reason         uint8
	locked         bool
	noRoom         bool // there are too many distinct stacks
	moved          bool // its stack could not be read: it ran between the looks at it
	since          int64
	marked         int64 // when the garbage collector met it in this wait; 0: it has not
	still          bool  // it has not run since the look before
	madeAt, starts uint64
	labels         uint64
	m              uint64         // of the OS thread that executes it, if it is running
	stack          flight.StackID // 0: none
	waiting        uint64         // its first sudog
	waitsFor       uint64         // address of the channel or semaphore, or 1 + the descriptor; 0: not known, or there are several
	cases          []uint64       // addresses of the channels, if there are several; some of them, if they are many
}

const (
	goroutineBatch = 256 // read together: what is read must be still so afterwards
	goroutineTries = 6
)

// walk reads all goroutines, but for those that have ended.
//
//	G1  A goroutine and the top of its stack count if it is the same afterwards: stack, place, status, id, and the counter of its switches. Else it is read again, a little later.
//	G2  One that waits, or is in a call of the kernel's, has frame pointers. One that was stopped on its way may have been anywhere in a function: the sizes of frames tell.
//	G3  Nothing tells the stack of one that executes, but for its OS thread's registers, which a core file has.
//	G4  What the look before found of a goroutine holds as long as it is in the same wait (see [still]).
func (p *program) walk(pause func(time.Duration)) ([]goroutine, error) {
	left, err := p.addresses()
	if err != nil {
		return nil, err
	}
	slices.Sort(left)
	left = slices.Compact(left)
	all := make([]goroutine, 0, min(len(left), 1<<18))
	w := goroutineReader{program: p}
	for try := 1; len(left) > 0; try++ {
		var again []uint64
		for from := 0; from < len(left); from += goroutineBatch {
			for _, g := range w.read(left[from:min(from+goroutineBatch, len(left))]) {
				switch {
				case !g.there():
				case g.moved && try < goroutineTries:
					again = append(again, g.at)
				default:
					all = append(all, g)
				}
			}
		}
		if left = again; len(left) > 0 {
			pause(time.Millisecond << try)
		}
	}
	if p.again { // who looks once keeps nothing
		p.keep(all)
	}
	p.again = true
	return byID(all), nil
}

// byID returns goroutines in the order of their ids, each once.
func byID(all []goroutine) []goroutine {
	order := make([]struct{ id, i uint64 }, len(all)) // which are smaller
	for i := range all {
		order[i].id, order[i].i = all[i].id, uint64(i)
	}
	slices.SortFunc(order, func(a, b struct{ id, i uint64 }) int { return cmp.Compare(a.id, b.id) })
	sorted := make([]goroutine, 0, len(all))
	for _, o := range order {
		if n := len(sorted); n == 0 || sorted[n-1].id != o.id {
			sorted = append(sorted, all[o.i])
		}
	}
	return sorted
}

// there reports whether it is one, and has not ended.
func (g *goroutine) there() bool {
	switch g.status {
	case statusRunnable, statusRunning, statusSyscall, statusWaiting, statusCopying, statusPreempted, statusLeaked:
		return g.id != 0
	}
	return false
}

// A goroutineReader reads a batch of goroutines.
type goroutineReader struct {
	*program
	gs    neighbours
	tops  tops
	which []int // of the batch, those with a top
	dogs  []span
	whose []int // of the batch
	// selects are those that wait in a select of several channels, of which not all are read.
	selects []selecting
	room    []byte
	batch   []goroutine
}

// read reads the goroutines at sorted addresses. What it returns is valid until it is called again.
func (w *goroutineReader) read(at []uint64) []goroutine {
	w.gs.size = w.layout.gWhole
	w.gs.plan(len(at), func(i int) uint64 { return at[i] })
	w.gs.read(w.space)
	w.batch, w.which, w.tops.spans = w.batch[:0], w.which[:0], w.tops.spans[:0]
	for i := range at {
		g := goroutine{at: at[i]}
		if b := w.gs.before(i); b != nil {
			w.fill(&g, b)
			if w.recall(&g) {
				w.batch = append(w.batch, g)
				continue
			}
			if sp, _, _, hi, ok := w.place(&g, b); ok {
				w.tops.plan(sp, hi)
				w.which = append(w.which, i)
			} else if g.status != statusRunning {
				g.moved = true
			}
		}
		w.batch = append(w.batch, g)
	}
	if len(w.which) == 0 && w.registers == nil {
		return w.batch
	}
	w.tops.read(w.space)
	w.waits()
	for j, i := range w.which {
		w.unwind(&w.batch[i], w.gs.before(i), &w.tops.spans[j])
	}
	if w.registers != nil {
		for i := range w.batch {
			if g := &w.batch[i]; g.status == statusRunning {
				w.executes(g, w.gs.before(i))
			}
		}
	}
	w.gs.readAgain(w.space)
	for i := range w.batch {
		g := &w.batch[i]
		if !g.still && (g.stack != 0 || g.noRoom) && !w.same(g, w.gs.before(i), w.gs.after(i)) {
			g.stack, g.noRoom, g.moved = 0, false, true
		}
		if g.moved {
			g.waitsFor, g.cases = 0, nil
		}
	}
	return w.batch
}

func (w *goroutineReader) fill(g *goroutine, b []byte) {
	le := binary.LittleEndian
	l := &w.layout
	if le.Uint64(b[l.gSelf:]) != g.at {
		return // not one yet
	}
	g.id, g.status, g.reason = le.Uint64(b[l.gID:]), le.Uint32(b[l.gStatus:])&^statusScan, b[l.gReason]
	g.marked, g.madeAt, g.starts = int64(le.Uint64(b[l.gSince:])), le.Uint64(b[l.gMadeAt:]), le.Uint64(b[l.gStart:])
	g.since = g.marked
	// Go measures how long each eighth goroutine waits for a lock: then it knows since when.
	if began := int64(le.Uint64(b[l.gStamp:])); began > 0 && b[l.gTracking] == 1 && g.status == statusWaiting && (g.since == 0 || began < g.since) {
		g.since = began
	}
	g.waiting = le.Uint64(b[l.gWaiting:])
	g.labels, g.locked = le.Uint64(b[l.gLabels:]), le.Uint64(b[l.gLockedM:]) != 0
	if g.status == statusRunning {
		g.m = le.Uint64(b[l.gM:])
	}
	if l.gParent != 0 {
		g.parent = le.Uint64(b[l.gParent:])
	}
}

// place returns where a goroutine is that does not execute. bp is 0 where it says nothing.
func (w *goroutineReader) place(g *goroutine, b []byte) (sp, pc, bp, hi uint64, ok bool) {
	le := binary.LittleEndian
	l := &w.layout
	sp, pc, bp = le.Uint64(b[l.gSP:]), le.Uint64(b[l.gPC:]), le.Uint64(b[l.gBP:])
	switch g.status {
	case statusWaiting, statusLeaked:
	case statusRunnable, statusPreempted:
		bp = 0 // G2
	case statusSyscall:
		if in := le.Uint64(b[l.gSyscallSP:]); in != 0 {
			sp, pc, bp = in, le.Uint64(b[l.gSyscallPC:]), 0
			if l.gSyscBP != 0 {
				bp = le.Uint64(b[l.gSyscBP:])
			}
		}
	default:
		return sp, pc, bp, hi, false
	}
	lo, hi := le.Uint64(b[l.gStackLo:]), le.Uint64(b[l.gStackHi:])
	return sp, pc, bp, hi, lo < sp && sp < hi && hi-lo <= maxStack && sp%8 == 0
}

// unwind sets the stack of a goroutine, or moved.
func (w *goroutineReader) unwind(g *goroutine, b []byte, top *span) {
	sp, pc, bp, hi, _ := w.place(g, b)
	ended := false
	if bp != 0 {
		w.pcs, ended = w.follow(append(w.pcs[:0], pc), top, sp, hi, bp)
	} else {
		w.pcs, ended = w.byTables(w.pcs[:0], registers{pc: pc, sp: sp, arm: w.arm}, area{sp, hi}, top)
	}
	if !ended && !w.beginsWith(g) {
		g.moved = true
		return
	}
	g.stack = w.stacks.intern(w.pcs, len(w.pcs) >= maxDepth)
	g.noRoom = g.stack == 0
}

// executes sets the stack of a goroutine that an OS thread executes, which stands still (G3).
func (w *goroutineReader) executes(g *goroutine, b []byte) {
	le := binary.LittleEndian
	l := &w.layout
	m := le.Uint64(b[l.gM:])
	tid, ok := word(w.space, m+uint64(l.mProcID))
	if now, known := word(w.space, m+uint64(l.mCurG)); !ok || !known || now != g.at || tid == 0 || tid > 1<<31 {
		return
	}
	r, ok := w.registers(int(tid))
	if !ok {
		return
	}
	stack := area{le.Uint64(b[l.gStackLo:]), le.Uint64(b[l.gStackHi:])}
	if stack.to-stack.from > maxStack {
		return
	}
	if !stack.has(r.sp) {
		if before, ok := w.interrupted(r); ok {
			r = before
		}
	}
	if stack.has(r.sp) {
		r.pc++ // it has not called: see module.frames
		w.pcs, ok = w.byTables(w.pcs[:0], r, stack, &span{})
	} else if sp := le.Uint64(b[l.gSP:]); stack.has(sp) { // the runtime executes on a stack of its own
		w.pcs, ok = w.follow(append(w.pcs[:0], le.Uint64(b[l.gPC:])), &span{address: sp}, sp, stack.to, le.Uint64(b[l.gBP:]))
	} else {
		return
	}
	if ok || w.beginsWith(g) {
		g.stack = w.stacks.intern(w.pcs, len(w.pcs) >= maxDepth)
	}
}

// beginsWith reports whether the stack that was unwound ends in the function that a goroutine began with: that of a thread of C has nothing below.
func (w *goroutineReader) beginsWith(g *goroutine) bool {
	if len(w.pcs) == 0 {
		return false
	}
	f, ok := w.module.find(w.pcs[len(w.pcs)-1] - 1)
	return ok && f.start == g.starts
}

// same reports whether a goroutine has not run since it was read (G1).
func (w *goroutineReader) same(g *goroutine, before, after []byte) bool {
	if after == nil {
		return false
	}
	le := binary.LittleEndian
	l := &w.layout
	equal := func(at, n int) bool { return bytes.Equal(before[at:at+n], after[at:at+n]) }
	in := g.status != statusSyscall || equal(l.gSyscallSP, 16)
	return in && equal(l.gStackLo, 16) && equal(l.gSP, l.gBP+8-l.gSP) && equal(l.gID, 8) && before[l.gSeq] == after[l.gSeq] &&
		(le.Uint32(before[l.gStatus:])^le.Uint32(after[l.gStatus:]))&^statusScan == 0
}
