//go:build unix

package bench

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"testing"
	"time"

	"github.com/vtscope/vtscope/runtime/flight"
)

// childEnv tells the test binary that it is a child, and what to do.
const childEnv = "VTSCOPE_BENCH_CHILD"

// A task is what a child does.
type task struct {
	What  string // a key of tasks
	N     int
	Depth int           // for memory and trees
	Until time.Duration // for sleeps of random times: the longest; else how long to measure

	Crowd    int // how many threads or goroutines, or pairs of them
	Carriers int // that threads have; so many processors have goroutines; 0: as many as there are

	Traced    bool     // with Go's own trace on
	Address   string   // of a server
	Addresses []string // of several
	Of        string   // what is repeated; how a server answers
}

// An answer is what a child has measured: nanoseconds or bytes, for all n unless its task says otherwise.
type answer []int64

// tasks run in a process of their own.
var tasks = map[string]func(task) answer{
	"startjoin":         timed(startJoinThread),
	"pingpong":          timed(pingPongThreads),
	"yield":             timed(yieldThreads),
	"memory-threads":    func(t task) answer { return answer{parkedThreads(t.N, t.Depth)} },
	"memory-goroutines": func(t task) answer { return answer{parkedGoroutines(t.N, t.Depth)} },
	"sleep-threads":     func(t task) answer { return answer{int64(sleepThreads(t.N))} },
	"sleep-goroutines":  func(t task) answer { return answer{int64(sleepGoroutines(t.N))} },
	"random-threads":    func(t task) answer { return randomSleeps(t.N, t.Until, startThread, vthreadSleep) },
	"random-goroutines": func(t task) answer { return randomSleeps(t.N, t.Until, startGoroutine, time.Sleep) },
	"skynet-threads":    func(t task) answer { return answer{int64(skynet(t.N, skynetThreads))} },
	"skynet-goroutines": func(t task) answer { return answer{int64(skynet(t.N, skynetGoroutines))} },
	"churn":             churn,

	"startjoin-goroutines": traced(startJoinGoroutine),
	"pingpong-goroutines":  traced(pingPongGoroutines),
	"yield-goroutines":     traced(yieldGoroutines),

	"serve": serve,
	"load":  load,
	"crowd": crowdOfRequests,

	"paced": paced,
	"keep":  keep,

	"busy":    mostCarriers,
	"compute": computes,

	"pairs-threads":    pairsOfThreads,
	"pairs-goroutines": onProcessors(pairsOfGoroutines),
	"ring-threads":     ringOfThreads,
	"ring-goroutines":  onProcessors(ringOfGoroutines),
	"queue-threads":    queueOfThreads,
	"queue-channel":    channelOfThreads,
	"queue-goroutines": onProcessors(channelOfGoroutines),

	"binary-threads":    treeTask(binaryThreads),
	"binary-goroutines": treeTask(binaryGoroutines),
	"fib-threads":       treeTask(fibThreads),
	"fib-goroutines":    treeTask(fibGoroutines),

	"fair-threads":    fairThreads,
	"fair-goroutines": onProcessors(fairGoroutines),

	"mix-sleep-threads":    blocker(sleeping).mixOfThreads,
	"mix-sleep-goroutines": onProcessors(blocker(sleeping).mixOfGoroutines),
	"mix-read-threads":     blocker(reading).mixOfThreads,
	"mix-read-goroutines":  onProcessors(blocker(reading).mixOfGoroutines),

	"idle-parked-threads":    func(t task) answer { return idle(t, idleThreads) },
	"idle-parked-goroutines": func(t task) answer { return idle(t, idleGoroutines) },
	"idle-timed-threads":     func(t task) answer { return idle(t, idleThreadsTimed) },
	"idle-timed-goroutines":  func(t task) answer { return idle(t, idleGoroutinesTimed) },
	"timers-threads":         timersOfThreads,
	"timers-goroutines":      timersOfGoroutines,

	"sleep-threads-warm": func(t task) answer {
		sleepThreads(t.N)
		return answer{int64(sleepThreads(t.N))}
	},
	"sleep-goroutines-warm": func(t task) answer {
		sleepGoroutines(t.N)
		return answer{int64(sleepGoroutines(t.N))}
	},
}

// timed warms a work up before it measures it.
func timed(w work) func(task) answer {
	return func(t task) answer {
		w(t.N / 10)
		return answer{int64(w(t.N))}
	}
}

// onProcessors does the task with as many processors as it says.
func onProcessors(f func(task) answer) func(task) answer {
	return func(t task) answer {
		runtime.GOMAXPROCS(t.Carriers) // 0 changes nothing
		return f(t)
	}
}

func init() { tasks["repeat"] = repeat } // which looks into tasks

func TestMain(m *testing.M) {
	order := os.Getenv(childEnv)
	if order == "" {
		code := m.Run()
		for _, end := range append(atExit, flight.Close) {
			if err := end(); err != nil {
				fmt.Fprintln(os.Stderr, err)
				code = 1
			}
		}
		os.Exit(code)
	}
	var t task
	if err := json.Unmarshal([]byte(order), &t); err != nil {
		panic(err)
	}
	runTask(t)
}

// child runs a task in a new process, and returns its answer for each of the n.
func child(tb testing.TB, t task, env ...string) float64 {
	tb.Helper()
	return float64(ask(tb, t, env...)[0]) / float64(t.N)
}

// ask runs a task in a new process, and returns its answer.
func ask(tb testing.TB, t task, env ...string) (a answer) {
	tb.Helper()
	c := selfAs(t, env...)
	c.Stderr = os.Stderr
	began := time.Now()
	out, err := c.Output()
	if err != nil {
		tb.Fatalf("%v after %v: %v", t, time.Since(began), err)
	}
	if err := json.Unmarshal(out, &a); err != nil || len(a) == 0 {
		tb.Fatalf("%v: answer %q: %v", t, out, err)
	}
	return a
}

// selfAs is this binary as a child that does the task.
func selfAs(t task, env ...string) *exec.Cmd {
	order, err := json.Marshal(t)
	if err != nil {
		panic(err)
	}
	self, err := os.Executable()
	if err != nil {
		panic(err)
	}
	c := exec.Command(self)
	c.Env = append(append(os.Environ(), childEnv+"="+string(order)), env...)
	return c
}
