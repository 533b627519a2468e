package sched

import "sync/atomic"

// A handOff is a place for the one task that a carrier serves next. Only the carrier puts; anybody may take.
//
//	H1  task is written by the carrier while state is empty, and read by whoever moved state away from full.
//	H2  A thief goes through taking, so that the carrier does not put before the thief has read.
//
// The state is a word of its own because atomic operations on pointers are calls, and this is on the path of
// every switch.
type handOff struct {
	state atomic.Uint32
	task  *Task
}

const (
	slotEmpty uint32 = iota
	slotFull
	slotTaking
)

// put fills the slot, if it is empty. Only the carrier calls it.
func (h *handOff) put(t *Task) bool {
	if h.state.Load() != slotEmpty {
		return false
	}
	h.task = t
	h.state.Store(slotFull)
	return true
}

// take empties the slot, for the carrier itself.
func (h *handOff) take() *Task {
	if h.state.Load() != slotFull || !h.state.CompareAndSwap(slotFull, slotEmpty) {
		return nil
	}
	return h.task
}

// steal empties the slot, for anybody else.
func (h *handOff) steal() *Task {
	if h.state.Load() != slotFull || !h.state.CompareAndSwap(slotFull, slotTaking) {
		return nil
	}
	t := h.task
	h.state.Store(slotEmpty)
	return t
}

func (h *handOff) full() bool { return h.state.Load() == slotFull }
