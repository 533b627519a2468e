package dumptest_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/vtscope/vtscope/dump/dumptest"
	"github.com/vtscope/vtscope/internal/leaktest"
	"github.com/vtscope/vtscope/runtime/continuation"
	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/structured"
	"github.com/vtscope/vtscope/runtime/vsync"
	"github.com/vtscope/vtscope/runtime/vthread"
)

// A judge is a test that Check may fail.
type judge struct {
	testing.TB
	cleanups []func()
	errors   []string
	logs     []string
}

func (j *judge) Helper()          {}
func (j *judge) Cleanup(f func()) { j.cleanups = append(j.cleanups, f) }
func (j *judge) Errorf(form string, all ...any) {
	j.errors = append(j.errors, fmt.Sprintf(form, all...))
}
func (j *judge) Log(all ...any) { j.logs = append(j.logs, fmt.Sprint(all...)) }

// judged returns what Check has found in f.
func judged(t *testing.T, l dumptest.Limits, f func()) string {
	t.Helper()
	if flight.Default().Path() == "" {
		t.Skip("there is no flight file: the recorder is off, or there are none on this system")
	}
	j := &judge{TB: t}
	dumptest.Check(j, l)
	f()
	for i := len(j.cleanups) - 1; i >= 0; i-- {
		j.cleanups[i]()
	}
	return strings.Join(j.errors, "\n")
}

// wants fails t if a text lacks a part.
func wants(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, want := range parts {
		if !strings.Contains(text, want) {
			t.Errorf("want %q in\n%s", want, text)
		}
	}
}

func awaitState(t *testing.T, th *vthread.Thread, want flight.State) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); th.State() != want; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("it is %v, want %v", th.State(), want)
		}
	}
}

// named starts a thread that has a name.
func named(name string, f func()) *vthread.Thread { return vthread.Builder{Name: name}.Start(f) }

// parked starts a thread that waits until the test ends.
func parked(t *testing.T, name string) *vthread.Thread {
	release := make(chan struct{})
	th := named(name, func() { vthread.Recv(release) })
	t.Cleanup(func() {
		close(release)
		th.Join()
	})
	awaitState(t, th, flight.StateWaiting)
	return th
}

func TestMain(m *testing.M) { leaktest.Main(m) }

func TestATestThatKeepsItsLimitsPasses(t *testing.T) {
	l := dumptest.Limits{MaxThreads: new(1000), MaxGrowth: new(0), NoPins: true, NoDeadlock: true, NoLeaks: []string{"nobody", "root"}, Within: time.Minute}
	if found := judged(t, l, func() { vthread.Start(func() { vthread.Sleep(time.Millisecond) }).Join() }); found != "" {
		t.Errorf("got %s", found)
	}
}

func TestThreadsThatAreAboutToEndAreWaitedFor(t *testing.T) {
	l := dumptest.Limits{NoLeaks: []string{"root"}, Within: time.Minute}
	if found := judged(t, l, func() { vthread.Start(func() { vthread.Sleep(50 * time.Millisecond) }) }); found != "" {
		t.Errorf("got %s", found)
	}
}

func TestThreadsThatAreLeftFailATest(t *testing.T) {
	l := dumptest.Limits{MaxGrowth: new(1), NoLeaks: []string{"root"}, Filter: "name=left", Within: time.Millisecond}
	found := judged(t, l, func() {
		parked(t, "left")
		parked(t, "left")
		parked(t, "other")
	})
	wants(t, found, "2 of 2 limits not kept", "only name=left", "FAILED  max-growth 1: there are 2 threads more than", "FAILED  no-leaks root: 2 threads in root",
		"2 threads, waiting for up to", "\"left\"", "at dumptest_test.parked.func1 check_test.go:", "try: vtdump ", " --scope 'root' --filter 'name=left'")
	if found := judged(t, dumptest.Limits{MaxThreads: new(0), Filter: "name=nobody", Within: time.Millisecond}, func() {}); found != "" {
		t.Errorf("of nobody: got %s", found)
	}
}

func TestPinsSinceTheBeginFailATest(t *testing.T) {
	pin := func() {
		vthread.Start(func() {
			continuation.Pin()
			defer continuation.Unpin()
			vthread.ParkFor(time.Millisecond)
		}).Join()
	}
	pin()
	if found := judged(t, dumptest.Limits{NoPins: true}, func() {}); found != "" {
		t.Errorf("of one before: got %s", found)
	}
	wants(t, judged(t, dumptest.Limits{NoPins: true}, func() {
		for range 2 {
			pin()
		}
	}),
		"FAILED  no-pins: 0 threads pinned now, 2 times before", "pinned 2 times, for up to", "because of pin-section", "check_test.go:", "try: vtdump scheduler ")
}

func TestADeadlockFailsATest(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	var a, b vsync.Mutex
	held, both := make(chan struct{}), make(chan struct{})
	inTurn := func(first, second *vsync.Mutex) func() {
		return func() {
			first.Lock()
			defer first.Unlock()
			vthread.Send(held, struct{}{})
			vthread.Recv(both)
			if second.LockContext(ctx) == nil {
				second.Unlock()
			}
		}
	}
	left, right := named("left", inTurn(&a, &b)), named("right", inTurn(&b, &a))
	<-held
	<-held
	close(both)
	awaitState(t, left, flight.StateBlocked)
	awaitState(t, right, flight.StateBlocked)
	defer func() {
		cancel()
		left.Join()
		right.Join()
	}()
	wants(t, judged(t, dumptest.Limits{NoDeadlock: true, Within: time.Millisecond}, func() {}),
		"FAILED  no-deadlock: 1 deadlock", "2 threads wait for each other", "\"left\"", "\"right\"", "try: vtdump waits ")
	wants(t, judged(t, dumptest.Limits{NoDeadlock: true, Within: time.Millisecond, Filter: "name=left"}, func() {}), "no-deadlock: 1 deadlock")
	if found := judged(t, dumptest.Limits{NoDeadlock: true, Filter: "name=other"}, func() {}); found != "" {
		t.Errorf("of others: got %s", found)
	}
}

func TestThreadsOfAScopeAreLeaks(t *testing.T) {
	release := make(chan struct{})
	done := make(chan error, 1)
	opened := make(chan struct{})
	go func() {
		done <- structured.Run(context.Background(), "requests", func(s *structured.Scope) error {
			s.Fork(func() error { close(opened); vthread.Recv(release); return nil })
			return s.Join()
		})
	}()
	<-opened
	defer func() {
		close(release)
		if err := <-done; err != nil {
			t.Error(err)
		}
	}()
	wants(t, judged(t, dumptest.Limits{NoLeaks: []string{"requests"}, Within: time.Millisecond}, func() {}),
		"FAILED  no-leaks requests: 1 thread in requests", "in requests", "--scope 'requests'")
	if found := judged(t, dumptest.Limits{NoLeaks: []string{"other"}}, func() {}); found != "" {
		t.Errorf("of another scope: got %s", found)
	}
}

func TestAWrongFilterFailsATest(t *testing.T) {
	j := &judge{TB: t}
	dumptest.Check(j, dumptest.Limits{Filter: "state="})
	if len(j.errors) != 1 || !strings.Contains(j.errors[0], `dumptest: filter "state="`) || len(j.cleanups) != 0 {
		t.Errorf("got %q", j.errors)
	}
}

func TestWithoutAFlightFileTheLogSaysThatNothingIsChecked(t *testing.T) {
	if flight.Default().Path() != "" {
		t.Skip("there is one: run with VTSCOPE=off")
	}
	j := &judge{TB: t}
	dumptest.Check(j, dumptest.Limits{NoLeaks: []string{"root"}})
	if len(j.errors)+len(j.cleanups) != 0 || len(j.logs) != 1 || !strings.Contains(j.logs[0], "nothing is checked") {
		t.Errorf("got errors %q, logs %q", j.errors, j.logs)
	}
}
