package dump

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/vtscope/vtscope/recording"
	"github.com/vtscope/vtscope/runtime/flight"
)

// ThreadEventsFormat names the JSON document of [ThreadEventsJSON] and its version.
const ThreadEventsFormat = "vtscope/thread-events/v1"

// UsualEvents is how many events of a thread [TakeThreadEvents] tells if it is not told how many.
const UsualEvents = 200

// ThreadEvents is what is still known of what one thread did, also of one that has ended.
type ThreadEvents struct {
	Format  string        `json:"format"` // always [ThreadEventsFormat]
	Process Process       `json:"process"`
	Taken   time.Time     `json:"taken"`
	AsOf    time.Time     `json:"as_of"`
	Took    time.Duration `json:"took_ns"`

	Complete   bool     `json:"complete"`
	Incomplete []string `json:"incomplete,omitempty"`

	ID    flight.ThreadID `json:"id"`
	Name  string          `json:"name,omitempty"`
	State string          `json:"state,omitempty"` // at the moment; absent: there is no such thread, any more or at all

	// Thread is all else that is known of it, if who asked wants that and the thread is there. [TakeThreadEvents] leaves it nil.
	Thread *ThreadReport `json:"thread,omitempty"`

	Whole   time.Time     `json:"whole"`   // from here on no event of the thread is missing; before it, some may be known
	Earlier int           `json:"earlier"` // that are known too, and left out for there are more
	Events  []ThreadEvent `json:"events"`  // the newest, in order of time
	Stacks  []Stack       `json:"stacks"`  // distinct ones, to which events have indexes
}

// A ThreadEvent is something that a thread did, or that was done to it.
type ThreadEvent struct {
	Time    time.Time         `json:"time"`
	Kind    string            `json:"kind"`              // by its name in [flight.Kinds]
	Event   string            `json:"event,omitempty"`   // of the program's own: its name
	Carrier *flight.CarrierID `json:"carrier,omitempty"` // absent: told by somebody who is none
	By      *Party            `json:"by,omitempty"`      // the thread that did it, such as the one that unparked this one
	For     time.Duration     `json:"for_ns,omitempty"`  // of a park until the event that ended it, of an event with a duration that
	Stack   int               `json:"stack"`             // index in [ThreadEvents.Stacks]; -1: none
	Fields  []EventField      `json:"fields,omitempty"`
}

// An EventField is a field of an event.
type EventField struct {
	Name string `json:"name"`
	Text string `json:"text"`
}

// ErrNoEvents says that a source does not know what happened.
var ErrNoEvents = fmt.Errorf("what happened is not known")

// UnknownThreadEvents is what is told of a thread where a source does not know what happened: no event, and
// that they are not known.
func UnknownThreadEvents(src Source, id flight.ThreadID) *ThreadEvents {
	now := time.Now()
	p := processOf(src, now)
	return &ThreadEvents{
		Format: ThreadEventsFormat, Process: p, Taken: now, AsOf: p.LastSeen, ID: id, Whole: p.LastSeen,
		Incomplete: []string{ErrNoEvents.Error() + ": the process has no recorder"}, Events: []ThreadEvent{}, Stacks: []Stack{},
	}
}

// TakeThreadEvents reads what is still known of what a thread did: from the rings of a process, or from a recording up to its moment. Of the events it tells the
// newest, at most so many; 0 means [UsualEvents]. A thread that has ended is no error, nor is one of which nothing is known. The error is that of [Take], or
// [ErrNoEvents].
func TakeThreadEvents(ctx context.Context, src Source, id flight.ThreadID, most int) (*ThreadEvents, error) {
	began := time.Now()
	if most <= 0 {
		most = UsualEvents
	}
	var known *recording.Known
	var err error
	var lost uint64
	switch m, ok := src.(*recording.Moment); {
	case ok:
		known, err = m.KnownOf(ctx, id, most)
		if known != nil {
			lost = known.Lost
		}
	default:
		r := FlightReader(src)
		if r == nil {
			return nil, ErrNoEvents
		}
		known, err = recording.KnownOf(ctx, r, id, most)
	}
	if err != nil {
		return nil, err
	}
	p := processOf(src, began)
	out := &ThreadEvents{
		Format: ThreadEventsFormat, Process: p, Taken: began, AsOf: p.LastSeen, ID: id, Whole: known.From.Add(known.Whole), Earlier: known.Earlier,
		Events: make([]ThreadEvent, 0, len(known.Events)),
	}
	var s Snapshot // of which only what is missing is told
	s.Process = p
	if m, ok := src.(Moment); ok {
		s.Incomplete = m.Incomplete()
	}
	scopes, err := src.Scopes()
	if err != nil {
		s.missed(err)
	}
	t := &teller{out: out, known: known, stacks: newStackTable(src.Stack, SameLines), people: map[flight.ThreadID][]*Party{id: nil}, parked: -1}
	names := make(map[flight.ScopeID]string, len(scopes))
	for i := range scopes {
		names[scopes[i].ID] = scopes[i].Name
	}
	t.scope = func(id flight.ScopeID) string { return names[id] }
	for i := range known.Events {
		t.add(&known.Events[i])
	}
	if err := t.meet(ctx, src, plant(scopes, false), &s); err != nil {
		return nil, err
	}
	out.Stacks = t.stacks.stacks
	if out.Stacks == nil {
		out.Stacks = []Stack{}
	}
	out.Incomplete = append(s.Incomplete, known.Miss...)
	if lost > 0 {
		out.Incomplete = append(out.Incomplete, Count(int(lost), "event")+" of the recording missing")
	}
	if r := FlightReader(src); r != nil {
		if n := r.Lost().Events; n > 0 {
			out.Incomplete = append(out.Incomplete, Count(int(n), "event")+" never recorded, for all rings were busy")
		}
		if set, err := r.Settings(); err == nil {
			out.Incomplete = append(out.Incomplete, kindsOff(&set, movesOfThreads...)...)
		}
	}
	out.Complete = len(out.Incomplete) == 0
	out.Took = time.Since(began)
	return out, nil
}

// ThreadEventsJSON writes e as one document; the package comment describes it.
func ThreadEventsJSON(w io.Writer, e *ThreadEvents) error { return writeDocument(w, e) }

// movesOfThreads are the kinds without which the story of a thread has gaps.
var movesOfThreads = []flight.Kind{flight.EventThreadStart, flight.EventThreadEnd, flight.EventMount, flight.EventUnmount, flight.EventPark, flight.EventUnpark}

// A teller makes events readable.
type teller struct {
	out    *ThreadEvents
	known  *recording.Known
	stacks *stackTable
	scope  func(flight.ScopeID) string
	people map[flight.ThreadID][]*Party // whose names are wanted
	parked int                          // the park that has not ended yet; -1: none
}

// meet tells the names of those who are wanted, and the state of the thread itself.
func (t *teller) meet(ctx context.Context, src Source, tree *tree, s *Snapshot) error {
	var found []flight.ThreadRow
	if _, err := src.Threads(ctx, func(rows []flight.ThreadRow) {
		for i := range rows {
			r := &rows[i]
			if _, wanted := t.people[r.ID]; wanted && r.State != flight.StateFree && r.State < flight.StateCount {
				found = append(found, *r)
			}
		}
	}); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		s.missed(err)
	}
	for i := range found {
		r := &found[i]
		name, path := src.ThreadName(*r), tree.path(max(tree.family(r.Scope), 0))[1:]
		if r.ID == t.out.ID {
			t.out.Name, t.out.State = name, r.State.String()
		}
		for _, p := range t.people[r.ID] {
			p.Name, p.Scope = name, path
		}
	}
	return nil
}

func (t *teller) add(e *recording.Event) {
	row := ThreadEvent{Time: t.known.From.Add(e.Time), Kind: e.Kind.String(), Stack: -1}
	if name := e.Name(t.known); name != row.Kind {
		row.Event = name
	}
	if e.Carrier != flight.NoCarrier {
		c := e.Carrier
		row.Carrier = &c
	}
	e.Fields(t.known, t.known.From, t.scope, func(f flight.Field, word uint64, text string) {
		switch {
		case f.Use == flight.FieldStack:
			if at := t.stacks.shown(flight.StackID(word)); at > 0 {
				row.Stack = int(at) - 1
			}
		case f.Use == flight.FieldThread && f.Name == "by":
			row.By = &Party{Thread: flight.ThreadID(word)}
			t.people[row.By.Thread] = append(t.people[row.By.Thread], row.By)
		case f.Use == flight.FieldDuration && f.Name == "duration":
			row.For = time.Duration(word)
		case f.Use == flight.FieldFlags:
		default:
			row.Fields = append(row.Fields, EventField{f.Name, text})
		}
	})
	switch e.Kind {
	case flight.EventPark:
		t.parked = len(t.out.Events)
	case flight.EventUnpark, flight.EventMount, flight.EventThreadEnd:
		if t.parked >= 0 {
			park := &t.out.Events[t.parked]
			park.For = max(row.Time.Sub(park.Time), 0)
			t.parked = -1
		}
	}
	t.out.Events = append(t.out.Events, row)
}
