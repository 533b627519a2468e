package vthread_test

import "syscall"

// osThread names the OS thread of the caller.
func osThread() int { return syscall.Gettid() }
