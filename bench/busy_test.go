//go:build unix

package bench

import (
	"os/exec"
	"testing"
	"time"

	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/sched"
	"github.com/vtscope/vtscope/runtime/vthread"
)

const (
	busyProcesses = 10 // that compute beside the one that is measured
	busyThreads   = 2_000
	busyLasts     = 5 * time.Second
	busySlice     = 10_000 // rounds of spin: some 10 µs
)

// BenchmarkBusy reports how many carriers there are at most in a process with two processors of whose threads none blocks, on a machine with ten other
// processes that compute.
func BenchmarkBusy(b *testing.B) {
	most := int64(0)
	for range b.N {
		most = max(most, ask(b, task{What: "busy", Carriers: 2, Until: busyLasts})[0])
	}
	b.ReportMetric(float64(most), "carriers")
	b.ReportMetric(0, "ns/op")
}

// computes keeps a processor busy until it is killed.
func computes(task) answer {
	for x := uint64(1); ; {
		x = spin(x)
	}
}

//go:noinline
func spin(x uint64) uint64 {
	for range busySlice {
		x = x*6364136223846793005 + 1
	}
	return x
}

// mostCarriers has threads yield, sleep, start others and compute a little, and returns how many carriers there were at most.
func mostCarriers(t task) answer {
	var others []*exec.Cmd
	defer func() {
		for _, c := range others {
			c.Process.Kill()
			c.Wait()
		}
	}()
	for range busyProcesses {
		c := selfAs(task{What: "compute"}, "VTSCOPE=off", "GOMAXPROCS=1")
		if err := c.Start(); err != nil {
			panic(err)
		}
		others = append(others, c)
	}
	fj, err := sched.NewForkJoin(sched.ForkJoinOptions{Parallelism: t.Carriers})
	if err != nil {
		panic(err)
	}
	defer fj.Close()
	ends := time.Now().Add(t.Until)
	var threads []*vthread.Thread
	for i := range busyThreads {
		threads = append(threads, vthread.Builder{Scheduler: fj}.Start(func() {
			for n, x := 0, uint64(i); time.Now().Before(ends); n++ {
				switch x = spin(x); n % 3 {
				case 0:
					vthread.Sleep(time.Millisecond)
				case 1:
					vthread.Yield()
				default:
					vthread.Start(func() { x = spin(x) }).Join()
				}
			}
		}))
	}
	most := uint64(0)
	for time.Now().Before(ends) {
		time.Sleep(5 * time.Millisecond)
		most = max(most, fj.Stats().Figures[flight.FigureCarriers])
	}
	for _, th := range threads {
		if err := th.Join(); err != nil {
			panic(err)
		}
	}
	return answer{int64(most)}
}
