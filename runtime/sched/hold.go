package sched

import (
	"runtime"
	"slices"
	"strings"
	"unsafe"

	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/internal/coro"
)

// A thread that blocks in an operation of Go's own (a channel, a sync.Mutex, a system call) or computes holds its carrier, and cannot say
// so. The watchdog says it: when a carrier stands still, it looks at the goroutine of the thread that is mounted there.

// watched is what the watchdog knows beyond the carriers.
type watched struct {
	holding []*worker    // whose hold is recorded
	looked  flight.Ticks // the last time
	alarmed bool         // of the starvation that lasts
}

// noteHolds records which of the carriers, as [ForkJoin.look] has just seen them, are held by threads that block in Go or compute for long, and
// which are not any more. Only the watchdog calls it.
func (fj *ForkJoin) noteHolds(workers []*worker) {
	now := flight.Now()
	d := &fj.watched
	for _, w := range d.holding {
		if _, id, _ := w.mountedThread(); !w.seen.held || id != w.seen.hold.Thread || !slices.Contains(workers, w) {
			w.endHold(now)
		}
	}
	for _, w := range workers {
		switch {
		case !w.seen.held:
			w.seen.since = d.looked
		case w.seen.hold.Thread == 0:
			_ = w.beginHold(now) || w.beginMonopoly(now)
		case w.seen.hold.Reason == flight.ReasonMonopoly && w.blocks():
			w.endHold(now)
			w.beginHold(now)
		}
	}
	d.holding = d.holding[:0]
	for _, w := range workers {
		if w.seen.hold.Thread != 0 {
			d.holding = append(d.holding, w)
		}
	}
	d.looked = now
}

// blocks reports whether the mounted thread blocks in Go.
func (w *worker) blocks() bool {
	t, _, g := w.mountedThread()
	if t == nil {
		return false
	}
	_, blocks := t.blocksInGo(g)
	return blocks
}

// beginHold records the thread that is mounted on w if it blocks in Go.
func (w *worker) beginHold(now flight.Ticks) bool {
	t, id, g := w.mountedThread()
	if t == nil || g == 0 && !pins.watched.Load() {
		return false
	}
	if s := t.word.Load() & stateMask; s != runnable && s != leased {
		return false // not mounted any more, or in a pinned park, which records itself
	}
	pcs, blocks := t.blocksInGo(g)
	if !blocks || !w.stillHas(t) {
		return false
	}
	w.seen.hold = flight.Hold{Thread: id, Reason: flight.ReasonPinnedGo, Since: now, Stack: flight.Default().StackOf(pcs)}
	w.seen.holder = t
	w.waiting.Store(0)
	w.setHeld(id)
	if pins.watched.Load() {
		pinBegins(t, id, flight.ReasonPinnedGo, pcs)
	}
	w.ring.Hold(id, now, flight.ReasonPinnedGo, w.seen.hold.Stack)
	return true
}

// stillHas reports whether t has been mounted on w all the time since the last look, without a scheduling point.
func (w *worker) stillHas(t *Task) bool {
	now, _, _ := w.mountedThread()
	return now == t && w.progressSeen() == w.seen.ticks
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
	if !w.seen.held || w.seen.hold.Reason == flight.ReasonPinnedGo {
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
	doing := t.doing(g)
	return doing == coro.DoingWork || doing == coro.DoingSyscall
}

// doing looks at the goroutine on which t, which is mounted, executes. g is the one that it began on.
func (t *Task) doing(g uintptr) coro.Doing {
	chain := coro.Executing(unsafe.Pointer(t), g).Chain()
	if len(chain) == 0 {
		return coro.DoingUnknown
	}
	_, doing := coro.SharedLookout().Look(chain[len(chain)-1].G(), nil)
	return doing
}

// endHold records that the thread of w's hold does not block or compute any more.
func (w *worker) endHold(now flight.Ticks) {
	h := w.seen.hold
	w.seen.hold = flight.Hold{}
	w.ring.Unhold()
	if h.Reason == flight.ReasonMonopoly {
		if m := w.monopoly.Swap(nil); m != nil { // the carrier has not told it
			w.monopolyOver(m, now, flight.Default().EmitOn)
		}
		return
	}
	w.setHeld(0)
	held, victims := now.Sub(h.Since), w.victims()
	w.fj.tally.pin(held, victims)
	pinEnds(w.seen.holder, h.Reason, victims)
	w.seen.holder = nil
	r := flight.Default()
	r.CountPin(h.Stack, h.Reason, held, victims, now)
	if held >= w.fj.options.PinnedAfter {
		r.EmitOn(w.id, now, flight.EventPinned, h.Reason, h.Stack, h.Thread, uint64(flight.MakeHeld(held, victims)))
	}
}
