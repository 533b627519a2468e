package perfetto

import (
	"math"
	"time"

	"github.com/vtscope/vtscope/recording"
	"github.com/vtscope/vtscope/runtime/flight"
)

// event draws an event. Kinds that move threads and scopes are slices and counters; what is drawn of the others derives from the table of kinds.
func (x *export) event(e *recording.Event) {
	left := x.left
	x.left = 0
	switch e.Kind {
	case flight.EventPark, flight.EventThreadEnd:
		x.left = e.Thread
	case flight.EventUnmount:
		if e.Thread == left {
			return // the event before told all
		}
	}
	change := x.tracker.Apply(e)
	var k *thread
	if change.Thread != nil {
		k = x.changed(&change, e.Time)
	}
	switch e.Kind {
	case flight.EventMount:
		ready := time.Duration(0)
		if k != nil && change.From == flight.StateRunnable {
			ready = change.For
		}
		if c := x.carrier(e.Carrier); c != nil {
			c.mount(x, e.Time, e.Thread, x.tracker.Thread(e.Thread), ready)
		} else if k != nil {
			x.endFlow(k, e.Time)
		}
	case flight.EventPark, flight.EventUnmount:
		x.carriers[e.Carrier].leave(x, e.Time, e)
	case flight.EventThreadEnd:
		x.carriers[e.Carrier].leave(x, e.Time, e)
		if k != nil {
			x.endFlow(k, e.Time)
		}
	case flight.EventUnpark:
		if k != nil {
			x.unparked(k, change.Thread, e)
		}
	case flight.EventScopeOpen:
		x.openScope(x.tracker.Scope(flight.ScopeID(e.Arg)), e.Time)
	case flight.EventScopeClose:
		x.closeScope(flight.ScopeID(e.Arg), e.Time)
	case flight.EventScopeFork:
		if th := x.tracker.Thread(e.Thread); th != nil {
			x.thread(th) // counts it there
		}
	case flight.EventSpanBegin:
		x.spanBegins(e)
	case flight.EventSpanEnd:
		x.spanEnds(e)
	case flight.EventThreadStart, flight.EventYield, flight.EventThreadName, flight.EventMore:
		// The state of the thread, and its name, are all that is seen of them.
	default:
		x.other(e)
	}
}

// other draws an event as its row in the table of kinds says: what took time as a slice, the rest as an instant.
func (x *export) other(e *recording.Event) {
	info := &flight.Kinds[e.Kind]
	name, fields := info.Name, []flight.Field(nil)
	if user := x.userKind(e, info); user != nil {
		name, fields = user.Name, user.Fields
	}
	q, track := x.place(e, info)
	if info.Span {
		from := max(e.Time-durationOf(e, info), 0)
		if l := x.beginLate(track, info.Category, from); l != nil {
			l.named(name, info.Category)
			x.notes(l, e, info.Fields)
			x.notes(l, e, fields)
			x.who(l, e)
			l.sent()
			l.event(e.Time, typeEnd, 0)
			l.sent()
			return
		}
		x.stats.Late++
	}
	q.event(e.Time, typeInstant, track)
	q.named(name, info.Category)
	x.notes(q, e, info.Fields)
	x.notes(q, e, fields)
	x.who(q, e)
	q.sent()
}

// userKind returns the kind of the program's own that the event is of, or nil.
func (x *export) userKind(e *recording.Event, info *flight.KindInfo) *flight.UserKindInfo {
	for _, f := range info.Fields {
		if f.Use == flight.FieldUserKind {
			return x.src.UserKind(uint32(e.Word(f)))
		}
	}
	return nil
}

// place returns the sequence and the track that an event of a thread, carrier or scope belongs to.
func (x *export) place(e *recording.Event, info *flight.KindInfo) (*sequence, uint64) {
	if c := x.carriers[e.Carrier]; c != nil && info.Category == flight.CategoryPinning {
		return c.q, c.q.track
	}
	if own := x.drawn[e.Thread]; own != nil && info.Category != flight.CategoryScopes {
		return own.q, own.q.track
	}
	if c := x.carriers[e.Carrier]; c != nil && info.Category == flight.CategoryScheduler {
		return c.q, c.q.track
	}
	for _, f := range info.Fields {
		if s, open := x.open[flight.ScopeID(e.Word(f))]; open && f.Use == flight.FieldScope {
			return x.main, s.path.lanes[max(s.lane, 0)].track
		}
	}
	if th := x.tracker.Thread(e.Thread); th != nil {
		return x.main, x.thread(th).path.track
	}
	return x.main, x.process
}

// durationOf returns how long what the event tells of has taken.
func durationOf(e *recording.Event, info *flight.KindInfo) time.Duration {
	for _, f := range info.Fields {
		if f.Use == flight.FieldDuration {
			return time.Duration(min(e.Word(f), math.MaxInt64))
		}
	}
	return 0
}

// who notes the thread and the carrier of the event.
func (x *export) who(q *sequence, e *recording.Event) {
	if e.Thread != 0 {
		q.noteUint("of-thread", uint64(e.Thread))
	}
	if e.Carrier != flight.NoCarrier {
		q.noteUint("on-carrier", uint64(e.Carrier))
	}
}

// notes gives the event that is being written the fields of e.
func (x *export) notes(q *sequence, e *recording.Event, fields []flight.Field) {
	for _, f := range fields {
		word := e.Word(f)
		switch f.Use {
		case flight.FieldStack:
			q.noteStack(flight.StackID(word), x.stackText)
		case flight.FieldString:
			q.noteText(f.Name, x.src.String(flight.StringID(word)))
		case flight.FieldText:
			q.noteText(f.Name, f.Text(e.More))
		case flight.FieldReason, flight.FieldBlocker:
			if text := flight.FieldUses[f.Use].Text(word); text != "" {
				q.noteText(f.Name, text)
			}
		case flight.FieldThread:
			if word != 0 {
				q.noteUint(f.Name, word)
			}
		case flight.FieldTicks:
			if word != 0 {
				q.noteInt(f.Name, int64(word))
			}
		case flight.FieldUserKind, flight.FieldScopeIndex, flight.FieldUnused:
			// The event's name says the first; the others say nothing outside the recorder.
		default:
			noteWord(q, f, word)
		}
	}
}

// noteWord notes a field by the type of its use.
func noteWord(q *sequence, f flight.Field, word uint64) {
	switch flight.FieldUses[f.Use].Type {
	case "i64":
		q.noteInt(f.Name, int64(word))
	case "f64":
		q.noteDouble(f.Name, math.Float64frombits(word))
	case "bool":
		q.noteBool(f.Name, word != 0)
	default:
		q.noteUint(f.Name, word)
	}
}
