package vsync_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vtscope/vtscope/runtime/continuation"
	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/sched"
	"github.com/vtscope/vtscope/runtime/vsync"
	"github.com/vtscope/vtscope/runtime/vthread"
)

// A lock is what all locks of the package have.
type lock interface {
	sync.Locker
	TryLock() bool
	LockInterruptibly() error
	LockFor(time.Duration) error
	LockContext(context.Context) error
}

// locks are the kinds of locks.
var locks = map[string]func() lock{
	"mutex":     func() lock { return new(vsync.Mutex) },
	"reentrant": func() lock { return new(vsync.ReentrantMutex) },
	"rwmutex":   func() lock { return new(vsync.RWMutex) },
}

// eachLock runs f for each kind of locks.
func eachLock(t *testing.T, f func(t *testing.T, mu lock)) {
	for name, mu := range locks {
		t.Run("lock="+name, func(t *testing.T) { f(t, mu()) })
	}
}

// MN-01
func TestALockIsHeldBetweenLockAndUnlock(t *testing.T) {
	eachLock(t, func(t *testing.T, mu lock) {
		fromBoth(t, func(t *testing.T) {
			for range 3 {
				mu.Lock()
				goroutine.start(func() {
					if mu.TryLock() {
						t.Error("another has got it inside")
					}
				})()
				mu.Unlock()
				thread.start(func() {
					if !mu.TryLock() {
						t.Error("another does not get it after")
						return
					}
					mu.Unlock()
				})()
			}
		})
	})
}

// entersAfterUnlock checks that b waits while a has the lock, and enters then.
func entersAfterUnlock(t *testing.T, mu lock, a, b kind, around func(func())) {
	var released, entered atomic.Bool
	locked, release := make(chan struct{}), make(chan struct{})
	holder := a.start(func() {
		mu.Lock()
		vthread.Send(locked, struct{}{})
		vthread.Recv(release)
		released.Store(true)
		mu.Unlock()
	})
	<-locked
	waiter := b.start(func() {
		around(func() {
			mu.Lock()
			if !released.Load() {
				t.Error("it has entered before the release")
			}
			entered.Store(true)
			mu.Unlock()
		})
	})
	awaitWaiting(t, mu, 1)
	if entered.Load() {
		t.Error("it has entered a lock that is held")
	}
	release <- struct{}{}
	holder()
	waiter()
	if !entered.Load() {
		t.Error("it has not entered")
	}
}

// MN-02
func TestWhoWaitsForALockEntersAfterItsRelease(t *testing.T) {
	eachLock(t, func(t *testing.T, mu lock) {
		amongBoth(t, func(t *testing.T, a, b kind) { entersAfterUnlock(t, mu, a, b, func(f func()) { f() }) })
	})
}

// pinned calls f with the thread pinned, if it is one.
func pinned(f func()) {
	if vthread.Current() != nil {
		continuation.Pin()
		defer continuation.Unpin()
	}
	f()
}

// MN-05
func TestLocksWorkForPinnedThreads(t *testing.T) {
	eachLock(t, func(t *testing.T, mu lock) {
		t.Run("uncontended", func(t *testing.T) {
			thread.start(func() {
				pinned(func() {
					pass(mu)
				})
			})()
		})
		amongBoth(t, func(t *testing.T, a, b kind) { entersAfterUnlock(t, mu, a, b, pinned) })
	})
	t.Run("again", func(t *testing.T) {
		thread.start(func() { pinned(func() { takeDeep(t, new(vsync.ReentrantMutex), 256, func() {}) }) })()
	})
	t.Run("again, contended", func(t *testing.T) {
		thread.start(func() { pinned(func() { pileUp(t) }) })()
	})
}

// LC-17
func TestAThreadAtAHeldLockIsBlocked(t *testing.T) {
	for _, c := range []struct {
		pin  bool
		want flight.State
	}{{false, flight.StateBlocked}, {true, flight.StatePinned}} {
		t.Run(fmt.Sprintf("pinned=%v", c.pin), func(t *testing.T) {
			var mu vsync.Mutex
			mu.Lock()
			th := vthread.Start(func() {
				f := func() { pass(&mu) }
				if c.pin {
					pinned(f)
				} else {
					f()
				}
			})
			awaitState(t, th, c.want)
			if got := th.State(); got != c.want {
				t.Errorf("got %v, want %v", got, c.want)
			}
			mu.Unlock()
			th.Join()
		})
	}
}

// MN-06: on one carrier others run while a thread waits for the lock, and while its holder sleeps.
func TestAThreadThatWaitsForALockGivesItsCarrierAway(t *testing.T) {
	b := oneCarrier(t)
	eachLock(t, func(t *testing.T, mu lock) {
		mu.Lock()
		waiter := b.Start(func() { mu.Lock(); vthread.Sleep(time.Millisecond); mu.Unlock() })
		awaitState(t, waiter, flight.StateBlocked)
		b.Start(func() {}).Join()
		mu.Unlock()
		n := 0
		b.Start(func() { mu.Lock(); n++; mu.Unlock() }).Join()
		waiter.Join()
		if n != 1 {
			t.Errorf("got %d, want 1", n)
		}
	})
}

// MN-09d, PN-07: on one carrier.
func TestAThreadThatWaitsWithALockGivesItsCarrierAway(t *testing.T) {
	b := oneCarrier(t)
	for name, wait := range map[string]func(done *atomic.Bool){
		"park": func(done *atomic.Bool) {
			for !done.Load() {
				vthread.Park()
			}
		},
		"sleep": func(done *atomic.Bool) {
			for !done.Load() {
				vthread.Sleep(time.Millisecond)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			var mu vsync.Mutex
			var done atomic.Bool
			var holds = make(chan struct{})
			th := b.Start(func() {
				mu.Lock()
				close(holds)
				wait(&done)
				mu.Unlock()
			})
			<-holds
			b.Start(func() {
				if mu.TryLock() {
					t.Error("the lock is free while its holder waits")
				}
			}).Join()
			done.Store(true)
			th.Unpark()
			th.Join()
		})
	}
}

// MN-07
func TestManyMoreBlockedThreadsThanCarriersDoNotHang(t *testing.T) {
	eachLock(t, func(t *testing.T, mu lock) {
		mu.Lock()
		const n = 64
		var joins []func()
		for range n {
			joins = append(joins, thread.start(func() { mu.Lock(); vthread.Yield(); mu.Unlock() }))
		}
		awaitWaiting(t, mu, n)
		mu.Unlock()
		for _, join := range joins {
			join()
		}
	})
}

// MN-08
func TestOneHolderAtATimeAmongThreadsAndGoroutines(t *testing.T) {
	eachLock(t, func(t *testing.T, mu lock) {
		for _, goroutines := range []int{0, 1, 2, 4, 8, 16} {
			for _, threads := range []int{2, 4, 8, 16, 32} {
				const rounds = 20
				n, inside := 0, false
				body := func() {
					for range rounds {
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
				var joins []func()
				for range goroutines {
					joins = append(joins, goroutine.start(body))
				}
				for range threads {
					joins = append(joins, thread.start(body))
				}
				for _, join := range joins {
					join()
				}
				if want := (goroutines + threads) * rounds; n != want {
					t.Fatalf("counted %d, want %d", n, want)
				}
			}
		}
	})
}

// MN-09
func TestTheNextOneEntersWheneverTheHolderLeaves(t *testing.T) {
	for name, linger := range map[string]func(mu lock){
		"at once":              func(lock) {},
		"after a spin":         func(lock) { spinFor(20 * time.Microsecond) },
		"after a yield":        func(lock) { vthread.Yield() },
		"once somebody queues": func(mu lock) { untilWaiting(mu) },
	} {
		t.Run(name, func(t *testing.T) {
			amongBoth(t, func(t *testing.T, a, b kind) {
				for range 20 {
					var mu vsync.Mutex
					inside := false
					locked := make(chan struct{})
					holder := a.start(func() {
						mu.Lock()
						inside = true
						close(locked)
						linger(&mu)
						inside = false
						mu.Unlock()
					})
					waiter := b.start(func() {
						vthread.Recv(locked)
						mu.Lock()
						if inside {
							t.Error("it has entered early")
						}
						mu.Unlock()
					})
					holder()
					waiter()
				}
			})
		})
	}
}

func spinFor(d time.Duration) {
	for began := time.Now(); time.Since(began) < d; {
	}
}

func untilWaiting(mu any) {
	for deadline := time.Now().Add(patience); vsync.Waiting(mu) == 0 && time.Now().Before(deadline); pause() {
	}
}

// MN-11: for locks.
func TestAnInterruptEndsAnInterruptibleLock(t *testing.T) {
	eachLock(t, func(t *testing.T, mu lock) {
		for name, take := range map[string]func() error{
			"LockInterruptibly": mu.LockInterruptibly,
			"LockFor":           func() error { return mu.LockFor(time.Hour) },
			"LockContext":       func() error { return mu.LockContext(t.Context()) },
		} {
			t.Run(name, func(t *testing.T) {
				thread.start(func() { // before, though the lock is free
					vthread.Current().Interrupt()
					if err := take(); err != vsync.ErrInterrupted || vthread.Interrupted() {
						t.Errorf("got %v, and interrupted %v; want %v, cleared", err, vthread.Interrupted(), vsync.ErrInterrupted)
					}
				})()
				mu.Lock()
				th := vthread.Start(func() {
					if err := take(); err != vsync.ErrInterrupted || vthread.Interrupted() {
						t.Errorf("got %v, and interrupted %v; want %v, cleared", err, vthread.Interrupted(), vsync.ErrInterrupted)
					}
				})
				awaitWaiting(t, mu, 1)
				th.Interrupt()
				th.Join()
				awaitWaiting(t, mu, 0)
				mu.Unlock()
				if err := take(); err != nil {
					t.Fatal(err)
				}
				mu.Unlock()
			})
		}
	})
}

func TestAnInterruptDoesNotEndALock(t *testing.T) {
	eachLock(t, func(t *testing.T, mu lock) {
		mu.Lock()
		th := vthread.Start(func() {
			mu.Lock()
			defer mu.Unlock()
			if !vthread.Interrupted() {
				t.Error("the interrupt is gone")
			}
		})
		awaitWaiting(t, mu, 1)
		th.Interrupt()
		vthread.Start(func() {}).Join()
		if got := vsync.Waiting(mu); got != 1 {
			t.Errorf("%d wait, want 1", got)
		}
		mu.Unlock()
		th.Join()
	})
}

func TestALockIsGivenUpInTime(t *testing.T) {
	eachLock(t, func(t *testing.T, mu lock) {
		mu.Lock()
		fromBoth(t, func(t *testing.T) {
			for _, d := range []time.Duration{-1, 0, 1, short} {
				began := time.Now()
				if err := mu.LockFor(d); err != vsync.ErrTimeout || time.Since(began) < d {
					t.Errorf("got %v after %v, want %v after %v", err, time.Since(began), vsync.ErrTimeout, d)
				}
			}
			cause := errors.New("no")
			ctx, cancel := context.WithCancelCause(t.Context())
			timer := time.AfterFunc(short, func() { cancel(cause) })
			defer timer.Stop()
			if err := mu.LockContext(ctx); err != cause {
				t.Errorf("got %v, want %v", err, cause)
			}
			awaitWaiting(t, mu, 0)
		})
		mu.Unlock()
		fromBoth(t, func(t *testing.T) {
			for _, d := range []time.Duration{-1, 0, time.Hour} {
				if err := mu.LockFor(d); err != nil {
					t.Fatalf("got %v within %v, and it is free", err, d)
				}
				mu.Unlock()
			}
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			if err := mu.LockContext(ctx); err != context.Canceled {
				t.Errorf("got %v, want %v", err, context.Canceled)
			}
		})
	})
}

func TestUnlockOfAFreeLockPanics(t *testing.T) {
	eachLock(t, func(t *testing.T, mu lock) {
		fromBoth(t, func(t *testing.T) {
			want := map[string]bool{"vsync: unlock of unlocked mutex": true, "vsync: unlock of unlocked reentrant mutex": true, "vsync: Unlock of unlocked RWMutex": true}
			if got := fmt.Sprint(panics(mu.Unlock)); !want[got] {
				t.Errorf("got %q", got)
			}
			pass(mu) // it is as it was
		})
	})
}

func TestAnybodyUnlocksAMutex(t *testing.T) {
	amongBoth(t, func(t *testing.T, a, b kind) {
		var mu vsync.Mutex
		a.start(mu.Lock)()
		b.start(mu.Unlock)()
		if !mu.TryLock() {
			t.Error("it is locked")
		}
	})
}

// MN-14
func TestManyRoundsOfPinnedContendersEnd(t *testing.T) {
	rounds := 100_000
	if testing.Short() {
		rounds = 10_000
	}
	fj, err := sched.NewForkJoin(sched.ForkJoinOptions{Parallelism: 4})
	if err != nil {
		t.Fatal(err)
	}
	defer fj.Close()
	b := vthread.Builder{Scheduler: fj}
	var mu vsync.Mutex
	n := 0
	var all []*vthread.Thread
	for range 3 {
		all = append(all, b.Start(func() {
			pinned(func() {
				for range rounds {
					mu.Lock()
					n++
					mu.Unlock()
				}
			})
		}))
	}
	for _, th := range all {
		th.Join()
	}
	if n != 3*rounds {
		t.Errorf("got %d, want %d", n, 3*rounds)
	}
}

// MN-15: many locks, and a panic of who waits with them.
func TestAThreadHoldsManyLocks(t *testing.T) {
	fromBoth(t, func(t *testing.T) {
		mus := make([]vsync.Mutex, 1000)
		inner := new(vsync.Mutex)
		inner.Lock()
		release := goroutine.start(func() { untilWaiting(inner); inner.Unlock() })
		got := panics(func() {
			for i := range mus {
				mus[i].Lock()
				defer mus[i].Unlock()
			}
			inner.Lock()
			defer inner.Unlock()
			panic("inside")
		})
		release()
		if got != "inside" {
			t.Errorf("got %v", got)
		}
		for i := range mus {
			if !mus[i].TryLock() {
				t.Fatalf("lock %d is held", i)
			}
		}
	})
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
