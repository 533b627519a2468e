package perfetto

import (
	"io"
	"time"

	"github.com/vtscope/vtscope/runtime/flight"
)

// A writer writes the packets of all sequences.
type writer struct {
	to       io.Writer
	buf      []byte
	err      error
	packets  uint64
	written  uint64
	interned int // entries of all sequences
	most     int // of these
	epoch    int // of interned data: a sequence that is of another one begins anew
	nextID   uint64

	boot     uint64 // what the trace's clock shows at Info.From
	realtime uint64
}

const (
	flushAt     = 256 << 10
	maxInterned = 1 << 18
)

// A table is a sort of interned data, by its field in InternedData.
type table field

const (
	tableCategories table = 1
	tableNames      table = 2
	tableNoteNames  table = 3
	tableTexts      table = 29

	tableCount = 4
)

// index is the table's place in sequence.ids.
func (t table) index() int {
	if t == tableTexts {
		return 0
	}
	return int(t)
}

// A sequence is packets that belong together.
//
//	Q1  Its times go up. They are written as differences (clock 64, which its first packet ties to the trace's clock and to wall time). All
//	    sequences are tied at the same moment: readers want the trace's clock to go up from snapshot to snapshot in the order of the file.
//	Q2  What is interned is known to it alone, from the packet on that has it; numbers are never used twice.
//	Q3  When too much is interned it begins anew: a packet that says so, with clocks and defaults, and all that is interned is forgotten.
type sequence struct {
	w      *writer
	id     uint64
	track  uint64 // of its events that name no other
	epoch  int    // 0: not begun
	first  bool
	at     time.Duration // since Info.From: of the newest event
	told   time.Duration // the time that the next difference is to
	last   uint64        // number that was given away last
	ids    [tableCount]map[string]uint64
	stacks map[flight.StackID]uint64
	usual  [usualCount]uint64 // numbers of what most events have, 0 where they are not interned
	added  []byte             // what is interned for the packet that is being written

	packetAt, eventAt int
}

func (w *writer) sequence(track uint64) *sequence {
	w.nextID++
	return &sequence{w: w, id: w.nextID, track: track, first: true}
}

// flush hands what is written to the file.
func (w *writer) flush() {
	if w.err == nil && len(w.buf) > 0 {
		_, w.err = w.to.Write(w.buf)
		w.written += uint64(len(w.buf))
	}
	w.buf = w.buf[:0]
}

// packet begins a packet of the sequence without a time.
func (q *sequence) packet() {
	w := q.w
	if len(w.buf) >= flushAt {
		w.flush()
	}
	w.packets++
	w.buf, q.packetAt = begin(w.buf, tracePacket)
	w.buf = putUint(w.buf, packetSequence, q.id)
	if q.first {
		q.first = false
		w.buf = putUint(w.buf, packetFirst, 1)
	}
}

// done ends the packet.
func (q *sequence) done() {
	w := q.w
	if len(q.added) > 0 {
		w.buf = putText(w.buf, packetInterned, q.added)
		q.added = q.added[:0]
	}
	w.buf = end(w.buf, q.packetAt)
}

// restart is Q3, and the first packet.
func (q *sequence) restart() {
	q.epoch = q.w.epoch
	q.told = 0
	for i := range q.ids {
		q.ids[i] = map[string]uint64{}
	}
	q.stacks = map[flight.StackID]uint64{}
	q.usual = [usualCount]uint64{}
	q.packet()
	b, at := begin(putUint(q.w.buf, packetFlags, flagCleared), packetClocks)
	b = putClock(b, clockBoot, q.w.boot)
	b = putClock(b, clockRealtime, q.w.realtime)
	b = putClock(b, clockDelta, q.w.boot)
	b = end(putUint(b, clocksMain, clockBoot), at)
	b, at = begin(b, packetDefaults)
	b = putUint(b, defaultsClock, clockDelta)
	if q.track != 0 {
		var inner int
		b, inner = begin(b, defaultsEvent)
		b = end(putUint(b, eventTrack, q.track), inner)
	}
	q.w.buf = end(b, at)
	q.done()
}

func putClock(b []byte, id, t uint64) []byte {
	b, at := begin(b, clocksClock)
	b = putUint(putUint(b, clockID, id), clockTime, t)
	if id == clockDelta {
		b = putUint(b, clockIncremental, 1)
	}
	return end(b, at)
}

// event begins a packet with an event; a track of 0 is the sequence's own.
func (q *sequence) event(t time.Duration, typ, track uint64) {
	if q.epoch != q.w.epoch {
		q.restart()
	}
	q.packet()
	q.at = max(q.at, t) // Q1
	b := putUint(q.w.buf, packetTime, uint64(q.at-q.told))
	q.told = q.at
	b = putUint(b, packetFlags, flagNeeds)
	b, q.eventAt = begin(b, packetEvent)
	b = putUint(b, eventType, typ)
	if track != 0 && track != q.track {
		b = putUint(b, eventTrack, track)
	}
	q.w.buf = b
}

// sent ends the packet that event has begun.
func (q *sequence) sent() {
	q.w.buf = end(q.w.buf, q.eventAt)
	q.done()
}

// intern returns the number of a text.
func (q *sequence) intern(t table, s string) uint64 {
	known := q.ids[t.index()]
	if id, ok := known[s]; ok {
		return id
	}
	id := q.newID(t, s)
	known[s] = id
	return id
}

func (q *sequence) newID(t table, s string) uint64 {
	q.last++
	if q.w.interned++; q.w.interned >= q.w.most {
		q.w.interned = 0
		q.w.epoch++ // Q3, from the next packet on
	}
	b, at := begin(q.added, field(t))
	b = putUint(b, internedID, q.last)
	q.added = end(putText(b, internedText, text(s)), at)
	return q.last
}

// named gives the event a name and a category; either may be empty.
func (q *sequence) named(name string, c flight.Category) {
	if name != "" {
		q.w.buf = putUint(q.w.buf, eventName, q.intern(tableNames, name))
	}
	if c != "" {
		q.w.buf = putUint(q.w.buf, eventCategory, q.intern(tableCategories, string(c)))
	}
}

// note begins an annotation of the event.
func (q *sequence) note(name string) (at int) {
	id := q.intern(tableNoteNames, name)
	q.w.buf, at = begin(q.w.buf, eventAnnotation)
	q.w.buf = putUint(q.w.buf, noteName, id)
	return at
}

func (q *sequence) noteUint(name string, v uint64) {
	at := q.note(name)
	q.w.buf = end(putUint(q.w.buf, noteUint, v), at)
}

func (q *sequence) noteInt(name string, v int64) {
	at := q.note(name)
	q.w.buf = end(putUint(q.w.buf, noteInt, uint64(v)), at)
}

func (q *sequence) noteBool(name string, v bool) {
	at := q.note(name)
	word := uint64(0)
	if v {
		word = 1
	}
	q.w.buf = end(putUint(q.w.buf, noteBool, word), at)
}

func (q *sequence) noteDouble(name string, v float64) {
	at := q.note(name)
	q.w.buf = end(putDouble(q.w.buf, noteDouble, v), at)
}

// noteText gives a text that is one of many.
func (q *sequence) noteText(name, v string) {
	at := q.note(name)
	q.w.buf = end(putText(q.w.buf, noteText, text(v)), at)
}

// noteShared gives a text that is one of few.
func (q *sequence) noteShared(name, v string) {
	id := q.intern(tableTexts, v)
	at := q.note(name)
	q.w.buf = end(putUint(q.w.buf, noteShared, id), at)
}

// noteStack gives a stack, whose text is made once.
func (q *sequence) noteStack(id flight.StackID, of func(flight.StackID) string) {
	if id == 0 {
		return
	}
	ref, ok := q.stacks[id]
	if !ok {
		ref = q.newID(tableTexts, of(id))
		q.stacks[id] = ref
	}
	q.usualNote(usualStack, noteShared, ref)
}
