//go:build unix

package bench

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/vtscope/vtscope/agent"
	"github.com/vtscope/vtscope/recording"
	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/flight/flighttest"
	"github.com/vtscope/vtscope/runtime/sched"
	"github.com/vtscope/vtscope/runtime/vthread"
)

// BenchmarkFleet lets an agent in a process of its own observe one process that emits at least a million events a second, as exporters do, beside 50 that do nothing.
// It reports what that process cost, how many events it was told, and how many it was not.
func BenchmarkFleet(b *testing.B) {
	b.Run("events=1000000/idle=50", func(b *testing.B) {
		var sum fleetFigures
		for range b.N {
			sum.add(followFleet(b, 1_000_000, 50, 5*time.Second))
		}
		n := float64(b.N)
		b.ReportMetric(sum.processors/n, "processors")
		b.ReportMetric(sum.memory/1e6, "peak-MB")
		b.ReportMetric(sum.events/n, "events/s")
		b.ReportMetric(100*sum.lost/(sum.lost+sum.events), "%lost")
		b.ReportMetric(0, "ns/op") // chosen above
	})
}

// fleetFigures are of the observing process.
type fleetFigures struct {
	processors float64
	memory     float64 // bytes, resident, the most so far
	events     float64 // per second, told
	lost       float64 // per second
	processes  float64 // that told at least their state
	recorded   float64 // events per second, by the rings
}

func (f *fleetFigures) add(g fleetFigures) {
	f.processors += g.processors
	f.memory = max(f.memory, g.memory)
	f.events += g.events
	f.lost += g.lost
	f.processes = g.processes
}

// followFleet starts one busy process and some idle ones, and an agent that observes them for a while.
func followFleet(tb testing.TB, rate, idlers int, watched time.Duration) fleetFigures {
	tb.Helper()
	dir := flighttest.Dir(tb)
	inDir := "VTSCOPE_DIR=" + dir
	busy, err := startProgram("events a second; pid", selfAs(task{What: "pace", N: rate}, inDir))
	if err != nil {
		tb.Fatal(err)
	}
	defer busy.end()
	for range idlers {
		p, err := startProgram("threads park; pid", selfAs(task{What: "doze", N: 10}, inDir))
		if err != nil {
			tb.Fatal(err)
		}
		defer p.end()
	}
	a := ask(tb, task{What: "observe", N: idlers + 1, Until: watched, Of: dir})
	seconds := float64(a[0]) / 1e9
	return fleetFigures{float64(a[1]) / 1e9 / seconds, float64(a[2]), float64(a[3]) / seconds, float64(a[4]) / seconds, float64(a[5]), float64(a[6]) / seconds}
}

// pace emits about so many events a second, in bursts of a millisecond or more, until standard input ends.
func pace(t task) answer {
	const threads, yields = 100, 10
	done := make(chan struct{})
	go func() {
		io.Copy(io.Discard, os.Stdin)
		close(done)
	}()
	withCarriers(1, func(s sched.Scheduler) {
		var over atomic.Bool
		var left sync.WaitGroup
		var all []*vthread.Thread
		for range threads {
			all = append(all, vthread.Builder{Scheduler: s}.Start(func() {
				for vthread.Park(); !over.Load(); vthread.Park() {
					for range yields {
						vthread.Yield()
					}
					left.Done()
				}
			}))
		}
		round := func() {
			left.Add(threads)
			for _, th := range all {
				th.Unpark()
			}
			left.Wait()
		}
		dir := filepath.Dir(flight.Default().Path())
		before := recordedIn(dir)
		for range 100 {
			round()
		}
		each := float64(recordedIn(dir)-before) / 100
		fmt.Printf("pace: %d events a second; pid %d\n", t.N, os.Getpid())
		began, rounds := time.Now(), 0
		for tick := time.Tick(time.Millisecond); ; rounds++ {
			for float64(rounds)*each > time.Since(began).Seconds()*float64(t.N) {
				select {
				case <-tick:
					continue
				case <-done:
				}
				over.Store(true)
				for _, th := range all {
					th.Unpark()
					th.Join()
				}
				return
			}
			round()
		}
	})
	return nil
}

// doze parks threads until standard input ends.
func doze(t task) answer {
	var all []*vthread.Thread
	for range t.N {
		all = append(all, vthread.Start(func() { vthread.Park() }))
	}
	fmt.Printf("doze: %d threads park; pid %d\n", t.N, os.Getpid())
	io.Copy(io.Discard, os.Stdin)
	for _, th := range all {
		th.Unpark()
		th.Join()
	}
	return nil
}

// observe follows the processes of a folder as vtserve does, with an observer for each. It answers how long, CPU time, memory, events, lost ones, processes, and events by the rings.
func observe(t task) answer {
	debug.SetMemoryLimit(180 << 20) // as vtserve --max-memory 200 does
	told := &told{}
	a, err := agent.New(agent.Options{
		Dirs: []string{t.Of},
		Observe: func(flight.Process, recording.Source) []recording.Observer {
			return []recording.Observer{&counter{told: told}}
		},
	})
	must(err)
	for told.processes.Load() < int64(t.N) {
		time.Sleep(time.Millisecond)
	}
	time.Sleep(time.Second) // the first snapshots
	before := recordedIn(t.Of)
	events, lost, used, began := told.events.Load(), told.lost.Load(), cpu(), time.Now()
	time.Sleep(t.Until)
	took := time.Since(began)
	out := answer{int64(took), int64(cpu() - used), peak(), told.events.Load() - events, told.lost.Load() - lost, told.processes.Load(), recordedIn(t.Of) - before}
	must(a.Close())
	return out
}

// recordedIn is how many events the processes of a folder have recorded.
func recordedIn(dir string) (n int64) {
	all, errs := flight.List(dir)
	must(errors.Join(errs...))
	for _, p := range all {
		r, err := flight.Open(p.Path)
		must(err)
		heads, err := r.Heads(nil)
		must(err)
		must(r.Close())
		for _, h := range heads {
			n += int64(h.Head)
		}
	}
	return n
}

// told is what all counters have counted.
type told struct{ events, lost, processes atomic.Int64 }

// A counter is the least that an exporter of a process does.
type counter struct {
	*told
	known bool // a state has come
}

func (c *counter) Reset(*recording.Tracker) {
	if !c.known {
		c.known = true
		c.processes.Add(1)
	}
}
func (c *counter) Event(*recording.Event, recording.Change, *recording.Tracker) { c.events.Add(1) }
func (c *counter) Lost(n uint64)                                                { c.lost.Add(int64(n)) }
func (c *counter) Flush(*recording.Tracker)                                     {}

// peak is the most memory that this process has had, in bytes. Of the system's usage, Linux says at least what the process had that started it; of the status not.
func peak() int64 {
	status, err := os.ReadFile("/proc/self/status")
	if m := regexp.MustCompile(`VmHWM:\s+(\d+) kB`).FindSubmatch(status); err == nil && m != nil {
		kb, err := strconv.ParseInt(string(m[1]), 10, 64)
		must(err)
		return kb << 10
	}
	var u syscall.Rusage
	must(syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return int64(u.Maxrss) << 10
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func init() {
	tasks["pace"] = pace
	tasks["doze"] = doze
	tasks["observe"] = observe
}
