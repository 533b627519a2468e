package goroutines

import (
	"strings"

	"github.com/vtscope/vtscope/runtime/flight"
)

// A wait is what a wait reason of Go's runtime means.
type wait struct {
	begin  string // of the wait reason; the first row that fits counts
	state  flight.State
	reason flight.Reason
	kind   flight.BlockerKind // what the wait reason is the name of
}

// waits are the wait reasons, and the states that stand in their place.
var waits = []wait{
	{"running", flight.StateMounted, flight.ReasonNone, flight.BlockedByNone},
	{"runnable", flight.StateRunnable, flight.ReasonNone, flight.BlockedByNone},
	{"syscall", flight.StatePinned, flight.ReasonPinnedGo, flight.BlockedByNone},
	{"sleep", flight.StateTimedParked, flight.ReasonSleep, flight.BlockedByNone},
	{"IO wait", flight.StateParked, flight.ReasonIO, flight.BlockedByNone},
	{"chan ", flight.StateParked, flight.ReasonPark, flight.BlockedByChannel},
	{"select", flight.StateParked, flight.ReasonPark, flight.BlockedByChannel},
	{"sync.Mutex", flight.StateBlocked, flight.ReasonLock, flight.BlockedByMutex},
	{"sync.RWMutex", flight.StateBlocked, flight.ReasonLock, flight.BlockedByRWMutex},
	{"sync.Cond", flight.StateWaiting, flight.ReasonCondition, flight.BlockedByCondition},
	{"sync.WaitGroup", flight.StateWaiting, flight.ReasonCondition, flight.BlockedByLatch},
	{"semacquire", flight.StateBlocked, flight.ReasonLock, flight.BlockedBySemaphore},
	{"idle", flight.StateRunnable, flight.ReasonNone, flight.BlockedByNone},
	{"preempted", flight.StateRunnable, flight.ReasonNone, flight.BlockedByNone},
	{"copystack", flight.StateRunnable, flight.ReasonNone, flight.BlockedByNone},
	{"GC worker (active)", flight.StateMounted, flight.ReasonNone, flight.BlockedByNone},
	{"dead", flight.StateDone, flight.ReasonNone, flight.BlockedByNone},
	{"", flight.StateParked, flight.ReasonPark, flight.BlockedByCondition},
}

func waitOf(reason string) *wait {
	for i := range waits {
		if strings.HasPrefix(reason, waits[i].begin) {
			return &waits[i]
		}
	}
	panic("unreachable: the last row fits all")
}

// WaitsFor returns the kind of what a goroutine waits for that has a wait reason.
func WaitsFor(reason string) flight.BlockerKind { return waitOf(reason).kind }

// calls tell from a call near the top of a stack what a goroutine waits for, where the dump has no wait reason; the first that fits.
var calls = []struct{ call, reason string }{
	{"time.Sleep", "sleep"},
	{"internal/poll.runtime_pollWait", "IO wait"},
	{"sync.(*Mutex).", "sync.Mutex.Lock"},
	{"internal/sync.(*Mutex).", "sync.Mutex.Lock"},
	{"sync.(*RWMutex).RLock", "sync.RWMutex.RLock"},
	{"sync.(*RWMutex).", "sync.RWMutex.Lock"},
	{"sync.(*Cond).Wait", "sync.Cond.Wait"},
	{"sync.(*WaitGroup).Wait", "sync.WaitGroup.Wait"},
	{"runtime.chanrecv", "chan receive"},
	{"runtime.chansend", "chan send"},
	{"runtime.selectgo", "select"},
	{"runtime.coroswitch", "coroutine"},
	{"iter.Pull", "coroutine"},
	{"runtime.semacquire", "semacquire"},
	{"runtime.notetsleepg", "syscall"},
	{"os/signal.signal_recv", "syscall"},
	{"syscall.Syscall", "syscall"},
	{"syscall.RawSyscall", "syscall"},
	{"internal/runtime/syscall.", "syscall"},
	{"runtime/pprof.runtime_goroutineProfileWithLabels", "running"},
	{"runtime.goroutineProfileWithLabels", "running"},
}

// A Wait is what a goroutine waits for, as far as its stack shows it.
type Wait struct {
	State  flight.State // flight.StateFree: the stack does not show it
	Reason flight.Reason
}

// WaitIn returns what a goroutine with a stack waits for, which is known to wait.
func WaitIn(frames []flight.Frame) Wait {
	switch reason := guess(frames); reason {
	case "", "syscall", "running":
		return Wait{}
	default:
		w := waitOf(reason)
		return Wait{w.state, w.reason}
	}
}

// ReasonIn returns the wait reason that a stack shows, "" if it shows none: releases before 1.21 have one reason for all semaphores.
func ReasonIn(frames []flight.Frame) string { return guess(frames) }

// nearTop is how many frames are looked at.
const nearTop = 8

// guess returns the wait reason that a stack shows, "" if it shows none.
func guess(frames []flight.Frame) string {
	for _, c := range calls {
		for _, f := range frames[:min(len(frames), nearTop)] {
			if strings.HasPrefix(f.Func, c.call) {
				return c.reason
			}
		}
	}
	return ""
}
