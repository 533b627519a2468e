package panicstack

import "runtime"

// Panicking reports whether a panic executes the deferred function that calls it, and not a
// runtime.Goexit. It recovers nothing, so that the trace of a panic that goes on is as if nobody
// had asked. The caller knows that the function around has not returned.
//
// It looks for the nearest of the runtime's two functions that execute deferred calls. Should a Go
// release rename them it says no, and TestPanickingTellsPanicsFromGoexits fails.
func Panicking() bool {
	pcs := make([]uintptr, 16)
	for skip := 2; ; skip += len(pcs) {
		n := runtime.Callers(skip, pcs)
		if n == 0 {
			return false
		}
		frames := runtime.CallersFrames(pcs[:n])
		for more := true; more; {
			var f runtime.Frame
			f, more = frames.Next()
			switch f.Function {
			case "runtime.gopanic":
				return true
			case "runtime.Goexit":
				return false
			}
		}
	}
}
