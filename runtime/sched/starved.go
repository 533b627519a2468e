package sched

import (
	"time"

	"github.com/vtscope/vtscope/runtime/flight"
)

// A Starvation tells that threads which could go on have found no free carrier for long.
type Starvation struct {
	For     time.Duration
	Queued  int // threads that wait for a carrier
	Holders []Holder
}

// A Holder is a thread that holds a carrier.
type Holder struct {
	Thread flight.ThreadID
	Reason flight.Reason // why it holds it; none: it executes, or waits for a processor, or nothing is known
	PCs    []uintptr     // where, as runtime.CallersFrames takes it, as well as it can be seen
}

// noteStarvation raises the alarm when n tasks are queued and no carrier has made progress for long. Only the watchdog calls it, after it has seen to
// more carriers.
func (fj *ForkJoin) noteStarvation(workers []*worker, n int) {
	since := flight.Ticks(fj.tally.starvedSince.Load())
	if n == 0 || !fj.allStand(workers) {
		if since != 0 {
			fj.tally.starvedSince.Store(0)
			fj.watched.alarmed = false
		}
		return
	}
	now := flight.Now()
	if since == 0 {
		fj.tally.starvedSince.Store(uint64(now))
		return
	}
	if waited := now.Sub(since); waited >= fj.options.StarvedAfter && !fj.watched.alarmed {
		fj.watched.alarmed = true
		fj.alarm(workers, now, waited, n)
	}
}

func (fj *ForkJoin) allStand(workers []*worker) bool {
	for _, w := range workers {
		if !w.seen.held {
			return false
		}
	}
	fj.mu.Lock()
	defer fj.mu.Unlock()
	return len(workers) > 0 && fj.awakeLocked() == len(workers)
}

func (fj *ForkJoin) alarm(workers []*worker, now flight.Ticks, waited time.Duration, n int) {
	fj.tally.alarms.Add(1)
	r := flight.Default()
	type place struct {
		why   flight.Reason
		stack flight.StackID
	}
	told := map[place]bool{}
	s := Starvation{For: waited, Queued: n}
	for _, w := range workers {
		h, pcs := w.holder()
		if h.Thread == 0 {
			continue
		}
		s.Holders = append(s.Holders, Holder{h.Thread, h.Reason, pcs})
		if p := (place{h.Reason, h.Stack}); !told[p] && r.Over(flight.EventStarved, flight.Ticks(0).Add(waited)) {
			told[p] = true
			r.EmitOn(w.id, now, flight.EventStarved, h.Reason, h.Stack, h.Thread, uint64(flight.MakeHeld(waited, uint64(n))))
		}
	}
	if f := fj.options.OnStarved; f != nil {
		go f(s)
	}
}

// holder tells what is known of the thread that is mounted on w.
func (w *worker) holder() (h flight.Hold, pcs []uintptr) {
	t, id, _ := w.mountedThread()
	if t == nil {
		return flight.Hold{}, nil
	}
	pcs, _ = t.frames()
	if h = w.seen.hold; h.Thread == id {
		return h, pcs
	}
	h = flight.Hold{Thread: id, Stack: flight.Default().StackOf(pcs)}
	if t.word.Load()&stateMask == blocked {
		h.Reason = t.pinReason()
	}
	return h, pcs
}
