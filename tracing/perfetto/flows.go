package perfetto

import (
	"time"

	"github.com/vtscope/vtscope/recording"
	"github.com/vtscope/vtscope/runtime/flight"
)

// flows are arrows from who unparked a thread to its next mount. Each has one begin and one end.
type flows struct {
	most  int // that begin in a second
	left  int // of the second that ends at until
	until time.Duration
	last  uint64
}

func (f *flows) init(most int) { f.most = most }

// takes reports whether another arrow may begin at t.
func (f *flows) takes(t time.Duration) bool {
	if t >= f.until {
		f.left, f.until = f.most, t+time.Second
	}
	if f.left == 0 {
		return false
	}
	f.left--
	return true
}

// unparked draws an unpark of the thread k as an instant within the waker's slice, with an arrow, if there is a waker that is drawn.
func (x *export) unparked(k *thread, th *recording.Thread, e *recording.Event) {
	if k.flow != 0 {
		return // woken, refused and woken again: the first arrow is still on its way
	}
	q := x.main
	track := uint64(0)
	if waker := x.drawn[th.Waker]; waker != nil && e.Carrier == flight.NoCarrier {
		q = waker.q
	} else if c := x.carriers[e.Carrier]; c != nil {
		q = c.q
	} else {
		track = x.outside()
	}
	if !x.flows.takes(e.Time) {
		x.stats.OtherFlows++
		return
	}
	x.stats.Flows++
	x.flows.last++
	k.flow = x.base + x.flows.last
	q.event(e.Time, typeInstant, track)
	q.named(flight.Kinds[flight.EventUnpark].Name, flight.Kinds[flight.EventUnpark].Category)
	q.noteUint("thread", uint64(k.id))
	x.w.buf = putFixed(x.w.buf, eventFlow, k.flow)
	q.sent()
}

// outside returns the track of goroutines that are no carriers, and of timers.
func (x *export) outside() uint64 {
	if x.goroutines == 0 {
		x.goroutines = x.newTrack(trackInfo{parent: x.process, name: "goroutines and timers", rank: rankOutside})
	}
	return x.goroutines
}

// endFlow ends the arrow to a thread that was not mounted since on a carrier that is drawn.
func (x *export) endFlow(k *thread, t time.Duration) {
	if k.flow == 0 {
		return
	}
	q, track := x.main, x.process
	if k.own != nil {
		q, track = k.own.q, 0
	}
	q.event(t, typeInstant, track)
	q.named("goes on", flight.Kinds[flight.EventUnpark].Category)
	q.noteUint("thread", uint64(k.id))
	x.w.buf = putFixed(x.w.buf, eventFlowEnds, k.flow)
	q.sent()
	k.flow = 0
}

// dropFlows ends all arrows.
func (x *export) dropFlows(t time.Duration) {
	for _, block := range x.threads {
		for i := range block {
			x.endFlow(&block[i], t)
		}
	}
}
