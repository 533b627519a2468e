package vsync_test

import (
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

// PN-04: a thread that is pinned and wakes to find the lock taken again has been pinned once, for all that time.
func TestAPinnedThreadThatIsOvertakenIsToldAsOnePin(t *testing.T) {
	var seen struct {
		sync.Mutex
		all map[flight.ThreadID][]sched.Pin
	}
	seen.all = map[flight.ThreadID][]sched.Pin{}
	stop := sched.WatchPins(func(p sched.Pin) {
		seen.Lock()
		defer seen.Unlock()
		if p.Reason == flight.ReasonPinnedSection {
			seen.all[p.Thread] = append(seen.all[p.Thread], p)
		}
	})
	defer stop()
	for range 50 {
		var mu vsync.Mutex
		var got atomic.Bool
		mu.Lock()
		th := vthread.Start(func() {
			continuation.Pin()
			defer continuation.Unpin()
			mu.Lock()
			got.Store(true)
			mu.Unlock()
		})
		for deadline := time.Now().Add(time.Minute); th.State() != flight.StatePinned; {
			if time.Now().After(deadline) {
				t.Fatalf("%v is not pinned", th)
			}
			time.Sleep(10 * time.Microsecond)
		}
		pinned := time.Now()
		overtook := pinned
		for range 200 {
			mu.Unlock()
			mu.Lock() // before who has just been woken
			if got.Load() {
				break
			}
			overtook = time.Now()
		}
		mu.Unlock()
		th.Join()
		seen.Lock()
		pins := seen.all[th.ID()]
		seen.Unlock()
		if len(pins) != 1 || pins[0].Held < overtook.Sub(pinned) {
			t.Fatalf("got %+v, want one pin of %v at least", pins, overtook.Sub(pinned))
		}
	}
}
