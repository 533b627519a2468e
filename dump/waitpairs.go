package dump

import "github.com/vtscope/vtscope/runtime/flight"

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
}

func waiterOf(row *flight.ThreadRow) waiter {
	return waiter{
		flight.PartyThread(row.ID), row.Since, row.Blocker, row.Stack, row.Scope, row.Name, row.State, row.Scheduler, row.Carrier,
		row.Limited || row.State == flight.StateTimedParked,
	}
}

// waits reports whether it waits for something that has to happen, so that it may be for ever.
func (w *waiter) waits() bool {
	switch w.state {
	case flight.StateParked, flight.StateBlocked, flight.StateWaiting, flight.StatePinned:
		return !w.timed && w.blocker != 0
	case flight.StateRunnable:
		return w.blocker.Kind() == byCarriers
	}
	return false
}

// A waitPair is the threads and goroutines of one scope that wait for one thing.
type waitPair struct {
	scope      flight.ScopeIndex
	blocker    flight.Blocker
	n          int
	timed      int
	goroutines int
	newest     flight.Ticks // since when the last of them waits
	first      waiter       // that waits longest
}

// endless reports whether some of them wait without a time limit.
func (p *waitPair) endless() bool { return p.n > p.timed }

// waitPairs finds pairs by scope and blocker: a hash table with open addressing, as [groupIndex] is, since a million threads ask it.
type waitPairs struct {
	all   []waitPair
	slots []int32 // 1 + position in all; a power of two, at most half in use
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
	if w.timed {
		p.timed++
	}
	if w.party.Thread() == 0 {
		p.goroutines++
	}
	p.newest = max(p.newest, w.since)
	// One without a time limit stands for the pair, if there is one: it may be in a deadlock.
	if p.n == 1 || w.timed == p.first.timed && w.since < p.first.since || p.first.timed && !w.timed {
		p.first = w
	}
}

func (x *waitPairs) find(scope flight.ScopeIndex, b flight.Blocker) int32 {
	if 2*len(x.all) >= len(x.slots) {
		x.grow()
	}
	s := x.slot(scope, b)
	if *s == 0 {
		x.all = append(x.all, waitPair{scope: scope, blocker: b})
		*s = int32(len(x.all))
	}
	return *s - 1
}

func (x *waitPairs) slot(scope flight.ScopeIndex, b flight.Blocker) *int32 {
	const odd = 0x9e3779b97f4a7c15
	h := (uint64(b)*odd ^ uint64(scope)) * odd
	mask := uint64(len(x.slots) - 1)
	for i := h >> x.shift; ; i++ {
		s := &x.slots[i&mask]
		if *s == 0 || x.all[*s-1].scope == scope && x.all[*s-1].blocker == b {
			return s
		}
	}
}

func (x *waitPairs) grow() {
	size := max(64, 4*len(x.slots))
	x.slots = make([]int32, size)
	x.shift = 64
	for n := size; n > 1; n /= 2 {
		x.shift--
	}
	for i := range x.all {
		*x.slot(x.all[i].scope, x.all[i].blocker) = int32(i) + 1
	}
}

// An idSet is threads that somebody asks for. Most that are not in it are told by one bit.
type idSet struct {
	bits [1 << 14]uint64
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
	s.bits[id>>6%flight.ThreadID(len(s.bits))] |= 1 << (id & 63)
	if _, ok := s.rows[id]; !ok {
		s.want[id] = true
	}
}

// meet keeps what the row says if its thread is asked for.
func (s *idSet) meet(row *flight.ThreadRow) {
	if s.bits[row.ID>>6%flight.ThreadID(len(s.bits))]&(1<<(row.ID&63)) != 0 && s.want[row.ID] {
		delete(s.want, row.ID)
		s.rows[row.ID] = waiterOf(row)
	}
}
