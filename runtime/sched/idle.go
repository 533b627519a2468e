package sched

import (
	"slices"
	"time"

	"github.com/vtscope/vtscope/runtime/flight"
)

// sleep waits until there may be something to do, and returns false when the carrier shall stop instead. A
// carrier that returns true counts as searching. One that was too many, and so has given its tasks away, does not sleep if others have done it first.
func (w *worker) sleep(tooMany bool) bool {
	fj := w.fj
	fj.mu.Lock()
	closed := fj.mu.closed
	stays := closed && (fj.anything() || w.handOff.full())
	if tooMany { // others are awake: also when the scheduler closes it must go, or all of them would wait for each other to take what is shared
		stays = fj.room.Load() >= 0
	}
	if stays {
		fj.mu.Unlock()
		fj.searching.Add(1)
		return true
	}
	fj.room.Add(1)
	if closed {
		fj.forgetLocked(w) // what comes now is served by another: W4
		fj.mu.Unlock()
		return false
	}
	w.idle = true
	fj.mu.idle = append(fj.mu.idle, w)
	fj.mu.Unlock()
	if fj.room.Load() > 0 && fj.anything() && fj.unsleep(w) { // F1
		fj.searching.Add(1)
		fj.stirIfDozing()
		return true
	}
	w.ring.SetCarrier(flight.CarrierIdle)
	if !w.wait() {
		return false
	}
	w.ring.SetCarrier(flight.CarrierRunning)
	fj.searching.Add(1)
	fj.stirIfDozing()
	return true
}

// wait blocks until w is woken. A carrier beyond the least number waits only for a while, and returns false after it.
func (w *worker) wait() bool {
	fj := w.fj
	for {
		fj.mu.Lock()
		stays := fj.staysLocked()
		fj.mu.Unlock()
		if stays {
			select {
			case <-w.wake:
				return true
			case <-w.again:
				continue
			}
		}
		keep := time.NewTimer(fj.options.KeepAlive)
		select {
		case <-w.wake:
			keep.Stop()
			return true
		case <-keep.C:
		}
		fj.mu.Lock()
		if !w.idle {
			fj.mu.Unlock()
			<-w.wake // it is on its way
			return true
		}
		if !fj.staysLocked() {
			fj.notIdleLocked(w)
			fj.forgetLocked(w)
			fj.mu.Unlock()
			return false
		}
		fj.mu.Unlock()
	}
}

// staysLocked reports whether an idle carrier stays for good: there are no more than the least number.
func (fj *ForkJoin) staysLocked() bool {
	least := fj.options.MinCarriers
	if least == 0 {
		least = fj.Parallelism()
	}
	return len(fj.all()) <= least
}

// unsleep takes w from the idle carriers, unless somebody is about to wake it, or enough others are awake by now.
func (fj *ForkJoin) unsleep(w *worker) bool {
	fj.mu.Lock()
	defer fj.mu.Unlock()
	if !w.idle || fj.room.Load() <= 0 {
		return false
	}
	fj.notIdleLocked(w)
	fj.room.Add(-1)
	return true
}

func (fj *ForkJoin) notIdleLocked(w *worker) {
	at := slices.Index(fj.mu.idle, w)
	fj.mu.idle = slices.Delete(fj.mu.idle, at, at+1)
	w.idle = false
}

// wakeOne wakes or starts a carrier, unless one is searching already or there is no room (F1).
func (fj *ForkJoin) wakeOne() {
	if fj.room.Load() <= 0 {
		fj.reliefs.wakeOne()
		fj.watchIfAsleep()
		return
	}
	if fj.searching.Load() > 0 {
		return
	}
	fj.wakeIdle()
}

// wakeIdle wakes the newest of the idle carriers, whose caches are warm, or starts one, if there is room.
func (fj *ForkJoin) wakeIdle() bool {
	fj.mu.Lock()
	defer fj.mu.Unlock()
	if fj.room.Load() <= 0 {
		return false
	}
	if n := len(fj.mu.idle); n > 0 {
		w := fj.mu.idle[n-1]
		fj.notIdleLocked(w)
		fj.room.Add(-1)
		w.wake <- struct{}{} // has room: it is woken once for each time it goes idle
		return true
	}
	if fj.mu.closed {
		return false // the watchdog does it: W4
	}
	fj.room.Add(-1)
	fj.mu.starting++
	fj.starter <- struct{}{} // has room for all that the limit allows
	return true
}

// anything reports whether any queue has a task.
func (fj *ForkJoin) anything() bool {
	if fj.sharedLen.Load() > 0 {
		return true
	}
	for _, w := range fj.all() {
		if !w.queue.looksEmpty() {
			return true
		}
	}
	return false
}

// startCarrier adds a carrier that was counted already (F4). It runs on the watchdog's goroutine (F3).
func (fj *ForkJoin) startCarrier() {
	fj.mu.Lock()
	defer fj.mu.Unlock()
	fj.mu.starting--
	w := &worker{fj: fj, searching: true, wake: make(chan struct{}, 1), again: make(chan struct{}, 1), long: flight.Ticks(0).Add(sampleAll)}
	w.carrier.id = carrierIDs.take()
	w.carrier.worker = w
	w.ring = flight.Default().AcquireRing(w.id, fj.board.id, ringEvents(len(fj.all()) >= fj.Parallelism()))
	fj.rememberLocked(w)
	fj.searching.Add(1)
	fj.running.Add(1)
	go w.run()
}

// startMore starts n carriers. It is for the watchdog: the limit allows them.
func (fj *ForkJoin) startMore(n int) {
	for range n {
		fj.mu.Lock()
		fj.room.Add(-1)
		fj.mu.starting++
		fj.mu.Unlock()
		fj.startCarrier()
	}
}

// all returns the carriers that run. The slice is replaced, never changed.
func (fj *ForkJoin) all() []*worker {
	if p := fj.workers.Load(); p != nil {
		return *p
	}
	return nil
}

func (fj *ForkJoin) rememberLocked(w *worker) {
	all := append(slices.Clone(fj.all()), w)
	fj.workers.Store(&all)
}

func (fj *ForkJoin) forgetLocked(w *worker) {
	fj.mu.gone.add(&w.counts)
	w.counts = counts{}
	w.gone = true
	all := slices.DeleteFunc(slices.Clone(fj.all()), func(v *worker) bool { return v == w })
	fj.workers.Store(&all)
}
