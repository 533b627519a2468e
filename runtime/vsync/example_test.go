package vsync_test

import (
	"context"
	"fmt"
	"time"

	"github.com/vtscope/vtscope/runtime/vsync"
	"github.com/vtscope/vtscope/runtime/vthread"
)

func ExampleMutex() {
	var mu vsync.Mutex
	n := 0
	add := func() {
		mu.Lock()
		defer mu.Unlock()
		n++
	}
	t := vthread.Start(add)
	add() // a goroutine
	t.Join()
	fmt.Println(n)
	// Output: 2
}

func ExampleMutex_LockFor() {
	var mu vsync.Mutex
	mu.Lock()
	fmt.Println(mu.LockFor(time.Millisecond))
	// Output: timed out
}

func ExampleCond() {
	c := vsync.NewCond(new(vsync.Mutex))
	ready := false
	t := vthread.Start(func() {
		c.L.Lock()
		defer c.L.Unlock()
		for !ready {
			c.Wait()
		}
		fmt.Println("ready")
	})
	c.L.Lock()
	ready = true
	c.L.Unlock()
	c.Broadcast()
	t.Join()
	// Output: ready
}

func ExampleSemaphore() {
	db := vsync.NewSemaphore(2)
	db.SetName("db")
	query := func(ctx context.Context) error {
		if err := db.AcquireContext(ctx, 1); err != nil {
			return err
		}
		defer db.Release(1)
		return nil // at most two are here
	}
	fmt.Println(query(context.Background()), db.Free())
	// Output: <nil> 2
}

func ExampleQueue() {
	q := vsync.NewQueue[int](2)
	vthread.Start(func() {
		defer q.Close()
		for i := range 4 {
			q.Put(i)
		}
	})
	for v := range q.All() {
		fmt.Print(v, " ")
	}
	// Output: 0 1 2 3
}

func ExampleLatch() {
	var all vsync.Latch
	for range 3 {
		all.Add(1)
		vthread.Start(func() { defer all.Done(); vthread.Yield() })
	}
	all.Wait()
	fmt.Println(all.Count())
	// Output: 0
}

func ExampleBarrier() {
	rounds := 0
	b := vsync.NewBarrier(2, func() { rounds++ })
	party := func() {
		for range 3 {
			b.Wait()
		}
	}
	t := vthread.Start(party)
	party()
	t.Join()
	fmt.Println(rounds)
	// Output: 3
}

func ExampleExchanger() {
	var x vsync.Exchanger[string]
	t := vthread.Start(func() { x.Exchange("ping") })
	fmt.Println(x.Exchange("pong"))
	t.Join()
	// Output: ping
}
