package spin

import (
	"runtime"
	"sync/atomic"
)

// A Mutex is a mutual exclusion lock. Who has to wait for it lets other goroutines run meanwhile. Its zero value is unlocked.
type Mutex struct{ held atomic.Uint32 }

// Lock takes the lock.
func (l *Mutex) Lock() {
	if !l.held.CompareAndSwap(0, 1) {
		l.wait()
	}
}

func (l *Mutex) wait() {
	for {
		runtime.Gosched()
		if l.TryLock() {
			return
		}
	}
}

// TryLock takes the lock if it is free, and reports whether it did.
func (l *Mutex) TryLock() bool { return l.held.CompareAndSwap(0, 1) }

// Unlock frees the lock.
func (l *Mutex) Unlock() { l.held.Store(0) }
