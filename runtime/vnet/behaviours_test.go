package vnet_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/vtscope/vtscope/runtime/continuation"
	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/sched"
	"github.com/vtscope/vtscope/runtime/vhttp"
	"github.com/vtscope/vtscope/runtime/vnet"
	"github.com/vtscope/vtscope/runtime/vsync"
	"github.com/vtscope/vtscope/runtime/vthread"
)

// eachWay calls f for each network, on a thread that can leave its carrier and on one that is pinned to it.
func eachWay(t *testing.T, f func(t *testing.T, network string, start func(func()) *vthread.Thread)) {
	for network := range networks(t) {
		eachThread(t, network, func(t *testing.T, start func(func()) *vthread.Thread) { f(t, network, start) })
	}
}

// eachThread calls f as a test of a name, with how to start a thread that can leave its carrier and one that is pinned to it.
func eachThread(t *testing.T, name string, f func(t *testing.T, start func(func()) *vthread.Thread)) {
	t.Run(name, func(t *testing.T) { f(t, vthread.Start) })
	t.Run(name+"/pinned", func(t *testing.T) {
		f(t, func(g func()) *vthread.Thread {
			return vthread.Start(func() {
				continuation.Pin()
				defer continuation.Unpin()
				g()
			})
		})
	})
}

// awaitWaits waits until a thread waits, pinned or not.
func awaitWaits(t *testing.T, th *vthread.Thread) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		switch th.State() {
		case flight.StateParked, flight.StateTimedParked, flight.StatePinned, flight.StateDone:
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%v does not wait", th)
		}
	}
}

// NW-01
func TestWhatNeedNotWaitDoesNot(t *testing.T) {
	eachWay(t, func(t *testing.T, network string, start func(func()) *vthread.Thread) {
		c1, c2 := pair(t, network)
		start(func() {
			if n, err := c1.Write([]byte("abc")); n != 3 || err != nil {
				t.Errorf("got %d, %v", n, err)
			}
		}).Join()
		start(func() {
			b := make([]byte, 10)
			if n, err := c2.Read(b[:0]); n != 0 || err != nil {
				t.Errorf("nothing: got %d, %v", n, err)
			}
			if n, err := c2.Read(b); n != 3 || err != nil || string(b[:3]) != "abc" {
				t.Errorf("got %d, %v, %q", n, err, b[:n])
			}
		}).Join()
	})
}

// NW-02
// On a scheduler with one carrier and none to stand in for it nobody else would ever go on.
func TestWhoNeedNotWaitLetsOthersGoOn(t *testing.T) {
	single := sched.NewSingle()
	defer single.Close()
	b := vthread.Builder{Scheduler: single}
	var ran atomic.Bool
	to, err := net.ListenPacket("udp", "127.0.0.1:0") // which nobody reads: what does not fit is dropped
	if err != nil {
		t.Fatal(err)
	}
	defer to.Close()
	if err := b.Start(func() {
		c, err := vnet.Dial("udp", to.LocalAddr().String())
		if err != nil {
			t.Error(err)
			return
		}
		defer c.Close()
		other := b.Start(func() { ran.Store(true) })
		for began := time.Now(); !ran.Load(); {
			if time.Since(began) > time.Minute {
				t.Error("the other thread was not executed meanwhile")
				break
			}
			if _, err := c.Write([]byte("x")); err != nil {
				t.Error(err)
				break
			}
		}
		other.Join()
	}).Join(); err != nil {
		t.Error(err)
	}
}

func TestABlockedReadGoesOnWithData(t *testing.T) {
	eachWay(t, func(t *testing.T, network string, start func(func()) *vthread.Thread) {
		for _, timed := range []bool{false, true} {
			c1, c2 := pair(t, network)
			if timed {
				c2.SetReadDeadline(time.Now().Add(time.Minute))
			}
			th := start(func() {
				b := make([]byte, 10)
				if n, err := c2.Read(b); err != nil || string(b[:n]) != "late" {
					t.Errorf("got %q, %v", b[:n], err)
				}
			})
			awaitWaits(t, th)
			if _, err := c1.Write([]byte("late")); err != nil {
				t.Fatal(err)
			}
			th.Join()
		}
	})
}

// NW-03
func TestABlockedWriteGoesOnWithAReader(t *testing.T) {
	const size = 100 << 20
	for network := range networks(t) {
		t.Run(network, func(t *testing.T) {
			c1, c2 := pair(t, network)
			block := make([]byte, 1<<20)
			for i := range block {
				block[i] = byte(i * 7 / 3)
			}
			data := bytes.Repeat(block, size>>20)
			var n int
			var err error
			th := vthread.Start(func() { n, err = c1.Write(data) })
			awaitParked(t, th)
			vthread.Start(func() {
				got := make([]byte, 1<<20)
				for range size >> 20 {
					if _, err := io.ReadFull(c2, got); err != nil || !bytes.Equal(got, block) {
						t.Errorf("read: %v, same: %v", err, bytes.Equal(got, block))
						c2.Close()
						return
					}
				}
			}).Join()
			th.Join()
			if n != size || err != nil {
				t.Errorf("got %d, %v", n, err)
			}
		})
	}
}

// NW-04
func TestAPeersCloseEndsABlockedRead(t *testing.T) {
	eachWay(t, func(t *testing.T, network string, start func(func()) *vthread.Thread) {
		c1, c2 := pair(t, network)
		th := start(func() {
			if n, err := c2.Read(make([]byte, 1)); n != 0 || err != io.EOF {
				t.Errorf("got %d, %v", n, err)
			}
		})
		awaitWaits(t, th)
		c1.Close()
		th.Join()
	})
}

func TestHalfAConnectionCloses(t *testing.T) {
	for network := range networks(t) {
		c1, c2 := pair(t, network)
		half := c1.(interface {
			CloseWrite() error
			CloseRead() error
		})
		th := vthread.Start(func() {
			if n, err := c2.Read(make([]byte, 1)); n != 0 || err != io.EOF {
				t.Errorf("%s: got %d, %v", network, n, err)
			}
			if _, err := c2.Write([]byte("still")); err != nil {
				t.Error(err)
			}
		})
		awaitParked(t, th)
		if err := half.CloseWrite(); err != nil {
			t.Fatal(err)
		}
		th.Join()
		vthread.Start(func() {
			b := make([]byte, 10)
			if n, err := c1.Read(b); err != nil || string(b[:n]) != "still" {
				t.Errorf("%s: got %q, %v", network, b[:n], err)
			}
		}).Join()
		th = vthread.Start(func() {
			if n, err := c1.Read(make([]byte, 1)); n != 0 || err != io.EOF {
				t.Errorf("%s: own half closed: got %d, %v", network, n, err)
			}
		})
		awaitParked(t, th)
		if err := half.CloseRead(); err != nil {
			t.Fatal(err)
		}
		th.Join()
	}
}

func TestAResetIsAnError(t *testing.T) {
	c1, c2 := pair(t, "tcp")
	th := vthread.Start(func() {
		_, err := c2.Read(make([]byte, 1))
		var op *net.OpError
		if !errors.Is(err, syscall.ECONNRESET) || !errors.As(err, &op) || op.Op != "read" || op.Net != "tcp" || op.Source == nil || op.Addr == nil {
			t.Errorf("got %#v", err)
		}
	})
	awaitParked(t, th)
	c1.(interface{ SetLinger(int) error }).SetLinger(0)
	c1.Close()
	th.Join()
}

// NW-06
func TestAnOwnCloseEndsWhatIsBlocked(t *testing.T) {
	eachWay(t, func(t *testing.T, network string, start func(func()) *vthread.Thread) {
		for _, timed := range []bool{false, true} {
			c1, _ := pair(t, network)
			if timed {
				c1.SetDeadline(time.Now().Add(time.Minute))
			}
			check := func(what string, err error) {
				if !errors.Is(err, net.ErrClosed) || errors.Is(err, sched.ErrInterrupted) {
					t.Errorf("%s: got %v", what, err)
				}
			}
			r := start(func() { _, err := c1.Read(make([]byte, 1)); check("read", err) })
			w := start(func() { _, err := c1.Write(make([]byte, 100<<20)); check("write", err) })
			awaitWaits(t, r)
			awaitWaits(t, w)
			if err := c1.Close(); err != nil {
				t.Error(err)
			}
			r.Join()
			w.Join()
			check("again", c1.Close())
		}
	})
}

func TestDeadlinesEndWhatIsBlocked(t *testing.T) {
	eachWay(t, func(t *testing.T, network string, start func(func()) *vthread.Thread) {
		c1, c2 := pair(t, network)
		expired := func(err error) {
			var timeout net.Error
			if !errors.Is(err, os.ErrDeadlineExceeded) || !errors.As(err, &timeout) || !timeout.Timeout() {
				t.Errorf("got %#v", err)
			}
		}
		// Set before, to the past and to the future, and changed while it is blocked.
		for _, d := range []time.Duration{-time.Hour, 0, 20 * time.Millisecond} {
			c1.SetReadDeadline(time.Now().Add(d))
			start(func() { _, err := c1.Read(make([]byte, 1)); expired(err) }).Join()
		}
		for _, d := range []time.Duration{-time.Hour, 20 * time.Millisecond} {
			c1.SetReadDeadline(time.Time{})
			th := start(func() { _, err := c1.Read(make([]byte, 1)); expired(err) })
			awaitWaits(t, th)
			c1.SetReadDeadline(time.Now().Add(d))
			th.Join()
		}
		// A later one, and none, take one back: if they come in time, which a busy machine may not let them.
		for d := 50 * time.Millisecond; ; d *= 2 {
			until := time.Now().Add(d)
			c1.SetReadDeadline(until)
			var err error
			th := start(func() { _, err = c1.Read(make([]byte, 1)) })
			awaitWaits(t, th)
			c1.SetReadDeadline(time.Now().Add(time.Hour))
			late := !time.Now().Before(until)
			c1.SetReadDeadline(time.Time{})
			time.Sleep(time.Until(until) + 50*time.Millisecond)
			c2.Write([]byte{1})
			th.Join()
			if late && errors.Is(err, os.ErrDeadlineExceeded) {
				start(func() { c1.Read(make([]byte, 1)) }).Join() // what it did not read
				continue
			}
			if err != nil {
				t.Error(err)
			}
			break
		}
		// Of writing it says nothing.
		c1.SetReadDeadline(time.Now().Add(-time.Hour))
		start(func() {
			if _, err := c1.Write([]byte{1}); err != nil {
				t.Error(err)
			}
		}).Join()
		c1.SetWriteDeadline(time.Now().Add(-time.Hour))
		start(func() { _, err := c1.Write([]byte{1}); expired(err) }).Join()
	})
}

func TestAnInterruptClosesAndStays(t *testing.T) {
	eachWay(t, func(t *testing.T, network string, start func(func()) *vthread.Thread) {
		for _, op := range []struct {
			name string
			do   func(c net.Conn) error
		}{
			{"read", func(c net.Conn) error { _, err := c.Read(make([]byte, 1)); return err }},
			{"write", func(c net.Conn) error { _, err := c.Write(make([]byte, 100<<20)); return err }},
		} {
			for _, before := range []bool{false, true} {
				c1, _ := pair(t, network)
				th := start(func() {
					if before {
						vthread.Current().Interrupt()
					}
					err := op.do(c1)
					if !errors.Is(err, net.ErrClosed) || !errors.Is(err, sched.ErrInterrupted) {
						t.Errorf("%s: got %v", op.name, err)
					}
					if !vthread.Interrupted() {
						t.Errorf("%s: the status was cleared", op.name)
					}
				})
				if !before {
					awaitWaits(t, th)
					th.Interrupt()
				}
				th.Join()
				if _, err := c1.Read(make([]byte, 1)); !errors.Is(err, net.ErrClosed) {
					t.Errorf("%s: got %v of the closed connection", op.name, err)
				}
			}
		}
	})
}

// NW-09
func TestAcceptWaitsAndIsEnded(t *testing.T) {
	eachWay(t, func(t *testing.T, network string, start func(func()) *vthread.Thread) {
		listen := func() net.Listener {
			l, err := vnet.Listen(network, networks(t)[network])
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { l.Close() })
			return l
		}
		dial := func(l net.Listener) {
			c, err := net.Dial(network, l.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { c.Close() })
		}
		got := func(l net.Listener) {
			c, err := l.Accept()
			if err != nil {
				t.Error(err)
				return
			}
			c.Close()
		}
		l := listen()
		dial(l)
		start(func() { got(l) }).Join() // it is there
		th := start(func() { got(l) })
		awaitWaits(t, th)
		dial(l)
		th.Join()

		l.(*vnet.Listener).SetDeadline(time.Now().Add(20 * time.Millisecond))
		start(func() {
			if _, err := l.Accept(); !errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("got %v", err)
			}
		}).Join()
		l.(*vnet.Listener).SetDeadline(time.Time{})
		th = start(func() { got(l) })
		awaitWaits(t, th)
		dial(l)
		th.Join()

		th = start(func() {
			if _, err := l.Accept(); !errors.Is(err, net.ErrClosed) || errors.Is(err, sched.ErrInterrupted) {
				t.Errorf("closed: got %v", err)
			}
		})
		awaitWaits(t, th)
		l.Close()
		th.Join()

		l = listen()
		th = start(func() {
			if _, err := l.Accept(); !errors.Is(err, net.ErrClosed) || !errors.Is(err, sched.ErrInterrupted) {
				t.Errorf("interrupted: got %v", err)
			}
			if !vthread.Interrupted() {
				t.Error("the status was cleared")
			}
		})
		awaitWaits(t, th)
		th.Interrupt()
		th.Join()
		if c, err := net.Dial(network, l.Addr().String()); err == nil {
			c.Close()
			t.Error("the listener listens still")
		}
	})
}

// NW-11
func TestMessagesOfUDP(t *testing.T) {
	for _, address := range []string{"127.0.0.1:0", "[::1]:0", ":0"} {
		t.Run(address, func(t *testing.T) {
			p, err := vnet.ListenPacket("udp", address)
			if err != nil {
				t.Skipf("no such address here: %v", err)
			}
			defer p.Close()
			conn := p.(*vnet.UDPConn)
			port := p.LocalAddr().(*net.UDPAddr).Port
			to := net.JoinHostPort("127.0.0.1", fmt.Sprint(port))
			if address == "[::1]:0" {
				to = net.JoinHostPort("::1", fmt.Sprint(port))
			}
			c, err := vnet.Dial("udp", to)
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			local := c.LocalAddr().(*net.UDPAddr).AddrPort()
			same := func(a netip.AddrPort) bool {
				return a.Addr().Unmap() == local.Addr().Unmap() && a.Port() == local.Port()
			}
			b := make([]byte, 100)
			reads := map[string]func() (int, netip.AddrPort, error){
				"ReadFrom": func() (int, netip.AddrPort, error) {
					n, from, err := p.ReadFrom(b)
					return n, addrPort(from), err
				},
				"ReadFromUDP": func() (int, netip.AddrPort, error) {
					n, from, err := conn.ReadFromUDP(b)
					return n, addrPort(from), err
				},
				"ReadFromUDPAddrPort": func() (int, netip.AddrPort, error) { return conn.ReadFromUDPAddrPort(b) },
				"ReadMsgUDP": func() (int, netip.AddrPort, error) {
					n, _, _, from, err := conn.ReadMsgUDP(b, make([]byte, 10))
					return n, addrPort(from), err
				},
				"ReadMsgUDPAddrPort": func() (int, netip.AddrPort, error) {
					n, _, _, from, err := conn.ReadMsgUDPAddrPort(b, nil)
					return n, from, err
				},
			}
			for name, read := range reads {
				th := vthread.Start(func() {
					n, from, err := read()
					if err != nil || string(b[:n]) != name || !same(from) {
						t.Errorf("%s: got %q of %v, %v; want one of %v", name, b[:n], from, err, local)
					}
				})
				awaitParked(t, th)
				onThread(func() {
					if _, err := c.Write([]byte(name)); err != nil {
						t.Error(err)
					}
				})
				th.Join()
			}
			onThread(func() {
				for name, write := range map[string]func(b []byte) error{
					"WriteTo":            func(b []byte) error { _, err := p.WriteTo(b, c.LocalAddr()); return err },
					"WriteToUDP":         func(b []byte) error { _, err := conn.WriteToUDP(b, c.LocalAddr().(*net.UDPAddr)); return err },
					"WriteToUDPAddrPort": func(b []byte) error { _, err := conn.WriteToUDPAddrPort(b, local); return err },
				} {
					if err := write([]byte(name)); err != nil {
						t.Errorf("%s: %v", name, err)
					}
					n, err := c.Read(b)
					if err != nil || string(b[:n]) != name {
						t.Errorf("%s: got %q, %v", name, b[:n], err)
					}
				}
				if _, err := c.(*vnet.UDPConn).WriteTo([]byte{1}, c.LocalAddr()); !errors.Is(err, net.ErrWriteToConnected) {
					t.Errorf("got %v", err)
				}
			})
			th := vthread.Start(func() {
				if _, _, err := p.ReadFrom(b); !errors.Is(err, net.ErrClosed) || errors.Is(err, sched.ErrInterrupted) {
					t.Errorf("closed: got %v", err)
				}
			})
			awaitParked(t, th)
			p.Close()
			th.Join()
			th = vthread.Start(func() {
				if _, err := c.Read(b); !errors.Is(err, net.ErrClosed) || !errors.Is(err, sched.ErrInterrupted) {
					t.Errorf("interrupted: got %v", err)
				}
			})
			awaitParked(t, th)
			th.Interrupt()
			th.Join()
		})
	}
}

func addrPort(a net.Addr) netip.AddrPort {
	if u, ok := a.(*net.UDPAddr); ok && u != nil {
		return u.AddrPort()
	}
	return netip.AddrPort{}
}

func TestMessagesOfUnixSockets(t *testing.T) {
	dir := t.TempDir()
	a, err := vnet.ListenPacket("unixgram", filepath.Join(dir, "a"))
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	b, err := vnet.ListenPacket("unixgram", filepath.Join(dir, "b"))
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	th := vthread.Start(func() {
		buf := make([]byte, 10)
		n, from, err := a.ReadFrom(buf)
		if err != nil || string(buf[:n]) != "to a" || from.String() != filepath.Join(dir, "b") || from.Network() != "unixgram" {
			t.Errorf("got %q of %v, %v", buf[:n], from, err)
		}
	})
	awaitParked(t, th)
	onThread(func() {
		if _, err := b.WriteTo([]byte("to a"), a.LocalAddr()); err != nil {
			t.Error(err)
		}
	})
	th.Join()
	// A full queue parks who writes.
	var written atomic.Int64
	th = vthread.Start(func() {
		for range 5000 {
			if _, err := b.WriteTo([]byte("more"), a.LocalAddr()); err != nil {
				t.Error(err)
				return
			}
			written.Add(1)
		}
	})
	awaitParked(t, th)
	if n := written.Load(); n == 0 || n == 5000 {
		t.Errorf("parked after %d", n)
	}
	onThread(func() {
		buf := make([]byte, 10)
		for range 5000 {
			if n, _, err := a.ReadFrom(buf); err != nil || string(buf[:n]) != "more" {
				t.Errorf("got %q, %v", buf[:n], err)
				return
			}
		}
	})
	th.Join()
}

func TestSeqpacketKeepsMessagesAndEnds(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	l, err := vnet.Listen("unixpacket", path)
	if errors.Is(err, syscall.EPROTONOSUPPORT) {
		t.Skipf("the system has no unixpacket: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	server := vthread.Start(func() {
		c, err := l.Accept()
		if err != nil {
			t.Error(err)
			return
		}
		defer c.Close()
		for _, m := range []string{"one", "two"} {
			if _, err := c.Write([]byte(m)); err != nil {
				t.Error(err)
			}
		}
	})
	onThread(func() {
		c, err := vnet.Dial("unixpacket", path)
		if err != nil {
			t.Error(err)
			return
		}
		defer c.Close()
		b := make([]byte, 100)
		for _, want := range []string{"one", "two"} {
			if n, err := c.Read(b); err != nil || string(b[:n]) != want {
				t.Errorf("got %q, %v", b[:n], err)
			}
		}
		if n, err := c.Read(b); n != 0 || err != io.EOF {
			t.Errorf("got %d, %v", n, err)
		}
	})
	server.Join()
}

// NW-12
func TestSocketsFromElsewhereAreAdapted(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ours, err := vnet.WrapListener(l)
	if err != nil {
		t.Fatal(err)
	}
	defer ours.Close()
	ours.(*vnet.Listener).SetDeadline(time.Now().Add(20 * time.Millisecond))
	onThread(func() {
		if _, err := ours.Accept(); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("got %v", err)
		}
	})
	ours.(*vnet.Listener).SetDeadline(time.Time{})
	plain, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	c, err := vnet.Wrap(plain)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if again, err := vnet.Wrap(c); again != c || err != nil {
		t.Errorf("wrapped again: got %v, %v", again, err)
	}
	var other net.Conn
	onThread(func() {
		if other, err = ours.Accept(); err != nil {
			t.Fatal(err)
		}
	})
	defer other.Close()
	c.SetReadDeadline(time.Now().Add(20 * time.Millisecond))
	onThread(func() {
		if _, err := c.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("got %v", err)
		}
	})
	// What pollers cannot watch is helped.
	p1, p2 := net.Pipe()
	piped, err := vnet.Wrap(p1)
	if err != nil {
		t.Fatal(err)
	}
	th := vthread.Start(func() {
		b := make([]byte, 10)
		if n, err := piped.Read(b); err != nil || string(b[:n]) != "pipe" {
			t.Errorf("got %q, %v", b[:n], err)
		}
	})
	p2.Write([]byte("pipe"))
	th.Join()
	p1.Close()
	p2.Close()
}

// NW-15
func TestEachRequestOnItsThread(t *testing.T) {
	threads, requests := 1000, 10_000
	if long() {
		requests = 100_000
	}
	for _, two := range []bool{false, true} {
		t.Run(map[bool]string{false: "http", true: "http2"}[two], func(t *testing.T) {
			l, err := vnet.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			var protocols sync.Map
			server := &http.Server{Handler: vhttp.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				protocols.Store(r.Proto, true)
				body, err := io.ReadAll(r.Body)
				if err != nil {
					http.Error(w, err.Error(), http.StatusBadRequest)
					return
				}
				w.Write(body)
			}), vhttp.Options{})}
			served := make(chan error, 1)
			url, transports := "http://"+l.Addr().String()+"/", make([]*http.Transport, 1)
			if two { // a transport has one connection of HTTP/2 to a server
				url, transports = "https://"+l.Addr().String()+"/", make([]*http.Transport, 20)
				server.TLSConfig = certificate(t)
				go func() { served <- server.ServeTLS(l, "", "") }()
			} else {
				go func() { served <- server.Serve(l) }()
			}
			clients := make([]*http.Client, len(transports))
			for i := range transports {
				transports[i] = &http.Transport{DialContext: vnet.DialContext, MaxIdleConnsPerHost: threads, TLSClientConfig: certificate(t), ForceAttemptHTTP2: two}
				clients[i] = &http.Client{Transport: vhttp.RoundTripper(transports[i])}
				// A server gives a connection of HTTP/2 two seconds for its first frame: it is made before there is much to do.
				onThread(func() {
					resp, err := clients[i].Post(url, "text/plain", http.NoBody)
					if err != nil {
						t.Error(err)
						return
					}
					resp.Body.Close()
				})
			}
			var wrong, right atomic.Int64
			done := vsync.NewLatch(threads)
			for i := range threads {
				vthread.Start(func() {
					defer done.Done()
					for j := range requests / threads {
						want := fmt.Appendf(nil, "%d of %d, %x", j, i, rand.Uint64())
						resp, err := clients[i%len(clients)].Post(url, "text/plain", bytes.NewReader(want))
						if err != nil {
							t.Error(err)
							return
						}
						got, err := io.ReadAll(resp.Body)
						resp.Body.Close()
						if err != nil || !bytes.Equal(got, want) {
							wrong.Add(1)
						} else {
							right.Add(1)
						}
					}
				})
			}
			done.Wait()
			if wrong.Load() != 0 || right.Load() != int64(requests) {
				t.Errorf("%d right, %d wrong", right.Load(), wrong.Load())
			}
			want := map[bool]string{false: "HTTP/1.1", true: "HTTP/2.0"}[two]
			protocols.Range(func(got, _ any) bool {
				if got != want {
					t.Errorf("got %v, want %s", got, want)
				}
				return true
			})
			for _, tr := range transports {
				tr.CloseIdleConnections()
			}
			if err := server.Shutdown(context.Background()); err != nil {
				t.Error(err)
			}
			if err := <-served; err != http.ErrServerClosed {
				t.Error(err)
			}
		})
	}
}

// NW-16
func TestOneWaiterForEachDirection(t *testing.T) {
	c1, c2 := pair(t, "tcp")
	const n = 50
	var threads []*vthread.Thread
	var got atomic.Int64
	for range n {
		threads = append(threads, vthread.Start(func() {
			if _, err := io.ReadFull(c1, make([]byte, 1)); err == nil {
				got.Add(1)
			}
		}))
	}
	awaitParked(t, threads...)
	waiting := map[flight.State]int{}
	for _, th := range threads {
		waiting[th.State()]++
	}
	if waiting[flight.StateParked] != 1 || waiting[flight.StateBlocked] != n-1 {
		t.Errorf("got %v, want one that is parked, the others blocked behind it", waiting)
	}
	if _, err := c2.Write(make([]byte, n)); err != nil {
		t.Fatal(err)
	}
	for _, th := range threads {
		th.Join()
	}
	if got.Load() != n {
		t.Errorf("got %d bytes, want %d", got.Load(), n)
	}
}

// A close between a try and the wait is seen: NW-16.
func TestACloseAtAnyMomentEndsAWait(t *testing.T) {
	for range 300 {
		c1, _ := pair(t, "unix")
		var started sync.WaitGroup
		started.Add(1)
		th := vthread.Start(func() {
			started.Done()
			if _, err := c1.Read(make([]byte, 1)); !errors.Is(err, net.ErrClosed) {
				t.Errorf("got %v", err)
			}
		})
		started.Wait()
		for range rand.IntN(2000) {
		}
		c1.Close()
		th.Join()
	}
}
