//go:build !linux

package coro

// ownThread is not asked for here: there is no clock of another OS thread's to read.
func ownThread() int { return 0 }
