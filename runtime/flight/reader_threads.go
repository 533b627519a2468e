package flight

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"sync"
	"time"
)

const (
	chunkRecords = 1024
	chunkBytes   = chunkRecords * recordSize
	tornRetries  = 16
)

// Threads calls visit with the rows of all threads, a block at a time; rows is reused after visit
// returns. The order is that of the records. A row that changed while it was copied is copied
// again; torn counts those that would not hold still, or that make no sense. What a process has left half written that is dead or
// stopped comes as it is, with [ThreadRow.Torn] set. An error that matches
// [ErrIncomplete] means that the rows visited are good but some are missing, because the file is
// cut or damaged; others are of ctx, or mean that nothing can be read.
func (r *Reader) Threads(ctx context.Context, visit func(rows []ThreadRow)) (torn int, err error) {
	return r.scanThreads(ctx, func(rows []ThreadRow) bool { visit(rows); return true })
}

// scanThreads is Threads until visit returns false.
func (r *Reader) scanThreads(ctx context.Context, visit func(rows []ThreadRow) bool) (torn int, err error) {
	segments, err := r.segmentsOf(segmentThread)
	if err != nil {
		return 0, err
	}
	var (
		a, b    = make([]byte, chunkBytes), make([]byte, chunkBytes)
		rows    = make([]ThreadRow, 0, chunkRecords)
		missing []string
		still   = newPatience()
		idle    = sync.OnceValue(func() bool { return r.Status() != StatusRunning })
	)
	for ordinal, s := range segments {
		if s.bad {
			continue
		}
		for at := 0; at < threadsPerSegment; at += chunkRecords {
			if err := ctx.Err(); err != nil {
				return torn, err
			}
			offset := s.offset + uint64(at*recordSize)
			if r.src.readAt(a, offset) < len(a) || r.src.readAt(b, offset) < len(b) {
				missing = append(missing, fmt.Sprintf("thread segment %d is cut", ordinal))
				break
			}
			same := bytes.Equal(a, b)
			rows = rows[:0]
			for i := range chunkRecords {
				rec := (*[recordSize]byte)(a[i*recordSize:])
				half := false
				if !same && *rec != [recordSize]byte(b[i*recordSize:]) || rec[0]&1 != 0 {
					if at := offset + uint64(i*recordSize); !r.copyStill(rec[:], at, still) {
						if half = idle() && r.namesItsThread(rec, at); !half {
							torn++
							continue
						}
					}
				}
				if State(rec[4]) == StateFree {
					continue
				}
				if State(rec[4]) >= StateCount {
					torn++
					continue
				}
				rows = append(rows, ThreadRow{})
				decodeThread(&rows[len(rows)-1], rec)
				rows[len(rows)-1].Index = uint32(ordinal*threadsPerSegment + at + i)
				rows[len(rows)-1].Torn = half
			}
			if len(rows) > 0 && !visit(rows) {
				return torn, nil
			}
		}
	}
	return torn, r.incomplete(missing...)
}

// namesItsThread reports whether a half-written record is surely of the thread that it names: one that is being made new still has the
// id of the thread before, or its other half has.
func (r *Reader) namesItsThread(rec *[recordSize]byte, offset uint64) bool {
	var id [8]byte
	le := binary.LittleEndian
	if r.src.readAt(id[:], offset+coldOffset) < len(id) || le.Uint64(id[:]) != le.Uint64(rec[8:]) {
		return false
	}
	return State(rec[4]) != StateNew || le.Uint32(rec[48:]) == 0 // mounted when it was new: that was the one before
}

// patience bounds how often a scan copies records again, so that a file full of records that look
// half written cannot hold a reader up.
type patience struct{ quick, slow int }

func newPatience() *patience { return &patience{quick: 50_000, slow: 64} }

// copyStill copies a record that begins with a version until two copies agree (V1): at once a few
// times, then, if the process lives, with pauses, for a writer that lost its processor.
func (r *Reader) copyStill(rec []byte, offset uint64, p *patience) bool {
	var small [recordSize]byte
	again := small[:]
	if len(rec) > len(again) {
		again = make([]byte, len(rec))
	}
	again = again[:len(rec)]
	for try := 0; p.quick > 0; try++ {
		p.quick--
		if r.src.readAt(rec, offset) < len(rec) || r.src.readAt(again, offset) < len(rec) {
			return false
		}
		if rec[0]&1 == 0 && bytes.Equal(rec, again) {
			return true
		}
		if try < tornRetries {
			continue
		}
		if alive, known := r.src.alive(); try == 2*tornRetries || p.slow == 0 || known && !alive {
			return false
		}
		p.slow--
		if !r.pauses.pause() {
			return false
		}
	}
	return false
}

// pauses bounds how long a reader waits in all for records that look half written. A dump reads them by
// the thousand, one call each. On a busy machine a pause lasts until the reader gets a processor again.
type pauses struct {
	mu    sync.Mutex
	since time.Time
	spent time.Duration // since then
	n     int           // ever
}

const (
	pauseTime = 50 * time.Microsecond
	pauseMost = 250 * time.Millisecond // in each pausePer
	pausePer  = time.Second
)

// pause gives a writer that lost its processor time to finish. It returns false if the budget is spent.
func (p *pauses) pause() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	began := time.Now()
	if began.Sub(p.since) >= pausePer {
		p.since, p.spent = began, 0
	}
	if p.spent >= pauseMost {
		return false
	}
	time.Sleep(pauseTime)
	p.spent += time.Since(began)
	p.n++
	return true
}

func decodeThread(row *ThreadRow, b *[recordSize]byte) {
	le := binary.LittleEndian
	row.State = State(b[4])
	row.Reason = Reason(b[5])
	row.Carrier = CarrierID(le.Uint16(b[6:8]))
	row.ID = ThreadID(le.Uint64(b[8:16]))
	row.Since = Ticks(le.Uint64(b[16:24]))
	row.Stack = StackID(le.Uint32(b[24:28]))
	row.Scope = ScopeIndex(le.Uint32(b[28:32]))
	blocker := Blocker(le.Uint64(b[32:40]))
	row.Blocker, row.Limited = blocker&^blockerLimited, blocker&blockerLimited != 0
	row.Waker = ThreadID(le.Uint64(b[40:48]))
	row.Mounts = le.Uint32(b[48:52])
	row.Pins = le.Uint32(b[52:56])
	row.Name = NameRef(le.Uint32(b[56:60]))
	flags := le.Uint32(b[60:64])
	row.Flags, row.Scheduler = RecordFlags(flags&(1<<recordSchedulerShift-1)), SchedulerID(flags>>recordSchedulerShift)
}

// FindThread returns the row of a live thread. It looks at all of them.
func (r *Reader) FindThread(id ThreadID) (row ThreadRow, found bool, err error) {
	_, err = r.scanThreads(context.Background(), func(rows []ThreadRow) bool {
		for i := range rows {
			if rows[i].ID == id {
				row, found = rows[i], true
				return false
			}
		}
		return true
	})
	return row, found, err
}

// locate returns the offset of record i of a kind of fixed-size records, n of them in a segment.
func (r *Reader) locate(k segmentKind, i, n, size uint32) (offset uint64, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if int(i/n) >= len(r.mu.segments[k]) {
		_ = r.refreshLocked() // it may have grown; else i is out of range
	}
	if int(i/n) >= len(r.mu.segments[k]) {
		return 0, false
	}
	s := r.mu.segments[k][i/n]
	return s.offset + uint64(i%n)*uint64(size), !s.bad
}

// ThreadDetail returns the part of a thread's record that does not change; index is that of its
// row. Its ID tells whether it is still the same thread.
func (r *Reader) ThreadDetail(index uint32) (ThreadDetail, error) {
	offset, ok := r.locate(segmentThread, index, threadsPerSegment, recordSize)
	if !ok {
		return ThreadDetail{}, fmt.Errorf("flight: read %s: no thread record %d: %w", r.path, index, ErrFormat)
	}
	var hot, cold, again [recordSize]byte
	still := newPatience()
	for range tornRetries {
		if !r.copyStill(hot[:], offset, still) || r.src.readAt(cold[:], offset+coldOffset) < len(cold) || !r.copyStill(again[:], offset, still) {
			break
		}
		le := binary.LittleEndian
		if [16]byte(hot[:16]) == [16]byte(again[:16]) { // version, state and id
			return ThreadDetail{
				ID: ThreadID(le.Uint64(cold[0:])), Created: Ticks(le.Uint64(cold[8:])), Creator: ThreadID(le.Uint64(cold[16:])),
				G: le.Uint64(cold[24:]), Entry: le.Uint64(cold[40:]),
				CPU: r.Between(0, Ticks(le.Uint64(cold[32:]))), Run: r.Between(0, Ticks(le.Uint64(cold[48:]))), Ready: r.Between(0, Ticks(le.Uint64(cold[56:]))),
			}, nil
		}
	}
	return ThreadDetail{}, fmt.Errorf("flight: read %s: thread record %d: %w", r.path, index, ErrIncomplete)
}

// ThreadName returns the thread's name, "" if it has none or has ended since. A name that was cut
// ends in "…".
func (r *Reader) ThreadName(row ThreadRow) string {
	name, owner := r.name(row.Name)
	if owner != row.ID {
		return ""
	}
	return name
}

// Name returns the name at a position, "" if there is none. The slot may have gone to another
// thread since; [Reader.ThreadName] checks that.
func (r *Reader) Name(n NameRef) string {
	name, _ := r.name(n)
	return name
}

func (r *Reader) name(n NameRef) (string, ThreadID) {
	if n == 0 {
		return "", 0
	}
	offset, ok := r.locate(segmentName, uint32(n-1), namesPerSegment, nameSize)
	var b [nameSize]byte
	if !ok || !r.copyStill(b[:], offset, newPatience()) {
		return "", 0
	}
	return r.text(TextThread, nameOf(b[:])), ThreadID(binary.LittleEndian.Uint64(b[8:]))
}

// nameOf returns the text of a name's record.
func nameOf(b []byte) string {
	le := binary.LittleEndian
	length, flags := le.Uint16(b[4:]), le.Uint16(b[6:])
	text := safeText(string(b[16 : 16+min(length, nameText)]))
	if flags&nameTruncated != 0 {
		text += "…"
	}
	return text
}

// Scopes returns all open scopes in the order of their records; the root scope comes first. An
// error that matches [ErrIncomplete] means that some are missing.
func (r *Reader) Scopes() ([]ScopeRow, error) {
	segments, err := r.segmentsOf(segmentScope)
	if err != nil {
		return nil, err
	}
	var (
		rows    []ScopeRow
		missing []string
		buf     = make([]byte, scopesPerSegment*scopeSize)
		again   = make([]byte, scopesPerSegment*scopeSize)
		le      = binary.LittleEndian
		torn    int
		still   = newPatience()
	)
	for ordinal, s := range segments {
		if s.bad {
			continue
		}
		if r.src.readAt(buf, s.offset) < len(buf) || r.src.readAt(again, s.offset) < len(again) {
			missing = append(missing, fmt.Sprintf("scope segment %d is cut", ordinal))
			continue
		}
		for i := range scopesPerSegment {
			b := (*[scopeSize]byte)(buf[i*scopeSize:])
			if *b != [scopeSize]byte(again[i*scopeSize:]) || b[0]&1 != 0 {
				if !r.copyStill(b[:], s.offset+uint64(i*scopeSize), still) {
					torn++
					continue
				}
			}
			state := ScopeState(b[4])
			if state == ScopeFree {
				continue
			}
			if state >= ScopeStateCount {
				torn++
				continue
			}
			rows = append(rows, ScopeRow{
				Index: ScopeIndex(ordinal*scopesPerSegment + i), State: state,
				ID: ScopeID(le.Uint64(b[8:])), Owner: ThreadID(le.Uint64(b[16:])), Opened: Ticks(le.Uint64(b[24:])),
				Deadline: Ticks(le.Uint64(b[32:])), Parent: ScopeIndex(le.Uint32(b[40:])), Name: r.text(TextScope, r.rawString(StringID(le.Uint32(b[44:])))),
				Policy: r.rawString(StringID(le.Uint32(b[48:]))), Limit: le.Uint32(b[52:]), Queued: le.Uint32(b[56:]),
			})
		}
	}
	if torn > 0 {
		missing = append(missing, fmt.Sprintf("%d scopes could not be read", torn))
	}
	return rows, r.incomplete(missing...)
}
