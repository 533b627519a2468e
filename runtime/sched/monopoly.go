package sched

import (
	"sync/atomic"
	"time"

	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/internal/coro"
)

// A monopoly is a slice in which a thread has computed for longer than is good. The watchdog sees that it does, for how long, and what the thread executes; the
// carrier knows when it ends. Whoever takes it from its worker tells it.
type monopoly struct {
	thread flight.ThreadID
	stack  flight.StackID
	ticks  uint32 // of the carrier's progress, while it lasts

	computed atomic.Int64         // [time.Duration], up to the last look
	seen     atomic.Pointer[work] // then
}

// beginMonopoly looks whether the thread that is mounted on w has computed for long, and notes that.
func (w *worker) beginMonopoly(now flight.Ticks) bool {
	t, id, g := w.mountedThread()
	if t == nil || g == 0 {
		return false
	}
	if _, mounted := t.mountedSince(); !mounted {
		return false
	}
	if s := t.word.Load() & stateMask; s != runnable && s != leased {
		return false
	}
	k := &w.seen.work
	if k.see(t, g, now); !k.engaged || k.sum < w.fj.options.MonopolyAfter {
		return false
	}
	pcs, _ := t.frames()
	m := &monopoly{thread: id, stack: flight.Default().StackOf(pcs), ticks: w.seen.ticks}
	m.look(k)
	w.waiting.Store(0)
	w.monopoly.Store(m)
	if !w.stillHas(t) {
		w.monopoly.CompareAndSwap(m, nil)
		return false
	}
	w.seen.hold = flight.Hold{Thread: id, Reason: flight.ReasonMonopoly, Since: before(now, k.sum), Stack: m.stack}
	w.showHold()
	return true
}

// look notes what the watchdog has seen.
func (m *monopoly) look(k *work) {
	m.computed.Store(int64(k.sum))
	seen := *k
	m.seen.Store(&seen)
}

// before returns the moment d before t.
func before(t flight.Ticks, d time.Duration) flight.Ticks { return t - flight.TicksOf(int64(d)) }

// lookAtMonopoly finds out whether the thread of w's hold computes still. What it has not computed since it began moves the begin.
func (w *worker) lookAtMonopoly(now flight.Ticks) {
	t, _, g := w.mountedThread()
	m := w.monopoly.Load()
	if t == nil || m == nil {
		return
	}
	k := &w.seen.work
	switch doing := k.see(t, g, now); {
	case blocks(doing):
		w.endHold(now)
		w.beginHold()
	case doing != coro.DoingUnknown:
		m.look(k)
		w.seen.hold.Since = before(now, k.sum)
		w.showHold()
	}
}

// endMonopoly tells the slice that ends now, on its carrier, if it was a monopoly.
func (w *worker) endMonopoly(now flight.Ticks) {
	if m := w.monopoly.Load(); m != nil && m.ticks == w.ticks && w.monopoly.CompareAndSwap(m, nil) {
		d := time.Duration(m.computed.Load())
		if k := m.seen.Load(); k.engaged {
			d += k.until(now, markCPU(), markProcess())
		}
		w.monopolyOver(m, now, d)
	}
}

// monopolyOver tells a monopoly that was over at now, in which the thread has computed for d.
func (w *worker) monopolyOver(m *monopoly, now flight.Ticks, d time.Duration) {
	victims := w.victims()
	w.fj.tally.monopolies.Add(1)
	w.fj.tally.monopolizedTime.Add(uint64(d))
	w.fj.tally.victims.Add(victims)
	if r := flight.Default(); r.Over(flight.EventMonopolized, flight.TicksOf(int64(d))) {
		r.EmitOn(w.id, now, flight.EventMonopolized, flight.ReasonMonopoly, m.stack, m.thread, uint64(flight.MakeHeld(d, victims)))
	}
}
