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
