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

// mountedThread returns the task that is mounted, or was a moment ago, its id and the goroutine it began on. All of it was
// written before the task could be mounted.
//
//go:norace
func (w *worker) mountedThread() (t *Task, id flight.ThreadID, g uintptr) {
	if t = w.mounted; t == nil {
		return nil, 0, 0
	}
	return t, t.id, t.rec.G()
}

// beganOn returns the goroutine on which t, which was started, has begun, 0 if it is not known. Who looks at a thread from elsewhere has seen that
// it was mounted, as plainly as the carrier writes that.
//
//go:norace
func (t *Task) beganOn() uintptr { return t.rec.G() }

// setMounted is as plain as progress.
//
//go:norace
func (c *carrier) setMounted(t *Task) { c.mounted = t }

// setGoroutine is as plain as progress.
//
//go:norace
func (c *carrier) setGoroutine(g uintptr) { c.g = g }

// goroutineOf returns the goroutine that t, which is mounted on c, executes on, 0 if it is not known.
//
//go:norace
func (c *carrier) goroutineOf(t *Task) uintptr {
	if t.rec == nil {
		return c.g
	}
	return t.rec.G()
}

// setHeld notes the mounted thread that blocks in Go, for [Task.State]; 0 for none. Only the watchdog calls it.
//
//go:norace
func (w *worker) setHeld(id flight.ThreadID) { w.held = id }

// mountedSeen reports whether t is mounted, or was a moment ago, and whether it blocks in Go there.
//
//go:norace
func (t *Task) mountedSeen() (mounted, held bool) {
	c := t.on
	if c == nil || c.mounted != t {
		return false, false
	}
	w := c.worker
	return true, w != nil && w.held == t.id
}

// looksEmpty reports whether there is nothing to take, without the lock. The answer may be old at once, but a caller who has
// made an atomic change before it calls sees every task that was put by somebody who had not seen
// that change (F1): the lock's release and the change order them.
//
//go:norace
func (q *runQueue) looksEmpty() bool { return q.mu.n == 0 }

// length is how many tasks it has, as looksEmpty tells it.
//
//go:norace
func (q *runQueue) length() int { return int(q.mu.n) }

// mountedNow reports whether a task is mounted, and whether it blocks there.
//
//go:norace
func (w *worker) mountedNow() (mounted, holds bool) {
	t := w.mounted
	return t != nil, t != nil && (w.held == t.id || t.word.Load()&stateMask == blocked)
}

// mountedSince returns since when t, which is recorded, executes on its carrier, and whether it does: not in a pinned park.
//
//go:norace
func (t *Task) mountedSince() (since flight.Ticks, mounted bool) {
	return t.rec.Since(), t.rec.State() == flight.StateMounted
}
