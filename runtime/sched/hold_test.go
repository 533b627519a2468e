package sched_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vtscope/vtscope/internal/computetest"
	"github.com/vtscope/vtscope/runtime/continuation"
	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/internal/coro"
	"github.com/vtscope/vtscope/runtime/sched"
	"github.com/vtscope/vtscope/runtime/vthread"
)

//go:noinline
func waitInGo(ch <-chan struct{}) { <-ch }

// held returns what the flight file says of a thread that holds its carrier, and whether it says anything.
func held(t *testing.T, r *flight.Reader, id flight.ThreadID) (flight.Hold, bool) {
	t.Helper()
	rings, err := r.Rings()
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range rings {
		if row.Hold.Thread == id {
			return row.Hold, true
		}
	}
	return flight.Hold{}, false
}

func recorderOf(t *testing.T) *flight.Reader {
	t.Helper()
	if flight.Default() == nil {
		t.Skip("the recorder is off")
	}
	if !coro.CanProbe() {
		t.Skip("goroutines cannot be looked at here")
	}
	r, err := flight.Default().Reader()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

func TestAThreadThatBlocksInGoIsShownPinnedWithItsStack(t *testing.T) {
	r := recorderOf(t)
	var mu sync.Mutex
	ch := make(chan struct{})
	for what, ops := range map[string][3]func(){
		"channel": {func() { ch = make(chan struct{}) }, func() { waitInGo(ch) }, func() { close(ch) }},
		"mutex":   {mu.Lock, func() { mu.Lock(); defer mu.Unlock() }, mu.Unlock},
	} {
		before, block, release := ops[0], ops[1], sync.OnceFunc(ops[2])
		before()
		defer release() // else the scheduler could not be closed
		th := vthread.Builder{Scheduler: newForkJoin(t, sched.ForkJoinOptions{Parallelism: 2, PinnedAfter: 1})}.Start(block)
		var hold flight.Hold
		await(t, what+" seen with its stack", func() (ok bool) { // before, it may have waited for a lock of the recorder's
			hold, ok = held(t, r, th.ID())
			return ok && stackHas(t, r, hold.Stack, "TestAThreadThatBlocksInGoIsShownPinnedWithItsStack")
		})
		if hold.Reason != flight.ReasonPinnedGo {
			t.Errorf("%s: reason %v", what, hold.Reason)
		}
		release()
		th.Join()
		await(t, what+" not seen any more", func() bool { _, ok := held(t, r, th.ID()); return !ok })
		there := func() (n int) {
			for _, e := range eventsOf(t, r, th.ID(), flight.EventPinned) {
				if e.Stack == hold.Stack {
					n++
				}
			}
			return n
		}
		await(t, what+"'s event", func() bool { return there() > 0 }) // it comes after that
		if n := there(); n != 1 {
			t.Errorf("%s: %d pinned events, want 1", what, n)
		}
	}
}

//go:noinline
func waitElsewhere(ch <-chan struct{}) { <-ch }

// A thread that blocks once more, in another place, is not seen to execute in between.
func TestAThreadThatBlocksAgainIsShownWhereItBlocksNow(t *testing.T) {
	r := recorderOf(t)
	first, second := make(chan struct{}), make(chan struct{})
	release := sync.OnceFunc(func() { close(second) })
	defer release()
	b := vthread.Builder{Scheduler: newForkJoin(t, sched.ForkJoinOptions{Parallelism: 2, MaxCarriers: 32})}
	var threads []*vthread.Thread
	for range 16 { // a tick may catch one of them on its way
		threads = append(threads, b.Start(func() { waitInGo(first); waitElsewhere(second) }))
	}
	for _, place := range []string{"waitInGo", "waitElsewhere"} {
		for _, th := range threads {
			await(t, th.String()+" in "+place, func() bool {
				hold, ok := held(t, r, th.ID())
				return ok && stackHas(t, r, hold.Stack, "sched_test."+place)
			})
		}
		if place == "waitInGo" {
			close(first)
		}
	}
	hold, _ := held(t, r, threads[0].ID())
	await(t, "another look", func() bool {
		again, ok := held(t, r, threads[0].ID())
		if ok && (again.Stack != hold.Stack || again.Since != hold.Since) {
			t.Fatalf("it has not moved: got hold %+v, want that of before, %+v", again, hold)
		}
		return ok && hold.Seen.Before(again.Seen)
	})
	release()
	for _, th := range threads {
		th.Join()
	}
}

func TestAThreadThatComputesIsNotShownPinned(t *testing.T) {
	r := recorderOf(t)
	p := continuation.NewPrompt("p")
	var stop atomic.Bool
	release := func() { stop.Store(true) }
	spin := func() { computetest.Until(&stop) }
	b := vthread.Builder{Scheduler: newForkJoin(t, sched.ForkJoinOptions{Parallelism: 2})}
	plain := b.Start(spin)
	nested := b.Start(func() { continuation.New(p, spin).Run() }) // the thread's first goroutine waits for the continuation
	defer release()
	ctx, cancel := context.WithTimeout(context.Background(), 150*time.Millisecond)
	defer cancel()
	for ctx.Err() == nil {
		for _, th := range []*vthread.Thread{plain, nested} {
			if h, ok := held(t, r, th.ID()); ok && h.Reason != flight.ReasonMonopoly {
				t.Fatalf("%v is shown pinned: %+v", th, h)
			}
		}
		time.Sleep(time.Millisecond)
	}
	release()
	plain.Join()
	nested.Join()
}
