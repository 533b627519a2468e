package flight

import "encoding/binary"

// A RingHead is how far a ring was written.
type RingHead struct {
	Index int    // as of [RingRow]
	Head  uint64 // events ever written
	Size  uint64 // events that it holds
}

// Heads appends to heads those of the rings that [Reader.Rings] has, and returns the result. It costs less: who follows a process asks a hundred times a second. Rings
// that are cut or damaged are left out.
func (r *Reader) Heads(heads []RingHead) ([]RingHead, error) {
	segments, err := r.segmentsOf(segmentRing)
	if err != nil {
		return heads, err
	}
	index := 0
	le := binary.LittleEndian
	b := make([]byte, 16)
	for _, s := range segments {
		if s.bad {
			continue // its rings have no index, as in Rings
		}
		for i := range s.count {
			n := r.src.readAt(b, s.offset+uint64(i)*uint64(s.stride))
			row := RingHead{index, le.Uint64(b), uint64(le.Uint32(b[8:]))}
			index++
			state := CarrierState(le.Uint32(b[12:]) >> 16)
			if n == len(b) && r.ringHeader()+row.Size*eventSize == uint64(s.stride) && (row.Head > 0 || state != CarrierFree) {
				heads = append(heads, row)
			}
		}
	}
	return heads, nil
}
