package vthread

import (
	"fmt"
	"runtime"
	"strings"

	"github.com/vtscope/vtscope/runtime/flight"
)

// A Stack is where a thread is.
type Stack struct {
	// Frames are the calls, innermost first, from the thread's function inwards. Those of Go's runtime and of the mechanism of
	// threads are left out.
	Frames []runtime.Frame
	// Exact tells that the thread waited at this very place when the frames were read. If not, it was executing, or about to:
	// the outer frames are good, inner ones may have returned.
	Exact bool
	// State is what the thread was doing.
	State flight.State
	// Operation is the function of Go's runtime that the innermost of Frames has called, if the thread was there: runtime.chanrecv1 is to receive from
	// a channel, runtime.selectgo a select. It is empty for others.
	Operation string
}

// Stack returns the stack of the thread, without stopping it. Anybody may call it, as often as they like. It costs some
// microseconds; milliseconds, rarely, for a thread that is just about to wait. It has no
// frames for a thread that is new, was never mounted, or has ended, and where goroutines cannot be looked at: on other architectures
// than amd64 and arm64, and on Go releases that have moved what has to be read.
func (t *Thread) Stack() Stack {
	s := Stack{State: t.State()}
	var pcs []uintptr
	pcs, s.Exact = t.task.Frames()
	if len(pcs) == 0 {
		return s
	}
	frames := runtime.CallersFrames(pcs)
	for {
		f, more := frames.Next()
		if f.Function == threadEntry {
			break
		}
		switch {
		case !mechanism(f.Function):
			s.Frames = append(s.Frames, f)
		case len(s.Frames) == 0 && strings.HasPrefix(f.Function, "runtime."):
			s.Operation = f.Function
		case len(s.Frames) == 0:
			s.Operation = ""
		}
		if !more {
			break
		}
	}
	return s
}

// String returns the stack in Go's form, two lines for each frame.
func (s Stack) String() string {
	var b strings.Builder
	for _, f := range s.Frames {
		fmt.Fprintf(&b, "%s(...)\n\t%s:%d\n", f.Function, f.File, f.Line)
	}
	return b.String()
}

const (
	module      = "github.com/vtscope/vtscope/"
	threadEntry = module + "runtime/vthread.(*body).Run"
)

// mechanism reports whether the function with the full name is no business of who looks at a thread.
func mechanism(function string) bool {
	for _, prefix := range [...]string{"runtime.", "iter.", module + "runtime/internal/", module + "runtime/sched."} {
		if strings.HasPrefix(function, prefix) {
			return true
		}
	}
	if inside, ok := strings.CutPrefix(function, module+"runtime/continuation."); ok {
		name := inside[strings.LastIndexByte(inside, '.')+1:]
		return name[0] >= 'a' && name[0] <= 'z' || strings.Contains(inside, ".func")
	}
	return false
}
