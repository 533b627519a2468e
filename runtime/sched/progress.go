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

// looksEmpty is [runQueue.empty] without the lock: a hint, for those who look again with it before they sleep.
//
//go:norace
func (q *runQueue) looksEmpty() bool { return q.mu.n == 0 }
