package flight

import (
	"encoding/binary"
	"fmt"
	"strconv"
)

// Bounds on what a reader remembers of a file that may be hostile.
const (
	maxCachedStrings = 1 << 18
	maxCachedStacks  = 1 << 17
	maxSymbolFrames  = 255
)

// String returns an interned string, "" if there is none at id. A string that was cut ends in "…".
func (r *Reader) String(id StringID) string { return r.text(TextUnknown, r.rawString(id)) }

func (r *Reader) stringLocked(id StringID) string {
	if id == 0 {
		return ""
	}
	if s, ok := r.mu.strings[id]; ok {
		return s
	}
	offset, room, ok := r.unitLocked(segmentString, uint32(id))
	var head [stringRecordSize]byte
	if !ok || room < stringRecordSize || r.src.readAt(head[:], offset) < len(head) {
		return ""
	}
	le := binary.LittleEndian
	n := int(le.Uint16(head[0:]))
	if n > room-stringRecordSize || n > maxFileString {
		return ""
	}
	text := make([]byte, n)
	if r.src.readAt(text, offset+stringRecordSize) < n || textSum(string(text)) != le.Uint32(head[4:]) {
		return ""
	}
	s := safeText(string(text))
	if le.Uint16(head[2:])&stringTruncated != 0 {
		s += "…"
	}
	if len(r.mu.strings) < maxCachedStrings {
		r.mu.strings[id] = s
	}
	return s
}

// unitLocked returns the offset of position id of a table, and how many bytes its segment has from
// there.
func (r *Reader) unitLocked(k segmentKind, id uint32) (offset uint64, room int, ok bool) {
	ordinal, unit := int(id/unitsPerSegment), int(id%unitsPerSegment)
	if ordinal >= len(r.mu.segments[k]) {
		_ = r.refreshLocked() // it may have grown; else id is out of range
	}
	if ordinal >= len(r.mu.segments[k]) || r.mu.segments[k][ordinal].bad || unit < tableHeaderSize/unitSize {
		return 0, 0, false
	}
	at := unit * unitSize
	return r.mu.segments[k][ordinal].offset + uint64(at), tableSegmentSize - at, true
}

// Stack returns an interned stack. Its frames lack names while Unsymbolised is not 0: the process
// writes them a moment after it first meets the stack. Those that a dead process has not written come
// from its executable: see [Reader.NamesFrom]. Id 0 is the empty stack.
func (r *Reader) Stack(id StackID) (Stack, error) {
	if id == 0 {
		return Stack{}, nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if s, ok := r.mu.stacks[id]; ok {
		return s, nil
	}
	pcs, flags, skip, err := r.pcsLocked(id)
	if err != nil {
		return Stack{}, fmt.Errorf("flight: read %s: stack %d: %w", r.path, id, err)
	}
	for _, pc := range pcs {
		if _, ok := r.mu.symbols[pc]; !ok {
			r.readSymbolsLocked()
			break
		}
	}
	s := Stack{ID: id, PCs: pcs, Truncated: flags&stackTruncated != 0}
	for _, pc := range pcs {
		frames, ok := r.mu.symbols[pc]
		if !ok {
			if found, ok := r.namesLocked(pc); ok {
				s.Frames = append(s.Frames, found...)
				continue
			}
			s.Unsymbolised++
			s.Frames = append(s.Frames, Frame{Func: "0x" + strconv.FormatUint(pc, 16), PC: pc})
		}
		for _, f := range frames {
			s.Frames = append(s.Frames, Frame{
				Func: r.stringLocked(StringID(f.Func)), File: r.stringLocked(StringID(f.File)), Line: int(int32(f.Line)), PC: pc,
				Inlined: f.Flags&frameInlined != 0, Internal: f.Flags&frameInternal != 0,
			})
		}
	}
	s.Frames = s.Frames[min(skip, len(s.Frames)):]
	if s.Unsymbolised == 0 && len(r.mu.stacks) < maxCachedStacks {
		r.mu.stacks[id] = s
	}
	return s, nil
}

// pcsLocked reads a stack and checks it against its hash, so that a wrong id cannot pass for one.
func (r *Reader) pcsLocked(id StackID) (pcs []uint64, flags uint64, skip int, err error) {
	offset, room, ok := r.unitLocked(segmentStack, uint32(id))
	if !ok {
		return nil, 0, 0, fmt.Errorf("no such position: %w", ErrFormat)
	}
	buf := make([]byte, min(room, stackRecordSize+8*maxStackDepth))
	if len(buf) < stackRecordSize || r.src.readAt(buf, offset) < len(buf) {
		return nil, 0, 0, fmt.Errorf("beyond the end of the file: %w", ErrIncomplete)
	}
	le := binary.LittleEndian
	hash, word := le.Uint64(buf), le.Uint64(buf[8:])
	n := int(word & 0xffff)
	flags, skip = word>>16&0xffff, int(word>>32&0xffff)
	if word&stackReady == 0 || n == 0 || n > (len(buf)-stackRecordSize)/8 {
		return nil, 0, 0, fmt.Errorf("no record there: %w", ErrFormat)
	}
	pcs = make([]uint64, n)
	for i := range pcs {
		pcs[i] = le.Uint64(buf[stackRecordSize+8*i:])
	}
	if hashPCs(pcs, flags&stackTruncated != 0, skip) != hash {
		return nil, 0, 0, fmt.Errorf("hash does not match: %w", ErrFormat)
	}
	return pcs, flags, skip, nil
}

// readSymbolsLocked reads the symbols written since the last call.
func (r *Reader) readSymbolsLocked() {
	_ = r.refreshLocked() // what was read last will do
	for ; r.mu.symbolAt < len(r.mu.segments[segmentSymbol]); r.mu.symbolAt++ {
		s := r.mu.segments[segmentSymbol][r.mu.symbolAt]
		if s.bad {
			r.mu.symbolTo = 0
			continue
		}
		if !r.readSymbolSegmentLocked(s) || r.mu.symbolAt == len(r.mu.segments[segmentSymbol])-1 {
			return // more may come
		}
		r.mu.symbolTo = 0
	}
}

// readSymbolSegmentLocked reads a segment from symbolTo on. False means that it cannot be read.
func (r *Reader) readSymbolSegmentLocked(s segment) bool {
	var head [8]byte
	if r.src.readAt(head[:], s.offset) < len(head) {
		return false
	}
	le := binary.LittleEndian
	from, used := max(r.mu.symbolTo, tableHeaderSize), le.Uint64(head[:])
	if used <= from {
		return true
	}
	if used > tableSegmentSize {
		r.damageLocked("symbol segment %d claims %d bytes", r.mu.symbolAt, used)
		return true
	}
	buf := make([]byte, used-from)
	if r.src.readAt(buf, s.offset+from) < len(buf) {
		return false
	}
	r.mu.symbolTo = used
	for len(buf) > 0 {
		if len(buf) < symbolRecordSize {
			break
		}
		pc, n := le.Uint64(buf), int(le.Uint32(buf[8:]))
		buf = buf[symbolRecordSize:]
		if n > maxSymbolFrames || len(buf) < n*symbolFrameSize {
			r.damageLocked("symbol segment %d has a record of %d frames", r.mu.symbolAt, n)
			return true
		}
		frames := make([]symbolFrame, n)
		for i := range frames {
			f := buf[i*symbolFrameSize:]
			frames[i] = symbolFrame{le.Uint32(f), le.Uint32(f[4:]), le.Uint32(f[8:]), le.Uint32(f[12:])}
		}
		buf = buf[n*symbolFrameSize:]
		if _, ok := r.mu.symbols[pc]; !ok {
			r.mu.symbols[pc] = frames
		}
	}
	return true
}
