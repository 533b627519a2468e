package sched

import (
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/internal/coro"
)

// A carrier mounts a thread as plainly as the watchdog reads which one is mounted. That orders what the thread's starter
// has written, but the race detector does not know it: it tells of whatever else is read plainly.
func TestTheWatchdogLooksAtAThreadThatWasJustMounted(t *testing.T) {
	for range 20 {
		fj := newForkJoin(ForkJoinOptions{Parallelism: 1, MaxCarriers: 1})
		w := &worker{fj: fj}
		fj.rememberLocked(w)
		started := new(Task)
		var over atomic.Bool
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			started.word.Store(runnable)
			started.record(nil, nil, Birth{}, flight.StateRunnable, flight.Now())
			if started.rec != nil {
				started.rec.Goroutine(coro.G())
			}
			w.setMounted(started)
			for !over.Load() {
			}
		}()
		for task, _, _ := w.mountedThread(); task == nil; task, _, _ = w.mountedThread() {
			runtime.Gosched()
		}
		fj.look()
		if !w.seen.held {
			t.Error("a carrier that has not gone on does not stand still")
		}
		over.Store(true)
		<-ended
		if started.rec != nil {
			Forget(started.rec)
		}
	}
}
