package sched

import (
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/internal/coro"
)

// A thread that blocks in an operation of Go's own (a channel, a sync.Mutex, a system call) holds its carrier, and cannot say
// so. The watchdog says it: when a carrier stands still, it looks at the goroutine of the thread that is mounted there.

// lookout is made by the first watchdog that needs it.
var lookout = sync.OnceValue(coro.NewLookout)

// noteHolds records which of the carriers, as [ForkJoin.look] has just seen them, are held by threads that block in Go, and
// which are not any more. Only the watchdog calls it.
func (fj *ForkJoin) noteHolds(workers []*worker) {
	for _, w := range fj.holding {
		if _, id, _ := w.mountedSeen(); !w.seen.held || id != w.seen.hold.Thread || !slices.Contains(workers, w) {
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
	t, id, g := w.mountedSeen()
	if w.ring == nil || t == nil || t.word.Load()&stateMask == blocked { // a pinned park records itself
		return false
	}
	var pcs [64]uintptr
	n, what := lookout().Look(g, pcs[:])
	switch {
	case what == coro.DoingSyscall:
	case what == coro.DoingWait && !inContinuation(pcs[:n]):
	default:
		return false
	}
	if now, _, _ := w.mountedSeen(); now != t || w.progressSeen() != w.seen.ticks {
		return false // it went on meanwhile
	}
	w.seen.hold = flight.Hold{
		Thread: id, Reason: flight.ReasonPinnedGo, Since: flight.Now(), Stack: flight.Default().StackOf(pcs[:n]),
	}
	w.ring.Hold(id, w.seen.hold.Since, flight.ReasonPinnedGo, w.seen.hold.Stack)
	return true
}

// inContinuation reports whether the goroutine with these frames waits in a slot, for a continuation that executes on another: it
// does not block. It is then in a switch: of package iter, or of the form of slots on channels.
func inContinuation(pcs []uintptr) bool {
	for i, pc := range pcs[:min(len(pcs), 8)] {
		f := runtime.FuncForPC(pc - 1)
		if f == nil || i == 0 && strings.HasPrefix(f.Name(), "iter.") || strings.HasSuffix(f.Name(), "/coro.(*Slot).Switch") {
			return true
		}
	}
	return false
}

func (w *worker) endHold() {
	h := w.seen.hold
	w.seen.hold = flight.Hold{}
	w.ring.Unhold()
	now := flight.Now()
	flight.Default().Emit(now, flight.EventPinned, h.Reason, h.Stack, h.Thread, uint64(now.Sub(h.Since)))
}
