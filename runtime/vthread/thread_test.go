package vthread_test

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vtscope/vtscope/runtime/sched"
	"github.com/vtscope/vtscope/runtime/vthread"
)

func TestStartRunsTheFunctionOnceAndJoinWaits(t *testing.T) {
	var n atomic.Int32
	th := vthread.Start(func() { vthread.Sleep(time.Millisecond); n.Add(1) })
	th.Join()
	if n.Load() != 1 {
		t.Fatalf("ran %d times, want 1", n.Load())
	}
}

// onThread runs f on a thread and waits.
func onThread(t *testing.T, f func()) {
	t.Helper()
	vthread.Start(f).Join()
}

func TestAMillionJoins(t *testing.T) {
	onThread(t, func() {
		for range 100_000 {
			vthread.Start(func() {}).Join()
		}
	})
}

// 10,000 threads park and unpark each other at random; every permit that is given lets somebody go on, and
// all end.
func TestThreadsThatUnparkEachOtherAtRandomAreNeverLostNorRunTwice(t *testing.T) {
	n, rounds := 10_000, 20
	if testing.Short() {
		n = 1000
	}
	for _, par := range []int{1, 4} {
		fj, err := sched.NewForkJoin(sched.ForkJoinOptions{Parallelism: par})
		if err != nil {
			t.Fatal(err)
		}
		threads := make([]*vthread.Thread, n)
		inside := make([]atomic.Int32, n)
		left := make([]atomic.Int32, n)
		var ready sync.WaitGroup
		ready.Add(1)
		for i := range threads {
			left[i].Store(int32(rounds))
			threads[i] = vthread.Builder{Scheduler: fj}.Unstarted(func() {
				for left[i].Add(-1) >= 0 {
					if inside[i].Add(1) != 1 {
						t.Error("a thread runs twice at once")
					}
					// Give somebody a permit; they are never more than they take.
					k := rand.IntN(n)
					threads[k].Unpark()
					if k%3 == 0 {
						vthread.Yield()
					}
					inside[i].Add(-1)
					vthread.ParkFor(time.Duration(rand.IntN(3)) * time.Millisecond)
				}
			})
		}
		for _, th := range threads {
			if err := th.Start(); err != nil {
				t.Fatal(err)
			}
		}
		for _, th := range threads {
			th.Join()
		}
		if err := fj.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
