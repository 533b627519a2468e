package sched

import (
	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/internal/coro"
)

// A monopoly is a slice that has become longer than is good. The watchdog sees that it does, and what the thread executes; the
// carrier knows when it ends. Whoever takes it from its worker tells it.
type monopoly struct {
	thread flight.ThreadID
	since  flight.Ticks
	stack  flight.StackID
	ticks  uint32 // of the carrier's progress, while it lasts
}

// beginMonopoly notes the thread that is mounted on w if it has computed for long.
func (w *worker) beginMonopoly(now flight.Ticks) bool {
	t, id, g := w.mountedThread()
	if t == nil || g == 0 {
		return false
	}
	since, mounted := t.mountedSince()
	since = max(since, w.seen.since)
	if !mounted || since >= now || now.Sub(since) < w.fj.options.MonopolyAfter {
		return false
	}
	if s := t.word.Load() & stateMask; s != runnable && s != leased {
		return false
	}
	if doing := t.doing(g); doing != coro.DoingWork && doing != coro.DoingReady {
		return false
	}
	pcs, _ := t.frames()
	m := &monopoly{thread: id, since: since, stack: flight.Default().StackOf(pcs), ticks: w.seen.ticks}
	w.waiting.Store(0)
	w.monopoly.Store(m)
	if !w.stillHas(t) {
		w.monopoly.CompareAndSwap(m, nil)
		return false
	}
	w.seen.hold = flight.Hold{Thread: id, Reason: flight.ReasonMonopoly, Since: since, Stack: m.stack}
	w.showHold()
	return true
}

// endMonopoly tells the slice that ends now, on its carrier, if it was a monopoly.
func (w *worker) endMonopoly(now flight.Ticks) {
	if m := w.monopoly.Load(); m != nil && m.ticks == w.ticks && w.monopoly.CompareAndSwap(m, nil) {
		w.monopolyOver(m, now)
	}
}

// monopolyOver tells a monopoly that was over at now.
func (w *worker) monopolyOver(m *monopoly, now flight.Ticks) {
	held, victims := max(now.Sub(m.since), 0), w.victims()
	w.fj.tally.monopolies.Add(1)
	w.fj.tally.monopolizedTime.Add(uint64(held))
	w.fj.tally.victims.Add(victims)
	if r := flight.Default(); r.Over(flight.EventMonopolized, now-m.since) {
		r.EmitOn(w.id, now, flight.EventMonopolized, flight.ReasonMonopoly, m.stack, m.thread, uint64(flight.MakeHeld(held, victims)))
	}
}
