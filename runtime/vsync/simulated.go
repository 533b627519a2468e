package vsync

import (
	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/sched"
)

// In a simulation others may come in between before and after each operation, and its script shows who holds what.

func (m *Mutex) tryLockSimulated() bool {
	sched.Point(sched.OpLock, m.blocker())
	if !m.try(holderOf(sched.Current()), 0) {
		return false
	}
	m.lockedSimulated()
	return true
}

func (m *Mutex) lockSimulated() { _ = m.lockWithinSimulated(sched.Current(), always) }

func (m *Mutex) lockWithinSimulated(me *sched.Task, l *sched.Limits) error {
	sched.Point(sched.OpLock, m.blocker())
	if err := m.lock(me, l, flight.ReasonLock, m); err != nil {
		return err
	}
	m.lockedSimulated()
	return nil
}

func (m *Mutex) lockedSimulated() {
	m.word.Or(simulated)
	sched.Note(sched.OpLocked, m.blocker())
}

func (m *Mutex) unlockSimulated() {
	sched.Point(sched.OpUnlock, m.blocker())
	m.release(m)
	sched.Note(sched.OpUnlocked, m.blocker())
	sched.Point(sched.OpUnlocked, m.blocker())
}
