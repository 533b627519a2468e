package sched

import "github.com/vtscope/vtscope/runtime/flight"

// A contention is the pin of a thread that tries to acquire a lock. It begins with the first park and
// lasts until [Task.Contended] reports it, once: a thread that wakes and finds the lock taken again has
// been pinned all the time.
type contention struct {
	on    *carrier
	why   flight.Reason
	stack flight.StackID
	began flight.Ticks
}

// contending marks a contention in which the thread has not been pinned yet.
var contending = new(contention)

// Contend notes that t, the caller, is about to park for a lock, perhaps repeatedly, until
// [Task.Contended].
func (t *Task) Contend() { t.wakeable().contention = contending }

// Contended ends what [Task.Contend] began: t, the caller, holds the lock or has given up.
func (t *Task) Contended() {
	m := t.wakeable()
	p := m.contention
	m.contention = nil
	if p != nil && p != contending {
		p.on.pinOver(t, p.why, p.stack, p.began, flight.Now())
	}
}

// isPinned reports whether t has been pinned since [Task.Contend].
func (m *timer) isPinned() bool { return m.contention != nil && m.contention != contending }
