package flight

import (
	"math"
	"time"
)

// A tickClock converts the ticks of a process. Its newest anchor is the reference: within a second
// of it the rate matters little.
type tickClock struct {
	at      anchor
	perTick float64 // nanoseconds
}

func newTickClock(h *fileHeader) tickClock {
	a, b := h.Anchors[0], h.Anchors[1]
	c := tickClock{b, 1}
	if ClockKind(h.ClockKind) == ClockMonotonic {
		return c
	}
	if f, ok := rate(a, b); ok {
		c.perTick = f
	}
	if h.AnchorSeq%2 != 0 { // it died while it wrote the newest
		c.at = a
	}
	// The anchors of a process that died young are so close to each other that a wrong one makes a wrong rate. On the same machine the
	// clock still runs.
	if ClockKind(h.ClockKind) == clockKind && h.BootID == selfIdentity().bootID && h.BootID != [16]byte{} {
		now := readAnchor()
		if f, ok := rate(c.at, now); ok && now.Mono-c.at.Mono > b.Mono-a.Mono && math.Abs(f/nsPerTick()-1) < sameRate {
			c.perTick = f
		}
	}
	return c
}

// sameRate is how much two measurements of the rate of one clock may differ. Those of processes whose CLOCK_MONOTONIC have different
// origins, as in containers that were moved, differ by more.
const sameRate = 0.01

// rate returns the nanoseconds of a tick, if two anchors make sense.
func rate(a, b anchor) (f float64, ok bool) {
	f = float64(b.Mono-a.Mono) / float64(int64(b.Ticks-a.Ticks))
	return f, f > 1e-6 && f < 1e6
}

func (c tickClock) between(from, to Ticks) time.Duration {
	f := float64(int64(to-from)) * c.perTick
	return time.Duration(min(max(f, math.MinInt64/2), math.MaxInt64/2))
}

func (c tickClock) ticksAt(mono int64) Ticks {
	f := float64(mono-c.at.Mono) / c.perTick
	return Ticks(c.at.Ticks + uint64(int64(min(max(f, math.MinInt64/2), math.MaxInt64/2))))
}

// Time returns the time of a moment of the process.
func (r *Reader) Time(t Ticks) time.Time {
	c := r.clock()
	return time.Unix(0, c.at.Real).Add(c.between(Ticks(c.at.Ticks), t))
}

// Between returns the time from one moment of the process to another.
func (r *Reader) Between(from, to Ticks) time.Duration { return r.clock().between(from, to) }

func (r *Reader) clock() tickClock {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.mu.clock
}

// Now returns the present moment of a live process; of a dead one that of its last sign of life.
func (r *Reader) Now() Ticks {
	status := r.Status()
	if status.Live() {
		return r.clock().ticksAt(nanotime())
	}
	return r.lastTicks()
}

// lastTicks returns the newest moment that the file knows: of the last heartbeat or an event.
func (r *Reader) lastTicks() Ticks {
	c := r.clock()
	last := Ticks(c.at.Ticks)
	rings, _ := r.Rings() // damaged rings just do not count
	for _, g := range rings {
		if g.Head == 0 {
			continue
		}
		evs, _, _, err := r.Events(g.Index, g.Head-min(g.Head, 1+maxMoreSlots), 1+maxMoreSlots)
		if err != nil {
			continue
		}
		for _, e := range evs {
			if e.Kind != EventMore && last.Before(e.Time) && c.between(last, e.Time) < 10*heartbeatEvery {
				last = e.Time // a later one would have brought a heartbeat with it
			}
		}
	}
	return last
}
