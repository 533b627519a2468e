package vnet

import (
	"context"
	"errors"
	"net"
	"os"
	"syscall"
	"time"

	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/internal/poll"
	"github.com/vtscope/vtscope/runtime/sched"
	"github.com/vtscope/vtscope/runtime/vthread"
)

// Listen is [net.Listen] for threads: the connections that it accepts are those of this package. It looks names up as the calling thread does.
func Listen(network, address string) (net.Listener, error) {
	return (&ListenConfig{}).Listen(context.Background(), network, address)
}

// ListenPacket is [net.ListenPacket] for threads.
func ListenPacket(network, address string) (net.PacketConn, error) {
	return (&ListenConfig{}).ListenPacket(context.Background(), network, address)
}

// A ListenConfig is a [net.ListenConfig] for threads.
type ListenConfig struct {
	net.ListenConfig
}

// Listen is [net.ListenConfig.Listen].
func (lc *ListenConfig) Listen(ctx context.Context, network, address string) (net.Listener, error) {
	l, err := outside(ctx, flight.ReasonLookup, func(ctx context.Context) (net.Listener, error) { return lc.ListenConfig.Listen(ctx, network, address) }, closeListener)
	if err != nil {
		return nil, err
	}
	return WrapListener(l)
}

// ListenPacket is [net.ListenConfig.ListenPacket].
func (lc *ListenConfig) ListenPacket(ctx context.Context, network, address string) (net.PacketConn, error) {
	p, err := outside(ctx, flight.ReasonLookup, func(ctx context.Context) (net.PacketConn, error) {
		return lc.ListenConfig.ListenPacket(ctx, network, address)
	}, func(p net.PacketConn) { p.Close() })
	if err != nil {
		return nil, err
	}
	return WrapPacket(p)
}

func closeListener(l net.Listener) { l.Close() }

// A Listener accepts connections of TCP or of Unix sockets: a [net.TCPListener] or [net.UnixListener] for threads.
type Listener struct {
	socket
	listener
}

// listener is what both listeners of package net have.
type listener interface {
	net.Listener
	syscall.Conn
	SetDeadline(time.Time) error
	File() (*os.File, error)
}

// WrapListener returns a listener for threads that is l otherwise, which must not be used any more. Of one that is not of package net's own types a helper goroutine
// accepts for threads, and the connections are wrapped.
func WrapListener(l net.Listener) (net.Listener, error) {
	switch l := l.(type) {
	case *Listener, *helpedListener:
		return l, nil
	case listener:
		switch l.(type) {
		case *net.TCPListener, *net.UnixListener:
			w := &Listener{listener: l}
			return w, w.initAs(poll.Kind{Socket: true, Listens: true, Interrupted: errInterrupted}, l, l.Addr().Network(), l.Addr(), nil)
		}
	}
	return &helpedListener{l}, nil
}

// Accept waits for a connection: a thread parks. While the process or the system has no descriptors left, the connection waits, and so does Accept: it tries again
// until its deadline, or until it is closed.
func (l *Listener) Accept() (net.Conn, error) {
	c, err := l.accept()
	if err != nil {
		return nil, err
	}
	return Wrap(c)
}

// AcceptTCP is Accept of a TCP listener; of another it is an error.
func (l *Listener) AcceptTCP() (*TCPConn, error) { return acceptAs[*TCPConn](l) }

// AcceptUnix is Accept of a Unix listener; of another it is an error.
func (l *Listener) AcceptUnix() (*UnixConn, error) { return acceptAs[*UnixConn](l) }

func acceptAs[C net.Conn](l *Listener) (c C, err error) {
	conn, err := l.Accept()
	if err != nil {
		return c, err
	}
	c, ok := conn.(C)
	if !ok {
		conn.Close()
		return c, l.error("accept", errors.ErrUnsupported)
	}
	return c, nil
}

func (l *Listener) accept() (net.Conn, error) {
	me := sched.Current()
	l.at.Lock(reading)
	defer l.at.Unlock(reading)
	if me == nil {
		return l.whileExhausted(nil, l.listener.Accept)
	}
	if !polls {
		return l.whileExhausted(me, func() (c net.Conn, err error) {
			vthread.Blocking(func() { c, err = l.listener.Accept() })
			return c, err
		})
	}
	return l.whileExhausted(me, func() (net.Conn, error) { return l.acceptReady(me) })
}

// patience is how long package net may wait for a connection that was there: another process may have taken it.
const patience = time.Millisecond

// acceptReady waits until there is a connection, and lets package net accept it.
func (l *Listener) acceptReady(me *sched.Task) (net.Conn, error) {
	for {
		if _, err := l.at.DoLocked(me, reading, flight.ReasonAccept, nil, readable); err != nil {
			return nil, l.error("accept", err)
		}
		until := l.at.Deadline(reading)
		if err := l.listener.SetDeadline(time.Now().Add(patience)); err != nil {
			return nil, err
		}
		c, err := l.listener.Accept()
		l.restore(until)
		if err == nil || !errors.Is(err, os.ErrDeadlineExceeded) {
			return c, err
		}
	}
}

// restore sets the deadline of package net's listener to the one that the user has set.
func (l *Listener) restore(until time.Duration) {
	for {
		t := time.Time{}
		if until != 0 {
			t = time.Now().Add(until - sched.After(0))
		}
		_ = l.listener.SetDeadline(t)
		now := l.at.Deadline(reading)
		if now == until {
			return
		}
		until = now // it was changed meanwhile
	}
}

// whileExhausted calls accept again, after growing pauses, while there are no descriptors left.
func (l *Listener) whileExhausted(me *sched.Task, accept func() (net.Conn, error)) (net.Conn, error) {
	for pause := 5 * time.Millisecond; ; pause = min(2*pause, time.Second) {
		c, err := accept()
		var op *net.OpError
		if err == nil || !errors.As(err, &op) || !isDescriptorsExhausted(op.Err) {
			return c, err
		}
		l.exhausted(me)
		// A deadline or the end wakes it, as they do in a wait for a connection.
		if err := l.pause(me, pause); err != nil {
			return nil, err
		}
	}
}

// pause waits for a time, for the deadline, or for the end.
func (l *Listener) pause(me *sched.Task, d time.Duration) error {
	until := l.at.Deadline(reading)
	end := sched.After(d)
	if until != 0 && until < end {
		end = until
	}
	if me == nil {
		time.Sleep(time.Until(time.Now().Add(end - sched.After(0))))
		return nil
	}
	err := l.at.Await(me, reading, flight.ReasonAccept, end)
	if err == nil && !l.at.Closed() && l.at.Deadline(reading) == until { // a connection more: it waits, too
		if err = vthread.Sleep(max(end-sched.After(0), 0)); errors.Is(err, sched.ErrInterrupted) {
			_ = l.close()
			_ = me.Interrupt()
			err = errInterrupted
		}
	}
	if err != nil {
		return l.error("accept", err)
	}
	return nil // accepting tells whether the deadline has passed
}

// Close closes the listener. Whoever accepts returns with an error that matches [net.ErrClosed]. Connections stay.
func (l *Listener) Close() error { return l.close() }

// SetDeadline sets when accepting gives up. The zero value means never.
func (l *Listener) SetDeadline(t time.Time) error {
	return l.setDeadline(t, l.listener.SetDeadline, reading, reading)
}

// SyscallConn returns the descriptor, as [net.TCPListener.SyscallConn].
func (l *Listener) SyscallConn() (syscall.RawConn, error) { return l.listener.SyscallConn() }

// A helpedListener is of a kind that pollers cannot watch.
type helpedListener struct{ net.Listener }

func (l *helpedListener) Accept() (c net.Conn, err error) {
	vthread.Blocking(func() { c, err = l.Listener.Accept() })
	if err != nil {
		return nil, err
	}
	return Wrap(c)
}
