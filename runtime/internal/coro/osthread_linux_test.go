package coro

import (
	"runtime"
	"syscall"
	"testing"
)

// If this fails on a new Go release: compare the fields m of runtime.g and procid of runtime.m. Until then the time of the process's all OS threads stands for
// that of a thread which computes.
func TestTheOSThreadOfAGoroutineIsSeen(t *testing.T) {
	if !gIsAddress {
		t.Skipf("no way to read a goroutine on %s", runtime.GOARCH)
	}
	for range 4 {
		ids := make(chan [2]int)
		go func() {
			runtime.LockOSThread() // and ends with it
			ids <- [2]int{OSThread(getg()), syscall.Gettid()}
		}()
		if id := <-ids; id[0] != id[1] {
			t.Errorf("got OS thread %d, want %d", id[0], id[1])
		}
	}
	if got := OSThread(0); got != 0 {
		t.Errorf("of nobody: %d", got)
	}
}
