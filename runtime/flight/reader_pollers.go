package flight

import (
	"cmp"
	"encoding/binary"
	"slices"
)

// A PollerRow is what the flight file says of a poller.
type PollerRow struct {
	Kind   PollerKind
	Number uint16
	PollerFigures
	Last Ticks // when it found something last; 0: never
}

// Pollers returns the process's pollers, by number. An error that matches [ErrIncomplete] means that some are missing. Files of before they were recorded have none.
func (r *Reader) Pollers() ([]PollerRow, error) {
	var rows []PollerRow
	err := r.scan(segmentPoller, pollersPerSegment, pollerSize, func(b []byte) bool {
		le := binary.LittleEndian
		row := PollerRow{
			Kind: PollerKind(b[4]), Number: le.Uint16(b[6:]),
			PollerFigures: PollerFigures{Watched: le.Uint64(b[8:]), Wakeups: le.Uint64(b[16:]), Ready: le.Uint64(b[24:]), Failed: le.Uint64(b[32:])},
			Last:          Ticks(le.Uint64(b[40:])),
		}
		if row.Kind == PollerFree || row.Kind >= PollerKindCount {
			return true
		}
		for i := range row.Batches {
			row.Batches[i] = le.Uint32(b[48+4*i:])
		}
		rows = append(rows, row)
		return true
	})
	slices.SortFunc(rows, func(a, b PollerRow) int { return cmp.Compare(a.Number, b.Number) })
	return rows, err
}
