//go:build unix

package bench

import (
	"sync"
	"syscall"
	"time"

	"github.com/vtscope/vtscope/runtime/vthread"
)

// sleepTime is how long each of the sleepers sleeps.
const sleepTime = time.Second

// sleepThreads starts n threads that sleep, and returns the CPU time of all of them. They are waited for as the
// goroutines are: joining each would wake the waiting goroutine many times.
func sleepThreads(n int) time.Duration {
	return cpuOf(func() {
		var wg sync.WaitGroup
		wg.Add(n)
		for range n {
			vthread.Start(func() {
				vthread.Sleep(sleepTime)
				wg.Done()
			})
		}
		wg.Wait()
	})
}

func sleepGoroutines(n int) time.Duration {
	return cpuOf(func() {
		var wg sync.WaitGroup
		for range n {
			wg.Go(func() { time.Sleep(sleepTime) })
		}
		wg.Wait()
	})
}

// cpuOf returns the time that the process used on all processors while f ran.
func cpuOf(f func()) time.Duration {
	before := cpu()
	f()
	return cpu() - before
}

func cpu() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
