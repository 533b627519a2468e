package vsync

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/sched"
)

// An RWMutex is a lock that any number of readers or one writer holds. Its zero value is unlocked. As of a sync.RWMutex, a writer that waits
// keeps new readers out, and the readers that have come meanwhile are next after it. Among writers it is a [Mutex].
type RWMutex struct {
	// Y1  Who writes, or waits until the readers have left, holds writer.
	// Y2  word holds flags and the number of readers. closed: a writer is announced, and no reader enters. waiting: readers is not empty; changed under its
	//     lock. writing: the writer is inside.
	// Y3  At most one waits in drain: who holds writer. The last reader that leaves a closed lock lets it in.

	writer  Mutex
	word    atomic.Uint64
	readers waiters // that wait until the lock is open
	drain   waiters

	told  account
	names *holders // of those who read; nil: it has no name
}

// SetName gives m a name, which dumps show with the place where that was done, and from then on who reads: that makes RLock and RUnlock slower. It must
// be called before anybody uses m.
func (m *RWMutex) SetName(name string) {
	m.told.setName(name)
	m.names = new(holders)
}

const (
	rwClosed uint64 = 1 << iota
	rwWriting
	rwWaiting
	rwReader // what each adds

	rwFlags = rwReader - 1
)

// RLock takes the lock for reading. While a writer holds it, or waits for it, a thread parks and a goroutine blocks. Interrupts play no part.
func (m *RWMutex) RLock() { _ = m.rlock(always) }

// RLockInterruptibly is [RWMutex.RLock] as [Mutex.LockInterruptibly] is Lock.
func (m *RWMutex) RLockInterruptibly() error { return m.rlock(alert) }

// RLockFor is [RWMutex.RLockInterruptibly] for at most d; then it returns [ErrTimeout].
func (m *RWMutex) RLockFor(d time.Duration) error { return m.rlock(within(d)) }

// RLockContext is [RWMutex.RLockInterruptibly] that also returns when ctx ends, or had ended before, with its cause.
func (m *RWMutex) RLockContext(ctx context.Context) error { return m.rlock(inContext(ctx)) }

// TryRLock takes the lock for reading if no writer holds it or waits for it, and reports whether it did. It does not block.
func (m *RWMutex) TryRLock() bool {
	sched.Point(sched.OpLock, m.blocker())
	if !m.tryRead() {
		return false
	}
	m.reads()
	return true
}

// reads notes that the caller reads.
func (m *RWMutex) reads() {
	if m.names != nil {
		m.names.note(party(sched.Current()))
		m.told.again(m)
	}
}

func (m *RWMutex) tryRead() bool {
	for {
		w := m.word.Load()
		if w&rwClosed != 0 {
			return false
		}
		if m.word.CompareAndSwap(w, w+rwReader) {
			return true
		}
	}
}

func (m *RWMutex) rlock(l *sched.Limits) error {
	sched.Point(sched.OpLock, m.blocker())
	if l != always || !m.tryRead() {
		if err := m.waitToRead(l); err != nil {
			return err
		}
		if err := l.Late(); err != nil {
			m.runlock()
			return err
		}
	}
	m.reads()
	return nil
}

func (m *RWMutex) waitToRead(l *sched.Limits) error {
	me := sched.Current()
	if err := ended(me, l); err != nil {
		return err
	}
	for !m.tryRead() {
		n := new(waiter).ready(me, l, m, (*rwReaders)(m))
		if !m.queueReader(n) {
			return nil
		}
		if got, err := m.readers.await(n, l, flight.ReasonLock, m); got || err != nil {
			return err
		}
	}
	return nil
}

// queueReader returns false if the lock is open: then n has it.
func (m *RWMutex) queueReader(n *waiter) bool {
	q := &m.readers
	q.Lock()
	defer q.Unlock()
	for {
		if m.tryRead() {
			return false
		}
		if w := m.word.Load(); w&rwClosed != 0 && m.word.CompareAndSwap(w, w|rwWaiting) {
			q.pushLocked(n)
			return true
		}
	}
}

// RUnlock undoes one RLock. Anybody may call it. It does not block. It panics if nobody reads.
func (m *RWMutex) RUnlock() {
	sched.Point(sched.OpUnlock, m.blocker())
	if m.names != nil {
		m.names.forget(party(sched.Current()))
	}
	m.runlock()
	sched.Point(sched.OpUnlocked, m.blocker())
}

func (m *RWMutex) runlock() {
	for {
		w := m.word.Load()
		if w < rwReader {
			panic("vsync: RUnlock of unlocked RWMutex")
		}
		if !m.word.CompareAndSwap(w, w-rwReader) {
			continue
		}
		if w&rwClosed != 0 && w < 2*rwReader {
			m.admitWriter()
		}
		return
	}
}

// admitWriter lets in who waits until the readers have left, if they have.
func (m *RWMutex) admitWriter() {
	q := &m.drain
	q.Lock()
	n := q.first
	if n == nil || m.word.Load() >= rwReader {
		q.Unlock()
		return
	}
	q.takeLocked(n)
	m.word.Or(rwWriting)
	q.Unlock()
	if m.word.Load()&rwWaiting != 0 || m.writer.word.Load()&queued != 0 {
		m.told.wants() // who waits for the writer stands elsewhere
	}
	if !n.wake() {
		m.unlock()
	}
}

// TryLock takes the lock for writing if nobody holds it, and reports whether it did. It does not block.
func (m *RWMutex) TryLock() bool {
	sched.Point(sched.OpLock, m.blocker())
	if !m.writer.try(holderOf(sched.Current()), 0) {
		return false
	}
	if m.word.CompareAndSwap(0, rwClosed|rwWriting) {
		return true
	}
	m.writer.release(m)
	return false
}

// Lock takes the lock for writing. While somebody holds it, a thread parks and a goroutine blocks. Interrupts play no part.
func (m *RWMutex) Lock() { _ = m.lockWithin(always) }

// LockInterruptibly is [RWMutex.Lock] as [Mutex.LockInterruptibly] is Lock.
func (m *RWMutex) LockInterruptibly() error { return m.lockWithin(alert) }

// LockFor is [RWMutex.LockInterruptibly] for at most d; then it returns [ErrTimeout].
func (m *RWMutex) LockFor(d time.Duration) error { return m.lockWithin(within(d)) }

// LockContext is [RWMutex.LockInterruptibly] that also returns when ctx ends, or had ended before, with its cause.
func (m *RWMutex) LockContext(ctx context.Context) error { return m.lockWithin(inContext(ctx)) }

func (m *RWMutex) lockWithin(l *sched.Limits) error {
	sched.Point(sched.OpLock, m.blocker())
	me := sched.Current()
	if err := ended(me, l); err != nil {
		return err
	}
	if err := m.waitToWrite(me, l); err != nil {
		return err
	}
	if err := l.Late(); err != nil {
		m.unlock()
		return err
	}
	return nil
}

func (m *RWMutex) waitToWrite(me *sched.Task, l *sched.Limits) error {
	for {
		if self := holderOf(me); !m.writer.try(self, 0) {
			if err := m.writer.lock(me, l, flight.ReasonLock, m); err != nil {
				return err
			}
		}
		if m.word.CompareAndSwap(0, rwClosed|rwWriting) {
			return nil
		}
		n := new(waiter).ready(me, l, m, (*rwWriter)(m))
		if !m.announce(n) {
			return nil
		}
		got, err := m.drain.await(n, l, flight.ReasonLock, m)
		switch {
		case err != nil:
			m.unlock()
			return err
		case got:
			return nil
		}
	}
}

// announce closes the lock, and queues n. It returns false if there are no readers: then n writes.
func (m *RWMutex) announce(n *waiter) bool {
	q := &m.drain
	q.Lock()
	defer q.Unlock()
	if m.word.Or(rwClosed) < rwReader { // no other one comes
		m.word.Or(rwWriting)
		return false
	}
	q.pushLocked(n)
	return true
}

// Unlock undoes Lock. Anybody may call it. It does not block. It panics if nobody writes.
func (m *RWMutex) Unlock() {
	sched.Point(sched.OpUnlock, m.blocker())
	if m.word.Load()&rwWriting == 0 {
		panic("vsync: Unlock of unlocked RWMutex")
	}
	m.unlock()
	sched.Point(sched.OpUnlocked, m.blocker())
}

// unlock opens the lock, which who holds writer has closed, to the readers that wait, and then to writers.
func (m *RWMutex) unlock() {
	if !m.word.CompareAndSwap(rwClosed|rwWriting, 0) {
		q := &m.readers
		q.Lock()
		for {
			w := m.word.Load()
			if m.word.CompareAndSwap(w, w&^rwFlags+uint64(q.n)*rwReader) {
				break
			}
		}
		waiting := q.n
		n := q.takeAllLocked()
		for n := n; n != nil; n = n.next {
			if n.from != nil {
				m.told.gave(n, false) // a writer that waits for them says so
			}
		}
		q.Unlock()
		if n != nil { // when all have been woken
			defer sched.NoteHold(m.blocker(), m.told.name(), now()-n.since, waiting)
		}
		for next := n; n != nil; n = next {
			next = n.next
			if !n.wake() {
				m.runlock()
			}
		}
	}
	m.writer.release(m)
}

// rwReaders is the [giver] of those who wait to read. A writer may wait for them in drain, and behind it all others: that one may have no carrier either.
type rwReaders RWMutex

func (m *rwReaders) takeBack(n *waiter) {
	wanted := false
	for _, q := range [...]*waiters{&m.drain, &m.readers, &m.writer.waiters} {
		q.Lock()
		wanted = wanted || q.otherLocked(n) != nil
		q.Unlock()
	}
	q := &m.drain
	q.Lock()
	back := wanted && q.n > 0 && n.state.CompareAndSwap(given, refused)
	q.Unlock()
	if back {
		(*RWMutex)(m).runlock()
	}
}

// rwWriter is the [giver] of who waits in drain. Readers and other writers may wait for it.
type rwWriter RWMutex

func (m *rwWriter) takeBack(n *waiter) {
	back := false
	for _, q := range [...]*waiters{&m.readers, &m.writer.waiters} {
		q.Lock()
		if c := q.otherLocked(n); c != nil && (back || n.state.CompareAndSwap(given, refused)) {
			q.removeLocked(c)
			q.pushFirstLocked(c)
			back = true
		}
		q.Unlock()
	}
	if back {
		(*RWMutex)(m).unlock()
	}
}

// RLocker returns a Locker whose Lock and Unlock are RLock and RUnlock.
func (m *RWMutex) RLocker() sync.Locker { return (*readLocker)(m) }

type readLocker RWMutex

func (l *readLocker) Lock()   { (*RWMutex)(l).RLock() }
func (l *readLocker) Unlock() { (*RWMutex)(l).RUnlock() }

func (m *RWMutex) blocker() flight.Blocker {
	return flight.BlockAt(flight.BlockedByRWMutex, uintptr(unsafe.Pointer(m)))
}

func (m *RWMutex) account() *account { return &m.told }
func (m *RWMutex) capacity() uint64  { return 0 }

func (m *RWMutex) tell(r *flight.BlockerRecord, waiting int) {
	switch w := m.word.Load(); {
	case w&rwWriting != 0:
		r.HeldBy(partyOf(m.writer.word.Load()), 0)
	case m.names != nil:
		m.names.tell(r)
	default:
		r.SetHolders(int(w / rwReader))
	}
	r.Count(0, waiting)
}
