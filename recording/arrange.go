package recording

import (
	"cmp"
	"slices"
	"time"
)

// An arranger puts events in order of time, whatever the order in which they were added.
type arranger struct {
	pending []Event // added, and not taken yet
	lost    uint64  // events that are missing before or among those that are taken next
	order   []eventOrder
	chunk   []Event
}

type eventOrder struct {
	at time.Duration
	i  int32
}

// byTime spells cmp.Or out: it is asked millions of times a second.
func byTime(a, b eventOrder) int {
	switch {
	case a.at < b.at:
		return -1
	case a.at > b.at:
		return 1
	}
	return int(a.i) - int(b.i)
}

const maxTime = time.Duration(1<<63 - 1)

// Add appends events, whose More is kept until they have been taken. They come in any order, but none later than [Writer.Flush] of its time.
func (a *arranger) Add(events ...Event) { a.pending = append(a.pending, events...) }

// Lose notes that n events are missing.
func (a *arranger) Lose(n uint64) { a.lost += n }

// Pending returns how many events were added and not taken yet.
func (a *arranger) Pending() int { return len(a.pending) }

// after returns the pending events after a time, in order.
func (a *arranger) after(at time.Duration) []Event {
	newer := slices.DeleteFunc(slices.Clone(a.pending), func(e Event) bool { return e.Time <= at })
	slices.SortStableFunc(newer, func(a, b Event) int { return cmp.Compare(a.Time, b.Time) })
	return newer
}

// take calls f with the pending events that are not after a time, about chunkEvents at once, and forgets them. They are valid during the call.
func (a *arranger) take(upTo time.Duration, f func(events []Event) error) error {
	a.order = a.order[:0]
	for i := range a.pending {
		if at := a.pending[i].Time; at <= upTo {
			a.order = append(a.order, eventOrder{at, int32(i)})
		}
	}
	if !slices.IsSortedFunc(a.order, byTime) {
		slices.SortFunc(a.order, byTime)
	}
	for left := a.order; len(left) > 0; {
		n := len(left)
		if n > chunkEvents+chunkEvents/2 {
			n = chunkEvents
		}
		a.chunk = a.chunk[:0]
		for _, o := range left[:n] {
			a.chunk = append(a.chunk, a.pending[o.i])
		}
		left = left[n:]
		if err := f(a.chunk); err != nil {
			return err
		}
	}
	if len(a.order) == len(a.pending) {
		a.pending = a.pending[:0]
	} else if len(a.order) > 0 {
		a.pending = slices.DeleteFunc(a.pending, func(e Event) bool { return e.Time <= upTo })
	}
	return nil
}
