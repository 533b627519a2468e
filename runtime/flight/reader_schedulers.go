package flight

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"
	"time"
)

// A SchedulerRow is what the flight file says about one scheduler.
type SchedulerRow struct {
	ID      SchedulerID
	Name    string
	Began   Ticks
	Written Ticks // when the figures were told
	Figures [FigureCount]uint64
	Ready   Histogram // how long runnable threads waited until they were mounted; sampled
	Slice   Histogram // how long threads executed until they left their carrier; sampled
	Pinned  Histogram // how long threads blocked and held their carrier: each of [FigurePins], in [FigurePinnedTime]; those below 2 µs count in one bucket. Older files have none
}

// Schedulers returns the schedulers that live, by id. An error that matches [ErrIncomplete] means that some are missing. Files of before
// schedulers were recorded have none.
func (r *Reader) Schedulers() ([]SchedulerRow, error) {
	var rows []SchedulerRow
	err := r.scan(segmentScheduler, schedulersPerSegment, schedulerSize, func(b []byte) bool {
		state := SchedulerState(b[4])
		if state == SchedulerFree {
			return true
		}
		if state >= SchedulerStateCount {
			return false
		}
		le := binary.LittleEndian
		row := SchedulerRow{
			ID: SchedulerID(le.Uint32(b[8:])), Name: r.text(TextOther, r.rawString(StringID(le.Uint32(b[12:])))),
			Began: Ticks(le.Uint64(b[16:])), Written: Ticks(le.Uint64(b[24:])),
		}
		for i := range row.Figures {
			row.Figures[i] = le.Uint64(b[64+8*i:])
		}
		for i := range row.Ready {
			row.Ready[i] = le.Uint64(b[64+8*(figureSlots+i):])
			row.Slice[i] = le.Uint64(b[64+8*(figureSlots+HistogramBuckets+i):])
		}
		for i := pinnedFirst; i < HistogramBuckets; i++ {
			row.Pinned[i] = le.Uint64(b[64+8*(figureSlots+2*HistogramBuckets+i-pinnedFirst):])
		}
		rows = append(rows, row)
		return true
	})
	slices.SortStableFunc(rows, func(a, b SchedulerRow) int { return cmp.Compare(a.ID, b.ID) })
	return rows, err
}

// A PinSite is a place where threads blocked and held their carriers, for one reason.
type PinSite struct {
	Stack   StackID // 0: not known, or of those that found no room
	Reason  Reason
	Count   uint64
	Total   time.Duration
	Longest time.Duration
	Victims uint64 // threads that waited for a carrier meanwhile
	Last    Ticks  // when the last one ended
}

// PinSites returns the places where threads were pinned since the process began, longest in sum first. An error that matches [ErrIncomplete] means that
// some are missing.
func (r *Reader) PinSites() ([]PinSite, error) {
	var rows []PinSite
	err := r.scan(segmentPinSite, pinSitesPerSegment, pinSiteSize, func(b []byte) bool {
		le := binary.LittleEndian
		if Reason(b[4]) >= ReasonCount {
			return false
		}
		if n := le.Uint64(b[16:]); n > 0 {
			rows = append(rows, PinSite{
				Reason: Reason(b[4]), Stack: StackID(le.Uint32(b[8:])), Count: n,
				Total: time.Duration(le.Uint64(b[24:])), Longest: time.Duration(le.Uint64(b[32:])),
				Victims: le.Uint64(b[40:]), Last: Ticks(le.Uint64(b[48:])),
			})
		}
		return true
	})
	slices.SortStableFunc(rows, func(a, b PinSite) int {
		return cmp.Or(cmp.Compare(b.Total, a.Total), cmp.Compare(a.Stack, b.Stack), cmp.Compare(a.Reason, b.Reason))
	})
	return rows, err
}

// A RecentSite is a place where carriers or locks were held lately, for one reason.
type RecentSite struct {
	Kind   RecentKind
	Reason Reason
	Stack  StackID      // 0: not known
	Steps  []RecentStep // of about the last minute in which it was used, in no order
}

// A RecentStep sums the holds that ended at a place within ten seconds.
type RecentStep struct {
	Began   Ticks // when the first of them ended
	Count   uint32
	Waiting uint64 // threads that waited, in sum
	Total   time.Duration
	Longest time.Duration

	// These are of the longest: how many waited, and of a lock what it was and which thread held it, 0: none.
	Crowd   uint32
	Blocker Blocker
	Name    string // given by the user
	Thread  ThreadID
}

// Recent returns the places where carriers or locks were held lately, in no order. An error that matches [ErrIncomplete] means that some are missing.
func (r *Reader) Recent() ([]RecentSite, error) {
	var rows []RecentSite
	err := r.scan(segmentRecent, recentPerSegment, recentSize, func(b []byte) bool {
		le := binary.LittleEndian
		row := RecentSite{Kind: RecentKind(b[4]), Reason: Reason(b[5]), Stack: StackID(le.Uint32(b[8:]))}
		if row.Kind >= recentKindCount || row.Reason >= ReasonCount {
			return false
		}
		for s := b[64:]; len(s) > 0; s = s[64:] {
			if n := le.Uint32(s[8:]); n != 0 {
				row.Steps = append(row.Steps, RecentStep{
					Began: Ticks(le.Uint64(s)), Count: n, Name: r.text(TextBlocker, r.rawString(StringID(le.Uint32(s[12:])))), Waiting: le.Uint64(s[16:]),
					Total: time.Duration(le.Uint64(s[24:])), Longest: time.Duration(le.Uint64(s[32:])),
					Blocker: Blocker(le.Uint64(s[40:])), Thread: ThreadID(le.Uint64(s[48:])), Crowd: le.Uint32(s[56:]),
				})
			}
		}
		if row.Kind != 0 && len(row.Steps) > 0 {
			rows = append(rows, row)
		}
		return true
	})
	return rows, err
}

// scan calls visit with a good copy of each of n records of a size in each segment of a kind. visit returns false for one that makes no sense.
func (r *Reader) scan(k segmentKind, n, size int, visit func(record []byte) bool) error {
	segments, err := r.segmentsOf(k)
	if err != nil {
		return err
	}
	var (
		buf     = make([]byte, n*size)
		again   = make([]byte, n*size)
		missing []string
		torn    int
		still   = newPatience()
	)
	for ordinal, s := range segments {
		if s.bad {
			continue
		}
		if r.src.readAt(buf, s.offset) < len(buf) || r.src.readAt(again, s.offset) < len(again) {
			missing = append(missing, fmt.Sprintf("%s segment %d is cut", k, ordinal))
			continue
		}
		for i := range n {
			rec := buf[i*size : (i+1)*size]
			if isZero(rec) {
				continue
			}
			held := rec[0]&1 == 0 && bytes.Equal(rec, again[i*size:(i+1)*size])
			if !held && !r.copyStill(rec, s.offset+uint64(i*size), still) || !visit(rec) {
				torn++
			}
		}
	}
	if torn > 0 {
		missing = append(missing, fmt.Sprintf("%d %s records could not be read", torn, k))
	}
	return r.incomplete(missing...)
}

func isZero(b []byte) bool { return len(bytes.TrimLeft(b, "\x00")) == 0 }
