package perfetto

import (
	"time"

	"github.com/vtscope/vtscope/runtime/flight"
)

// A counter is a counter's track.
type counter struct {
	track   uint64 // 0: not described yet
	value   int64
	written int64
}

func (c *counter) add(n int64) { c.value += n }

// counters are written at the end of each interval ([Options.Every]), those that have changed.
type counters struct {
	states [flight.StateCount]counter
	rate   counter // events in a second
	lost   counter
	events uint64        // since the interval began
	began  time.Duration // when it did
	next   time.Duration // when it ends
	stale  []*path
}

// The counters of a path.
const (
	pathLive = iota
	pathParked
	pathRunnable
	pathScopes

	pathCounters
)

var pathCounterNames = [pathCounters]string{"live threads", "parked", "runnable", "open scopes"}

// value is what the path's counter is now.
func (p *path) value(i int) (n int64) {
	switch i {
	case pathScopes:
		return p.scopes
	case pathRunnable:
		return p.counts[flight.StateRunnable]
	case pathParked:
		for _, s := range parkedStates {
			n += p.counts[s]
		}
		return n
	}
	for _, c := range p.counts {
		n += c
	}
	return n
}

var parkedStates = [...]flight.State{flight.StateParked, flight.StateTimedParked, flight.StateBlocked, flight.StateWaiting, flight.StateHibernated}

func (c *counters) init(x *export) {
	c.next = x.o.Every
	c.changed(x.root)
}

// changed notes that a count of p has changed.
func (c *counters) changed(p *path) {
	if !p.stale {
		p.stale = true
		c.stale = append(c.stale, p)
	}
}

// reset forgets all threads.
func (c *counters) reset(x *export) {
	for i := range c.states {
		c.states[i].value = 0
	}
	x.root.forget(c)
}

func (p *path) forget(c *counters) {
	p.counts = [flight.StateCount]int64{}
	c.changed(p)
	for _, below := range p.children {
		below.forget(c)
	}
}

// until writes what has changed by t, if an interval is over.
func (c *counters) until(x *export, t time.Duration) {
	if t < c.next {
		return
	}
	c.write(x, c.next)
	c.began = c.next
	c.next = t - t%x.o.Every + x.o.Every
}

// last writes what has changed by the end.
func (c *counters) last(x *export, end time.Duration) { c.write(x, max(end, c.began)) }

func (c *counters) write(x *export, t time.Duration) {
	if spent := t - c.began; spent > 0 {
		c.rate.value = int64(float64(c.events) / spent.Seconds())
	}
	c.events = 0
	for s := range c.states {
		x.writeCounter(&c.states[s], t, x.process, "threads "+flight.State(s).String(), rankCounters)
	}
	x.writeCounter(&c.rate, t, x.process, "events in a second", rankCounters)
	x.writeCounter(&c.lost, t, x.process, "events lost", rankCounters)
	for _, p := range c.stale {
		p.stale = false
		for i := range p.counters {
			p.counters[i].value = p.value(i)
			x.writeCounter(&p.counters[i], t, p.track, pathCounterNames[i], i)
		}
	}
	c.stale = c.stale[:0]
}

// writeCounter writes a counter's value if it has changed. One that was always 0 has no track.
func (x *export) writeCounter(c *counter, t time.Duration, parent uint64, name string, rank int) {
	if c.value == c.written {
		return
	}
	if c.track == 0 {
		c.track = x.newTrack(trackInfo{parent: parent, name: name, rank: rank, counter: true})
	}
	c.written = c.value
	x.main.event(t, typeCounter, c.track)
	x.w.buf = putUint(x.w.buf, eventCounter, uint64(c.value))
	x.main.sent()
}
