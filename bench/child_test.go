//go:build unix

package bench

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"
)

// childEnv tells the test binary that it is a child, and what to do.
const childEnv = "VTSCOPE_BENCH_CHILD"

// A task is what a child does; its answer is a number of nanoseconds or bytes for all n.
type task struct {
	What  string // a key of tasks
	N     int
	Depth int // for memory
}

// tasks run in a process of their own.
var tasks = map[string]func(task) int64{
	"startjoin":         timed(startJoinThread),
	"pingpong":          timed(pingPongThreads),
	"yield":             timed(yieldThreads),
	"memory-threads":    func(t task) int64 { return parkedThreads(t.N, t.Depth) },
	"memory-goroutines": func(t task) int64 { return parkedGoroutines(t.N, t.Depth) },
	"sleep-threads":     func(t task) int64 { return int64(sleepThreads(t.N)) },
	"sleep-goroutines":  func(t task) int64 { return int64(sleepGoroutines(t.N)) },
	"churn":             churn,
	"sleep-warm": func(t task) int64 {
		sleepThreads(t.N)
		return int64(sleepThreads(t.N))
	},
}

// timed warms a work up before it measures it.
func timed(w work) func(task) int64 {
	return func(t task) int64 {
		w(t.N / 10)
		return int64(w(t.N))
	}
}

func TestMain(m *testing.M) {
	order := os.Getenv(childEnv)
	if order == "" {
		code := m.Run()
		for _, end := range atExit {
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
	c := selfAs(t, env...)
	c.Stderr = os.Stderr
	began := time.Now()
	out, err := c.Output()
	if err != nil {
		tb.Fatalf("%v after %v: %v", t, time.Since(began), err)
	}
	var answer int64
	if _, err := fmt.Fscan(bytes.NewReader(out), &answer); err != nil {
		tb.Fatalf("%v: answer %q: %v", t, out, err)
	}
	return float64(answer) / float64(t.N)
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
