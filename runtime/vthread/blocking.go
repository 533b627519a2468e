package vthread

import (
	"runtime"

	"github.com/vtscope/vtscope/runtime/sched"
)

// Blocking calls f, which may block for long in a way that this package does not see: in a native call, a system call, or
// an operation of Go's own. On a plain goroutine, and on a thread that holds no carrier or cannot leave it, it just calls f. On any
// other thread it calls f so that no thread waits for the carrier meanwhile: on the spot where another carrier is idle, and else on
// a goroutine made for it.
//
// f is executed by the calling thread wherever that is: [Current], locals, profiler labels, and the interrupt status are those of the thread, and f may
// park and use all of this package. An interrupt does not end f, unless f looks at it. But f must not count on the goroutine or the OS
// thread of its caller, and leaves nothing behind on its own: no locked OS thread, no open pin section, and it suspends no continuation that was
// begun outside of it.
//
// A panic of f comes out of Blocking as a [*Panic], on goroutines too. A runtime.Goexit in f, as by testing.T.FailNow, goes on in the caller.
func Blocking(f func()) {
	// Measured for a call that does nothing: 18 ns on the spot, 1.3 µs elsewhere. To start a carrier, and stay, takes 90 µs, and it would have to be kept
	// for the next call.
	t := sched.Current()
	if t == nil || t.MayHold() {
		onTheSpot(f)
		return
	}
	c := call{f: f}
	t.Elsewhere(c.run)
	switch {
	case c.panic != nil:
		panic(c.panic)
	case !c.returned:
		runtime.Goexit()
	}
}

func onTheSpot(f func()) {
	returned := false
	defer func() {
		if returned {
			return
		}
		if v := recover(); v != nil {
			panic(newPanic(v))
		}
	}()
	f()
	returned = true
}

// A call is one of a function on another goroutine. It tells how it ended: the function has returned, or has panicked, or else has called
// runtime.Goexit.
type call struct {
	f        func()
	returned bool
	panic    *Panic
}

// run calls f. It does not panic, but does not return after a runtime.Goexit.
func (c *call) run() {
	defer func() {
		if c.returned {
			return
		}
		if v := recover(); v != nil {
			c.panic = newPanic(v)
		}
	}()
	c.f()
	c.returned = true
}
