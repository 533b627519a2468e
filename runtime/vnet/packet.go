package vnet

import (
	"io"
	"net"
	"net/netip"
	"time"

	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/sched"
	"github.com/vtscope/vtscope/runtime/vthread"
)

// A datagram is a socket of messages: of UDP, or of a Unix socket.
type datagram struct {
	socket
	conn interface {
		net.Conn
		net.PacketConn
	}
}

// transfer makes a call that reads or writes a message. call is of package net; raw does the same without blocking.
func (c *datagram) transfer(dir direction, op string, why flight.Reason, call func() error, raw func(fd int) (int, error)) (n int, err error) {
	me := sched.Current()
	if me != nil && polls {
		return c.do(me, dir, op, why, nil, raw)
	}
	c.at.Lock(dir)
	defer c.at.Unlock(dir)
	if me == nil {
		return 0, call()
	}
	vthread.Blocking(func() { err = call() })
	return 0, err
}

// Read reads a message of the peer. What does not fit into b is lost. A thread parks until there is one.
func (c *datagram) Read(b []byte) (n int, err error) {
	m, err := c.transfer(reading, "read", flight.ReasonRead, func() error { n, err = c.conn.Read(b); return err },
		func(fd int) (int, error) { got, _, err := receive(fd, b, nil); return got.n, err })
	if n+m == 0 && err == nil && len(b) > 0 && c.network == "unixpacket" {
		return 0, io.EOF // messages of a connection are not empty
	}
	return n + m, err
}

// Write writes b as one message. A thread parks while there is no room for it.
func (c *datagram) Write(b []byte) (n int, err error) {
	m, err := c.transfer(writing, "write", flight.ReasonWrite, func() error { n, err = c.conn.Write(b); return err },
		func(fd int) (int, error) { m, _, err := send(fd, b, nil, nil); return m, err })
	return n + m, err
}

// receiveFrom reads a message and where it came from. plain is the same of package net.
func (c *datagram) receiveFrom(b, oob []byte, plain func() (received, any, error)) (got received, from any, err error) {
	_, err = c.transfer(reading, "read", flight.ReasonRead, func() error { got, from, err = plain(); return err },
		func(fd int) (int, error) { got, from, err = receive(fd, b, oob); return got.n, err })
	return got, from, err
}

// sendTo writes a message, to whom the socket is connected with if to is nil. plain is the same of package net.
func (c *datagram) sendTo(b, oob []byte, to net.Addr, plain func() (int, int, error)) (n, oobn int, err error) {
	_, err = c.transfer(writing, "write", flight.ReasonWrite, func() error { n, oobn, err = plain(); return err },
		func(fd int) (int, error) { n, oobn, err = send(fd, b, oob, to); return n, err })
	if e, ok := err.(*net.OpError); ok && to != nil {
		e.Addr = to
	}
	return n, oobn, err
}

// A received message has n bytes, oobn out of band, and flags.
type received struct{ n, oobn, flags int }

// Close closes the socket. Whoever reads or writes returns with an error that matches [net.ErrClosed].
func (c *datagram) Close() error { return c.close() }

// SetDeadline is SetReadDeadline and SetWriteDeadline.
func (c *datagram) SetDeadline(t time.Time) error {
	return c.setDeadline(t, c.conn.SetDeadline, reading, writing)
}

// SetReadDeadline sets when reads give up. The zero value means never.
func (c *datagram) SetReadDeadline(t time.Time) error {
	return c.setDeadline(t, c.conn.SetReadDeadline, reading, reading)
}

// SetWriteDeadline sets when writes give up. The zero value means never.
func (c *datagram) SetWriteDeadline(t time.Time) error {
	return c.setDeadline(t, c.conn.SetWriteDeadline, writing, writing)
}

// A UDPConn is a socket of UDP: a [net.UDPConn] for threads, with all of its methods.
type UDPConn struct {
	datagram
	udp
}

type udp struct{ *net.UDPConn }

func wrapUDP(c *net.UDPConn) (*UDPConn, error) {
	w := &UDPConn{udp: udp{c}}
	w.conn = c
	return w, w.init(c, c.LocalAddr().Network(), c.LocalAddr(), c.RemoteAddr())
}

// ReadFrom is [net.UDPConn.ReadFrom] for threads.
func (c *UDPConn) ReadFrom(b []byte) (int, net.Addr, error) {
	n, from, err := c.ReadFromUDP(b)
	if from == nil {
		return n, nil, err
	}
	return n, from, err
}

// ReadFromUDP is [net.UDPConn.ReadFromUDP] for threads.
func (c *UDPConn) ReadFromUDP(b []byte) (int, *net.UDPAddr, error) {
	n, from, err := c.ReadFromUDPAddrPort(b)
	if !from.IsValid() {
		return n, nil, err
	}
	return n, c.address(from), err
}

// address returns a sender's address, of the length that package net gives it.
func (c *UDPConn) address(a netip.AddrPort) *net.UDPAddr {
	u := net.UDPAddrFromAddrPort(a)
	if local, ok := c.local.(*net.UDPAddr); ok && local.IP.To4() == nil && a.Addr().Is4() {
		u.IP = u.IP.To16()
	}
	return u
}

// ReadFromUDPAddrPort is [net.UDPConn.ReadFromUDPAddrPort] for threads.
func (c *UDPConn) ReadFromUDPAddrPort(b []byte) (int, netip.AddrPort, error) {
	got, from, err := c.receiveFrom(b, nil, func() (received, any, error) {
		n, from, err := c.UDPConn.ReadFromUDPAddrPort(b)
		return received{n: n}, from, err
	})
	a, _ := from.(netip.AddrPort)
	return got.n, a, err
}

// ReadMsgUDP is [net.UDPConn.ReadMsgUDP] for threads.
func (c *UDPConn) ReadMsgUDP(b, oob []byte) (n, oobn, flags int, addr *net.UDPAddr, err error) {
	n, oobn, flags, from, err := c.ReadMsgUDPAddrPort(b, oob)
	if from.IsValid() {
		addr = c.address(from)
	}
	return n, oobn, flags, addr, err
}

// ReadMsgUDPAddrPort is [net.UDPConn.ReadMsgUDPAddrPort] for threads.
func (c *UDPConn) ReadMsgUDPAddrPort(b, oob []byte) (n, oobn, flags int, addr netip.AddrPort, err error) {
	got, from, err := c.receiveFrom(b, oob, func() (got received, from any, err error) {
		got.n, got.oobn, got.flags, from, err = c.UDPConn.ReadMsgUDPAddrPort(b, oob)
		return got, from, err
	})
	addr, _ = from.(netip.AddrPort)
	return got.n, got.oobn, got.flags, addr, err
}

// WriteTo is [net.UDPConn.WriteTo] for threads.
func (c *UDPConn) WriteTo(b []byte, to net.Addr) (int, error) {
	a, ok := to.(*net.UDPAddr)
	if !ok || a == nil || c.remote != nil {
		return c.UDPConn.WriteTo(b, to) // which says what is wrong
	}
	return c.WriteToUDP(b, a)
}

// WriteToUDP is [net.UDPConn.WriteToUDP] for threads.
func (c *UDPConn) WriteToUDP(b []byte, to *net.UDPAddr) (int, error) {
	n, _, err := c.WriteMsgUDP(b, nil, to)
	return n, err
}

// WriteToUDPAddrPort is [net.UDPConn.WriteToUDPAddrPort] for threads.
func (c *UDPConn) WriteToUDPAddrPort(b []byte, to netip.AddrPort) (int, error) {
	n, _, err := c.WriteMsgUDPAddrPort(b, nil, to)
	return n, err
}

// WriteMsgUDP is [net.UDPConn.WriteMsgUDP] for threads.
func (c *UDPConn) WriteMsgUDP(b, oob []byte, to *net.UDPAddr) (n, oobn int, err error) {
	if (to == nil) != (c.remote != nil) {
		return c.UDPConn.WriteMsgUDP(b, oob, to) // which says what is wrong
	}
	var a net.Addr
	if to != nil {
		a = to
	}
	return c.sendTo(b, oob, a, func() (int, int, error) { return c.UDPConn.WriteMsgUDP(b, oob, to) })
}

// WriteMsgUDPAddrPort is [net.UDPConn.WriteMsgUDPAddrPort] for threads.
func (c *UDPConn) WriteMsgUDPAddrPort(b, oob []byte, to netip.AddrPort) (n, oobn int, err error) {
	if to.IsValid() == (c.remote != nil) {
		return c.UDPConn.WriteMsgUDPAddrPort(b, oob, to) // which says what is wrong
	}
	var a net.Addr
	if to.IsValid() {
		a = net.UDPAddrFromAddrPort(to)
	}
	return c.sendTo(b, oob, a, func() (int, int, error) { return c.UDPConn.WriteMsgUDPAddrPort(b, oob, to) })
}

// A UnixgramConn is a Unix socket of messages, of type datagram or seqpacket: a [net.UnixConn] for threads, with all of its methods.
type UnixgramConn struct {
	datagram
	unixgram
}

type unixgram struct{ *net.UnixConn }

func wrapUnixgram(c *net.UnixConn) (*UnixgramConn, error) {
	w := &UnixgramConn{unixgram: unixgram{c}}
	w.conn = c
	remote := c.RemoteAddr()
	if u, ok := remote.(*net.UnixAddr); ok && u == nil {
		remote = nil
	}
	return w, w.init(c, c.LocalAddr().Network(), c.LocalAddr(), remote)
}

// CloseRead ends the reading side. Whoever waits in a read returns.
func (c *UnixgramConn) CloseRead() error {
	err := c.UnixConn.CloseRead()
	c.at.Mark()
	return err
}

// ReadFrom is [net.UnixConn.ReadFrom] for threads.
func (c *UnixgramConn) ReadFrom(b []byte) (int, net.Addr, error) {
	n, from, err := c.ReadFromUnix(b)
	if from == nil {
		return n, nil, err
	}
	return n, from, err
}

// ReadFromUnix is [net.UnixConn.ReadFromUnix] for threads.
func (c *UnixgramConn) ReadFromUnix(b []byte) (int, *net.UnixAddr, error) {
	n, _, _, from, err := c.ReadMsgUnix(b, nil)
	return n, from, err
}

// ReadMsgUnix is [net.UnixConn.ReadMsgUnix] for threads.
func (c *UnixgramConn) ReadMsgUnix(b, oob []byte) (n, oobn, flags int, addr *net.UnixAddr, err error) {
	got, from, err := c.receiveFrom(b, oob, func() (got received, from any, err error) {
		var a *net.UnixAddr
		got.n, got.oobn, got.flags, a, err = c.UnixConn.ReadMsgUnix(b, oob)
		return got, a, err
	})
	switch from := from.(type) {
	case *net.UnixAddr:
		addr = from
	case string:
		if from != "" {
			addr = &net.UnixAddr{Name: from, Net: c.network}
		}
	}
	return got.n, got.oobn, got.flags, addr, err
}

// WriteTo is [net.UnixConn.WriteTo] for threads.
func (c *UnixgramConn) WriteTo(b []byte, to net.Addr) (int, error) {
	a, ok := to.(*net.UnixAddr)
	if !ok || a == nil || c.remote != nil || a.Net != c.network {
		return c.UnixConn.WriteTo(b, to) // which says what is wrong
	}
	return c.WriteToUnix(b, a)
}

// WriteToUnix is [net.UnixConn.WriteToUnix] for threads.
func (c *UnixgramConn) WriteToUnix(b []byte, to *net.UnixAddr) (int, error) {
	n, _, err := c.WriteMsgUnix(b, nil, to)
	return n, err
}

// WriteMsgUnix is [net.UnixConn.WriteMsgUnix] for threads.
func (c *UnixgramConn) WriteMsgUnix(b, oob []byte, to *net.UnixAddr) (n, oobn int, err error) {
	if to != nil && (c.remote != nil || to.Net != c.network) {
		return c.UnixConn.WriteMsgUnix(b, oob, to) // which says what is wrong
	}
	var a net.Addr
	if to != nil {
		a = to
	}
	return c.sendTo(b, oob, a, func() (int, int, error) { return c.UnixConn.WriteMsgUnix(b, oob, to) })
}

// WrapPacket is [Wrap] for sockets of messages. Of one that pollers cannot watch a helper goroutine makes the calls of threads.
func WrapPacket(p net.PacketConn) (net.PacketConn, error) {
	switch p := p.(type) {
	case *UDPConn, *UnixgramConn, *helpedPacket:
		return p, nil
	case *net.UDPConn:
		return wrapUDP(p)
	case *net.UnixConn:
		return wrapUnixgram(p)
	}
	return &helpedPacket{p}, nil
}

// A helpedPacket is of a kind that pollers cannot watch.
type helpedPacket struct{ net.PacketConn }

func (h *helpedPacket) ReadFrom(b []byte) (n int, from net.Addr, err error) {
	vthread.Blocking(func() { n, from, err = h.PacketConn.ReadFrom(b) })
	return n, from, err
}

func (h *helpedPacket) WriteTo(b []byte, to net.Addr) (n int, err error) {
	vthread.Blocking(func() { n, err = h.PacketConn.WriteTo(b, to) })
	return n, err
}
