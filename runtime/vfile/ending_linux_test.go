package vfile

import (
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// SubmitOnAThreadThatEnds makes queue, which makes threads give one operation to the ring, and submits that on an OS thread that ends then.
func SubmitOnAThreadThatEnds(t testing.TB, queue func()) {
	t.Helper()
	r := theEngine().ring
	r.submitting.Lock() // so that nobody else submits
	queue()
	for deadline := time.Now().Add(time.Minute); r.waiting.Load() == 0; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			r.submitting.Unlock()
			t.Fatal("nothing was given to the ring")
		}
	}
	ended := make(chan struct{})
	var submit func()
	submit = func() {
		runtime.LockOSThread()
		if unix.Gettid() == unix.Getpid() { // the process's first one stays: another is taken while this is ours
			go submit()
			<-ended
			runtime.UnlockOSThread()
			return
		}
		r.fillLocked()
		r.enterLocked()
		r.submitting.Unlock()
		close(ended)
	}
	go submit()
}
