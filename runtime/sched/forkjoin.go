package sched

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/internal/coro"
)

// ErrClosed is returned for tasks that are submitted to a closed scheduler.
var ErrClosed = errors.New("scheduler is closed")

// ForkJoinOptions configure a [ForkJoin]. A zero field means its default.
type ForkJoinOptions struct {
	// Parallelism is how many carriers execute threads at a time. Default: runtime.GOMAXPROCS(0).
	Parallelism int

	// MaxCarriers bounds the carriers that the watchdog adds while all are held by pinned threads.
	// Default: 1,024, or Parallelism if that is more.
	MaxCarriers int
}

// A ForkJoin is the default scheduler: every carrier has a queue, first in first out, and takes from a shared one
// and from the others' when its own is empty.
//
// What a thread starts or unparks goes to its own carrier: into the carrier's hand-off slot if that is empty,
// which the carrier serves first, else to the end of its queue. So «A wakes B, then waits» stays on
// one core. A carrier that goes on for more than about a millisecond loses its slot's content to the others.
// What anybody else starts or unparks goes to the shared queue.
//
//	F1  After a task was put anywhere, whoever put it looks whether somebody is idle ([ForkJoin.wakeOne]). Who goes idle
//	    says so first, and looks at all queues afterwards. So no task is left while a carrier sleeps,
//	    but in a hand-off slot, which has its carrier and the watchdog.
//	F2  At most one carrier that was woken is still searching; who finds something wakes the next.
//	F3  Carriers are started by the watchdog's goroutine, never by whoever submits: that may be in package init, on a
//	    locked OS thread or in a synctest bubble.
type ForkJoin struct {
	options ForkJoinOptions

	shared struct {
		sync.Mutex
		first, last *Task
		n           int
		closed      bool
	}
	sharedLen atomic.Int64

	workers atomic.Pointer[[]*worker] // all that run; changed under mu
	pool    pool

	idleCount atomic.Int32 // carriers that sleep, or could be started
	searching atomic.Int32 // carriers that were woken and have found nothing yet
	surplus   atomic.Int32 // carriers that should go to sleep: see watchdog
	watching  atomic.Bool  // the watchdog is awake

	mu struct {
		sync.Mutex
		idle    []*worker // newest last
		toStart int       // carriers within Parallelism that do not run yet
		nextID  flight.CarrierID
		closed  bool
	}

	nudge   chan struct{} // wakes the watchdog
	starter chan struct{} // asks for a carrier
	stop    chan struct{}
	running sync.WaitGroup
}

// A worker is a carrier of a [ForkJoin], with its queue.
type worker struct {
	carrier
	fj      *ForkJoin
	queue   runQueue
	handOff handOff
	pending *Task // only the carrier's goroutine can mount it: it needs a new routine
	records flight.RecordCache
	nextID  uint64 // see NewID
	endID   uint64
	free    *coro.Routine
	freeLen int
	ticks   uint32 // see progress.go
	fair    uint32 // the ticks when the carrier last looked at the shared queue first
	extra   bool   // beyond Parallelism
	idle    bool   // guarded by fj.mu
	wake    chan struct{}

	searching bool          // it was woken or started, and has found nothing yet
	doomed    *coro.Routine // has just gone back to the carrier, to end

	seen struct { // the watchdog's
		ticks uint32
		full  bool
		held  bool
	}
}

// NewForkJoin returns a scheduler whose carriers start as they are needed. The caller closes it.
func NewForkJoin(o ForkJoinOptions) (*ForkJoin, error) {
	o, err := o.check()
	if err != nil {
		return nil, err
	}
	fj := newForkJoin(o)
	fj.running.Add(1)
	go fj.watch()
	return fj, nil
}

func (o ForkJoinOptions) check() (ForkJoinOptions, error) {
	switch {
	case o.Parallelism < 0:
		return o, fmt.Errorf("sched: parallelism %d: must not be negative", o.Parallelism)
	case o.MaxCarriers < 0:
		return o, fmt.Errorf("sched: max carriers %d: must not be negative", o.MaxCarriers)
	}
	if o.Parallelism == 0 {
		o.Parallelism = runtime.GOMAXPROCS(0)
	}
	if o.MaxCarriers == 0 {
		o.MaxCarriers = max(1024, o.Parallelism)
	}
	if o.MaxCarriers < o.Parallelism {
		return o, fmt.Errorf("sched: max carriers %d: must not be less than parallelism %d", o.MaxCarriers, o.Parallelism)
	}
	return o, nil
}

func newForkJoin(o ForkJoinOptions) *ForkJoin {
	fj := &ForkJoin{
		options: o,
		nudge:   make(chan struct{}, 1),
		starter: make(chan struct{}, max(o.Parallelism, 1)),
		stop:    make(chan struct{}),
	}
	fj.mu.toStart = o.Parallelism
	fj.idleCount.Store(int32(o.Parallelism))
	return fj
}

// Execute submits a task. It never runs it on the caller's stack.
func (fj *ForkJoin) Execute(t *Task) error {
	if t.marks.And(^ticket)&ticket == 0 {
		return nil // not submitted, or somebody has it already
	}
	return fj.share(t, t, 1)
}

// Parallelism returns how many carriers execute threads at a time.
func (fj *ForkJoin) Parallelism() int { return fj.options.Parallelism }

// Close waits until no carrier has anything to execute, stops them, and ends all idle goroutines. Threads that
// are parked stay parked forever; unparking them returns [ErrClosed]. It must not be called on a thread of fj.
func (fj *ForkJoin) Close() error {
	if t := Current(); t != nil && t.sched == Scheduler(fj) {
		return fmt.Errorf("sched: close: %w", ErrOnThread)
	}
	fj.mu.Lock()
	was := fj.mu.closed
	fj.mu.closed = true
	idle := fj.mu.idle
	fj.mu.idle = nil
	for _, w := range idle {
		w.idle = false
		fj.idleCount.Add(-1)
		w.wake <- struct{}{}
	}
	fj.mu.Unlock()
	if !was {
		close(fj.stop)
	}
	fj.running.Wait()
	fj.shared.Lock()
	fj.shared.closed = true
	fj.shared.Unlock()
	fj.pool.close()
	return nil
}

// submit takes a task that is runnable; w is the carrier the caller executes on, if it is one of fj's.
func (fj *ForkJoin) submit(t *Task, w *worker) error {
	if w == nil || w.fj != fj {
		return fj.share(t, t, 1)
	}
	if w.handOff.put(t) {
		fj.watchIfAsleep()
		return nil
	}
	w.put(t)
	return nil
}

// put appends a task to w's own queue, and sees that an idle carrier looks at it.
func (w *worker) put(t *Task) {
	w.queue.put(t)
	w.fj.wakeOne()
}

// share appends a chain of n tasks to the shared queue.
func (fj *ForkJoin) share(first, last *Task, n int) error {
	s := &fj.shared
	s.Lock()
	if s.closed {
		s.Unlock()
		return ErrClosed
	}
	if s.last == nil {
		s.first = first
	} else {
		s.last.link = first
	}
	s.last = last
	s.n += n
	fj.sharedLen.Store(int64(s.n))
	s.Unlock()
	fj.wakeOne()
	return nil
}

// takeShared moves a fair part of the shared queue to w's, and returns the first of it.
func (fj *ForkJoin) takeShared(w *worker) *Task {
	if fj.sharedLen.Load() == 0 {
		return nil
	}
	s := &fj.shared
	s.Lock()
	n := min(s.n/fj.options.Parallelism+1, 256, s.n)
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
	if rest != nil {
		w.queue.putAll(rest)
	}
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
		return t
	}
	return w.queue.take()
}

// hasMore reports whether a thread that yields would let anybody run.
func (w *worker) hasMore() bool {
	return w.handOff.full() || !w.queue.empty() || w.fj.sharedLen.Load() > 0
}

// run is the goroutine of a carrier.
func (w *worker) run() {
	fj := w.fj
	defer fj.running.Done()
	w.ring = flight.Default().AcquireRing(w.id, ringEvents(w.extra))
	w.event(flight.EventCarrierStart)
	defer func() {
		w.event(flight.EventCarrierStop)
		w.records.Flush(flight.Default())
		w.ring.Release()
		fj.pool.put(w.free, w.freeLen)
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
		w.mount(t, r)
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
		w.ring.Emit(flight.Now(), k, 0, 0, 0, uint64(w.id))
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
		if !w.surplus() {
			if t = w.search(); t == nil {
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
		if !w.sleep() {
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

// steal takes half of another carrier's queue.
func (w *worker) steal() *Task {
	fj := w.fj
	victims := fj.all()
	if len(victims) < 2 {
		return nil
	}
	for from, i := rand.IntN(len(victims)), 0; i < len(victims); i++ {
		v := victims[(from+i)%len(victims)]
		if v == w {
			continue
		}
		if first, _ := v.queue.steal(); first != nil {
			rest := first.link
			first.link = nil
			if rest != nil {
				w.queue.putAll(rest)
			}
			return first
		}
	}
	return nil
}

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
		if !w.queue.empty() {
			return true
		}
	}
	return false
}

// startCarrier adds a carrier. It runs on the watchdog's goroutine (F3).
func (fj *ForkJoin) startCarrier(extra bool) {
	fj.mu.Lock()
	defer fj.mu.Unlock()
	fj.mu.nextID++ // the id of a carrier that stopped long ago may come again
	w := &worker{fj: fj, extra: extra, searching: true, wake: make(chan struct{}, 1)}
	w.carrier.id = fj.mu.nextID
	w.carrier.worker = w
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
