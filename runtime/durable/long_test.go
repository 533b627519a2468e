package durable_test

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vtscope/vtscope/runtime/durable"
	"github.com/vtscope/vtscope/runtime/durable/journal"
)

// counting does a million steps, and saves a state after each ten thousand.
type counting struct {
	Next int `json:"next"`
	Sum  int `json:"sum"`
}

var counted = durable.Checkpoint[counting]{Name: "counted", Version: 1}

const every = 10_000

func longBody(r *durable.Registry, calls *atomic.Int64) error {
	return durable.Register(r, "long", func(th *durable.Thread, n int) (int, error) {
		s, _ := counted.Restore(th)
		for s.Next < n {
			v, err := durable.Do(th, "step", func(durable.Call) (int, error) { calls.Add(1); return s.Next, nil })
			if err != nil {
				return 0, err
			}
			s.Sum += v
			if s.Next++; s.Next%every == 0 {
				counted.Save(th, s)
			}
			if s.Next == n-every/2 {
				durable.Park(th, "near the end")
			}
		}
		return s.Sum, nil
	})
}

// DU-10: a long life is resumed from its checkpoint: what is replayed are the steps behind it, and nothing is done again.
func TestAMillionStepsAreResumedFromTheCheckpoint(t *testing.T) {
	n := 1_000_000
	if raceEnabled {
		n = 100_000
	}
	var calls atomic.Int64
	r := durable.NewRegistry()
	if err := longBody(r, &calls); err != nil {
		t.Fatal(err)
	}
	th := start(t, r, "long", n)
	if !waitFor(5*time.Minute, func() bool {
		s := th.Steps()
		return len(s) > 0 && s[len(s)-1].Kind == journal.StepPark
	}) {
		t.Fatalf("%d calls in five minutes", calls.Load())
	}
	if got := len(th.Steps()); got != every/2+2 { // the checkpoint, the steps, the park
		t.Errorf("%d steps are kept, want %d", got, every/2+2)
	}
	if got := calls.Load(); got != int64(n-every/2) {
		t.Errorf("%d calls before, want %d", got, n-every/2)
	}
	b := bytesOf(t, th)
	if len(b) > 2_000_000 {
		t.Errorf("%d bytes, for %d steps that are not behind the checkpoint", len(b), n)
	}
	begun := time.Now()
	th = onAgain(t, b, r)
	if got := result[int](t, th); got != n*(n-1)/2 {
		t.Errorf("got %d, want %d", got, n*(n-1)/2)
	}
	t.Logf("%d bytes; on again, with %d steps that were left, after %v", len(b), every/2, time.Since(begun))
	if got := calls.Load(); got != int64(n) {
		t.Errorf("%d calls in all, want %d", got, n)
	}
}

func waitFor(limit time.Duration, is func() bool) bool {
	for end := time.Now().Add(limit); !is(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			return false
		}
	}
	return true
}

// DU-04: threads that hibernate have given their stacks back: what is left of each is its journal.
func TestHibernatedThreadsNeedLessMemory(t *testing.T) {
	n := 20_000
	if raceEnabled {
		n = 2_000
	}
	if set, err := strconv.Atoi(os.Getenv("VTSCOPE_HIBERNATED")); err == nil { // make check-durable
		n = set
	}
	a := sleepers(t, n)
	awake, asleep := a.perThread()
	t.Logf("%d threads: %d bytes each while they wait, %d hibernated", n, awake, asleep)
	if !raceEnabled && (asleep > awake/2 || asleep > 4096) {
		t.Errorf("%d threads: %d bytes each while they wait, and %d hibernated: want less than half of it", n, awake, asleep)
	}
	for i := range 1000 {
		a.resume(t, i)
	}
	a.end(t)
}

// A hall has many threads that hibernate.
type hall struct {
	all                 []*durable.Thread
	base, awake, asleep int64
}

func sleepers(t testing.TB, n int) *hall {
	r := durable.NewRegistry()
	if err := durable.Register(r, "waits", func(th *durable.Thread, i int) (string, error) {
		v, _ := durable.Do(th, "first", func(durable.Call) (int, error) { return i, nil })
		s := durable.Await[string](th, "go")
		return fmt.Sprint(v, s), nil
	}); err != nil {
		t.Fatal(err)
	}
	h := &hall{all: make([]*durable.Thread, n)}
	h.base = inUse()
	for i := range h.all {
		var err error
		if h.all[i], err = (durable.Builder{Registry: r, HibernateAfter: time.Hour}).Start("waits", i); err != nil {
			t.Fatal(err)
		}
	}
	settled := func(is func(th *durable.Thread) bool) {
		if !waitFor(2*time.Minute, func() bool {
			for _, th := range h.all {
				if !is(th) {
					return false
				}
			}
			return true
		}) {
			t.Fatal("the threads do not come to their waits")
		}
	}
	settled(durable.WaitsForTest)
	h.awake = inUse()
	for _, th := range h.all {
		durable.HibernateForTest(th)
	}
	settled(func(th *durable.Thread) bool { return th.State() == durable.Hibernated })
	// Idle coroutines are let go after a while, and their stacks with them.
	waitFor(time.Minute, func() bool { h.asleep = inUse(); return (h.asleep-h.base)*3 < h.awake-h.base })
	return h
}

func (h *hall) perThread() (awake, asleep int64) {
	n := int64(len(h.all))
	return (h.awake - h.base) / n, (h.asleep - h.base) / n
}

// resume lets a thread go on, and returns how long it takes until it has ended.
func (h *hall) resume(t testing.TB, i int) time.Duration {
	begun := time.Now()
	if err := h.all[i].Signal("go", "!"); err != nil {
		t.Fatal(err)
	}
	if got, err := durable.Result[string](h.all[i]); err != nil || got != fmt.Sprint(i, "!") {
		t.Fatalf("thread %d: got %q, %v", i, got, err)
	}
	return time.Since(begun)
}

func (h *hall) end(t testing.TB) {
	for _, th := range h.all {
		if th.State() != durable.Done {
			if err := th.Signal("go", "!"); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, th := range h.all {
		if err := th.Join(); err != nil {
			t.Fatal(err)
		}
	}
}

// inUse is what live objects and stacks take.
func inUse() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc + m.StackInuse)
}
