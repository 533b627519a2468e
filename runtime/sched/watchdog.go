package sched

import (
	"time"

	"github.com/vtscope/vtscope/runtime/flight"
)

// watchTick is how often the watchdog looks while anything is queued.
const watchTick = time.Millisecond

// dozeTick is how often it looks while nothing is queued, but carriers are awake.
const dozeTick = 5 * time.Millisecond

// quietTicks is after how many ticks with nothing queued the watchdog goes to sleep.
const quietTicks = 8

// watchIfAsleep wakes the watchdog. It costs one load when it is awake.
func (fj *ForkJoin) watchIfAsleep() {
	if fj.watching.Load() {
		return
	}
	if fj.watching.CompareAndSwap(false, true) {
		fj.nudge <- struct{}{} // has room: only one of us sets watching
	}
}

// stirIfDozing tells a watchdog that sleeps because all carriers did that one is awake.
func (fj *ForkJoin) stirIfDozing() {
	if fj.dozing.Load() && fj.dozing.CompareAndSwap(true, false) {
		select {
		case fj.stir <- struct{}{}:
		default: // the last is not taken yet, and does as well
		}
	}
}

// watch is the watchdog's goroutine: it starts carriers, adds some while all are held, and sleeps when nothing
// is queued.
//
//	W1  A carrier whose thread blocks, or computes for long, is held. For each of those the
//	    limit is one more, so that others are woken or started, now if there are tasks in queues, or when there are; while nearly all block and there
//	    are tasks, as many again may be awake. Those that go on after a moment soon block again, where many block for a moment each: so their number is
//	    forgotten slowly. The limit ends at MaxCarriers; then
//	    there are reliefs (V1).
//	W2  When held carriers come back there are too many: as many as are awake beyond the limit give their queues away at their
//	    next scheduling point, sleep, and stop after a while.
//	W3  What stays in the hand-off slot of a carrier that stands still for a whole tick goes to the shared queue, and when it is held what is in its queue,
//	    too: others may always have something of their own to do, and never steal.
//	W4  While the scheduler closes, all that goes on: the watchdog ends when there is neither a carrier nor a task, and from
//	    then on, decided under the lock of the shared queue, tasks are refused. So what was accepted is executed.
//	W5  While a carrier is awake and nothing is queued, the watchdog looks now and then, to find out who blocks
//	    in operations of Go's own (hold.go).
func (fj *ForkJoin) watch() {
	defer fj.running.Done()
	fj.dozing.Store(true)
	var tick <-chan time.Time
	quiet := 0
	stop, closing := fj.stop, false
	for {
		select {
		case <-fj.starter:
			fj.startCarrier()
			fj.stirIfDozing()
		case <-fj.stir:
			if tick == nil {
				tick = time.After(lookAgain())
			}
		case <-fj.nudge:
			quiet = 0
			tick = time.After(watchTick)
		case <-tick:
			tick = nil
			if closing {
				if fj.ended() { // W4
					fj.noteHolds(nil)
					fj.board.close()
					return
				}
				fj.board.tell(false)
				fj.look()
				tick = time.After(watchTick)
				break
			}
			fj.board.tell(false)
			if fj.look() {
				quiet = 0
				fj.watching.Store(true) // a nudge that comes all the same does no harm
			} else {
				quiet++
			}
			if quiet < quietTicks {
				tick = time.After(watchTick)
				break
			}
			fj.watching.Store(false)
			switch {
			case fj.queued() > 0 && fj.watching.CompareAndSwap(false, true):
				quiet = 0
				tick = time.After(watchTick)
			case fj.anyAwake():
				tick = time.After(lookAgain()) // W5
			default:
				fj.watched.blocked = 0 // nobody is awake, or has blocked for long
				fj.reliefs.forget()
				fj.compensate(0, 0, 0)
				fj.board.tell(true)
				fj.dozing.Store(true)
				if fj.anyAwake() {
					fj.stirIfDozing() // it may not have seen that we doze
				}
			}
		case <-stop:
			stop, closing = nil, true
			tick = time.After(0)
		}
	}
}

// lookAgain is how long the watchdog waits while nothing is queued.
func lookAgain() time.Duration {
	if pins.watched.Load() {
		return watchTick
	}
	return dozeTick
}

// ended reports whether a scheduler that closes has nothing to do any more, and refuses tasks from then on.
func (fj *ForkJoin) ended() bool {
	fj.mu.Lock()
	any := len(fj.all()) > 0 || fj.mu.starting > 0 || fj.reliefs.alive.Load() > 0
	fj.mu.Unlock()
	if any {
		return false
	}
	s := &fj.shared
	s.Lock()
	s.closed = s.n == 0
	closed := s.closed
	s.Unlock()
	if !closed {
		fj.startMore(1) // for a task that came after the last carrier had looked
	}
	return closed
}

// look is one tick. It reports whether anything is queued.
func (fj *ForkJoin) look() (queued bool) {
	fj.mu.Lock()
	workers := fj.all()
	awake := len(workers) - len(fj.mu.idle)
	for _, w := range workers {
		ticks := w.progressSeen()
		w.seen.held = ticks == w.seen.ticks && !w.idle
		w.seen.ticks = ticks
		if w.seen.held {
			w.seen.stood++
		} else {
			w.seen.stood = 0
		}
	}
	fj.mu.Unlock()
	fj.noteHolds(workers)
	n := fj.queued()
	blocked, computing := 0, 0
	for _, w := range workers {
		waited := w.seen.waits
		w.seen.waits = w.handOff.full() || !w.queue.looksEmpty()
		t, _, g := w.mountedThread()
		noted := g != 0 // its record is not read here: that is ordered by nothing that the race detector knows
		if t != nil && !noted {
			g = w.goroutineOf(t)
		}
		isHeld := w.blocking(t, g, n > 0)
		switch {
		case isHeld:
			blocked++
		case w.computes(t, g, noted):
			isHeld = true
			computing++
		}
		if waited && w.seen.waits && w.seen.held { // W3
			w.shareSlot()
			if isHeld {
				w.giveAway()
			}
		}
	}
	fj.compensate(blocked, computing, n)
	fj.relieve(n, awake, blocked, computing, workers)
	if n > 0 && fj.room.Load() <= 0 {
		for _, w := range workers {
			if w.seen.held {
				w.waiting.Store(max(w.waiting.Load(), uint32(n)))
			}
		}
	}
	fj.noteStarvation(workers, n)
	return n > 0
}

// compensate sets the limit for as many carriers as are held, by threads that block or compute, and wakes or starts those that are missed for n
// queued tasks (W1).
func (fj *ForkJoin) compensate(blocked, computing, n int) {
	fj.mu.Lock()
	closed := fj.mu.closed
	awake := fj.awakeLocked()
	last := fj.watched.blocked
	if n > 0 && blocked*4 >= awake*3 {
		blocked = max(blocked, 2*awake-fj.Parallelism())
	}
	fj.watched.blocked = max(blocked, last-max(1, last/16))
	fj.mu.spare = fj.watched.blocked + computing
	fj.setLimitLocked()
	more := min(fj.mu.limit-awake, n)
	fj.mu.Unlock()
	switch {
	case more <= 0:
	case closed:
		fj.compensated(more)
		fj.startMore(more)
	case awake >= fj.Parallelism(): // the others are held
		for more > 0 && fj.wakeIdle() {
			fj.compensated(1)
			more--
		}
	case fj.searching.Load() == 0:
		fj.wakeIdle()
	}
}

// compensated tells that more carriers were added since others are held.
func (fj *ForkJoin) compensated(more int) {
	fj.tally.compensations.Add(uint64(more))
	for range more {
		flight.Default().Emit(flight.Now(), flight.EventCompensated, 0, 0, 0, uint64(fj.watched.blocked))
	}
}

// awakeLocked returns how many carriers are awake or about to start.
func (fj *ForkJoin) awakeLocked() int {
	return len(fj.all()) - len(fj.mu.idle) + fj.mu.starting
}

// queued returns how many tasks are in queues, hand-off slots included.
func (fj *ForkJoin) queued() int {
	n := int(fj.sharedLen.Load())
	for _, w := range fj.all() {
		n += w.queue.length()
		if w.handOff.full() {
			n++
		}
	}
	return n
}

// anyAwake reports whether any carrier does not sleep.
func (fj *ForkJoin) anyAwake() bool {
	if fj.reliefs.alive.Load() > 0 {
		return true
	}
	fj.mu.Lock()
	defer fj.mu.Unlock()
	return len(fj.mu.idle) < len(fj.all())
}

// tooMany reports whether w is one carrier too many, which has to sleep (W2). Then its queue is everybody's. Others may have gone to sleep before w does.
func (w *worker) tooMany() bool {
	return w.fj.room.Load() < 0 && !w.isLongest() && w.giveAway()
}

// isLongest reports whether w has the longest of all queues. It had better stay: a crowd that is moved to the shared queue comes back in small parts.
func (w *worker) isLongest() bool {
	own := w.queue.length()
	for _, v := range w.fj.all() {
		if v != w && v.queue.length()+1 >= own { // it may have one mounted, and w has just put back its own
			return false
		}
	}
	return true
}

// shareSlot moves what is in the hand-off slot to the shared queue, if there can be another carrier.
func (w *worker) shareSlot() {
	if w.fj.options.MaxCarriers == 1 {
		return
	}
	if t := w.handOff.steal(); t != nil {
		// Refused only when the scheduler is closed under its threads.
		_ = w.fj.share(t, t, 1)
	}
}

// giveAway moves all that waits for w to the shared queue, from any goroutine. It returns false if there can be no other carrier, or the scheduler was
// closed meanwhile.
func (w *worker) giveAway() bool {
	if w.fj.options.MaxCarriers == 1 {
		return false
	}
	if t := w.handOff.steal(); t != nil {
		w.queue.put(t)
	}
	first, n := w.queue.drain()
	if first == nil {
		return true
	}
	last := first
	for last.link != nil {
		last = last.link
	}
	if w.fj.share(first, last, n) != nil {
		w.queue.putAll(first)
		return false
	}
	return true
}
