package vnet

import (
	"io"
	"net"
	"os"
	"syscall"

	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/sched"
	"golang.org/x/sys/unix"
)

// chunk is the most that the system copies by one call: so that an interrupt or a deadline is seen.
const chunk = 4 << 20

// sendFile copies from a regular file, or a part of one, without a detour through the program. handled is false if r is none, or the caller is a goroutine.
func (c *stream) sendFile(r io.Reader) (written int64, err error, handled bool) {
	me := sched.Current()
	if me == nil {
		n, err := io.Copy(plainWriter{c}, r)
		return n, err, true
	}
	left := int64(1<<63 - 1)
	limited, _ := r.(*io.LimitedReader)
	if limited != nil {
		if left = limited.N; left <= 0 {
			return 0, nil, true
		}
		r = limited.R
	}
	f, ok := r.(*os.File)
	if !ok {
		return 0, nil, false
	}
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return 0, nil, false
	}
	raw, err := f.SyscallConn()
	if err != nil {
		return 0, nil, false
	}
	c.at.Lock(writing)
	defer c.at.Unlock(writing)
	end := false
	for left > 0 && !end && err == nil {
		n := 0
		n, err = c.at.DoLocked(me, writing, flight.ReasonWrite, nil, func(fd int) (n int, err error) {
			if bad := raw.Read(func(from uintptr) bool {
				n, err = unix.Sendfile(fd, int(from), nil, int(min(left, chunk)))
				return true
			}); bad != nil {
				return 0, bad
			}
			end = err == nil && n == 0
			return max(n, 0), err
		})
		written += int64(n)
		left -= int64(n)
		if written == 0 && (err == syscall.EINVAL || err == syscall.ENOSYS || err == syscall.EOPNOTSUPP) {
			return 0, nil, false
		}
	}
	if limited != nil {
		limited.N -= written
	}
	if n, ok := err.(syscall.Errno); ok {
		err = os.NewSyscallError("sendfile", n)
	}
	if err != nil {
		err = c.error("readfrom", err)
	}
	return written, err, true
}

// A plainWriter gives package net's own way of copying to a goroutine.
type plainWriter struct{ c *stream }

func (w plainWriter) Write(b []byte) (int, error) { return w.c.Write(b) }

func (w plainWriter) ReadFrom(r io.Reader) (int64, error) {
	w.c.at.Lock(writing)
	defer w.c.at.Unlock(writing)
	if to, ok := w.c.conn.(io.ReaderFrom); ok {
		return to.ReadFrom(r)
	}
	return io.Copy(writer{w.c.conn}, r)
}

// most is how many buffers go with one call.
const most = 1024

func (c *stream) writeBuffers(v *net.Buffers) (written int64, err error) {
	me := sched.Current()
	c.at.Lock(writing)
	defer c.at.Unlock(writing)
	if me == nil {
		return v.WriteTo(c.conn)
	}
	for len(*v) > 0 {
		if len((*v)[0]) == 0 {
			*v = (*v)[1:]
			continue
		}
		n, err := c.at.DoLocked(me, writing, flight.ReasonWrite, nil, func(fd int) (int, error) {
			return unix.Writev(fd, (*v)[:min(len(*v), most)])
		})
		written += int64(n)
		consume(v, n)
		if err != nil {
			return written, c.error("writev", err)
		}
	}
	return written, nil
}

// consume removes n bytes from the front.
func consume(v *net.Buffers, n int) {
	for n > 0 {
		first := (*v)[0]
		if n < len(first) {
			(*v)[0] = first[n:]
			return
		}
		n -= len(first)
		(*v)[0] = nil
		*v = (*v)[1:]
	}
}
