package vsync_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/vsync"
	"github.com/vtscope/vtscope/runtime/vthread"
)

// conds are conditions of each kind of locks.
func eachCond(t *testing.T, f func(t *testing.T, c *vsync.Cond)) {
	for name, l := range map[string]sync.Locker{
		"mutex": new(vsync.Mutex), "reentrant": new(vsync.ReentrantMutex), "rwmutex": new(vsync.RWMutex), "sync": new(sync.Mutex),
	} {
		t.Run("lock="+name, func(t *testing.T) { f(t, vsync.NewCond(l)) })
	}
}

// waits are the ways to wait for a condition, for long.
var waits = map[string]func(c *vsync.Cond) error{
	"Wait":              func(c *vsync.Cond) error { c.Wait(); return nil },
	"WaitInterruptibly": (*vsync.Cond).WaitInterruptibly,
	"WaitFor":           func(c *vsync.Cond) error { return c.WaitFor(time.Hour) },
	"WaitContext":       func(c *vsync.Cond) error { return c.WaitContext(context.Background()) },
}

// MN-10
func TestThreadsAndGoroutinesWaitAndSignalEachOther(t *testing.T) {
	eachCond(t, func(t *testing.T, c *vsync.Cond) {
		amongBoth(t, func(t *testing.T, a, b kind) {
			for name, wait := range waits {
				ready := false
				waiter := a.start(func() {
					c.L.Lock()
					defer c.L.Unlock()
					for !ready {
						if err := wait(c); err != nil {
							t.Errorf("%s: got %v", name, err)
						}
					}
				})
				awaitWaiting(t, c, 1)
				b.start(func() {
					c.L.Lock()
					ready = true
					c.Signal()
					c.L.Unlock()
				})()
				waiter()
			}
		})
	})
}

func TestSignalWakesOneInTheOrderOfTheirWaits(t *testing.T) {
	c := vsync.NewCond(new(vsync.Mutex))
	var woken []int
	var joins []func()
	const n = 10
	for i := range n {
		joins = append(joins, kinds[i%2].start(func() {
			c.L.Lock()
			c.Wait()
			woken = append(woken, i)
			c.L.Unlock()
		}))
		awaitWaiting(t, c, i+1)
	}
	for i := range n {
		c.Signal()
		until(t, "one goes on", func() bool { c.L.Lock(); defer c.L.Unlock(); return len(woken) > i })
		if c.L.Lock(); len(woken) != i+1 || woken[i] != i {
			t.Errorf("got %v after %d signals", woken, i+1)
		}
		c.L.Unlock()
		if got := vsync.Waiting(c); got != n-1-i {
			t.Errorf("%d wait after %d signals", got, i+1)
		}
	}
	for _, join := range joins {
		join()
	}
	c.Signal() // nobody waits: it is lost
	if err := waitLocked(c, func() error { return c.WaitFor(0) }); err != vsync.ErrTimeout {
		t.Errorf("got %v, want %v: a signal is kept for nobody", err, vsync.ErrTimeout)
	}
}

func waitLocked(c *vsync.Cond, wait func() error) error {
	c.L.Lock()
	defer c.L.Unlock()
	return wait()
}

func TestBroadcastWakesAll(t *testing.T) {
	c := vsync.NewCond(new(vsync.Mutex))
	const n = 200
	for range 3 {
		var joins []func()
		woken := 0
		for i := range n {
			joins = append(joins, kinds[i%2].start(func() {
				c.L.Lock()
				defer c.L.Unlock()
				c.Wait()
				woken++
			}))
		}
		awaitWaiting(t, c, n)
		c.L.Lock()
		if woken != 0 {
			t.Errorf("%d go on before", woken)
		}
		c.Broadcast()
		c.L.Unlock()
		for _, join := range joins {
			join()
		}
		if woken != n {
			t.Errorf("%d go on, want %d", woken, n)
		}
	}
}

// As of sync.Cond: who comes after a broadcast, with the lock, waits for the next.
func TestABroadcastDoesNotReachLaterWaits(t *testing.T) {
	c := vsync.NewCond(new(vsync.Mutex))
	phase := 0
	var joins []func()
	for i := range 8 {
		joins = append(joins, kinds[i%2].start(func() {
			c.L.Lock()
			defer c.L.Unlock()
			for want := 1; want <= 3; want++ {
				c.Wait()
				if phase != want {
					t.Errorf("got phase %d, want %d", phase, want)
				}
			}
		}))
	}
	for range 3 {
		awaitWaiting(t, c, 8)
		c.L.Lock()
		phase++
		c.Broadcast()
		c.L.Unlock()
	}
	for _, join := range joins {
		join()
	}
}

// MN-11, IN-07
func TestAnInterruptEndsAWaitForACondition(t *testing.T) {
	for name, wait := range waits {
		if name == "Wait" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			c := vsync.NewCond(new(vsync.ReentrantMutex))
			check := func() {
				err := wait(c)
				if err != vsync.ErrInterrupted || vthread.Interrupted() {
					t.Errorf("got %v, and interrupted %v; want %v, cleared", err, vthread.Interrupted(), vsync.ErrInterrupted)
				}
				if !c.L.(*vsync.ReentrantMutex).Held() {
					t.Error("it does not hold the lock")
				}
			}
			thread.start(func() { // before
				c.L.Lock()
				defer c.L.Unlock()
				vthread.Current().Interrupt()
				check()
			})()
			th := vthread.Start(func() {
				c.L.Lock()
				defer c.L.Unlock()
				check()
			})
			awaitWaiting(t, c, 1)
			th.Interrupt()
			th.Join()
			awaitWaiting(t, c, 0)
		})
	}
	t.Run("Wait", func(t *testing.T) { // goes on waiting
		c := vsync.NewCond(new(vsync.Mutex))
		var signalled atomic.Bool
		th := vthread.Start(func() {
			c.L.Lock()
			defer c.L.Unlock()
			c.Wait()
			if !signalled.Load() || !vthread.Interrupted() {
				t.Errorf("signalled %v, interrupted %v; want both", signalled.Load(), vthread.Interrupted())
			}
		})
		awaitWaiting(t, c, 1)
		th.Interrupt()
		vthread.Start(func() {}).Join()
		signalled.Store(true)
		c.Signal()
		th.Join()
	})
}

// MN-12
func TestTimedWaitsTimeOut(t *testing.T) {
	eachCond(t, func(t *testing.T, c *vsync.Cond) {
		fromBoth(t, func(t *testing.T) {
			for _, d := range []time.Duration{-1, 0, 1, short} {
				began := time.Now()
				if err := waitLocked(c, func() error { return c.WaitFor(d) }); err != vsync.ErrTimeout || time.Since(began) < d {
					t.Errorf("got %v after %v, want %v after %v", err, time.Since(began), vsync.ErrTimeout, d)
				}
			}
			cause := errors.New("no")
			ctx, cancel := context.WithCancelCause(context.Background())
			timer := time.AfterFunc(short, func() { cancel(cause) })
			defer timer.Stop()
			for range 2 { // during, and before
				if err := waitLocked(c, func() error { return c.WaitContext(ctx) }); err != cause {
					t.Errorf("got %v, want %v", err, cause)
				}
			}
			if got := vsync.Waiting(c); got != 0 {
				t.Errorf("%d still wait", got)
			}
		})
	})
}

// MN-12, SS-08: the first wait's timer must not end the second, whether it was signalled in time, or at that very moment.
func TestANotifiedWaitLeavesNoTimer(t *testing.T) {
	for _, first := range []time.Duration{time.Hour, 50 * time.Microsecond} {
		t.Run(fmt.Sprint(first), func(t *testing.T) {
			amongBoth(t, func(t *testing.T, a, b kind) {
				for range 20 {
					c := vsync.NewCond(new(vsync.Mutex))
					waiter := a.start(func() {
						c.L.Lock()
						defer c.L.Unlock()
						if err := c.WaitFor(first); err != nil && (first == time.Hour || err != vsync.ErrTimeout) {
							t.Errorf("got %v", err)
						}
						began := time.Now()
						if err := c.WaitFor(2 * time.Millisecond); err != nil && (err != vsync.ErrTimeout || time.Since(began) < 2*time.Millisecond) {
							t.Errorf("got %v after %v, want a time-out after 2ms", err, time.Since(began))
						}
					})
					awaitPassed := b.start(func() {
						if first == time.Hour {
							untilWaiting(c)
						}
						c.L.Lock()
						c.Signal()
						c.L.Unlock()
					})
					awaitPassed()
					waiter()
				}
			})
		})
	}
}

// A signal reaches one of two, though the first gives up at that moment.
func TestASignalIsNotLostToAWaiterThatGivesUp(t *testing.T) {
	amongBoth(t, func(t *testing.T, a, b kind) {
		for round := range 50 {
			c := vsync.NewCond(new(vsync.Mutex))
			var came, got atomic.Int32
			first := a.start(func() {
				c.L.Lock()
				defer c.L.Unlock()
				came.Add(1)
				if c.WaitFor(time.Duration(100+4*round)*time.Microsecond) == nil {
					got.Add(1)
				}
			})
			until(t, "the first comes", func() bool { return came.Load() == 1 })
			second := b.start(func() {
				c.L.Lock()
				defer c.L.Unlock()
				came.Add(1)
				c.Wait()
				got.Add(1)
			})
			until(t, "the second comes", func() bool { return came.Load() == 2 })
			c.L.Lock() // it waits by now
			c.Signal()
			c.L.Unlock()
			first()
			until(t, "one of both has the signal", func() bool { return got.Load() == 1 })
			c.Broadcast()
			second()
		}
	})
}

// LC-18
func TestAWaitingThreadIsBlockedForItsLockThen(t *testing.T) {
	for _, pin := range []bool{false, true} {
		for name, wait := range waits {
			t.Run(fmt.Sprintf("%s/pinned=%v", name, pin), func(t *testing.T) {
				c := vsync.NewCond(new(vsync.Mutex))
				waiting, blocked := flight.StateWaiting, flight.StateBlocked
				if name == "WaitFor" {
					waiting = flight.StateTimedParked
				}
				if pin {
					waiting, blocked = flight.StatePinned, flight.StatePinned
				}
				th := vthread.Start(func() {
					c.L.Lock()
					defer c.L.Unlock()
					if pin {
						pinned(func() { wait(c) })
					} else {
						wait(c)
					}
				})
				awaitWaiting(t, c, 1)
				awaitState(t, th, waiting)
				c.L.Lock()
				c.Signal()
				awaitWaiting(t, c.L, 1)
				awaitState(t, th, blocked)
				c.L.Unlock()
				th.Join()
			})
		}
	}
}

// MN-06, MN-09d: for conditions, on one carrier.
func TestAThreadThatWaitsForAConditionGivesItsCarrierAway(t *testing.T) {
	b := oneCarrier(t)
	c := vsync.NewCond(new(vsync.Mutex))
	outer := new(vsync.Mutex) // stays locked
	th := b.Start(func() {
		outer.Lock()
		c.L.Lock()
		c.Wait()
		c.L.Unlock()
		outer.Unlock()
	})
	b.Start(func() {
		untilWaiting(c)
		if outer.TryLock() {
			t.Error("the outer lock is free")
		}
		c.Signal()
	}).Join()
	th.Join()
}

func TestASignalPassesOverARefusedThread(t *testing.T) {
	c := vsync.NewCond(new(vsync.Mutex))
	r := refusing()
	var on atomic.Int32
	wait := func() {
		c.L.Lock()
		c.Wait()
		on.Add(1)
		c.L.Unlock()
	}
	lost := vthread.Builder{Scheduler: r}.Start(wait)
	awaitState(t, lost, flight.StateWaiting)
	next := thread.start(wait)
	awaitWaiting(t, c, 2)
	r.refuses.Store(true)
	c.Signal()
	next()
	r.refuses.Store(false)
	if err := lost.Interrupt(); err != nil { // it goes on, and waits again
		t.Fatal(err)
	}
	awaitWaiting(t, c, 1)
	if on.Load() != 1 {
		t.Errorf("%d go on after a signal, want 1", on.Load())
	}
	c.Signal()
	lost.Join()
}

func TestMisuseOfConditionsPanics(t *testing.T) {
	fromBoth(t, func(t *testing.T) {
		c := vsync.NewCond(new(vsync.Mutex))
		if got := panics(c.Wait); got != "vsync: unlock of unlocked mutex" {
			t.Errorf("got %v", got)
		}
		if got := vsync.Waiting(c); got != 0 {
			t.Errorf("%d wait after a panic", got)
		}
		c.Signal()
		copied := vsync.CopyOf(c)
		for _, f := range []func(){copied.Signal, copied.Broadcast, copied.Wait} {
			if got := panics(f); got != "vsync: Cond is copied" {
				t.Errorf("got %v", got)
			}
		}
	})
}

// PN-05: a wait and the taking of its lock hold the carrier for one event.
func TestAPinnedWaitForAConditionIsOneEvent(t *testing.T) {
	r := recorder(t)
	for name, wait := range waits {
		for _, end := range []string{"signal", "interrupt"} {
			if name == "Wait" && end == "interrupt" {
				continue
			}
			t.Run(name+"/"+end, func(t *testing.T) {
				c := vsync.NewCond(new(vsync.Mutex))
				th := vthread.Start(func() {
					c.L.Lock()
					defer c.L.Unlock()
					pinned(func() { wait(c) })
				})
				awaitState(t, th, flight.StatePinned)
				time.Sleep(25 * time.Millisecond) // longer than those that are told
				if end == "signal" {
					c.Signal()
				} else {
					th.Interrupt()
				}
				th.Join()
				if got := pinnedEvents(t, r, th.ID()); got != 1 {
					t.Errorf("got %d events, want one", got)
				}
			})
		}
	}
}

func recorder(t *testing.T) *flight.Reader {
	t.Helper()
	path := flight.Default().Path()
	if path == "" {
		t.Skip("the recorder is off or private")
	}
	r, err := flight.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

func pinnedEvents(t *testing.T, r *flight.Reader, id flight.ThreadID) (n int) {
	t.Helper()
	rings, err := r.Rings()
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range rings {
		all, _, _, err := r.Events(row.Index, 0, 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range all {
			if e.Kind == flight.EventPinned && e.Thread == id && e.Code != flight.ReasonPinnedGo { // which a lock of the recorder may be
				n++
			}
		}
	}
	return n
}
