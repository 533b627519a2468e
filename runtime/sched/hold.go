package sched

import (
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"time"
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
	turn    uint32       // counts the looks
	alarmed bool         // of the starvation that lasts
	blocked int          // carriers whose threads block, forgotten slowly
}

// noteHolds records which of the carriers, as [ForkJoin.look] has just seen them, are held by threads that block in Go or compute for long, and
// which are not any more. Only the watchdog calls it.
func (fj *ForkJoin) noteHolds(workers []*worker) {
	now := flight.Now()
	d := &fj.watched
	d.turn++
	for _, w := range workers {
		w.seen.turn = d.turn
	}
	for _, w := range d.holding {
		if _, id, _ := w.mountedThread(); !w.seen.held || id != w.seen.hold.Thread || w.seen.turn != d.turn {
			w.endHold(now)
		}
	}
	for _, w := range workers {
		switch {
		case !w.seen.held:
			w.seen.work = work{}
		case w.seen.hold.Thread == 0:
			_ = w.beginHold() || w.beginMonopoly(now)
		case w.seen.hold.Reason == flight.ReasonMonopoly:
			w.lookAtMonopoly(now)
		case w.seen.hold.Reason == flight.ReasonPinnedGo:
			w.lookAgain()
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

// beginHold records the thread that is mounted on w if it blocks in Go.
func (w *worker) beginHold() bool {
	t, id, g := w.mountedThread()
	if t == nil || g == 0 && !pins.watched.Load() {
		return false
	}
	if s := t.word.Load() & stateMask; s != runnable && s != leased {
		return false // not mounted any more, or in a pinned park, which records itself
	}
	var buf [maxHeldFrames]uintptr
	n, doing, at := t.blocksInGo(g, buf[:])
	if !blocks(doing) || !w.stillHas(t) {
		return false
	}
	pcs := slices.Clone(buf[:n])
	w.seen.hold = flight.Hold{Thread: id, Reason: flight.ReasonPinnedGo, Since: at, Stack: flight.Default().StackOf(pcs)}
	w.seen.holder, w.seen.at = t, pcs
	w.waiting.Store(0)
	w.setHeld(id)
	if pins.watched.Load() {
		pinBegins(t, w.id, flight.ReasonPinnedGo, pcs)
	}
	w.showHold()
	return true
}

// maxHeldFrames is how many frames of a thread that holds its carrier are looked at.
const maxHeldFrames = 64

// lookAgain finds out whether the thread of w's hold, which has not come to a scheduling point, is where it was. A thread that has gone on may block again
// before the watchdog looks: another stack tells. Two waits in the same place one after the other are one hold.
func (w *worker) lookAgain() {
	t, _, g := w.mountedThread()
	if t == nil {
		return
	}
	var buf [maxHeldFrames]uintptr
	switch n, doing, at := t.blocksInGo(g, buf[:]); {
	case doing == coro.DoingUnknown, doing == coro.DoingSyscall && n == 0: // it is not known: what was seen becomes older
	case !blocks(doing):
		w.endHold(at)
	case slices.Equal(buf[:n], w.seen.at):
		w.stillHeld(at)
	default:
		w.endHold(at)
		w.beginHold()
	}
}

// stillHeld tells readers that the thread of w's hold was found where it was.
func (w *worker) stillHeld(at flight.Ticks) {
	w.fj.mu.Lock()
	defer w.fj.mu.Unlock()
	if !w.gone {
		w.ring.StillHeld(at)
	}
}

// showHold tells readers of w's hold, or that there is none. A carrier that has stopped has no ring any more.
func (w *worker) showHold() {
	w.fj.mu.Lock()
	defer w.fj.mu.Unlock()
	if h := w.seen.hold; !w.gone {
		w.ring.Hold(h.Thread, h.Since, h.Reason, h.Stack)
	}
}

// stillHas reports whether t has been mounted on w all the time since the last look, without a scheduling point.
func (w *worker) stillHas(t *Task) bool {
	now, _, _ := w.mountedThread()
	return now == t && w.progressSeen() == w.seen.ticks
}

// blocksInGo looks at what the thread does, stores where in pcs, as far as its frames can be seen, if it [blocks], and returns how many those are. A thread
// that waits, but does not block, works. g is the goroutine that it began on; 0 where that is not known, and then costs a pass over all routines. At is when that was
// so: a look that took longer than [lookLasts] does not tell, since the watchdog itself may have waited for a processor in the middle of it.
func (t *Task) blocksInGo(g uintptr, pcs []uintptr) (n int, doing coro.Doing, at flight.Ticks) {
	at = flight.Now()
	n, doing = t.blocksWhere(g, pcs)
	if flight.Now().Sub(at) > lookLasts {
		return 0, coro.DoingUnknown, at
	}
	return n, doing, at
}

// lookLasts is by how much the time may be wrong at which a thread was seen. A look takes microseconds.
const lookLasts = time.Millisecond

func (t *Task) blocksWhere(g uintptr, pcs []uintptr) (n int, doing coro.Doing) {
	chain := coro.Executing(unsafe.Pointer(t), g).Chain()
	if len(chain) == 0 {
		return 0, coro.DoingUnknown
	}
	last := len(chain) - 1 // continuations lie on goroutines of their own; the others wait for this one
	n, doing = blocksAt(chain[last].G(), pcs)
	if !blocks(doing) {
		return 0, doing
	}
	for _, r := range slices.Backward(chain[:last]) {
		more, _ := coro.Frames(r.G(), pcs[n:])
		n += more
	}
	return n, doing
}

// blocks reports whether a thread that does this holds its carrier for nothing.
func blocks(doing coro.Doing) bool { return doing == coro.DoingSyscall || doing == coro.DoingWait }

// maxOurs is how many of the innermost frames tell what a goroutine waits for.
const maxOurs = 8

// waitsForOurs reports whether the goroutine with these frames waits, but its thread does not block: it waits in a slot for a continuation
// that executes on another goroutine (the switch is of package iter, or of the form of slots on channels), for the garbage collector, for a lock
// of this package, or in a pinned park. More carriers make such locks busier: that would be a circle. A pinned park records itself, and is over for
// the task's word a moment before who ends it has woken the goroutine.
func waitsForOurs(pcs []uintptr) bool {
	locking := false // the frame before was of a lock
	for i, pc := range pcs[:min(len(pcs), maxOurs)] {
		switch f := partOf(pc); {
		case f == unknownPart, f == iterPart && i == 0, f == collectorPart && i < 4, f == slotPart, f == parkPart, f == ownPart && locking:
			return true
		default:
			locking = f == lockPart
		}
	}
	return false
}

// A part is what the function at a program counter belongs to, as far as waits go.
type part uint8

const (
	unknownPart part = iota
	otherPart
	iterPart      // coroutines of Go's
	collectorPart // the garbage collector
	slotPart      // slots on channels
	lockPart
	parkPart // in place
	adoptPart
	ownPart // this package
	goPart  // else of Go's runtime
)

// parts remembers some: to find a function's name takes longer than all the rest. A word is a program counter, in whose place by its low bits it is, and its
// part below.
var parts [1 << 10]atomic.Uint64

func partOf(pc uintptr) part {
	const partBits = 8
	known := &parts[pc%uintptr(len(parts))]
	if w := known.Load(); w>>partBits == uint64(pc) {
		return part(w)
	}
	p := findPart(pc)
	known.Store(uint64(pc)<<partBits | uint64(p))
	return p
}

func findPart(pc uintptr) part {
	f := runtime.FuncForPC(pc - 1)
	if f == nil {
		return unknownPart
	}
	switch name := f.Name(); {
	case strings.HasPrefix(name, "iter."):
		return iterPart
	case strings.HasPrefix(name, "runtime.gc"):
		return collectorPart
	case strings.HasSuffix(name, "/coro.(*Slot).Switch"):
		return slotPart
	case strings.HasSuffix(name, "sync.(*Mutex).Lock"):
		return lockPart
	case name == ours+"(*Task).parkInPlace":
		return parkPart
	case name == ours+"(*Task).RunHere":
		return adoptPart
	case strings.HasPrefix(name, ours):
		return ownPart
	case name == "runtime.asyncPreempt": // it stands for what it has interrupted
	default:
		// Functions of the runtime may have other packages' names.
		if file, _ := f.FileLine(pc - 1); isOfGo(file) {
			return goPart
		}
	}
	return otherPart
}

// isOfGo reports whether a file is one of package runtime, beside that of [runtime.GC].
func isOfGo(file string) bool { return strings.HasPrefix(file, goFiles) }

// goFiles begins the names of the files of package runtime.
var goFiles = func() string {
	f := runtime.FuncForPC(reflect.ValueOf(runtime.GC).Pointer())
	file, _ := f.FileLine(f.Entry())
	return file[:strings.LastIndexByte(file, '/')+1]
}()

// ours begins the names of this package's functions.
var ours = func() string {
	pc, _, _, _ := runtime.Caller(0)
	name := runtime.FuncForPC(pc).Name()
	return name[:strings.LastIndex(name, "/sched.")+len("/sched.")]
}()

// monopolyTicks is for how many ticks a thread may compute before its carrier counts as held: as long as Go lets a
// goroutine run while others wait.
const monopolyTicks = 10

// blocking reports whether t, which is mounted on w and executes on g, blocks, so that its carrier does not serve others. It looks at
// carriers that stand still, and if it shall look closely at all. Where nothing can be known of the thread,
// standing still is enough.
func (w *worker) blocking(t *Task, g uintptr, closely bool) bool {
	if !w.seen.held && !closely {
		return false
	}
	if w.seen.hold.Reason == flight.ReasonPinnedGo {
		return true
	}
	switch {
	case t == nil:
		return false
	case t.word.Load()&stateMask == blocked:
		return true
	case g == 0 || !coro.SharedLookout().Sees():
		return w.seen.held
	}
	return blocks(t.blocksIn(g))
}

// computes reports whether t, which is mounted on w and does not block, has computed for long. One that
// waits for a processor, which other processes may have, does not: more carriers would not help it.
// Where nothing can be known of the thread, standing still is enough. noted tells that noteHolds has looked at it.
func (w *worker) computes(t *Task, g uintptr, noted bool) bool {
	if t == nil || !w.seen.held {
		return false
	}
	if g == 0 || !coro.SharedLookout().Sees() {
		return w.seen.stood >= monopolyTicks
	}
	k := &w.seen.work
	if !noted {
		k.see(t, g, flight.Now())
	}
	return k.thread == t && k.sum >= monopolyTicks*watchTick
}

// blocksIn is [Task.blocksInGo] for who need not know where. A thread that is about to begin, or has just left, works.
func (t *Task) blocksIn(g uintptr) coro.Doing {
	chain := coro.Executing(unsafe.Pointer(t), g).Chain()
	if len(chain) == 0 {
		return coro.DoingWork
	}
	var buf [maxOurs]uintptr
	_, doing := blocksAt(chain[len(chain)-1].G(), buf[:])
	return doing
}

// blocksAt looks at what a goroutine does, given its g, for its thread, and where, if it waits.
func blocksAt(g uintptr, pcs []uintptr) (n int, doing coro.Doing) {
	n, doing = coro.SharedLookout().Look(g, pcs)
	if doing == coro.DoingWait && waitsForOurs(pcs[:n]) {
		doing = coro.DoingWork
	}
	return n, doing
}

// Doing looks at what the goroutine does on which t executes. It is unknown unless t is mounted, and where goroutines cannot be looked at. It may be
// called from anywhere.
func (t *Task) Doing() coro.Doing {
	switch t.word.Load() & stateMask {
	case fresh, paused, done:
		return coro.DoingUnknown
	}
	if mounted, _ := t.mountedSeen(); !mounted || !coro.SharedLookout().Sees() {
		return coro.DoingUnknown
	}
	if Current() == t {
		return coro.DoingWork
	}
	return t.doing(t.beganOn())
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
	w.showHold()
	if h.Reason == flight.ReasonMonopoly {
		if m := w.monopoly.Swap(nil); m != nil { // the carrier has not told it
			w.monopolyOver(m, now, time.Duration(m.computed.Load()))
		}
		return
	}
	w.setHeld(0)
	held, victims := now.Sub(h.Since), w.victims()
	w.fj.tally.pin(held, victims)
	pinEnds(w.seen.holder, w.id, h.Reason, victims)
	w.seen.holder, w.seen.at = nil, nil
	r := flight.Default()
	r.CountPin(h.Stack, h.Reason, held, victims, now)
	if held >= w.fj.options.PinnedAfter && r.Over(flight.EventPinned, now-h.Since) {
		r.EmitOn(w.id, now, flight.EventPinned, h.Reason, h.Stack, h.Thread, uint64(flight.MakeHeld(held, victims)))
	}
}
