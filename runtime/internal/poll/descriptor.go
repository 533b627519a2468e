package poll

import (
	"errors"
	"net"
	"os"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/sched"
	"github.com/vtscope/vtscope/runtime/vsync"
)

// A Descriptor is a file descriptor of package net or os whose operations threads make: they are tried, and a thread parks until the next try may succeed. It must be
// prepared by Init, and not be copied.
//
//	D1  An operation of a thread holds its side's lock from the first try to the end, so that a side has one waiter at most (Y1).
//	D2  A try happens inside of [syscall.RawConn], which keeps the descriptor open meanwhile, and tells after it is closed, or its deadline has passed. It registers with
//	    a poller there, too.
//	D3  Who changes what a waiter has looked at (the deadline, that the descriptor is open) marks the side afterwards: the waiter looks again.
//	D4  Close takes the descriptor from the pollers before the number can be used again.
//	D5  An interrupt of who waits closes the descriptor, and stays.
type Descriptor struct {
	owner  Owner
	raw    syscall.RawConn
	kind   Kind
	watch  Watch
	closed atomic.Bool
	sides  [2]side
}

// An Owner is what a descriptor belongs to.
type Owner interface {
	// Try reads or writes once, without blocking: where it would, it fails with EAGAIN.
	Try(fd int, dir Direction, b []byte) (int, error)
	// Spec describes it for the record, but for the blocker itself. It is called once for each direction.
	Spec() flight.BlockerSpec
	// Name is what an event of a slow operation says of it: the other side, or the path.
	Name() string
	// Close closes all, by [Descriptor.Close]. An interrupt calls it.
	Close() error
}

// A Kind says what is special about a descriptor.
type Kind struct {
	Socket      bool  // dumps call it a socket, and else a file
	Listens     bool  // package net has no operations on it that can be tried inside of its own
	Interrupted error // of an operation whose thread was interrupted
	Closed      error // of one after the end; nil: that of [syscall.RawConn], whatever it is
}

// A side is one direction of a descriptor.
type side struct {
	lock  vsync.Mutex
	ready Readiness
	until atomic.Int64 // the deadline, as sched.After counts; 0: none

	// Of the operation that holds lock. The function is made once: it escapes at each call.
	try   func(fd uintptr) bool
	buf   []byte
	n     int
	err   error
	again bool // it would block
	other func(fd int) (int, error)
	fd    int

	waited flight.Ticks // when it began to wait; 0: it did not
}

// Init prepares d, which no one uses yet.
func (d *Descriptor) Init(raw syscall.RawConn, owner Owner, kind Kind) {
	d.raw, d.owner, d.kind = raw, owner, kind
	for i := range d.sides {
		s, dir := &d.sides[i], Direction(i)
		s.try = func(fd uintptr) bool {
			s.fd = int(fd)
			for {
				if s.other != nil {
					s.n, s.err = s.other(s.fd)
				} else {
					s.n, s.err = d.owner.Try(s.fd, dir, s.buf)
				}
				if s.err != syscall.EINTR {
					break
				}
			}
			if s.again = s.err == syscall.EAGAIN; s.again {
				s.err = nil
				if !d.closed.Load() {
					s.err = d.watch.Add(s.fd, dir, &s.ready, func() flight.BlockerSpec { return d.spec(s) }) // D2
				}
			}
			return true
		}
	}
}

// Lock begins an operation in a direction: D1. A thread parks until it is its turn.
func (d *Descriptor) Lock(dir Direction) { d.sides[dir].lock.Lock() }

// Unlock ends what Lock has begun.
func (d *Descriptor) Unlock(dir Direction) { d.sides[dir].lock.Unlock() }

// Do is DoLocked between Lock and Unlock.
func (d *Descriptor) Do(me *sched.Task, dir Direction, why flight.Reason, b []byte, other func(fd int) (int, error)) (int, error) {
	s := &d.sides[dir]
	s.lock.Lock()
	n, err := d.do(s, me, dir, why, b, other)
	s.lock.Unlock()
	me.Pace(n)
	return n, err
}

// DoLocked makes an operation, as the thread me, until it need not be waited for: a try of the owner with b, or other, which is called as that. The error is the try's,
// or one of the [Kind], or [os.ErrDeadlineExceeded].
func (d *Descriptor) DoLocked(me *sched.Task, dir Direction, why flight.Reason, b []byte, other func(fd int) (int, error)) (int, error) {
	n, err := d.do(&d.sides[dir], me, dir, why, b, other)
	me.Pace(n)
	return n, err
}

func (d *Descriptor) do(s *side, me *sched.Task, dir Direction, why flight.Reason, b []byte, other func(fd int) (int, error)) (int, error) {
	s.buf, s.other = b, other
	defer s.forget()
	for {
		if err := d.attempt(s, dir); err != nil || !s.again {
			d.told(s, why, s.n)
			return s.n, err
		}
		if err := d.wait(s, me, why); err != nil {
			d.told(s, why, 0)
			return 0, err
		}
	}
}

func (s *side) forget() { s.buf, s.other = nil, nil }

// attempt tries once.
func (d *Descriptor) attempt(s *side, dir Direction) error {
	s.n, s.err, s.again = 0, nil, false
	if until := s.until.Load(); until != 0 && sched.After(0) >= time.Duration(until) {
		return os.ErrDeadlineExceeded
	}
	var err error
	switch {
	case d.kind.Listens:
		err = d.raw.Control(func(fd uintptr) { s.try(fd) })
	case dir == Writing:
		err = d.raw.Write(s.try)
	default:
		err = d.raw.Read(s.try)
	}
	if err == nil {
		return s.err
	}
	if d.kind.Closed != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
		return d.kind.Closed
	}
	var op *net.OpError
	if errors.As(err, &op) {
		return op.Err
	}
	return err
}

// wait parks until the side may be ready.
func (d *Descriptor) wait(s *side, me *sched.Task, why flight.Reason) error {
	if s.waited == 0 && flight.Default() != nil {
		s.waited = flight.Now()
	}
	return d.park(s, me, why, time.Duration(s.until.Load()))
}

// park waits for a mark until a time, if that is not 0. That the time has passed is not an error: the deadline may have been changed meanwhile.
func (d *Descriptor) park(s *side, me *sched.Task, why flight.Reason, until time.Duration) error {
	p := sched.Pause{State: flight.StateParked, Reason: why, Blocker: d.blocker(s)}
	if until != 0 {
		p.State = flight.StateTimedParked
	}
	if s.ready.Wait(me, sched.Limits{Until: until, Interrupts: true}, p) == sched.ErrInterrupted {
		return d.interrupted(me) // D5
	}
	return nil
}

func (d *Descriptor) interrupted(me *sched.Task) error {
	_ = d.owner.Close()
	_ = me.Interrupt() // it runs: nobody can refuse it
	return d.kind.Interrupted
}

// Await parks the thread me until the side is marked: since it may be ready, or something else has changed. It gives up at a time, as [sched.After] counts. The side
// is locked. An interrupt closes the descriptor; nothing else is an error.
func (d *Descriptor) Await(me *sched.Task, dir Direction, why flight.Reason, until time.Duration) error {
	return d.park(&d.sides[dir], me, why, until)
}

// told records an operation of n bytes on a side that had to wait, if it took long.
func (d *Descriptor) told(s *side, why flight.Reason, n int) {
	if s.waited == 0 {
		return
	}
	sched.NoteIO(why, d.blocker(s), flight.Now().Sub(s.waited), int64(n), d.owner.Name)
	s.waited = 0
}

// Close makes closing, which closes the descriptor, and wakes who waits for it.
func (d *Descriptor) Close(closing func() error) error {
	if d.closed.CompareAndSwap(false, true) {
		_ = d.raw.Control(func(fd uintptr) { d.watch.Remove(int(fd)) }) // D4
	}
	err := closing()
	d.Mark()
	return err
}

// Closed reports whether it was closed by Close.
func (d *Descriptor) Closed() bool { return d.closed.Load() }

// Mark makes who waits look again: D3.
func (d *Descriptor) Mark() {
	for i := range d.sides {
		d.sides[i].ready.Mark()
	}
}

// SetDeadline makes operations in a direction give up at t, those that wait already too. The zero value means never. Package net or os knows of it before.
func (d *Descriptor) SetDeadline(dir Direction, t time.Time) {
	until := time.Duration(0)
	if !t.IsZero() {
		until = max(sched.After(time.Until(t)), 1)
	}
	s := &d.sides[dir]
	s.until.Store(int64(until))
	s.ready.Mark()
}

// Deadline returns the deadline of a direction, as [sched.After] counts; 0: there is none.
func (d *Descriptor) Deadline(dir Direction) time.Duration {
	return time.Duration(d.sides[dir].until.Load())
}

// Blocker is what dumps show of a thread that waits in a direction, which is locked: the descriptor, once it was tried.
func (d *Descriptor) Blocker(dir Direction) flight.Blocker {
	return d.blocker(&d.sides[dir])
}

func (d *Descriptor) blocker(s *side) flight.Blocker {
	if d.kind.Socket {
		return flight.BlockSocket(uintptr(s.fd))
	}
	return flight.BlockFile(uintptr(s.fd))
}

func (d *Descriptor) spec(s *side) flight.BlockerSpec {
	spec := d.owner.Spec()
	spec.Blocker = d.blocker(s)
	return spec
}
