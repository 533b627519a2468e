package perfetto

import "github.com/vtscope/vtscope/runtime/flight"

// A usual is a text that many events have. Its number in a sequence is looked up once.
type usual uint8

const (
	usualThread usual = iota
	usualScope
	usualReady
	usualReason
	usualStack
	usualThreads // a category

	usualReasons // [flight.Reasons] follow
	usualCount   = usualReasons + usual(flight.ReasonCount)
)

var usuals = [usualReasons]struct {
	in   table
	text string
}{
	usualThread:  {tableNoteNames, "thread"},
	usualScope:   {tableNoteNames, "scope"},
	usualReady:   {tableNoteNames, "ready"},
	usualReason:  {tableNoteNames, "reason"},
	usualStack:   {tableNoteNames, "stack"},
	usualThreads: {tableCategories, string(flight.CategoryThreads)},
}

func (q *sequence) usually(u usual) uint64 {
	id := q.usual[u]
	if id == 0 {
		if u < usualReasons {
			id = q.intern(usuals[u].in, usuals[u].text)
		} else {
			id = q.intern(tableTexts, flight.Reason(u-usualReasons).String())
		}
		q.usual[u] = id
	}
	return id
}

// usualNote notes a value of a usual name.
func (q *sequence) usualNote(name usual, f field, v uint64) {
	b, at := begin(q.w.buf, eventAnnotation)
	b = putUint(b, noteName, q.usually(name))
	q.w.buf = end(putUint(b, f, v), at)
}

// noteReason notes why, if there is a reason.
func (q *sequence) noteReason(why flight.Reason) {
	switch {
	case why == flight.ReasonNone:
	case why < flight.ReasonCount:
		q.usualNote(usualReason, noteShared, q.usually(usualReasons+usual(why)))
	default:
		q.noteUint(usuals[usualReason].text, uint64(why))
	}
}
