package vthread_test

import (
	"runtime"
	"runtime/debug"
	"sync"
	"testing"
	"time"

	"github.com/vtscope/vtscope/runtime/vthread"
)

func TestAFinalizerMayWaitForThreads(t *testing.T) {
	done := make(chan struct{})
	func() {
		p := new([64]int)
		runtime.SetFinalizer(p, func(*[64]int) {
			vthread.Start(func() { _ = vthread.Sleep(time.Millisecond) }).Join()
			close(done)
		})
	}()
	for end := time.Now().Add(time.Minute); ; {
		runtime.GC()
		select {
		case <-done:
			return
		case <-time.After(time.Millisecond):
		}
		if time.Now().After(end) {
			t.Fatal("the finalizer has not returned within a minute")
		}
	}
}

// A thread that blocks in a channel holds its carrier, which is a goroutine, and no OS thread.
func TestThreadsThatBlockInChannelsTakeNoOSThreads(t *testing.T) {
	const n, spare = 300, 100
	before, _ := runtime.ThreadCreateProfile(nil)
	was := debug.SetMaxThreads(before + spare) // beyond it Go ends the program
	defer debug.SetMaxThreads(was)
	release := make(chan struct{})
	var begun sync.WaitGroup
	begun.Add(n)
	threads := make([]*vthread.Thread, n)
	for i := range threads {
		threads[i] = vthread.Start(func() {
			begun.Done()
			<-release
		})
	}
	begun.Wait()
	close(release)
	for _, th := range threads {
		th.Join()
	}
}
