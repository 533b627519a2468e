package vsync_test

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/sched"
	"github.com/vtscope/vtscope/runtime/vsync"
	"github.com/vtscope/vtscope/runtime/vthread"
)

// A kind of callers.
type kind struct {
	name  string
	start func(f func()) (join func())
}

var (
	thread = kind{"thread", func(f func()) func() {
		th := vthread.Start(f)
		return func() { th.Join() }
	}}
	goroutine = kind{"goroutine", func(f func()) func() {
		done := make(chan struct{})
		go func() { defer close(done); f() }()
		return func() { vthread.Recv(done) }
	}}
	kinds = []kind{thread, goroutine}
)

// fromBoth runs f on a thread and on a goroutine.
func fromBoth(t *testing.T, f func(t *testing.T)) {
	for _, k := range kinds {
		t.Run("by="+k.name, func(t *testing.T) { k.start(func() { f(t) })() })
	}
}

// amongBoth runs f for each pair of kinds: of two callers that have to do with each other.
func amongBoth(t *testing.T, f func(t *testing.T, a, b kind)) {
	for _, a := range kinds {
		for _, b := range kinds {
			t.Run("a="+a.name+"/b="+b.name, func(t *testing.T) { f(t, a, b) })
		}
	}
}

const patience = 5 * time.Minute

// until waits for a condition.
func until(t testing.TB, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !is(); pause() {
		if time.Now().After(deadline) {
			t.Fatalf("not within %v: %s", patience, what)
		}
	}
}

func pause() {
	if vthread.Current() != nil {
		vthread.Sleep(100 * time.Microsecond)
	} else {
		time.Sleep(100 * time.Microsecond)
	}
}

// awaitWaiting waits until n wait for a synchronizer.
func awaitWaiting(t testing.TB, of any, n int) {
	t.Helper()
	until(t, "as many wait", func() bool { return vsync.Waiting(of) == n })
}

func awaitState(t testing.TB, th *vthread.Thread, want flight.State) {
	t.Helper()
	until(t, "the thread is "+want.String(), func() bool { return th.State() == want })
}

// pass locks and unlocks.
func pass(l sync.Locker) {
	l.Lock()
	defer l.Unlock()
}

// panics returns what f panics with, nil if it does not.
func panics(f func()) (value any) {
	defer func() { value = recover() }()
	f()
	return nil
}

// oneCarrier returns a builder of threads that share a carrier, which nothing replaces.
func oneCarrier(t *testing.T) vthread.Builder {
	t.Helper()
	fj, err := sched.NewForkJoin(sched.ForkJoinOptions{Parallelism: 1, MaxCarriers: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { fj.Close() })
	return vthread.Builder{Scheduler: fj}
}

// A refuser is a scheduler that may refuse.
type refuser struct {
	to      sched.Scheduler
	refuses atomic.Bool
	refused atomic.Int32
}

func (r *refuser) Execute(t *sched.Task) error {
	if r.refuses.Load() {
		r.refused.Add(1)
		return sched.ErrClosed
	}
	return r.to.Execute(t)
}

// refusing returns a scheduler that accepts, for now.
func refusing() *refuser { return &refuser{to: sched.Default()} }

// short is a time that passes in tests which wait for its end.
const short = 5 * time.Millisecond
