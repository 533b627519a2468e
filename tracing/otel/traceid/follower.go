package traceid

import (
	"encoding/binary"
	"time"

	"github.com/vtscope/vtscope/recording"
	"github.com/vtscope/vtscope/runtime/flight"
)

// EventName is the name of the program's own events that tell which span a scope was opened in.
const EventName = "otel.Opened"

// LongLived is how long a scope has been open when what is opened in it begins traces of its own.
const LongLived = time.Minute

// A Parent is the span of a program's own that a scope was opened in.
type Parent struct {
	Trace   Trace
	Span    Span
	Sampled bool // the program keeps the trace
}

// A Place is where a scope stands among the traces.
type Place struct {
	Trace  Trace
	Parent Span // of the scope's own; zero: it begins the trace
	// Program is the span of the program's own that all of this is in; its Span is zero if there is none.
	Program Parent
	// Around is the trace and the span of the scope around, if that is of another trace.
	Around Parent
}

// Begins reports whether the scope is the first of the trace.
func (p *Place) Begins() bool { return p.Parent == Span{} }

// A Follower knows the traces of the open scopes of a process. It is a [recording.Observer]; those that ask it come after it.
type Follower struct {
	seed   Seed
	source recording.Source
	number uint32 // of the kind of events; 0: not met yet
	marks  map[flight.ScopeID]Parent
	places map[flight.ScopeID]Place
	gone   flight.ScopeID // was closed by the event before
}

// NewFollower returns a follower of the process that src is of.
func NewFollower(p flight.Process, src recording.Source) *Follower {
	return &Follower{seed: Of(p), source: src, marks: map[flight.ScopeID]Parent{}, places: map[flight.ScopeID]Place{}}
}

// Seed returns that of the process.
func (f *Follower) Seed() Seed { return f.seed }

// Reset forgets scopes that were closed unseen, and takes note of those that are open.
func (f *Follower) Reset(t *recording.Tracker) {
	for id := range f.marks {
		if t.Scope(id) == nil {
			delete(f.marks, id)
		}
	}
	for id := range f.places {
		if t.Scope(id) == nil {
			delete(f.places, id)
		}
	}
	t.Scopes(func(s *recording.Scope) bool { f.Scope(t, s.ID); return true })
}

// Event takes note of the events of package propagate. What was closed is known until the next event.
func (f *Follower) Event(e *recording.Event, _ recording.Change, t *recording.Tracker) {
	if f.gone != 0 {
		delete(f.marks, f.gone)
		delete(f.places, f.gone)
		f.gone = 0
	}
	switch e.Kind {
	case flight.EventScopeOpen:
		f.Scope(t, flight.ScopeID(e.Arg)) // as long as the scope around is known
	case flight.EventScopeClose:
		f.gone = flight.ScopeID(e.Arg)
	case flight.EventMark:
		if e.Ref != f.number {
			if f.number != 0 {
				return
			}
			k := f.source.UserKind(e.Ref)
			if k == nil || k.Name != EventName {
				return
			}
			f.number = e.Ref
		}
		if id, p, ok := read(e.More); ok {
			f.marks[id] = p
			delete(f.places, id)
			f.Scope(t, id)
		}
	}
}

// Lost does nothing: what follows it tells.
func (f *Follower) Lost(uint64) {}

// Flush does nothing.
func (f *Follower) Flush(*recording.Tracker) {}

// read reads the fields that package propagate writes.
func read(words []uint64) (id flight.ScopeID, p Parent, ok bool) {
	if len(words) < 5 {
		return 0, p, false
	}
	id = flight.ScopeID(words[0])
	binary.BigEndian.PutUint64(p.Trace[:8], words[1])
	binary.BigEndian.PutUint64(p.Trace[8:], words[2])
	binary.BigEndian.PutUint64(p.Span[:], words[3])
	p.Sampled = words[4]&1 != 0
	return id, p, id != 0 && p.Trace != Trace{} && p.Span != Span{}
}

// maxDepth bounds how far up is looked.
const maxDepth = 64

// Scope returns the place of an open scope, or of one that the last event has closed. Of one that is not known, and of the root scope, it is the zero Place. t may be nil:
// then it is that which is known already.
func (f *Follower) Scope(t *recording.Tracker, id flight.ScopeID) Place { return f.scope(t, id, 0) }

func (f *Follower) scope(t *recording.Tracker, id flight.ScopeID, depth int) Place {
	if p, ok := f.places[id]; ok || id == 0 || t == nil {
		return p
	}
	s := t.Scope(id)
	if s == nil {
		return Place{}
	}
	var p Place
	mine := f.seed.Scope(id)
	mark, marked := f.marks[id]
	parent := t.Scope(s.Parent)
	var around Place
	if s.Parent != 0 && parent != nil && depth < maxDepth {
		around = f.scope(t, s.Parent, depth+1)
	}
	known := around.Trace != Trace{}
	switch {
	case marked && !(known && around.Program == mark):
		p = Place{Trace: mark.Trace, Parent: mark.Span, Program: mark}
	case known && (marked || s.Opened-parent.Opened < LongLived):
		p = Place{Trace: around.Trace, Parent: f.seed.Scope(s.Parent), Program: around.Program}
	default:
		p = Place{Trace: f.seed.Begun(mine)}
	}
	if known && around.Trace != p.Trace {
		p.Around = Parent{Trace: around.Trace, Span: f.seed.Scope(s.Parent)}
	}
	f.places[id] = p
	return p
}

// Thread returns the trace and the span of a thread. One of no scope is a trace of its own, as is one of a scope that had been open for [LongLived] when it was
// started.
func (f *Follower) Thread(t *recording.Tracker, th *recording.Thread) (Trace, Span, Place) {
	span := f.seed.Thread(th.ID)
	p := f.Scope(t, th.Scope)
	s := t.Scope(th.Scope)
	if (p.Trace == Trace{}) || s != nil && th.Created-s.Opened >= LongLived {
		return f.seed.Begun(span), span, Place{}
	}
	return p.Trace, span, p
}
