package vsync

import (
	"context"
	"runtime"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/internal/coro"
	"github.com/vtscope/vtscope/runtime/sched"
)

// A Mutex is a lock that one thread or goroutine holds at a time. Its zero value is unlocked. It is not
// re-entrant; see [ReentrantMutex].
//
// Who comes when it is free gets it, also while others wait: that is what makes it fast. But nobody is overtaken for longer than 1 ms: then it
// is handed over in the order in which they came.
type Mutex struct {
	// X1  word holds flags and the holder. queued tells that waiters is not empty, or all have given up. Only the fast paths change word without the lock of waiters, and only
	//     between free and locked.
	// X2  woken is a token that at most one has: a waiter that was taken out to try again. While there is it, Unlock wakes nobody. Who has it and
	//     finds the lock held returns to the queue, as the first, and gives the token up; if it has waited for 1 ms, the next Unlock hands it the lock, which is
	//     not free in between.
	// X3  overdue tells that the lock, when it is free, is for who has the token: who has overtaken it sets the flag, after 1 ms. Who comes then queues, though the
	//     lock is free.

	word    atomic.Uint64
	waiters waiters

	wokenAt   atomic.Int64 // when the token was given, as now tells
	overtaken uint32       // how often who has the token was overtaken; only who has locked the lock touches it
	tookAt    int64        // when somebody who had waited took it, as now tells; touched likewise

	told account
}

// The flags of a Mutex.
const (
	locked uint64 = 1 << iota
	queued
	woken
	overdue
	simulated // it was locked in a simulation: Unlock is a point, too

	mutexFlags = locked | queued | woken | overdue | simulated
)

// patience is how long who comes later may overtake.
const patience = time.Millisecond

// holderBits is how many bits of a word are below the holder: the flags, and one that tells that it is a goroutine.
const holderBits = 6

// holderOf returns the caller, on which me is mounted, as a holder.
func holderOf(me *sched.Task) uint64 {
	if me == nil {
		return uint64(coro.Goroutine())<<holderBits | 1<<(holderBits-1)
	}
	return uint64(me.ID()) << holderBits
}

// partyOf returns the holder that a word tells.
func partyOf(word uint64) flight.Party {
	if word&(1<<(holderBits-1)) != 0 {
		return flight.PartyGoroutine(uintptr(word >> holderBits))
	}
	return flight.PartyThread(flight.ThreadID(word >> holderBits))
}

// SetName gives m a name, which dumps show with the place where that was done. It must be called before anybody uses m.
func (m *Mutex) SetName(name string) { m.told.setName(name) }

// TryLock takes the lock if nobody holds it, and reports whether it did. It does not block.
func (m *Mutex) TryLock() bool {
	if sched.Simulating() {
		return m.tryLockSimulated()
	}
	return m.try(holderOf(sched.Current()), 0)
}

// try takes the lock if it is free for the caller, who has the token, or none, and takes that too.
func (m *Mutex) try(self, token uint64) bool {
	for {
		w := m.word.Load()
		if !freeFor(w, token) {
			return false
		}
		if m.take(w, self, token) {
			return true
		}
	}
}

// freeFor reports whether who has the token, or none, may take a lock whose word is w.
func freeFor(w, token uint64) bool { return w&locked == 0 && w&overdue <= token }

// take takes the lock, whose word was w.
func (m *Mutex) take(w, self, token uint64) bool {
	if !m.word.CompareAndSwap(w, w&^token|self|locked) {
		return false
	}
	if w&^token&woken != 0 {
		m.overtake()
	}
	return true
}

// overtake is called by who has the lock before who has the token.
func (m *Mutex) overtake() {
	m.overtaken++
	if m.overtaken%16 == 0 && now()-time.Duration(m.wokenAt.Load()) >= patience {
		for {
			w := m.word.Load()
			if w&woken == 0 || m.word.CompareAndSwap(w, w|overdue) {
				return
			}
		}
	}
}

// Lock takes the lock. While somebody else holds it, a thread parks and a goroutine blocks. Interrupts play no part.
func (m *Mutex) Lock() {
	if sched.Simulating() {
		m.lockSimulated()
		return
	}
	me := sched.Current()
	self := holderOf(me)
	if !m.word.CompareAndSwap(0, self|locked) && !m.try(self, 0) {
		_ = m.lock(me, always, flight.ReasonLock, m)
	}
}

// LockInterruptibly is [Mutex.Lock] for who may be interrupted: if the calling thread is while it waits, or was before, LockInterruptibly clears the interrupt
// status and returns [ErrInterrupted], without the lock.
func (m *Mutex) LockInterruptibly() error { return m.lockWithin(alert) }

// LockFor is [Mutex.LockInterruptibly] for at most d; then it returns [ErrTimeout].
func (m *Mutex) LockFor(d time.Duration) error { return m.lockWithin(within(d)) }

// LockContext is [Mutex.LockInterruptibly] that also returns when ctx ends, or had ended before, with its cause.
func (m *Mutex) LockContext(ctx context.Context) error { return m.lockWithin(inContext(ctx)) }

func (m *Mutex) lockWithin(l *sched.Limits) error {
	me := sched.Current()
	if err := ended(me, l); err != nil {
		return err
	}
	if sched.Simulating() {
		return m.lockWithinSimulated(me, l)
	}
	return m.lock(me, l, flight.ReasonLock, m)
}

// lock takes the lock, which is that of s, within limits for the caller, on which me is mounted.
func (m *Mutex) lock(me *sched.Task, l *sched.Limits, why flight.Reason, s synchronizer) error {
	if err := m.await(me, l, why, s); err != nil {
		return err
	}
	if err := l.Late(); err != nil {
		m.release(s)
		return err
	}
	return nil
}

func (m *Mutex) await(me *sched.Task, l *sched.Limits, why flight.Reason, s synchronizer) error {
	self := holderOf(me)
	if m.spin(self, 0) {
		return nil
	}
	waited := false
	if me != nil {
		me.Contend()
	}
	defer func() {
		if me != nil {
			me.Contended()
		}
		if waited {
			s.account().again(s)
		}
	}()
	var token uint64
	for since := now(); ; {
		n := &waiter{since: since, holder: self, tried: waited}
		if !m.queue(n.ready(me, l, s, m), token) {
			return nil
		}
		waited = true
		got, err := m.waiters.await(n, l, why, s)
		switch {
		case err != nil:
			return err
		case !got:
			token = 0
		case n.handed:
			return nil
		default:
			token = woken | overdue
			if m.spin(self, token) {
				m.tookAt = int64(now())
				return nil
			}
		}
	}
}

// spin tries to get a lock that is not held for long, and returns whether it did.
func (m *Mutex) spin(self, token uint64) bool {
	if processors == 1 || sched.Simulating() {
		return m.try(self, token)
	}
	for range spins {
		if freeFor(m.word.Load(), token) {
			return m.try(self, token)
		}
	}
	return false
}

// spins is how often a lock is looked at before its waiter queues: less than a microsecond.
const spins = 100

// processors is how many there are for goroutines, when the program begins: with one, a lock is not freed while somebody spins.
var processors = runtime.GOMAXPROCS(0)

// queue lets n wait, as the first if it was woken before; the token, if it has it, it returns. It returns false if the lock was free: then n has it.
func (m *Mutex) queue(n *waiter, token uint64) bool {
	q := &m.waiters
	q.Lock()
	defer q.Unlock()
	for {
		w := m.word.Load()
		if freeFor(w, token) {
			if m.take(w, n.holder, token) {
				return false
			}
		} else if m.word.CompareAndSwap(w, w&^token|queued) {
			break
		}
	}
	if n.tried {
		q.pushFirstLocked(n)
	} else {
		q.pushLocked(n)
	}
	return true
}

// Unlock frees the lock, or hands it to who has waited for long. Anybody may call it, not only who took the lock. It does not
// block. It panics if the lock is free.
func (m *Mutex) Unlock() {
	// It is that word only if it is locked, and has no other flag.
	if !m.word.CompareAndSwap(m.word.Load()&^mutexFlags|locked, 0) {
		m.unlock()
	}
}

func (m *Mutex) unlock() {
	if sched.Simulating() {
		m.unlockSimulated()
	} else {
		m.release(m)
	}
}

// release frees the lock, which is that of s.
func (m *Mutex) release(s synchronizer) {
	for {
		switch w := m.word.Load(); {
		case w&locked == 0:
			panic("vsync: unlock of unlocked mutex")
		case w&(queued|woken) == queued: // and not overdue
			if m.releaseQueued(s) {
				return
			}
		case m.word.CompareAndSwap(w, w&(queued|woken|overdue)):
			return
		}
	}
}

// releaseQueued is release while somebody waits and nobody has the token. It returns false if that has changed, or who was handed the lock
// was refused: the caller holds it still.
func (m *Mutex) releaseQueued(s synchronizer) bool {
	q := &m.waiters
	q.Lock()
	n := q.first
	if n == nil {
		m.word.And(^queued) // all have given up
		q.Unlock()
		return false
	}
	q.takeLocked(n)
	w, at := woken, now()
	held := at - max(n.since, time.Duration(m.wokenAt.Load()), time.Duration(m.tookAt))
	if n.handed = n.tried && at-n.since >= patience; n.handed {
		w = n.holder | locked
		m.tookAt = int64(at)
	} else {
		m.overtaken = 0
		m.wokenAt.Store(int64(at))
	}
	if q.n > 0 {
		w |= queued
	}
	waiting := q.n + 1
	m.word.Store(w)
	q.Unlock()
	woke := n.wake()
	sched.NoteHold(s.blocker(), s.account().name(), held, waiting) // nobody waits for that
	if woke {
		return true
	}
	if n.handed {
		return false
	}
	m.passToken()
	return true
}

// takeBack is that of [giver]: n was handed the lock, or has the token.
func (m *Mutex) takeBack(n *waiter) {
	q := &m.waiters
	q.Lock()
	if !q.takeBackLocked(n) {
		q.Unlock()
		return
	}
	for n.handed { // then the lock gets free, and the token is there instead
		if w := m.word.Load(); m.word.CompareAndSwap(w, w&queued|woken) {
			break
		}
	}
	q.Unlock()
	m.passToken()
}

// passToken gives the token to the next waiter, or up.
func (m *Mutex) passToken() {
	q := &m.waiters
	for {
		q.Lock()
		w := m.word.Load()
		n := q.first
		if n == nil || w&locked != 0 {
			w1 := w &^ (woken | overdue)
			if n == nil {
				w1 &^= queued
			}
			done := m.word.CompareAndSwap(w, w1)
			q.Unlock()
			if done {
				return
			}
			continue
		}
		q.takeLocked(n)
		n.handed = false
		m.wokenAt.Store(int64(now()))
		m.word.And(^overdue)
		if q.n == 0 {
			m.word.And(^queued)
		}
		q.Unlock()
		if n.wake() {
			return
		}
	}
}

// holds reports whether the caller, on which me is mounted, holds the lock.
func (m *Mutex) holds(me *sched.Task) bool {
	w := m.word.Load()
	return w&locked != 0 && w&^mutexFlags == holderOf(me)
}

func (m *Mutex) blocker() flight.Blocker {
	return flight.BlockAt(flight.BlockedByMutex, uintptr(unsafe.Pointer(m)))
}

func (m *Mutex) account() *account { return &m.told }
func (m *Mutex) capacity() uint64  { return 0 }

func (m *Mutex) tell(r *flight.BlockerRecord, waiting int) {
	if w := m.word.Load(); w&locked != 0 {
		r.HeldBy(partyOf(w), 0)
	} else {
		r.SetHolders(0)
	}
	r.Count(0, waiting)
}
