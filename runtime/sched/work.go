package sched

import (
	"time"
	"unsafe"

	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/internal/coro"
)

// A work is how long a thread that has not come to a scheduling point has computed, as the watchdog sees it from look to look.
//
//	K1  What counts is the time between two looks at which it executed, or Go had taken its processor away in the middle of that. It is no more
//	    than the OS thread was on a processor meanwhile, or where it was not the same OS thread at both looks, all of the process, and a slice of Go's.
//	K2  A thread that waits, or has waited and is not given a processor yet, does not compute: all that was before is over.
//	K3  Where OS threads have no clock to read it is the time between looks.
type work struct {
	thread  *Task
	sum     time.Duration
	at      flight.Ticks // of the last look
	engaged bool         // it computed then
	os      cpuMark      // of the OS thread that executed it then; zero: none did
	process cpuMark
}

// Between two looks no more counts than these: when the watchdog does not get a processor itself, a thread may have done many things.
const (
	longestGap = 25 * time.Millisecond
	goSlice    = 10 * time.Millisecond // then Go takes a processor away, if others want it
)

// see looks at t, which stands on goroutine g, and reports what it does. A thread that has been waiting and is now ready waits.
func (k *work) see(t *Task, g uintptr, now flight.Ticks) coro.Doing {
	if k.thread != t {
		*k = work{thread: t, at: now}
	}
	last := work{at: now, process: markProcess()}
	chain := coro.Executing(unsafe.Pointer(t), g).Chain()
	doing := coro.DoingUnknown
	if len(chain) > 0 {
		in := chain[len(chain)-1].G()
		var pcs [maxOurs]uintptr
		_, doing = blocksAt(in, pcs[:])
		switch doing {
		case coro.DoingWork:
			last.engaged, last.os = true, markCPUOf(coro.OSThread(in))
		case coro.DoingReady:
			n, _ := coro.Frames(in, pcs[:])
			if last.engaged = wasPreempted(pcs[:n]); !last.engaged {
				doing = coro.DoingWait
			}
		}
	}
	switch doing {
	case coro.DoingWait, coro.DoingSyscall:
		k.sum = 0
	case coro.DoingWork, coro.DoingReady:
		if k.engaged {
			k.sum += k.until(now, last.os, last.process)
		}
	}
	last.thread, last.sum = t, k.sum
	*k = last
	return doing
}

// until returns how much of the time since the last look counts.
func (k *work) until(now flight.Ticks, os, process cpuMark) time.Duration {
	d := min(max(now.Sub(k.at), 0), longestGap)
	switch {
	case k.process.osThread == 0 || process.osThread == 0: // K3
	case k.os.osThread != 0 && k.os.osThread == os.osThread:
		d = min(d, time.Duration(os.used-k.os.used))
	default:
		d = min(d, goSlice, time.Duration(process.used-k.process.used))
	}
	return max(d, 0)
}

// wasPreempted reports whether the goroutine with these frames, which could execute, has been doing so: it did not come there from a wait. Those of the
// runtime that wait are left by a switch from within the runtime.
func wasPreempted(pcs []uintptr) bool {
	if len(pcs) == 0 {
		return false
	}
	switch partOf(pcs[0]) {
	case unknownPart, iterPart, goPart, collectorPart:
		return false
	}
	return true
}
