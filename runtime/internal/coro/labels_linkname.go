//go:build !vtscope_nolinkname && !go1.28

package coro

import "unsafe" // also for go:linkname

// SwapsLabels tells that [Labels] and [SetLabels] work.
const SwapsLabels = true

// Labels returns the profiler labels of the calling goroutine as the runtime keeps them.
func Labels() unsafe.Pointer { return profLabel() }

// SetLabels gives the calling goroutine labels that [Labels] has returned.
func SetLabels(labels unsafe.Pointer) { setProfLabel(labels) }

// The runtime keeps both linkable for packages that need goroutine-local storage. If a Go release
// takes them away the link fails: build with the tag vtscope_nolinkname, which CI also tests, and
// raise or lower the version above.
//
//go:linkname profLabel runtime/pprof.runtime_getProfLabel
func profLabel() unsafe.Pointer

//go:linkname setProfLabel runtime/pprof.runtime_setProfLabel
func setProfLabel(labels unsafe.Pointer)
