package perfettotest

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
)

// A Trace is a trace as Perfetto would show it. Times are nanoseconds of its main clock.
type Trace struct {
	Packets   int
	Sequences int
	Realtime  int64 // wall time, in nanoseconds since 1970, when the main clock showed 0
	Tracks    map[uint64]*Track
	Process   *Track // the track of the process
	Flows     map[uint64]*Flow

	boot int64 // the main clock at the last snapshot
}

// A Track is a row, or several of one name.
type Track struct {
	UUID, Parent uint64
	Name         string
	PID          int64
	IsCounter    bool
	Rank         int64
	Slices       []*Slice // in the order of their begin
	Instants     []*Event
	Values       []Value

	events []*Event
}

// An Event is a begin, an end or an instant.
type Event struct {
	Time       int64
	Type       uint64
	Name       string
	Categories []string
	Notes      map[string]any // bool, uint64, int64, float64, string
	track      *Track
	value      int64
}

// A Slice is a begin and its end; their annotations are put together.
type Slice struct {
	Name       string
	Categories []string
	From, To   int64
	Depth      int
	Notes      map[string]any
	Begin      *Event
}

// A Value is one of a counter.
type Value struct {
	Time  int64
	Value int64
}

// A Flow is an arrow.
type Flow struct{ From, To *Event }

// On returns the track that the event is on.
func (e *Event) On() *Track { return e.track }

const (
	typeBegin   = 1 // of TrackEvent.Type
	typeEnd     = 2
	typeInstant = 3
	typeCounter = 4

	clockRealtime = 1
	clockBoot     = 6

	stateCleared = 1 // of SequenceFlags
	stateNeeded  = 2
)

// A sequence is what a reader keeps of one.
type sequence struct {
	valid    bool
	clock    uint64           // default
	track    uint64           // default
	deltas   map[uint64]int64 // of clocks whose times are differences: the time they show
	interned map[string]map[uint64]string
	all      map[string]map[uint64]string // also what was forgotten
	last     int64
	seen     bool
}

// Read reads a trace, and checks it.
func Read(data []byte) (*Trace, error) {
	t := &Trace{Tracks: map[uint64]*Track{}, Flows: map[uint64]*Flow{}}
	seqs := map[uint64]*sequence{}
	for len(data) > 0 {
		tag, n := binary.Uvarint(data)
		size, m := binary.Uvarint(data[max(n, 0):])
		if n <= 0 || m <= 0 || tag != 1<<3|2 || size > uint64(len(data)-n-m) {
			return nil, fmt.Errorf("packet %d: %w", t.Packets, errShort)
		}
		p, err := decode(data[n+m:n+m+int(size)], "TracePacket")
		if err == nil {
			err = t.packet(p, seqs)
		}
		if err != nil {
			return nil, fmt.Errorf("packet %d: %w", t.Packets, err)
		}
		data = data[n+m+int(size):]
		t.Packets++
	}
	t.Sequences = len(seqs)
	return t, t.nest()
}

func (t *Trace) packet(p record, seqs map[uint64]*sequence) error {
	id := p.uint("trusted_packet_sequence_id")
	if id == 0 {
		return errors.New("it belongs to no sequence")
	}
	q := seqs[id]
	if q == nil {
		q = &sequence{all: map[string]map[uint64]string{}}
		seqs[id] = q
		if !p.bool("first_packet_on_sequence") {
			return fmt.Errorf("the first of sequence %d does not say so", id)
		}
	} else if p.bool("first_packet_on_sequence") {
		return fmt.Errorf("sequence %d begins twice", id)
	}
	if p.uint("sequence_flags")&stateCleared != 0 {
		q.valid, q.clock, q.track = true, clockBoot, 0
		q.interned, q.deltas = map[string]map[uint64]string{}, map[uint64]int64{}
	}
	if p.uint("sequence_flags")&stateNeeded != 0 && !q.valid {
		return fmt.Errorf("sequence %d: it needs a state that was never told", id)
	}
	if p.has("interned_data") {
		if err := q.intern(p.record("interned_data")); err != nil {
			return err
		}
	}
	if d := p.record("trace_packet_defaults"); d != nil {
		q.clock = d.uint("timestamp_clock_id")
		q.track = d.record("track_event_defaults").uint("track_uuid")
	}
	switch {
	case p.has("clock_snapshot"):
		return t.clocks(q, p.record("clock_snapshot"))
	case p.has("track_descriptor"):
		return t.describe(p.record("track_descriptor"))
	case p.has("track_event"):
		at, err := q.time(p)
		if err != nil {
			return fmt.Errorf("sequence %d: %w", id, err)
		}
		return t.event(q, at, p)
	}
	return errors.New("it says nothing")
}

// clocks ties the clocks of a snapshot.
func (t *Trace) clocks(q *sequence, s record) error {
	boot, real := int64(-1), int64(-1)
	for _, c := range s["clocks"] {
		c := c.(record)
		switch id, at := c.uint("clock_id"), int64(c.uint("timestamp")); {
		case id == clockBoot:
			boot = at
		case id == clockRealtime:
			real = at
		case id >= 64 && id < 128 && c.bool("is_incremental"):
			q.deltas[id] = at
		default:
			return fmt.Errorf("clock %d is not known here", id)
		}
	}
	if boot < 0 || real < 0 || s.uint("primary_trace_clock") != clockBoot {
		return fmt.Errorf("clocks: got %v, want the main clock, which is %d, and wall time", s, clockBoot)
	}
	for id, at := range q.deltas {
		if at != boot {
			return fmt.Errorf("clock %d shows %d while the main clock shows %d: this reader wants one time", id, at, boot)
		}
	}
	if boot < t.boot {
		return fmt.Errorf("the main clock goes back by %d ns from one snapshot to the next", t.boot-boot)
	}
	t.boot = boot
	if t.Realtime != 0 && t.Realtime != real-boot {
		return fmt.Errorf("wall time moved against the main clock by %d ns", real-boot-t.Realtime)
	}
	t.Realtime = real - boot
	return nil
}

// time returns the packet's time on the main clock.
func (q *sequence) time(p record) (int64, error) {
	if !p.has("timestamp") {
		return 0, errors.New("an event without time")
	}
	at, clock := int64(p.uint("timestamp")), q.clock
	if p.has("timestamp_clock_id") {
		clock = p.uint("timestamp_clock_id")
	}
	if clock != clockBoot {
		before, told := q.deltas[clock]
		if !told {
			return 0, fmt.Errorf("clock %d is tied to no other", clock)
		}
		at += before
		q.deltas[clock] = at
	}
	if q.seen && at < q.last {
		return 0, fmt.Errorf("time goes back by %d ns", q.last-at)
	}
	q.seen, q.last = true, at
	return at, nil
}

// intern takes note of what a packet interns.
func (q *sequence) intern(d record) error {
	if !q.valid {
		return errors.New("data is interned before the state was cleared")
	}
	for name, entries := range d {
		if q.interned[name] == nil {
			q.interned[name] = map[uint64]string{}
		}
		if q.all[name] == nil {
			q.all[name] = map[uint64]string{}
		}
		for _, e := range entries {
			e := e.(record)
			id, text := e.uint("iid"), e.text("name")
			if e.has("str") {
				text = e.text("str")
			}
			if was, used := q.all[name][id]; id == 0 || used && was != text {
				return fmt.Errorf("%s: number %d is given to %q, and was to %q", name, id, text, was)
			}
			q.interned[name][id], q.all[name][id] = text, text
		}
	}
	return nil
}

func (q *sequence) text(table string, id uint64) (string, error) {
	s, known := q.interned[table][id]
	if !known {
		return "", fmt.Errorf("%s: number %d was not interned", table, id)
	}
	return s, nil
}

func (t *Trace) describe(d record) error {
	k := &Track{UUID: d.uint("uuid"), Parent: d.uint("parent_uuid"), Name: d.text("name"), IsCounter: d.has("counter"), Rank: d.int("sibling_order_rank")}
	if t.Tracks[k.UUID] != nil || k.UUID == 0 {
		return fmt.Errorf("track %d is described twice", k.UUID)
	}
	if p := d.record("process"); p != nil {
		if t.Process != nil {
			return errors.New("there are two processes")
		}
		t.Process, k.PID, k.Name = k, p.int("pid"), p.text("process_name")
	} else if t.Tracks[k.Parent] == nil {
		return fmt.Errorf("track %q: its parent %d is not described", k.Name, k.Parent)
	} else if k.Name == "" {
		return fmt.Errorf("track %d has no name", k.UUID)
	}
	t.Tracks[k.UUID] = k
	return nil
}

func (t *Trace) event(q *sequence, at int64, p record) error {
	r := p.record("track_event")
	e := &Event{Time: at, Type: r.uint("type"), Name: r.text("name"), Notes: map[string]any{}, value: r.int("counter_value")}
	var err error
	if r.has("name_iid") {
		if e.Name, err = q.text("event_names", r.uint("name_iid")); err != nil {
			return err
		}
	}
	for _, id := range r.uints("category_iids") {
		c, err := q.text("event_categories", id)
		if err != nil {
			return err
		}
		e.Categories = append(e.Categories, c)
	}
	for _, a := range r["debug_annotations"] {
		if err := e.annotate(q, a.(record)); err != nil {
			return err
		}
	}
	if p.uint("sequence_flags")&stateNeeded == 0 {
		return errors.New("an event that depends on the sequence's state, and does not say so")
	}
	id := q.track
	if r.has("track_uuid") {
		id = r.uint("track_uuid")
	}
	if e.track = t.Tracks[id]; e.track == nil {
		return fmt.Errorf("event %q: track %d is not described", e.Name, id)
	}
	if e.track.IsCounter != (e.Type == typeCounter) || e.Type == typeCounter != r.has("counter_value") {
		return fmt.Errorf("event %q of type %d on track %q, which is a counter: %v", e.Name, e.Type, e.track.Name, e.track.IsCounter)
	}
	e.track.events = append(e.track.events, e)
	for _, id := range r.uints("flow_ids") {
		if t.Flows[id] != nil {
			return fmt.Errorf("flow %d begins twice", id)
		}
		t.Flows[id] = &Flow{From: e}
	}
	for _, id := range r.uints("terminating_flow_ids") {
		f := t.Flows[id]
		if f == nil || f.To != nil || f.From.Time > at {
			return fmt.Errorf("flow %d ends at %d, and is %+v", id, at, f)
		}
		f.To = e
	}
	return nil
}

func (e *Event) annotate(q *sequence, a record) (err error) {
	name := a.text("name")
	if a.has("name_iid") {
		if name, err = q.text("debug_annotation_names", a.uint("name_iid")); err != nil {
			return err
		}
	}
	if _, twice := e.Notes[name]; twice || name == "" {
		return fmt.Errorf("event %q: annotation %q is there twice", e.Name, name)
	}
	for field, v := range a {
		switch field {
		case "name", "name_iid":
		case "string_value_iid":
			if e.Notes[name], err = q.text("debug_annotation_string_values", v[0].(uint64)); err != nil {
				return err
			}
		default:
			e.Notes[name] = v[0]
		}
	}
	if e.Notes[name] == nil {
		return fmt.Errorf("event %q: annotation %q has no value", e.Name, name)
	}
	return nil
}

// nest makes slices of the events of each track, in the order of their times.
func (t *Trace) nest() error {
	for _, k := range t.Tracks {
		slices.SortStableFunc(k.events, func(a, b *Event) int { return cmp.Compare(a.Time, b.Time) })
		var open []*Slice
		for _, e := range k.events {
			switch e.Type {
			case typeBegin:
				s := &Slice{Name: e.Name, Categories: e.Categories, From: e.Time, Depth: len(open), Notes: e.Notes, Begin: e}
				open = append(open, s)
				k.Slices = append(k.Slices, s)
			case typeEnd:
				if len(open) == 0 {
					return fmt.Errorf("track %q: at %d a slice ends, and none is open", k.Name, e.Time)
				}
				s := open[len(open)-1]
				open = open[:len(open)-1]
				s.To = e.Time
				for name, v := range e.Notes {
					s.Notes[name] = v
				}
			case typeInstant:
				k.Instants = append(k.Instants, e)
			case typeCounter:
				k.Values = append(k.Values, Value{e.Time, e.value})
			default:
				return fmt.Errorf("track %q: an event of type %d", k.Name, e.Type)
			}
		}
		if len(open) != 0 {
			return fmt.Errorf("track %q: %d slices do not end, %q first", k.Name, len(open), open[0].Name)
		}
	}
	for id, f := range t.Flows {
		if f.To == nil {
			return fmt.Errorf("flow %d does not end", id)
		}
	}
	return nil
}

// Find returns the tracks of a path of names below the process: several if siblings have one name.
func (t *Trace) Find(names ...string) []*Track {
	at := []*Track{t.Process}
	for _, name := range names {
		var below []*Track
		for _, k := range t.Tracks {
			if k.Name == name && slices.ContainsFunc(at, func(p *Track) bool { return p != nil && p.UUID == k.Parent && k != p }) {
				below = append(below, k)
			}
		}
		at = below
	}
	slices.SortFunc(at, func(a, b *Track) int { return cmp.Compare(a.UUID, b.UUID) })
	return at
}

// Slices returns the slices of all tracks of a path of names, in the order of their begin.
func (t *Trace) Slices(names ...string) []*Slice {
	var all []*Slice
	for _, k := range t.Find(names...) {
		all = append(all, k.Slices...)
	}
	slices.SortStableFunc(all, func(a, b *Slice) int { return cmp.Compare(a.From, b.From) })
	return all
}
