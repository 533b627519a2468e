package jdk

import (
	"strconv"
	"strings"

	"github.com/vtscope/vtscope/runtime/flight"
)

// The states of java.lang.Thread.State.
const (
	stateNew          = "NEW"
	stateRunnable     = "RUNNABLE"
	stateBlocked      = "BLOCKED"
	stateWaiting      = "WAITING"
	stateTimedWaiting = "TIMED_WAITING"
)

// states are what the states of threads are called; of some of them when they wait with a time limit. A thread that is done is left out.
var states = [flight.StateCount]struct{ name, limited string }{
	flight.StateNew:         {stateNew, ""},
	flight.StateRunnable:    {stateRunnable, ""},
	flight.StateMounted:     {stateRunnable, ""},
	flight.StateParked:      {stateWaiting, stateTimedWaiting},
	flight.StateTimedParked: {stateTimedWaiting, stateTimedWaiting},
	flight.StateBlocked:     {stateBlocked, ""}, // the JDK has no limit there: see the extras
	flight.StateWaiting:     {stateWaiting, stateTimedWaiting},
	flight.StatePinned:      {stateWaiting, stateTimedWaiting},
	flight.StateHibernated:  {stateWaiting, ""},
}

func stateName(s flight.State, limited bool) string {
	if limited && states[s].limited != "" {
		return states[s].limited
	}
	return states[s].name
}

// A tie is how the JDK tells what a thread waits for.
type tie uint8

const (
	free      tie = iota
	parkedFor     // "parkBlocker", "parking to wait for"
	blockedOn     // "blockedOn", "waiting to lock"
	waitingOn     // "waitingOn", "waiting on"
)

// tieOf returns how the JDK tells what a thread in a state waits for.
func tieOf(s flight.State, b flight.Blocker) tie {
	if k := b.Kind(); k == flight.BlockedByNone || k == flight.BlockedByTimer || k >= flight.BlockerKindCount {
		return free
	}
	switch s {
	case flight.StateBlocked:
		return blockedOn
	case flight.StateWaiting:
		return waitingOn
	case flight.StateParked, flight.StateTimedParked, flight.StatePinned:
		return parkedFor
	}
	return free
}

// appendIdentity writes what stands for an object: its class and a number.
func appendIdentity(to []byte, b flight.Blocker) []byte {
	to = append(to, flight.BlockerKinds[b.Kind()].Name...)
	to = append(to, '@')
	return strconv.AppendUint(to, b.ID(), 16)
}

// cutIdentity splits a name such as checkout/jdk.internal.misc.ThreadFlock$ThreadContainerImpl@1f in checkout, the class, and the number.
func cutIdentity(name string) (label, class string, id uint64, ok bool) {
	at := strings.LastIndexByte(name, '@')
	if at < 0 {
		return name, "", 0, false
	}
	id, err := strconv.ParseUint(name[at+1:], 16, 64)
	if err != nil {
		return name, "", 0, false
	}
	class = name[:at]
	if slash := strings.LastIndexByte(class, '/'); slash >= 0 {
		label, class = class[:slash], class[slash+1:]
	}
	return label, class, id, true
}

// carrierBase is added to the number of a carrier, so that it is the tid of no thread: our carriers are goroutines.
const carrierBase = 1 << 32
