package vfile

import (
	"fmt"
	"math/bits"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/internal/poll"
	"github.com/vtscope/vtscope/runtime/sched"
)

// A ring is an io_uring: a queue of operations that the kernel takes, and one of what became of them.
//
//	G1  An op has a slot from when it is put into the kernel's queue until its completion was taken out: what the kernel uses is reachable meanwhile.
//	G2  No more than limit of them are there, so that the queue of completions does not overflow. Requests to cancel are beyond it.
//	G3  Who adds to the queue of ops, or makes room, calls flush, or wakes the submitter. Who flushes looks again after he has let go of submitting.
//	G4  Who takes completions holds reaping, and looks again after he has let go. The server looks after each signal of the kernel; others after they have entered it,
//	    and when they have nothing better to do.
type ring struct {
	fd, event int
	signal    *os.File // the event descriptor, which Go's poller watches
	limit     int
	number    int

	memory     [2][]byte // mapped: the queues, and the entries to submit
	submit     sqRing
	completion cqRing

	waiting  atomic.Int32 // ops in the queue
	stopping atomic.Int32 // stops
	inFlight atomic.Int32 // slots that are taken, and requests to cancel

	opening atomic.Int32 // ops that open something

	submitting sync.Mutex // of who uses submit
	left       atomic.Uint32
	reaping    sync.Mutex // of who uses completion
	wake       chan struct{}
	end        chan struct{}
	gone       sync.WaitGroup

	mu struct {
		sync.Mutex
		queue queue
		slots []slot
		free  []uint32
		stops []uint64 // tokens of ops that the kernel shall be asked to cancel

		figures flight.PollerFigures
		last    flight.Ticks
		record  *flight.PollerRecord
	}
}

// A slot is a place of the table of ops that the kernel has. A token names it, with its generation: an op may be completed when it is to be cancelled.
type slot struct {
	o          *op // nil: free
	generation uint32
}

func (s *slot) token(at uint32) uint64 { return uint64(s.generation&^(1<<31))<<32 | uint64(at) }

// The kernel's queues. Heads and tails are shared with it.
type (
	sqRing struct {
		head, tail, flags *uint32
		mask              uint32
		array             []uint32
		entries           []sqe
	}
	cqRing struct {
		head, tail *uint32
		mask       uint32
		entries    []cqe
	}
)

// The structures and numbers of linux/io_uring.h.
type (
	sqe struct {
		opcode, flags uint8
		ioprio        uint16
		fd            int32
		off, addr     uint64
		len, opFlags  uint32
		userData      uint64
		_             [3]uint64
	}
	cqe struct {
		userData uint64
		res      int32
		flags    uint32
	}
	ringParams struct {
		sqEntries, cqEntries, flags, sqThreadCPU, sqThreadIdle, features, wqFD uint32
		_                                                                      [3]uint32
		sq                                                                     struct {
			head, tail, ringMask, ringEntries, flags, dropped, array, _ uint32
			_                                                           uint64
		}
		cq struct {
			head, tail, ringMask, ringEntries, overflow, cqes, flags, _ uint32
			_                                                           uint64
		}
	}
	ringProbe struct {
		last, len uint8
		_         uint16
		_         [3]uint32
		ops       [256]struct {
			op, _ uint8
			flags uint16
			_     uint32
		}
	}
)

const (
	opFsync  = 3
	opCancel = 14
	opOpen   = 18
	opRead   = 22
	opWrite  = 23

	setupCQSize = 1 << 3
	setupClamp  = 1 << 4

	featSingleMap  = 1 << 0
	featNoDrop     = 1 << 1
	featRWPosition = 1 << 3

	offQueues = 0
	offSQEs   = 0x10000000
	enterGet  = 1 << 0
	sqOverrun = 1 << 1 // in the flags of the queue to submit: completions wait for room

	sqeAsync = 1 << 4

	registerEvent = 4
	registerProbe = 8
	opSupported   = 1 << 0
)

// requests to cancel have this as their user data: what becomes of them tells nothing.
const cancelData = 1 << 63

const (
	maxSubmit  = 256 // entries to submit
	flushAt    = 32  // ops that are not left to the submitter
	reapBatch  = 128
	position   = ^uint64(0) // read and write where the file stands
	retryAfter = time.Millisecond
)

// newRing makes one that executes up to limit operations at a time, if the kernel allows it.
func newRing(limit int) (*ring, error) {
	r := &ring{limit: limit, fd: -1, event: -1, wake: make(chan struct{}, 1), end: make(chan struct{})}
	if err := r.open(); err != nil {
		r.release()
		return nil, fmt.Errorf("io_uring: %w", err)
	}
	r.number = number()
	r.mu.record = flight.Default().OpenPoller(flight.PollerRing, uint16(r.number))
	r.gone.Add(2)
	poll.Start(r.serve)
	poll.Start(r.submitter)
	return r, nil
}

func (r *ring) open() error {
	p := ringParams{flags: setupCQSize | setupClamp, cqEntries: uint32(max(r.limit, 2))}
	entries := min(r.limit, maxSubmit)
	fd, _, errno := unix.Syscall(unix.SYS_IO_URING_SETUP, uintptr(entries), uintptr(unsafe.Pointer(&p)), 0)
	if errno != 0 {
		return os.NewSyscallError("io_uring_setup", errno)
	}
	r.fd = int(fd)
	if need := uint32(featSingleMap | featNoDrop | featRWPosition); p.features&need != need {
		return fmt.Errorf("features %#x: %w", p.features, unix.ENOSYS)
	}
	var probe ringProbe
	if _, _, errno := unix.Syscall6(unix.SYS_IO_URING_REGISTER, fd, registerProbe, uintptr(unsafe.Pointer(&probe)), uintptr(len(probe.ops)), 0, 0); errno != 0 {
		return os.NewSyscallError("io_uring_register", errno)
	}
	for _, op := range []int{opFsync, opCancel, opOpen, opRead, opWrite} {
		if probe.ops[op].flags&opSupported == 0 {
			return fmt.Errorf("operation %d: %w", op, unix.ENOSYS)
		}
	}
	size := max(int(p.sq.array)+int(p.sqEntries)*4, int(p.cq.cqes)+int(p.cqEntries)*int(unsafe.Sizeof(cqe{})))
	var err error
	if r.memory[0], err = unix.Mmap(r.fd, offQueues, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_POPULATE); err != nil {
		return os.NewSyscallError("mmap", err)
	}
	if r.memory[1], err = unix.Mmap(r.fd, offSQEs, int(p.sqEntries)*int(unsafe.Sizeof(sqe{})), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_POPULATE); err != nil {
		return os.NewSyscallError("mmap", err)
	}
	at := func(off uint32) *uint32 { return (*uint32)(unsafe.Pointer(&r.memory[0][off])) }
	r.submit = sqRing{
		head: at(p.sq.head), tail: at(p.sq.tail), flags: at(p.sq.flags), mask: *at(p.sq.ringMask),
		array: unsafe.Slice(at(p.sq.array), p.sqEntries), entries: unsafe.Slice((*sqe)(unsafe.Pointer(&r.memory[1][0])), p.sqEntries),
	}
	r.completion = cqRing{
		head: at(p.cq.head), tail: at(p.cq.tail), mask: *at(p.cq.ringMask),
		entries: unsafe.Slice((*cqe)(unsafe.Pointer(at(p.cq.cqes))), p.cqEntries),
	}
	if r.event, err = unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK); err != nil {
		return os.NewSyscallError("eventfd", err)
	}
	event := int32(r.event)
	if _, _, errno := unix.Syscall6(unix.SYS_IO_URING_REGISTER, fd, registerEvent, uintptr(unsafe.Pointer(&event)), 1, 0, 0); errno != 0 {
		return os.NewSyscallError("io_uring_register", errno)
	}
	r.signal = os.NewFile(uintptr(r.event), "eventfd")
	return nil
}

// release gives back what open has taken.
func (r *ring) release() {
	// A carrier may look this very moment: the memory stays until nobody knows of the ring.
	for _, m := range r.memory {
		if m != nil {
			runtime.AddCleanup(r, func(m []byte) { _ = unix.Munmap(m) }, m) // it is ours
		}
	}
	if r.fd >= 0 {
		unix.Close(r.fd)
	}
	switch {
	case r.signal != nil:
		r.signal.Close()
	case r.event >= 0:
		unix.Close(r.event)
	}
}

// close ends a ring that executes nothing.
func (r *ring) close() {
	close(r.end)
	_ = r.signal.SetReadDeadline(time.Unix(1, 0)) // the server returns
	r.gone.Wait()
	r.release()
	r.mu.Lock()
	flight.Default().ClosePoller(r.mu.record)
	r.mu.record = nil
	r.mu.Unlock()
}

// do executes o for the thread me, which parks meanwhile, and reports whether an interrupt has come and the kernel was asked to cancel it.
func (r *ring) do(me *sched.Task, o *op, p sched.Pause) (interrupted bool) {
	r.mu.Lock()
	r.mu.queue.push(o)
	n := r.waiting.Add(1)
	r.mu.Unlock()
	switch {
	case n >= flushAt:
		r.flush()
	case n == 1:
		r.wakeSubmitter()
	}
	return o.await(me, p, o.code == opOpen, r.cancel)
}

func (r *ring) wakeSubmitter() {
	select {
	case r.wake <- struct{}{}:
	default: // it will look
	}
}

// cancel takes o out of the queue, or asks the kernel to cancel it, which may be too late.
func (r *ring) cancel(o *op) {
	r.mu.Lock()
	if o.state == opQueued {
		r.mu.queue.remove(o)
		r.waiting.Add(-1)
		r.mu.Unlock()
		o.res = -int32(unix.ECANCELED)
		o.done.Mark()
		return
	}
	var token uint64
	at := o.slot
	has := int(at) < len(r.mu.slots) && r.mu.slots[at].o == o // else it was completed, and is marked at once
	if has {
		token = r.mu.slots[at].token(at)
	}
	r.mu.Unlock()
	if has && r.stop(token) {
		// The kernel may be about to begin, and not be disturbed by that: it is asked until the operation has ended.
		poll.Start(func() {
			for d := retryAfter; ; d = min(2*d, 100*retryAfter) {
				time.Sleep(d)
				if !r.stop(token) {
					return
				}
			}
		})
	}
}

// stop asks the kernel to cancel an operation, and returns false if it has ended.
func (r *ring) stop(token uint64) bool {
	r.mu.Lock()
	at := &r.mu.slots[uint32(token)]
	has := at.o != nil && at.token(uint32(token)) == token
	if has {
		r.mu.stops = append(r.mu.stops, token)
		r.stopping.Add(1)
	}
	r.mu.Unlock()
	if has {
		r.flush()
	}
	return has
}

// submitter flushes what nobody else has.
func (r *ring) submitter() {
	defer r.gone.Done()
	for {
		select {
		case <-r.wake:
			r.flush()
		case <-r.end:
			return
		}
	}
}

// due reports whether there is something to give to the kernel, and room for it.
func (r *ring) due() bool {
	return r.stopping.Load() > 0 || r.waiting.Load() > 0 && int(r.inFlight.Load()) < r.limit
}

// flush gives the kernel what waits for it, and takes what it has completed at once.
func (r *ring) flush() {
	for r.due() {
		if !r.submitting.TryLock() {
			return // G3
		}
		r.fillLocked()
		ok := r.enterLocked()
		r.submitting.Unlock()
		r.reap()
		if !ok {
			return
		}
	}
}

// entryLocked returns the next entry to fill, nil if there is no room. Its caller fills it before the next call.
func (r *ring) entryLocked() *sqe {
	q := &r.submit
	tail := atomic.LoadUint32(q.tail)
	if tail-atomic.LoadUint32(q.head) >= uint32(len(q.entries)) {
		return nil
	}
	at := tail & q.mask
	q.array[at] = at
	atomic.StoreUint32(q.tail, tail+1) // the kernel looks when it is entered
	r.left.Add(1)
	return &q.entries[at]
}

// fillLocked moves ops to the kernel's queue.
func (r *ring) fillLocked() {
	r.mu.Lock()
	defer r.mu.Unlock()
	defer r.tellLocked()
	for n := len(r.mu.stops); n > 0; n = len(r.mu.stops) {
		s := r.entryLocked()
		if s == nil {
			return
		}
		*s = sqe{opcode: opCancel, fd: -1, addr: r.mu.stops[n-1], userData: cancelData}
		r.mu.stops = r.mu.stops[:n-1]
		r.stopping.Add(-1)
		r.inFlight.Add(1)
	}
	for r.mu.queue.first != nil && int(r.inFlight.Load()) < r.limit {
		s := r.entryLocked()
		if s == nil {
			return
		}
		o := r.mu.queue.pop()
		r.waiting.Add(-1)
		r.inFlight.Add(1)
		if n := len(r.mu.free); n > 0 {
			o.slot = r.mu.free[n-1]
			r.mu.free = r.mu.free[:n-1]
		} else {
			o.slot = uint32(len(r.mu.slots))
			r.mu.slots = append(r.mu.slots, slot{})
		}
		at := &r.mu.slots[o.slot]
		at.o = o
		var flags uint8
		if o.code == opOpen {
			flags = sqeAsync // else the kernel tries with O_NONBLOCK first, which opens a FIFO without its other side
		}
		*s = sqe{opcode: o.code, flags: flags, fd: o.fd, off: o.off, addr: uint64(uintptr(unsafe.Pointer(o.buf))), len: o.len, opFlags: o.flags, userData: at.token(o.slot)}
	}
}

// enterLocked gives the kernel the entries that are filled. It returns false if the kernel has no resources for that now: it is tried again soon.
func (r *ring) enterLocked() bool {
	for n := r.left.Load(); n > 0; n = r.left.Load() {
		done, _, errno := unix.Syscall6(unix.SYS_IO_URING_ENTER, uintptr(r.fd), uintptr(n), 0, 0, 0, 0)
		switch {
		case errno == 0 && done > 0:
			r.left.Add(-uint32(done))
		case errno == unix.EINTR:
		default: // EAGAIN, EBUSY: it has no memory, or completions wait for room
			r.mu.Lock()
			r.mu.figures.Failed++
			r.tellLocked()
			r.mu.Unlock()
			poll.Start(func() {
				time.Sleep(retryAfter)
				r.reap()
				r.submitting.Lock()
				r.enterLocked()
				r.submitting.Unlock()
				r.reap()
				r.flush()
			})
			return false
		}
	}
	return true
}

// executed is how many operations there were.
func (r *ring) executed() uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.mu.figures.Ready
}

// look lets a carrier that has nothing to do take what is completed, and submit what waits.
func (r *ring) look() bool {
	if r.inFlight.Load() == 0 && r.waiting.Load() == 0 {
		return false
	}
	r.flush()
	return r.reap()
}

// serve takes what was completed, whenever the kernel signals something. The event descriptor is never read: each signal is a new edge for Go's poller.
func (r *ring) serve() {
	defer r.gone.Done()
	raw, err := r.signal.SyscallConn()
	for err == nil {
		err = raw.Read(func(uintptr) bool {
			r.reap()
			return false
		})
	}
}

// reap takes completions, if nobody else does, and reports whether there were any.
func (r *ring) reap() (found bool) {
	for r.completed() {
		if !r.reaping.TryLock() {
			return found // who takes them looks again after he has let go
		}
		n := r.reapLocked()
		r.reaping.Unlock()
		r.reaped(n)
		found = found || n > 0
	}
	return found
}

// completed reports whether there are completions to take.
func (r *ring) completed() bool {
	q := &r.completion
	return atomic.LoadUint32(q.head) != atomic.LoadUint32(q.tail) || atomic.LoadUint32(r.submit.flags)&sqOverrun != 0
}

// reaped goes on with what waited for room.
func (r *ring) reaped(n int) {
	if n > 0 && r.due() {
		r.wakeSubmitter()
	}
}

func (r *ring) reapLocked() (found int) {
	if atomic.LoadUint32(r.submit.flags)&sqOverrun != 0 { // requests to cancel were too many: the kernel kept some back
		unix.Syscall6(unix.SYS_IO_URING_ENTER, uintptr(r.fd), 0, 0, enterGet, 0, 0)
	}
	q := &r.completion
	var done [reapBatch]*op
	for {
		head, tail := atomic.LoadUint32(q.head), atomic.LoadUint32(q.tail)
		n := min(int(tail-head), reapBatch)
		if n == 0 {
			return found
		}
		r.mu.Lock()
		for i := range n {
			c := &q.entries[(head+uint32(i))&q.mask]
			done[i] = nil
			if c.userData == cancelData {
				continue
			}
			at := &r.mu.slots[uint32(c.userData)]
			done[i] = at.o
			done[i].res = c.res
			at.o = nil
			at.generation++
			r.mu.free = append(r.mu.free, uint32(c.userData))
		}
		f := &r.mu.figures
		f.Wakeups++
		f.Ready += uint64(n)
		f.Batches[min(bits.Len(uint(n))-1, flight.PollerBatches-1)]++
		r.mu.last = flight.Now()
		r.inFlight.Add(int32(-n))
		r.tellLocked()
		r.mu.Unlock()
		atomic.StoreUint32(q.head, head+uint32(n))
		sched.EmitMore(flight.EventPoll, uint32(r.number), 0, uint64(n))
		for _, o := range done[:n] {
			if o != nil {
				o.done.Mark() // O1
			}
		}
		found += n
	}
}

func (r *ring) tellLocked() {
	r.mu.figures.Watched = uint64(r.inFlight.Load()) + uint64(r.mu.queue.len)
	r.mu.record.Write(&r.mu.figures, r.mu.last)
}
