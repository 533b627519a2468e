package dump

import (
	"time"

	"github.com/vtscope/vtscope/runtime/flight"
)

// Arrivals are looked at over arrivalSteps steps of arrivalStep each.
const (
	arrivalStep  = 5 * time.Second
	arrivalSteps = 6
)

// arrivals are the waits of a group to which threads came in each of the last steps, and in which none has a time limit.
type arrivals struct {
	waits       waitStat
	now, second flight.Ticks // the moment, and how many ticks a second has

	lately       int          // threads that came in all the steps
	middle, long flight.Ticks // the waits than which half of all, and nine in ten, are not longer
}

// secondOf returns how many ticks a second has before now, 0 if that is not known.
func secondOf(r Source, now flight.Ticks) flight.Ticks {
	const far = 1 << 30
	if now <= far {
		return 0
	}
	if d := r.Between(now-far, now); d > 0 {
		return flight.Ticks(far * float64(time.Second) / float64(d))
	}
	return 0
}

func (a *arrivals) ticks(d time.Duration) flight.Ticks {
	return flight.Ticks(d.Seconds() * float64(a.second))
}

// arrivals returns those of g, nil if threads do not come all the time, or wait for the end of others, for time, for a lock, or for what is outside of the process.
func (g *group) arrivals(now, second flight.Ticks) *arrivals {
	if !g.stays() || second == 0 {
		return nil
	}
	a := &arrivals{waits: g.waits, now: now, second: second}
	if a.waits.known() < arrivalSteps || a.waits.min >= a.ticks(arrivalStep) || a.waits.max < a.ticks((arrivalSteps-1)*arrivalStep) {
		return nil
	}
	before := 0
	for i := range arrivalSteps {
		n := a.waits.younger(a.ticks(time.Duration(i+1) * arrivalStep))
		if n == before {
			return nil
		}
		before = n
	}
	n := a.waits.known()
	a.lately, a.middle, a.long = before, a.waits.rank((n-1)/2), a.waits.rank((n-1)*9/10)
	return a
}

// stays reports whether the threads of g may wait for ever, without a time limit for what only others of the
// process can give.
func (g *group) stays() bool {
	if g.key.state != flight.StateParked && g.key.state != flight.StateWaiting || g.limited {
		return false
	}
	switch why := g.key.reason; why {
	case flight.ReasonJoin, flight.ReasonScopeJoin, flight.ReasonLock, flight.ReasonSleep:
		return false
	default:
		return !why.Outside()
	}
}

// numbered reports whether the ids of a source's threads are mere numbers, which the same thread does not
// keep from one look to the next.
func numbered(src Source) bool {
	n, ok := src.(interface{ Numbered() bool })
	return ok && n.Numbered()
}

// evenly reports whether those who came before are still there: where threads leave after a while, few have waited for very long.
func (a *arrivals) evenly() bool {
	return float64(a.middle) >= 0.42*float64(a.long) // 0.56 of those who all stay, 0.3 of those who leave at any time alike
}

// since returns how many came and left since the moment of before, of the same group.
func (a *arrivals) since(before *arrivals) (came, left int) {
	stayed := a.waits.known() - a.waits.younger(a.now-before.now)
	was := before.waits.known() - before.waits.younger(2) // others came while it was looked at
	return a.waits.known() - stayed, max(was-stayed, 0)
}
