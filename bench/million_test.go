//go:build unix

package bench

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/vtscope/vtscope/runtime/vthread"
)

// million is how many threads or goroutines the works of this file have. They run in children: their stacks would stay.
const million = 1_000_000

// BenchmarkRandomSleep lets a million sleep for random times of up to ten seconds. It reports the CPU time of all, and how
// much too late the median and the 99th percentile woke up.
func BenchmarkRandomSleep(b *testing.B) {
	eachImpl(b, "random", func(b *testing.B, name string) {
		var sum [3]float64
		for range b.N {
			for i, v := range ask(b, task{What: name, N: million, Until: 10 * time.Second}) {
				sum[i] += float64(v)
			}
		}
		b.ReportMetric(sum[0]/float64(b.N)/1e9, "cpu-s")
		b.ReportMetric(sum[1]/float64(b.N)/1e6, "p50-late-ms")
		b.ReportMetric(sum[2]/float64(b.N)/1e6, "p99-late-ms")
		b.ReportMetric(0, "ns/op") // the wall clock says that they slept
	})
}

// BenchmarkSkynet has a thread for each node of a tree with ten branches and a million leaves, which adds up the
// leaves' numbers.
func BenchmarkSkynet(b *testing.B) {
	eachImpl(b, "skynet", func(b *testing.B, name string) {
		sum := 0.0
		for range b.N {
			sum += float64(ask(b, task{What: name, N: million})[0])
		}
		b.ReportMetric(sum/float64(b.N)/1e6, "ms/op")
		b.ReportMetric(0, "ns/op") // that of the child's process, chosen above without its start
	})
}

// eachImpl runs a benchmark with the names of both tasks.
func eachImpl(b *testing.B, what string, f func(b *testing.B, name string)) {
	for _, impl := range []string{"thread", "goroutine"} {
		name := map[string]string{"thread": "vthread", "goroutine": "goroutine"}[impl]
		b.Run("impl="+name, func(b *testing.B) { f(b, fmt.Sprintf("%s-%ss", what, impl)) })
	}
}

// --- a million that sleep for random times ---

func startThread(f func())         { vthread.Start(f) }
func startGoroutine(f func())      { go f() }
func vthreadSleep(d time.Duration) { vthread.Sleep(d) }

// randomSleeps starts n that sleep for random times below until. It returns the CPU time of all, and the median
// and 99th percentile of how much later than asked for a sleep returned. The times are the same in each run.
func randomSleeps(n int, until time.Duration, start func(f func()), sleep func(time.Duration)) answer {
	times := make([]time.Duration, n)
	random := rand.New(rand.NewPCG(1, 2))
	for i := range times {
		times[i] = time.Duration(random.Int64N(int64(until)))
	}
	var wg sync.WaitGroup
	wg.Add(n)
	used := cpuOf(func() {
		for i := range times {
			start(func() {
				began := time.Now()
				sleep(times[i])
				times[i] = time.Since(began) - times[i]
				wg.Done()
			})
		}
		wg.Wait()
	})
	slices.Sort(times)
	return answer{int64(used), int64(times[n/2]), int64(times[n*99/100])}
}

// --- a tree of a million ---

const branches = 10

// A tree adds up the numbers from first on of its n leaves.
type tree func(first, n int) int

// skynet returns the time that a tree takes for its sum.
func skynet(n int, t tree) time.Duration {
	began := time.Now()
	got := t(0, n)
	d := time.Since(began)
	mustBe(got, n*(n-1)/2)
	return d
}

func skynetThreads(first, n int) (sum int) {
	onThread(func() { sum = threadsBelow(first, n) })
	return sum
}

func threadsBelow(first, n int) (sum int) {
	if n == 1 {
		return first
	}
	var sums [branches]int
	var threads [branches]*vthread.Thread
	for i := range threads {
		threads[i] = vthread.Start(func() { sums[i] = threadsBelow(first+i*n/branches, n/branches) })
	}
	for i, t := range threads {
		t.Join()
		sum += sums[i]
	}
	return sum
}

func skynetGoroutines(first, n int) (sum int) {
	if n == 1 {
		return first
	}
	var sums [branches]int
	var wg sync.WaitGroup
	for i := range sums {
		wg.Go(func() { sums[i] = skynetGoroutines(first+i*n/branches, n/branches) })
	}
	wg.Wait()
	for _, s := range sums {
		sum += s
	}
	return sum
}

func TestATreeAddsUpItsLeaves(t *testing.T) {
	for name, tree := range map[string]tree{"threads": skynetThreads, "goroutines": skynetGoroutines} {
		for n, want := range map[int]int{1: 0, 10: 45, 1000: 499500} {
			if got := tree(0, n); got != want {
				t.Errorf("%s, %d leaves: got %d, want %d", name, n, got, want)
			}
		}
		if got := tree(7, 10); got != 7*10+45 {
			t.Errorf("%s, leaves from 7 on: got %d, want 115", name, got)
		}
	}
}

func TestRandomSleepsWakeNotTooEarly(t *testing.T) {
	const n, until = 500, 50 * time.Millisecond
	for name, what := range map[string]struct {
		start func(func())
		sleep func(time.Duration)
	}{"threads": {startThread, vthreadSleep}, "goroutines": {startGoroutine, time.Sleep}} {
		began := time.Now()
		a := randomSleeps(n, until, what.start, what.sleep)
		if took := time.Since(began); took < until/2 {
			t.Errorf("%s: %d random sleeps of up to %v were over in %v", name, n, until, took)
		}
		if len(a) != 3 || a[0] <= 0 || a[1] < 0 || a[2] < a[1] {
			t.Errorf("%s: got %v, want CPU time, and two percentiles that are not early", name, a)
		}
	}
}
