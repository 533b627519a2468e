package vnet

import (
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

// A socket is one of package net that threads wait for by our own pollers.
type socket struct {
	in      inner
	network string
	local   net.Addr
	remote  net.Addr
	at      poll.Descriptor
	name    atomic.Pointer[string] // what other returns, once it was asked for
}

// init prepares a socket.
func (s *socket) init(in inner, network string, local, remote net.Addr) error {
	return s.initAs(poll.Kind{Socket: true, Interrupted: errInterrupted}, in, network, local, remote)
}

func (s *socket) initAs(kind poll.Kind, in inner, network string, local, remote net.Addr) error {
	raw, err := in.SyscallConn()
	if err != nil {
		return err
	}
	s.in, s.network, s.local, s.remote = in, network, local, remote
	s.at.Init(raw, (*owner)(s), kind)
	return nil
}

// An owner is a socket for its descriptor. The methods are not the socket's own, which connections would have, too.
type owner socket

func (*owner) Try(fd int, dir direction, b []byte) (int, error) {
	if dir == writing {
		return writeFD(fd, b)
	}
	return readFD(fd, b)
}

func (o *owner) Spec() flight.BlockerSpec {
	spec := flight.BlockerSpec{Name: path(o.local), Local: addrPort(o.local), Remote: addrPort(o.remote)}
	if remote := path(o.remote); remote != "" {
		spec.Name = remote
	}
	return spec
}

func (o *owner) Name() string { return (*socket)(o).other() }
func (o *owner) Close() error { return (*socket)(o).close() }

// do makes a call that does not block until it need not be waited for, as the thread me: a read or write of buf, or other. The error is one of package net's, of
// the operation op.
func (s *socket) do(me *sched.Task, dir direction, op string, why flight.Reason, buf []byte, other func(fd int) (int, error)) (int, error) {
	n, err := s.at.Do(me, dir, why, buf, other)
	if err != nil {
		err = s.error(op, err)
	}
	return n, err
}

// close closes the socket, and wakes who waits for it.
func (s *socket) close() error { return s.at.Close(s.in.Close) }

// setDeadline is SetDeadline of the sides from first to last.
func (s *socket) setDeadline(t time.Time, set func(time.Time) error, first, last direction) error {
	if err := set(t); err != nil {
		return err
	}
	for dir := first; dir <= last; dir++ {
		s.at.SetDeadline(dir, t)
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
