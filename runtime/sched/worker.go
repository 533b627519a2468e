package sched

import (
	"context"
	"math/rand/v2"
	"runtime"
	"runtime/pprof"
	"sync/atomic"

	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/internal/coro"
)

// A worker is a carrier of a [ForkJoin], with its queue.
type worker struct {
	carrier
	fj      *ForkJoin
	queue   runQueue
	handOff handOff
	counts  counts
	long    flight.Ticks // sampleAll
	pending *Task        // only the carrier's goroutine can mount it: it needs a new routine
	records flight.RecordCache
	nextID  uint64 // see NewID
	endID   uint64
	free    *coro.Routine
	freeLen int
	made    int    // routines
	ticks   uint32 // see progress.go
	fair    uint32 // the ticks when the carrier last looked at the shared queue first
	idle    bool   // guarded by fj.mu
	gone    bool   // guarded by fj.mu
	wake    chan struct{}
	again   chan struct{} // whether it stays is to be decided again

	searching bool // it was woken or started, and has found nothing yet

	held flight.ThreadID // the mounted thread while it blocks in Go; see progress.go

	waiting  atomic.Uint32 // the most threads that were seen to wait while it stood still
	monopoly atomic.Pointer[monopoly]

	seen struct { // the watchdog's
		hold   flight.Hold
		holder *Task     // whose hold it is
		at     []uintptr // where it was seen
		ticks  uint32
		waits  bool   // a task, for this carrier
		turn   uint32 // when the watchdog looked last
		held   bool   // it stood still for a tick
		stood  uint32 // for how many
		work   work
	}
}

// put appends a task to w's own queue, and sees that an idle carrier looks at it.
func (w *worker) put(t *Task) {
	w.queue.put(t)
	w.fj.wakeOne()
}

// putAll is put for a chain of tasks, which may be nil. Between two queues they were in neither, and whoever looked then has
// not seen them (F1).
func (w *worker) putAll(first *Task) {
	if first != nil {
		w.queue.putAll(first)
		w.fj.wakeOne()
	}
}

// takeShared moves a fair part of the shared queue to w's, and returns the first of it.
func (fj *ForkJoin) takeShared(w *worker) *Task {
	if fj.sharedLen.Load() == 0 {
		return nil
	}
	s := &fj.shared
	s.Lock()
	n := min(s.n/fj.Parallelism()+1, 256, s.n)
	var first, last *Task
	for range n {
		t := s.first
		s.first = t.link
		if last == nil {
			first = t
		} else {
			last.link = t
		}
		last = t
	}
	if s.first == nil {
		s.last = nil
	}
	s.n -= n
	fj.sharedLen.Store(int64(s.n))
	s.Unlock()
	if first == nil {
		return nil
	}
	last.link = nil
	rest := first.link
	first.link = nil
	w.putAll(rest)
	return first
}

// fairEvery is after how many switches a carrier looks at the shared queue, and at its own queue before its
// hand-off slot.
const fairEvery = 64

// direct takes the task that a thread which leaves w hands the carrier to; nil sends it to the carrier's goroutine.
func (w *worker) direct() *Task {
	w.progress()
	if w.ticks-w.fair >= fairEvery {
		return nil
	}
	t := w.takeOwn()
	if t != nil && t.at == nil && w.free == nil {
		w.pending = t
		return nil
	}
	return t
}

func (w *worker) takeOwn() *Task {
	if t := w.handOff.take(); t != nil {
		w.counts.handedOff()
		return t
	}
	if w.queue.looksEmpty() { // nobody but us puts
		return nil
	}
	return w.queue.take()
}

// hasMore reports whether a thread that yields would let anybody run, or w go to sleep (W2).
func (w *worker) hasMore() bool {
	return w.handOff.full() || !w.queue.looksEmpty() || w.fj.sharedLen.Load() > 0 || w.fj.room.Load() < 0
}

// run is the goroutine of a carrier.
func (w *worker) run() {
	fj := w.fj
	defer fj.running.Done()
	if fj.lane != nil {
		fj.lane.begin(w)
	}
	pprof.SetGoroutineLabels(context.Background()) // not those of who made the scheduler: threads' goroutines are made here
	w.event(flight.EventCarrierStart)
	w.ring.SetCarrier(flight.CarrierRunning)
	defer func() {
		w.event(flight.EventCarrierStop)
		w.records.Flush(flight.Default())
		w.ring.Release()
		carrierIDs.put(w.id)
		fj.pool.put(w.free, w.freeLen)
		fj.made.Add(int64(w.made))
		if fj.lane != nil {
			fj.pool.leave(0) // here, where the routines were made
		}
	}()
	for {
		t := w.find()
		if t == nil {
			return
		}
		var r *coro.Routine
		if t.at == nil {
			r = w.spare()
		}
		w.mount(t, r, 0)
		w.finish()
		if r := w.doomed; r != nil {
			w.doomed = nil
			fj.pool.doom(r)
		}
	}
}

func ringEvents(extra bool) int {
	if extra {
		return 1 << 10
	}
	return 1 << 14
}

func (w *worker) event(k flight.Kind) {
	if w.ring != nil {
		w.ring.Emit(flight.Now(), k, 0, flight.StackID(w.fj.board.id), 0, uint64(w.id))
	}
}

// find returns the next task to mount. It sleeps while there is none; nil means that the carrier shall stop.
func (w *worker) find() *Task {
	fj := w.fj
	for {
		w.progress()
		if t := w.pending; t != nil {
			w.pending = nil
			return t
		}
		var t *Task
		tooMany := w.tooMany()
		if !tooMany {
			if t = w.search(); t == nil && w.poll() {
				t = w.search()
			}
			if t == nil {
				t = w.linger()
			}
		}
		if w.searching {
			// F2. One that found nothing looks once more, after it has said that it is idle.
			w.searching = false
			if fj.searching.Add(-1) == 0 && t != nil && fj.anything() {
				fj.wakeOne()
			}
		}
		if t != nil {
			return t
		}
		if fj.lane != nil {
			fj.lane.trim(fj)
		}
		if !w.sleep(tooMany) {
			return nil
		}
		w.searching = true
	}
}

// lingerRounds is how often a carrier that has found nothing lets other goroutines run and looks again before it
// sleeps: a couple of microseconds when there are none. It spares both sides the waking where
// goroutines and threads take turns.
const lingerRounds = 12

func (w *worker) linger() *Task {
	fj := w.fj
	if fj.lane != nil {
		return nil // to get its OS thread back costs more than to be woken
	}
	if !w.searching {
		w.searching = true
		fj.searching.Add(1)
	}
	for range lingerRounds {
		runtime.Gosched()
		w.progress()
		if t := w.search(); t != nil {
			return t
		}
	}
	return nil
}

// search looks everywhere once.
func (w *worker) search() *Task {
	fj := w.fj
	if w.ticks-w.fair >= fairEvery {
		w.fair = w.ticks
		w.poll()
		w.balance()
		if t := fj.takeShared(w); t != nil {
			return t
		}
		if t := w.queue.take(); t != nil { // before the hand-off slot, which could starve it
			return t
		}
	}
	if t := w.takeOwn(); t != nil {
		return t
	}
	if t := fj.takeShared(w); t != nil {
		return t
	}
	return w.steal()
}

// mixEvery is after how many switches a thread that yields goes to the shared queue, and so perhaps to another carrier: one carrier may be faster, as its
// OS thread is given more of a processor.
const mixEvery = 8

// sharesYield reports whether t, which has just yielded, goes to the shared queue, and not to the end of w's own.
func (w *worker) sharesYield(t *Task) bool {
	others := w.pending != nil || w.mounted != nil && w.mounted != t // w had one, which comes before t
	if w.fj.sharedLen.Load() > 0 && w.queue.looksEmpty() && !others {
		return true // else w would take it again
	}
	return w.ticks%mixEvery == 0 && w.fj.Parallelism() > 1
}

// balance takes from a queue that is much longer than w's own. A carrier that always has something to do would else never look at those of others, and
// their threads wait for longer than its own.
func (w *worker) balance() {
	all := w.fj.all()
	if len(all) < 2 {
		return
	}
	v := all[rand.IntN(len(all))]
	own, other := w.queue.length(), v.queue.length()
	if v == w || other <= own+own/4+balanceFrom {
		return
	}
	if first, _ := v.queue.steal((other - own) / 2); first != nil {
		w.putAll(first)
		w.counts.stole()
	}
}

// balanceFrom is how much longer a queue is at least from which a carrier takes that has something to do.
const balanceFrom = 16

// steal takes half of another carrier's queue.
func (w *worker) steal() *Task {
	fj := w.fj
	victims := fj.all()
	if len(victims) < 2 {
		return nil
	}
	for from, i := rand.IntN(len(victims)), 0; i < len(victims); i++ {
		v := victims[(from+i)%len(victims)]
		if v == w || v.queue.looksEmpty() {
			continue
		}
		if first, n := v.queue.steal((v.queue.length() + 1) / 2); first != nil {
			if flight.Default().On(flight.EventSteal) {
				w.emit(flight.Now(), flight.EventSteal, 0, 0, first.id, uint64(n))
			}
			rest := first.link
			first.link = nil
			w.putAll(rest)
			w.counts.stole()
			return first
		}
	}
	return nil
}
