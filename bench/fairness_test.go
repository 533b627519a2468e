//go:build unix

package bench

import (
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vtscope/vtscope/runtime/sched"
	"github.com/vtscope/vtscope/runtime/vthread"
)

// crowds is how many yield, one after the other. How they happen to be spread over carriers may last.
const crowds = 3

// BenchmarkFairness lets a thousand do nothing but yield for a third of a second, and reports how many times as often the fastest did as
// the slowest, in the worst of the crowds.
func BenchmarkFairness(b *testing.B) {
	eachCarriers(b, "threads=1000", func(b *testing.B, carriers int) {
		eachImpl(b, "fair", func(b *testing.B, name string) {
			sum := 0.0
			for range b.N {
				worst := 0.0
				a := ask(b, task{What: name, Crowd: yielders, Carriers: carriers, Until: time.Second / 3})
				for i := 0; i < len(a); i += 2 {
					worst = max(worst, float64(a[i])/float64(max(1, a[i+1])))
				}
				sum += worst
			}
			b.ReportMetric(sum/float64(b.N), "max/min")
			b.ReportMetric(0, "ns/op") // they are given their time
		})
	})
}

func fairThreads(t task) (a answer) {
	for range crowds {
		withCarriers(t.Carriers, func(s sched.Scheduler) {
			b := vthread.Builder{Scheduler: s}
			a = append(a, fair(t, func(f func()) { b.Start(f) }, vthread.Yield)...)
		})
	}
	return a
}

func fairGoroutines(t task) (a answer) {
	for range crowds {
		a = append(a, fair(t, startGoroutine, runtime.Gosched)...)
	}
	return a
}

// fair returns how many turns the fastest and the slowest of one crowd had.
func fair(t task, start func(f func()), yield func()) answer {
	var arrived, ended sync.WaitGroup
	arrived.Add(t.Crowd)
	ended.Add(t.Crowd)
	var begun, over atomic.Bool
	turns := make([]int64, t.Crowd)
	for i := range turns {
		start(func() {
			arrived.Done()
			for !begun.Load() {
				yield()
			}
			var own int64
			for !over.Load() {
				yield()
				own++
			}
			turns[i] = own
			ended.Done()
		})
	}
	arrived.Wait()
	begun.Store(true)
	time.Sleep(t.Until)
	over.Store(true)
	ended.Wait()
	return answer{slices.Max(turns), slices.Min(turns)}
}

func TestEverybodyHasTurns(t *testing.T) {
	for name, f := range map[string]func(task) answer{"threads": fairThreads, "goroutines": fairGoroutines} {
		longer(t, 100*time.Millisecond, func(d time.Duration) error {
			a := f(task{Crowd: 20, Carriers: 2, Until: d})
			if len(a) != 2*crowds {
				return fmt.Errorf("%s: got %v, want the most and the fewest turns of each crowd", name, a)
			}
			for i := 0; i < len(a); i += 2 {
				if a[i+1] < 1 || a[i] < a[i+1] {
					return fmt.Errorf("%s: got %v in %v, want turns for everybody", name, a, d)
				}
			}
			return nil
		})
	}
}
