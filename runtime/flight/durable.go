package flight

import (
	"encoding/binary"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"
)

// A DurableWait is what a durable thread waits for.
type DurableWait uint8

// The waits of durable threads. Values are part of the flight format: append, never renumber.
const (
	DurableRuns   DurableWait = iota // for nothing: it executes, or its thread says more
	DurableSignal                    // for a signal of a name
	DurableSleep                     // for a time
	DurablePermit                    // for an unpark
	DurableChild                     // for a child to end
	DurableCall                      // it calls something outside

	DurableWaitCount
)

// A DurableWaitInfo is a row of the table of waits of durable threads.
type DurableWaitInfo struct {
	Name    string
	About   string
	blocker BlockerKind // BlockedByNone: its thread says what it waits for
}

// DurableWaits describes every wait, indexed by [DurableWait].
var DurableWaits = [DurableWaitCount]DurableWaitInfo{
	DurableRuns:   {"", "nothing", BlockedByNone},
	DurableSignal: {"signal", "a signal", BlockedBySignal},
	DurableSleep:  {"time", "a time", BlockedByTimer},
	DurablePermit: {"permit", "an unpark", BlockedByPermit},
	DurableChild:  {"child", "the end of a child", BlockedByChild},
	DurableCall:   {"call", "the end of a call of something outside", BlockedByNone},
}

// String returns the wait's name.
func (w DurableWait) String() string {
	if w < DurableWaitCount {
		return DurableWaits[w].Name
	}
	return "unknown"
}

// Blocker is the blocker of a durable thread that waits so for what has that name. The same name is the same blocker in all processes; a [Reader] knows the name while
// somebody waits.
func (w DurableWait) Blocker(name string) Blocker {
	if w >= DurableWaitCount || DurableWaits[w].blocker == BlockedByNone {
		return 0
	}
	name = cutText(name, durableName)
	h := uint64(0xcbf29ce484222325)
	for i := range len(name) {
		h = (h ^ uint64(name[i])) * 0x100000001b3
	}
	return MakeBlocker(DurableWaits[w].blocker, h>>8)
}

// maxDurableSegments is for 262,144 durable threads.
const maxDurableSegments = 256

var durableKind = poolKind{segmentDurable, durableSegmentSize, durableSize, maxDurableSegments, lostDurables, "durable threads are not described any more"}

// A DurableRecord tells what the record of a thread has no room for: that it is a durable one, which, how long its journal is and what it waits for. One at a time may
// write it. A nil one swallows everything. No method waits or allocates.
type DurableRecord durableRecord

// OpenDurable returns a record for the durable thread of that id and body. Without room it returns nil and counts the loss. It takes a lock. Ids beyond 120 bytes are cut,
// and marked.
func (r *Recorder) OpenDurable(id, body string) *DurableRecord {
	if r == nil {
		return nil
	}
	name := r.Intern(body)
	rec := (*durableRecord)(r.durables.take(r, &durableKind))
	if rec == nil {
		return nil
	}
	var text [durableID]byte
	kept := cutText(id, durableID)
	copy(text[:], kept)
	flags := uint32(0)
	if len(kept) < len(id) {
		flags = durableIDCut << durableFlagShift
	}
	v := beginWrite(&rec.Ver)
	put32(&rec.Word, flags)
	put64(&rec.Thread, 0)
	put64(&rec.Steps, 0)
	put64((*uint64)(unsafe.Pointer(&rec.Since)), 0)
	put64((*uint64)(unsafe.Pointer(&rec.Until)), 0)
	put32(&rec.Body, uint32(name))
	put32(&rec.Errors, 0)
	put32(&rec.Lengths, uint32(len(kept)))
	put32(&rec.Child, 0)
	for i := range rec.ID {
		put64(&rec.ID[i], binary.LittleEndian.Uint64(text[8*i:]))
	}
	endWrite(&rec.Ver, v)
	return (*DurableRecord)(rec)
}

// CloseDurable frees the record of a durable thread that this process has no more. rec must not be used afterwards.
func (r *Recorder) CloseDurable(rec *DurableRecord) {
	if r == nil || rec == nil {
		return
	}
	v := beginWrite(&rec.Ver)
	put64(&rec.Thread, 0)
	endWrite(&rec.Ver, v)
	r.durables.put(unsafe.Pointer(rec))
}

// Is notes the thread that the durable thread is from now on, and whether that replays; it waits for nothing.
func (rec *DurableRecord) Is(t ThreadID, replays bool) {
	if rec == nil {
		return
	}
	v := beginWrite(&rec.Ver)
	put64(&rec.Thread, uint64(t))
	word := rec.Word & (durableIDCut << durableFlagShift)
	if replays {
		word |= durableReplays << durableFlagShift
	}
	put32(&rec.Word, word)
	put64((*uint64)(unsafe.Pointer(&rec.Since)), 0)
	endWrite(&rec.Ver, v)
}

// Learned notes how many steps the thread has learned, with those that checkpoints have replaced, and how many of those in its journal are errors.
func (rec *DurableRecord) Learned(n, errors int) {
	if rec == nil {
		return
	}
	v := beginWrite(&rec.Ver)
	put64(&rec.Steps, uint64(n))
	put32(&rec.Errors, uint32(errors))
	endWrite(&rec.Ver, v)
}

// Replayed notes that the thread stands where it stood.
func (rec *DurableRecord) Replayed() {
	if rec == nil {
		return
	}
	v := beginWrite(&rec.Ver)
	put32(&rec.Word, rec.Word&^(durableReplays<<durableFlagShift))
	endWrite(&rec.Ver, v)
}

// Waits notes what the thread waits for since a time, and until when at most; the zero time is no limit. Names beyond 80 bytes are cut, and marked.
func (rec *DurableRecord) Waits(w DurableWait, name string, child int, since, until time.Time) {
	if rec == nil {
		return
	}
	var text [durableName]byte
	kept := cutText(name, durableName)
	copy(text[:], kept)
	v := beginWrite(&rec.Ver)
	word := rec.Word&(durableFlags<<durableFlagShift)&^(durableNameCut<<durableFlagShift) | uint32(w)
	if len(kept) < len(name) {
		word |= durableNameCut << durableFlagShift
	}
	put32(&rec.Word, word)
	put64((*uint64)(unsafe.Pointer(&rec.Since)), uint64(nanosOf(since)))
	put64((*uint64)(unsafe.Pointer(&rec.Until)), uint64(nanosOf(until)))
	put32(&rec.Lengths, rec.Lengths&0xffff|uint32(len(kept))<<16)
	put32(&rec.Child, uint32(child))
	for i := range rec.Name {
		put64(&rec.Name[i], binary.LittleEndian.Uint64(text[8*i:]))
	}
	endWrite(&rec.Ver, v)
}

const durableFlags = durableReplays | durableIDCut | durableNameCut

// Goes notes that the thread waits for nothing any more.
func (rec *DurableRecord) Goes() {
	if rec == nil {
		return
	}
	v := beginWrite(&rec.Ver)
	put32(&rec.Word, rec.Word&(durableFlags<<durableFlagShift))
	put64((*uint64)(unsafe.Pointer(&rec.Since)), 0)
	put64((*uint64)(unsafe.Pointer(&rec.Until)), 0)
	endWrite(&rec.Ver, v)
}

func nanosOf(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixNano()
}

// A DurableCount is something of durable threads that is counted since the process began.
type DurableCount uint8

// What is counted. Values are part of the flight format: append, never renumber.
const (
	DurableStarted DurableCount = iota
	DurableEnded
	DurableSteps
	DurableErrors
	DurableHibernations
	DurableResumes
	DurableReplays
	DurableReplayed
	DurableReplayTime
	DurableParks
	DurableBytes
	DurableUnparks
	DurableLeases
	DurableCheckpoints
	DurableDivergences

	DurableCountCount
)

// A DurableCountInfo is a row of the table of counts.
type DurableCountInfo struct {
	Name  string
	About string
	Unit  FieldUse
}

// DurableCounts describes every count, indexed by [DurableCount].
var DurableCounts = [DurableCountCount]DurableCountInfo{
	DurableStarted:      {"started", "durable threads that were started, cloned ones and children too", FieldCount},
	DurableEnded:        {"ended", "durable threads whose body has returned, or diverged", FieldCount},
	DurableSteps:        {"steps", "steps that were recorded in journals", FieldCount},
	DurableErrors:       {"errors", "of them those that are an error", FieldCount},
	DurableHibernations: {"hibernations", "times that a durable thread gave up its stack", FieldCount},
	DurableResumes:      {"resumes", "times that one went on from there", FieldCount},
	DurableReplays:      {"replays", "replays of journals that came to their end", FieldCount},
	DurableReplayed:     {"replayed", "steps that bodies were given in them", FieldCount},
	DurableReplayTime:   {"replay-time", "how long they took together", FieldDuration},
	DurableParks:        {"parks", "times that a durable thread was parked to bytes, with its children", FieldCount},
	DurableBytes:        {"bytes", "bytes that came of that", FieldBytes},
	DurableUnparks:      {"unparks", "times that a durable thread was made of bytes", FieldCount},
	DurableLeases:       {"leases", "durable threads that came to this process from another one, or from none", FieldCount},
	DurableCheckpoints:  {"checkpoints", "checkpoints that were saved", FieldCount},
	DurableDivergences:  {"divergences", "durable threads that did something else than what their journals hold", FieldCount},
}

// durableTotals are the counts, whose segment is made with the first.
type durableTotals struct {
	sync.Mutex
	record atomic.Pointer[durableTotalsRecord]
	failed bool // guarded by the mutex: there is no room
}

func (r *Recorder) durableTotals() *durableTotalsRecord {
	if r == nil {
		return nil
	}
	d := &r.durable
	if rec := d.record.Load(); rec != nil {
		return rec
	}
	d.Lock()
	defer d.Unlock()
	if rec := d.record.Load(); rec != nil || d.failed {
		return rec
	}
	base, err := r.addSegment(segmentDurableTotals, durableTotalsSize, durableTotalsSize, 1, nil)
	if err != nil {
		r.warnOnce("what durable threads do is not counted", err)
		d.failed = true
		return nil
	}
	d.record.Store((*durableTotalsRecord)(base))
	return (*durableTotalsRecord)(base)
}

// CountDurable counts something of durable threads. It may be called from any goroutine.
func (r *Recorder) CountDurable(what DurableCount, n int) {
	if rec := r.durableTotals(); rec != nil && n > 0 {
		atomic.AddUint64(&rec.Counts[what], uint64(n))
	}
}

// CountReplay counts a replay of so many steps that took d.
func (r *Recorder) CountReplay(steps int, d time.Duration) {
	if rec := r.durableTotals(); rec != nil {
		atomic.AddUint64(&rec.Counts[DurableReplays], 1)
		atomic.AddUint64(&rec.Counts[DurableReplayed], uint64(steps))
		atomic.AddUint64(&rec.Counts[DurableReplayTime], uint64(max(d, 0)))
		atomic.AddUint64(&rec.Replay[BucketOf(d)], 1)
	}
}

// A LeaseMove tells that a durable thread, with its children, is another process's from now on.
type LeaseMove struct {
	Thread   string // its id
	Body     string
	From, To string // participants; From "": nobody had it
}

// LeaseMoved records a move; who takes the thread calls it. It may be called from any goroutine, and does not wait for readers.
func (r *Recorder) LeaseMoved(m LeaseMove) {
	if r == nil {
		return
	}
	r.CountDurable(DurableLeases, 1)
	var more [3 * TextWords]uint64
	for i, s := range [...]string{m.Thread, m.From, m.To} {
		text := TextOf(s)
		copy(more[i*TextWords:], text[:])
	}
	r.EmitMore(Now(), EventDurableLease, 0, StackID(r.Intern(m.Body)), 0, 0, more[:]...)
}
