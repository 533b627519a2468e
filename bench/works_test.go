//go:build unix

package bench

import (
	"fmt"
	"runtime"
	"sync"
	"time"

	"github.com/vtscope/vtscope/runtime/sched"
	"github.com/vtscope/vtscope/runtime/vthread"
)

// A work does n operations and returns the time that they took, without preparation.
type work func(n int) time.Duration

// onThread runs f on a thread of the default scheduler and waits for it.
func onThread(f func()) { vthread.Start(f).Join() }

// withCarriers runs f with a scheduler that has n carriers.
func withCarriers(n int, f func(s sched.Scheduler)) {
	s, err := sched.NewForkJoin(sched.ForkJoinOptions{Parallelism: n})
	if err != nil {
		panic(err)
	}
	defer s.Close()
	f(s)
}

// mustBe checks the result of a work.
func mustBe(got, want int) {
	if got != want {
		panic(fmt.Sprintf("got %d, want %d", got, want))
	}
}

// --- start, run and join something empty ---

func startJoinThread(n int) (d time.Duration) {
	onThread(func() { d = startJoinFromGoroutine(n) })
	return d
}

// startJoinFromGoroutine is the same from whoever calls it.
func startJoinFromGoroutine(n int) time.Duration {
	began := time.Now()
	for range n {
		vthread.Start(func() {}).Join()
	}
	return time.Since(began)
}

// startJoinHere is the same of a goroutine that executes the threads which it waits for.
func startJoinHere(n int) time.Duration {
	began := time.Now()
	for range n {
		vthread.Builder{}.StartHere(func() {}).Join()
	}
	return time.Since(began)
}

func startJoinGoroutine(n int) time.Duration {
	began := time.Now()
	for range n {
		var wg sync.WaitGroup
		wg.Add(1)
		go wg.Done()
		wg.Wait()
	}
	return time.Since(began)
}

// --- two that wake each other in turn; an operation is there and back ---

func pingPongThreads(n int) (d time.Duration) {
	withCarriers(1, func(s sched.Scheduler) {
		b := vthread.Builder{Scheduler: s}
		var ping, pong *vthread.Thread
		pong = b.Unstarted(func() {
			for range n {
				vthread.Park()
				ping.Unpark()
			}
		})
		ping = b.Unstarted(func() {
			began := time.Now()
			for range n {
				pong.Unpark()
				vthread.Park()
			}
			d = time.Since(began)
		})
		pong.Start()
		ping.Start()
		ping.Join()
		pong.Join()
	})
	return d
}

func pingPongGoroutines(n int) time.Duration {
	ping, pong := make(chan struct{}), make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for range n {
			<-pong
			ping <- struct{}{}
		}
	})
	began := time.Now()
	for range n {
		pong <- struct{}{}
		<-ping
	}
	d := time.Since(began)
	wg.Wait()
	return d
}

// --- a thousand that take turns; an operation is one yield ---

const yielders = 1000

func yieldThreads(n int) (d time.Duration) {
	each := (n + yielders - 1) / yielders
	withCarriers(1, func(s sched.Scheduler) {
		b := vthread.Builder{Scheduler: s}
		all := make([]*vthread.Thread, yielders)
		for i := range all {
			all[i] = b.Unstarted(func() {
				vthread.Park() // until all have a stack
				for range each {
					vthread.Yield()
				}
			})
			all[i].Start()
		}
		// The conductor runs on the same carrier, in turn.
		conductor := b.Unstarted(func() {
			for range 3 {
				vthread.Yield()
			}
			began := time.Now()
			for _, t := range all {
				t.Unpark()
			}
			for _, t := range all {
				t.Join()
			}
			d = time.Since(began)
		})
		conductor.Start()
		conductor.Join()
	})
	return perOperation(d, each*yielders, n)
}

func yieldGoroutines(n int) time.Duration {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	each := (n + yielders - 1) / yielders
	start := make(chan struct{})
	var wg sync.WaitGroup
	for range yielders {
		wg.Go(func() {
			<-start
			for range each {
				runtime.Gosched()
			}
		})
	}
	for range 3 {
		runtime.Gosched()
	}
	began := time.Now()
	close(start)
	wg.Wait()
	return perOperation(time.Since(began), each*yielders, n)
}

// perOperation scales the time of done operations to that of n.
func perOperation(d time.Duration, done, n int) time.Duration {
	return time.Duration(float64(d) * float64(n) / float64(done))
}

// --- a thousand that block for 10 ms where the scheduler cannot see it ---

const (
	blockers  = 1000
	blockTime = 10 * time.Millisecond
)

func blockThreads(n int) (d time.Duration) {
	withCarriers(2, func(s sched.Scheduler) {
		b := vthread.Builder{Scheduler: s}
		began := time.Now()
		for range n {
			var wg sync.WaitGroup
			wg.Add(blockers)
			for range blockers {
				b.Start(func() {
					time.Sleep(blockTime)
					wg.Done()
				})
			}
			wg.Wait()
		}
		d = time.Since(began)
	})
	return d
}

func blockGoroutines(n int) time.Duration {
	began := time.Now()
	for range n {
		var wg sync.WaitGroup
		for range blockers {
			wg.Go(func() { time.Sleep(blockTime) })
		}
		wg.Wait()
	}
	return time.Since(began)
}
