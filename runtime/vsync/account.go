package vsync

import (
	"sync/atomic"

	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/internal/coro"
	"github.com/vtscope/vtscope/runtime/internal/spin"
	"github.com/vtscope/vtscope/runtime/sched"
)

// A synchronizer is what its waiters tell of what they wait for.
type synchronizer interface {
	blocker() flight.Blocker
	capacity() uint64 // as a [flight.BlockerSpec] has it
	account() *account
	// tell tells r who holds it. The caller has the lock of its account, and of nothing else.
	tell(r *flight.BlockerRecord, waiting int)
}

// An account tells the flight file of a synchronizer, while somebody waits for it. Who waits keeps it: nobody else looks at it.
//
//	A1  record is open while waiting is not 0, unless the recorder is off or has no room.
//	A2  What it says of holders is right when those have come to rest: who begins to wait, waits again, or has waited, says who holds it then.
type account struct {
	spin.Mutex
	waiting int
	record  *flight.BlockerRecord
	label   *label // nil: it has none
	gifts   atomic.Pointer[gifts]
}

// A label is what somebody has said of a synchronizer.
type label struct {
	name string
	made flight.StackID
}

// made is the label of a synchronizer that the caller's caller makes.
func made() *label { return &label{made: flight.Default().Stack(2)} }

// setName is SetName of all synchronizers.
func (a *account) setName(name string) {
	if a.label == nil {
		a.label = &label{made: flight.Default().Stack(2)}
	}
	a.label.name = name
}

// name returns the name that setName gave, "" if it did not.
func (a *account) name() string {
	if a.label == nil {
		return ""
	}
	return a.label.name
}

// party is the caller, on which me is mounted.
func party(me *sched.Task) flight.Party {
	if me != nil {
		return flight.PartyThread(me.ID())
	}
	return flight.PartyGoroutine(coro.Goroutine())
}

// begin notes that one more waits for s.
func (a *account) begin(s synchronizer) {
	if flight.Default() == nil {
		return
	}
	a.Lock()
	a.waiting++
	if a.record == nil {
		spec := flight.BlockerSpec{Blocker: s.blocker(), Capacity: s.capacity()}
		if a.label != nil {
			spec.Name, spec.Made = a.label.name, a.label.made
		}
		a.record = flight.Default().OpenBlocker(spec, flight.Now())
	}
	s.tell(a.record, a.waiting)
	a.Unlock()
}

// end notes that one waits no more.
func (a *account) end(s synchronizer) {
	if flight.Default() == nil {
		return
	}
	a.Lock()
	if a.waiting--; a.waiting == 0 {
		flight.Default().CloseBlocker(a.record)
		a.record = nil
	} else {
		s.tell(a.record, a.waiting)
	}
	a.Unlock()
}

// again notes that who holds s may have changed.
func (a *account) again(s synchronizer) {
	if flight.Default() == nil {
		return
	}
	a.Lock()
	if a.record != nil {
		s.tell(a.record, a.waiting)
	}
	a.Unlock()
}

// holders are some of those who hold a synchronizer that many may hold.
type holders struct {
	slots [flight.HoldersKept]atomic.Uint64 // parties
	more  atomic.Int64                      // how many have found no slot
}

// note adds one.
func (h *holders) note(p flight.Party) {
	for i := range h.slots {
		if s := &h.slots[i]; s.Load() == 0 && s.CompareAndSwap(0, uint64(p)) {
			return
		}
	}
	h.more.Add(1)
}

// forget removes one. If it was noted as another, or not at all, nobody is known for certain any more, and all are forgotten.
func (h *holders) forget(p flight.Party) {
	for i := range h.slots {
		if s := &h.slots[i]; s.Load() == uint64(p) && s.CompareAndSwap(uint64(p), 0) {
			return
		}
	}
	if h.more.Load() > 0 {
		h.more.Add(-1)
		return
	}
	for i := range h.slots {
		h.slots[i].Store(0)
	}
}

// tell tells r who they are.
func (h *holders) tell(r *flight.BlockerRecord) {
	var some [flight.HoldersKept]flight.Holder
	n := 0
	for i := range h.slots {
		if p := flight.Party(h.slots[i].Load()); p != 0 {
			some[n].Party = p
			n++
		}
	}
	r.SetHolders(n+int(max(h.more.Load(), 0)), some[:n]...)
}
