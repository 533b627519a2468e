package sched_test

import (
	"os"
	"runtime"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/vtscope/vtscope/runtime/continuation"
	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/sched"
	"github.com/vtscope/vtscope/runtime/vthread"
)

// eventually waits until ok, for at most a minute.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("after a minute: not %s", what)
		}
	}
}

// Threads that block in operations of Go's own hold no OS threads, so there is no limit to them. With VTSCOPE_BLOCKED=100000 in
// the environment there are so many.
func TestAnyNumberOfThreadsMayBlockInGo(t *testing.T) {
	threads := 20_000
	if n, err := strconv.Atoi(os.Getenv("VTSCOPE_BLOCKED")); err == nil && n > 0 {
		threads = n
	}
	var before, blocked runtime.MemStats
	runtime.ReadMemStats(&before)
	first := time.Now()
	fj := newForkJoin(t, sched.ForkJoinOptions{Parallelism: 2})
	b := vthread.Builder{Scheduler: fj}
	gate, never := make(chan struct{}), make(chan int)
	var group sync.WaitGroup
	group.Add(1)
	pinned := make(chan *vthread.Thread, threads)
	ways := []func(){
		func() { <-gate },
		func() {
			select {
			case <-gate:
			case <-never:
			}
		},
		group.Wait,
		func() {
			pinned <- vthread.Current()
			continuation.Pin()
			defer continuation.Unpin()
			vthread.Park()
		},
		func() {
			vthread.Sleep(time.Millisecond) // it has been on another carrier before
			<-gate
		},
	}
	threads -= threads % len(ways)
	var all []*vthread.Thread
	for i := range threads {
		all = append(all, b.Start(ways[i%len(ways)]))
	}
	mounted := func() int { return int(fj.Stats().Figures[flight.FigureMounted]) }
	eventually(t, "all mounted", func() bool { return mounted() == threads })
	took := time.Since(first)
	runtime.ReadMemStats(&blocked)
	began := time.Now()
	if err := b.Start(func() {}).Join(); err != nil {
		t.Error(err)
	}
	t.Logf("%d threads blocked after %v, of %d B each; a further one took %v", threads, took, (blocked.Sys-before.Sys)/uint64(threads), time.Since(began))
	close(gate)
	group.Done()
	for range threads / len(ways) {
		(<-pinned).Unpark()
	}
	for _, th := range all {
		if err := th.Join(); err != nil {
			t.Error(err)
		}
	}
	eventually(t, "few carriers", func() bool { return fj.Stats().Figures[flight.FigureCarriers] <= 2 })
	if f := fj.Stats().Figures; f[flight.FigureStarts] != uint64(threads)+1 || f[flight.FigureEnds] != uint64(threads)+1 || f[flight.FigureParked] != 0 {
		t.Errorf("got %d starts, %d ends, %d parked; want %d, as many, 0", f[flight.FigureStarts], f[flight.FigureEnds], f[flight.FigureParked], threads+1)
	}
}
