package sched

import "github.com/vtscope/vtscope/runtime/flight"

// progress counts what a carrier does: the watchdog holds one whose count stands still for held.
//
// The count is written with plain stores by the carrier and read by the watchdog: an atomic store would cost
// 8 ns on every switch, and a count that is read late only makes the watchdog late. Hence norace.
//
//go:norace
func (w *worker) progress() { w.ticks++ }

//go:norace
func (w *worker) progressSeen() uint32 { return w.ticks }

// mountedSeen returns the task that is mounted, or was a moment ago, its id and the goroutine it began on. All of it was
// written before the task could be mounted.
//
//go:norace
func (w *worker) mountedSeen() (t *Task, id flight.ThreadID, g uintptr) {
	if t = w.mounted; t == nil {
		return nil, 0, 0
	}
	return t, t.id, t.rec.G()
}

// setMounted is as plain as progress.
//
//go:norace
func (w *worker) setMounted(t *Task) { w.mounted = t }

// looksEmpty reports whether there is nothing to take, without the lock. The answer may be old at once, but a caller who has
// made an atomic change before it calls sees every task that was put by somebody who had not seen
// that change (F1): the lock's release and the change order them.
//
//go:norace
func (q *runQueue) looksEmpty() bool { return q.mu.n == 0 }
