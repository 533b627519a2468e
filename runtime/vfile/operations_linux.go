package vfile

import (
	"math/bits"
	"slices"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/sched"
)

// onDescriptor makes the operation of a file's open descriptor, which stays open meanwhile, unless it has to be made by a helper.
func (o *op) onDescriptor(fd uintptr) {
	o.fd = int32(fd)
	if o.code == opRead && o.tryRead() {
		o.handled = true
		return
	}
	r := theEngine().ring
	if r == nil {
		return
	}
	if len(o.b) > 0 {
		o.buf = unsafe.SliceData(o.b)
		o.len = uint32(len(o.b))
	}
	began := started()
	raceBefore(o.code, o.b)
	o.stopped = r.do(o.me, o, o.f.pause(int(fd), r.number))
	switch errno := syscall.Errno(-o.res); {
	case o.res >= 0:
		raceAfter(o.code, o.b[:min(int(o.res), len(o.b))])
		o.n, o.handled = int(o.res), true
	case o.stopped && slices.Contains(canceled, errno):
		o.errno, o.handled = errInterrupted, true
	case slices.Contains(elsewhere, errno):
	default:
		o.errno, o.handled = errno, true
	}
	told(began, int(fd), o.n, o.f.Name())
}

// canceled are errors of operations that were given up. The last one means to be made again, and else does not leave the kernel.
var canceled = []syscall.Errno{unix.ECANCELED, unix.EINTR, restart}

// maxOpening openings are made by the ring at a time: the kernel has as few as four workers for them, and for all else that waits.
const maxOpening = 2

const restart = syscall.Errno(512) // ERESTARTSYS

// elsewhere are errors of a ring for operations that a helper makes then: the ring cannot, or the OS thread that has submitted it has ended, which cancels it.
var elsewhere = []syscall.Errno{unix.EAGAIN, unix.EINTR, restart, unix.ECANCELED, unix.EOPNOTSUPP, unix.ENOMEM, unix.ENOSYS}

// vector is what one read is told of its buffer.
type vector struct{ iov unix.Iovec }

// tryRead reads what the system has in memory, and reports whether that was all that there is to do.
func (o *op) tryRead() bool {
	f := o.f
	if f.noTry.Load() || theEngine().options.NoTry {
		return false
	}
	o.iov.Base = unsafe.SliceData(o.b)
	o.iov.SetLen(len(o.b))
	for {
		low, high := uintptr(o.off), uintptr(o.off>>(bits.UintSize/2)>>(bits.UintSize/2)) // where it is 64 bits wide all is in the first
		n, _, errno := unix.Syscall6(unix.SYS_PREADV2, uintptr(o.fd), uintptr(unsafe.Pointer(&o.iov)), 1, low, high, unix.RWF_NOWAIT)
		switch errno {
		case 0:
			o.n = int(n)
			raceAfter(o.code, o.b[:n])
			return true
		case unix.EINTR:
			continue
		case unix.EAGAIN:
		default: // not of this file; an error of it is told again
			f.noTry.Store(true)
		}
		return false
	}
}

// openFD opens a path by the ring. It is not handled if there is none, or an open would have to be made by a helper.
func openFD(me *sched.Task, name string, flag int, perm uint32) (fd int, err error, handled bool) {
	r := theEngine().ring
	if r == nil || me.Interrupted() { // what an earlier interrupt means depends on what is opened
		return -1, nil, false
	}
	defer r.opening.Add(-1)
	if int(r.opening.Add(1)) > min(r.limit/2, maxOpening) { // one of a FIFO may wait without end: others must get through
		return -1, nil, false
	}
	path, err := unix.BytePtrFromString(name)
	if err != nil {
		return -1, err, true
	}
	o := ops.Get().(*op)
	defer o.free()
	o.code, o.fd, o.buf, o.len, o.flags = opOpen, unix.AT_FDCWD, path, perm, uint32(flag|unix.O_CLOEXEC|unix.O_LARGEFILE)
	began := started()
	stopped := r.do(me, o, sched.Pause{State: flight.StateParked, Reason: flight.ReasonFile})
	told(began, 0, 0, name)
	switch errno := syscall.Errno(-o.res); {
	case o.res >= 0:
		return int(o.res), nil, true
	case stopped && slices.Contains(canceled, errno):
		return -1, errInterrupted, true
	case slices.Contains(elsewhere, errno):
		return -1, nil, false
	default:
		return -1, errno, true
	}
}
