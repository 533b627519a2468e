package recording

import (
	"sync/atomic"
	"time"

	"github.com/vtscope/vtscope/runtime/flight"
)

// A clock turns the moments of a process into times since the recorder began. The process's own conversion gets better as it lives; a step in it would put events
// in another order, so this one is slewed: it goes a little faster or slower until both agree. A moment has the same time whenever it is asked for, as long as it
// is not older than the last two tunings. One goroutine tunes it; any may ask it.
type clock struct {
	base  flight.Ticks
	rates atomic.Pointer[rates] // stored by tune
}

type rates struct{ now, before rate }

// A rate is a straight line.
type rate struct {
	from flight.Ticks
	at   time.Duration
	tick float64 // nanoseconds
}

// slew is the most by which a clock is faster or slower than it should be.
const slew = 1e-3

func (r rate) time(t flight.Ticks) time.Duration {
	return r.at + time.Duration(float64(int64(t-r.from))*r.tick)
}

// betweener is the conversion of a [flight.Reader].
type betweener interface {
	Between(from, to flight.Ticks) time.Duration
}

const manyTicks = 1 << 40

func newClock(b betweener, base flight.Ticks) *clock {
	r := rate{from: base, tick: float64(b.Between(base, base+manyTicks)) / manyTicks}
	c := &clock{base: base}
	c.rates.Store(&rates{r, r})
	return c
}

func (c *clock) time(t flight.Ticks) time.Duration {
	r := c.rates.Load()
	if t < r.now.from {
		return r.before.time(t)
	}
	return r.now.time(t)
}

// tune makes the clock agree with b about a second after t, which has just passed.
func (c *clock) tune(b betweener, t flight.Ticks) {
	was := c.rates.Load().now
	if t <= was.from {
		return
	}
	tick := float64(b.Between(c.base, c.base+manyTicks)) / manyTicks
	at := was.time(t)
	off := b.Between(c.base, t) - at
	c.rates.Store(&rates{rate{t, at, tick * (1 + min(max(off.Seconds(), -slew), slew))}, was})
}
