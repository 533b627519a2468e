package sched

import (
	"time"
	"unsafe"

	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/internal/coro"
)

// A work measures how long a thread has computed without a scheduling point. The watchdog updates it
// at each look.
//
//	K1  The time between two looks counts if the thread executed, or was preempted, at both. It is at
//	    most the processor time that its OS thread spent meanwhile. If the OS thread changed, it is at
//	    most the processor time of the process, and one slice of Go's scheduler.
//	K2  A thread that waits, or that is ready after a wait, does not compute. Its sum starts again at 0,
//	    unless it waits for this package or the garbage collector: that time does not count.
//	K3  Where OS threads have no readable clock, the time between looks counts.
type work struct {
	thread  *Task
	sum     time.Duration
	at      flight.Ticks // of the last look
	engaged bool         // it computed then
	os      cpuMark      // of the OS thread that executed it then; zero: none did
	process cpuMark
}

// These bound what counts between two looks. A watchdog that gets no processor itself has not seen what
// the thread did meanwhile.
const (
	longestGap = 25 * time.Millisecond
	goSlice    = 10 * time.Millisecond // after which Go preempts a goroutine that others wait for
)

// see looks at t on goroutine g and returns what it does. A thread that is ready after a wait still
// waits.
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
		var n int
		n, doing = coro.SharedLookout().Look(in, pcs[:])
		switch doing {
		case coro.DoingWork:
			last.engaged, last.os = true, markCPUOf(coro.OSThread(in))
		case coro.DoingWait:
			if waitsForOurs(pcs[:n]) {
				doing = coro.DoingWork
			}
		case coro.DoingReady:
			n, _ = coro.Frames(in, pcs[:])
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

// until returns how much of the time since the last look counts (K1).
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

// wasPreempted reports whether a ready goroutine with these frames was preempted, and did not come from
// a wait. Waits leave through a switch within the runtime, so their top frame is the runtime's.
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
