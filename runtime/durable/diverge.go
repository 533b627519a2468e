package durable

import (
	"fmt"
	"runtime"
	"strings"
)

// A Divergence is why a thread ended whose body did something else than what its journal holds: its code was changed without a [Patch], or it asked something
// outside of this package, such as a map for its order. The journal is as it was.
type Divergence struct {
	Thread string // its id
	Body   string
	At     int    // the position in the journal, with the steps that checkpoints have replaced
	Want   string // what the journal holds there
	Got    string // what the body did
	Stack  string // of the body, innermost call first
}

func (d *Divergence) Error() string {
	return fmt.Sprintf("durable: %s of thread %s diverges at step %d: the journal has %s, the body does %s\n%s", d.Body, d.Thread, d.At, d.Want, d.Got, d.Stack)
}

// callers tells where the body stands, without the frames of this package and of those below the body.
func callers() string {
	var pcs [64]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(3, pcs[:])])
	var b strings.Builder
	for {
		f, more := frames.Next()
		if strings.HasPrefix(f.Function, own+"Register[") {
			break
		}
		if f.Function != "" && !strings.HasPrefix(f.Function, own) {
			fmt.Fprintf(&b, "    %s %s:%d\n", f.Function, f.File, f.Line)
		}
		if !more {
			break
		}
	}
	return b.String()
}

// own begins the names of this package's functions.
const own = "github.com/vtscope/vtscope/runtime/durable."
