package sched

import "github.com/vtscope/vtscope/runtime/flight"

// parkDuring calls wait, which blocks as goroutines do, perhaps until threads have ended. A thread that calls parkDuring parks meanwhile: wait is
// called on a goroutine, because the threads may need the caller's carrier.
func parkDuring(wait func()) {
	me := Current()
	if me == nil || Simulating() {
		wait()
		return
	}
	w := NewLooseWaiter(me)
	go func() {
		wait()
		w.Wake()
	}()
	w.Wait(Pause{State: flight.StateWaiting, Reason: flight.ReasonCondition})
}
