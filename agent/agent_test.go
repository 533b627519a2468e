package agent

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/vtscope/vtscope/dump"
	"github.com/vtscope/vtscope/internal/leaktest"
	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/flight/flighttest"
)

// A child of these tests is the test's own binary with this variable: it records three threads in the
// folder that the variable names, says so, and waits to be killed.
const childVariable = "VTSCOPE_AGENT_TEST_CHILD"

func TestMain(m *testing.M) {
	if dir := os.Getenv(childVariable); dir != "" {
		beChild(dir)
		return
	}
	leaktest.Main(m)
}

func beChild(dir string) {
	r, err := flight.New(flight.Options{Dir: dir})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	for id := range 3 {
		t := flight.Now()
		rec := r.GetRecord()
		rec.Init(flight.StateNew, flight.ThreadID(id+1), 0, 0, 0, 0, t)
		rec.Parked(t, flight.StateParked, flight.ReasonPark, 0, 0)
	}
	fmt.Println(r.Path())
	io.Copy(io.Discard, os.Stdin)
}

func startChild(t *testing.T, dir string) *exec.Cmd {
	t.Helper()
	c := exec.Command(os.Args[0])
	c.Env = append(os.Environ(), childVariable+"="+dir)
	c.Stderr = os.Stderr
	stdin, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stdin.Close(); c.Process.Kill(); c.Wait() })
	if line, err := bufio.NewReader(stdout).ReadString('\n'); err != nil || !strings.HasPrefix(line, dir) {
		t.Fatalf("the child said %q, %v; want a path in %s", line, err, dir)
	}
	return c
}

const interval = 50 * time.Millisecond

// start starts an agent that follows the flight files of dir.
func start(t *testing.T, o Options) *Agent {
	t.Helper()
	o.Interval = interval
	a, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.Close() })
	return a
}

// patience bounds every wait; on a busy machine all takes its time.
const patience = time.Minute

// until waits for a condition and fails the test if it does not come true. Conditions that ask an agent over HTTP are within the rate that it lets through.
func until(t *testing.T, what string, true func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !true(); {
		if time.Now().After(deadline) {
			t.Fatalf("after %v: still not %s", patience, what)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// shown waits until the agent knows one process with a snapshot, and returns its view.
func shown(t *testing.T, a *Agent) *view {
	t.Helper()
	var v *view
	until(t, "a process with a snapshot", func() bool {
		views := a.views()
		if len(views) == 1 && views[0].snapshot != nil {
			v = views[0]
		}
		return v != nil
	})
	return v
}

// small is a process with 100 threads in three scopes, two of them of one name.
func small() flighttest.Spec {
	return flighttest.Spec{
		Scopes: []flighttest.Scope{{Name: "shop", Owner: 1}, {Name: "requests", Parent: 1}, {Name: "jobs", Parent: 1}},
		Stacks: []flighttest.Stack{
			{{Func: "example.com/shop.(*Store).query", File: "/src/store.go", Line: 88}, {Func: "example.com/shop.handle", File: "/src/shop.go", Line: 41}},
			{{Func: "example.com/shop.work", File: "/src/jobs.go", Line: 7}},
		},
		Threads: 100,
		Thread: func(i int) flighttest.Thread {
			switch {
			case i == 0:
				return flighttest.Thread{Name: "main", State: flight.StateMounted}
			case i < 80:
				return flighttest.Thread{Name: fmt.Sprint("GET /", i), Scope: 2, Stack: 1, State: flight.StateParked, Reason: flight.ReasonSleep, Age: time.Minute}
			default:
				return flighttest.Thread{Scope: 3, Stack: 2, State: flight.StateBlocked, Reason: flight.ReasonLock, Age: time.Second}
			}
		},
	}
}

func TestAProcessIsFollowedFromTheOutside(t *testing.T) {
	file := flighttest.Write(t, small())
	a := start(t, Options{Dirs: []string{file.Dir}})
	v := shown(t, a)
	if v.row.PID != os.Getpid() || v.row.Threads != 100 || v.row.Status != "running" || v.row.Gone != 0 {
		t.Errorf("process %+v, want pid %d running with 100 threads", v.row, os.Getpid())
	}
	if got := v.snapshot.States[flight.StateParked]; got != 79 {
		t.Errorf("%d threads are parked, want 79", got)
	}
	until(t, "a time line of three points", func() bool { return len(a.views()[0].history.points) >= 3 })
	p := a.views()[0].history.points[2]
	if p.counts[flight.StateBlocked] != 20 {
		t.Errorf("%d blocked in a point of the time line, want 20", p.counts[flight.StateBlocked])
	}
}

func TestRatesComeFromTheRingsCounters(t *testing.T) {
	file := flighttest.Write(t, small())
	a := start(t, Options{Dirs: []string{file.Dir}})
	shown(t, a)
	stop := make(chan struct{})
	done := make(chan struct{})
	go func() {
		defer close(done)
		for id := flight.ThreadID(1000); ; id++ {
			select {
			case <-stop:
				return
			case <-time.After(time.Millisecond):
				for range 10 { // a busy machine's milliseconds are long
					now := flight.Now()
					file.Recorder.Emit(now, flight.EventThreadStart, 0, 0, id, 0)
					file.Rings[0].Emit(now, flight.EventMount, 0, 0, id, 0)
					file.Rings[0].Emit(now, flight.EventMount, 0, 0, id, 0)
					file.Recorder.Emit(now, flight.EventThreadEnd, 0, 0, id, 0)
				}
			}
		}
	}()
	until(t, "rates", func() bool {
		r := a.views()[0].rings.rates
		// Both ends of an interval may fall between the events of one round.
		return r.Starts > 100 && r.Ends > 100 && r.Switches > 1.5*r.Starts && r.Events > 3*r.Starts
	})
	until(t, "the carrier's thread", func() bool {
		c := a.views()[0].rings.carriers
		return len(c) == 1 && c[0].thread >= 1000 && c[0].switches > 0
	})
	close(stop)
	<-done
	until(t, "rates of zero when nothing happens", func() bool { return a.views()[0].rings.rates == Rates{} })
}

func TestAnEndedProcessIsKeptAsItWas(t *testing.T) {
	file := flighttest.Write(t, small())
	a := start(t, Options{Dirs: []string{file.Dir}})
	shown(t, a)
	if err := file.Recorder.Close(); err != nil {
		t.Fatal(err)
	}
	until(t, "ended", func() bool { return a.views()[0].row.Status == "ended" })
	v := a.views()[0]
	if v.row.Gone == 0 || v.snapshot.Threads != 100 {
		t.Errorf("gone at %d with %d threads, want a time and 100", v.row.Gone, v.snapshot.Threads)
	}
	if h := v.header(Cost{}, interval); h.Rates != (Rates{}) {
		t.Errorf("an ended process has the rates %+v, want none", h.Rates)
	}
	web := serve(t, a)
	if s, err := dump.ParseJSON(get(t, web.URL+"/api/v1/processes/"+v.row.Key+"/dump", 200)); err != nil || s.Threads != 100 {
		t.Errorf("dump of an ended process: %v, want one with 100 threads", err)
	}
}

func TestAKilledProcessIsToldFromAnEndedOne(t *testing.T) {
	dir := flighttest.Dir(t)
	began := time.Now()
	child := startChild(t, dir)
	a := start(t, Options{Dirs: []string{dir}})
	if v := shown(t, a); v.row.PID != child.Process.Pid || v.row.Threads != 3 {
		t.Fatalf("process %+v, want pid %d with 3 threads", v.row, child.Process.Pid)
	}
	child.Process.Kill()
	child.Wait()
	until(t, "gone", func() bool { return a.views()[0].row.Status == "gone" })
	v := a.views()[0]
	// What is told is its last sign of life, in milliseconds.
	if gone := time.UnixMilli(v.row.Gone); gone.Before(began.Truncate(time.Millisecond)) || gone.After(time.Now()) {
		t.Errorf("gone at %v, want it after its beginning at %v, and before now", gone, began)
	}
	if v.snapshot.Threads != 3 {
		t.Errorf("%d threads at the end, want 3", v.snapshot.Threads)
	}
}

func TestProcessesThatAreGoneAreForgottenFromTheOldestOn(t *testing.T) {
	dir := flighttest.Dir(t)
	a := start(t, Options{Dirs: []string{dir}, Gone: 2})
	var pids []int
	for range 4 {
		c := startChild(t, dir)
		until(t, "followed", func() bool { return a.find(fmt.Sprint(c.Process.Pid)) != nil })
		c.Process.Kill()
		c.Wait()
		until(t, "gone", func() bool {
			f := a.find(fmt.Sprint(c.Process.Pid))
			return f != nil && f.view().row.Gone > 0
		})
		pids = append(pids, c.Process.Pid)
	}
	until(t, "two left", func() bool { return len(a.views()) == 2 })
	until(t, "still two after another look", func() bool {
		a.discover()
		return len(a.views()) == 2
	})
	if a.find(fmt.Sprint(pids[3])) == nil || a.find(fmt.Sprint(pids[0])) != nil {
		t.Errorf("of the pids %v the agent keeps %v, want the newest two", pids, a.views()[0].row.PID)
	}
}

func TestOnlyTheChosenProcessesAreFollowed(t *testing.T) {
	file := flighttest.Write(t, small())
	a := start(t, Options{Dirs: []string{file.Dir}, PIDs: []int{1 << 30}})
	a.discover()
	if n := len(a.views()); n != 0 {
		t.Errorf("%d processes are followed, want none", n)
	}
}

func TestADamagedFlightFileIsWarnedAboutOnce(t *testing.T) {
	dir := flighttest.Dir(t)
	if err := os.WriteFile(dir+"/1-1.flight", []byte("not a flight file"), 0o600); err != nil {
		t.Fatal(err)
	}
	old := time.Now().Add(-time.Minute) // a new one may be about to begin
	if err := os.Chtimes(dir+"/1-1.flight", old, old); err != nil {
		t.Fatal(err)
	}
	warned := make(chan string, 100)
	a := start(t, Options{Dirs: []string{dir}, Warn: func(s string) { warned <- s }})
	a.discover()
	a.discover()
	if len(warned) != 1 {
		t.Fatalf("%d warnings, want 1", len(warned))
	}
	if s := <-warned; !strings.Contains(s, "1-1.flight") {
		t.Errorf("warning %q does not name the file", s)
	}
}

func TestBadOptionsAreRefused(t *testing.T) {
	for _, o := range []Options{
		{Interval: time.Millisecond}, {Interval: -1}, {Points: -1}, {Points: 1e6}, {Gone: -1}, {Clients: -1}, {PIDs: []int{0}},
	} {
		if a, err := New(o); err == nil {
			a.Close()
			t.Errorf("New(%+v) succeeded, want an error", o)
		}
	}
}

func TestCloseEndsEveryGoroutineAndMayBeCalledAgain(t *testing.T) {
	file := flighttest.Write(t, small())
	a := start(t, Options{Dirs: []string{file.Dir}})
	shown(t, a)
	for range 2 {
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	}
	if a.goWhileOpen(func() {}) {
		t.Error("a closed agent starts goroutines")
	}
}
