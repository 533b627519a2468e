package vfile

import (
	"errors"
	"io"
	"os"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/internal/poll"
	"github.com/vtscope/vtscope/runtime/sched"
	"github.com/vtscope/vtscope/runtime/vsync"
)

// Pipe returns the two ends of a pipe, as [os.Pipe]. Threads park while it is empty, or full.
func Pipe() (r, w *File, err error) {
	in, out, err := os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	return Wrap(in), Wrap(out), nil
}

// A stream is what can be polled: a pipe, FIFO, terminal or socket. It waits as a socket of package vnet does.
//
//	P1  An operation of a thread holds its side's lock from the first try to the end, so that a side has one waiter at most.
//	P2  A try happens inside of [syscall.RawConn], which keeps the descriptor open meanwhile, and tells after it is closed, or its deadline has passed.
//	P3  Who changes what a waiter has looked at marks the side afterwards: the waiter looks again.
//	P4  Close takes the descriptor from the pollers before the number can be used again.
//	P5  If the descriptor blocks, as one may that others have too, it is asked before each try whether it is ready.
type stream struct {
	f      *File
	blocks atomic.Bool
	closed atomic.Bool
	watch  poll.Watch
	sides  [2]side
}

// A side is one direction of a stream.
type side struct {
	lock  vsync.Mutex
	ready poll.Readiness
	until atomic.Int64 // the deadline, as sched.After counts; 0: none

	// Of the operation that holds lock. The function is made once: it escapes at each call.
	try   func(fd uintptr) bool
	buf   []byte
	n     int
	err   error
	again bool // it would block
	fd    int

	waited flight.Ticks // when it began to wait; 0: it did not
}

func newStream(f *File) *stream {
	s := &stream{f: f}
	s.blocks.Store(blocking(f.raw))
	for i := range s.sides {
		d, dir := &s.sides[i], poll.Direction(i)
		d.try = func(fd uintptr) bool {
			d.fd = int(fd)
			for {
				d.n, d.err = once(d.fd, dir, d.buf, s.blocks.Load())
				if d.err != syscall.EINTR {
					break
				}
			}
			if d.again = d.err == syscall.EAGAIN; d.again {
				d.err = nil
				if !s.closed.Load() {
					d.err = s.watch.Add(d.fd, dir, &d.ready, s.spec) // while the descriptor is open: P2
				}
			}
			return true
		}
	}
	return s
}

func (s *stream) spec() flight.BlockerSpec { return flight.BlockerSpec{Name: s.f.Name()} }

func (s *stream) read(me *sched.Task, b []byte) (int, error) {
	d := &s.sides[poll.Reading]
	d.lock.Lock()
	defer d.lock.Unlock()
	n, err := s.doLocked(me, poll.Reading, b)
	if err != nil && err != io.EOF {
		err = &os.PathError{Op: "read", Path: s.f.Name(), Err: err}
	}
	return n, err
}

func (s *stream) write(me *sched.Task, b []byte) (n int, err error) {
	d := &s.sides[poll.Writing]
	d.lock.Lock()
	defer d.lock.Unlock()
	for n < len(b) {
		m, err := s.doLocked(me, poll.Writing, b[n:])
		n += m
		switch {
		case err == syscall.EPIPE: // package os ends the process, if this is its standard output
			m, err := s.f.inner().Write(b[n:])
			return n + m, err
		case err != nil:
			return n, &os.PathError{Op: "write", Path: s.f.Name(), Err: err}
		}
	}
	return n, nil
}

func (s *stream) doLocked(me *sched.Task, dir poll.Direction, b []byte) (int, error) {
	d := &s.sides[dir]
	d.buf = b[:min(len(b), largest)]
	defer d.forget()
	for {
		if err := s.attempt(d, dir); err != nil || !d.again {
			s.told(d, dir, d.n)
			return d.n, err
		}
		if err := s.wait(me, d, dir); err != nil {
			s.told(d, dir, 0)
			return 0, err
		}
	}
}

func (d *side) forget() { d.buf = nil }

// attempt tries once.
func (s *stream) attempt(d *side, dir poll.Direction) error {
	d.n, d.err, d.again = 0, nil, false
	if until := d.until.Load(); until != 0 && sched.After(0) >= time.Duration(until) {
		return os.ErrDeadlineExceeded
	}
	call := s.f.raw.Read
	if dir == poll.Writing {
		call = s.f.raw.Write
	}
	if err := call(d.try); err != nil {
		if !errors.Is(err, os.ErrDeadlineExceeded) {
			err = os.ErrClosed
		}
		return err
	}
	return d.err
}

func reasonOf(dir poll.Direction) flight.Reason {
	if dir == poll.Writing {
		return flight.ReasonWrite
	}
	return flight.ReasonRead
}

// wait parks until the side may be ready. An interrupt closes the file.
func (s *stream) wait(me *sched.Task, d *side, dir poll.Direction) error {
	l := sched.Limits{Until: time.Duration(d.until.Load()), Interrupts: true}
	p := sched.Pause{State: flight.StateParked, Reason: reasonOf(dir), Blocker: flight.BlockFile(uintptr(d.fd))}
	if l.Until != 0 {
		p.State = flight.StateTimedParked
	}
	if d.waited == 0 {
		d.waited = started()
	}
	if d.ready.Wait(me, l, p) == sched.ErrInterrupted {
		_ = s.f.Close()
		_ = me.Interrupt() // it stays interrupted. It runs: nobody can refuse it
		return errClosedByInterrupt
	}
	return nil // a deadline is looked at again: it may have been changed meanwhile
}

// told records an operation of n bytes that had to wait, if it took long.
func (s *stream) told(d *side, dir poll.Direction, n int) {
	if d.waited == 0 {
		return
	}
	sched.NoteIO(reasonOf(dir), flight.BlockFile(uintptr(d.fd)), flight.Now().Sub(d.waited), int64(n), s.f.Name)
	d.waited = 0
}

// close closes the file, and wakes who waits for it.
func (s *stream) close() error {
	if s.closed.CompareAndSwap(false, true) {
		_ = s.f.raw.Control(func(fd uintptr) { s.watch.Remove(int(fd)) })
	}
	err := s.f.inner().Close()
	for i := range s.sides {
		s.sides[i].ready.Mark()
	}
	return err
}

func (s *stream) setDeadline(t time.Time, read, write bool) {
	until := time.Duration(0)
	if !t.IsZero() {
		until = max(sched.After(time.Until(t)), 1)
	}
	for dir, set := range []bool{read, write} {
		if set {
			s.sides[dir].until.Store(int64(until))
			s.sides[dir].ready.Mark()
		}
	}
}
