package sched

import (
	"cmp"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// ErrClosed is returned for tasks that are submitted to a closed scheduler.
var ErrClosed = errors.New("scheduler is closed")

// ForkJoinOptions configure a [ForkJoin]. A zero field means its default.
type ForkJoinOptions struct {
	// Name is what the scheduler is shown as. Default: "fork-join".
	Name string

	// Parallelism is how many carriers execute threads at a time. Default: runtime.GOMAXPROCS(0). See [ForkJoin.SetParallelism].
	Parallelism int

	// MinCarriers is how many carriers stay, once they were needed, when there is nothing to do. Default: the parallelism.
	MinCarriers int

	// MaxCarriers bounds the carriers, those included that stand in for others which are held. By default
	// there may be 1,024, or Parallelism if that is more, and beyond those any number for threads that block
	// in operations of Go's own, such as channels, select and package sync: they hold no OS thread. There are no
	// more while 1,024 threads are in system calls or calls of C.
	MaxCarriers int

	// KeepAlive is how long a carrier beyond MinCarriers waits for work before it stops. Default: 100 ms.
	KeepAlive time.Duration

	// PinnedAfter is how long a thread must have blocked and held its carrier for an event pinned. Shorter ones are only counted, by their
	// place. Default: 20 ms.
	PinnedAfter time.Duration

	// MonopolyAfter is how long a thread must have computed without a scheduling point for an event monopolized. To wait, also for a
	// processor, is not to compute: on Linux processor time counts, elsewhere the time in which it was seen executing. Default: 10 ms.
	MonopolyAfter time.Duration

	// StarvedAfter is how long queued threads must have found no free carrier for an alarm: events starved, and a call of OnStarved. Default: 1 s.
	StarvedAfter time.Duration

	// OnStarved is called on a goroutine of its own, once each time that this lasts so long.
	OnStarved func(Starvation)
}

// A ForkJoin is the default scheduler: every carrier has a queue, first in first out, and takes from a shared one
// and from the others' when its own is empty.
//
// What a thread starts or unparks goes to its own carrier: into the carrier's hand-off slot if that is empty,
// which the carrier serves first, else to the end of its queue. So «A wakes B, then waits» stays on
// one core. A carrier that goes on for more than about a millisecond loses its slot's content to the others.
// What anybody else starts or unparks goes to the shared queue.
//
//	F1  After a task was put anywhere, whoever put it looks whether there is room for one more carrier ([ForkJoin.wakeOne]). Who goes idle
//	    makes room first, and looks at all queues afterwards. So no task is left while there is room,
//	    but in a hand-off slot, which has its carrier and the watchdog.
//	F2  While a carrier searches, nobody is woken for a new task; the last that stops searching because it found something wakes
//	    the next if there is more.
//	F3  Carriers are started by the watchdog's goroutine, never by whoever submits: that may be in package init, on a
//	    locked OS thread or in a synctest bubble.
//	F4  room is how many more carriers may be awake: the limit less those that are awake or about to start. The limit is the
//	    parallelism and what the watchdog allows beyond it (W1). Room is taken under mu.
type ForkJoin struct {
	options ForkJoinOptions
	of      *Pinned // that it is a lane of; nil: none
	lane    *lane   // nil: its carriers are not locked to OS threads
	board   *board
	tally   tally

	shared struct {
		sync.Mutex
		first, last *Task
		n           int
		closed      bool

		starts, submissions uint64 // by those who execute on no carrier of fj
	}
	sharedLen atomic.Int64

	workers atomic.Pointer[[]*worker] // all that run; changed under mu
	pool    *pool
	made    atomic.Int64 // routines, by carriers that have stopped
	unpool  sync.Once

	parallelism atomic.Int32 // changed under mu
	room        atomic.Int32 // F4; negative: so many should go to sleep
	searching   atomic.Int32 // carriers that were woken and have found nothing yet
	watching    atomic.Bool  // the watchdog is awake
	dozing      atomic.Bool  // the watchdog sleeps because all carriers do
	watched     watched
	reliefs     reliefs

	mu struct {
		sync.Mutex
		idle     []*worker // newest last
		starting int       // carriers that the watchdog was asked to start
		limit    int       // F4
		spare    int       // what the watchdog allows beyond the parallelism
		gone     counts    // of carriers that have stopped
		closed   bool
	}

	nudge   chan struct{} // wakes the watchdog
	stir    chan struct{} // wakes it a little: a carrier is awake
	starter chan struct{} // asks for a carrier
	stop    chan struct{}
	running sync.WaitGroup
}

// NewForkJoin returns a scheduler whose carriers start as they are needed. The caller closes it.
func NewForkJoin(o ForkJoinOptions) (*ForkJoin, error) {
	o, err := o.check()
	if err != nil {
		return nil, err
	}
	fj := newForkJoin(o)
	newBoard(o.Name, fj)
	fj.begin()
	return fj, nil
}

// serves reports whether s is what the tasks of fj have as their scheduler: itself, or one that is made of it. It keeps no [Single], which may be collected.
func (fj *ForkJoin) serves(s Scheduler) bool {
	switch s := s.(type) {
	case *ForkJoin:
		return s == fj
	case *Single:
		return s.fj == fj
	case *Pinned:
		return s == fj.of
	}
	return false
}

// begin starts the watchdog, which starts carriers.
func (fj *ForkJoin) begin() {
	if fj.pool == nil {
		if fj.pool = &routines; bubbled() {
			fj.pool = new(pool)
		}
	}
	fj.pool.enter()
	fj.running.Add(1)
	go fj.watch()
	forkJoins.add(fj)
}

func (o ForkJoinOptions) check() (ForkJoinOptions, error) {
	switch {
	case o.Parallelism < 0:
		return o, fmt.Errorf("sched: parallelism %d: must not be negative", o.Parallelism)
	case o.MinCarriers < 0:
		return o, fmt.Errorf("sched: min carriers %d: must not be negative", o.MinCarriers)
	case o.MaxCarriers < 0:
		return o, fmt.Errorf("sched: max carriers %d: must not be negative", o.MaxCarriers)
	case o.KeepAlive < 0:
		return o, fmt.Errorf("sched: keep alive %v: must not be negative", o.KeepAlive)
	case o.PinnedAfter < 0:
		return o, fmt.Errorf("sched: pinned after %v: must not be negative", o.PinnedAfter)
	case o.MonopolyAfter < 0:
		return o, fmt.Errorf("sched: monopoly after %v: must not be negative", o.MonopolyAfter)
	case o.StarvedAfter < 0:
		return o, fmt.Errorf("sched: starved after %v: must not be negative", o.StarvedAfter)
	}
	if o.Name == "" {
		o.Name = "fork-join"
	}
	if o.Parallelism == 0 {
		o.Parallelism = runtime.GOMAXPROCS(0)
	}
	if o.MaxCarriers != 0 && o.MaxCarriers < o.Parallelism {
		return o, fmt.Errorf("sched: max carriers %d: must not be less than parallelism %d", o.MaxCarriers, o.Parallelism)
	}
	if most := o.mostCarriers(); o.MinCarriers > most {
		return o, fmt.Errorf("sched: min carriers %d: must not be more than max carriers %d", o.MinCarriers, most)
	}
	return o, nil
}

// mostCarriers is how many carriers there may be beside reliefs.
func (o *ForkJoinOptions) mostCarriers() int {
	return cmp.Or(o.MaxCarriers, max(1024, o.Parallelism))
}

// pinnedAfter is the default of [ForkJoinOptions.PinnedAfter], and what holds for carriers that are none of a ForkJoin.
const pinnedAfter = 20 * time.Millisecond

func newForkJoin(o ForkJoinOptions) *ForkJoin {
	o.KeepAlive = cmp.Or(o.KeepAlive, 100*time.Millisecond)
	o.PinnedAfter = cmp.Or(o.PinnedAfter, pinnedAfter)
	o.MonopolyAfter = cmp.Or(o.MonopolyAfter, 10*time.Millisecond)
	o.StarvedAfter = cmp.Or(o.StarvedAfter, time.Second)
	fj := &ForkJoin{
		options: o,
		nudge:   make(chan struct{}, 1),
		stir:    make(chan struct{}, 1),
		starter: make(chan struct{}, o.mostCarriers()),
		stop:    make(chan struct{}),
	}
	fj.reliefs.wake = make(chan struct{}, 1)
	fj.parallelism.Store(int32(o.Parallelism))
	fj.setLimitLocked()
	return fj
}

// Execute submits a task. It never runs it on the caller's stack.
func (fj *ForkJoin) Execute(t *Task) error {
	if t.marks.And(^ticket)&ticket == 0 {
		return nil // not submitted, or somebody has it already
	}
	err := fj.suits(t)
	if err == nil {
		err = fj.enter(t, t, 1)
	}
	if err != nil {
		fj.tally.rejections.Add(1)
		t.marks.Or(ticket) // another scheduler may take it
	}
	return err
}

// Parallelism returns how many carriers execute threads at a time.
func (fj *ForkJoin) Parallelism() int { return int(fj.parallelism.Load()) }

// SetParallelism changes how many carriers execute threads at a time, from 1 to MaxCarriers. It does not block. Carriers that are too many then go to sleep when
// their thread leaves them, or soon after.
func (fj *ForkJoin) SetParallelism(n int) error {
	if most := fj.options.mostCarriers(); n < 1 || n > most {
		return fmt.Errorf("sched: parallelism %d: must be from 1 to max carriers, %d", n, most)
	}
	fj.mu.Lock()
	fj.parallelism.Store(int32(n))
	fj.setLimitLocked()
	for _, w := range fj.mu.idle {
		select {
		case w.again <- struct{}{}:
		default:
		}
	}
	fj.mu.Unlock()
	for n := fj.queued(); n > 0 && fj.wakeIdle(); n-- {
	}
	return nil
}

// setLimitLocked makes the limit what it has to be now (F4).
func (fj *ForkJoin) setLimitLocked() {
	was := fj.mu.limit
	fj.mu.limit = min(fj.Parallelism()+fj.mu.spare, fj.options.mostCarriers())
	fj.room.Add(int32(fj.mu.limit - was))
}

// Close waits until no carrier has anything to execute, stops them, and ends as many idle goroutines as they have made: all are shared with the other schedulers. Threads that
// are parked stay parked forever; unparking them returns [ErrClosed]. A thread that calls Close parks meanwhile. It must not be called on a thread of fj, or on
// one that a carrier of fj executes for another scheduler.
func (fj *ForkJoin) Close() error {
	t := Current()
	if w := t.worker(); w != nil && w.fj == fj || t != nil && fj.serves(t.sched) {
		return fmt.Errorf("sched: close: %w", ErrOnThread)
	}
	fj.mu.Lock()
	was := fj.mu.closed
	fj.mu.closed = true
	idle := fj.mu.idle
	fj.mu.idle = nil
	for _, w := range idle {
		w.idle = false
		fj.room.Add(-1)
		w.wake <- struct{}{}
	}
	fj.mu.Unlock()
	if !was {
		close(fj.stop)
	}
	parkDuring(fj.running.Wait)
	forkJoins.remove(fj)
	fj.unpool.Do(func() {
		if fj.lane != nil {
			return // the carrier has done it
		}
		done := make(chan struct{})
		go func() { // the caller's goroutine may be locked to an OS thread
			defer close(done)
			fj.pool.leave(int(fj.made.Load()))
			if fj.pool != &routines {
				fj.pool.abandon()
			}
		}()
		<-done
	})
	return nil
}

// suits tells why no carrier can continue t, which was not submitted to this scheduler before.
func (fj *ForkJoin) suits(t *Task) error {
	if t.at != nil && !t.at.FitsTo(0) {
		return ErrLockedCarrier
	}
	return nil
}

// submit takes a task that is runnable; w is the carrier the caller executes on, if it is one of fj's.
func (fj *ForkJoin) submit(t *Task, w *worker) error {
	if w == nil || w.fj != fj {
		err := fj.enter(t, t, 1)
		if err != nil {
			fj.tally.rejections.Add(1)
		}
		return err
	}
	w.counts.submitted(t)
	if w.handOff.put(t) {
		fj.watchIfAsleep()
		return nil
	}
	w.put(t)
	return nil
}

// enter puts a chain of n tasks, which were submitted by somebody who executes on no carrier of fj, in the shared queue. Only one that is
// alone may be new.
func (fj *ForkJoin) enter(first, last *Task, n int) error {
	fresh := first.at == nil
	s := &fj.shared
	s.Lock()
	if s.closed {
		s.Unlock()
		return ErrClosed
	}
	s.submissions += uint64(n)
	if fresh {
		s.starts++
	}
	fj.appendLocked(first, last, n)
	s.Unlock()
	fj.wakeOne()
	return nil
}

// share puts a chain of n tasks of fj's queues in the shared one.
func (fj *ForkJoin) share(first, last *Task, n int) error {
	s := &fj.shared
	s.Lock()
	if s.closed {
		s.Unlock()
		return ErrClosed
	}
	fj.appendLocked(first, last, n)
	s.Unlock()
	fj.wakeOne()
	return nil
}

func (fj *ForkJoin) appendLocked(first, last *Task, n int) {
	s := &fj.shared
	if s.last == nil {
		s.first = first
	} else {
		s.last.link = first
	}
	s.last = last
	s.n += n
	fj.sharedLen.Store(int64(s.n))
}
