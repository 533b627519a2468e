package vsync_test

import (
	"fmt"
	"testing"

	"github.com/vtscope/vtscope/runtime/sched"
	"github.com/vtscope/vtscope/runtime/vsync"
	"github.com/vtscope/vtscope/runtime/vthread"
	"github.com/vtscope/vtscope/runtime/vttest"
)

// takeDeep locks mu again and again, calls at at each depth, and unlocks it as often.
func takeDeep(t *testing.T, mu *vsync.ReentrantMutex, depth int, at func()) {
	if depth == 0 {
		return
	}
	mu.Lock()
	at()
	takeDeep(t, mu, depth-1, at)
	if !mu.Held() {
		t.Errorf("it is not held %d deep", depth)
	}
	mu.Unlock()
}

// MN-03
func TestAReentrantMutexIsTakenAgain(t *testing.T) {
	fromBoth(t, func(t *testing.T) {
		var mu vsync.ReentrantMutex
		takeDeep(t, &mu, 256, func() {
			if !mu.TryLock() {
				t.Error("TryLock does not take it again")
			} else {
				mu.Unlock()
			}
			if err := mu.LockInterruptibly(); err != nil {
				t.Error(err)
			} else {
				mu.Unlock()
			}
		})
		if mu.Held() {
			t.Error("it is held after the last unlock")
		}
		goroutine.start(func() {
			if !mu.TryLock() {
				t.Error("another does not get it")
			}
		})()
	})
}

// pileUp takes a lock again and again while others queue for it at each depth.
func pileUp(t *testing.T) {
	var mu vsync.ReentrantMutex
	var joins []func()
	n := 0
	takeDeep(t, &mu, 16, func() {
		joins = append(joins, kinds[len(joins)%2].start(func() { mu.Lock(); n++; mu.Unlock() }))
		awaitWaiting(t, &mu, len(joins))
		if n != 0 {
			t.Error("somebody has entered")
		}
	})
	for _, join := range joins {
		join()
	}
	if n != 16 {
		t.Errorf("%d have entered, want 16", n)
	}
}

// MN-04
func TestAReentrantMutexIsTakenAgainWhileOthersQueue(t *testing.T) { fromBoth(t, pileUp) }

// LC-20, MN-16: also after the thread has moved to another carrier, and another thread has come to its own.
func TestAReentrantMutexBelongsToTheThread(t *testing.T) {
	amongBoth(t, func(t *testing.T, a, b kind) {
		var mu vsync.ReentrantMutex
		a.start(func() {
			if mu.Held() {
				t.Error("it is held before the lock")
			}
			mu.Lock()
			defer mu.Unlock()
			b.start(func() {
				if mu.Held() || mu.TryLock() {
					t.Error("another holds it")
				}
			})()
			if !mu.Held() {
				t.Error("it is not held")
			}
		})()
	})
	t.Run("carriers=1", func(t *testing.T) {
		one := oneCarrier(t)
		var mu vsync.ReentrantMutex
		one.Start(func() {
			mu.Lock()
			one.Start(func() { // on the same carrier
				if mu.Held() || mu.TryLock() {
					t.Error("it belongs to the carrier")
				}
			}).Join()
			mu.Unlock()
		}).Join()
	})
	t.Run("moves", func(t *testing.T) {
		var mu vsync.ReentrantMutex
		fj, err := sched.NewForkJoin(sched.ForkJoinOptions{Parallelism: 2})
		if err != nil {
			t.Fatal(err)
		}
		defer fj.Close()
		b := vthread.Builder{Scheduler: fj}
		var all []*vthread.Thread
		for range 4 {
			all = append(all, b.Start(func() {
				for range 100 {
					mu.Lock()
					vthread.Yield()
					if !mu.Held() {
						t.Error("it is not held after a yield")
					}
					mu.Unlock()
				}
			}))
		}
		for _, th := range all {
			th.Join()
		}
	})
}

func TestOnlyTheHolderUnlocksAReentrantMutex(t *testing.T) {
	amongBoth(t, func(t *testing.T, a, b kind) {
		var mu vsync.ReentrantMutex
		a.start(func() {
			mu.Lock()
			b.start(func() {
				if got := fmt.Sprint(panics(mu.Unlock)); got != "vsync: unlock of reentrant mutex that another holds" {
					t.Errorf("got %q", got)
				}
			})()
			mu.Unlock()
		})()
	})
}

// The next goroutine gets the runtime.g of one that has ended, and with it its address.
func TestNobodyInheritsAReentrantMutex(t *testing.T) {
	for _, k := range append(kinds, kind{"single", func(f func()) func() {
		s := sched.NewSingle()
		th := vthread.Builder{Scheduler: s}.Start(f)
		return func() { th.Join(); s.Close() }
	}}, kind{"scheduler=goroutines", func(f func()) func() {
		th := vthread.Builder{Scheduler: sched.Goroutines}.Start(f)
		return func() { th.Join() }
	}}) {
		t.Run("by="+k.name, func(t *testing.T) {
			var mu vsync.ReentrantMutex
			k.start(func() { mu.Lock() })()
			heirs := 0
			for range 1000 {
				k.start(func() {
					if mu.Held() || mu.TryLock() {
						heirs++
					}
				})()
			}
			if heirs > 0 {
				t.Errorf("%d of 1000 hold what one that has ended has locked", heirs)
			}
		})
	}
}

func TestWhateverTheScheduleIsNobodyInheritsAReentrantMutex(t *testing.T) {
	vttest.Run(t, func(t *testing.T) {
		var mu vsync.ReentrantMutex
		vthread.Start(func() { mu.Lock() }).Join()
		for range 3 {
			vthread.Start(func() {
				if mu.Held() || mu.TryLock() {
					t.Error("a thread holds what one that has ended has locked")
				}
			})
		}
	})
}
