package vsync

import "github.com/vtscope/vtscope/runtime/sched"

// In a simulation others may come in between before and after each operation, and its script shows who holds what.

func (m *Mutex) tryLockSimulated() bool {
	sched.Point(sched.OpLock, m.blocker())
	if !m.tryLock() {
		return false
	}
	sched.Note(sched.OpLocked, m.blocker())
	return true
}

func (m *Mutex) lockSimulated() {
	sched.Point(sched.OpLock, m.blocker())
	if !m.tryLock() {
		m.wait()
	}
	sched.Note(sched.OpLocked, m.blocker())
}

func (m *Mutex) unlockSimulated() {
	sched.Point(sched.OpUnlock, m.blocker())
	if !m.word.CompareAndSwap(held, free) {
		m.handOver()
	}
	sched.Note(sched.OpUnlocked, m.blocker())
	sched.Point(sched.OpUnlocked, m.blocker())
}
