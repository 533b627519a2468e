package vnet_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/vtscope/vtscope/runtime/vnet"
	"github.com/vtscope/vtscope/runtime/vsync"
	"github.com/vtscope/vtscope/runtime/vthread"
)

const inNamespace = "VNET_TEST_NETNS"

// namespaced executes the calling test again, in a network of its own, and reports whether this is that child.
func namespaced(t *testing.T) bool {
	t.Helper()
	if os.Getenv(inNamespace) == "1" {
		return true
	}
	cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v", "-test.timeout=9m")
	cmd.Env = append(os.Environ(), inNamespace+"=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET}
	out, err := cmd.CombinedOutput()
	switch {
	case errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.ENOSYS):
		t.Skipf("no network namespace for this user: %v", err)
	case err != nil:
		t.Fatalf("%v\n%s", err, out)
	}
	if bytes.Contains(out, []byte("--- SKIP")) {
		t.Skipf("the child skipped it: %s", out)
	}
	return false
}

// link sets the loopback device up or down.
func link(t *testing.T, up bool) {
	t.Helper()
	s, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(s)
	lo, err := unix.NewIfreq("lo")
	if err != nil {
		t.Fatal(err)
	}
	if up {
		lo.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	}
	if err := unix.IoctlIfreq(s, unix.SIOCSIFFLAGS, lo); err != nil {
		t.Fatal(err)
	}
}

// lose makes the loopback device lose a part of all packets, in percent.
func lose(percent int) error {
	s, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_ROUTE)
	if err != nil {
		return err
	}
	defer unix.Close(s)
	le := binary.LittleEndian
	var b []byte
	attribute := func(kind uint16, value []byte) {
		b = le.AppendUint16(b, uint16(4+len(value)))
		b = le.AppendUint16(b, kind)
		b = append(b, value...)
		b = append(b, make([]byte, (4-len(value)%4)%4)...)
	}
	const root = 0xffffffff
	b = le.AppendUint32(b, 0) // the length, below
	b = le.AppendUint16(b, unix.RTM_NEWQDISC)
	b = le.AppendUint16(b, unix.NLM_F_REQUEST|unix.NLM_F_ACK|unix.NLM_F_CREATE|unix.NLM_F_REPLACE)
	b = append(b, make([]byte, 8)...)
	for _, v := range []uint32{unix.AF_UNSPEC, 1, 1 << 16, root, 0} { // struct tcmsg: the first device is lo
		b = le.AppendUint32(b, v)
	}
	attribute(unix.TCA_KIND, []byte("netem\x00"))
	var o []byte // struct tc_netem_qopt: latency, limit, loss, gap, duplicate, jitter
	for _, v := range []uint32{0, 10_000, uint32(float64(percent) / 100 * (1<<32 - 1)), 0, 0, 0} {
		o = le.AppendUint32(o, v)
	}
	attribute(unix.TCA_OPTIONS, o)
	le.PutUint32(b, uint32(len(b)))
	if err := unix.Sendto(s, b, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return err
	}
	answer := make([]byte, 4096)
	n, _, err := unix.Recvfrom(s, answer, 0)
	if err != nil {
		return err
	}
	if n < 20 {
		return io.ErrUnexpectedEOF
	}
	if code := int32(le.Uint32(answer[16:])); code != 0 {
		return unix.Errno(-code)
	}
	return nil
}

// echoes serves connections on threads until the listener is closed.
func echoes(l net.Listener) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		vthread.Start(func() {
			defer c.Close()
			io.Copy(c, c)
		})
	}
}

func TestACutLinkHangsNobody(t *testing.T) {
	if !namespaced(t) {
		return
	}
	link(t, true)
	l, err := vnet.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := vthread.Start(func() { echoes(l) })
	const n = 50
	var conns []net.Conn
	for range n {
		c, err := vnet.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		conns = append(conns, c)
	}
	// all has each connection send and receive a message, on a thread.
	all := func(what string, f func(c net.Conn) error) {
		t.Helper()
		done := vsync.NewLatch(n)
		for _, c := range conns {
			vthread.Start(func() {
				defer done.Done()
				if err := f(c); err != nil {
					t.Errorf("%s: %v", what, err)
				}
			})
		}
		done.Wait()
	}
	send := func(c net.Conn) error {
		_, err := c.Write([]byte("hello"))
		return err
	}
	receive := func(c net.Conn) error {
		_, err := io.ReadFull(c, make([]byte, 5))
		return err
	}
	all("before", func(c net.Conn) error { return errors.Join(send(c), receive(c)) })
	link(t, false)
	all("cut", func(c net.Conn) error {
		if err := send(c); err != nil {
			return err
		}
		c.SetReadDeadline(time.Now().Add(100 * time.Millisecond))
		if err := receive(c); !errors.Is(err, os.ErrDeadlineExceeded) {
			return fmt.Errorf("read: got %w, want a time-out", err)
		}
		return nil
	})
	link(t, true)
	all("mended", func(c net.Conn) error {
		c.SetReadDeadline(time.Now().Add(3 * time.Minute)) // each time that it is sent again comes later than the one before
		return receive(c)
	})
	// A peer that is gone for good is noticed by keep-alives, without a deadline.
	link(t, false)
	all("vanished", func(c net.Conn) error {
		c.SetReadDeadline(time.Time{})
		if err := c.(*vnet.TCPConn).SetKeepAliveConfig(net.KeepAliveConfig{Enable: true, Idle: time.Second, Interval: time.Second, Count: 1}); err != nil {
			return err
		}
		err := receive(c)
		var op *net.OpError
		if !errors.As(err, &op) || errors.Is(err, io.EOF) {
			return fmt.Errorf("read: got %w, want an error of the network", err)
		}
		return nil
	})
	link(t, true)
	for _, c := range conns {
		c.Close()
	}
	l.Close()
	server.Join()
}

func TestLostPacketsAreSentAgain(t *testing.T) {
	if !namespaced(t) {
		return
	}
	link(t, true)
	if err := lose(20); err != nil {
		t.Skipf("the kernel cannot lose packets (netem): %v", err)
	}
	l, err := vnet.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := vthread.Start(func() { echoes(l) })
	done := vsync.NewLatch(20)
	for range 20 {
		vthread.Start(func() {
			defer done.Done()
			c, err := vnet.Dial("tcp", l.Addr().String())
			if err != nil {
				t.Error(err)
				return
			}
			defer c.Close()
			c.SetDeadline(time.Now().Add(5 * time.Minute))
			for i := range 5 {
				want := fmt.Sprintf("message %d", i)
				got := make([]byte, len(want))
				if _, err := io.WriteString(c, want); err != nil {
					t.Error(err)
					return
				}
				if _, err := io.ReadFull(c, got); err != nil || string(got) != want {
					t.Errorf("got %q, %v", got, err)
					return
				}
			}
		})
	}
	done.Wait()
	l.Close()
	server.Join()
}
