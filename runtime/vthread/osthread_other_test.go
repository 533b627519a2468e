//go:build !linux

package vthread_test

// osThread names the OS thread of the caller, or is 0 where that is not easily told.
func osThread() int { return 0 }
