package sched

import "github.com/vtscope/vtscope/runtime/flight"

// parkDuring calls wait, which blocks as goroutines do, perhaps until threads have ended. If the caller
// is a thread, it parks and a goroutine calls wait: those threads may need the caller's carrier.
func parkDuring(wait func()) {
	me := Current()
	if me == nil || Simulating() {
		wait()
		return
	}
	w := NewLooseWaiter(me)
	go func() {
		wait()
		_ = w.Wake() // a refusal reaches whoever closed the scheduler
	}()
	w.Wait(Pause{State: flight.StateWaiting, Reason: flight.ReasonCondition})
}
