package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/flight/flighttest"
	"github.com/vtscope/vtscope/runtime/vsync"
	"github.com/vtscope/vtscope/runtime/vthread"
)

// deadlockTarget, as a target of the tests, is a process with threads that join each other.
const deadlockTarget = "deadlock"

// deadlock starts two threads that join each other and 100 that join the first; says so, and waits for the end of its standard input.
func deadlock() {
	vthread.Main(func() {
		started := make(chan *vthread.Thread, 1)
		first := vthread.Builder{Name: "first"}.Start(func() { joinOther(<-started) })
		started <- vthread.Builder{Name: "second"}.Start(func() { joinOther(first) })
		for range 100 {
			vthread.Start(func() { joinOther(first) })
		}
		fmt.Println("ready")
		_, _ = io.Copy(io.Discard, os.Stdin)
		_ = flight.Close()
		os.Exit(0)
	})
}

//go:noinline
func joinOther(t *vthread.Thread) { t.Join() }

// waitsDoc is what the tests read of the JSON document.
type waitsDoc struct {
	Format    string
	Waiting   int
	Deadlocks []struct {
		Members []struct {
			Name, Role string
			Wants      struct{ Kind, Name string }
		}
		Victims int
	}
	Groups []struct {
		Scope    []string
		Count    int
		Deadlock int
		Held     int
		Capacity int
		For      struct {
			Kind, Name string
			Count      int
		}
	}
}

// seesWaits asks vtdump until the document is as wanted, and returns it with the exit code.
func seesWaits(t *testing.T, target string, wanted func(d *waitsDoc) bool) (waitsDoc, int) {
	t.Helper()
	var r result
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		r = vtdump(t, "waits", "--json", target)
		var d waitsDoc
		if json.Unmarshal([]byte(r.out), &d) == nil && namesAll(r.out) && wanted(&d) {
			return d, r.code
		}
	}
	t.Fatalf("vtdump waits --json %s: got exit %d, %q and\n%s", target, r.code, r.errors, r.out)
	return waitsDoc{}, 0
}

func TestWaitsFindsADeadlockOfAProcessThatHangsIsStoppedKilledOrCopied(t *testing.T) {
	child, _ := startAs(t, deadlockTarget)
	pid := strconv.Itoa(child.Process.Pid)
	d, code := seesWaits(t, pid, func(d *waitsDoc) bool { return len(d.Deadlocks) == 1 && d.Deadlocks[0].Victims == 100 })
	if code != exitFailed || d.Format != "vtscope/waits/v1" {
		t.Errorf("got exit %d and format %q, want 1", code, d.Format)
	}
	for _, m := range d.Deadlocks[0].Members {
		if m.Role != "is" || m.Wants.Kind != "thread" || m.Name == m.Wants.Name || m.Name != "first" && m.Name != "second" {
			t.Errorf("got member %+v", m)
		}
	}
	see := func(target, status string) {
		t.Helper()
		r := vtdump(t, "waits", target)
		if r.code != exitFailed || r.errors != "" {
			t.Errorf("%s: got exit %d and %q, want 1 and no complaint", target, r.code, r.errors)
		}
		for _, want := range []string{"1 deadlock\n", status, "deadlock 1   2 threads wait for each other, for ", "; 100 more cannot go on because of them\n",
			"    at        vtdump.joinOther waits_linux_test.go:"} {
			if !strings.Contains(r.out, want) {
				t.Errorf("%s: want %q in\n%s", target, want, r.out)
			}
		}
	}
	inEachState(t, child, see)
}

func TestWaitsWithoutADeadlockSucceeds(t *testing.T) {
	spec := flighttest.Spec{Threads: 4, Thread: func(i int) flighttest.Thread {
		if i == 0 {
			return flighttest.Thread{State: flight.StateMounted}
		}
		return flighttest.Thread{State: flight.StateBlocked, Reason: flight.ReasonLock, Blocker: flight.BlockAt(flight.BlockedByMutex, uintptr(i))}
	}}
	for i := range 3 {
		spec.Blockers = append(spec.Blockers, flighttest.Blocker{Blocker: flight.BlockAt(flight.BlockedByMutex, uintptr(i+1)), Name: strings.Repeat("x", i+1),
			Holders: []flighttest.Holder{{Party: flight.PartyThread(1)}}})
	}
	f := flighttest.Write(t, spec)
	if out := succeeds(t, "waits", f.Path, "--top", "1"); !strings.Contains(out, "no deadlock\n") || !strings.Contains(out, "2 more groups with 2\n") ||
		!strings.Contains(out, `held by   #1 of root, mounted for `) {
		t.Errorf("got\n%s", out)
	}
	if out := succeeds(t, "waits", f.Path, "--top", "2", "--json"); !strings.Contains(out, `"deadlocks": []`) || !strings.Contains(out, "\"groups\": 1,\n") {
		t.Errorf("got\n%s", out)
	}
	fails(t, exitUsage, "--growth means nothing to waits", "waits", f.Path, "--growth", "1s")
}

func TestFindingsOfAProcessThatRunsAreComparedAndOfADeadOneJudgedByOneLook(t *testing.T) {
	spec := flighttest.Spec{Threads: 150, Thread: func(int) flighttest.Thread {
		return flighttest.Thread{State: flight.StateParked, Reason: flight.ReasonPark, Age: time.Minute}
	}}
	live := flighttest.Write(t, spec)
	r := vtdump(t, "findings", live.Path, "--growth", "1ms")
	if r.code != exitFailed || r.errors != "" || !strings.Contains(r.out, "1 finding\n") || !strings.Contains(r.out, "; compared with ") ||
		!strings.Contains(r.out, "\nunscoped info   150 threads were started outside of any scope\n") || strings.Contains(r.out, "not judged") {
		t.Errorf("got exit %d, %q and\n%s", r.code, r.errors, r.out)
	}
	if out := succeeds(t, "findings", live.Path, "--growth", "1ms", "--check", "unscoped=151", "--check", "scope-growth=off"); !strings.Contains(out, "no findings\n") ||
		!strings.Contains(out, "not judged: scope-growth: it is switched off\n") {
		t.Errorf("got\n%s", out)
	}
	spec.Ended = true
	dead := flighttest.Write(t, spec)
	if r := vtdump(t, "findings", dead.Path, "--json"); r.code != exitFailed || !strings.Contains(r.out, `"check": "unscoped"`) || !strings.Contains(r.out, "needs two looks") {
		t.Errorf("got exit %d and\n%s", r.code, r.out)
	}
	fails(t, exitFailed, "--growth: the process is ended", "findings", dead.Path, "--growth", "1s")
	fails(t, exitUsage, "--check", "findings", dead.Path, "--check", "nothing=1")
	fails(t, exitUsage, "want unscoped=off", "findings", dead.Path, "--check", "unscoped=0")
	fails(t, exitUsage, "--check means nothing to waits", "waits", dead.Path, "--check", "unscoped=1")
}

// busyTarget, as a target of the tests, is a process whose threads and goroutines wait for each other all the time, and all go on.
const busyTarget = "busy"

// busy starts threads and goroutines that take three mutexes in one order, two permits one after the other, and join others; says so, and waits for the end of its
// standard input.
func busy() {
	vthread.Main(func() {
		var locks [3]vsync.Mutex
		permits := vsync.NewSemaphore(6)
		work := func() {
			for {
				for i := range locks {
					locks[i].Lock()
				}
				vthread.Yield()
				for i := range locks {
					locks[i].Unlock()
				}
				permits.Acquire(1)
				permits.Acquire(1)
				vthread.Yield()
				permits.Release(2)
			}
		}
		for i := range 4 {
			if i%2 == 0 {
				vthread.Start(work)
			} else {
				go work()
			}
		}
		vthread.Start(func() {
			for {
				vthread.Start(func() { vthread.Start(vthread.Yield).Join() }).Join()
			}
		})
		fmt.Println("ready")
		_, _ = io.Copy(io.Discard, os.Stdin)
		_ = flight.Close()
		os.Exit(0)
	})
}

func TestWaitsOfABusyProcessAreNoDeadlock(t *testing.T) {
	child, _ := startAs(t, busyTarget)
	pid := strconv.Itoa(child.Process.Pid)
	seen := 0
	for range 200 {
		r := vtdump(t, "waits", "--json", pid)
		var d waitsDoc
		if err := json.Unmarshal([]byte(r.out), &d); err != nil {
			t.Fatalf("got exit %d, %q, %v", r.code, r.errors, err)
		}
		if r.code != exitDone || len(d.Deadlocks) != 0 {
			t.Fatalf("got exit %d and\n%s", r.code, r.out)
		}
		seen += d.Waiting
	}
	if seen == 0 {
		t.Error("nobody was seen waiting")
	}
}
