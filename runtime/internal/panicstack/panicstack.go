package panicstack

import (
	"bytes"
	"runtime/debug"
)

// Of returns the stack of the calling goroutine in Go's form, beginning with the frame that panicked last. It must be called by a
// deferred function, while that frame still stands. Where no panic is under way it returns the whole stack.
func Of() []byte {
	stack := debug.Stack()
	head, frames, _ := bytes.Cut(stack, []byte("\n"))
	rest := frames
	for len(rest) > 0 {
		function, more, _ := bytes.Cut(rest, []byte("\n"))
		_, more, _ = bytes.Cut(more, []byte("\n")) // its file and line
		rest = more
		if bytes.HasPrefix(function, []byte("panic(")) {
			return append(append(head, '\n'), rest...)
		}
	}
	return stack
}
