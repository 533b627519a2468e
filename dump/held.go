package dump

import (
	"time"

	"github.com/vtscope/vtscope/runtime/flight"
)

// heldAs makes a row of a mounted thread that of a pinned one, if h is what somebody saw of it: it cannot record itself that it is pinned. The stack of h is
// marked with its age. A thread that was mounted after h was seen has gone on since, and one whose stack was read executes.
func heldAs(r *flight.ThreadRow, h flight.Hold) bool {
	if h.Thread == 0 || h.Thread != r.ID || r.State != flight.StateMounted || h.Reason == flight.ReasonMonopoly || h.Since.Before(r.Since) || r.Flags&StackHolds != 0 {
		return false
	}
	r.State, r.Reason, r.Stack, r.Since, r.Seen = flight.StatePinned, h.Reason, h.Stack, h.Since, h.Seen
	return true
}

// seenAgo returns how old the stack of a row is, at least 1 tick, if somebody else saw it, or 0 if it is of now.
func seenAgo(r *flight.ThreadRow, now flight.Ticks) flight.Ticks {
	if r.Seen == 0 {
		return 0
	}
	return max(elapsed(r.Seen, now), 1)
}

// seen is a span of ticks that is not nothing.
func seen(ticks flight.Ticks, span func(flight.Ticks) time.Duration) time.Duration {
	if ticks == 0 {
		return 0
	}
	return max(span(ticks), 1)
}

// SeenAgo says how old a stack is that somebody saw a while ago, such as "seen 1.6ms ago". It is empty for 0: then it is of the moment.
func SeenAgo(d time.Duration) string {
	switch {
	case d <= 0:
		return ""
	case d < time.Millisecond:
		return "seen <1ms ago"
	}
	return "seen " + Span(d) + " ago"
}
