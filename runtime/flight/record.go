package flight

import (
	"sync/atomic"
	"unsafe"
)

// A Record is a thread's row in the flight file, seen by readers of other processes. A nil Record
// stands for a thread that is not recorded; all methods accept it.
//
//	V1  Ver is odd while a method changes the record and even between; a reader accepts a copy
//	    only if Ver is even and a second copy, made after the first, is the same.
//	V2  One writer at a time: whoever owns the thread's state. It writes before it gives the
//	    state away. Only Name may be stored by others ([Recorder.SetName]); it is one word
//	    and not covered by Ver.
//	V3  A writer never waits and never allocates.
type Record struct {
	ver     uint32
	word    uint32 // state | reason<<8 | carrier<<16
	id      uint64
	since   uint64
	stack   uint32
	scope   uint32
	blocker uint64
	waker   uint64
	mounts  uint32
	pins    uint32
	name    uint32
	flags   uint32
}

func (rec *Record) cold() *coldRecord {
	return (*coldRecord)(unsafe.Add(unsafe.Pointer(rec), coldOffset))
}

// Init makes the record describe a new thread: state is [StateNew] or [StateRunnable], entry the
// program counter of its body, t the time of its creation.
func (rec *Record) Init(state State, id ThreadID, scope ScopeIndex, creator ThreadID, entry uintptr, flags RecordFlags, t Ticks) {
	if rec == nil {
		return
	}
	v := beginWrite(&rec.ver)
	put32(&rec.word, uint32(state)|uint32(NoCarrier)<<16)
	put64(&rec.id, uint64(id))
	put64(&rec.since, uint64(t))
	put32(&rec.stack, 0)
	put32(&rec.scope, uint32(scope))
	put64(&rec.blocker, 0)
	put64(&rec.waker, 0)
	put32(&rec.mounts, 0)
	put32(&rec.pins, 0)
	put32(&rec.flags, uint32(flags))
	c := rec.cold()
	put64(&c.ID, uint64(id))
	put64(&c.Created, uint64(t))
	put64(&c.Creator, uint64(creator))
	put64(&c.G, 0)
	put64(&c.CPU, 0)
	put64(&c.Entry, uint64(entry))
	put64(&c.Run, 0)
	put64(&c.Ready, 0)
	endWrite(&rec.ver, v)
}

// Hibernated makes the record, which describes no thread, describe one that is stored as bytes since t, and waits for b, and for why, where stack is. [Record.End] ends that.
func (rec *Record) Hibernated(t Ticks, id ThreadID, why Reason, stack StackID, b Blocker) {
	if rec == nil {
		return
	}
	rec.Init(StateHibernated, id, 0, 0, 0, 0, t)
	v := beginWrite(&rec.ver)
	put32(&rec.word, uint32(StateHibernated)|uint32(why)<<8|uint32(NoCarrier)<<16)
	put32(&rec.stack, uint32(stack))
	put64(&rec.blocker, uint64(b))
	endWrite(&rec.ver, v)
}

// Goroutine notes the goroutine that the thread runs on: the address of its runtime.g.
func (rec *Record) Goroutine(g uintptr) {
	if rec == nil {
		return
	}
	v := beginWrite(&rec.ver)
	c := rec.cold()
	put64(&c.G, uint64(g))
	endWrite(&rec.ver, v)
}

// Moved notes that the thread has another scheduler from now on.
func (rec *Record) Moved(to SchedulerID) {
	if rec == nil {
		return
	}
	v := beginWrite(&rec.ver)
	put32(&rec.flags, rec.flags&(1<<recordSchedulerShift-1)|uint32(to)<<recordSchedulerShift)
	endWrite(&rec.ver, v)
}

// Since returns when the thread entered its state, for whoever owns the record.
func (rec *Record) Since() Ticks { return Ticks(rec.since) }

// ran adds to the time that the thread was mounted; t is when it leaves, or is pinned. It is called between beginWrite and endWrite.
func (rec *Record) ran(t Ticks) {
	c := rec.cold()
	put64(&c.Run, c.Run+uint64(t)-rec.since)
}

// waited adds to the time that the thread was runnable; it is mounted at t.
func (rec *Record) waited(t Ticks) {
	c := rec.cold()
	put64(&c.Ready, c.Ready+uint64(t)-rec.since)
}

// UsedCPU adds to the time that the thread spent on a processor, for whoever owns the record.
func (rec *Record) UsedCPU(d Ticks) {
	if rec != nil {
		c := rec.cold()
		put64(&c.CPU, c.CPU+uint64(d))
	}
}

// Wait returns why the thread waits, for what and where, for whoever owns the record.
func (rec *Record) Wait() (Reason, Blocker, StackID) {
	return Reason(rec.word >> 8), Blocker(rec.blocker) &^ blockerLimited, StackID(rec.stack)
}

// Place returns the scope and the flags of the thread, for whoever owns the record.
func (rec *Record) Place() (ScopeIndex, RecordFlags) {
	return ScopeIndex(rec.scope), RecordFlags(rec.flags) & (1<<recordSchedulerShift - 1)
}

// State returns the thread's state, for whoever owns the record.
func (rec *Record) State() State { return State(rec.word) }

// Mounted notes that the thread began to execute on carrier c.
func (rec *Record) Mounted(t Ticks, c CarrierID) {
	if rec == nil {
		return
	}
	v := beginWrite(&rec.ver)
	put32(&rec.word, uint32(StateMounted)|uint32(c)<<16)
	rec.waited(t)
	put64(&rec.since, uint64(t))
	put32(&rec.stack, 0)
	put64(&rec.blocker, 0)
	put32(&rec.mounts, rec.mounts+1)
	endWrite(&rec.ver, v)
}

// Parked notes that the thread gave up its carrier at stack until what b names happens; s is one
// of [StateParked], [StateTimedParked], [StateBlocked], [StateWaiting].
func (rec *Record) Parked(t Ticks, s State, why Reason, stack StackID, b Blocker) {
	if rec == nil {
		return
	}
	v := beginWrite(&rec.ver)
	put32(&rec.word, rec.word&0xffff0000|uint32(s)|uint32(why)<<8)
	rec.ran(t)
	put64(&rec.since, uint64(t))
	put32(&rec.stack, uint32(stack))
	put64(&rec.blocker, uint64(b))
	endWrite(&rec.ver, v)
	if watchesCircles {
		noteWait(b)
	}
}

// Runnable notes that the thread waits for a carrier, woken by waker (0: by no thread). Its stack
// and the reason for which it left its carrier stay: it will continue there.
func (rec *Record) Runnable(t Ticks, waker ThreadID) {
	if rec == nil {
		return
	}
	v := beginWrite(&rec.ver)
	put32(&rec.word, rec.word&^0xff|uint32(StateRunnable))
	put64(&rec.since, uint64(t))
	put64(&rec.blocker, 0)
	put64(&rec.waker, uint64(waker))
	endWrite(&rec.ver, v)
}

// Pinned notes that the thread blocks at stack and holds its carrier.
func (rec *Record) Pinned(t Ticks, why Reason, stack StackID, b Blocker) {
	if rec == nil {
		return
	}
	v := beginWrite(&rec.ver)
	put32(&rec.word, rec.word&0xffff0000|uint32(StatePinned)|uint32(why)<<8)
	rec.ran(t)
	put64(&rec.since, uint64(t))
	put32(&rec.stack, uint32(stack))
	put64(&rec.blocker, uint64(b))
	put32(&rec.pins, rec.pins+1)
	endWrite(&rec.ver, v)
	if watchesCircles {
		noteWait(b)
	}
}

// Panicked notes that the thread of a record ends the program, by a panic that nobody handles. It executes no further, and its record stays, with reason panic. Its end
// is an event nevertheless, which the caller emits then. So it is counted here too: see [Process].
func (r *Recorder) Panicked(rec *Record) {
	if r == nil || rec == nil {
		return
	}
	v := beginWrite(&rec.ver)
	put32(&rec.word, rec.word&^0xff00|uint32(ReasonPanic)<<8)
	endWrite(&rec.ver, v)
	atomic.AddUint64(&r.header.Panicked, 1)
}

// Resumed notes that the thread is no longer pinned and executes on the carrier it held. Unlike
// [Record.Mounted] it counts no mount.
func (rec *Record) Resumed(t Ticks) {
	if rec == nil {
		return
	}
	v := beginWrite(&rec.ver)
	put32(&rec.word, rec.word&0xffff0000|uint32(StateMounted))
	put64(&rec.since, uint64(t))
	put32(&rec.stack, 0)
	put64(&rec.blocker, 0)
	endWrite(&rec.ver, v)
}

// Yielded notes that the thread offered its carrier to others and waits for one again.
func (rec *Record) Yielded(t Ticks) {
	if rec == nil {
		return
	}
	v := beginWrite(&rec.ver)
	put32(&rec.word, rec.word&0xffff0000|uint32(StateRunnable)|uint32(ReasonYield)<<8)
	rec.ran(t)
	put64(&rec.since, uint64(t))
	put32(&rec.stack, 0)
	endWrite(&rec.ver, v)
}

// End makes the record describe no thread, and returns what it used. The caller then puts it back with [RecordCache.Put] or
// [Recorder.PutRecord], which also free the thread's name.
func (rec *Record) End(t Ticks) (s Spent, of ScopeIndex) {
	if rec == nil {
		return s, 0
	}
	v := beginWrite(&rec.ver)
	if State(rec.word) == StateMounted {
		rec.ran(t)
	}
	s, of = rec.spent(t), ScopeIndex(rec.scope)
	put32(&rec.word, uint32(StateFree))
	put64(&rec.since, uint64(t))
	put32(&rec.stack, 0)
	put64(&rec.blocker, 0)
	endWrite(&rec.ver, v)
	return s, of
}

// A RecordCache keeps a few free records for one owner, who needs no lock then. The zero value is
// usable. It must not be used from two goroutines at once.
type RecordCache struct {
	n    int
	free [cacheRecords]*Record
}

const (
	cacheRecords = 64
	cacheBatch   = cacheRecords / 2
)

// Get returns a free record of r for one thread, or nil if r is nil or has no room: the thread is
// then counted as unrecorded. It may take a lock and grow the file once in many calls.
func (c *RecordCache) Get(r *Recorder) *Record {
	if r == nil {
		return nil
	}
	rec := c.take(r)
	if rec == nil {
		r.lose(lostThreads)
	}
	return rec
}

// take is Get that does not count what is lost.
func (c *RecordCache) take(r *Recorder) *Record {
	if c.n == 0 {
		if c.n = r.takeRecords(c.free[:cacheBatch]); c.n == 0 {
			return nil
		}
	}
	c.n--
	return c.free[c.n]
}

// Put takes back a record after [Record.End]. Nil records are ignored.
func (c *RecordCache) Put(r *Recorder, rec *Record) {
	if r == nil || rec == nil {
		return
	}
	r.endName(rec)
	if c.n == cacheRecords {
		r.giveRecords(c.free[cacheBatch:])
		c.n = cacheBatch
	}
	c.free[c.n] = rec
	c.n++
}

// Flush gives the cached records back to r. The owner calls it before it drops the cache.
func (c *RecordCache) Flush(r *Recorder) {
	if r == nil || c.n == 0 {
		return
	}
	r.giveRecords(c.free[:c.n])
	c.n = 0
}
