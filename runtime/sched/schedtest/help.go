package schedtest

import (
	"runtime"
	"testing"
	"time"

	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/sched"
	"github.com/vtscope/vtscope/runtime/vthread"
)

// patience is how long a test waits for what must happen.
var patience = 2 * time.Minute

// await waits until f holds. It must be called on a goroutine.
func await(t testing.TB, what string, f func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !f(); time.Sleep(20 * time.Microsecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain: %s\n%s", what, stacks())
		}
	}
}

func awaitState(t testing.TB, th *vthread.Thread, want flight.State) {
	t.Helper()
	await(t, th.String()+" to be "+want.String(), func() bool { return th.State() == want })
}

// join waits for the ends of threads. It must be called on a goroutine.
func join(t testing.TB, threads ...*vthread.Thread) {
	t.Helper()
	for _, th := range threads {
		if ended, err := th.JoinFor(patience); !ended || err != nil {
			t.Fatalf("join %v: got %v, %v, want it ended\n%s", th, ended, err, stacks())
		}
	}
}

func stacks() string {
	buf := make([]byte, 64<<10)
	return string(buf[:runtime.Stack(buf, true)])
}

// start starts a thread, and fails the test if the scheduler refuses it.
func start(t testing.TB, s sched.Scheduler, f func()) *vthread.Thread {
	t.Helper()
	th, err := vthread.Builder{Scheduler: s}.TryStart(f)
	if err != nil {
		t.Fatal(err)
	}
	return th
}

// parked starts a thread that parks once, and returns when it is parked.
func parked(t testing.TB, s sched.Scheduler) *vthread.Thread {
	t.Helper()
	th := start(t, s, func() { vthread.Park() })
	awaitState(t, th, flight.StateParked)
	return th
}

func unpark(t testing.TB, th *vthread.Thread) {
	t.Helper()
	if err := th.Unpark(); err != nil {
		t.Errorf("unpark: %v", err)
	}
}

// newest is how many events of each ring events looks at.
const newest = 4096

// events counts those of a kind that the recorder has of a thread. It returns ok only if there is a recording to read, and nothing of it is lost.
func events(t testing.TB, kind flight.Kind, of *vthread.Thread) (n int, ok bool) {
	t.Helper()
	path := flight.Default().Path()
	if path == "" {
		return 0, false
	}
	reader, err := flight.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	rings, err := reader.Rings()
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rings {
		evs, _, _, err := reader.Events(r.Index, r.Head-min(r.Head, newest), 2*newest)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range evs {
			if e.Kind == kind && e.Thread == of.ID() {
				n++
			}
		}
	}
	return n, reader.Lost().Events == 0
}

// expectEvents fails the test if the recorder has another number of events of a kind and a thread.
func expectEvents(t testing.TB, kind flight.Kind, of *vthread.Thread, want int) {
	t.Helper()
	if n, ok := events(t, kind, of); ok && n != want {
		t.Errorf("%d events %s of thread %d, want %d", n, kind, of.ID(), want)
	}
}
