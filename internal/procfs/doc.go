// Package procfs reads what Linux says of a process in /proc: its state, when it started, its users, and its pid in its own pid namespace.
//
//	stat, err := procfs.ReadStat(pid)
//	same := err == nil && stat.Start == start && !stat.Ended() // not another process that has this pid now
//
// A pid alone names nobody for long: pids are used again. With the start time it names one process of the machine since boot.
// Elsewhere than on Linux every function returns an error that matches [io/fs.ErrNotExist].
//
// # Concurrency
//
// All functions may be called from any goroutine. They read files of /proc, which does not wait.
//
// # Where to start reading
//
// [ReadStat] is what nearly all callers need.
package procfs
