package sched

// Asleep reports whether nobody of the scheduler does anything until it is woken.
func (fj *ForkJoin) Asleep() bool {
	fj.mu.Lock()
	defer fj.mu.Unlock()
	return len(fj.mu.idle) == len(fj.all()) && !fj.watching.Load()
}

// Carriers returns how many there are, or were asked for.
func (fj *ForkJoin) Carriers() int {
	fj.mu.Lock()
	defer fj.mu.Unlock()
	return len(fj.all()) + fj.mu.starting
}

// Move gives a parked task another scheduler.
func Move(t *Task, s Scheduler) { t.sched = s }

// UnparkHalfway is [Task.Unpark] of a task that is pinned, by somebody who is kept from it halfway. It reports whether the task is pinned.
func UnparkHalfway(t *Task, meanwhile func()) bool {
	w := t.word.Load()
	if w&stateMask != blocked || !t.word.CompareAndSwap(w, w&^lowMask|runnable) {
		return false
	}
	meanwhile()
	t.unblock(w, Current())
	return true
}

// Expire makes the time of a task that is parked for some time be over.
func Expire(t *Task) {
	h := &timers
	h.mu.Lock()
	for i := range h.mu.heap {
		if e := &h.mu.heap[i]; e.timer == t.timer && !e.dead() {
			e.when = 0
			h.up(i)
			break
		}
	}
	h.mu.Unlock()
	select {
	case h.wake <- struct{}{}:
	default:
	}
}

// Fired reports whether the timer of a task has looked at it since it was armed.
func Fired(t *Task) bool { return t.timer.fired.Load() }

// RetireIdle ends the idle routines that all schedulers share, as far as that is possible.
func RetireIdle() { routines.retire(func() int { return routines.mu.n }) }

// Bubble is the scheduler of threads that are started in a synctest bubble.
var Bubble Scheduler = goroutines{}

// LockShared locks the shared queue until unlock is called.
func (fj *ForkJoin) LockShared() (unlock func()) {
	fj.shared.Lock()
	return fj.shared.Unlock
}

// StoodFor returns for how many ticks the watchdog has seen a carrier stand still.
func (fj *ForkJoin) StoodFor() (ticks int) {
	fj.mu.Lock()
	defer fj.mu.Unlock()
	for _, w := range fj.all() {
		ticks = max(ticks, int(w.seen.stood))
	}
	return ticks
}
