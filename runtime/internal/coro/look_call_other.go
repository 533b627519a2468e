//go:build !amd64 && !arm64

package coro

// callee returns the entry of the function that the call before the return address pc calls, if that can be told.
func callee(uintptr) (entry uintptr, known bool) { return 0, false }
