//go:build !amd64 && !arm64

package coro

import "github.com/petermattis/goid"

// getg returns the calling goroutine's number, which identifies it as well as its address does.
func getg() uintptr { return uintptr(goid.Get()) + 1 }

const gIsAddress = false
