package vnet

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/internal/poll"
	"github.com/vtscope/vtscope/runtime/sched"
	"github.com/vtscope/vtscope/runtime/vsync"
)

// The directions of a socket.
type direction = poll.Direction

const (
	reading = poll.Reading
	writing = poll.Writing
	polls   = poll.Polls
)

// Options say how sockets are waited for. The zero value is usable.
type Options = poll.Options

// Configure sets the options of the process. It must be called before a thread waits for a socket for the first time: later it returns an error, as it does for bad
// options. It does not block.
func Configure(o Options) error {
	if err := poll.Configure(o); err != nil {
		return fmt.Errorf("vnet: %w", err)
	}
	return nil
}

// inner is what all sockets of package net have.
type inner interface {
	syscall.Conn
	Close() error
	SetDeadline(time.Time) error
}

// A socket is a descriptor of package net that threads wait for by our own pollers.
//
//	K1  An operation of a thread holds its side's lock from the first try to the end, so that a side has one waiter at most.
//	K2  A try happens inside of [syscall.RawConn], which keeps the descriptor open meanwhile, and tells after it is closed, or its deadline has passed.
//	K3  Who changes what a waiter has looked at (the deadline, that the socket is open) marks the side afterwards: the waiter looks again.
//	K4  Close takes the descriptor from the pollers before the number can be used again.
type socket struct {
	in      inner
	raw     syscall.RawConn
	network string
	local   net.Addr
	remote  net.Addr
	listens bool
	watch   poll.Watch
	closed  atomic.Bool
	sides   [2]side
	name    atomic.Pointer[string] // what other returns, once it was asked for
}

// A side is one direction of a socket.
type side struct {
	lock      vsync.Mutex
	readiness poll.Readiness
	until     atomic.Int64 // the deadline, as sched.After counts; 0: none

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

// init prepares a socket.
func (s *socket) init(in inner, network string, local, remote net.Addr) error {
	raw, err := in.SyscallConn()
	if err != nil {
		return err
	}
	s.in, s.raw, s.network, s.local, s.remote = in, raw, network, local, remote
	for i := range s.sides {
		d, dir, call := &s.sides[i], direction(i), readFD
		if dir == writing {
			call = writeFD
		}
		d.try = func(fd uintptr) bool {
			d.fd = int(fd)
			for {
				if d.other != nil {
					d.n, d.err = d.other(d.fd)
				} else {
					d.n, d.err = call(d.fd, d.buf)
				}
				if d.err != syscall.EINTR {
					break
				}
			}
			if d.again = d.err == syscall.EAGAIN; d.again {
				d.err = nil
				if !s.closed.Load() {
					d.err = s.watch.Add(d.fd, dir, &d.readiness, s.spec) // while the descriptor is open: K2
				}
			}
			return true
		}
	}
	return nil
}

// do makes a call that does not block until it need not be waited for, as the thread me: a read or write of buf, or other. The error is one of package net's, of
// the operation op.
func (s *socket) do(me *sched.Task, dir direction, op string, why flight.Reason, buf []byte, other func(fd int) (int, error)) (int, error) {
	d := &s.sides[dir]
	d.lock.Lock()
	n, err := s.doLocked(me, d, dir, why, buf, other)
	d.lock.Unlock()
	if err != nil {
		err = s.error(op, err)
	}
	return n, err
}

func (s *socket) doLocked(me *sched.Task, d *side, dir direction, why flight.Reason, buf []byte, other func(fd int) (int, error)) (int, error) {
	d.buf, d.other = buf, other
	defer d.forget()
	for {
		if err := s.attempt(d, dir); err != nil || !d.again {
			s.told(d, why, d.n)
			return d.n, err
		}
		if err := s.wait(me, d, why); err != nil {
			s.told(d, why, 0)
			return 0, err
		}
	}
}

func (d *side) forget() { d.buf, d.other = nil, nil }

// attempt tries once.
func (s *socket) attempt(d *side, dir direction) error {
	d.n, d.err, d.again = 0, nil, false
	if until := d.until.Load(); until != 0 && sched.After(0) >= time.Duration(until) {
		return os.ErrDeadlineExceeded
	}
	var err error
	switch {
	case s.listens: // package net has no other way
		err = s.raw.Control(func(fd uintptr) { d.try(fd) })
	case dir == writing:
		err = s.raw.Write(d.try)
	default:
		err = s.raw.Read(d.try)
	}
	if err != nil {
		var op *net.OpError
		if errors.As(err, &op) {
			return op.Err
		}
		return err
	}
	return d.err
}

// wait parks until the side may be ready. An interrupt closes the socket.
func (s *socket) wait(me *sched.Task, d *side, why flight.Reason) error {
	l := sched.Limits{Until: time.Duration(d.until.Load()), Interrupts: true}
	p := sched.Pause{State: flight.StateParked, Reason: why, Blocker: flight.BlockFile(uintptr(d.fd))}
	if l.Until != 0 {
		p.State = flight.StateTimedParked
	}
	if d.waited == 0 && flight.Default() != nil {
		d.waited = flight.Now()
	}
	switch err := d.readiness.Wait(me, l, p); err {
	case sched.ErrInterrupted:
		_ = s.close()
		_ = me.Interrupt() // it stays interrupted. It runs: nobody can refuse it
		return errInterrupted
	default:
		return nil // a deadline is looked at again: it may have been changed meanwhile
	}
}

// spec describes the socket for the record.
func (s *socket) spec() flight.BlockerSpec {
	spec := flight.BlockerSpec{Name: path(s.local), Local: addrPort(s.local), Remote: addrPort(s.remote)}
	if remote := path(s.remote); remote != "" {
		spec.Name = remote
	}
	return spec
}

// close closes the socket, and wakes who waits for it.
func (s *socket) close() error {
	if s.closed.CompareAndSwap(false, true) {
		_ = s.raw.Control(func(fd uintptr) { s.watch.Remove(int(fd)) })
	}
	err := s.in.Close()
	s.mark()
	return err
}

// mark makes who waits look again.
func (s *socket) mark() {
	for i := range s.sides {
		s.sides[i].readiness.Mark()
	}
}

// setDeadline is SetDeadline of the sides from first to last.
func (s *socket) setDeadline(t time.Time, set func(time.Time) error, first, last direction) error {
	if err := set(t); err != nil {
		return err
	}
	until := time.Duration(0)
	if !t.IsZero() {
		until = max(sched.After(time.Until(t)), 1)
	}
	for dir := first; dir <= last; dir++ {
		d := &s.sides[dir]
		d.until.Store(int64(until))
		d.readiness.Mark()
	}
	return nil
}

// error makes an error of package net of what went wrong in an operation.
func (s *socket) error(op string, err error) error {
	if err == io.EOF {
		return err
	}
	if n, ok := err.(syscall.Errno); ok {
		err = os.NewSyscallError(op, n)
	}
	e := &net.OpError{Op: op, Net: s.network, Source: s.local, Addr: s.remote, Err: err}
	if s.remote == nil { // as package net does for who has no peer
		e.Source, e.Addr = nil, s.local
	}
	return e
}

// errInterrupted is why an operation failed of which the thread was interrupted.
var errInterrupted error = interruptedError{}

type interruptedError struct{}

func (interruptedError) Error() string { return "closed, because the thread was interrupted" }

func (interruptedError) Is(target error) bool {
	return target == net.ErrClosed || target == sched.ErrInterrupted
}

// addrPort returns an address as the flight file has it; not valid if it is none of IP.
func addrPort(a net.Addr) netip.AddrPort {
	switch a := a.(type) {
	case *net.TCPAddr:
		if a != nil {
			return a.AddrPort()
		}
	case *net.UDPAddr:
		if a != nil {
			return a.AddrPort()
		}
	}
	return netip.AddrPort{}
}

// path returns the path of a Unix socket, "" if it is none.
func path(a net.Addr) string {
	if u, ok := a.(*net.UnixAddr); ok && u != nil {
		return u.Name
	}
	return ""
}
