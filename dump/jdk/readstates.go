package jdk

import (
	"strings"

	"github.com/vtscope/vtscope/runtime/flight"
)

var statesByName, reasonsByName = func() (map[string]flight.State, map[string]flight.Reason) {
	states, reasons := map[string]flight.State{}, map[string]flight.Reason{}
	for s := flight.StateFree + 1; s < flight.StateCount; s++ {
		states[s.String()] = s
	}
	for why := range flight.ReasonCount {
		reasons[why.String()] = why
	}
	return states, reasons
}()

// A clue tells from a frame near the top of a stack why a thread of Java waits.
type clue struct {
	call   string
	state  flight.State // if the dump has none
	reason flight.Reason
}

var clues = []clue{
	{"java.lang.Thread.sleep", flight.StateTimedParked, flight.ReasonSleep},
	{"java.lang.Object.wait", flight.StateWaiting, flight.ReasonCondition},
	{"java.util.concurrent.StructuredTaskScope", flight.StateParked, flight.ReasonScopeJoin},
	{"jdk.internal.misc.ThreadFlock.await", flight.StateParked, flight.ReasonScopeJoin},
	{"java.lang.VirtualThread.joinNanos", flight.StateParked, flight.ReasonJoin},
	{"java.lang.Thread.join", flight.StateParked, flight.ReasonJoin},
	{"sun.nio.ch.", flight.StateParked, flight.ReasonIO},
	{"java.util.concurrent.locks.AbstractQueuedSynchronizer$ConditionObject", flight.StateWaiting, flight.ReasonCondition},
	{"java.util.concurrent.locks.AbstractQueuedSynchronizer.", flight.StateParked, flight.ReasonLock},
	{"java.util.concurrent.locks.LockSupport.park", flight.StateParked, flight.ReasonPark},
}

// nearTop is how many frames are looked at for clues.
const nearTop = 6

// clueOf returns the first clue that a stack has, nil for none.
func clueOf(stack []string) *clue {
	for i := range clues {
		for _, f := range stack[:min(len(stack), nearTop)] {
			if _, f, _ = cutModule(f); strings.HasPrefix(f, clues[i].call) {
				return &clues[i]
			}
		}
	}
	return nil
}

// state returns the state of a thread of Java, and why it waits.
func (r *reader) state(j *threadJSON, c *clue) (flight.State, flight.Reason) {
	if c == nil {
		c = &clue{state: flight.StateMounted}
	}
	switch j.state {
	case stateNew:
		return flight.StateNew, flight.ReasonNone
	case stateRunnable:
		if j.virtual && !j.mounted {
			return flight.StateRunnable, flight.ReasonNone
		}
		return flight.StateMounted, flight.ReasonNone
	case stateBlocked:
		return flight.StateBlocked, flight.ReasonLock
	case stateWaiting, stateTimedWaiting:
		state := flight.StateParked
		switch {
		case j.waitingOn != "":
			return flight.StateWaiting, flight.ReasonCondition
		case j.virtual && j.mounted:
			state = flight.StatePinned
		case j.state == stateTimedWaiting:
			state = flight.StateTimedParked
		}
		return state, c.reason
	case "TERMINATED":
		return flight.StateDone, flight.ReasonNone
	}
	r.guessed = true
	return c.state, c.reason
}
