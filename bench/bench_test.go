//go:build unix

package bench

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/vtscope/vtscope/runtime/flight"
)

// runTask is a child's whole life.
func runTask(t task) {
	a := tasks[t.What](t)
	if err := flight.Close(); err != nil {
		panic(err)
	}
	if err := json.NewEncoder(os.Stdout).Encode(a); err != nil {
		panic(err)
	}
	os.Exit(0)
}

// measure makes a work a benchmark.
func measure(w work) func(*testing.B) {
	return func(b *testing.B) {
		b.ReportAllocs()
		d := w(b.N)
		b.ReportMetric(float64(d.Nanoseconds())/float64(b.N), "ns/op")
	}
}

// BenchmarkStartJoin starts something empty and waits until it has ended, from something of its own sort.
func BenchmarkStartJoin(b *testing.B) {
	b.Run("impl=vthread", measure(startJoinThread))
	b.Run("impl=goroutine", measure(startJoinGoroutine))
}

// BenchmarkStartJoinFromGoroutine does the same, both from a goroutine.
func BenchmarkStartJoinFromGoroutine(b *testing.B) {
	b.Run("impl=vthread", measure(startJoinFromGoroutine))
	b.Run("impl=goroutine", measure(startJoinGoroutine))
}

// BenchmarkStartJoinHere does the same, from a goroutine that executes the threads which it waits for ([vthread.Builder.StartHere]).
func BenchmarkStartJoinHere(b *testing.B) {
	b.Run("impl=vthread", measure(startJoinHere))
	b.Run("impl=goroutine", measure(startJoinGoroutine))
}

// BenchmarkPingPong: two threads of one carrier unpark each other; two goroutines use two channels.
func BenchmarkPingPong(b *testing.B) {
	b.Run("impl=vthread", measure(pingPongThreads))
	b.Run("impl=goroutine", measure(pingPongGoroutines))
}

// BenchmarkYield: 1,000 threads of one carrier, or goroutines of one processor, take turns.
func BenchmarkYield(b *testing.B) {
	b.Run("impl=vthread", measure(yieldThreads))
	b.Run("impl=goroutine", measure(yieldGoroutines))
}

// BenchmarkBlocked: 1,000 threads block for 10 ms in a way that the scheduler of two carriers cannot see.
func BenchmarkBlocked(b *testing.B) {
	for _, c := range []struct {
		impl string
		work work
	}{{"vthread", blockThreads}, {"goroutine", blockGoroutines}} {
		b.Run("impl="+c.impl, func(b *testing.B) {
			d := c.work(b.N)
			b.ReportMetric(d.Seconds()*1e3/float64(b.N), "ms/op")
		})
	}
}

// recorderOps is how many operations a child does.
var recorderOps = map[string]int{"startjoin": 500_000, "pingpong": 500_000, "yield": 1_000_000}

// BenchmarkRecorder measures the works with the recorder off, on, and on with the settings "profile", each time in a process of its own.
func BenchmarkRecorder(b *testing.B) {
	for _, settings := range []string{"default", "off", "profile"} {
		for _, name := range []string{"pingpong", "startjoin", "yield"} {
			b.Run(fmt.Sprintf("settings=%s/work=%s", settings, name), func(b *testing.B) {
				sum := 0.0
				for range b.N {
					sum += child(b, task{What: name, N: recorderOps[name]}, recorderEnv(settings)...)
				}
				b.ReportMetric(sum/float64(b.N), "ns/op")
			})
		}
	}
}

// recorderEnv is the environment of a child whose recorder has the settings; with "off" it has none.
func recorderEnv(settings string) []string {
	if settings == "off" {
		return []string{"VTSCOPE=off"}
	}
	return []string{"VTSCOPE=", "VTSCOPE_SETTINGS=" + settings}
}

// BenchmarkMemoryPerThread reports what a parked thread needs, and a goroutine that is parked on a channel at the
// same depth: stacks, live objects and the flight file.
func BenchmarkMemoryPerThread(b *testing.B) {
	const n = 100_000
	for _, depth := range []int{1, 20} {
		for _, c := range []struct{ impl, task string }{{"vthread", "memory-threads"}, {"goroutine", "memory-goroutines"}} {
			b.Run(fmt.Sprintf("depth=%d/impl=%s", depth, c.impl), func(b *testing.B) {
				sum := 0.0
				for range b.N {
					sum += child(b, task{What: c.task, N: n, Depth: depth})
				}
				b.ReportMetric(sum/float64(b.N), "B/thread")
				b.ReportMetric(0, "ns/op") // of no meaning here
			})
		}
	}
}

// BenchmarkSleep reports the CPU time of each of 100,000 that sleep for a second. Warm means that as many have
// slept before in the process.
func BenchmarkSleep(b *testing.B) {
	for _, c := range []struct{ name, task string }{
		{"pool=cold/impl=vthread", "sleep-threads"},
		{"pool=warm/impl=vthread", "sleep-threads-warm"},
		{"pool=cold/impl=goroutine", "sleep-goroutines"},
		{"pool=warm/impl=goroutine", "sleep-goroutines-warm"},
	} {
		b.Run(c.name, func(b *testing.B) {
			sum := 0.0
			for range b.N {
				sum += child(b, task{What: c.task, N: 100_000})
			}
			b.ReportMetric(sum/float64(b.N), "cpu-ns/op")
			b.ReportMetric(0, "ns/op") // the wall clock says that they slept
		})
	}
}

func TestEachWorkDoesItsOperations(t *testing.T) {
	for name, w := range map[string]work{
		"start and join a thread": startJoinThread, "from a goroutine": startJoinFromGoroutine, "a goroutine": startJoinGoroutine,
		"ping-pong of threads": pingPongThreads, "of goroutines": pingPongGoroutines,
		"yields of threads": yieldThreads, "yields of goroutines": yieldGoroutines,
		"blocked threads": blockThreads, "blocked goroutines": blockGoroutines,
	} {
		wantTime(t, name, 2, w)
	}
}

// longer gives f ever more time until it is content: on a machine with much else to do a process may have no processor for a while. The last time is more than 12 seconds.
func longer(t *testing.T, least time.Duration, f func(d time.Duration) error) {
	t.Helper()
	for d := least; ; d *= 2 {
		err := f(d)
		if err == nil {
			return
		}
		if d > 12*time.Second {
			t.Error(err)
			return
		}
		t.Logf("%v are too few: %v", d, err)
	}
}

// wantTime checks that what a work of n operations says that it took is a part of the time that it was called for.
func wantTime(t *testing.T, name string, n int, w work) {
	t.Helper()
	began := time.Now()
	d := w(n)
	if all := time.Since(began); d <= 0 || d > all {
		t.Errorf("%s: got %v for %d operations, want a part of %v", name, d, n, all)
	}
}

func TestAChildAnswers(t *testing.T) {
	for what := range tasks {
		switch what {
		case "churn", "repeat", "compute", "pace", "doze", "observe": // do not end by themselves, or tell more than an answer
			continue
		case "load", "crowd", "paced", "keep": // need somebody who serves
			continue
		}
		if strings.HasSuffix(what, "-warm") || strings.HasPrefix(what, "serve") { // twice that without; do not end by themselves
			continue
		}
		// Memory may shrink; it is enough that the answer comes.
		child(t, task{What: what, N: 1000, Depth: 3, Until: 10 * time.Millisecond, Crowd: 20, Carriers: 2})
	}
}
