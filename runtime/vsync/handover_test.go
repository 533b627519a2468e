package vsync_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/vsync"
	"github.com/vtscope/vtscope/runtime/vthread"
)

func TestWaitersGetTheLockInTheirOrder(t *testing.T) {
	eachLock(t, func(t *testing.T, mu lock) {
		mu.Lock()
		var order []int
		var joins []func()
		for i := range 10 {
			joins = append(joins, kinds[i%2].start(func() { mu.Lock(); order = append(order, i); mu.Unlock() }))
			awaitWaiting(t, mu, i+1)
		}
		thread.start(func() {
			if mu.TryLock() {
				t.Error("TryLock took a held lock")
			}
		})()
		mu.Unlock()
		for _, join := range joins {
			join()
		}
		for i, v := range order {
			if i != v {
				t.Fatalf("order %v", order)
			}
		}
	})
}

// hogs takes the lock in a loop until stop.
func hogs(mu sync.Locker, stop *atomic.Bool) {
	for !stop.Load() {
		pass(mu)
	}
}

func TestAHogOfALockStarvesNobody(t *testing.T) {
	eachLock(t, func(t *testing.T, mu lock) {
		amongBoth(t, func(t *testing.T, a, b kind) {
			var stop atomic.Bool
			hog := a.start(func() { hogs(mu, &stop) })
			b.start(func() {
				for range 10 {
					pass(mu)
				}
			})()
			stop.Store(true)
			hog()
		})
	})
}

// The hog never leaves its only carrier, but at the lock.
func TestAHogOfALockAndOfACarrierStarvesNobody(t *testing.T) {
	b := oneCarrier(t)
	var mu vsync.Mutex
	var stop atomic.Bool
	mu.Lock()
	waiter := b.Start(func() {
		for range 10 {
			pass(&mu)
		}
		stop.Store(true)
	})
	awaitState(t, waiter, flight.StateBlocked)
	hog := b.Start(func() {
		mu.Unlock() // from here on one of both is inside, or on its way
		hogs(&mu, &stop)
	})
	waiter.Join()
	hog.Join()
}

// The holder always comes back before who was woken; each has waited long enough after that.
func TestWhoHasWaitedIsHandedTheLock(t *testing.T) {
	amongBoth(t, func(t *testing.T, a, b kind) {
		var mu vsync.Mutex
		var entered atomic.Int32
		stop := func() bool { return entered.Load() == 3 }
		mu.Lock()
		var joins []func()
		for i := range 3 {
			joins = append(joins, b.start(func() { mu.Lock(); entered.Add(1); mu.Unlock() }))
			awaitWaiting(t, &mu, i+1)
		}
		a.start(func() {
			for !stop() {
				mu.Unlock()
				mu.Lock()
				spinFor(2 * time.Millisecond)
			}
			mu.Unlock()
		})()
		for _, join := range joins {
			join()
		}
	})
}

// Who was woken once, found the lock held, and has waited for 1 ms, gets it without that it is free in between.
func TestUnlockHandsTheLockOver(t *testing.T) {
	amongBoth(t, func(t *testing.T, a, b kind) {
		var mu vsync.Mutex
		release := make(chan struct{})
		mu.Lock()
		began := time.Now()
		waiter := b.start(func() { mu.Lock(); vthread.Recv(release); mu.Unlock() })
		for vsync.Tried(&mu) == 0 {
			vsync.WakeFirst(&mu)
			awaitWaiting(t, &mu, 1)
		}
		for time.Since(began) < 2*time.Millisecond {
			pause()
		}
		a.start(func() {
			mu.Unlock()
			if mu.TryLock() {
				t.Error("the lock was free")
				mu.Unlock()
			}
		})()
		close(release)
		waiter()
	})
}

// Some give up at the moment when they get the lock.
func TestNoLockIsLostWhenItsWaitersGiveUp(t *testing.T) {
	eachLock(t, func(t *testing.T, mu lock) {
		var joins []func()
		n := 0
		for i := range 8 {
			joins = append(joins, kinds[i%2].start(func() {
				for round := range 200 {
					var err error
					switch round % 3 {
					case 0:
						err = mu.LockFor(time.Duration(round%40) * time.Microsecond)
					case 1:
						ctx, cancel := context.WithTimeout(context.Background(), time.Duration(round%40)*time.Microsecond)
						err = mu.LockContext(ctx)
						cancel()
					default:
						mu.Lock()
					}
					if err == nil {
						n++
						if round%2 == 0 {
							spinFor(10 * time.Microsecond)
						}
						vthread.Yield()
						mu.Unlock()
					}
				}
			}))
		}
		for _, join := range joins {
			join()
		}
		if !mu.TryLock() {
			t.Fatal("the lock is held when all have left it")
		}
		mu.Unlock()
		if n < 8*66 {
			t.Errorf("%d times inside, want at least those without limits", n)
		}
	})
}

// Interrupts race with the release.
func TestAnInterruptAndTheLockAtOnce(t *testing.T) {
	var mu vsync.Mutex
	for range 300 {
		mu.Lock()
		th := vthread.Start(func() {
			switch err := mu.LockInterruptibly(); err {
			case nil:
				mu.Unlock()
				if !vthread.Interrupted() {
					vthread.Park() // the interrupt comes yet
				}
			case vsync.ErrInterrupted:
			default:
				t.Errorf("got %v", err)
			}
		})
		awaitState(t, th, flight.StateBlocked)
		join := goroutine.start(func() { th.Interrupt() })
		mu.Unlock()
		join()
		th.Join()
		if !mu.TryLock() {
			t.Fatal("the lock is lost")
		}
		mu.Unlock()
	}
}

// A waiter whose scheduler was closed, or refuses it, gets nothing, and others get it instead.
func TestALockIsNotHandedToARefusedThread(t *testing.T) {
	for _, long := range []bool{false, true} { // handed over, or left to try
		t.Run(fmt.Sprintf("long=%v", long), func(t *testing.T) {
			var mu vsync.Mutex
			r := refusing()
			mu.Lock()
			var entered atomic.Bool
			lost := vthread.Builder{Scheduler: r}.Start(func() {
				mu.Lock()
				entered.Store(true)
				mu.Unlock()
			})
			awaitState(t, lost, flight.StateBlocked)
			if long { // it finds it held once
				for vsync.Tried(&mu) == 0 {
					vsync.WakeFirst(&mu)
					until(t, "it waits again", func() bool { return vsync.Waiting(&mu) == 1 })
				}
				awaitState(t, lost, flight.StateBlocked)
				time.Sleep(2 * time.Millisecond)
			}
			next := thread.start(func() { pass(&mu) })
			awaitWaiting(t, &mu, 2)
			r.refuses.Store(true)
			mu.Unlock()
			next()
			if r.refused.Load() == 0 || entered.Load() {
				t.Fatalf("refused %d times, and entered: %v", r.refused.Load(), entered.Load())
			}
			if !mu.TryLock() {
				t.Fatal("the lock is held by nobody")
			}
			r.refuses.Store(false)
			if err := lost.Interrupt(); err != nil { // it goes on, and is too late
				t.Fatal(err)
			}
			awaitWaiting(t, &mu, 1)
			mu.Unlock()
			lost.Join()
			if !entered.Load() {
				t.Error("it has not entered")
			}
		})
	}
}
