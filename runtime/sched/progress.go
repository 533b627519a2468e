package sched

// progress counts what a carrier does: the watchdog holds one whose count stands still for held.
//
// The count is written with plain stores by the carrier and read by the watchdog: an atomic store would cost
// 8 ns on every switch, and a count that is read late only makes the watchdog late. Hence norace.
//
//go:norace
func (w *worker) progress() { w.ticks++ }

//go:norace
func (w *worker) progressSeen() uint32 { return w.ticks }

// looksEmpty reports whether there is nothing to take, without the lock. The answer may be old at once, but a caller who has
// made an atomic change before it calls sees every task that was put by somebody who had not seen
// that change (F1): the lock's release and the change order them.
//
//go:norace
func (q *runQueue) looksEmpty() bool { return q.mu.n == 0 }
