package agent

import (
	"runtime"
	"syscall"
	"time"
)

const rusageThread = 1 // RUSAGE_THREAD

// onProcessor calls f and returns how long f was on a processor. Work that f leaves to other goroutines
// does not count.
func onProcessor(f func()) time.Duration {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	began, before := time.Now(), threadCPU()
	f()
	if after := threadCPU(); before >= 0 && after >= 0 {
		return after - before
	}
	return time.Since(began)
}

// threadCPU returns the processor time that the calling OS thread has used, or -1.
func threadCPU() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(rusageThread, &u) != nil {
		return -1
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
