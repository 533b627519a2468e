package dump

import (
	"time"

	"github.com/vtscope/vtscope/runtime/flight"
)

// heldAs turns the row of a mounted thread into that of a pinned one if the hold h is of that thread. A
// thread that blocks in a Go operation cannot record its own pin, so the watchdog does, and the row keeps
// the time of its look. heldAs changes nothing if the thread was mounted after that look, or if its
// stack was read and it executes.
func heldAs(r *flight.ThreadRow, h flight.Hold) bool {
	if h.Thread == 0 || h.Thread != r.ID || r.State != flight.StateMounted || h.Reason == flight.ReasonMonopoly || h.Since.Before(r.Since) || r.Flags&StackHolds != 0 {
		return false
	}
	r.State, r.Reason, r.Stack, r.Since, r.Seen = flight.StatePinned, h.Reason, h.Stack, h.Since, h.Seen
	return true
}

// seenAgo returns the age of a row's stack, at least 1 tick. It returns 0 for a stack of the moment.
func seenAgo(r *flight.ThreadRow, now flight.Ticks) flight.Ticks {
	if r.Seen == 0 {
		return 0
	}
	return max(elapsed(r.Seen, now), 1)
}

// seen converts an age, and never makes 0 of one that is not.
func seen(ticks flight.Ticks, span func(flight.Ticks) time.Duration) time.Duration {
	if ticks == 0 {
		return 0
	}
	return max(span(ticks), 1)
}

// SeenAgo formats the age of a stack, such as "seen 1.6ms ago". It is empty for 0, a stack of the moment.
func SeenAgo(d time.Duration) string {
	switch {
	case d <= 0:
		return ""
	case d < time.Millisecond:
		return "seen <1ms ago"
	}
	return "seen " + Span(d) + " ago"
}
