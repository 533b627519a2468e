package profile

import (
	"cmp"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/vtscope/vtscope/dump"
	"github.com/vtscope/vtscope/recording"
	"github.com/vtscope/vtscope/runtime/flight"
)

// CollectorOptions say what a [Collector] keeps. The zero value is usable.
type CollectorOptions struct {
	// Samples is how many distinct samples are kept: 20,000 by default, at most a million. What happens beyond is summed by what it was and its reason, and said.
	Samples int
	// Blockers tells what is waited for; nil: blockers have their kinds alone. It is asked on the goroutine of the observer, at most each second.
	Blockers BlockerRows
	// Live tells that time goes on when there are no events, as it does in a process that is followed and not in a recording.
	Live bool
}

// A Collector counts how often and how long threads parked, waited for carriers, were pinned and mounted. It is a [recording.Observer].
//
//	P1  Each park, mount and pinned event counts once, whatever is known of its thread: so counts and the events that were lost are together what the
//	    process counted, as far as its settings let it record all.
//	P2  The time that a thread is in a state counts from the moment that it is known to be, until it is known to have left it; so the time of a stretch is what
//	    threads spent in that stretch, those that are still waiting at its end included.
//	P3  keys and texts only grow, and what is in them stays: who has a [Mark] may read them without the lock. index has each of keys.
//	P4  len(keys) <= Samples + as many as there are kinds of sums for the rest; the memory of slots is that of the tracker's.
//	P5  A slot counts in live of its entry, with its since in begun; or, if the entry was settled after, with the time of that.
type Collector struct {
	o     CollectorOptions
	stack func(flight.StackID) flight.Stack

	mu struct {
		sync.Mutex
		keys    []key
		tallies []tally // of keys
		index   map[key]int32
		texts   *words
		block   *blockerNames
		slots   []slot
		paths   map[flight.ScopeID]word
		bytes   []byte

		began   bool
		at      time.Duration // of the newest event
		heard   time.Time     // when that was told
		settled time.Duration // when settle was called last
		lost    uint64        // events
		gaps    uint64        // times that events were lost, and the state read again
		folded  uint64        // events that count in sums of the rest
	}
}

// A tally is how often something happened, and how long it took. Nanoseconds are a float64: a million threads that wait for three hours are more than an int64 holds.
type tally struct {
	count   uint64
	victims uint64
	spent   float64 // of what is over, and of what goes on up to settled

	live    int64  // threads that are at it now
	begun   uint64 // the sum of when they began, or were settled; wraps around
	settled time.Duration
	round   uint32 // how often it was settled
}

// A slot is what is known of the thread in a slot of the tracker.
type slot struct {
	thread  flight.ThreadID
	scopeID flight.ScopeID
	since   time.Duration
	entry   int32 // 1 + the index of what it does now; 0: nothing that counts
	round   uint32
	scope   word // of scopeID; unknown: not looked up yet
	name    word
}

const unknown word = -1

const (
	none = 0 // no entry

	usualSamples = 20_000
	mostSamples  = 1_000_000
	textsOf      = 2 // texts for each sample

	// lateness is how much older than the present events are when they are told, as a rule.
	lateness = 250 * time.Millisecond
	// settleEvery bounds how much time is in begun: a million threads spend 2^56 ns meanwhile.
	settleEvery = time.Minute
)

// NewCollector returns a collector of events whose stacks stack tells. That is called by who makes a profile, on any goroutine.
func NewCollector(stack func(flight.StackID) flight.Stack, o CollectorOptions) (*Collector, error) {
	o.Samples = cmp.Or(o.Samples, usualSamples)
	if o.Samples < 1 || o.Samples > mostSamples {
		return nil, fmt.Errorf("profile: %d samples: want 1 to %d", o.Samples, mostSamples)
	}
	c := &Collector{o: o, stack: stack}
	c.mu.index = map[key]int32{}
	c.mu.texts = newWords(textsOf*o.Samples + 2)
	c.mu.block = newBlockerNames(o.Blockers, stack, c.mu.texts)
	c.mu.paths = map[flight.ScopeID]word{}
	return c, nil
}

// Reset begins anew with what threads do at the time of t: what they did before is counted.
func (c *Collector) Reset(t *recording.Tracker) {
	c.mu.Lock()
	defer c.mu.Unlock()
	known := max(c.mu.at, c.mu.settled) // up to here all is counted
	if !c.mu.began {
		known = t.At()
		c.mu.began = true
	} else {
		c.mu.gaps++
	}
	for i := range c.mu.tallies {
		y := &c.mu.tallies[i]
		y.settle(known)
		y.live, y.begun = 0, 0
	}
	clear(c.mu.slots)
	c.mu.slots = slices.Grow(c.mu.slots[:0], t.Slots())[:t.Slots()]
	clear(c.mu.paths)
	c.mu.at, c.mu.heard = max(known, t.At()), time.Now()
	t.Threads(func(th *recording.Thread) bool {
		stack, reason := th.Stack, th.Reason
		if reason == flight.ReasonYield {
			stack = 0 // the record has that of the park before
		}
		since := max(th.Since, known)
		c.mu.at = max(c.mu.at, since) // the time of a state is when its reading began: records that were read later may be of later
		c.enterLocked(th, t, since, stack, reason, nil)
		return true
	})
}

// Event counts an event.
func (c *Collector) Event(e *recording.Event, ch recording.Change, t *recording.Tracker) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mu.at = max(c.mu.at, e.Time)
	left := int32(none)
	if ch.Thread != nil {
		left = c.leaveLocked(ch.Thread, e.Time)
		stack, reason := ch.Thread.Stack, ch.Thread.Reason
		if ch.Thread.State == flight.StateMounted {
			stack, reason = ch.Stack, ch.Reason
		}
		c.enterLocked(ch.Thread, t, e.Time, stack, reason, e)
	}
	switch e.Kind {
	case flight.EventPark:
		if ch.Thread == nil { // what followed it is known already
			k := c.whoLocked(e.Thread, t)
			k.what, k.state, k.reason, k.stack = whatPark, stateOf(e.Code), e.Code, flight.StackID(e.Ref)
			c.mu.tallies[c.entryLocked(k)].count++
		}
	case flight.EventMount:
		c.mountedLocked(e, ch.Thread, left, t)
	case flight.EventPinned:
		k := c.whoLocked(e.Thread, t)
		k.what, k.state, k.reason, k.stack = whatPinned, flight.StatePinned, e.Code, flight.StackID(e.Ref)
		y := &c.mu.tallies[c.entryLocked(k)]
		held := flight.Held(e.Arg)
		y.count++
		y.victims += held.Victims()
		y.spent += float64(held.Duration())
	case flight.EventThreadName:
		if th := t.Thread(e.Thread); th != nil {
			if s := c.slotLocked(th); s.name != unknown {
				s.name = unknown
			}
		}
	case flight.EventScopeClose:
		delete(c.mu.paths, flight.ScopeID(e.Arg))
	}
}

// stateOf is the state of a thread of which only the reason for its park is known.
func stateOf(why flight.Reason) flight.State {
	switch why {
	case flight.ReasonSleep:
		return flight.StateTimedParked
	case flight.ReasonLock:
		return flight.StateBlocked
	case flight.ReasonPark, flight.ReasonNone, flight.ReasonRejected:
		return flight.StateParked
	}
	return flight.StateWaiting
}

// mountedLocked counts a mount, with the wait for it.
func (c *Collector) mountedLocked(e *recording.Event, th *recording.Thread, left int32, t *recording.Tracker) {
	ready, run := left, int32(none)
	if th != nil && th.State == flight.StateMounted {
		run = c.slotLocked(th).entry
	}
	if ready == none || c.mu.keys[ready-1].what != whatReady {
		k := c.whoLocked(e.Thread, t)
		k.what, k.state = whatReady, flight.StateRunnable
		ready = c.entryLocked(k) + 1
	}
	if run == none {
		k := c.whoLocked(e.Thread, t)
		k.what, k.state = whatRun, flight.StateMounted
		run = c.entryLocked(k) + 1
	}
	c.mu.tallies[ready-1].count++
	c.mu.tallies[run-1].count++
}

// Lost notes that n events are missing.
func (c *Collector) Lost(n uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mu.lost += n
}

// Flush notes how far time has come.
func (c *Collector) Flush(t *recording.Tracker) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mu.at, c.mu.heard = max(c.mu.at, t.At()), time.Now()
	if c.mu.at-c.mu.settled >= settleEvery {
		c.settleLocked(c.mu.at)
	}
}

// slotLocked returns what is known of a thread.
func (c *Collector) slotLocked(th *recording.Thread) *slot {
	for th.Slot >= len(c.mu.slots) {
		c.mu.slots = append(c.mu.slots, slot{})
	}
	s := &c.mu.slots[th.Slot]
	if s.thread != th.ID {
		*s = slot{thread: th.ID, scope: unknown, name: unknown}
	}
	return s
}

// leaveLocked ends what the thread did, and returns that.
func (c *Collector) leaveLocked(th *recording.Thread, at time.Duration) (entry int32) {
	s := c.slotLocked(th)
	if s.entry == none {
		return none
	}
	entry, s.entry = s.entry, none
	y := &c.mu.tallies[entry-1]
	since := s.since
	if s.round != y.round {
		since = y.settled
	}
	y.spent += float64(at - since) // less than nothing if it was settled later than that
	y.live--
	y.begun -= uint64(since)
	return entry
}

// enterLocked begins what the state of a thread is. e is the event that made it so, nil if it has been so.
func (c *Collector) enterLocked(th *recording.Thread, t *recording.Tracker, at time.Duration, stack flight.StackID, reason flight.Reason, e *recording.Event) {
	k := key{state: th.State, reason: reason, stack: stack}
	switch th.State {
	case flight.StateParked, flight.StateTimedParked, flight.StateBlocked, flight.StateWaiting, flight.StateHibernated:
		k.what, k.blocker = whatPark, c.mu.block.of(th.Blocker)
	case flight.StateRunnable:
		k.what = whatReady
	case flight.StateMounted, flight.StatePinned:
		k.what, k.state = whatRun, flight.StateMounted
	default:
		return
	}
	s := c.slotLocked(th)
	k.scope, k.name = c.namesLocked(s, th, t)
	i := c.entryLocked(k)
	y := &c.mu.tallies[i]
	s.entry, s.since, s.round = i+1, at, y.round
	y.live++
	y.begun += uint64(at)
	if e != nil && e.Kind == flight.EventPark {
		y.count++
	}
}

// whoLocked returns a key with what is known of a thread.
func (c *Collector) whoLocked(id flight.ThreadID, t *recording.Tracker) (k key) {
	if th := t.Thread(id); th != nil {
		k.scope, k.name = c.namesLocked(c.slotLocked(th), th, t)
	}
	return k
}

// namesLocked returns the path of the scope of a thread, and its name.
func (c *Collector) namesLocked(s *slot, th *recording.Thread, t *recording.Tracker) (scope, name word) {
	if s.scope == unknown || s.scopeID != th.Scope {
		s.scopeID, s.scope = th.Scope, c.pathLocked(th.Scope, t, 0)
	}
	if s.name == unknown {
		if s.name = 0; th.Name != "" {
			c.mu.bytes = dump.AppendTemplate(c.mu.bytes[:0], th.Name)
			s.name = c.mu.texts.of(c.mu.bytes)
		}
	}
	return s.scope, s.name
}

// deepest is how many scopes a path has at most. Deeper ones have that of the scope above them.
const deepest = 64

// pathLocked returns the names of the scopes from the root on.
func (c *Collector) pathLocked(id flight.ScopeID, t *recording.Tracker, depth int) word {
	if w, ok := c.mu.paths[id]; ok {
		return w
	}
	sc := t.Scope(id)
	if sc == nil {
		return 0
	}
	path := word(0)
	if id != 0 {
		if depth < deepest {
			path = c.pathLocked(sc.Parent, t, depth+1)
		}
		c.mu.bytes = append(append(c.mu.bytes[:0], c.mu.texts.texts[path]...), '/')
	} else {
		c.mu.bytes = c.mu.bytes[:0]
	}
	if c.mu.bytes = dump.AppendTemplate(c.mu.bytes, sc.Name); len(c.mu.bytes) <= maxPath {
		path = c.mu.texts.of(c.mu.bytes)
	}
	c.mu.paths[id] = path
	return path
}

// entryLocked returns the index of a key.
func (c *Collector) entryLocked(k key) int32 {
	if i, ok := c.mu.index[k]; ok {
		return i
	}
	if len(c.mu.keys) >= c.o.Samples {
		c.mu.folded++
		k = key{what: k.what, state: k.state, reason: k.reason, scope: 1}
		if i, ok := c.mu.index[k]; ok {
			return i
		}
	}
	i := int32(len(c.mu.keys))
	c.mu.keys = append(c.mu.keys, k)
	c.mu.tallies = append(c.mu.tallies, tally{settled: c.mu.at})
	c.mu.index[k] = i
	return i
}

// settle counts what goes on up to now, which is not before it was settled last, nor before any of it began.
func (y *tally) settle(now time.Duration) {
	if y.live > 0 {
		y.spent += float64(uint64(y.live)*uint64(now) - y.begun)
		y.begun = uint64(y.live) * uint64(now)
	}
	y.settled = now
	y.round++
}

func (c *Collector) settleLocked(now time.Duration) {
	for i := range c.mu.tallies {
		c.mu.tallies[i].settle(now)
	}
	c.mu.settled = now
}
