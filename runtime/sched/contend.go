package sched

import "github.com/vtscope/vtscope/runtime/flight"

// A contention is what a thread is pinned for while it tries to get a lock, from the first of the parks that it takes on. It is told once, by
// [Task.Contended]: a thread that is woken and finds the lock taken by another has been pinned all the time.
type contention struct {
	on    *carrier
	why   flight.Reason
	stack flight.StackID
	began flight.Ticks
}

// contending stands for a contention in which the thread has not been pinned so far.
var contending = new(contention)

// Contend tells that t, the caller, is about to park for a lock, perhaps more than once, until [Task.Contended].
func (t *Task) Contend() { t.wakeable().contention = contending }

// Contended ends what [Task.Contend] has begun: t, the caller, has the lock or has given up.
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
