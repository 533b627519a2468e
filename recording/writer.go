package recording

import (
	"hash/crc32"
	"io"
	"math/rand/v2"
	"slices"
	"time"
)

// A Writer writes a recording. It is used from one goroutine at a time.
//
//	W1  What was added and is in no chunk yet is pending in the arranger.
//	W2  tracker is the state after the events of all chunks: the state that the next chunk may begin with.
//	W3  The first chunk has a state, and so has the first after [Writer.Begin], after what [Writer.next] says, and after stateEvery bytes.
type Writer struct {
	arranger
	labelBook
	holdBook
	out     io.Writer
	info    Info
	defs    Definitions
	tracker *Tracker
	next    func() bool // asked before each chunk: must it have a state? May be nil

	id       uint64
	number   uint64
	keyframe bool // the next chunk must have a state
	since    int  // bytes since the last state
	stateful int  // bytes of the last state
	written  Totals
	until    time.Duration // set at the end

	needs    *needs
	encoder  *eventEncoder
	deflater deflater
	buf      []byte // the chunk
	part     []byte // a section
}

// Totals tell what a recording has.
type Totals struct {
	Events uint64
	Lost   uint64
	Chunks uint64
	Bytes  uint64
	// Of Bytes those that are columns of events, states of all threads, and definitions of strings and stacks.
	EventBytes, StateBytes, DefinitionBytes uint64
}

const (
	// chunkEvents is about how many events a chunk has if there are so many.
	chunkEvents = 1 << 16
	// A state is written again when the chunks since the last one have so many bytes, and so many times as many as it had.
	stateEvery = 4 << 20
	stateTimes = 16
)

// NewWriter returns a writer of a recording about a stretch that begins at the state of info.From. Ids in the events are what d says they are when their chunk is written.
func NewWriter(out io.Writer, info Info, d Definitions, s *State) *Writer {
	w := &Writer{out: out, info: info, defs: d, tracker: NewTracker(d), id: rand.Uint64(), keyframe: true, needs: newNeeds(), encoder: newEventEncoder()}
	if s != nil {
		w.tracker.Reset(s)
	}
	return w
}

// Totals returns what was written so far.
func (w *Writer) Totals() Totals { return w.written }

// Begin replaces what is known of all threads, because events are missing. What was added before is written before, and changes the state where it is newer: s says
// of each thread what it was at s.At or later. An older event is not looked at, since the end of its thread may be missing.
func (w *Writer) Begin(s *State) error {
	newer := w.after(s.At)
	if err := w.Flush(maxTime); err != nil {
		return err
	}
	w.tracker.Reset(s)
	for i := range newer {
		w.tracker.Apply(&newer[i])
	}
	w.keyframe = true
	return nil
}

// Miss notes in what is written from now on that something is missing: a short sentence.
func (w *Writer) Miss(what string) { w.info.miss(what) }

// miss notes that something is missing. Who has a copy of the info does not see it.
func (i *Info) miss(what string) {
	if len(i.Incomplete) < maxMissing && !slices.Contains(i.Incomplete, what) {
		i.Incomplete = append(i.Incomplete[:len(i.Incomplete):len(i.Incomplete)], what)
	}
}

// WriteBatch appends a batch of a source, and writes what is enough for a chunk.
func (w *Writer) WriteBatch(b *Batch) error {
	if b.State != nil {
		if err := w.Flush(maxTime); err != nil {
			return err
		}
		w.tracker.Reset(b.State)
		w.keyframe = true
	}
	w.Lose(b.Lost)
	w.Label(b.LabelsAt, b.Labels)
	w.Hold(b.Holds)
	for i := range b.Events {
		e := b.Events[i]
		e.More = slices.Clone(e.More)
		w.Add(e)
	}
	if w.Pending() < chunkEvents {
		return nil
	}
	return w.Flush(maxTime)
}

// Flush writes the pending events that are not after a time, what was lost, and who holds its carrier. Without any of these it writes nothing.
func (w *Writer) Flush(upTo time.Duration) error {
	if err := w.take(upTo, func(events []Event) error { return w.write(events, 0) }); err != nil {
		return err
	}
	if w.lost > 0 || len(w.unwritten) > 0 {
		return w.write(nil, 0)
	}
	return nil
}

// Close writes what is pending and says that this is all, as [Writer.CloseAt] of the last event.
func (w *Writer) Close() error { return w.CloseAt(0) }

// CloseAt is Close of a recording that was made until a time, at which nothing may have happened. It does not close what the writer writes to.
func (w *Writer) CloseAt(until time.Duration) error {
	if err := w.Flush(maxTime); err != nil {
		return err
	}
	w.until = until
	return w.write(nil, chunkIsLast)
}

// labelNow notes the labels and the holds of all threads.
func (w *Writer) labelNow(l *labelsNow) {
	if l != nil {
		w.labelBook.labelNow(l)
		w.Hold(l.holds)
	}
}

// Start writes the state at the beginning, so that there is a recording before anything has happened.
func (w *Writer) Start() error { return w.write(nil, 0) }

// write writes a chunk.
func (w *Writer) write(events []Event, flags uint16) error {
	h := chunkHead{flags: flags, events: uint32(len(events)), first: w.tracker.At(), recording: w.id, number: w.number, lost: w.lost}
	if len(events) > 0 {
		h.first = min(h.first, events[0].Time)
	}
	h.last = max(h.first, w.until)
	if len(events) > 0 {
		h.last = events[len(events)-1].Time
	}
	w.needs.reset()
	w.buf = append(w.buf[:0], make([]byte, chunkHeader)...)
	w.part = encodeInfo(w.part[:0], &w.info)
	w.buf = appendSection(w.buf, sectionInfo, w.part)
	due := w.next != nil && w.next()
	var s *State
	if w.keyframe || due || w.since >= max(stateEvery, stateTimes*w.stateful) {
		s = w.tracker.State()
		w.needs.state(s)
		w.part = encodeState(w.part[:0], s)
		before := len(w.buf)
		w.buf = w.deflater.appendSection(w.buf, sectionState, w.part)
		w.stateful, w.since, w.keyframe = len(w.buf)-before, 0, false
		h.flags |= chunkHasState
	}
	before := len(w.buf)
	if rows := w.takeLabels(s); len(rows) > 0 {
		w.part = encodeLabels(w.part[:0], w.read, rows)
		w.buf = w.deflater.appendSection(w.buf, sectionLabels, w.part)
	}
	if all := w.takeHolds(s != nil); len(all) > 0 {
		w.needs.holds(all)
		w.part = encodeHolds(w.part[:0], all)
		w.buf = w.deflater.appendSection(w.buf, sectionHolds, w.part)
	}
	if s != nil {
		w.stateful += len(w.buf) - before
		w.written.StateBytes += uint64(w.stateful)
	}
	for i := range events {
		w.tracker.Apply(&events[i])
		w.needs.event(&events[i], w.defs)
	}
	w.part = w.needs.encode(w.part[:0], w.defs)
	before = len(w.buf)
	w.buf = w.deflater.appendSection(w.buf, sectionDefinitions, w.part)
	if w.part = w.needs.encodeBlockers(w.part[:0], w.defs); len(w.part) > 0 {
		w.buf = w.deflater.appendSection(w.buf, sectionBlockers, w.part)
	}
	w.written.DefinitionBytes += uint64(len(w.buf) - before)
	if len(events) > 0 {
		w.part = w.encoder.encode(w.part[:0], h.first, events)
		w.written.EventBytes += uint64(len(w.part))
		w.buf = appendSection(w.buf, sectionEvents, w.part)
	}
	h.body = uint32(len(w.buf) - chunkHeader)
	h.sum = crc32.Checksum(w.buf[chunkHeader:], castagnoli)
	h.append(w.buf[:0])
	if _, err := w.out.Write(w.buf); err != nil {
		return err
	}
	w.number++
	w.since += len(w.buf)
	w.written.Events += uint64(len(events))
	w.written.Lost += w.lost
	w.written.Chunks++
	w.written.Bytes += uint64(len(w.buf))
	w.lost = 0
	return nil
}
