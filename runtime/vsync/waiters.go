package vsync

import (
	"runtime"
	"sync/atomic"
	"time"

	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/internal/spin"
	"github.com/vtscope/vtscope/runtime/sched"
)

// waiters are those who wait for something, first come first. The lock guards what the synchronizer knows of them, too. It is held for a
// few instructions, never at a point of a simulation, and nobody is woken by who holds it.
//
//	W1  Who takes a waiter out has given it what it waits for, and wakes it afterwards.
//	W2  Who gives up, and finds itself taken out, has what it was given, and has not given up.
//	W3  A thread that its scheduler refuses to let go on gets nothing: wake takes back what it was given, unless somebody else has made it go on
//	    meanwhile.
//	W4  What a thread was given that has no carrier to take it on is taken back for who needs none of those carriers ([gifts]).
type waiters struct {
	spin.Mutex
	first, last *waiter
	n           int
	home        uintptr // of the first that came while nobody waited
	others      int     // how many have another home than that
}

// Lock takes the lock. It is free soon.
func (q *waiters) Lock() {
	for range tries {
		if q.Mutex.TryLock() {
			return
		}
	}
	q.Mutex.Lock()
}

// tries is how often it is tried before others get the processor.
var tries = func() int {
	if runtime.GOMAXPROCS(0) == 1 {
		return 1
	}
	return 50
}()

// A waiter is one who waits, once.
type waiter struct {
	next, prev *waiter // guarded by the lock of waiters

	state  atomic.Uint32
	in     bool // guarded by the lock of waiters
	late   bool // see gift
	tried  bool // it was woken before, and found the lock held, or came too late
	handed bool // it was given the lock, the element, the room, the end of the round

	task    *sched.Task // nil: a goroutine, or it has arrived
	home    uintptr     // [sched.Task.Home]; 0: a goroutine, or a thread that has its carrier while it waits
	sleeper *sched.Waiter
	since   time.Duration // when it began to wait, as now tells

	// For [gifts].
	told *account
	from giver   // nil: what it is given is nobody else's
	gift *waiter // who was given something next; guarded by the lock of gifts, as late is

	// What it wants, and what it was given, as handed: written before it is woken, read by it then.
	holder  uint64 // of a Mutex, see [holderOf]
	permits int64  // of a Semaphore
	number  int64  // of a Barrier's round
	value   any    // of a Queue or an Exchanger: a pointer
}

// The states of a waiter.
const (
	standing uint32 = iota
	given
	taken
	refused
)

// now is the time as limits have it. In a simulation it is virtual.
func now() time.Duration { return sched.After(0) }

// ready makes n a waiter for the caller, on which me is mounted, within limits. What it gets is of s; from takes it back, nil if nobody else waits for it.
func (n *waiter) ready(me *sched.Task, l *sched.Limits, s synchronizer, from giver) *waiter {
	n.task = me
	if n.since == 0 {
		n.since = now()
	}
	if me != nil && !me.Stays() {
		n.home = me.Home()
		n.told, n.from = s.account(), from
	}
	if me == nil && (l.Context != nil || l.Until != 0) {
		n.sleeper = sched.NewLooseWaiter(nil)
	} else {
		n.sleeper = sched.NewWaiter(me)
	}
	return n
}

func (q *waiters) pushLocked(n *waiter) {
	q.countLocked(n)
	n.prev, n.next = q.last, nil
	if q.last == nil {
		q.first = n
	} else {
		q.last.next = n
	}
	q.last = n
}

func (q *waiters) pushFirstLocked(n *waiter) {
	q.countLocked(n)
	n.prev, n.next = nil, q.first
	if q.first == nil {
		q.last = n
	} else {
		q.first.prev = n
	}
	q.first = n
}

func (q *waiters) countLocked(n *waiter) {
	n.in = true
	if q.n == 0 {
		q.home = n.home
	}
	if n.home != q.home {
		q.others++
	}
	q.n++
}

func (q *waiters) removeLocked(n *waiter) {
	if n.prev == nil {
		q.first = n.next
	} else {
		n.prev.next = n.next
	}
	if n.next == nil {
		q.last = n.prev
	} else {
		n.next.prev = n.prev
	}
	n.prev, n.next = nil, nil
	n.in = false
	if n.home != q.home {
		q.others--
	}
	q.n--
}

// takeLocked takes n out, which the caller gives something (W1).
func (q *waiters) takeLocked(n *waiter) {
	q.removeLocked(n)
	n.state.Store(given)
	if n.from != nil {
		n.told.gave(n, q.n > 0)
	}
}

// takeAllLocked takes all out. The caller wakes them in turn, following next.
func (q *waiters) takeAllLocked() *waiter {
	first := q.first
	for n := first; n != nil; n = n.next {
		n.in, n.prev = false, nil
		n.state.Store(given)
	}
	q.first, q.last, q.n, q.others = nil, nil, 0, 0
	return first
}

// wake lets n go on. It returns false if n's scheduler refuses that: then the caller has again what n was given (W3).
func (n *waiter) wake() bool {
	return n.sleeper.Wake() == nil || !n.state.CompareAndSwap(given, refused)
}

// wakeAll wakes n and those that follow it, whatever their schedulers say.
func wakeAll(n *waiter) {
	for next := n; n != nil; n = next {
		next = n.next
		n.wake()
	}
}

// await blocks the caller, whose waiter n stands in q, until it is given something of s or gives up. The reason tells what a dump shows. If it returns
// false without an error, n was refused (W3) or came too late (W4), and goes on all the same: the caller begins again.
func (q *waiters) await(n *waiter, l *sched.Limits, why flight.Reason, s synchronizer) (got bool, err error) {
	a := s.account()
	a.begin(s)
	a.wants()
	got, err = q.sleep(n, l, pauseFor(l, why, s.blocker()))
	a.end(s)
	return got, err
}

func (q *waiters) sleep(n *waiter, l *sched.Limits, p sched.Pause) (got bool, err error) {
	if l.Interrupts || l.Context != nil || l.Until != 0 {
		err = n.sleeper.WaitWithin(*l, p)
	} else {
		n.sleeper.Wait(p)
	}
	if err == nil {
		return n.arrive(), nil
	}
	q.Lock()
	if n.in {
		q.removeLocked(n)
		q.Unlock()
		return false, err
	}
	q.Unlock()
	n.sleeper.Passed()
	if err == ErrInterrupted {
		_ = n.task.Interrupt() // it stays interrupted. It runs: nobody can refuse it
	}
	return n.arrive(), nil
}

// arrive takes what n was given, if it was not taken back. Nobody else looks at n any more, but perhaps at its state.
func (n *waiter) arrive() bool {
	if !n.state.CompareAndSwap(given, taken) {
		return false
	}
	n.value = nil // [gifts] keeps n for a while
	if n.task != nil {
		n.task, n.sleeper = nil, nil // whoever wakes it has done so
	}
	return true
}

// pauseFor is how a wait within l is shown.
func pauseFor(l *sched.Limits, why flight.Reason, on flight.Blocker) sched.Pause {
	p := sched.Pause{State: flight.StateWaiting, Reason: why, Blocker: on}
	if _, timed := deadline(l); timed {
		p.State = flight.StateTimedParked
	} else if why == flight.ReasonLock {
		p.State = flight.StateBlocked
	}
	return p
}
