//go:build vtscope_nolinkname || go1.28

package flight

import "runtime"

// exactInlining tells that not all inlined calls are found.
const exactInlining = false

// expandInlined returns the address of the innermost call at pc and, if that was inlined, the entry
// of the function it was inlined into: calls between the two and the line of the outer one are lost.
func expandInlined(pc uintptr) []uintptr {
	f, _ := runtime.CallersFrames([]uintptr{pc}).Next()
	if outer := runtime.FuncForPC(f.Entry); f.Func == nil && outer != nil && outer.Name() != f.Function {
		return []uintptr{pc, f.Entry + 1}
	}
	return []uintptr{pc}
}
