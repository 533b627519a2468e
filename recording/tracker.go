package recording

import (
	"time"

	"github.com/vtscope/vtscope/runtime/flight"
)

// Strings resolves the names in events. A [Source] does, and so does a [flight.Reader].
type Strings interface {
	String(flight.StringID) string
}

// A Tracker follows what events do to threads and scopes. Its memory is bounded by the threads and scopes that live at a time.
//
//	T1  A thread is in slots, at its Slot, from the first event that moves it until it ends; in byID as long.
//	T2  A slot is free or has a thread. The one that became free last is used first.
//	T3  An event that is older than what is known of its thread moves nothing: it came late, and what followed it is known.
//	T4  A thread that was not seen to start has its id in ended when it has ended, for as long as maxEnded others: its start may come late, also after
//	    [Tracker.Reset]. Ids are not used again.
//	T5  With places no thread is in slots or byID.
type Tracker struct {
	strings Strings
	at      time.Duration
	blocks  []block
	used    int // slots ever used
	free    []int32
	byID    idTable[int32]
	places  *idTable[flight.ScopeID] // of the live threads, if no more is to be known of them; else nil
	asked   Thread                   // what Thread returned last, with places

	scopes   map[flight.ScopeID]*Scope
	byRecord map[flight.ScopeIndex]flight.ScopeID
	order    []flight.ScopeID // of scopes, as they were opened; closed ones are dropped now and then

	carriers   map[flight.CarrierID]flight.SchedulerID
	schedulers []Scheduler

	ended memory[struct{}]
	named memory[string] // of threads that are not known yet: a name comes before the start
}

const (
	blockSlots = 1024
	maxEnded   = 1 << 14
	maxNamed   = 1 << 10
)

// A tracked thread is one that lives, or has lived in the slot before.
type tracked struct {
	Thread
	live    bool
	paused  flight.State // what it was when it was last unparked: what it is again if its scheduler refuses it
	started bool         // its start was seen
}

// A Change is what an event did to the state of a thread.
type Change struct {
	Thread *Thread // as it is now, or was when it ended; nil if no thread changed. Valid until the next call of [Tracker.Apply]
	// What it was before. From is [flight.StateFree] if the thread was not known; then nothing else is.
	From    flight.State
	Reason  flight.Reason
	Stack   flight.StackID
	Blocker flight.Blocker
	Since   time.Duration
	For     time.Duration // from Since to the event: of runnable the delay until it was mounted, of mounted the slice, of the others the wait
}

// NewTracker returns a tracker that knows the root scope alone.
func NewTracker(s Strings) *Tracker {
	t := &Tracker{strings: s, ended: memory[struct{}]{most: maxEnded}}
	t.Reset(&State{})
	return t
}

// Reset makes the tracker know what s says, and nothing else. Slots are given anew, and what [Tracker.Thread] has returned means nothing any more.
func (t *Tracker) Reset(s *State) {
	if s.held != nil {
		strings, ended := t.strings, t.ended
		*t, s.held = *s.held, nil
		t.strings, t.ended, t.named = strings, ended, memory[string]{most: maxNamed}
		return
	}
	for i := range t.blocks {
		t.blocks[i].clear()
	}
	needed := min(len(t.blocks), len(s.Threads)/blockSlots+1)
	clear(t.blocks[needed:])
	*t = Tracker{
		strings: t.strings, at: s.At, blocks: t.blocks[:needed],
		byID:     t.byID.renewed(len(s.Threads)),
		scopes:   make(map[flight.ScopeID]*Scope, len(s.Scopes)+1),
		byRecord: map[flight.ScopeIndex]flight.ScopeID{},
		carriers: make(map[flight.CarrierID]flight.SchedulerID, len(s.Carriers)),
		ended:    t.ended,
		named:    memory[string]{most: maxNamed},
	}
	t.open(Scope{Name: "root", State: flight.ScopeOpen, Opened: s.At})
	for _, sc := range s.Scopes {
		t.open(sc)
	}
	t.add(s.Threads)
	t.serve(s)
}

// add makes threads of a state known.
func (t *Tracker) add(threads []Thread) {
	for left := threads; len(left) > 0; left = left[min(len(left), blockSlots):] {
		if t.keepStill(left) {
			continue
		}
		for i := range left[:min(len(left), blockSlots)] {
			if left[i].ID == 0 {
				continue
			}
			th := t.slotOf(left[i].ID)
			slot := th.Slot
			th.Thread = left[i]
			th.Slot, th.started = slot, true
		}
	}
}

// serve takes the carriers and schedulers of a state.
func (t *Tracker) serve(s *State) {
	for _, c := range s.Carriers {
		t.carriers[c.ID] = c.Scheduler
	}
	t.schedulers = append(t.schedulers, s.Scheduler...)
}

// At returns the time of the newest event, or of the state.
func (t *Tracker) At() time.Duration { return t.at }

// Len returns how many threads live, and Slots how many slots there are: each Slot is less.
func (t *Tracker) Len() int {
	if t.places != nil {
		return t.places.used
	}
	return t.byID.used
}
func (t *Tracker) Slots() int { return t.used }

// ids returns the live threads.
func (t *Tracker) ids() *idTable[struct{}] {
	all := newIDTable[struct{}](t.Len())
	t.Threads(func(th *Thread) bool { all.put(th.ID, struct{}{}); return true })
	return &all
}

// Thread returns a live thread, or nil. It is valid until the thread ends; of one whose scope alone is known ([Observe]) until the next call.
func (t *Tracker) Thread(id flight.ThreadID) *Thread {
	if t.places != nil {
		scope := t.places.find(id)
		if scope == nil {
			return nil
		}
		t.asked = placed(id, *scope)
		return &t.asked
	}
	if th := t.find(id); th != nil {
		return &th.Thread
	}
	return nil
}

// Scope returns an open scope, or nil. It is valid until the scope is closed.
func (t *Tracker) Scope(id flight.ScopeID) *Scope { return t.scopes[id] }

// Scheduler returns the scheduler of a carrier, 0 if it is not known.
func (t *Tracker) Scheduler(c flight.CarrierID) flight.SchedulerID { return t.carriers[c] }

// Threads calls f with each live thread, in the order of slots, until it returns false. The thread is valid during the call, and is not to be changed.
func (t *Tracker) Threads(f func(*Thread) bool) {
	if t.places != nil {
		var th Thread
		t.places.all(func(id flight.ThreadID, scope flight.ScopeID) bool {
			th = placed(id, scope)
			return f(&th)
		})
		return
	}
	var asked Thread
	for i := range t.blocks {
		b := &t.blocks[i]
		for k := range b.still {
			if asked = b.still[k].thread(i*blockSlots + k); !f(&asked) {
				return
			}
		}
		if b.full == nil {
			continue
		}
		for k := range b.full {
			if th := &b.full[k]; th.live && !f(&th.Thread) {
				return
			}
		}
	}
}

// Scopes calls f with each open scope, the root first and a parent before its children, until it returns false.
func (t *Tracker) Scopes(f func(*Scope) bool) {
	t.tidy()
	for _, id := range t.order {
		if !f(t.scopes[id]) {
			return
		}
	}
}

// State returns a copy of all that is known. Of a tracker with places there is none.
func (t *Tracker) State() *State {
	s := &State{At: t.at, Threads: make([]Thread, 0, t.byID.used), Scopes: make([]Scope, 0, len(t.scopes))}
	t.Threads(func(th *Thread) bool { s.Threads = append(s.Threads, *th); return true })
	t.tidy()
	for _, id := range t.order {
		s.Scopes = append(s.Scopes, *t.scopes[id])
	}
	for id, scheduler := range t.carriers {
		s.Carriers = append(s.Carriers, Carrier{id, scheduler})
	}
	s.Scheduler = append(s.Scheduler, t.schedulers...)
	return s
}

// give returns all that is known, for another tracker. This one must not be used any more.
func (t *Tracker) give() *State { return &State{At: t.at, held: t} }

func (t *Tracker) slot(i int32) *tracked {
	b := &t.blocks[i/blockSlots]
	if b.full == nil {
		b.expand(int(i) / blockSlots * blockSlots)
	}
	return &b.full[i%blockSlots]
}

func (t *Tracker) find(id flight.ThreadID) *tracked {
	if i := t.byID.find(id); i != nil {
		return t.slot(*i)
	}
	return nil
}

// slotOf returns the thread of an id, which gets a slot if it has none.
func (t *Tracker) slotOf(id flight.ThreadID) *tracked {
	if th := t.find(id); th != nil {
		return th
	}
	var i int32
	if n := len(t.free); n > 0 {
		i = t.free[n-1]
		t.free = t.free[:n-1]
	} else {
		i = int32(t.used)
		if t.used++; t.used > len(t.blocks)*blockSlots {
			t.blocks = append(t.blocks, block{})
		}
	}
	t.byID.put(id, i)
	th := t.slot(i)
	*th = tracked{live: true, Thread: Thread{ID: id, Carrier: flight.NoCarrier, Slot: int(i)}}
	return th
}

// Apply takes note of an event. Events of kinds that move no thread change nothing but names and scopes; one of a thread that was never seen makes it known.
func (t *Tracker) Apply(e *Event) Change {
	t.at = max(t.at, e.Time)
	if t.places != nil && t.place(e) {
		return Change{}
	}
	switch e.Kind {
	case flight.EventMount, flight.EventPark, flight.EventUnmount, flight.EventUnpark, flight.EventYield, flight.EventThreadEnd,
		flight.EventThreadStart, flight.EventSubmitFailed:
		return t.move(e)
	case flight.EventDurableHibernate, flight.EventDurableResume, flight.EventDurablePark, flight.EventDurableLeave:
		return t.hibernation(e)
	case flight.EventPinned:
		if th := t.find(e.Thread); th != nil {
			th.Pins++
		}
	case flight.EventThreadName:
		if th := t.find(e.Thread); th != nil {
			th.Name = nameField.Text(e.More)
		} else {
			t.named.put(e.Thread, nameField.Text(e.More))
		}
	case flight.EventScopeOpen, flight.EventScopeFork, flight.EventScopeJoin, flight.EventScopeClose:
		t.scope(e)
	case flight.EventCarrierStart:
		t.carriers[e.Carrier] = flight.SchedulerID(e.Ref)
	case flight.EventCarrierStop:
		delete(t.carriers, e.Carrier)
	}
	return Change{}
}

// move applies an event of a kind that moves threads.
func (t *Tracker) move(e *Event) Change {
	th := t.find(e.Thread)
	known := th != nil
	if !known {
		if !t.makesKnown(e) {
			return Change{}
		}
		th = t.slotOf(e.Thread)
		th.Incomplete = e.Kind != flight.EventThreadStart
		th.Since, th.Created = e.Time, e.Time
		th.Name, _ = t.named.take(e.Thread)
	}
	c := Change{Thread: &th.Thread, From: th.State, Reason: th.Reason, Stack: th.Stack, Blocker: th.Blocker, Since: th.Since, For: e.Time - th.Since}
	if e.Kind == flight.EventThreadStart {
		t.start(th, e)
		if known && th.State != flight.StateNew {
			return Change{} // T3
		}
		th.enter(flight.StateRunnable, e.Time)
		return c
	}
	if known && e.Time < th.Since {
		return Change{} // T3
	}
	if !th.apply(e, known) {
		return Change{}
	}
	if e.Kind == flight.EventThreadEnd {
		t.end(th)
	}
	if th.Scheduler == 0 && e.Kind == flight.EventMount {
		th.Scheduler = t.carriers[e.Carrier]
	}
	return c
}

// hibernation applies an event of a durable thread. One that hibernates is a thread of its own, which ends when that goes on, or leaves the process.
func (t *Tracker) hibernation(e *Event) Change {
	th := t.find(e.Thread)
	switch {
	case e.Kind == flight.EventDurableHibernate && th == nil && e.Thread != 0:
		th = t.slotOf(e.Thread)
		th.Created = e.Time
		th.Name, _ = t.named.take(e.Thread)
	case th == nil || th.State != flight.StateHibernated:
		return Change{}
	}
	c := Change{Thread: &th.Thread, From: th.State, Reason: th.Reason, Stack: th.Stack, Blocker: th.Blocker, Since: th.Since, For: e.Time - th.Since}
	if e.Kind != flight.EventDurableHibernate {
		th.enter(flight.StateDone, e.Time)
		t.end(th)
		return c
	}
	th.enter(flight.StateHibernated, e.Time)
	th.Reason, th.Stack, th.Blocker = e.Code, flight.StackID(e.Ref), flight.Blocker(e.Arg)&^limited
	return c
}

// makesKnown reports whether an event tells of a thread that lives on.
func (t *Tracker) makesKnown(e *Event) bool {
	switch e.Kind {
	case flight.EventSubmitFailed:
		return false // of a start: there was none
	case flight.EventUnmount:
		if e.Code == flight.ReasonEnd || e.Code == flight.ReasonPanic || e.Code == flight.ReasonGoexit {
			return false // it follows the end
		}
	case flight.EventThreadStart:
		if _, over := t.ended.take(e.Thread); over {
			return false // T4
		}
	}
	return e.Thread != 0
}

// start notes what a start tells beside the state.
func (t *Tracker) start(th *tracked, e *Event) {
	th.started, th.Incomplete = true, false
	th.Created = e.Time
	th.Creator = flight.ThreadID(e.Arg)
	th.Flags = flight.RecordFlags(e.Code)
	if id, ok := t.byRecord[flight.ScopeIndex(e.Ref)]; ok {
		th.Scope = id
	} else {
		th.Incomplete = true
	}
}

// apply moves the thread as any event but a start says, and reports whether it did.
func (th *tracked) apply(e *Event, known bool) bool {
	switch e.Kind {
	case flight.EventMount:
		if th.State == flight.StateMounted && th.Since == e.Time && known {
			return false // what is known includes it already
		}
		th.enter(flight.StateMounted, e.Time)
		th.Carrier = e.Carrier
		th.Mounts++
	case flight.EventPark:
		b := flight.Blocker(e.Arg)
		th.Limited = b&limited != 0
		th.enter(parkedState(e.Code, th.Limited), e.Time)
		th.Reason, th.Stack, th.Blocker = e.Code, flight.StackID(e.Ref), b&^limited
		if th.Carrier == flight.NoCarrier {
			th.Carrier = e.Carrier
		}
	case flight.EventUnpark:
		if known && !th.waits() {
			return false // it was given a permit, or is pinned
		}
		was, why, at := th.State, th.Reason, th.Stack
		th.enter(flight.StateRunnable, e.Time)
		th.paused, th.Reason, th.Stack = was, why, at
		th.Waker = flight.ThreadID(e.Arg)
	case flight.EventUnmount:
		if known && th.State != flight.StateMounted && th.State != flight.StatePinned {
			return false // the event before told why
		}
		if e.Code == flight.ReasonYield || e.Code == flight.ReasonNone {
			th.enter(flight.StateRunnable, e.Time)
		} else {
			th.enter(parkedState(e.Code, false), e.Time)
		}
		th.Reason = e.Code
	case flight.EventYield:
		// Without an unmount at its side the thread keeps its carrier.
		if known {
			return false
		}
		th.enter(flight.StateMounted, e.Time)
		th.Carrier = e.Carrier
	case flight.EventSubmitFailed:
		if th.State != flight.StateRunnable || th.paused == flight.StateFree {
			return false
		}
		why, at := th.Reason, th.Stack
		th.enter(th.paused, e.Time)
		th.Reason, th.Stack = why, at
	case flight.EventThreadEnd:
		th.enter(flight.StateDone, e.Time)
		th.Reason = e.Code
	}
	return true
}

// enter moves the thread to a state without reason, stack and blocker.
func (th *tracked) enter(s flight.State, at time.Duration) {
	th.State, th.Since = s, at
	th.Reason, th.Stack, th.Blocker = 0, 0, 0
	if s == flight.StateRunnable || s == flight.StateMounted {
		th.Limited = false
	}
	th.paused = flight.StateFree
}

// waits reports whether the thread can be unparked.
func (th *tracked) waits() bool {
	switch th.State {
	case flight.StateParked, flight.StateTimedParked, flight.StateBlocked, flight.StateWaiting, flight.StateHibernated:
		return true
	}
	return false
}

// parkedState returns the state of a thread that has parked for a reason.
func parkedState(why flight.Reason, limited bool) flight.State {
	switch {
	case limited || why == flight.ReasonSleep:
		return flight.StateTimedParked
	case why == flight.ReasonLock:
		return flight.StateBlocked
	case why == flight.ReasonPark || why == flight.ReasonNone || why == flight.ReasonRejected:
		return flight.StateParked
	}
	return flight.StateWaiting
}

// limited is the bit of a blocker that tells of a time limit.
const limited = flight.Blocker(1 << 63)

// end frees the slot of a thread. What it was stays readable until the slot is used again.
func (t *Tracker) end(th *tracked) {
	th.live = false
	t.byID.remove(th.ID)
	t.free = append(t.free, int32(th.Slot))
	if !th.started {
		t.ended.put(th.ID, struct{}{})
	}
}

// A memory keeps what was put in it last, of so many threads at most.
type memory[V any] struct {
	most   int
	values map[flight.ThreadID]V
	keys   []flight.ThreadID // a ring; those taken stay until it comes round
	next   int
}

func (m *memory[V]) put(id flight.ThreadID, v V) {
	if m.values == nil {
		m.values = map[flight.ThreadID]V{}
	}
	if _, ok := m.values[id]; !ok {
		if len(m.keys) < m.most {
			m.keys = append(m.keys, id)
		} else {
			delete(m.values, m.keys[m.next])
			m.keys[m.next] = id
			m.next = (m.next + 1) % m.most
		}
	}
	m.values[id] = v
}

func (m *memory[V]) take(id flight.ThreadID) (V, bool) {
	v, ok := m.values[id]
	if ok {
		delete(m.values, id)
	}
	return v, ok
}

// Resolve makes the tracker take the names of scopes from s from now on.
func (t *Tracker) Resolve(s Strings) { t.strings = s }
