package sched

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// The heap is compared with a sorted list while timers are armed, disarmed and armed again, many of them for the same time.
func TestTimersComeInTheirOrderAndDeadOnesNever(t *testing.T) {
	for seed := range uint64(200) {
		random := rand.New(rand.NewPCG(seed, 1))
		h := timerHeap{wake: make(chan struct{}, 1)}
		h.mu.serving = true
		timers := make([]timer, 1+random.IntN(300))
		armed := map[*timer]time.Duration{}
		for range 5000 {
			m := &timers[random.IntN(len(timers))]
			if _, is := armed[m]; is {
				h.remove(m)
				delete(armed, m)
			} else if random.IntN(4) > 0 {
				armed[m] = time.Duration(random.IntN(20))
				h.add(m, armed[m])
			}
			if got := len(h.mu.heap) - h.mu.dead; got != len(armed) {
				t.Fatalf("seed %d: got %d alive, want %d", seed, got, len(armed))
			}
			if dead := h.mu.dead; dead > fewDead && dead > len(h.mu.heap)/2 {
				t.Fatalf("seed %d: %d of %d are dead", seed, dead, len(h.mu.heap))
			}
		}
		var want, got []time.Duration
		for _, when := range armed {
			want = append(want, when)
		}
		slices.Sort(want)
		for len(h.mu.heap) > 0 {
			if e := h.pop(); !e.dead() {
				got = append(got, e.when)
				e.timer.queued = false
			}
		}
		if !slices.Equal(got, want) {
			t.Fatalf("seed %d: got %v, want %v", seed, got, want)
		}
	}
}
