//go:build unix

package bench

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/vtscope/vtscope/runtime/vsync"
	"github.com/vtscope/vtscope/runtime/vthread"
)

// crowdSizes are how many want the same thing at a time.
var crowdSizes = []int{2, 100, 10_000}

// A crowd is started by one of these; the function that it returns waits for it.
type crowd func(n int, each func()) (wait func())

func crowdOfThreads(n int, each func()) func() {
	all := make([]*vthread.Thread, n)
	for i := range all {
		all[i] = vthread.Start(each)
	}
	return func() {
		for _, t := range all {
			t.Join()
		}
	}
}

func crowdOfGoroutines(n int, each func()) func() {
	var wg sync.WaitGroup
	for range n {
		wg.Go(each)
	}
	return wg.Wait
}

// lockInCrowd takes a lock n times, by size that all want it from the beginning to the end.
func lockInCrowd(n, size int, c crowd, mu sync.Locker) time.Duration {
	taken := 0
	mu.Lock()
	wait := c(size, func() {
		for more := true; more; {
			mu.Lock()
			if more = taken < n; more {
				taken++
			}
			mu.Unlock()
		}
	})
	began := time.Now()
	mu.Unlock()
	wait()
	mustBe(taken, n)
	return time.Since(began)
}

// BenchmarkMutex takes and frees a lock: alone, and in a crowd of which all want it all the time.
func BenchmarkMutex(b *testing.B) {
	for _, c := range []struct {
		impl string
		mu   func() sync.Locker
	}{
		{"sync", func() sync.Locker { return new(sync.Mutex) }},
		{"vsync", func() sync.Locker { return new(vsync.Mutex) }},
		{"vsync-reentrant", func() sync.Locker { return new(vsync.ReentrantMutex) }},
		{"sync-rw", func() sync.Locker { return new(sync.RWMutex) }},
		{"vsync-rw", func() sync.Locker { return new(vsync.RWMutex) }},
	} {
		b.Run("crowd=1/impl="+c.impl, func(b *testing.B) {
			b.ReportAllocs()
			mu := c.mu()
			for b.Loop() {
				mu.Lock()
				mu.Unlock() //nolint:staticcheck // the pair is what is measured
			}
		})
	}
	for _, size := range crowdSizes {
		for _, c := range []struct {
			impl  string
			crowd crowd
			mu    func() sync.Locker
		}{
			{"sync/by=goroutines", crowdOfGoroutines, func() sync.Locker { return new(sync.Mutex) }},
			{"vsync/by=goroutines", crowdOfGoroutines, func() sync.Locker { return new(vsync.Mutex) }},
			{"vsync/by=threads", crowdOfThreads, func() sync.Locker { return new(vsync.Mutex) }},
			{"sync-rw/by=goroutines", crowdOfGoroutines, func() sync.Locker { return new(sync.RWMutex) }},
			{"vsync-rw/by=threads", crowdOfThreads, func() sync.Locker { return new(vsync.RWMutex) }},
		} {
			b.Run(fmt.Sprintf("crowd=%d/impl=%s", size, c.impl), measure(func(n int) time.Duration {
				return lockInCrowd(n, size, c.crowd, c.mu())
			}))
		}
	}
}
