package flight

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"unsafe"
)

// Rings returns the rings that have or had an owner. Their indexes stay the same. An error that
// matches [ErrIncomplete] means that some are missing.
func (r *Reader) Rings() ([]RingRow, error) {
	rows := make([]RingRow, 0, r.rings.Load()) // they are large
	missing, err := r.eachRing(func(row *RingRow) { rows = append(rows, *row) })
	if err != nil {
		return nil, err
	}
	r.rings.Store(int32(len(rows)))
	return rows, r.incomplete(missing...)
}

// eachRing calls visit with each ring that has or had an owner, which is valid during the call. missing says which could not be read.
func (r *Reader) eachRing(visit func(*RingRow)) (missing []string, err error) {
	segments, err := r.segmentsOf(segmentRing)
	if err != nil {
		return nil, err
	}
	index := 0
	var (
		row RingRow
		b   [ringHeaderSize]byte
	)
	for ordinal, s := range segments {
		if s.bad {
			continue // its rings have no index: how many there were is not known
		}
		for i := range s.count {
			ok := r.readRing(&row, &b, s, i)
			row.Index = index
			index++
			if !ok {
				missing = append(missing, fmt.Sprintf("ring %d of segment %d is cut or damaged", i, ordinal))
			} else if row.Head > 0 || row.State != CarrierFree {
				visit(&row)
			}
		}
	}
	return missing, nil
}

// ringHeader returns the size of a ring's header, which is larger than in version 1.
func (r *Reader) ringHeader() uint64 {
	if r.version.Load() == 1 {
		return ringHeaderSizeV1
	}
	return ringHeaderSize
}

func (r *Reader) ringRow(s segment, i uint32) (row RingRow, ok bool) {
	var b [ringHeaderSize]byte
	ok = r.readRing(&row, &b, s, i)
	return row, ok
}

// readRing reads the header of a ring, by b, and reports whether it makes sense.
func (r *Reader) readRing(row *RingRow, b *[ringHeaderSize]byte, s segment, i uint32) bool {
	*row = RingRow{}
	header := r.ringHeader()
	if r.src.readAt(b[:header], s.offset+uint64(i)*uint64(s.stride)) < int(header) {
		return false
	}
	le := binary.LittleEndian
	owner := le.Uint32(b[12:])
	*row = RingRow{
		Head: le.Uint64(b[0:]), Size: uint64(le.Uint32(b[8:])),
		Carrier: CarrierID(owner), State: CarrierState(owner >> 16), Owner: RingOwner(owner >> 24),
		Scheduler: SchedulerID(le.Uint32(b[48:])),
	}
	if le.Uint64(b[24:]) != 0 && le.Uint32(b[16:])&1 == 0 {
		var again [32]byte
		at := s.offset + uint64(i)*uint64(s.stride) + 16
		if r.src.readAt(again[:], at) == len(again) && bytes.Equal(again[:], b[16:48]) { // else as if nobody had looked
			row.Hold = Hold{
				Thread: ThreadID(le.Uint64(b[24:])), Reason: Reason(le.Uint32(b[20:])),
				Since: Ticks(le.Uint64(b[32:])), Stack: StackID(le.Uint64(b[40:])),
			}
			row.Hold.Seen = row.Hold.Since
			if seen := Ticks(le.Uint64(b[56:])); seen != 0 && row.Hold.Since.Before(seen) {
				row.Hold.Seen = seen
			}
		}
	}
	if header == ringHeaderSizeV1 {
		clear(b[header:])
	}
	for k := range row.Counts {
		row.Counts[k] = le.Uint64(b[128+8*k:])
	}
	for why := range row.Parks {
		row.Parks[why] = le.Uint64(b[128+8*kindSlots+8*why:])
	}
	return header+row.Size*eventSize == uint64(s.stride) && row.State < CarrierStateCount && row.Owner <= RingOfOthers
}

// ringAt returns the segment that holds ring index, and its place there.
func (r *Reader) ringAt(index int) (segment, uint32, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if index < 0 {
		return segment{}, 0, false
	}
	for _, s := range r.mu.segments[segmentRing] {
		if s.bad {
			continue
		}
		if index < int(s.count) {
			return s, uint32(index), true
		}
		index -= int(s.count)
	}
	return segment{}, 0, false
}

// Events returns up to max events of a ring, from position from on, and the position to go on with.
// lost counts the slots that were overwritten before they could be read; after a from beyond the ring's
// head it returns no event and the head. Slots of kind [EventMore] follow their event at once ([MoreSlots]); one whose slots are not all written yet is
// left for later. The events belong to the caller.
func (r *Reader) Events(ring int, from uint64, max int) (evs []Event, next uint64, lost uint64, err error) {
	return r.EventsInto(nil, ring, from, max)
}

// EventsInto is [Reader.Events] in the memory of into, if there is room: what was in it is overwritten.
func (r *Reader) EventsInto(into []Event, ring int, from uint64, max int) (evs []Event, next uint64, lost uint64, err error) {
	s, i, ok := r.ringAt(ring)
	if !ok {
		return nil, from, 0, fmt.Errorf("flight: read %s: no ring %d: %w", r.path, ring, ErrFormat)
	}
	row, ok := r.ringRow(s, i)
	if !ok {
		return nil, from, 0, fmt.Errorf("flight: read %s: ring %d is cut or damaged: %w", r.path, ring, ErrIncomplete)
	}
	if from >= row.Head || max <= 0 {
		return nil, min(from, row.Head), 0, nil
	}
	if oldest := oldestEvent(row.Head, row.Size); from < oldest {
		lost = oldest - from
		from = oldest
	}
	n := min(row.Head-from, uint64(max), row.Size)
	if evs = into[:0]; uint64(cap(evs)) < n {
		evs = make([]Event, n)
	}
	evs = evs[:n]
	buf := unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(evs))), n*eventSize) // an Event lies in memory as in the file, but for the order of bytes
	events := s.offset + uint64(i)*uint64(s.stride) + r.ringHeader()
	first := min(n, row.Size-from%row.Size) // events before the ring's end
	if r.src.readAt(buf[:first*eventSize], events+from%row.Size*eventSize) < int(first*eventSize) ||
		r.src.readAt(buf[first*eventSize:], events) < int((n-first)*eventSize) {
		return nil, from, lost, fmt.Errorf("flight: read %s: ring %d is cut: %w", r.path, ring, ErrIncomplete)
	}
	again, ok := r.ringRow(s, i)
	if !ok || again.Head < row.Head {
		return nil, from, lost, fmt.Errorf("flight: read %s: ring %d is damaged: %w", r.path, ring, ErrIncomplete)
	}
	next = from + n
	if oldest := oldestEvent(again.Head, row.Size); from < oldest { // overwritten meanwhile (R3)
		gone := min(oldest-from, n)
		lost += gone
		evs = evs[gone:]
	}
	if !littleEndian {
		for j := range evs {
			evs[j] = decodeEvent((*[eventSize]byte)(unsafe.Pointer(&evs[j])))
		}
	}
	if r.version.Load() == 1 {
		return evs, next, lost, nil
	}
	whole, headless, held := wholeEvents(evs)
	lost += uint64(headless)
	if next -= uint64(held); next == from && from < row.Head && row.Head-from > uint64(held) {
		next += uint64(held) // more than max, or damaged: it is not waited for
	}
	r.rewriteEvents(whole)
	return whole, next, lost, nil
}

func decodeEvent(b *[eventSize]byte) Event {
	le := binary.LittleEndian
	return Event{
		Time: Ticks(le.Uint64(b[0:8])), Kind: Kind(b[8]), Code: Reason(b[9]), Carrier: CarrierID(le.Uint16(b[10:12])),
		Stack: StackID(le.Uint32(b[12:16])), Thread: ThreadID(le.Uint64(b[16:24])), Arg: le.Uint64(b[24:32]),
	}
}

// wholeEvents leaves out slots at the beginning whose event is gone, and at the end an event whose slots are not all there, and says how many that are.
func wholeEvents(evs []Event) (whole []Event, headless, held int) {
	for len(evs) > 0 && evs[0].Kind == EventMore {
		evs, headless = evs[1:], headless+1
	}
	for i := len(evs) - 1; i >= 0 && i >= len(evs)-1-maxMoreSlots; i-- {
		if evs[i].Kind == EventMore {
			continue
		}
		if n := len(evs) - 1 - i; n < MoreSlots(evs[i].Kind, evs[i].Code) {
			return evs[:i], headless, n + 1
		}
		break
	}
	return evs, headless, 0
}

// oldestEvent returns the first position that is surely not overwritten (R1).
func oldestEvent(head, size uint64) uint64 {
	if head < size {
		return 0
	}
	return head - size + 1
}

// threadCount returns the threads started and not ended, with those whose panic ends the program. Counts are exact even for events that were
// dropped or overwritten.
func (r *Reader) threadCount() int {
	var n int64
	_, _ = r.eachRing(func(g *RingRow) { // damaged rings do not count
		n += int64(g.Counts[EventThreadStart]) - int64(g.Counts[EventThreadEnd])
	})
	r.mu.Lock()
	h := r.mu.header
	r.mu.Unlock()
	n += int64(*h.lostKind(EventThreadStart)) - int64(*h.lostKind(EventThreadEnd)) + int64(h.Panicked)
	return int(max(n, 0))
}
