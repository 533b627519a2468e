package coro

import "syscall"

func ownThread() int { return syscall.Gettid() }
