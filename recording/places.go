package recording

import "github.com/vtscope/vtscope/runtime/flight"

// placed is a thread of which the scope alone is known.
func placed(id flight.ThreadID, scope flight.ScopeID) Thread {
	return Thread{ID: id, Scope: scope, Carrier: flight.NoCarrier, Incomplete: true}
}

// place takes note of where a thread is, and reports whether that is all there is to do about an event.
func (t *Tracker) place(e *Event) bool {
	switch e.Kind {
	case flight.EventScopeOpen, flight.EventScopeJoin, flight.EventScopeClose, flight.EventCarrierStart, flight.EventCarrierStop:
		return false
	case flight.EventThreadStart:
		_, over := t.ended.take(e.Thread) // T4
		if scope, ok := t.byRecord[flight.ScopeIndex(e.Ref)]; ok && !over {
			t.places.put(e.Thread, scope)
		}
	case flight.EventThreadEnd:
		if !t.places.remove(e.Thread) {
			t.ended.put(e.Thread, struct{}{})
		}
	case flight.EventScopeFork:
		if scope, id := t.places.find(e.Thread), flight.ScopeID(e.Arg); scope != nil && t.scopes[id] != nil {
			*scope = id
		}
	}
	return true
}
