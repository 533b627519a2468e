//go:build unix

package bench

import (
	"runtime"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/vthread"
)

// parkedThreads parks n threads at a depth, and returns how many bytes that took.
func parkedThreads(n, depth int) int64 {
	var arrived atomic.Int64
	var released atomic.Bool
	all := make([]*vthread.Thread, n)
	park := func() {
		arrived.Add(1)
		for !released.Load() {
			vthread.Park()
		}
	}
	vthread.Start(func() {}).Join() // what the first thread makes is no part of the others
	before := memory()
	for i := range all {
		all[i] = vthread.Start(func() { descend(depth, park) })
	}
	for _, t := range all {
		for t.State() != flight.StateParked {
			time.Sleep(time.Millisecond)
		}
	}
	used := memory() - before
	released.Store(true)
	for _, t := range all {
		t.Unpark()
	}
	for _, t := range all {
		t.Join()
	}
	return used
}

// parkedGoroutines parks n goroutines on a channel at a depth, and returns how many bytes that took.
func parkedGoroutines(n, depth int) int64 {
	var arrived, ended atomic.Int64
	release := make(chan struct{})
	park := func() {
		arrived.Add(1)
		<-release
	}
	before := memory()
	for range n {
		go func() {
			descend(depth, park)
			ended.Add(1)
		}()
	}
	for arrived.Load() < int64(n) {
		time.Sleep(time.Millisecond)
	}
	used := memory() - before
	close(release)
	for ended.Load() < int64(n) {
		time.Sleep(time.Millisecond)
	}
	return used
}

// descend calls f with depth frames below it.
//
//go:noinline
func descend(depth int, f func()) {
	if depth <= 1 {
		f()
	} else {
		descend(depth-1, f)
	}
}

// memory is what the process uses for stacks and live objects, and for its flight file.
func memory() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.StackInuse+m.HeapAlloc) + flightFile()
}

// flightFile is the size of the default recorder's file on the tmpfs; 0 when there is none.
func flightFile() int64 {
	var st syscall.Stat_t
	if path := flight.Default().Path(); path == "" || syscall.Stat(path, &st) != nil {
		return 0
	}
	return st.Blocks * 512
}
