package sched

// Asleep reports whether nobody of the scheduler does anything until it is woken.
func (fj *ForkJoin) Asleep() bool {
	fj.mu.Lock()
	defer fj.mu.Unlock()
	return len(fj.mu.idle) == len(fj.all()) && !fj.watching.Load()
}

// Move gives a parked task another scheduler.
func Move(t *Task, s Scheduler) { t.sched = s }

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
