package recording

import (
	"time"

	"github.com/vtscope/vtscope/runtime/flight"
)

// A block has the threads of some slots: as they are; or smaller, where no event has touched one of them since the state that has them. Of a million threads that wait
// the second takes 64 MB, the first 120. Without either nobody has the slots.
type block struct {
	full  *[blockSlots]tracked
	still []still // of all slots; nil with full
}

// A still thread is what a state of very many has of one. It has no pointers: the collector does not look at it.
type still struct {
	id        flight.ThreadID
	scope     flight.ScopeID
	since     time.Duration // and created
	blocker   flight.Blocker
	waker     flight.ThreadID
	stack     flight.StackID
	mounts    uint32
	pins      uint32
	flags     flight.RecordFlags
	scheduler flight.SchedulerID
	carrier   flight.CarrierID
	state     flight.State
	reason    flight.Reason
	limited   bool
}

// canBeStill reports whether a still thread can say all that is known of th.
func canBeStill(th *Thread) bool {
	return th.ID != 0 && th.Name == "" && th.Creator == 0 && th.Created == th.Since && !th.Incomplete
}

func stillOf(th *Thread) still {
	return still{
		th.ID, th.Scope, th.Since, th.Blocker, th.Waker, th.Stack, th.Mounts, th.Pins, th.Flags, th.Scheduler, th.Carrier, th.State, th.Reason, th.Limited,
	}
}

func (s *still) thread(slot int) Thread {
	return Thread{
		ID: s.id, Scope: s.scope, Since: s.since, Created: s.since, Blocker: s.blocker, Waker: s.waker, Stack: s.stack, Mounts: s.mounts, Pins: s.pins,
		Flags: s.flags, Scheduler: s.scheduler, Carrier: s.carrier, State: s.state, Reason: s.reason, Limited: s.limited, Slot: slot,
	}
}

// expand makes the block full; first is the slot that it begins with.
func (b *block) expand(first int) {
	full := new([blockSlots]tracked)
	for i := range b.still {
		full[i] = tracked{Thread: b.still[i].thread(first + i), live: true, started: true}
	}
	b.full, b.still = full, nil
}

// clear makes the slots free.
func (b *block) clear() {
	b.still = nil
	if b.full != nil {
		clear(b.full[:])
	}
}

// keepStill gives a whole block of slots to the first of the threads, if they can be still. It reports whether it did.
func (t *Tracker) keepStill(threads []Thread) bool {
	if len(threads) < blockSlots || t.used%blockSlots != 0 {
		return false
	}
	threads = threads[:blockSlots]
	for i := range threads {
		if !canBeStill(&threads[i]) {
			return false
		}
	}
	all := make([]still, blockSlots)
	for i := range threads {
		if t.byID.find(threads[i].ID) != nil { // a damaged file has it twice
			for _, s := range all[:i] {
				t.byID.remove(s.id)
			}
			return false
		}
		all[i] = stillOf(&threads[i])
		t.byID.put(threads[i].ID, int32(t.used+i))
	}
	at := t.used / blockSlots
	if at == len(t.blocks) {
		t.blocks = append(t.blocks, block{})
	}
	t.blocks[at] = block{still: all}
	t.used += blockSlots
	return true
}
