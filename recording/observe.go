package recording

import (
	"context"
	"slices"
)

// An Observer is told what a process does, in order, on one goroutine. Nothing that it is given is valid after the call.
type Observer interface {
	// Reset tells that the state is that of t from now on, whatever was told before: at the beginning, and after events were lost. Slots are given anew.
	Reset(t *Tracker)
	// Event tells an event, which t has applied, and what that changed.
	Event(e *Event, c Change, t *Tracker)
	// Lost tells that n events are missing. A [Observer.Reset] may follow, or not.
	Lost(n uint64)
	// Flush tells that no event follows at once: what waits for company need wait no longer.
	Flush(t *Tracker)
}

// An observer with this method that returns true asks of threads only which scope they are in.
type sparing interface{ PlacesOnly() bool }

func needsThreads(o Observer) bool {
	s, ok := o.(sparing)
	return !ok || !s.PlacesOnly()
}

// Observe reads a source with one [Tracker] for all observers, until it ends or ctx does. It blocks meanwhile, and starts no goroutine of its own. Observers that
// are slow make those beside them wait, and a [Live] lose events; which are counted.
//
// If all observers have a method PlacesOnly() bool that returns true, what a [Live] tells of a thread is its id and scope: then a million threads take 21 MB. No
// [Change] has a thread then, and no thread a slot.
func Observe(ctx context.Context, src Source, observers ...Observer) error {
	t := NewTracker(src)
	read := src.Read
	if l, ok := src.(*Live); ok {
		places := !slices.ContainsFunc(observers, needsThreads)
		read = func(ctx context.Context, f func(*Batch) bool) error { return l.readFor(ctx, places, f) }
	}
	return read(ctx, func(b *Batch) bool {
		if b.Lost > 0 {
			for _, o := range observers {
				o.Lost(b.Lost)
			}
		}
		if b.State != nil {
			t.Reset(b.State)
			for _, o := range observers {
				o.Reset(t)
			}
		}
		for i := range b.Events {
			e := &b.Events[i]
			c := t.Apply(e)
			for _, o := range observers {
				o.Event(e, c, t)
			}
		}
		for _, o := range observers {
			o.Flush(t)
		}
		return true
	})
}
