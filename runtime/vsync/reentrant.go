package vsync

import (
	"context"
	"time"

	"github.com/vtscope/vtscope/runtime/sched"
)

// A ReentrantMutex is a [Mutex] that belongs to the thread or goroutine that holds it: who holds it may lock it again, and only who holds
// it unlocks it, as often as it has locked it. Its zero value is unlocked. A thread keeps what it holds when it changes carriers, and a
// carrier holds nothing.
type ReentrantMutex struct {
	mu   Mutex
	more int // how often who holds mu has locked it again; nobody else touches it
}

// SetName gives m a name, which dumps show with the place where that was done. It must be called before anybody uses m.
func (m *ReentrantMutex) SetName(name string) { m.mu.told.setName(name) }

// TryLock takes the lock if nobody else holds it, and reports whether it did. It does not block.
func (m *ReentrantMutex) TryLock() bool { return m.again(sched.Current()) || m.mu.TryLock() }

// Lock is [Mutex.Lock], or locks once more what the caller holds.
func (m *ReentrantMutex) Lock() {
	if !m.again(sched.Current()) {
		m.mu.Lock()
	}
}

// LockInterruptibly is [Mutex.LockInterruptibly], or locks once more what the caller holds.
func (m *ReentrantMutex) LockInterruptibly() error { return m.lockWithin(alert) }

// LockFor is [Mutex.LockFor], or locks once more what the caller holds.
func (m *ReentrantMutex) LockFor(d time.Duration) error { return m.lockWithin(within(d)) }

// LockContext is [Mutex.LockContext], or locks once more what the caller holds.
func (m *ReentrantMutex) LockContext(ctx context.Context) error { return m.lockWithin(inContext(ctx)) }

func (m *ReentrantMutex) lockWithin(l *sched.Limits) error {
	me := sched.Current()
	if err := ended(me, l); err != nil {
		return err
	}
	if m.again(me) {
		return nil
	}
	return m.mu.lockWithin(l)
}

func (m *ReentrantMutex) again(me *sched.Task) bool {
	if !m.mu.holds(me) {
		return false
	}
	m.more++
	return true
}

// times is how often the caller has locked m, for [Cond.Wait]: at least 1, whoever holds m.
func (m *ReentrantMutex) times() int {
	if !m.Held() {
		return 1
	}
	return 1 + m.more
}

// Unlock undoes one Lock; the last one is [Mutex.Unlock]. It panics if the caller does not hold the lock.
func (m *ReentrantMutex) Unlock() {
	switch {
	case !m.Held():
		if m.mu.word.Load()&locked == 0 {
			panic("vsync: unlock of unlocked reentrant mutex")
		}
		panic("vsync: unlock of reentrant mutex that another holds")
	case m.more > 0:
		m.more--
	default:
		m.mu.Unlock()
	}
}

// Held reports whether the caller holds the lock.
func (m *ReentrantMutex) Held() bool { return m.mu.holds(sched.Current()) }
