//go:build !vtscope_nolinkname && !go1.28

package flight

import _ "unsafe" // for go:linkname

// exactInlining tells that all inlined calls are found.
const exactInlining = true

// expandFinal replaces the last address of stk by one for each call inlined there, innermost first.
// The runtime keeps it linkable for profilers. If a Go release takes it away the link fails: build
// with the tag vtscope_nolinkname, which CI also tests, and raise or lower the version above.
//
//go:linkname expandFinal runtime/pprof.runtime_expandFinalInlineFrame
func expandFinal(stk []uintptr) []uintptr

// expandInlined returns an address for each call at the return address pc, innermost first.
func expandInlined(pc uintptr) []uintptr { return expandFinal([]uintptr{pc}) }
