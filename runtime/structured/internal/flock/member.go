package flock

import (
	"sync/atomic"

	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/vthread"
)

// Work is what a member's thread does.
type Work interface {
	// Run is called on the thread, once, unless the flock was interrupted while the thread was queued.
	Run()
	// Refused is called instead, anywhere, if the scheduler has refused a thread that was queued.
	Refused(err error)
}

// A Member is a thread of a flock, or one that is to be. [Flock.Start] makes it one.
type Member struct {
	flock          *Flock
	work           Work
	thread         atomic.Pointer[vthread.Thread] // stored by its maker and by itself, whoever is first
	dropped        bool                           // stored before the thread is started, as of the queue
	next, previous *Member                        // among the workers; guarded by the flock's mu
}

// Thread returns the member's thread, or nil if it has none.
func (m *Member) Thread() *vthread.Thread { return m.thread.Load() }

// run is the thread.
func (m *Member) run() {
	me := vthread.Current()
	m.thread.Store(me)
	defer m.flock.leave(m)
	if m.dropped {
		return
	}
	if m.flock.herded.Load() { // F3
		_ = me.Interrupt() // it runs: nobody can refuse it
	}
	m.work.Run()
}

// runHere is run for a thread that may end before whoever starts it knows of it.
func (m *Member) runHere() {
	m.flock.event(flight.EventScopeFork, vthread.Current().ID())
	m.run()
}

// start starts the thread of a member that was queued. A refusal is told to its work; then start returns false, and the caller lets it leave.
func (m *Member) start() bool {
	err := m.thread.Load().Start()
	if err == nil {
		return true
	}
	m.work.Refused(err)
	m.flock.ended(nil, 0)
	return false
}
