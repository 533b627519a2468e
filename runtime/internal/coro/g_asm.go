//go:build amd64 || arm64

package coro

// getg returns the address of the calling goroutine's runtime.g. The runtime never moves a g; it
// reuses one only after its goroutine has ended.
func getg() uintptr

const gIsAddress = true
