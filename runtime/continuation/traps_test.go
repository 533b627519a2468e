package continuation_test

import (
	"errors"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/vtscope/vtscope/runtime/continuation"
	"github.com/vtscope/vtscope/runtime/internal/coro"
	"github.com/vtscope/vtscope/runtime/vthread"
)

// The traps are those of DESIGN.md, section 3.

func TestABodyMayEndLockedToItsOSThread(t *testing.T) {
	p := continuation.NewPrompt("p")
	continuation.New(p, func() { runtime.LockOSThread() }).Run()
}

// A switch is fatal, too, where one is locked once and the other twice.
func TestLocksOfAnOSThreadAreCounted(t *testing.T) {
	if !coro.Binds {
		t.Skip("this form of slots is not bound to OS threads")
	}
	p := continuation.NewPrompt("p")
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread()
		c := continuation.New(p, func() {
			runtime.LockOSThread()
			if _, err := continuation.Suspend(p, nil); !errors.Is(err, continuation.ErrPinned) {
				t.Errorf("locked twice: got %v, want ErrPinned", err)
			}
			runtime.UnlockOSThread()
			continuation.Suspend(p, nil)
			runtime.LockOSThread() // and it ends so
		})
		if c.Run() {
			t.Error("ended in the first run")
		}
		runtime.LockOSThread()
		func() {
			defer func() {
				if err, _ := recover().(error); !errors.Is(err, continuation.ErrOSThread) {
					t.Errorf("Run, locked twice: %v, want ErrOSThread", err)
				}
			}()
			c.Run()
		}()
		runtime.UnlockOSThread()
		if !c.Run() {
			t.Error("not ended in the second run")
		}
	}()
	<-done
}

// Trap 2: what was begun on a locked OS thread works there, and nowhere else.
func TestAContinuationBegunOnALockedOSThreadStaysThere(t *testing.T) {
	if !coro.Binds {
		t.Skip("this form of slots is not bound to OS threads")
	}
	p := continuation.NewPrompt("p")
	c := continuation.New(p, func() { continuation.Suspend(p, nil) })
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		c.Run()
		other := make(chan struct{})
		go func() {
			defer close(other)
			panics(t, continuation.ErrOSThread, func() { c.Run() })
		}()
		<-other
		if !c.Run() {
			t.Error("not ended")
		}
	}()
	<-done
}

// Trap 4: package init runs locked to the main OS thread.
var (
	initPrompt = continuation.NewPrompt("init")
	begunInit  = continuation.New(initPrompt, func() { continuation.Suspend(initPrompt, nil) })
	madeInit   = continuation.New(initPrompt, func() { continuation.Suspend(initPrompt, nil) })
	threadInit *vthread.Thread
	initRuns   bool

	madeInitRuns = sync.OnceValue(func() bool { return !madeInit.Run() && madeInit.Run() })
)

func init() {
	initRuns = !begunInit.Run()
	threadInit = vthread.Start(func() { vthread.Sleep(time.Millisecond); vthread.Yield() })
	threadInit.Join()
}

func TestPackageInitMayMakeContinuationsAndThreads(t *testing.T) {
	if !initRuns {
		t.Error("a continuation did not run in init")
	}
	if coro.Binds {
		panics(t, continuation.ErrOSThread, func() { begunInit.Run() })
	}
	if !madeInitRuns() {
		t.Error("one made in init does not run")
	}
	if s := threadInit.State().String(); s != "done" {
		t.Errorf("the thread of init is %s, want done", s)
	}
}

// Trap 5.
func TestThreadsAndContinuationsInASynctestBubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := continuation.NewPrompt("p")
		begun := time.Now()
		ch := make(chan int)
		th := vthread.Start(func() {
			vthread.Sleep(time.Hour)
			vthread.Start(func() { vthread.Sleep(time.Hour); vthread.Yield() }).Join()
			c := continuation.New(p, func() { continuation.Suspend(p, nil) })
			c.Run()
			c.Run()
			ch <- 7 // a channel of the bubble
		})
		if got := <-ch; got != 7 {
			t.Errorf("got %d", got)
		}
		th.Join()
		if d := time.Since(begun); d != 2*time.Hour {
			t.Errorf("took %v of the bubble's time, want 2h", d)
		}
	})
	vthread.Start(func() { vthread.Sleep(time.Microsecond) }).Join() // and the default scheduler still works outside
}
