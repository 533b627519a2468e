package flight

import (
	"cmp"
	"encoding/binary"
	"slices"
	"time"
	"unsafe"
)

// A DurableRow is what the flight file says about a durable thread.
type DurableRow struct {
	Thread  ThreadID // that it is now; of a hibernated one the thread of its record
	ID      string   // one that was cut ends in "…"
	Body    string
	Steps   uint64 // of its journal, with those that checkpoints have replaced
	Errors  uint32 // steps of its journal that are an error
	Replays bool   // it is given what it had learned
	Wait    DurableWait
	Name    string  // of what it waits for
	Blocker Blocker // what the thread's record has while it waits for that
	Child   uint32  // the number of the child that it waits for
	Since   time.Time
	Until   time.Time // zero: without a limit
}

// Durables returns the durable threads that this process has, by thread. An error that matches [ErrIncomplete] means that some are missing. Files of before they were
// recorded have none.
func (r *Reader) Durables() ([]DurableRow, error) {
	var rows []DurableRow
	le := binary.LittleEndian
	bodies := map[StringID]string{}
	err := r.scan(segmentDurable, durablesPerSegment, durableSize, func(b []byte) bool {
		row := DurableRow{
			Thread: ThreadID(le.Uint64(b[8:])), Steps: le.Uint64(b[16:]), Since: timeOf(int64(le.Uint64(b[24:]))), Until: timeOf(int64(le.Uint64(b[32:]))),
			Errors: le.Uint32(b[44:]), Child: le.Uint32(b[52:]),
		}
		if row.Thread == 0 {
			return true
		}
		word := le.Uint32(b[4:])
		if row.Wait = DurableWait(word); row.Wait >= DurableWaitCount {
			return false
		}
		flags := word >> durableFlagShift
		row.Replays = flags&durableReplays != 0
		mark := func(s string, cut uint32) string {
			if s = safeText(s); flags&cut != 0 {
				s += "…"
			}
			return s
		}
		const at = 56
		row.ID = r.text(TextThread, mark(string(b[at:at+min(le.Uint16(b[48:]), durableID)]), durableIDCut))
		if row.Wait != DurableRuns {
			name := string(b[at+durableID:][:min(le.Uint16(b[50:]), durableName)])
			row.Blocker = row.Wait.Blocker(name)
			row.Name = r.text(TextOther, mark(name, durableNameCut))
		}
		body := StringID(le.Uint32(b[40:]))
		known := false
		if row.Body, known = bodies[body]; !known {
			row.Body = r.text(TextOther, r.rawString(body))
			bodies[body] = row.Body
		}
		rows = append(rows, row)
		return true
	})
	slices.SortStableFunc(rows, func(a, b DurableRow) int { return cmp.Compare(a.Thread, b.Thread) })
	return rows, err
}

func timeOf(nanos int64) time.Time {
	if nanos == 0 {
		return time.Time{}
	}
	return time.Unix(0, nanos)
}

// durableBlockers are the blockers of durable threads that wait, each once.
func (r *Reader) durableBlockers() ([]BlockerRow, error) {
	rows, err := r.Durables()
	var all []BlockerRow
	seen := map[Blocker]bool{}
	for i := range rows {
		d := &rows[i]
		if b := d.Blocker; b != 0 && d.Name != "" && !seen[b] {
			seen[b] = true
			all = append(all, BlockerRow{Blocker: b, Name: d.Name})
		}
	}
	return all, err
}

// DurableTotals are what the durable threads of a process did since it began.
type DurableTotals struct {
	Counts [DurableCountCount]uint64
	Replay Histogram // how long replays took
}

// DurableTotals returns the counts of durable threads, and false if the process has had none.
func (r *Reader) DurableTotals() (t DurableTotals, ok bool, err error) {
	segments, err := r.segmentsOf(segmentDurableTotals)
	if err != nil || len(segments) == 0 || segments[0].bad {
		return t, false, err
	}
	var b [unsafe.Sizeof(durableTotalsRecord{})]byte
	if r.src.readAt(b[:], segments[0].offset) < len(b) {
		return t, false, r.incomplete("durable totals are cut")
	}
	for i := range t.Counts {
		t.Counts[i] = binary.LittleEndian.Uint64(b[8*i:])
	}
	for i := range t.Replay {
		t.Replay[i] = binary.LittleEndian.Uint64(b[8*(durableCountSlots+i):])
	}
	return t, true, nil
}
