// Package vnet has sockets that cost a thread, not a carrier: a thread that waits for one parks.
//
//	l, err := vnet.Listen("tcp", "127.0.0.1:0")
//	…
//	for {
//		c, err := l.Accept() // parks
//		…
//		vthread.Start(func() { io.Copy(c, c); c.Close() })
//	}
//
// Everything is shaped like package net and built on it: what is listened to, dialled and wrapped are a [net.Listener], [net.Conn] and [net.PacketConn] with the
// methods of package net's own types, so that net/http, crypto/tls, bufio and database drivers run on them unmodified. Addresses, options, errors, deadlines and
// the order of closing are those of package net, whose objects are inside. What differs is how a thread waits:
//
//   - The descriptor is non-blocking. An operation is tried; if it would block, the thread parks, with the reason read, write, accept or connect, and a poller
//     unparks it when the descriptor is ready; then it is tried again. A read poller watches for reading and accepting, a write poller for writing.
//   - A descriptor is registered once for each direction, edge-triggered, when it has to be waited for the first time. Waiting again costs no system call.
//   - Names are looked up, and connections made, by a helper goroutine, for which the thread parks with the reason lookup, connect or dial.
//
// On a plain goroutine an operation is that of package net. Threads and goroutines may use one connection at a time.
//
// # Interrupts
//
// An interrupt of a thread that waits in a read, write or accept closes the connection or the listener, as it does in Java, and leaves the interrupt status set.
// The error matches [net.ErrClosed] and [sched.ErrInterrupted]. One that waits in a dial gives that up.
//
// # Systems
//
// Pollers use epoll on Linux and kqueue on macOS and the BSDs. Elsewhere, as on Windows, a helper goroutine makes each call that package net would block in:
// see docs/decisions/0011-sockets-are-those-of-package-net.md.
//
// # Concurrency
//
// Everything may be used by any number of threads and goroutines. Of those that read from one socket, or write to it, one waits in the poller, the others queue
// behind it.
//
// # Where to start reading
//
// [socket] tries and waits; package internal/poll wakes; conn.go, listener.go, packet.go and dial.go are the faces of package net.
package vnet
