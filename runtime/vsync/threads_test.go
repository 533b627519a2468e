package vsync_test

import (
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/vsync"
	"github.com/vtscope/vtscope/runtime/vthread"
)

// A park is a way of a thread to wait for an unpark.
type park struct {
	name  string
	park  func()
	state flight.State
}

var parks = []park{
	{"Park", func() { vthread.Park() }, flight.StateParked},
	{"ParkFor", func() { vthread.ParkFor(time.Hour) }, flight.StateTimedParked},
}

// PK-03, PK-09, LC-16: and the lock stays held.
func TestAThreadParksWithALock(t *testing.T) {
	eachLock(t, func(t *testing.T, mu lock) {
		for _, p := range parks {
			t.Run(p.name, func(t *testing.T) {
				for _, k := range kinds { // who unparks
					var on atomic.Bool
					th := vthread.Start(func() {
						mu.Lock()
						defer mu.Unlock()
						for !on.Load() {
							p.park()
						}
					})
					awaitState(t, th, p.state)
					if mu.TryLock() {
						t.Error("the lock is free while its holder parks")
					}
					k.start(func() { on.Store(true); th.Unpark() })()
					th.Join()
				}
				thread.start(func() { // the permit comes first
					mu.Lock()
					defer mu.Unlock()
					vthread.Current().Unpark()
					p.park()
				})()
			})
		}
		t.Run("time", func(t *testing.T) {
			thread.start(func() {
				mu.Lock()
				defer mu.Unlock()
				vthread.ParkFor(time.Millisecond)
			})()
		})
	})
}

// PK-15
func TestAnInterruptEndsAParkWithALock(t *testing.T) {
	eachLock(t, func(t *testing.T, mu lock) {
		for _, p := range parks {
			t.Run(p.name, func(t *testing.T) {
				th := vthread.Start(func() {
					mu.Lock()
					defer mu.Unlock()
					for !vthread.Interrupted() {
						p.park()
					}
				})
				awaitState(t, th, p.state)
				th.Interrupt()
				th.Join()
				thread.start(func() { // before
					mu.Lock()
					defer mu.Unlock()
					vthread.Current().Interrupt()
					p.park()
				})()
			})
		}
	})
}

// JN-08
func TestAThreadIsJoinedByWhoHoldsALock(t *testing.T) {
	eachLock(t, func(t *testing.T, mu lock) {
		fromBoth(t, func(t *testing.T) {
			mu.Lock()
			defer mu.Unlock()
			ended := vthread.Start(func() {
				if mu.TryLock() {
					t.Error("the lock is free while its holder joins")
				}
				for range 3 {
					vthread.ParkFor(100 * time.Microsecond)
				}
			})
			if err := ended.Join(); err != nil {
				t.Error(err)
			}
		})
		t.Run("joined", func(t *testing.T) { // who holds it is joined
			th := vthread.Start(func() {
				mu.Lock()
				defer mu.Unlock()
				for range 3 {
					vthread.ParkFor(100 * time.Microsecond)
				}
			})
			if err := th.Join(); err != nil {
				t.Error(err)
			}
		})
	})
}

// LC-24: of blocked and waiting threads.
func TestTheStackOfAWaitingThreadShowsItsFunctions(t *testing.T) {
	var mu vsync.Mutex
	c := vsync.NewCond(new(vsync.Mutex))
	for _, w := range []struct {
		name string
		wait func()
		of   any
		end  func()
		want string
	}{
		{"lock", func() { mu.Lock() }, &mu, mu.Unlock, "vsync.(*Mutex).Lock"},
		{"Wait", func() { waitLocked(c, func() error { c.Wait(); return nil }) }, c, c.Signal, "vsync.(*Cond).Wait"},
		{"WaitFor", func() { waitLocked(c, func() error { return c.WaitFor(time.Hour) }) }, c, c.Signal, "vsync.(*Cond).WaitFor"},
	} {
		for _, around := range []func(func()){func(f func()) { f() }, pinned} {
			t.Run(w.name, func(t *testing.T) {
				mu.TryLock()
				th := vthread.Start(func() { around(func() { waitHere(w.wait) }) })
				awaitWaiting(t, w.of, 1)
				var stack string
				until(t, "the stack shows the wait", func() bool {
					stack = ""
					for _, f := range th.Stack().Frames {
						stack += f.Function + "\n"
					}
					return strings.Contains(stack, w.want)
				})
				if !strings.Contains(stack, "vsync_test.waitHere") {
					t.Errorf("got\n%s", stack)
				}
				w.end()
				th.Join()
			})
		}
	}
}

//go:noinline
func waitHere(wait func()) { wait() }

// SS-03: timed waits for conditions, of many threads and for many rounds.
func TestManyThreadsWaitForAConditionForATime(t *testing.T) {
	const threads, rounds = 100, 20
	c := vsync.NewCond(new(vsync.Mutex))
	var all []*vthread.Thread
	n := 0
	for i := range threads {
		all = append(all, vthread.Start(func() {
			for round := range rounds {
				c.L.Lock()
				err := c.WaitFor(time.Duration((i+round)%100+1) * 10 * time.Microsecond)
				if err != nil && err != vsync.ErrTimeout {
					t.Errorf("got %v", err)
				}
				n++
				c.L.Unlock()
				if round%7 == 0 {
					c.Signal()
				}
			}
		}))
	}
	for _, th := range all {
		th.Join()
	}
	if n != threads*rounds {
		t.Errorf("%d waits have ended, want %d", n, threads*rounds)
	}
}

// SS-06
func TestLocksAreTakenAtDepth(t *testing.T) {
	const depth = 100
	locks := make([]vsync.ReentrantMutex, depth)
	var shared vsync.ReentrantMutex
	n := 0
	var down func(mine []vsync.ReentrantMutex, i int)
	down = func(mine []vsync.ReentrantMutex, i int) {
		if i == depth {
			return
		}
		mine[i].Lock()
		defer mine[i].Unlock()
		locks[i].Lock() // in the same order by all
		if i%10 == 0 {
			shared.Lock()
			n++
			vthread.Yield()
			shared.Unlock()
		}
		locks[i].Unlock()
		down(mine, i+1)
	}
	var joins []func()
	for i := range 8 {
		joins = append(joins, kinds[i%2].start(func() {
			for range 10 {
				down(make([]vsync.ReentrantMutex, depth), 0)
			}
		}))
	}
	for _, join := range joins {
		join()
	}
	if want := 8 * 10 * depth / 10; n != want {
		t.Errorf("got %d, want %d", n, want)
	}
}

// SS-02: each of 100,000 leaves adds its number under its parent's lock.
func TestATreeOfThreadsAddsUnderLocks(t *testing.T) {
	leaves := 100_000
	if testing.Short() {
		leaves = 10_000
	}
	var sum func(from, n int) int
	sum = func(from, n int) (total int) {
		if n == 1 {
			return from
		}
		var mu vsync.Mutex
		var all [10]*vthread.Thread
		for i := range all {
			all[i] = vthread.Start(func() {
				part := sum(from+i*n/10, n/10)
				mu.Lock()
				total += part
				mu.Unlock()
			})
		}
		for _, th := range all {
			th.Join()
		}
		return total
	}
	if got, want := sum(0, leaves), leaves*(leaves-1)/2; got != want {
		t.Errorf("got %d, want %d", got, want)
	}
}
