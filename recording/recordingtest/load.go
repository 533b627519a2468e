package recordingtest

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/vtscope/vtscope/recording"
	"github.com/vtscope/vtscope/runtime/flight"
)

// batchEvents is about how many events a batch of a load has.
const batchEvents = 8192

// A Load is a [recording.Source] of many events: threads start in scopes, execute on carriers, park, are unparked by others, yield, and end. All of
// them have ended at its end. Two readings give the same. The zero value is usable.
type Load struct {
	Threads  int           // that live at a time; default 1,000
	Carriers int           // default 4
	Scopes   int           // default 8
	Events   int           // it starts no thread after so many; default 10,000
	Slices   int           // of each thread; default 4
	Step     time.Duration // from one event to the next; default 1 µs
	Seed     uint64

	// Script is what the last reading has told, but for its events: Counts, names and stacks.
	*Script
}

// NewLoad returns a load of so many events.
func NewLoad(events int) *Load { return &Load{Events: events} }

// Info describes the load.
func (l *Load) Info() recording.Info {
	if l.Script == nil {
		l.Script = New()
	}
	return l.Script.Info()
}

// Read makes the events anew. Its memory does not grow with them.
func (l *Load) Read(ctx context.Context, f func(*recording.Batch) bool) error {
	s := New()
	l.Script = s
	stopped, written := false, 0
	give := func() {
		b := s.last()
		written += len(b.Events)
		stopped = stopped || ctx.Err() != nil || !f(b)
		b.Events, b.State, b.Lost = b.Events[:0], nil, 0
	}
	s.full = give
	r := run{
		Script: s, random: rand.New(rand.NewPCG(l.Seed, 1)), step: cmp.Or(l.Step, time.Microsecond), slices: cmp.Or(l.Slices, 4),
		left: map[flight.ThreadID]int{},
	}
	for i := range cmp.Or(l.Scopes, 8) {
		s.After(r.step).Open(flight.ScopeID(i+1), fmt.Sprintf("scope-%d", i+1), flight.ScopeID(i/2), 0)
		r.scopes = i + 1
	}
	for i := range 16 {
		r.stacks = append(r.stacks, s.At(fmt.Sprintf("load.wait%d wait.go:%d", i, 10+i), fmt.Sprintf("load.body%d body.go:%d", i%4, 20+i%4)))
	}
	threads, events := cmp.Or(l.Threads, 1000), cmp.Or(l.Events, 10_000)
	for c := flight.CarrierID(0); !stopped; c = (c + 1) % flight.CarrierID(cmp.Or(l.Carriers, 4)) {
		fresh := len(r.left) < threads && written+len(s.last().Events) < events
		if !fresh && len(r.left) == 0 {
			break
		}
		r.slice(c, fresh)
	}
	if !stopped {
		for i := r.scopes; i > 0; i-- {
			s.After(r.step).Close(flight.ScopeID(i))
		}
		give()
	}
	return ctx.Err()
}

// A run is a reading of a load.
type run struct {
	*Script
	random           *rand.Rand
	step             time.Duration
	slices, scopes   int
	stacks           []flight.StackID
	last             flight.ThreadID
	left             map[flight.ThreadID]int // slices of living threads
	runnable, parked []flight.ThreadID
}

// slice lets a thread execute on carrier c. It starts another if fresh, or unparks one.
func (r *run) slice(c flight.CarrierID, fresh bool) {
	var me flight.ThreadID
	if len(r.runnable) > 0 {
		me = r.runnable[0]
		r.runnable = r.runnable[1:]
		r.After(r.step).Mount(me, c)
	}
	switch {
	case fresh:
		r.last++
		r.left[r.last] = r.slices
		r.After(r.step).Start(r.last, flight.ScopeID(r.random.IntN(r.scopes+1)), me)
		if r.last%16 == 0 {
			r.After(r.step).Name(r.last, fmt.Sprintf("thread-%d", r.last))
		}
		r.runnable = append(r.runnable, r.last)
	case len(r.parked) > 0:
		i := r.random.IntN(len(r.parked))
		woken := r.parked[i]
		r.parked[i] = r.parked[len(r.parked)-1]
		r.parked = r.parked[:len(r.parked)-1]
		r.After(r.step).Unpark(woken, me)
		r.runnable = append(r.runnable, woken)
	}
	if me == 0 {
		return
	}
	r.left[me]--
	r.After(r.step)
	switch n := r.random.IntN(8); {
	case r.left[me] <= 0:
		delete(r.left, me)
		r.End(me, flight.ReasonEnd)
	case n == 0:
		r.Yield(me)
		r.runnable = append(r.runnable, me)
	case n < 3:
		r.Park(me, flight.ReasonSleep, 0, r.stacks[n])
		r.parked = append(r.parked, me)
	default:
		r.Park(me, flight.ReasonLock, flight.BlockAt(flight.BlockedByMutex, uintptr(0xc000010000+64*n)), r.stacks[n])
		r.parked = append(r.parked, me)
	}
}
