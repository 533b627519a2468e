package recording

import (
	"cmp"
	"encoding/binary"
	"slices"
	"time"

	"github.com/vtscope/vtscope/runtime/flight"
)

// A Hold is a thread that blocks in an operation of Go's own and holds its carrier, as the process's watchdog saw it: it found
// the thread at Stack at Since, each time that it looked until Seen, and then. What the thread did since is not known.
type Hold struct {
	Thread      flight.ThreadID
	Since, Seen time.Duration // since Info.From
	Reason      flight.Reason
	Stack       flight.StackID
}

// readHolds returns the holds of the moment.
func readHolds(r *flight.Reader, c *clock) ([]Hold, error) {
	rings, err := r.Rings()
	var all []Hold
	for i := range rings {
		if h := &rings[i].Hold; h.Thread != 0 && h.Reason != flight.ReasonMonopoly {
			all = append(all, Hold{h.Thread, c.time(h.Since), c.time(h.Seen), h.Reason, h.Stack})
		}
	}
	return all, err
}

// maxHolds is how many holds wait to be written, and how many are read of a chunk that may be hostile.
const maxHolds = 1 << 16

// A holdBook is the holds that a [Writer] knows: those of the newest look, and those that were not written yet.
type holdBook struct {
	newest, unwritten []Hold
}

// Hold notes the holds that a look has found.
func (b *holdBook) Hold(all []Hold) {
	b.newest = append(b.newest[:0], all...)
	for _, h := range all {
		if i := slices.IndexFunc(b.unwritten, h.same); i >= 0 {
			b.unwritten[i].Seen = max(b.unwritten[i].Seen, h.Seen)
		} else if len(b.unwritten) < maxHolds {
			b.unwritten = append(b.unwritten, h)
		}
	}
}

// same reports whether two are one hold, which may have been seen at two times.
func (h Hold) same(o Hold) bool {
	return h.Thread == o.Thread && h.Stack == o.Stack && near(h.Since, o.Since)
}

// near reports whether times are of one moment, as far as the clock of a recording tells: it is tuned while the process lives.
func near(a, b time.Duration) bool { return max(a-b, b-a) < time.Millisecond }

// takeHolds returns what is to be written with the next chunk; with a state also those that were written before and go on.
func (b *holdBook) takeHolds(withState bool) []Hold {
	all := b.unwritten
	if withState {
		for _, h := range b.newest {
			if !slices.ContainsFunc(all, h.same) {
				all = append(all, h)
			}
		}
	}
	b.unwritten = nil
	slices.SortFunc(all, func(x, y Hold) int { return cmp.Or(cmp.Compare(x.Thread, y.Thread), cmp.Compare(x.Since, y.Since)) })
	return all
}

// encodeHolds appends holds, which are in the order of their threads.
func encodeHolds(b []byte, all []Hold) []byte {
	b = binary.AppendUvarint(b, uint64(len(all)))
	var before flight.ThreadID
	for _, h := range all {
		b = binary.AppendUvarint(b, uint64(h.Thread-before))
		b = binary.AppendVarint(b, int64(h.Since))
		b = binary.AppendUvarint(b, uint64(h.Seen-h.Since))
		b = append(b, byte(h.Reason))
		b = binary.AppendUvarint(b, uint64(h.Stack))
		before = h.Thread
	}
	return b
}

// decodeHolds reads what encodeHolds wrote.
func decodeHolds(c *cursor) ([]Hold, error) {
	n := c.count(5)
	if n > maxHolds {
		c.fail()
	}
	var all []Hold
	var id flight.ThreadID
	for range n {
		id += flight.ThreadID(c.uvarint())
		h := Hold{Thread: id, Since: time.Duration(c.varint())}
		h.Seen = h.Since + time.Duration(c.uvarint())
		h.Reason = flight.Reason(c.byte())
		h.Stack = flight.StackID(c.uvarint())
		if c.bad || id == 0 || h.Seen < h.Since || h.Reason >= flight.ReasonCount {
			c.fail()
			break
		}
		all = append(all, h)
	}
	if len(c.b) > 0 {
		c.fail()
	}
	return all, c.err("holds")
}

// holdsAt finds what is known at a moment of threads that hold their carriers.
type holdsAt struct {
	at  time.Duration
	all map[flight.ThreadID]held
}

// A held thread is one whose hold began before the moment. Seen is no later than that.
type held struct {
	Hold
	over bool // it ended before the moment
}

// hold notes what a look has found.
func (a *holdsAt) hold(h Hold) {
	if h.Since > a.at {
		return
	}
	if h.Seen > a.at { // it was looked at often since it began, but when is not recorded
		h.Seen = h.Since
	}
	was, ok := a.all[h.Thread]
	switch {
	case ok && was.same(h):
		was.Seen = max(was.Seen, h.Seen)
		a.all[h.Thread] = was
	case !ok || was.Since < h.Since:
		a.all[h.Thread] = held{Hold: h}
	}
}

// ended notes the event at the end of a hold. When the thread was last seen there it does not tell, unless the thread recorded its stack itself.
func (a *holdsAt) ended(e *Event) {
	since := e.Time - flight.Held(e.Arg).Duration()
	h := Hold{e.Thread, since, since, e.Code, flight.StackID(e.Ref)}
	if a.hold(h); e.Time > a.at {
		return
	}
	if was, ok := a.all[e.Thread]; ok && was.same(h) {
		was.over = true
		a.all[e.Thread] = was
	}
}

// of makes a mounted thread a pinned one if it held its carrier at the moment, and returns when it was last seen in its stack: 0 if it recorded that itself.
func (a *holdsAt) of(th *Thread) (seen time.Duration, ok bool) {
	h, ok := a.all[th.ID]
	if !ok || h.over || th.State != flight.StateMounted || h.Since < th.Since {
		return 0, false
	}
	th.State, th.Reason, th.Stack, th.Since = flight.StatePinned, h.Reason, h.Stack, h.Since
	return h.Seen, h.Reason == flight.ReasonPinnedGo
}
