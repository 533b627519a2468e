package recording

import (
	"slices"
	"time"

	"github.com/vtscope/vtscope/runtime/flight"
)

// The fields of events that the tracker reads where the table says they are.
var (
	nameField      = fieldOf(flight.EventThreadName, "name")
	parentField    = fieldOf(flight.EventScopeOpen, "parent")
	deadlineField  = fieldOf(flight.EventScopeOpen, "deadline")
	scopeNameField = fieldOf(flight.EventScopeOpen, "name")
	recordField    = fieldOf(flight.EventScopeOpen, "record")
)

func fieldOf(k flight.Kind, name string) flight.Field {
	fields := flight.Kinds[k].Fields
	i := slices.IndexFunc(fields, func(f flight.Field) bool { return f.Name == name })
	if i < 0 {
		panic("recording: event " + k.String() + " has no field " + name)
	}
	return fields[i]
}

// Word returns a field of the event.
func (e *Event) Word(f flight.Field) uint64 { return f.Word(e.Code, e.Ref, e.Arg, e.More) }

// scope applies an event of a scope.
func (t *Tracker) scope(e *Event) {
	id := flight.ScopeID(e.Arg)
	switch e.Kind {
	case flight.EventScopeOpen:
		t.open(Scope{
			ID: id, Parent: flight.ScopeID(e.Word(parentField)), Owner: e.Thread, Name: t.strings.String(flight.StringID(e.Word(scopeNameField))),
			Opened: e.Time, Deadline: time.Duration(e.Word(deadlineField)), State: flight.ScopeOpen, Record: flight.ScopeIndex(e.Word(recordField)),
		})
	case flight.EventScopeFork:
		if th := t.find(e.Thread); th != nil && t.scopes[id] != nil {
			th.Scope = id
		}
	case flight.EventScopeJoin:
		if sc := t.scopes[id]; sc != nil {
			sc.State = flight.ScopeJoining
		}
	case flight.EventScopeClose:
		t.close(id)
	}
}

// open makes a scope known.
func (t *Tracker) open(sc Scope) {
	if known := t.scopes[sc.ID]; known != nil {
		*known = sc
	} else {
		t.scopes[sc.ID] = &sc
		t.order = append(t.order, sc.ID)
	}
	if sc.Record != 0 || sc.ID == 0 {
		t.byRecord[sc.Record] = sc.ID
	}
}

// close forgets a scope. The root stays.
func (t *Tracker) close(id flight.ScopeID) {
	sc := t.scopes[id]
	if sc == nil || id == 0 {
		return
	}
	delete(t.scopes, id)
	if sc.Record != 0 && t.byRecord[sc.Record] == id {
		delete(t.byRecord, sc.Record)
	}
	if len(t.order) > 2*len(t.scopes)+64 {
		t.tidy()
	}
}

// tidy drops closed scopes from order.
func (t *Tracker) tidy() {
	seen := make(map[flight.ScopeID]bool, len(t.scopes))
	t.order = slices.DeleteFunc(t.order, func(id flight.ScopeID) bool {
		if t.scopes[id] == nil || seen[id] {
			return true
		}
		seen[id] = true
		return false
	})
}
