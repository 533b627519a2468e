package coro

import "unsafe"

// OnPin, if it is not nil, is called with a routine's task when a pin section begins (+1) or ends (-1) on it. Package sched sets it in
// its init: a task counts the sections of all routines that it executes on, so that a park needs to look at one word.
var OnPin func(task unsafe.Pointer, by int32)

// Pin begins (+1) or ends (-1) a pin section of the calling routine. On a goroutine that is no routine it does nothing:
// nothing there can be suspended. It returns the number of sections that are open, or -1 if there is none to end.
func Pin(by int32) (open int32) {
	r := Self()
	if r == nil {
		return 0
	}
	if r.Pins+by < 0 {
		return -1
	}
	r.Pins += by
	if r.Task != nil && OnPin != nil {
		OnPin(r.Task, by)
	}
	return r.Pins
}

// Unpin ends all pin sections of the routine, whose body has ended without doing so.
func (r *Routine) Unpin() {
	if r.Pins != 0 {
		if r.Task != nil && OnPin != nil {
			OnPin(r.Task, -r.Pins)
		}
		r.Pins = 0
	}
}
