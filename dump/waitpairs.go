package dump

import (
	"slices"

	"github.com/vtscope/vtscope/runtime/flight"
)

// manyPairs are so many that what is kept of each counts.
const manyPairs = 16_384

// A waiter is a thread or goroutine that waits, as far as the graph needs it.
type waiter struct {
	party     flight.Party
	since     flight.Ticks
	blocker   flight.Blocker
	stack     flight.StackID
	scope     flight.ScopeIndex
	name      flight.NameRef
	state     flight.State
	scheduler flight.SchedulerID
	carrier   flight.CarrierID
	timed     bool
	open      bool // not for all that keeps what it waits for to go on, so it is in no circle
}

func waiterOf(row *flight.ThreadRow) waiter {
	return waiter{
		flight.PartyThread(row.ID), row.Since, row.Blocker, row.Stack, row.Scope, row.Name, row.State, row.Scheduler, row.Carrier,
		row.Limited || row.State == flight.StateTimedParked, waitsForSome(row.Blocker, row.Reason),
	}
}

// waitsForSome reports whether who waits for the threads of a scope goes on when some have ended: one that is to be forked waits for room.
func waitsForSome(b flight.Blocker, why flight.Reason) bool {
	return b.Kind() == flight.BlockedByScope && why != flight.ReasonScopeJoin
}

// waits reports whether it waits for something that has to happen, so that it may be for ever.
func (w *waiter) waits() bool {
	switch w.state {
	case flight.StateParked, flight.StateBlocked, flight.StateWaiting, flight.StatePinned:
		return !w.timed && !w.open && w.blocker != 0
	case flight.StateRunnable:
		return w.blocker.Kind() == byCarriers
	}
	return false
}

// A waitPair is the threads and goroutines of one scope that wait for one thing.
type waitPair struct {
	scope      flight.ScopeIndex
	blocker    flight.Blocker
	n          int32
	timed      int32
	open       int32
	goroutines int32
	newest     flight.Ticks // since when the last of them waits
	first      waiter       // that waits longest
}

// endless returns how many of them may wait for ever.
func (p *waitPair) endless() int { return int(p.n - p.timed - p.open) }

// waitPairs finds pairs by scope and blocker: a hash table with open addressing, as [groupIndex] is, since a million threads ask it.
type waitPairs struct {
	all   []waitPair
	hint  int        // how many there may be
	slots []pairSlot // a power of two, at most half in use
	shift uint8
	last  int32 // position of the pair before
}

func (x *waitPairs) add(w waiter) {
	i := x.last
	if len(x.all) == 0 || x.all[i].scope != w.scope || x.all[i].blocker != w.blocker {
		i = x.find(w.scope, w.blocker)
	}
	x.last = i
	p := &x.all[i]
	p.n++
	switch {
	case w.timed:
		p.timed++
	case w.open:
		p.open++
	}
	if w.party.Thread() == 0 {
		p.goroutines++
	}
	p.newest = max(p.newest, w.since)
	// One that may wait for ever stands for the pair, if there is one: it may be in a deadlock.
	ends, does := w.timed || w.open, p.first.timed || p.first.open
	if p.n == 1 || ends == does && earlier(w.since, p.first.since) || does && !ends {
		p.first = w
	}
}

// earlier reports whether one has waited since before another; nothing is before what is not known.
func earlier(a, b flight.Ticks) bool { return a != 0 && (b == 0 || a < b) }

// A pairSlot holds 1 + the position of a pair, 0 for none, and a part of its hash, so that most others need not be looked at.
type pairSlot struct {
	at  int32
	tag uint32
}

func (x *waitPairs) find(scope flight.ScopeIndex, b flight.Blocker) int32 {
	if 2*len(x.all) >= len(x.slots) {
		x.grow()
	}
	s := x.slot(scope, b)
	if s.at == 0 {
		x.all = append(x.all, waitPair{scope: scope, blocker: b})
		s.at = int32(len(x.all))
	}
	return s.at - 1
}

// slot returns the slot of a pair, or the empty one where it belongs.
func (x *waitPairs) slot(scope flight.ScopeIndex, b flight.Blocker) *pairSlot {
	const odd = 0x9e3779b97f4a7c15
	h := (uint64(b)*odd ^ uint64(scope)) * odd
	h ^= h >> 32
	mask, tag := uint64(len(x.slots)-1), uint32(h>>32)
	for i := h * odd >> x.shift; ; i++ {
		s := &x.slots[i&mask]
		if s.at == 0 {
			s.tag = tag
			return s
		}
		if s.tag == tag && x.all[s.at-1].scope == scope && x.all[s.at-1].blocker == b {
			return s
		}
	}
}

func (x *waitPairs) grow() {
	size := max(64, 4*len(x.slots))
	if len(x.all) > manyPairs && len(x.slots) < 4*x.hint { // there may be one for each thread: not by and by
		for size < 2*x.hint {
			size *= 2
		}
		x.all = slices.Grow(x.all, x.hint)
	}
	x.slots = make([]pairSlot, size)
	x.shift = 64
	for n := size; n > 1; n /= 2 {
		x.shift--
	}
	for i := range x.all {
		x.slot(x.all[i].scope, x.all[i].blocker).at = int32(i) + 1
	}
}

// An idBits has the threads that were added, and some more.
type idBits [1 << 14]uint64

func (b *idBits) add(id flight.ThreadID) {
	b[id>>6%flight.ThreadID(len(b))] |= 1 << (id & 63)
}

func (b *idBits) has(id flight.ThreadID) bool {
	return b[id>>6%flight.ThreadID(len(b))]&(1<<(id&63)) != 0
}

// An idSet is threads that somebody asks for. Most that are not in it are told by one bit.
type idSet struct {
	bits idBits
	rows map[flight.ThreadID]waiter // those that were found
	want map[flight.ThreadID]bool   // those that were not
}

func newIDSet() *idSet {
	return &idSet{rows: map[flight.ThreadID]waiter{}, want: map[flight.ThreadID]bool{}}
}

func (s *idSet) add(id flight.ThreadID) {
	if id == 0 {
		return
	}
	s.bits.add(id)
	if _, ok := s.rows[id]; !ok {
		s.want[id] = true
	}
}

// meet keeps what the row says if its thread is asked for.
func (s *idSet) meet(row *flight.ThreadRow) {
	if s.bits.has(row.ID) && s.want[row.ID] {
		delete(s.want, row.ID)
		s.rows[row.ID] = waiterOf(row)
	}
}

// A waitingSet has the threads that wait without a time limit for what others hold or do, and perhaps some more.
type waitingSet [1 << 18]uint64

func (s *waitingSet) add(id flight.ThreadID) {
	s[id>>6%flight.ThreadID(len(s))] |= 1 << (id & 63)
}

func (s *waitingSet) has(id flight.ThreadID) bool {
	return s[id>>6%flight.ThreadID(len(s))]&(1<<(id&63)) != 0
}
