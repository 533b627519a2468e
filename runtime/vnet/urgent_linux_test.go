package vnet_test

import (
	"errors"
	"os"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/vtscope/vtscope/runtime/vthread"
)

// NW-08
func TestUrgentDataIsReadWhereItIsAskedFor(t *testing.T) {
	for _, inline := range []bool{true, false} {
		c1, c2 := pair(t, "tcp")
		control := func(c any, f func(fd int) error) {
			t.Helper()
			raw, err := c.(syscall.Conn).SyscallConn()
			if err != nil {
				t.Fatal(err)
			}
			if err := raw.Control(func(fd uintptr) { err = f(int(fd)) }); err != nil {
				t.Fatal(err)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if inline {
			control(c2, func(fd int) error { return unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_OOBINLINE, 1) })
		}
		c2.SetReadDeadline(time.Now().Add(time.Minute))
		th := vthread.Start(func() {
			b := make([]byte, 10)
			n, err := c2.Read(b)
			switch {
			case inline && (err != nil || string(b[:n]) != "!"):
				t.Errorf("inline: got %q, %v", b[:n], err)
			case !inline && !errors.Is(err, os.ErrDeadlineExceeded):
				t.Errorf("got %q, %v; want a time-out", b[:n], err)
			}
		})
		awaitParked(t, th)
		control(c1, func(fd int) error { return unix.Sendto(fd, []byte("!"), unix.MSG_OOB, nil) })
		if !inline {
			c2.SetReadDeadline(time.Now().Add(200 * time.Millisecond))
		}
		th.Join()
	}
}
