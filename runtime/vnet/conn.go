package vnet

import (
	"io"
	"net"
	"time"

	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/sched"
	"github.com/vtscope/vtscope/runtime/vthread"
)

// A stream is a connection whose bytes have an order: of TCP, or of a Unix socket.
type stream struct {
	socket
	conn net.Conn
}

// Read reads what there is, up to len(b) bytes, as [net.Conn] says. A thread parks until there is something.
func (c *stream) Read(b []byte) (int, error) {
	me := sched.Current()
	switch {
	case me == nil:
		return c.plain(reading, c.conn.Read, b)
	case !polls:
		return c.elsewhere(reading, func() (int, error) { return c.conn.Read(b) })
	}
	return c.do(me, reading, "read", flight.ReasonRead, b, nil)
}

// Write writes all of b, unless there is an error. A thread parks while the other side does not read.
func (c *stream) Write(b []byte) (n int, err error) {
	me := sched.Current()
	switch {
	case me == nil:
		return c.plain(writing, c.conn.Write, b)
	case !polls:
		return c.elsewhere(writing, func() (int, error) { return c.conn.Write(b) })
	}
	c.at.Lock(writing)
	for {
		more, err := c.at.DoLocked(me, writing, flight.ReasonWrite, b[n:], nil)
		n += more
		if err != nil || n == len(b) {
			c.at.Unlock(writing)
			if err != nil {
				err = c.error("write", err)
			}
			return n, err
		}
	}
}

// plain makes a call of package net for a goroutine.
func (s *socket) plain(dir direction, call func([]byte) (int, error), b []byte) (int, error) {
	s.at.Lock(dir)
	defer s.at.Unlock(dir)
	return call(b)
}

// elsewhere makes a call of package net for a thread, where there are no pollers. It parks meanwhile.
func (s *socket) elsewhere(dir direction, call func() (int, error)) (n int, err error) {
	s.at.Lock(dir)
	defer s.at.Unlock(dir)
	vthread.Blocking(func() { n, err = call() })
	return n, err
}

// Close closes the connection. Whoever reads or writes returns with an error that matches [net.ErrClosed]. Further calls return an error.
func (c *stream) Close() error { return c.close() }

// SetDeadline is SetReadDeadline and SetWriteDeadline.
func (c *stream) SetDeadline(t time.Time) error {
	return c.setDeadline(t, c.conn.SetDeadline, reading, writing)
}

// SetReadDeadline sets when reads give up, those that wait already too, with an error that matches [os.ErrDeadlineExceeded]. The zero value means never.
func (c *stream) SetReadDeadline(t time.Time) error {
	return c.setDeadline(t, c.conn.SetReadDeadline, reading, reading)
}

// SetWriteDeadline is SetReadDeadline for writes.
func (c *stream) SetWriteDeadline(t time.Time) error {
	return c.setDeadline(t, c.conn.SetWriteDeadline, writing, writing)
}

// ReadFrom writes all that r has, as [io.ReaderFrom] says. From a file the system copies, where it can.
func (c *stream) ReadFrom(r io.Reader) (int64, error) {
	if n, err, handled := c.sendFile(r); handled {
		return n, err
	}
	return io.Copy(writer{c}, r)
}

// WriteTo reads to the end, and writes to w, as [io.WriterTo] says.
func (c *stream) WriteTo(w io.Writer) (int64, error) { return io.Copy(w, reader{c}) }

// WriteBuffers writes all of several buffers, together where the system can, and removes from v what was written, as [net.Buffers] does for connections of package
// net; its own WriteTo writes one after the other here.
func (c *stream) WriteBuffers(v *net.Buffers) (int64, error) { return c.writeBuffers(v) }

// The methods that copying uses by itself are hidden: it would call itself.
type (
	writer struct{ io.Writer }
	reader struct{ io.Reader }
)

// A TCPConn is a connection of TCP: a [net.TCPConn] for threads, with all of its methods.
type TCPConn struct {
	stream
	tcp
}

// tcp has the methods of package net's type one level deeper than those of stream, which so come first.
type tcp struct{ *net.TCPConn }

// A UnixConn is a connection of a Unix socket of type stream: a [net.UnixConn] for threads, with all of its methods.
type UnixConn struct {
	stream
	unixStream
}

type unixStream struct{ *net.UnixConn }

// CloseWrite ends the writing side: the other reads an end.
func (c *TCPConn) CloseWrite() error { return c.TCPConn.CloseWrite() }

// CloseRead ends the reading side. Whoever waits in a read returns.
func (c *TCPConn) CloseRead() error {
	err := c.TCPConn.CloseRead()
	c.at.Mark()
	return err
}

// CloseWrite ends the writing side: the other reads an end.
func (c *UnixConn) CloseWrite() error { return c.UnixConn.CloseWrite() }

// CloseRead ends the reading side. Whoever waits in a read returns.
func (c *UnixConn) CloseRead() error {
	err := c.UnixConn.CloseRead()
	c.at.Mark()
	return err
}

// Wrap returns a connection for threads that is c otherwise, which must not be used any more. A connection of package net's own types waits by pollers; one that
// vnet made is returned as it is; of another one a helper goroutine makes the calls of threads.
func Wrap(c net.Conn) (net.Conn, error) {
	switch c := c.(type) {
	case *TCPConn, *UnixConn, *UDPConn, *UnixgramConn, *helped:
		return c, nil
	case *net.TCPConn:
		w := &TCPConn{tcp: tcp{c}}
		w.conn = c
		return w, w.init(c, c.LocalAddr().Network(), c.LocalAddr(), c.RemoteAddr())
	case *net.UnixConn:
		return wrapUnix(c)
	case *net.UDPConn:
		return wrapUDP(c)
	}
	return &helped{c}, nil
}

func wrapUnix(c *net.UnixConn) (net.Conn, error) {
	network := c.LocalAddr().Network()
	if network == "unix" {
		w := &UnixConn{unixStream: unixStream{c}}
		w.conn = c
		return w, w.init(c, network, c.LocalAddr(), c.RemoteAddr())
	}
	return wrapUnixgram(c)
}

// A helped connection is of a kind that pollers cannot watch.
type helped struct{ net.Conn }

func (h *helped) Read(b []byte) (n int, err error) {
	vthread.Blocking(func() { n, err = h.Conn.Read(b) })
	return n, err
}

func (h *helped) Write(b []byte) (n int, err error) {
	vthread.Blocking(func() { n, err = h.Conn.Write(b) })
	return n, err
}
