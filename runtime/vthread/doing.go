package vthread

import "github.com/vtscope/vtscope/runtime/internal/coro"

// Doing is what a mounted thread is really doing.
type Doing uint8

// What a mounted thread may be doing.
const (
	DoingUnknown Doing = iota // it is not mounted, or cannot be looked at
	DoingWork                 // it executes
	DoingReady                // it could execute, but has no processor
	DoingSyscall              // it is in a system call
	DoingWait                 // it waits in an operation of Go's own: a channel, a mutex, a timer
)

// String returns "unknown", "work", "ready", "system call" or "wait".
func (d Doing) String() string {
	switch d {
	case DoingWork:
		return "work"
	case DoingReady:
		return "ready"
	case DoingSyscall:
		return "system call"
	case DoingWait:
		return "wait"
	}
	return "unknown"
}

// Doing looks at what the thread does while it is mounted, without stopping it: nothing is asked of it. Anybody may call it; it costs a fraction of a
// microsecond, more while the recorder is off. For what it is unknown is told by docs/decisions/0003. [Thread.Stack] tells where, and in which operation.
func (t *Thread) Doing() Doing {
	switch t.task.Doing() {
	case coro.DoingWork:
		return DoingWork
	case coro.DoingReady:
		return DoingReady
	case coro.DoingSyscall:
		return DoingSyscall
	case coro.DoingWait:
		return DoingWait
	}
	return DoingUnknown
}
