package sched

import (
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/vtscope/vtscope/runtime/flight"
)

// A Pin is a time in which a thread blocked and held its carrier.
type Pin struct {
	Thread  flight.ThreadID
	Reason  flight.Reason // os-thread, pin-section or go-operation
	PCs     []uintptr     // where, innermost first, as return addresses: what runtime.CallersFrames takes
	Held    time.Duration // of an operation of Go's: from when the watchdog saw it
	Victims uint64        // threads of the scheduler that waited for a carrier meanwhile
	Over    bool          // false: it blocks still
}

// WatchPins tells f of every pin in the process that is seen from now on, however short, when it is over. f is not called twice
// at a time; it must not block, park, call WatchPins or call runtime.Goexit. It is called on the thread that has parked, or on the watchdog's
// goroutine: a panic of f breaks neither. f is not called after that, and stop panics with the same value.
//
// A park while pinned is always seen. An operation of Go's that blocks is seen by the watchdog of a [ForkJoin], which looks every
// millisecond while pins are watched, if it stands at two looks. On carriers of other schedulers, and where goroutines cannot be looked at
// (docs/decisions/0003), such operations are not seen.
//
// stop tells f of the pins that are not over, and returns when f is not called any more. It is called once.
func WatchPins(f func(Pin)) (stop func()) {
	w := &pinWatch{f: f}
	m := &pins.mu
	m.Lock()
	m.watches = append(m.watches, w)
	pins.watched.Store(true)
	m.Unlock()
	for _, fj := range forkJoins.list() {
		fj.watchIfAsleep()
	}
	return func() {
		m.Lock()
		defer m.Unlock()
		for _, p := range m.open {
			w.tell(p.soFar())
		}
		m.watches = slices.DeleteFunc(m.watches, func(v *pinWatch) bool { return v == w })
		if len(m.watches) == 0 {
			pins.watched.Store(false)
			clear(m.open)
		}
		if w.panicked != nil {
			panic(w.panicked)
		}
	}
}

// pins are those that are watched.
var pins struct {
	watched atomic.Bool // anybody watches; stored under mu
	mu      struct {
		sync.Mutex
		watches []*pinWatch
		open    map[pinKey]*openPin // that began while anybody watched
	}
}

type pinWatch struct {
	f        func(Pin)
	panicked any // what f has panicked with; guarded by the lock of pins
}

// tell calls f, unless it has panicked. The caller has the lock of pins.
func (w *pinWatch) tell(p Pin) {
	if w.panicked != nil {
		return
	}
	defer func() { w.panicked = recover() }()
	w.f(p)
}

// A thread that goes on from an operation of Go's may park pinned before the watchdog knows.
type pinKey struct {
	task    *Task
	reason  flight.Reason
	carrier flight.CarrierID
}

type openPin struct {
	pin   Pin
	began time.Time
}

func (p *openPin) soFar() Pin {
	pin := p.pin
	pin.Held = time.Since(p.began)
	return pin
}

// pinBegins tells those who watch that a thread blocks from now on. Its program counters become theirs.
func pinBegins(t *Task, on flight.CarrierID, why flight.Reason, pcs []uintptr) {
	m := &pins.mu
	m.Lock()
	defer m.Unlock()
	if len(m.watches) == 0 {
		return
	}
	if m.open == nil {
		m.open = make(map[pinKey]*openPin)
	}
	m.open[pinKey{t, why, on}] = &openPin{Pin{Thread: t.id, Reason: why, PCs: pcs}, time.Now()}
}

// pinEnds tells them that what pinBegins began is over.
func pinEnds(t *Task, on flight.CarrierID, why flight.Reason, victims uint64) {
	if !pins.watched.Load() {
		return
	}
	m := &pins.mu
	m.Lock()
	defer m.Unlock()
	p := m.open[pinKey{t, why, on}]
	if p == nil {
		return
	}
	delete(m.open, pinKey{t, why, on})
	pin := p.soFar()
	pin.Victims, pin.Over = victims, true
	for _, w := range m.watches {
		w.tell(pin)
	}
}

// pinReason tells why t, which is pinned, cannot leave its carrier.
func (t *Task) pinReason() flight.Reason {
	if t.marks.Load() >= pinStep {
		return flight.ReasonPinnedSection
	}
	return flight.ReasonPinnedOSThread
}

// pinOver tells everybody of a pinned park of t, which is mounted on c.
func (c *carrier) pinOver(t *Task, why flight.Reason, stack flight.StackID, began, now flight.Ticks) {
	held, victims, after := now.Sub(began), uint64(0), pinnedAfter
	if w := c.worker; w != nil {
		victims, after = w.victims(), w.fj.options.PinnedAfter
		w.fj.tally.pin(held, victims)
	}
	pinEnds(t, c.id, why, victims)
	r := flight.Default()
	r.CountPin(stack, why, held, victims, now)
	if held >= after && r.Over(flight.EventPinned, now-began) {
		c.emit(now, flight.EventPinned, why, stack, t.id, uint64(flight.MakeHeld(held, victims)))
	}
}

// victims returns how many threads waited for a carrier while w, whose thread has blocked or computed, stood still: the most that were seen at one
// moment, by the watchdog or now.
func (w *worker) victims() uint64 {
	n := w.waiting.Swap(0)
	if w.fj.room.Load() <= 0 {
		n = max(n, uint32(w.fj.queued()))
	}
	return uint64(n)
}

// pin counts a pin that is over.
func (t *tally) pin(held time.Duration, victims uint64) {
	t.pins.Add(1)
	t.pinned[flight.BucketOf(held)].Add(1)
	t.pinnedTime.Add(uint64(held))
	t.victims.Add(victims)
}

// forkJoins are the schedulers that live.
var forkJoins forkJoinSet

type forkJoinSet struct {
	mu struct {
		sync.Mutex
		all map[*ForkJoin]struct{}
	}
}

func (s *forkJoinSet) add(fj *ForkJoin) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mu.all == nil {
		s.mu.all = make(map[*ForkJoin]struct{})
	}
	s.mu.all[fj] = struct{}{}
}

func (s *forkJoinSet) remove(fj *ForkJoin) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.mu.all, fj)
}

func (s *forkJoinSet) list() []*ForkJoin {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Keys(s.mu.all))
}
