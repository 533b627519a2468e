package vthread_test

import (
	"runtime"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/vtscope/vtscope/internal/computetest"
	"github.com/vtscope/vtscope/runtime/internal/coro"
	"github.com/vtscope/vtscope/runtime/vthread"
)

func TestWhatAMountedThreadDoesIsSeen(t *testing.T) {
	if !coro.SharedLookout().Sees() {
		t.Skip("goroutines cannot be looked at here")
	}
	var pipe [2]int
	if err := syscall.Pipe(pipe[:]); err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(pipe[0])
	ch := make(chan int)
	var stop atomic.Bool
	for want, c := range map[vthread.Doing]struct {
		do        func()
		operation string
		end       func()
	}{
		vthread.DoingWait: {func() { <-ch }, "runtime.chanrecv1", func() { close(ch) }},
		vthread.DoingSyscall: {func() {
			if _, err := syscall.Read(pipe[0], make([]byte, 1)); err != nil {
				t.Error(err)
			}
		}, "", func() { syscall.Close(pipe[1]) }},
		vthread.DoingWork: {func() { computetest.Until(&stop) }, "", func() { stop.Store(true) }},
	} {
		th := vthread.Start(c.do)
		deadline := time.Now().Add(time.Minute)
		for th.Doing() != want && (want != vthread.DoingWork || th.Doing() != vthread.DoingReady) {
			if time.Now().After(deadline) {
				t.Errorf("got %v, want %v", th.Doing(), want)
				break
			}
			time.Sleep(100 * time.Microsecond)
		}
		if got := th.Stack().Operation; c.operation != "" && got != c.operation {
			t.Errorf("%v: got operation %q, want %q", want, got, c.operation)
		}
		c.end()
		th.Join()
		if got := th.Doing(); got != vthread.DoingUnknown {
			t.Errorf("at the end: got %v, want unknown", got)
		}
	}
	parked := vthread.Start(func() { vthread.Park() })
	for parked.State().String() != "parked" {
		runtime.Gosched()
	}
	if got := parked.Doing(); got != vthread.DoingUnknown {
		t.Errorf("parked: got %v, want unknown", got)
	}
	parked.Unpark()
	parked.Join()
}
