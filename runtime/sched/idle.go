package sched

import (
	"slices"
	"time"

	"github.com/vtscope/vtscope/runtime/flight"
)

// sleep waits until there may be something to do, and returns false when the carrier shall stop instead. A
// carrier that returns true counts as searching.
func (w *worker) sleep() bool {
	fj := w.fj
	fj.mu.Lock()
	if fj.mu.closed {
		fj.forgetLocked(w)
		fj.mu.Unlock()
		return fj.anything() && fj.comeBack(w)
	}
	w.idle = true
	fj.mu.idle = append(fj.mu.idle, w)
	fj.idleCount.Add(1)
	fj.mu.Unlock()
	if fj.anything() && fj.unsleep(w) {
		fj.searching.Add(1)
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

// wait blocks until w is woken. A carrier beyond Parallelism waits only for a while, and returns false after it.
func (w *worker) wait() bool {
	if !w.extra {
		<-w.wake
		return true
	}
	keep := time.NewTimer(keepExtra)
	defer keep.Stop()
	select {
	case <-w.wake:
		return true
	case <-keep.C:
	}
	fj := w.fj
	if !fj.unsleep(w) {
		<-w.wake // it is on its way
		return true
	}
	fj.mu.Lock()
	fj.forgetLocked(w)
	fj.mu.Unlock()
	return false
}

// comeBack makes w a carrier again that had decided to stop.
func (fj *ForkJoin) comeBack(w *worker) bool {
	fj.mu.Lock()
	defer fj.mu.Unlock()
	fj.rememberLocked(w)
	fj.searching.Add(1)
	return true
}

// keepExtra is how long a carrier beyond Parallelism waits for work before it stops.
const keepExtra = 100 * time.Millisecond

// unsleep takes w from the idle carriers, unless somebody is about to wake it.
func (fj *ForkJoin) unsleep(w *worker) bool {
	fj.mu.Lock()
	defer fj.mu.Unlock()
	if !w.idle {
		return false
	}
	for i, v := range fj.mu.idle {
		if v == w {
			fj.mu.idle = append(fj.mu.idle[:i], fj.mu.idle[i+1:]...)
			break
		}
	}
	w.idle = false
	fj.idleCount.Add(-1)
	return true
}

// wakeOne wakes or starts a carrier, unless one is searching already or none is idle (F1).
func (fj *ForkJoin) wakeOne() {
	if fj.idleCount.Load() <= 0 {
		fj.watchIfAsleep()
		return
	}
	if fj.searching.Load() > 0 {
		return
	}
	fj.wakeIdle()
}

func (fj *ForkJoin) wakeIdle() bool {
	fj.mu.Lock()
	defer fj.mu.Unlock()
	if w := fj.takeIdleLocked(); w != nil {
		w.wake <- struct{}{} // has room: it is woken once for each time it goes idle
		return true
	}
	if fj.mu.toStart > 0 && !fj.mu.closed {
		fj.mu.toStart--
		fj.idleCount.Add(-1)
		fj.starter <- struct{}{} // has room for all of them
		return true
	}
	return false
}

// takeIdleLocked removes the idle carrier that is to be woken next: the newest, since its caches are warm,
// but one beyond Parallelism only if there is no other, so that those come to their end.
func (fj *ForkJoin) takeIdleLocked() *worker {
	idle := fj.mu.idle
	at := len(idle) - 1
	for i := at; i >= 0; i-- {
		if !idle[i].extra {
			at = i
			break
		}
	}
	if at < 0 {
		return nil
	}
	w := idle[at]
	fj.mu.idle = slices.Delete(idle, at, at+1)
	w.idle = false
	fj.idleCount.Add(-1)
	return w
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

// startCarrier adds a carrier. It runs on the watchdog's goroutine (F3).
func (fj *ForkJoin) startCarrier(extra bool) {
	fj.mu.Lock()
	defer fj.mu.Unlock()
	w := &worker{fj: fj, extra: extra, searching: true, wake: make(chan struct{}, 1)}
	w.carrier.id = carrierIDs.take()
	w.carrier.worker = w
	w.ring = flight.Default().AcquireRing(w.id, 0, ringEvents(extra))
	fj.rememberLocked(w)
	fj.searching.Add(1)
	fj.running.Add(1)
	go w.run()
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
	all := slices.DeleteFunc(slices.Clone(fj.all()), func(v *worker) bool { return v == w })
	fj.workers.Store(&all)
}
