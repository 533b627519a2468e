package vnet_test

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/vtscope/vtscope/runtime/sched"
	"github.com/vtscope/vtscope/runtime/vnet"
	"github.com/vtscope/vtscope/runtime/vthread"
)

// datagramSocket opens a socket of messages of a network, or skips where the system has no such network.
func datagramSocket(t *testing.T, network string) net.PacketConn {
	t.Helper()
	address := map[string]string{"udp4": "127.0.0.1:0", "udp6": "[::1]:0", "unixgram": filepath.Join(t.TempDir(), "s")}[network]
	p, err := vnet.ListenPacket(network, address)
	if err != nil {
		t.Skipf("no such address here: %v", err)
	}
	t.Cleanup(func() { p.Close() })
	return p
}

// sendDatagram sends a message to p from a socket of a goroutine, which it closes.
func sendDatagram(t *testing.T, p net.PacketConn, message string) {
	t.Helper()
	to := p.LocalAddr()
	c, err := net.Dial(to.Network(), to.String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Write([]byte(message)); err != nil {
		t.Fatal(err)
	}
}

// NW-10
func TestDatagramsAreReceivedOrTheWaitIsEnded(t *testing.T) {
	receives := func(t *testing.T, p net.PacketConn, want string) func() {
		return func() {
			b := make([]byte, 100)
			if n, from, err := p.ReadFrom(b); err != nil || string(b[:n]) != want {
				t.Errorf("got %q of %v, %v; want %q", b[:n], from, err, want)
			}
		}
	}
	fails := func(t *testing.T, p net.PacketConn, want error, interrupted bool) func() {
		return func() {
			n, from, err := p.ReadFrom(make([]byte, 100))
			if !errors.Is(err, want) || errors.Is(err, sched.ErrInterrupted) != interrupted {
				t.Errorf("got %d bytes of %v, %v; want %v", n, from, err, want)
			}
			if vthread.Interrupted() != interrupted {
				t.Errorf("interrupted: got %v, want %v", !interrupted, interrupted)
			}
		}
	}
	for _, network := range []string{"udp4", "udp6", "unixgram"} {
		eachThread(t, network, func(t *testing.T, start func(func()) *vthread.Thread) {
			p := datagramSocket(t, network)
			sendDatagram(t, p, "there")
			start(receives(t, p, "there")).Join()

			p.SetReadDeadline(time.Now().Add(20 * time.Millisecond))
			start(fails(t, p, os.ErrDeadlineExceeded, false)).Join()

			for _, deadline := range []time.Time{{}, time.Now().Add(time.Hour)} {
				p.SetReadDeadline(deadline)
				th := start(receives(t, p, "late"))
				awaitWaits(t, th)
				sendDatagram(t, p, "late")
				th.Join()

				closed := datagramSocket(t, network)
				closed.SetReadDeadline(deadline)
				th = start(fails(t, closed, net.ErrClosed, false))
				awaitWaits(t, th)
				closed.Close()
				th.Join()

				interrupted := datagramSocket(t, network)
				interrupted.SetReadDeadline(deadline)
				th = start(fails(t, interrupted, net.ErrClosed, true))
				awaitWaits(t, th)
				th.Interrupt()
				th.Join()
				start(fails(t, interrupted, net.ErrClosed, false)).Join() // it is closed

				before := datagramSocket(t, network)
				before.SetReadDeadline(deadline)
				start(func() { vthread.Current().Interrupt(); fails(t, before, net.ErrClosed, true)() }).Join()
			}
		})
	}
}

// The system tells a connected socket late that nobody listens: what was in flight when the other side closed makes a later call fail.
func TestAReadOfAConnectedSocketFailsWhenADatagramWasRefused(t *testing.T) {
	eachThread(t, "udp4", func(t *testing.T, start func(func()) *vthread.Thread) {
		p := datagramSocket(t, "udp4")
		c, err := vnet.Dial("udp4", p.LocalAddr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		p.Close()
		th := start(func() {
			if _, err := c.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNREFUSED) {
				t.Errorf("got %v, want %v", err, syscall.ECONNREFUSED)
			}
		})
		awaitWaits(t, th)
		if _, err := c.Write([]byte("lost")); err != nil {
			t.Fatal(err)
		}
		th.Join()
	})
}

// What a call of a connected socket gets after an earlier datagram was refused: the same as with package net, call by call.
func TestARefusedDatagramFailsTheSameCallsAsWithPackageNet(t *testing.T) {
	calls := func(dial func(network, address string) (net.Conn, error)) (all []string) {
		p, err := net.ListenPacket("udp4", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		c, err := dial("udp4", p.LocalAddr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		p.Close()
		note := func(call string, err error) {
			what := "done"
			switch {
			case errors.Is(err, syscall.ECONNREFUSED):
				what = "refused"
			case errors.Is(err, os.ErrDeadlineExceeded):
				what = "nothing came"
			case err != nil:
				what = err.Error()
			}
			all = append(all, call+": "+what)
		}
		write := func() { _, err := c.Write([]byte("lost")); note("write", err) }
		read := func() {
			c.SetReadDeadline(time.Now().Add(20 * time.Millisecond))
			_, err := c.Read(make([]byte, 1))
			note("read", err)
		}
		write()
		write() // has the error of the first, and sends nothing
		write()
		read() // has that of the third
		read()
		return all
	}
	var got []string
	vthread.Start(func() { got = calls(vnet.Dial) }).Join()
	if want := calls(net.Dial); !slices.Equal(got, want) || !slices.Contains(want, "write: refused") || !slices.Contains(want, "read: refused") {
		t.Errorf("got %q, with package net %q; want the same, with a refused read and write", got, want)
	}
}
