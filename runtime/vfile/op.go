package vfile

import (
	"os"
	"sync"

	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/internal/poll"
	"github.com/vtscope/vtscope/runtime/sched"
)

// An op is an operation that a ring or a helper executes for a thread, which is parked meanwhile.
//
//	O1  Whoever executes it marks done, once, as the last thing that he does with it.
//	O2  The thread waits for that, also when it is interrupted: until then others use the buffer.
//	O3  It lies in the heap, and so does all that it refers to: stacks move.
type op struct {
	done poll.Readiness
	call func() // of a helper

	// Of a ring.
	code  uint8
	fd    int32
	off   uint64
	len   uint32
	flags uint32
	buf   *byte // keeps the buffer or the path alive
	res   int32
	slot  uint32
	state opState
	vector

	// Of a file's operation, see [File.transfer].
	f       *File
	me      *sched.Task
	b       []byte
	handled bool
	stopped bool // by an interrupt
	n       int
	errno   error
	run     func(fd uintptr)

	prev, next *op // in a queue
}

// The states of an op, which its ring or helpers guard.
type opState uint8

const (
	opIdle   opState = iota
	opQueued         // it can be taken out
	opTaken          // it is executed
)

var ops = sync.Pool{New: func() any {
	o := new(op)
	o.run = o.onDescriptor
	return o
}}

func (o *op) free() {
	run := o.run
	*o = op{run: run}
	ops.Put(o)
}

// A queue is of ops that wait to be executed.
type queue struct {
	first, last *op
	len         int
}

func (q *queue) push(o *op) {
	o.state, o.prev, o.next = opQueued, q.last, nil
	if q.last == nil {
		q.first = o
	} else {
		q.last.next = o
	}
	q.last = o
	q.len++
}

func (q *queue) pop() *op {
	o := q.first
	if o != nil {
		q.remove(o)
	}
	return o
}

func (q *queue) remove(o *op) {
	if o.prev == nil {
		q.first = o.next
	} else {
		o.prev.next = o.next
	}
	if o.next == nil {
		q.last = o.prev
	} else {
		o.next.prev = o.prev
	}
	o.prev, o.next, o.state = nil, nil, opTaken
	q.len--
}

// await parks the thread me until o is done. An interrupt that comes meanwhile stays, and makes cancel be called, which may make o end soon; it is reported. One that
// came before plays no part, unless the op is endless, one that may wait for others without end: who was interrupted can still save and tidy up.
func (o *op) await(me *sched.Task, p sched.Pause, endless bool, cancel func(*op)) (interrupted bool) {
	l := sched.Limits{Interrupts: cancel != nil && (endless || !me.Interrupted())}
	if o.done.Wait(me, l, p) == nil {
		return false
	}
	cancel(o)
	_ = o.done.Wait(me, sched.Limits{}, p) // O2
	_ = me.Interrupt()                     // it stays interrupted. It runs: nobody can refuse it
	return true
}

// outside makes a call on a helper, for which a thread parks; a goroutine makes it itself. what is told of it if it takes long. free says that it may wait for
// others without end, and so gets a goroutine of its own. If the thread is interrupted before the call has begun, it is not made.
func outside[T any](what string, free bool, call func() (T, error)) (v T, err error) {
	me := sched.Current()
	if me == nil {
		return call()
	}
	began := started()
	if !theEngine().helpers.do(me, sched.Pause{State: flight.StateParked, Reason: flight.ReasonFile}, free, func() { v, err = call() }) {
		err = &os.PathError{Op: "wait", Path: what, Err: errInterrupted}
	}
	told(began, 0, 0, what)
	return v, err
}

// errInterrupted is why an operation failed of which the thread was interrupted.
var errInterrupted error = interruptedError{}

type interruptedError struct{}

func (interruptedError) Error() string { return "given up, because the thread was interrupted" }

func (interruptedError) Is(target error) bool { return target == sched.ErrInterrupted }

// errClosedByInterrupt is the same of a pipe.
var errClosedByInterrupt error = closedError{}

type closedError struct{}

func (closedError) Error() string { return "closed, because the thread was interrupted" }

func (closedError) Is(target error) bool {
	return target == sched.ErrInterrupted || target == os.ErrClosed
}

// started is when an operation began to wait, for [told]; 0: nobody asks.
func started() flight.Ticks {
	if flight.Default() == nil {
		return 0
	}
	return flight.Now()
}

// told records an operation that moved n bytes, if it took long.
func told(began flight.Ticks, fd int, n int, with string) {
	if began == 0 {
		return
	}
	var b flight.Blocker
	if fd > 0 {
		b = flight.BlockFile(uintptr(fd))
	}
	sched.NoteIO(flight.ReasonFile, b, flight.Now().Sub(began), int64(n), func() string { return with })
}
