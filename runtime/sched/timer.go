package sched

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/internal/coro"
)

// A timer ends one timed park of a task, if nothing else has. It also keeps what else only some tasks need.
//
//	M1  fired is set before the timer looks at the task, and the task's departure looks at fired after it
//	    has become paused. So one of them sees the other, and the move from paused to runnable decides who
//	    submits the task.
//	M2  The number in the task's word (K5) was taken when the timer was armed; a later park has another.
//	M3  ended is written by whoever has moved the task from paused or blocked to runnable for the timer, before the task goes on. A timer that fires after
//	    somebody else has done that, and before the task goes on, has not ended the park: then the permit was for that one.
type timer struct {
	task   *Task
	entry  uint32 // the number of its newest entry in the heap; guarded by timers.mu, as queued is
	queued bool   // which is not dead
	park   uint32 // the number of the park, in its place in the word
	was    uint32 // the word of the task that it has just made runnable, and owns
	fired  atomic.Bool
	ended  bool // it has ended the park; see M3
	armed  bool // the task's own

	bubbled *time.Timer   // instead of the heap, for threads in a synctest bubble; guarded by timers.mu
	unpin   chan struct{} // wakes the task while it is blocked (K4); lazily made

	simulated *Simulated    // in whose list it is, instead of the heap
	when      time.Duration // there, since epoch

	waiter Waiter // see NewWaiter

	contention *contention // of the task, while it tries to get a lock; else nil
}

// wakeable returns t's timer, which its routine lends it. Only t itself calls it.
func (t *Task) wakeable() *timer {
	if t.timer == nil {
		t.timer = t.borrow(coro.Self())
	}
	return t.timer
}

func (t *Task) borrow(r *coro.Routine) *timer {
	if r.Inner != nil {
		// The routine of a continuation, which may have another task before t ends.
		return &timer{task: t}
	}
	if r.Lent == nil {
		r.Lent = unsafe.Pointer(new(timer))
	}
	m := (*timer)(r.Lent)
	m.task = t
	return m
}

// epoch is what timers count from; the monotonic clock.
var epoch = time.Now()

// After is the time d from now, counted from the package's epoch, as [Task.ParkUntil] wants it.
func After(d time.Duration) time.Duration {
	now := time.Since(epoch)
	if when := now + d; when >= now || d < 0 {
		return when
	}
	return 1<<63 - 1 // in centuries
}

// arm starts the timer for the park of t that is about to begin.
func (m *timer) arm(t *Task, when time.Duration, park uint32) {
	m.fired.Store(false)
	m.ended = false
	m.park = park
	m.armed = true
	if s, ok := t.sched.(*Simulated); ok {
		s.arm(m, when)
		return
	}
	if _, bubbled := t.sched.(goroutines); bubbled || when < 0 { // whatever scheduler a bubble has: see bubbled
		timers.mu.Lock()
		defer timers.mu.Unlock()
		m.bubbled = time.AfterFunc(when-time.Since(epoch), func() {
			timers.mu.Lock()
			var late *Task
			if m.bubbled != nil && m.park == park { // else it was disarmed meanwhile
				late = m.expire()
			}
			timers.mu.Unlock()
			if late != nil {
				_ = late.ready(nil, m.was) // refused, it stays parked, as for Unpark
			}
		})
		return
	}
	timers.add(m, when)
}

// disarm stops the timer and reports whether it had ended the park. When it had fired, the expiry may be under way still, but looks at nothing but the task's
// word, which is of another park (K5) before the timer is armed again.
func (m *timer) disarm() (ended bool) {
	m.armed = false
	switch {
	case m.simulated != nil:
		m.simulated.disarm(m)
	case m.bubbled != nil:
		timers.mu.Lock()
		m.bubbled.Stop()
		m.bubbled = nil
		timers.mu.Unlock()
	case !m.fired.Load():
		timers.remove(m) // waits for an expiry under way
	}
	return m.ended
}

// noteLate records that the timer fires later than it should, if it is much.
func (m *timer) noteLate(by time.Duration) {
	if r := flight.Default(); r.Over(flight.EventTimerLate, flight.Ticks(0).Add(by)) {
		r.Emit(flight.Now(), flight.EventTimerLate, 0, 0, m.task.id, uint64(by))
	}
}

// expire ends the park. It returns the task if the caller has to submit it.
func (m *timer) expire() *Task {
	t, park := m.task, m.park // before fired: see disarm
	m.fired.Store(true)       // M1
	for {
		w := t.word.Load()
		if w&^lowMask != park { // M2
			return nil
		}
		switch w & stateMask {
		case paused:
			if t.word.CompareAndSwap(w, park|runnable) {
				m.was, m.ended = w, true
				return t
			}
		case blocked:
			if t.word.CompareAndSwap(w, park|runnable) {
				m.ended = true
				t.unblock(w, nil)
				return nil
			}
		default:
			return nil // awake already, or about to leave: M1
		}
	}
}

// firedBefore reports whether the timer fired before the caller moved t to the word w, paused or blocked; then the
// caller has moved it back to runnable, and owns it again (M1).
func (m *timer) firedBefore(t *Task, w uint32) bool {
	if !m.fired.Load() || !t.word.CompareAndSwap(w, w&^lowMask|runnable) {
		return false
	}
	m.ended = true
	return true
}

// timers holds all armed timers but those of synctest bubbles. One goroutine serves them.
var timers = timerHeap{wake: make(chan struct{}, 1)}

// ArmedTimers returns how many threads sleep or park for a time, those in synctest bubbles left out. Tests look for leaks with it.
func ArmedTimers() int {
	timers.mu.Lock()
	defer timers.mu.Unlock()
	return len(timers.mu.heap) - timers.mu.dead
}

// A timerHeap holds armed timers.
//
//	E1  An entry whose timer was disarmed is dead. It stays until its time comes, or half of the entries are dead. So no timer needs
//	    to know its place, and moving an entry touches nothing but the heap.
type timerHeap struct {
	mu struct {
		sync.Mutex
		heap    []timerEntry // four children each
		dead    int
		alarm   time.Duration // when the goroutine of the timers looks again by itself
		serving bool
	}
	wake chan struct{}
}

type timerEntry struct {
	when   time.Duration // since epoch
	timer  *timer
	number uint32
}

func (e timerEntry) dead() bool { return !e.timer.queued || e.timer.entry != e.number }

func (h *timerHeap) add(m *timer, when time.Duration) {
	h.mu.Lock()
	m.entry++
	m.queued = true
	h.mu.heap = append(h.mu.heap, timerEntry{when, m, m.entry})
	h.up(len(h.mu.heap) - 1)
	first := when < h.mu.alarm
	if first {
		h.mu.alarm = when
	}
	start := !h.mu.serving
	h.mu.serving = true
	h.mu.Unlock()
	if start {
		nursery <- h.serve
	}
	if first {
		select {
		case h.wake <- struct{}{}:
		default:
		}
	}
}

// fewDead are not worth a look at all entries.
const fewDead = 64

func (h *timerHeap) remove(m *timer) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !m.queued {
		return
	}
	m.queued = false
	h.mu.dead++
	if h.mu.dead > fewDead && h.mu.dead > len(h.mu.heap)/2 {
		h.bury()
	}
}

// bury drops all dead entries.
func (h *timerHeap) bury() {
	live := slices.DeleteFunc(h.mu.heap, timerEntry.dead)
	h.mu.heap, h.mu.dead = live, 0
	for i := (len(live)+2)/4 - 1; i >= 0; i-- { // those that have children
		h.down(i)
	}
	h.shrink()
}

// pop takes out the first.
func (h *timerHeap) pop() timerEntry {
	heap := h.mu.heap
	e, last := heap[0], len(heap)-1
	heap[0] = heap[last]
	heap[last] = timerEntry{}
	h.mu.heap = heap[:last]
	if last > 1 {
		h.down(0)
	}
	h.shrink()
	return e
}

func (h *timerHeap) shrink() {
	if heap := h.mu.heap; cap(heap) > 4096 && len(heap) < cap(heap)/4 {
		h.mu.heap = append(make([]timerEntry, 0, cap(heap)/2), heap...)
	}
}

func (h *timerHeap) up(i int) {
	heap := h.mu.heap
	e := heap[i]
	for i > 0 {
		p := (i - 1) / 4
		if heap[p].when <= e.when {
			break
		}
		heap[i] = heap[p]
		i = p
	}
	heap[i] = e
}

func (h *timerHeap) down(i int) {
	heap := h.mu.heap
	e := heap[i]
	for 4*i+1 < len(heap) {
		least := 4*i + 1
		for c := least + 1; c < min(4*i+5, len(heap)); c++ {
			if heap[c].when < heap[least].when {
				least = c
			}
		}
		if heap[least].when >= e.when {
			break
		}
		heap[i] = heap[least]
		i = least
	}
	heap[i] = e
}

// serve is the goroutine of the timers.
func (h *timerHeap) serve() {
	alarm := time.NewTimer(time.Hour)
	for {
		wait, due := h.due()
		readyAll(due)
		clear(due)
		if wait == 0 {
			continue
		}
		alarm.Reset(wait)
		select {
		case <-alarm.C:
		case <-h.wake:
		}
	}
}

// due takes out what has expired, at most a few hundred at a time, and says how long to wait for more.
func (h *timerHeap) due() (wait time.Duration, woken []*Task) {
	h.mu.Lock()
	defer h.mu.Unlock()
	now := time.Since(epoch)
	h.mu.alarm = now + time.Hour
	for n := 0; len(h.mu.heap) > 0; n++ {
		if w := h.mu.heap[0].when - now; w > 0 {
			h.mu.alarm = h.mu.heap[0].when
			return w, woken
		}
		if n == 512 {
			h.mu.alarm = now
			return 0, woken
		}
		e := h.pop()
		if e.dead() {
			h.mu.dead--
			continue
		}
		e.timer.queued = false
		e.timer.noteLate(now - e.when)
		// Under the lock, so that remove returns only when the timer has done with the task.
		if t := e.timer.expire(); t != nil {
			woken = append(woken, t)
		}
	}
	return time.Hour, woken
}

// readyAll submits tasks that were moved to runnable, those of a ForkJoin together.
func readyAll(woken []*Task) {
	var fj *ForkJoin
	var first, last *Task
	n := 0
	flush := func() {
		if n > 0 && fj.enter(first, last, n) != nil {
			// It was closed under its sleeping threads: they stay parked.
			fj.tally.rejections.Add(uint64(n))
			for t := first; t != nil; {
				next := t.link
				t.link = nil
				t.recordRefusal(nil)
				for !t.refused(t.timer.was, flight.ReasonNone) && t.submit(nil) != nil {
				}
				t = next
			}
		}
		first, last, n = nil, nil, 0
	}
	for _, t := range woken {
		to, ok := t.sched.(*ForkJoin)
		if !ok {
			_ = t.ready(nil, t.timer.was) // refused, it stays parked, as for Unpark
			continue
		}
		if to != fj {
			flush()
			fj = to
		}
		t.moved(flight.StateRunnable)
		t.recordUnpark(nil)
		if last == nil {
			first = t
		} else {
			last.link = t
		}
		last = t
		n++
	}
	flush()
}
