//go:build unix

package vnet

import (
	"net"
	"net/netip"
	"strconv"

	"golang.org/x/sys/unix"
)

// receive reads a message without blocking, as far as the descriptor does not. from is a [netip.AddrPort], a path, or nil.
func receive(fd int, b, oob []byte) (got received, from any, err error) {
	n, oobn, flags, sa, err := unix.Recvmsg(fd, b, oob, receiveFlags)
	if err != nil {
		return got, nil, err
	}
	switch sa := sa.(type) {
	case *unix.SockaddrInet4:
		from = netip.AddrPortFrom(netip.AddrFrom4(sa.Addr), uint16(sa.Port))
	case *unix.SockaddrInet6:
		from = netip.AddrPortFrom(netip.AddrFrom16(sa.Addr).WithZone(zone(sa.ZoneId)), uint16(sa.Port))
	case *unix.SockaddrUnix:
		from = sa.Name
	}
	return received{n, oobn, flags}, from, nil
}

// zone returns the name of a zone, as package net does.
func zone(id uint32) string {
	if id == 0 {
		return ""
	}
	if i, err := net.InterfaceByIndex(int(id)); err == nil {
		return i.Name
	}
	return strconv.Itoa(int(id))
}

// send writes a message without blocking, as far as the descriptor does not.
func send(fd int, b, oob []byte, to net.Addr) (n, oobn int, err error) {
	var sa unix.Sockaddr
	switch to := to.(type) {
	case *net.UDPAddr:
		if sa, err = sockaddr(fd, to); err != nil {
			return 0, 0, err
		}
	case *net.UnixAddr:
		sa = &unix.SockaddrUnix{Name: to.Name}
	}
	n, err = unix.SendmsgN(fd, b, oob, sa, sendFlags)
	if err != nil {
		return 0, 0, err
	}
	return n, len(oob), nil
}

// sockaddr returns an address in the form of the socket's family.
func sockaddr(fd int, to *net.UDPAddr) (unix.Sockaddr, error) {
	own, err := unix.Getsockname(fd)
	if err != nil {
		return nil, err
	}
	if _, four := own.(*unix.SockaddrInet4); four {
		ip := to.IP.To4()
		if len(to.IP) == 0 {
			ip = net.IPv4zero.To4()
		}
		if ip == nil {
			return nil, &net.AddrError{Err: "non-IPv4 address", Addr: to.IP.String()}
		}
		return &unix.SockaddrInet4{Port: to.Port, Addr: [4]byte(ip)}, nil
	}
	ip := to.IP.To16()
	if len(to.IP) == 0 || to.IP.Equal(net.IPv4zero) {
		ip = net.IPv6zero
	}
	if ip == nil {
		return nil, &net.AddrError{Err: "non-IPv6 address", Addr: to.IP.String()}
	}
	sa := &unix.SockaddrInet6{Port: to.Port, Addr: [16]byte(ip)}
	if to.Zone != "" {
		if i, err := net.InterfaceByName(to.Zone); err == nil {
			sa.ZoneId = uint32(i.Index)
		} else if n, err := strconv.Atoi(to.Zone); err == nil {
			sa.ZoneId = uint32(n)
		}
	}
	return sa, nil
}
