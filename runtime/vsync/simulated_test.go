package vsync_test

import (
	"testing"
	"time"

	"github.com/vtscope/vtscope/runtime/vsync"
	"github.com/vtscope/vtscope/runtime/vthread"
	"github.com/vtscope/vtscope/runtime/vttest"
)

// simulate tries f in 1,000 orders of its threads, or in $VTSCOPE_SCHEDULES.
func simulate(t *testing.T, f func(t *testing.T)) {
	vttest.Options{Schedules: 1000}.Run(t, f)
}

// together runs all on threads of their own, and waits for them.
func together(all ...func()) {
	var ts []*vthread.Thread
	for _, f := range all {
		ts = append(ts, vthread.Start(f))
	}
	for _, th := range ts {
		th.Join()
	}
}

func TestMutexInSimulatedSchedules(t *testing.T) {
	simulate(t, func(t *testing.T) {
		var mu vsync.Mutex
		inside, n := false, 0
		enter := func() {
			if inside {
				t.Error("two holders")
			}
			inside = true
			vthread.Yield()
			n++
			inside = false
			mu.Unlock()
		}
		lock := func() { mu.Lock(); enter() }
		together(lock, lock, func() {
			for range 2 {
				if mu.TryLock() {
					enter()
				}
			}
		}, func() {
			mu.Lock()
			vthread.Sleep(2 * time.Millisecond) // who waits now is handed the lock
			enter()
		}, func() {
			if mu.LockFor(time.Millisecond) == nil {
				enter()
			}
		}, func() {
			other := vthread.Start(func() {
				if mu.LockInterruptibly() == nil {
					enter()
				}
			})
			other.Interrupt()
			other.Join()
		})
		if !mu.TryLock() || n < 3 {
			t.Errorf("the lock is held, or %d were inside, want 3 or more", n)
		}
	})
}

func TestReentrantMutexInSimulatedSchedules(t *testing.T) {
	simulate(t, func(t *testing.T) {
		var mu vsync.ReentrantMutex
		n := 0
		add := func() {
			mu.Lock()
			was := n
			mu.Lock()
			vthread.Yield()
			n = was + 1
			mu.Unlock()
			if !mu.Held() {
				t.Error("it is not held")
			}
			mu.Unlock()
		}
		together(add, add, add)
		if n != 3 {
			t.Errorf("got %d, want 3", n)
		}
	})
}

func TestRWMutexInSimulatedSchedules(t *testing.T) {
	simulate(t, func(t *testing.T) {
		var mu vsync.RWMutex
		readers, writers, writes := 0, 0, 0
		read := func() {
			readers++
			vthread.Yield()
			if writers != 0 {
				t.Error("a writer is inside with a reader")
			}
			readers--
			mu.RUnlock()
		}
		write := func() {
			writers++
			if readers != 0 || writers != 1 {
				t.Errorf("%d readers and %d writers are inside", readers, writers)
			}
			vthread.Yield()
			writers--
			writes++
			mu.Unlock()
		}
		together(
			func() { mu.RLock(); read() },
			func() { mu.RLock(); vthread.Sleep(2 * time.Millisecond); read() },
			func() { mu.Lock(); write() },
			func() { mu.Lock(); write() },
			func() {
				if mu.LockFor(time.Millisecond) == nil {
					write()
				}
			},
			func() {
				if mu.RLockFor(time.Millisecond) == nil {
					read()
				}
			},
		)
		if !mu.TryLock() || writes < 2 {
			t.Errorf("the lock is held, or there were %d writes, want 2 or more", writes)
		}
	})
}

func TestCondInSimulatedSchedules(t *testing.T) {
	simulate(t, func(t *testing.T) {
		c := vsync.NewCond(new(vsync.Mutex))
		items, taken := 0, 0
		take := func() {
			c.L.Lock()
			for items == 0 {
				c.Wait()
			}
			items--
			taken++
			c.L.Unlock()
		}
		together(take, take, func() {
			c.L.Lock()
			defer c.L.Unlock()
			if err := c.WaitFor(time.Millisecond); err == nil {
				c.Signal() // it was for another
			}
		}, func() {
			for range 2 {
				c.L.Lock()
				items++
				c.L.Unlock()
				c.Signal()
			}
		})
		if taken != 2 {
			t.Errorf("%d were taken, want 2", taken)
		}
	})
}

func TestSemaphoreInSimulatedSchedules(t *testing.T) {
	eachSemaphore(t, 3, func(t *testing.T, model *vsync.Semaphore) {
		simulate(t, func(t *testing.T) {
			s := vsync.NewSemaphore(3)
			if vsync.Unfair(model) {
				s = vsync.NewUnfairSemaphore(3)
			}
			taken := int64(0)
			use := func(n int64) {
				if taken += n; taken > 3 {
					t.Errorf("%d are taken", taken)
				}
				vthread.Yield()
				taken -= n
				s.Release(n)
			}
			together(
				func() { s.Acquire(1); vthread.Sleep(2 * time.Millisecond); use(1) },
				func() { s.Acquire(2); use(2) },
				func() { s.Acquire(3); use(3) },
				func() { s.Acquire(1); use(1) },
				func() {
					if s.AcquireFor(3, time.Millisecond) == nil {
						use(3)
					}
				},
				func() {
					if s.TryAcquire(2) {
						use(2)
					}
				},
			)
			if s.Free() != 3 {
				t.Errorf("%d are free, want 3", s.Free())
			}
		})
	})
}

func TestQueueInSimulatedSchedules(t *testing.T) {
	for name, queue := range queues {
		t.Run("queue="+name, func(t *testing.T) {
			simulate(t, func(t *testing.T) {
				q := queue()
				sum, put := 0, 0
				take := func() {
					for v := range q.All() {
						sum += v
					}
				}
				together(take, func() {
					if v, err := q.TakeFor(time.Millisecond); err == nil {
						sum += v
					}
					take()
				}, func() {
					var l vsync.Latch
					l.Add(3)
					for i := range 3 {
						vthread.Start(func() {
							defer l.Done()
							v := 1 << i
							if i == 2 {
								if q.PutFor(v, time.Millisecond) == nil {
									put += v
								}
								return
							}
							if err := q.Put(v); err != nil {
								t.Errorf("put: %v", err)
							}
							put += v
						})
					}
					l.Wait()
					q.Close()
				})
				if sum != put || put < 3 {
					t.Errorf("values with the sum %d were put, %d taken", put, sum)
				}
			})
		})
	}
}

func TestLatchInSimulatedSchedules(t *testing.T) {
	simulate(t, func(t *testing.T) {
		l := vsync.NewLatch(2)
		done := 0
		wait := func() {
			l.Wait()
			if done != 2 {
				t.Errorf("it is open after %d", done)
			}
		}
		count := func() { vthread.Yield(); done++; l.Done() }
		together(wait, count, wait, count, func() {
			if err := l.WaitFor(time.Millisecond); err == nil && done != 2 {
				t.Errorf("it is open after %d", done)
			}
		})
	})
}

func TestBarrierInSimulatedSchedules(t *testing.T) {
	simulate(t, func(t *testing.T) {
		rounds := 0
		b := vsync.NewBarrier(3, func() { vthread.Yield(); rounds++ })
		party := func() {
			for round := range 2 {
				if _, err := b.Wait(); err != nil || rounds != round+1 && rounds != round+2 {
					t.Errorf("round %d: got %v after %d rounds", round, err, rounds)
				}
			}
		}
		together(party, party, party)
		if rounds != 2 {
			t.Errorf("%d rounds, want 2", rounds)
		}
		broken := 0
		together(func() {
			if _, err := b.Wait(); err == vsync.ErrBroken {
				broken++
			}
		}, func() {
			if _, err := b.WaitFor(time.Millisecond); err != nil {
				broken++
			}
		})
		if broken != 2 {
			t.Errorf("%d have seen it break, want 2", broken)
		}
	})
}

func TestOnceInSimulatedSchedules(t *testing.T) {
	simulate(t, func(t *testing.T) {
		var o vsync.Once
		calls := 0
		do := func() {
			o.Do(func() { vthread.Sleep(2 * time.Millisecond); calls++ })
			if calls != 1 {
				t.Errorf("Do returns after %d calls", calls)
			}
		}
		together(do, do, do, func() {
			if err := o.DoFor(time.Millisecond, func() { calls++ }); err == nil && calls != 1 {
				t.Errorf("DoFor returns after %d calls", calls)
			}
		})
	})
}

func TestExchangerInSimulatedSchedules(t *testing.T) {
	simulate(t, func(t *testing.T) {
		var x vsync.Exchanger[int]
		given, got := 0, 0
		timed := func(v int) func() {
			return func() {
				if theirs, err := x.ExchangeFor(v, time.Millisecond); err == nil {
					given += v
					got += theirs
				}
			}
		}
		together(timed(1), timed(2), timed(4), timed(8), func() {
			th := vthread.Start(func() {
				if theirs, err := x.ExchangeInterruptibly(16); err == nil {
					given += 16
					got += theirs
				}
			})
			vthread.Sleep(2 * time.Millisecond)
			th.Interrupt()
			th.Join()
		})
		if given != got {
			t.Errorf("%d given, %d got", given, got)
		}
	})
}
