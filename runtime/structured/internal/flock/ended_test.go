package flock

import (
	"runtime"
	"testing"

	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/sched"
)

// The last member may be about to tell that it has ended while the next is started and awaited (F4).
func TestAnAwaitIsNotEndedByMembersOfBefore(t *testing.T) {
	var f Flock
	f.live.Store(1)
	f.mu.Lock()
	told := make(chan struct{})
	go func() { defer close(told); f.ended(nil, flight.ReasonEnd) }()
	for f.live.Load() > 0 {
		runtime.Gosched()
	}
	f.live.Add(1) // the next
	f.mu.sleepers = append(f.mu.sleepers, sleeper{waiter: sched.NewLooseWaiter(nil)})
	f.mu.Unlock()
	<-told
	f.mu.Lock()
	if len(f.mu.sleepers) != 1 {
		t.Error("the sleeper was woken while a member was live")
	}
	f.mu.Unlock()
	f.ended(nil, flight.ReasonEnd)
	if len(f.mu.sleepers) != 0 {
		t.Error("the sleeper was not woken when the last member had ended")
	}
}
