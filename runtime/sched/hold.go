package sched

import (
	"runtime"
	"slices"
	"strings"
	"unsafe"

	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/internal/coro"
)

// A thread that blocks in an operation of Go's own (a channel, a sync.Mutex, a system call) holds its carrier, and cannot say
// so. The watchdog says it: when a carrier stands still, it looks at the goroutine of the thread that is mounted there.

// noteHolds records which of the carriers, as [ForkJoin.look] has just seen them, are held by threads that block in Go, and
// which are not any more. Only the watchdog calls it.
func (fj *ForkJoin) noteHolds(workers []*worker) {
	for _, w := range fj.holding {
		if _, id, _ := w.mountedThread(); !w.seen.held || id != w.seen.hold.Thread || !slices.Contains(workers, w) {
			w.endHold()
		}
	}
	fj.holding = slices.DeleteFunc(fj.holding, func(w *worker) bool { return w.seen.hold.Thread == 0 })
	for _, w := range workers {
		if w.seen.held && w.seen.hold.Thread == 0 && w.beginHold() {
			fj.holding = append(fj.holding, w)
		}
	}
}

// beginHold records the thread that is mounted on w if it blocks in Go.
func (w *worker) beginHold() bool {
	t, id, g := w.mountedThread()
	if t == nil || g == 0 && !pins.watched.Load() {
		return false
	}
	if s := t.word.Load() & stateMask; s != runnable && s != leased {
		return false // not mounted any more, or in a pinned park, which records itself
	}
	pcs, blocks := t.blocksInGo(g)
	if !blocks {
		return false
	}
	if now, _, _ := w.mountedThread(); now != t || w.progressSeen() != w.seen.ticks {
		return false // it went on meanwhile
	}
	w.seen.hold = flight.Hold{
		Thread: id, Reason: flight.ReasonPinnedGo, Since: flight.Now(), Stack: flight.Default().StackOf(pcs),
	}
	w.setHeld(id)
	w.seen.holder = t
	if pins.watched.Load() {
		pinBegins(t, id, flight.ReasonPinnedGo, pcs)
	}
	w.ring.Hold(id, w.seen.hold.Since, flight.ReasonPinnedGo, w.seen.hold.Stack)
	return true
}

// blocksInGo reports whether the thread blocks in an operation of Go's, and where, as far as its frames can be seen. g is the goroutine that it
// began on; 0 where that is not known, and then costs a pass over all routines.
func (t *Task) blocksInGo(g uintptr) (pcs []uintptr, blocks bool) {
	chain := coro.Executing(unsafe.Pointer(t), g).Chain()
	if len(chain) == 0 {
		return nil, false
	}
	last := len(chain) - 1 // continuations lie on goroutines of their own; the others wait for this one
	var buf [64]uintptr
	n, what := coro.SharedLookout().Look(chain[last].G(), buf[:])
	if what != coro.DoingSyscall && (what != coro.DoingWait || waitsForOurs(buf[:n])) {
		return nil, false
	}
	for _, r := range slices.Backward(chain[:last]) {
		more, _ := coro.Frames(r.G(), buf[n:])
		n += more
	}
	return slices.Clone(buf[:n]), true
}

// waitsForOurs reports whether the goroutine with these frames waits, but its thread does not block: it waits in a slot for a continuation
// that executes on another goroutine (the switch is of package iter, or of the form of slots on channels), for the garbage collector, or for a lock
// of this package. The last would be a circle: more carriers make such locks busier.
func waitsForOurs(pcs []uintptr) bool {
	locking := false // the frame before was of a lock
	for i, pc := range pcs[:min(len(pcs), 8)] {
		f := runtime.FuncForPC(pc - 1)
		if f == nil {
			return true
		}
		name := f.Name()
		if i == 0 && strings.HasPrefix(name, "iter.") || i < 4 && strings.HasPrefix(name, "runtime.gc") ||
			strings.HasSuffix(name, "/coro.(*Slot).Switch") || locking && strings.HasPrefix(name, ours) {
			return true
		}
		locking = strings.HasSuffix(name, "sync.(*Mutex).Lock")
	}
	return false
}

// ours begins the names of this package's functions.
var ours = func() string {
	pc, _, _, _ := runtime.Caller(0)
	name := runtime.FuncForPC(pc).Name()
	return name[:strings.LastIndex(name, "/sched.")+len("/sched.")]
}()

// monopolyTicks is for how many ticks a thread may compute before its carrier counts as held: as long as Go lets a
// goroutine run while others wait.
const monopolyTicks = 10

// stuck reports whether a carrier that stands still will not serve others soon: its thread blocks, or has computed for long. A carrier that
// executes no thread, was only not given a processor for a while, or works for the garbage collector, is not helped by more carriers. Where
// nothing can be known of the thread, standing still is enough.
func (w *worker) stuck() bool {
	if !w.seen.held || w.seen.hold.Thread != 0 {
		return w.seen.held
	}
	t, _, g := w.mountedThread()
	switch {
	case t == nil:
		return false
	case g == 0 || !coro.SharedLookout().Sees() || t.word.Load()&stateMask == blocked:
		return true
	case w.seen.stood < monopolyTicks:
		return false
	}
	chain := coro.Executing(unsafe.Pointer(t), g).Chain()
	if len(chain) == 0 {
		return false
	}
	_, doing := coro.SharedLookout().Look(chain[len(chain)-1].G(), nil)
	return doing == coro.DoingWork || doing == coro.DoingSyscall
}

func (w *worker) endHold() {
	h := w.seen.hold
	w.seen.hold = flight.Hold{}
	w.setHeld(0)
	w.ring.Unhold()
	pinEnds(w.seen.holder, h.Reason, 0)
	w.seen.holder = nil
	now := flight.Now()
	flight.Default().Emit(now, flight.EventPinned, h.Reason, h.Stack, h.Thread, uint64(now.Sub(h.Since)))
}
