package flight

import (
	"encoding/binary"
	"fmt"
	"time"
)

// A TotalsRow is what the threads of a scope that have ended used. It is a little behind: of each carrier up to 15 threads may be missing while it does not go idle.
type TotalsRow struct {
	Scope  ScopeIndex // of an open scope
	ID     ScopeID
	Ended  uint64 // threads of the scope, and of scopes in it that are closed
	Mounts uint64
	Pins   uint64
	Run    time.Duration // mounted and not pinned
	Ready  time.Duration // runnable
	Park   time.Duration // the rest of their lives
	CPU    time.Duration // on a processor, of those for which it was measured: see [Settings]
}

// Totals returns the sums of all scopes that have any. Files of version 1 have none. An error that matches [ErrIncomplete] means that some are missing.
func (r *Reader) Totals() ([]TotalsRow, error) {
	segments, err := r.segmentsOf(segmentTotals)
	if err != nil {
		return nil, err
	}
	var (
		rows    []TotalsRow
		missing []string
		buf     = make([]byte, totalsSegmentSize)
		le      = binary.LittleEndian
	)
	for ordinal, s := range segments {
		if s.bad {
			continue
		}
		if r.src.readAt(buf, s.offset) < len(buf) {
			missing = append(missing, fmt.Sprintf("totals segment %d is cut", ordinal))
			continue
		}
		for i := range scopesPerSegment {
			b := buf[i*totalsSize : (i+1)*totalsSize]
			span := func(at int) time.Duration { return r.Between(0, Ticks(le.Uint64(b[at:]))) }
			row := TotalsRow{
				Scope: ScopeIndex(ordinal*scopesPerSegment + i), ID: ScopeID(le.Uint64(b)), Ended: le.Uint64(b[8:]), Mounts: le.Uint64(b[16:]),
				Run: span(24), Ready: span(32), Park: span(40), CPU: span(48), Pins: le.Uint64(b[56:]),
			}
			if row.Ended != 0 && row.ID != scopeClosed {
				rows = append(rows, row)
			}
		}
	}
	return rows, r.incomplete(missing...)
}
