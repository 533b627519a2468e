package sched_test

import (
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/sched"
	"github.com/vtscope/vtscope/runtime/vthread"
)

// A slowEnd is a body that ends at once, and is slow to tell it.
type slowEnd struct {
	begun atomic.Bool
	tell  func()
}

func (*slowEnd) Labels() *sched.Labels { return nil }
func (*slowEnd) Run()                  {}
func (*slowEnd) Handles(any) bool      { return false }
func (s *slowEnd) End(flight.Reason, any) {
	s.begun.Store(true)
	s.tell()
}

// All that comes of the end of a thread has the time of the end, but who has paused since then is not woken before that.
func TestNobodyIsWokenBeforeItHasPaused(t *testing.T) {
	r := recorderOf(t)
	fj := newForkJoin(t, sched.ForkJoinOptions{Parallelism: 2})
	var joins atomic.Pointer[vthread.Thread]
	body := &slowEnd{tell: func() {
		for joins.Load() == nil || joins.Load().State() != flight.StateParked {
			runtime.Gosched()
		}
		unpark(joins.Load())
	}}
	var task sched.Task
	task.Init(sched.NewID(nil), body, fj)
	if err := task.Start(nil, sched.Birth{}); err != nil {
		t.Fatal(err)
	}
	await(t, "the end", body.begun.Load)
	th := vthread.Builder{Scheduler: fj}.Start(func() { vthread.Park() })
	joins.Store(th)
	th.Join()
	at := func(k flight.Kind) flight.Ticks {
		t.Helper()
		evs := eventsOf(t, r, th.ID(), k)
		if len(evs) == 0 {
			t.Fatalf("got no event %v", k)
		}
		last := evs[0].Time
		for _, e := range evs {
			if last.Before(e.Time) {
				last = e.Time
			}
		}
		return last
	}
	park, unpark, mount := at(flight.EventPark), at(flight.EventUnpark), at(flight.EventMount)
	if unpark.Before(park) || mount.Before(unpark) {
		t.Errorf("it is unparked %v after it has parked, and mounted %v after that", unpark.Sub(park), mount.Sub(unpark))
	}
}

// Also if whoever ends the park does it before the thread has left its carrier: permits that come late, at a moment that is not the same each time.
func TestEachParkHasAnUnpark(t *testing.T) {
	r := recorderOf(t)
	count := func(k flight.Kind) (n uint64) {
		t.Helper()
		rings, err := r.Rings()
		if err != nil {
			t.Fatal(err)
		}
		for i := range rings {
			n += rings[i].Counts[k]
		}
		return n
	}
	for name, b := range map[string]vthread.Builder{
		"fork-join": {Scheduler: newForkJoin(t, sched.ForkJoinOptions{Parallelism: 2})},
		"goroutine": {Kind: vthread.OnGoroutine},
	} {
		const rounds = 5000
		parks, unparks := count(flight.EventPark), count(flight.EventUnpark)
		var begun atomic.Int32
		th := b.Start(func() {
			for range rounds {
				begun.Add(1)
				vthread.Park()
			}
		})
		for i := range int32(rounds) {
			for spins := 0; begun.Load() <= i; spins++ {
				if spins > 10_000 { // with one processor it would be for long
					runtime.Gosched()
				}
			}
			for range i % 400 {
				begun.Load() // for a moment
			}
			unpark(th)
		}
		th.Join()
		parks, unparks = count(flight.EventPark)-parks, count(flight.EventUnpark)-unparks
		if parks == 0 || parks != unparks {
			t.Errorf("%s: got %d parks and %d unparks", name, parks, unparks)
		}
	}
}
