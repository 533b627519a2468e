package sched

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync/atomic"

	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/internal/coro"
)

// PinnedOptions configure a [Pinned]. A zero field means its default.
type PinnedOptions struct {
	// Carriers is how many carriers there are. Default: runtime.GOMAXPROCS(0).
	Carriers int

	// CPUs are those that the carriers are bound to, in turn, as the operating system counts them. Default: all that the
	// process may use. It must be empty on systems other than Linux: there carriers are not bound to CPUs.
	CPUs []int

	// AnyCPU leaves it to the operating system on which CPUs the carriers' OS threads execute. CPUs must be empty then.
	AnyCPU bool
}

// A Pinned keeps each thread on one carrier, and each carrier on an OS thread of its own, which is bound to a CPU on Linux. So whatever
// belongs to an OS thread (a graphics context, a real-time priority, the caches of a CPU) stays with the thread.
//
// A thread is assigned to a carrier when it starts: to the one that it prefers ([Task.Prefer], [Pinned.Carriers]), or else the next in turn. It
// never changes to another, so a thread that blocks in Go's own ways stops all threads of its carrier, and no carrier is
// added. What it calls by vthread.Blocking is executed elsewhere meanwhile. A thread that has begun on a Pinned cannot move to another scheduler, nor one that has
// begun elsewhere to a Pinned: [ErrLockedCarrier].
//
// A thread may lock itself to its OS thread, as anywhere; it must not undo more locks than it has made. A child process has the CPU of the
// OS thread that starts it. The OS threads end when the scheduler is closed; should the process's first be among them, which cannot end, it does nothing more.
//
// In builds with the tag vtscope_chan, threads keep to a carrier, but neither to an OS thread nor to a CPU.
type Pinned struct {
	lanes []*ForkJoin // one for each carrier
	turn  atomic.Uint32
}

// A lane is what a [ForkJoin] has in addition whose one carrier is locked to an OS thread.
//
//	L1  The carrier starts with the scheduler and stops with it, and none takes its place: only it can continue
//	    the threads that it has begun.
//	L2  It alone makes, continues and retires routines.
type lane struct {
	cpu     int // or -1
	begun   chan error
	id      flight.CarrierID // these are written before begun
	lock    coro.LockState
	trimDue atomic.Bool
}

// NewPinned returns a scheduler whose carriers have started. The caller closes it.
func NewPinned(o PinnedOptions) (*Pinned, error) {
	o, err := o.check()
	if err != nil {
		return nil, err
	}
	p := &Pinned{}
	for i := range o.Carriers {
		cpu := -1
		if len(o.CPUs) > 0 {
			cpu = o.CPUs[i%len(o.CPUs)]
		}
		p.lanes = append(p.lanes, p.newLane(cpu))
	}
	newBoard("pinned", p.lanes...)
	for _, fj := range p.lanes {
		fj.begin()
		fj.wakeIdle() // which starts the carrier
	}
	var errs []error
	for _, fj := range p.lanes {
		errs = append(errs, <-fj.lane.begun)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, errors.Join(err, p.Close())
	}
	return p, nil
}

func (o PinnedOptions) check() (PinnedOptions, error) {
	switch {
	case o.Carriers < 0:
		return o, fmt.Errorf("sched: carriers %d: must not be negative", o.Carriers)
	case o.AnyCPU && len(o.CPUs) > 0:
		return o, fmt.Errorf("sched: CPUs %v: must be empty for carriers on any CPU", o.CPUs)
	}
	if o.Carriers == 0 {
		o.Carriers = runtime.GOMAXPROCS(0)
	}
	if o.AnyCPU {
		return o, nil
	}
	usable, err := usableCPUs()
	if err != nil {
		return o, fmt.Errorf("sched: CPUs of the process: %w", err)
	}
	if len(o.CPUs) == 0 {
		o.CPUs = usable
		return o, nil
	}
	for _, cpu := range o.CPUs {
		if !slices.Contains(usable, cpu) {
			return o, fmt.Errorf("sched: CPU %d: must be one that the process may use, of %v", cpu, usable)
		}
	}
	return o, nil
}

func (p *Pinned) newLane(cpu int) *ForkJoin {
	fj := newForkJoin(ForkJoinOptions{Parallelism: 1, MaxCarriers: 1})
	fj.of = p
	fj.lane = &lane{cpu: cpu, begun: make(chan error, 1)}
	fj.pool = &pool{later: func() { // L2
		fj.lane.trimDue.Store(true)
		fj.wakeIdle()
	}}
	return fj
}

// begin makes the calling goroutine the one that executes the carrier w, for good.
func (l *lane) begin(w *worker) {
	runtime.LockOSThread() // never unlocked, so that the OS thread ends with what threads have done to it
	l.id, l.lock = w.id, coro.CurrentLock()
	var err error
	if l.cpu >= 0 {
		if err = bindToCPU(l.cpu); err != nil {
			err = fmt.Errorf("sched: bind carrier to CPU %d: %w", l.cpu, err)
		}
	}
	l.begun <- err
}

// trim retires routines if it is time. Only the carrier's goroutine calls it.
func (l *lane) trim(fj *ForkJoin) {
	if l.trimDue.Load() {
		l.trimDue.Store(false)
		fj.pool.trim()
	}
}

// Carriers returns the carriers, for [Task.Prefer]. One that could get no id, because there are too many in the process, has [flight.NoCarrier].
func (p *Pinned) Carriers() []flight.CarrierID {
	var ids []flight.CarrierID
	for _, fj := range p.lanes {
		ids = append(ids, fj.lane.id)
	}
	return ids
}

// Execute submits a task. It never runs it on the caller's stack. It returns [ErrLockedCarrier] for a thread that has begun elsewhere.
func (p *Pinned) Execute(t *Task) error {
	if t.marks.And(^ticket)&ticket == 0 {
		return nil // not submitted, or somebody has it already
	}
	err := p.submit(t, nil)
	if err != nil {
		t.marks.Or(ticket) // another scheduler may take it
	}
	return err
}

// submit takes a task that is runnable; w is the carrier the caller executes on, if it has a worker.
func (p *Pinned) submit(t *Task, w *worker) error {
	fj := p.laneOf(t)
	if fj == nil {
		return ErrLockedCarrier
	}
	return fj.submit(t, w)
}

// laneOf returns the lane that t, which the caller owns, is executed by, or nil if none can.
func (p *Pinned) laneOf(t *Task) *ForkJoin {
	if t.at == nil {
		t.lane = p.choose(t)
		return p.lanes[t.lane-1]
	}
	if i := int(t.lane) - 1; i >= 0 && i < len(p.lanes) && t.at.FitsTo(p.lanes[i].lane.lock) {
		return p.lanes[i]
	}
	for i, fj := range p.lanes { // it was lent to another Pinned, or comes from anywhere
		if t.at.FitsTo(fj.lane.lock) {
			t.lane = uint32(i) + 1
			return fj
		}
	}
	return nil
}

// choose returns the lane for a thread that starts, as [Task.lane] has it.
func (p *Pinned) choose(t *Task) uint32 {
	if id := t.Preferred(); id != 0 && id != flight.NoCarrier {
		for i, fj := range p.lanes {
			if fj.lane.id == id {
				return uint32(i) + 1
			}
		}
	}
	return (p.turn.Add(1)-1)%uint32(len(p.lanes)) + 1
}

// Close waits until no carrier has anything to execute, stops them, and ends all idle goroutines and the OS threads. Threads that
// are parked stay parked forever; unparking them returns [ErrClosed]. A thread that calls Close parks meanwhile. It must not be called on a thread of p, or on
// one that a carrier of p executes for another scheduler.
func (p *Pinned) Close() error {
	t := Current()
	if w := t.worker(); w != nil && slices.Contains(p.lanes, w.fj) || t != nil && t.sched == Scheduler(p) {
		return fmt.Errorf("sched: close: %w", ErrOnThread)
	}
	for !p.shut() {
		sleepThrough(watchTick)
	}
	var errs []error
	for _, fj := range p.lanes {
		errs = append(errs, fj.Close())
	}
	return errors.Join(errs...)
}

// shut sees that all lanes refuse tasks from now on if none of them has anything to do: a thread of one may unpark those of another.
func (p *Pinned) shut() bool {
	for _, fj := range p.lanes {
		fj.mu.Lock()
		defer fj.mu.Unlock()
		fj.shared.Lock()
		defer fj.shared.Unlock()
	}
	for _, fj := range p.lanes {
		if !fj.shared.closed && (len(fj.mu.idle) == 0 || fj.shared.n > 0) {
			return false
		}
	}
	for _, fj := range p.lanes {
		fj.shared.closed = true
	}
	return true
}
