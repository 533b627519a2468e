//go:build unix

package incident

import "syscall"

// lives reports whether there is a process with that pid.
func lives(pid int) bool { return pid > 0 && syscall.Kill(pid, 0) != syscall.ESRCH }
