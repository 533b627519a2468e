//go:build unix

package bench

import (
	"fmt"
	"sync"
	"sync/atomic"
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
		{"sync-read", func() sync.Locker { return new(sync.RWMutex).RLocker() }},
		{"vsync-read", func() sync.Locker { return new(vsync.RWMutex).RLocker() }},
		{"vsync-read-named", func() sync.Locker {
			mu := new(vsync.RWMutex)
			mu.SetName("named")
			return mu.RLocker()
		}},
	} {
		b.Run("crowd=1/impl="+c.impl, func(b *testing.B) {
			b.ReportAllocs()
			mu := c.mu()
			n := 0
			for b.Loop() {
				mu.Lock()
				n++
				mu.Unlock()
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

// passInCrowd passes n elements through something, from as many as take them.
func passInCrowd(n, pairs int, c crowd, put func(int), take func() (int, bool), end func()) time.Duration {
	var sum, puts atomic.Int64
	began := time.Now()
	takers := c(pairs, func() {
		mine := 0
		for v, ok := take(); ok; v, ok = take() {
			mine += v
		}
		sum.Add(int64(mine))
	})
	c(pairs, func() {
		for puts.Add(1) <= int64(n) {
			put(1)
		}
	})()
	end()
	takers()
	d := time.Since(began)
	mustBe(int(sum.Load()), n)
	return d
}

// BenchmarkBoundedQueue has as many that put into a queue with room for 16 as take from it. Goroutines use a channel. An operation is one element.
func BenchmarkBoundedQueue(b *testing.B) {
	for _, pairs := range []int{1, 50, 5000} {
		channel := func(n int) time.Duration {
			ch := make(chan int, 16)
			return passInCrowd(n, pairs, crowdOfGoroutines, func(v int) { ch <- v }, func() (int, bool) { v, ok := <-ch; return v, ok }, func() { close(ch) })
		}
		queue := func(c crowd) work {
			return func(n int) time.Duration {
				q := vsync.NewQueue[int](16)
				return passInCrowd(n, pairs, c, func(v int) { q.Put(v) }, func() (int, bool) { v, err := q.Take(); return v, err == nil }, q.Close)
			}
		}
		b.Run(fmt.Sprintf("pairs=%d/impl=channel/by=goroutines", pairs), measure(channel))
		b.Run(fmt.Sprintf("pairs=%d/impl=vsync/by=goroutines", pairs), measure(queue(crowdOfGoroutines)))
		b.Run(fmt.Sprintf("pairs=%d/impl=vsync/by=threads", pairs), measure(queue(crowdOfThreads)))
	}
}

// BenchmarkSemaphore acquires and releases a permit: alone, and in a crowd for which there are 8. Goroutines send to a channel with room for as many, and
// receive from it.
func BenchmarkSemaphore(b *testing.B) {
	const permits = 8
	for _, size := range []int{1, 2, 100, 10_000} {
		use := func(c crowd, acquire, release func()) work {
			return func(n int) time.Duration {
				var uses atomic.Int64
				began := time.Now()
				c(size, func() {
					for uses.Add(1) <= int64(n) {
						acquire()
						release()
					}
				})()
				return time.Since(began)
			}
		}
		ch := make(chan struct{}, permits)
		s := vsync.NewSemaphore(permits)
		b.Run(fmt.Sprintf("crowd=%d/impl=channel/by=goroutines", size), measure(use(crowdOfGoroutines, func() { ch <- struct{}{} }, func() { <-ch })))
		b.Run(fmt.Sprintf("crowd=%d/impl=vsync/by=goroutines", size), measure(use(crowdOfGoroutines, func() { s.Acquire(1) }, func() { s.Release(1) })))
		b.Run(fmt.Sprintf("crowd=%d/impl=vsync/by=threads", size), measure(use(crowdOfThreads, func() { s.Acquire(1) }, func() { s.Release(1) })))
	}
}
