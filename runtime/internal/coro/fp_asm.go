//go:build amd64 || arm64

package coro

// getfp returns its caller's frame pointer.
func getfp() uintptr
