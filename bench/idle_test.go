//go:build unix

package bench

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"runtime/debug"
	"sync"
	"testing"
	"time"

	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/vthread"
)

// BenchmarkIdle reports how much of a processor a process uses in which a hundred thousand are parked, without a time and for ten minutes and more.
func BenchmarkIdle(b *testing.B) {
	const watched = 2 * time.Second
	for _, park := range []string{"parked", "timed"} {
		b.Run(fmt.Sprintf("threads=100000/park=%s", park), func(b *testing.B) {
			eachImpl(b, "idle-"+park, func(b *testing.B, name string) {
				sum := 0.0
				for range b.N {
					sum += float64(ask(b, task{What: name, Crowd: 100_000, Until: watched})[0])
				}
				b.ReportMetric(100*sum/float64(b.N)/float64(watched), "%CPU")
				b.ReportMetric(0, "ns/op") // nothing is done
			})
		})
	}
}

// idle returns the CPU time that the process uses while the crowd is parked.
func idle(t task, park func(n int)) answer {
	park(t.Crowd)
	debug.FreeOSMemory()                  // else the garbage collector gives memory back for seconds
	time.Sleep(min(t.Until, time.Second)) // what starting them has begun may end
	return answer{int64(cpuOf(func() { time.Sleep(t.Until) }))}
}

// much returns a random time that is longer than any child lives.
func much() time.Duration { return 10*time.Minute + rand.N(10*time.Minute) }

func idleThreads(n int)         { parked(n, flight.StateParked, func() { vthread.Park() }) }
func idleThreadsTimed(n int)    { parked(n, flight.StateTimedParked, func() { vthread.ParkFor(much()) }) }
func idleGoroutines(n int)      { blocked(n, func() { <-make(chan struct{}) }) }
func idleGoroutinesTimed(n int) { blocked(n, func() { time.Sleep(much()) }) }

// parked starts n threads, and returns when all are in the state that the park brings them to.
func parked(n int, state flight.State, park func()) []*vthread.Thread {
	all := make([]*vthread.Thread, n)
	for i := range all {
		all[i] = vthread.Start(park)
	}
	awaitState(all, state)
	return all
}

// blocked starts n goroutines, and returns when all are about to block.
func blocked(n int, block func()) {
	var arrived sync.WaitGroup
	arrived.Add(n)
	for range n {
		go func() {
			arrived.Done()
			block()
		}()
	}
	arrived.Wait()
}

func TestATimedParkHasNoGoroutineOfItsOwn(t *testing.T) {
	const n = 2000
	// A virtual thread's routine counts as a goroutine, so only the difference to plain parks says something.
	count := func(state flight.State, park func()) int {
		all := parked(n, state, park)
		defer func() {
			for _, th := range all {
				th.Unpark()
				th.Join()
			}
		}()
		return runtime.NumGoroutine()
	}
	plain := count(flight.StateParked, func() { vthread.Park() })
	timed := count(flight.StateTimedParked, func() { vthread.ParkFor(much()) })
	if plain < n || timed > plain+n/2 {
		t.Errorf("%d threads: got %d goroutines while they are parked and %d while they are for a time, want at least as many as threads, and about the same", n, plain, timed)
	}
}
