package recording

import (
	"encoding/binary"
	"time"

	"github.com/vtscope/vtscope/runtime/flight"
)

// A shape is what many events of a chunk have in common. Each is written once; an event begins with its number.
type shape struct {
	kind    flight.Kind
	code    flight.Reason
	carrier flight.CarrierID
	how     uint16 // how each part is written: the bits below
}

// The bits of shape.how. Values are part of the format.
const (
	howLater uint16 = 1 << 0 // the time differs from that of the event before: column times has by how much
	howLeft  uint16 = 1 << 1 // the unmount that goes with a park, yield or end follows, and is not written
	howMore  uint16 = 1 << 2 // column more has words

	howThread   = 3 // the lowest bit of two, with the values below
	howArg      = 5 // of three
	howRef      = 8 // of three
	twoBits     = 3
	threeBits   = 7
	howBits     = 11
	threadNone  = 0
	threadOn    = 1 // the one that is mounted on the carrier
	threadReady = 2 // column threads has how many were made runnable after it
	threadDelta = 3 // column threads has the difference to the last of the kind on the carrier

	argNone  = 0
	argOn    = 1 // the thread that is mounted on the carrier
	argSame  = 2 // as the last of the kind on the carrier
	argDelta = 3 // column args has the difference to that
	argPlain = 4 // column args has it
	argKnown = 5 // column args has the number of one that was written before, or of the next new one and then that

	refNone  = 0
	refSame  = 1 // as the last of the kind on the carrier
	refDelta = 2 // column refs has the difference to that
	refKnown = 3 // column refs has the number of one that was written before, or of the next new one and then that
)

// The columns of events.
const (
	columnShapes = iota
	columnTimes
	columnThreads
	columnArgs
	columnRefs
	columnMore

	eventColumns
)

// maxShapes bounds the shapes of a chunk: carriers × kinds × reasons may be many, what a reader keeps of them may not.
const maxShapes = 1 << 20

// uses tells of each kind which sort of thing its reference and argument are.
var uses = func() (all [flight.KindCount]struct{ ref, arg flight.FieldUse }) {
	for k := range all {
		for _, f := range flight.Kinds[k].Fields {
			switch f.At {
			case flight.AtRef:
				all[k].ref = f.Use
			case flight.AtArg:
				all[k].arg = f.Use
			}
		}
	}
	return all
}()

func useOf(k flight.Kind) (ref, arg flight.FieldUse) {
	if k < flight.KindCount {
		return uses[k].ref, uses[k].arg
	}
	return 0, 0
}

// An eventEncoder writes the events of a chunk.
type eventEncoder struct {
	model  model
	shapes map[shape]uint64
	args   map[uint64]uint64
	refs   map[uint32]uint64
	out    columns
}

func newEventEncoder() *eventEncoder {
	return &eventEncoder{shapes: map[shape]uint64{}, args: map[uint64]uint64{}, refs: map[uint32]uint64{}, out: make(columns, eventColumns)}
}

// encode appends the events, which are in order of time and not before the time from, to b.
func (x *eventEncoder) encode(b []byte, from time.Duration, events []Event) []byte {
	x.model.reset(int64(from))
	clear(x.shapes)
	clear(x.args)
	clear(x.refs)
	x.out.reset()
	for i := 0; i < len(events); i++ {
		left := i+1 < len(events) && isLeave(&events[i], &events[i+1])
		x.event(&events[i], left)
		if left {
			i++
			x.model.saw(&events[i], x.model.carrier(events[i].Carrier))
		}
	}
	return x.out.pack(b)
}

// isLeave reports whether next is the unmount that goes with e.
func isLeave(e, next *Event) bool {
	if next.Kind != flight.EventUnmount || next.Time != e.Time || next.Thread != e.Thread || next.Carrier != e.Carrier ||
		next.Ref != 0 || next.Arg != 0 || len(next.More) > 0 {
		return false
	}
	code, ok := leaves(e)
	return ok && code == next.Code
}

// leaves returns the reason of the unmount that goes with an event, if one may.
func leaves(e *Event) (flight.Reason, bool) {
	switch e.Kind {
	case flight.EventPark, flight.EventThreadEnd:
		return e.Code, true
	case flight.EventYield:
		return flight.ReasonYield, true
	}
	return 0, false
}

func (x *eventEncoder) event(e *Event, left bool) {
	c := x.model.carrier(e.Carrier)
	k := c.kind(e.Kind)
	s := shape{kind: e.Kind, code: e.Code, carrier: e.Carrier}
	if d := int64(e.Time) - x.model.at; d != 0 {
		s.how |= howLater
		x.out.uvarint(columnTimes, uint64(d))
	}
	if left {
		s.how |= howLeft
	}
	s.how |= x.thread(e, c, k)<<howThread | x.arg(e, c, k)<<howArg | x.ref(e, k)<<howRef
	if len(e.More) > 0 {
		s.how |= howMore
		x.out.uvarint(columnMore, uint64(len(e.More)))
		for _, w := range e.More {
			x.out.uvarint(columnMore, w)
		}
	}
	n, ok := x.shapes[s]
	if !ok {
		n = uint64(len(x.shapes))
		x.shapes[s] = n
	}
	x.out.uvarint(columnShapes, n)
	if !ok {
		b := append(x.out[columnShapes], byte(s.kind), byte(s.code))
		b = binary.LittleEndian.AppendUint16(b, uint16(s.carrier))
		x.out[columnShapes] = binary.LittleEndian.AppendUint16(b, s.how)
	}
	x.model.saw(e, c)
}

func (x *eventEncoder) thread(e *Event, c *carrierModel, k *kindModel) uint16 {
	switch {
	case e.Thread == 0:
		return threadNone
	case e.Thread == c.mounted:
		return threadOn
	case e.Kind == flight.EventMount:
		if i := x.model.readyAt(e.Thread); i >= 0 {
			x.out.uvarint(columnThreads, uint64(i))
			return threadReady
		}
	}
	x.out.varint(columnThreads, int64(e.Thread-k.thread))
	return threadDelta
}

func (x *eventEncoder) arg(e *Event, c *carrierModel, k *kindModel) uint16 {
	switch {
	case e.Arg == 0:
		return argNone
	case e.Arg == uint64(c.mounted):
		return argOn
	case e.Arg == k.arg:
		return argSame
	}
	if _, use := useOf(e.Kind); use == flight.FieldBlocker {
		n, ok := x.args[e.Arg]
		if !ok {
			n = uint64(len(x.args))
			x.args[e.Arg] = n
		}
		x.out.uvarint(columnArgs, n)
		if !ok {
			x.out.uvarint(columnArgs, e.Arg)
		}
		return argKnown
	}
	if d := zigzag(int64(e.Arg - k.arg)); d < e.Arg {
		x.out.uvarint(columnArgs, d)
		return argDelta
	}
	x.out.uvarint(columnArgs, e.Arg)
	return argPlain
}

func (x *eventEncoder) ref(e *Event, k *kindModel) uint16 {
	switch {
	case e.Ref == 0:
		return refNone
	case e.Ref == k.ref:
		return refSame
	}
	switch use, _ := useOf(e.Kind); use {
	case flight.FieldStack, flight.FieldString, flight.FieldUserKind:
		n, ok := x.refs[e.Ref]
		if !ok {
			n = uint64(len(x.refs))
			x.refs[e.Ref] = n
		}
		x.out.uvarint(columnRefs, n)
		if !ok {
			x.out.uvarint(columnRefs, uint64(e.Ref))
		}
		return refKnown
	}
	x.out.varint(columnRefs, int64(e.Ref)-int64(k.ref))
	return refDelta
}

// An eventDecoder reads the events of chunks.
type eventDecoder struct {
	model  model
	shapes []shape
	args   []uint64
	refs   []uint32
	words  []uint64 // what More of the events points into
}

// decode appends the n events of a chunk, which is all that c has, to events. They are valid until the next call.
func (x *eventDecoder) decode(events []Event, c *cursor, from time.Duration, n int) ([]Event, error) {
	x.model.reset(int64(from))
	x.shapes, x.args, x.refs, x.words = x.shapes[:0], x.args[:0], x.refs[:0], x.words[:0]
	in := unpack(c, eventColumns)
	for i := 0; i < n; i++ {
		s, ok := x.shape(&in[columnShapes])
		if !ok {
			break
		}
		e := Event{Kind: s.kind, Code: s.code, Carrier: s.carrier, Time: time.Duration(x.model.at)}
		if s.how&howLater != 0 {
			e.Time += time.Duration(in[columnTimes].uvarint())
			if int64(e.Time) < x.model.at {
				in[columnTimes].fail() // it passed the greatest
				break
			}
		}
		cm := x.model.carrier(e.Carrier)
		k := cm.kind(e.Kind)
		x.thread(&e, s.how>>howThread&twoBits, cm, k, &in[columnThreads])
		x.arg(&e, s.how>>howArg&threeBits, cm, k, &in[columnArgs])
		x.ref(&e, s.how>>howRef&threeBits, k, &in[columnRefs])
		if s.how&howMore != 0 {
			m := &in[columnMore]
			first := len(x.words)
			for range m.count(1) {
				x.words = append(x.words, m.uvarint())
			}
			e.More = x.words[first:len(x.words):len(x.words)]
		}
		x.model.saw(&e, cm)
		events = append(events, e)
		if s.how&howLeft != 0 {
			code, ok := leaves(&e)
			if i++; !ok || i == n {
				in[columnShapes].fail()
				break
			}
			u := Event{Time: e.Time, Kind: flight.EventUnmount, Code: code, Carrier: e.Carrier, Thread: e.Thread}
			x.model.saw(&u, cm)
			events = append(events, u)
		}
	}
	if c.bad || len(c.b) > 0 || anyBad(in) {
		c.fail()
	}
	return events, c.err("events")
}

func (x *eventDecoder) shape(c *cursor) (shape, bool) {
	n := c.uvarint()
	if n < uint64(len(x.shapes)) {
		return x.shapes[n], !c.bad
	}
	b := c.take(6)
	if n != uint64(len(x.shapes)) || len(b) < 6 || n == maxShapes {
		c.fail()
		return shape{}, false
	}
	s := shape{flight.Kind(b[0]), flight.Reason(b[1]), flight.CarrierID(binary.LittleEndian.Uint16(b[2:])), binary.LittleEndian.Uint16(b[4:])}
	if s.how>>howBits != 0 {
		c.fail()
		return shape{}, false
	}
	x.shapes = append(x.shapes, s)
	return s, true
}

func (x *eventDecoder) thread(e *Event, how uint16, c *carrierModel, k *kindModel, in *cursor) {
	switch how {
	case threadOn:
		e.Thread = c.mounted
	case threadReady:
		i := in.uvarint()
		if i >= uint64(len(x.model.ready)) {
			in.fail()
			return
		}
		e.Thread = x.model.ready[len(x.model.ready)-1-int(i)]
	case threadDelta:
		e.Thread = k.thread + flight.ThreadID(in.varint())
	}
}

func (x *eventDecoder) arg(e *Event, how uint16, c *carrierModel, k *kindModel, in *cursor) {
	switch how {
	case argNone:
	case argOn:
		e.Arg = uint64(c.mounted)
	case argSame:
		e.Arg = k.arg
	case argDelta:
		e.Arg = k.arg + uint64(in.varint())
	case argPlain:
		e.Arg = in.uvarint()
	case argKnown:
		switch n := in.uvarint(); {
		case n < uint64(len(x.args)):
			e.Arg = x.args[n]
		case n == uint64(len(x.args)) && !in.bad:
			e.Arg = in.uvarint()
			x.args = append(x.args, e.Arg)
		default:
			in.fail()
		}
	default:
		in.fail()
	}
}

func (x *eventDecoder) ref(e *Event, how uint16, k *kindModel, in *cursor) {
	switch how {
	case refNone:
	case refSame:
		e.Ref = k.ref
	case refDelta:
		e.Ref = uint32(int64(k.ref) + in.varint())
	case refKnown:
		switch n := in.uvarint(); {
		case n < uint64(len(x.refs)):
			e.Ref = x.refs[n]
		case n == uint64(len(x.refs)) && !in.bad:
			e.Ref = uint32(in.uvarint())
			x.refs = append(x.refs, e.Ref)
		default:
			in.fail()
		}
	default:
		in.fail()
	}
}
