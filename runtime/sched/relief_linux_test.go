package sched_test

import (
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/sched"
	"github.com/vtscope/vtscope/runtime/vthread"
)

// Each thread in a system call holds an OS thread, of which a process may have 10,000.
func TestThreadsInSystemCallsAreLimited(t *testing.T) {
	const most, more = 1024, 100
	var pipe [2]int
	if err := syscall.Pipe2(pipe[:], syscall.O_CLOEXEC); err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(pipe[0])
	fj := newForkJoin(t, sched.ForkJoinOptions{Parallelism: 2})
	var begun atomic.Int32
	var threads []*vthread.Thread
	for range most + more {
		threads = append(threads, vthread.Builder{Scheduler: fj}.Start(func() {
			begun.Add(1)
			var b [1]byte
			if n, err := syscall.Read(pipe[0], b[:]); n != 0 || err != nil {
				t.Errorf("read: got %d, %v; want the end of the file", n, err)
			}
		}))
	}
	eventually(t, "as many in calls as may be", func() bool { return begun.Load() == most })
	before := fj.Stats().Figures[flight.FigureCompensations]
	time.Sleep(50 * time.Millisecond) // the watchdog looks often
	if n := begun.Load(); n != most {
		t.Errorf("%d threads are in system calls, want %d", n, most)
	}
	if f := fj.Stats().Figures; f[flight.FigureCarriers] != most || f[flight.FigureQueued] != more || f[flight.FigureCompensations] != before {
		t.Errorf("got %d carriers, %d queued, %d more compensations; want %d, %d, 0", f[flight.FigureCarriers], f[flight.FigureQueued], f[flight.FigureCompensations]-before, most, more)
	}
	if err := syscall.Close(pipe[1]); err != nil {
		t.Fatal(err)
	}
	for _, th := range threads {
		if err := th.Join(); err != nil {
			t.Error(err)
		}
	}
}
