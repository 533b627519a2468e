package vsync_test

import (
	"sync"
	"testing"
	"time"

	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/sched"
	"github.com/vtscope/vtscope/runtime/vsync"
	"github.com/vtscope/vtscope/runtime/vthread"
)

// MN-08
func TestOneHolderAtATimeAmongThreadsAndGoroutines(t *testing.T) {
	var mu vsync.Mutex
	n, inside := 0, false
	body := func() {
		for range 200 {
			mu.Lock()
			if inside {
				t.Error("two holders")
			}
			inside = true
			vthread.Yield()
			n++
			inside = false
			mu.Unlock()
		}
	}
	var wg sync.WaitGroup
	var ts []*vthread.Thread
	for range 8 {
		wg.Go(body)
		ts = append(ts, vthread.Start(body))
	}
	wg.Wait()
	for _, th := range ts {
		th.Join()
	}
	if n != 16*200 {
		t.Fatalf("counted %d, want %d", n, 16*200)
	}
}

// MN-06: on one carrier others run while a thread waits for the lock, and while its holder sleeps.
func TestAThreadThatWaitsOrSleepsWithTheLockGivesItsCarrierAway(t *testing.T) {
	fj, err := sched.NewForkJoin(sched.ForkJoinOptions{Parallelism: 1, MaxCarriers: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer fj.Close()
	b := vthread.Builder{Scheduler: fj}
	var mu vsync.Mutex
	mu.Lock()
	waiter := b.Start(func() { mu.Lock(); vthread.Sleep(time.Millisecond); mu.Unlock() })
	for waiter.State() != flight.StateBlocked {
		time.Sleep(time.Millisecond)
	}
	b.Start(func() {}).Join()
	mu.Unlock()
	n := 0
	b.Start(func() { mu.Lock(); n++; mu.Unlock() }).Join()
	waiter.Join()
}

func TestWaitersGetTheLockInTheirOrder(t *testing.T) {
	var mu vsync.Mutex
	mu.Lock()
	var order []int
	var ts []*vthread.Thread
	for i := range 10 {
		th := vthread.Start(func() { mu.Lock(); order = append(order, i); mu.Unlock() })
		for th.State() != flight.StateBlocked {
			time.Sleep(time.Millisecond)
		}
		ts = append(ts, th)
	}
	if mu.TryLock() {
		t.Fatal("TryLock took a held lock")
	}
	mu.Unlock()
	for _, th := range ts {
		th.Join()
	}
	for i, v := range order {
		if i != v {
			t.Fatalf("order %v", order)
		}
	}
	if !mu.TryLock() {
		t.Fatal("TryLock did not take a free lock")
	}
}

func TestUnlockOfAFreeMutexPanics(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Fatal("no panic")
		}
	}()
	var mu vsync.Mutex
	mu.Unlock()
}

func BenchmarkUncontended(b *testing.B) {
	b.Run("impl=vsync", func(b *testing.B) {
		var mu vsync.Mutex
		n := 0
		for b.Loop() {
			mu.Lock()
			n++
			mu.Unlock()
		}
	})
	b.Run("impl=sync", func(b *testing.B) {
		var mu sync.Mutex
		n := 0
		for b.Loop() {
			mu.Lock()
			n++
			mu.Unlock()
		}
	})
}
