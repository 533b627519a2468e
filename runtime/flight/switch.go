package flight

import (
	"runtime"
	"unsafe"
)

// The methods below write a thread's record and its events in one go: what every switch of threads needs. They are the
// same as the single calls, in fewer instructions. Only the ring's owner, who also owns the record, may call them; neither
// may be nil.

// Park records that a thread gave up its carrier: [Record.Parked], then the events park and unmount.
func (g *Ring) Park(rec *Record, id ThreadID, t Ticks, s State, why Reason, stack StackID, b Blocker) {
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
	if !g.all(1<<EventPark | 1<<EventUnmount) {
		g.emit(g.carrier, t, EventPark, why, stack, id, uint64(b))
		g.emit(g.carrier, t, EventUnmount, why, 0, id, 0)
		return
	}
	pos := g.pos
	g.touch(pos)
	g.fill(pos, uint64(t), uint64(EventPark)|uint64(why)<<8|g.carrier|uint64(stack)<<32, uint64(id), uint64(b))
	g.publish(pos + 1) // R1: no more than one slot is half written
	g.fill(pos+1, uint64(t), uint64(EventUnmount)|uint64(why)<<8|g.carrier, uint64(id), 0)
	h := g.hdr
	put64(&h.Counts[EventPark], h.Counts[EventPark]+1)
	put64(&h.Counts[EventUnmount], h.Counts[EventUnmount]+1)
	g.countPark(why)
	g.pos = pos + 2
	g.publish(pos + 2)
}

// all reports whether every event of these kinds is recorded, which is the rule.
func (g *Ring) all(kinds uint64) bool { return g.rec.gate.all.Load()&kinds == kinds }

// Yield records that a thread goes to the end of the queue: [Record.Yielded], then the events yield and unmount.
func (g *Ring) Yield(rec *Record, id ThreadID, t Ticks) {
	v := beginWrite(&rec.ver)
	put32(&rec.word, rec.word&0xffff0000|uint32(StateRunnable)|uint32(ReasonYield)<<8)
	rec.ran(t)
	put64(&rec.since, uint64(t))
	put32(&rec.stack, 0)
	endWrite(&rec.ver, v)
	if !g.all(1<<EventYield | 1<<EventUnmount) {
		g.emit(g.carrier, t, EventYield, 0, 0, id, 0)
		g.emit(g.carrier, t, EventUnmount, ReasonYield, 0, id, 0)
		return
	}
	pos := g.pos
	g.touch(pos)
	g.fill(pos, uint64(t), uint64(EventYield)|g.carrier, uint64(id), 0)
	g.publish(pos + 1) // R1: no more than one slot is half written
	g.fill(pos+1, uint64(t), uint64(EventUnmount)|uint64(ReasonYield)<<8|g.carrier, uint64(id), 0)
	h := g.hdr
	put64(&h.Counts[EventYield], h.Counts[EventYield]+1)
	put64(&h.Counts[EventUnmount], h.Counts[EventUnmount]+1)
	g.pos = pos + 2
	g.publish(pos + 2)
}

// Mount records that a thread began to execute on the ring's carrier: [Record.Mounted], then the event mount.
func (g *Ring) Mount(rec *Record, id ThreadID, t Ticks) {
	v := beginWrite(&rec.ver)
	put32(&rec.word, uint32(StateMounted)|uint32(g.carrier))
	rec.waited(t)
	put64(&rec.since, uint64(t))
	put32(&rec.stack, 0)
	put64(&rec.blocker, 0)
	put32(&rec.mounts, rec.mounts+1)
	endWrite(&rec.ver, v)
	if !g.all(1 << EventMount) {
		g.emit(g.carrier, t, EventMount, 0, 0, id, 0)
		return
	}
	pos := g.pos
	g.touch(pos)
	g.fill(pos, uint64(t), uint64(EventMount)|g.carrier, uint64(id), 0)
	h := g.hdr
	put64(&h.Counts[EventMount], h.Counts[EventMount]+1)
	g.pos = pos + 1
	g.publish(pos + 1)
}

// Unpark records that a thread was made runnable by another: [Record.Runnable], then the event unpark.
func (g *Ring) Unpark(rec *Record, id ThreadID, t Ticks, by ThreadID) {
	v := beginWrite(&rec.ver)
	put32(&rec.word, rec.word&^0xff|uint32(StateRunnable))
	put64(&rec.since, uint64(t))
	put64(&rec.blocker, 0)
	put64(&rec.waker, uint64(by))
	endWrite(&rec.ver, v)
	if !g.all(1 << EventUnpark) {
		g.emit(g.carrier, t, EventUnpark, 0, 0, id, uint64(by))
		return
	}
	pos := g.pos
	g.touch(pos)
	g.fill(pos, uint64(t), uint64(EventUnpark)|g.carrier, uint64(id), uint64(by))
	h := g.hdr
	put64(&h.Counts[EventUnpark], h.Counts[EventUnpark]+1)
	g.pos = pos + 1
	g.publish(pos + 1)
}

// Start records that a thread was handed to its scheduler by another: the event thread-start. Its record was made
// runnable by [Record.Init] or [Record.Runnable].
func (g *Ring) Start(id ThreadID, t Ticks, by ThreadID, scope ScopeIndex, flags RecordFlags) {
	if !g.all(1 << EventThreadStart) {
		g.emit(g.carrier, t, EventThreadStart, Reason(flags), StackID(scope), id, uint64(by))
		return
	}
	pos := g.pos
	g.touch(pos)
	g.fill(pos, uint64(t), uint64(EventThreadStart)|uint64(flags&0xff)<<8|g.carrier|uint64(scope)<<32, uint64(id), uint64(by))
	h := g.hdr
	put64(&h.Counts[EventThreadStart], h.Counts[EventThreadStart]+1)
	g.pos = pos + 1
	g.publish(pos + 1)
}

// End records that a thread has ended: as [Record.End], then the events thread-end and unmount. What it used is added to its scope's sums.
func (g *Ring) End(rec *Record, id ThreadID, t Ticks, how Reason) {
	v := beginWrite(&rec.ver)
	run := Ticks(rec.cold().Run)
	if State(rec.word) == StateMounted {
		run += t - Ticks(rec.since)
	}
	g.pending.note(g.rec, rec, t, run)
	mounts := StackID(rec.mounts)
	put32(&rec.word, uint32(StateFree))
	put64(&rec.since, uint64(t))
	put32(&rec.stack, 0)
	put64(&rec.blocker, 0)
	endWrite(&rec.ver, v)
	if !g.all(1<<EventThreadEnd | 1<<EventUnmount) {
		g.emit(g.carrier, t, EventThreadEnd, how, mounts, id, uint64(run.Sub(0)))
		g.emit(g.carrier, t, EventUnmount, how, 0, id, 0)
		return
	}
	pos := g.pos
	g.touch(pos)
	g.fill(pos, uint64(t), uint64(EventThreadEnd)|uint64(how)<<8|g.carrier|uint64(mounts)<<32, uint64(id), uint64(run.Sub(0)))
	g.publish(pos + 1)
	g.fill(pos+1, uint64(t), uint64(EventUnmount)|uint64(how)<<8|g.carrier, uint64(id), 0)
	h := g.hdr
	put64(&h.Counts[EventThreadEnd], h.Counts[EventThreadEnd]+1)
	put64(&h.Counts[EventUnmount], h.Counts[EventUnmount]+1)
	g.pos = pos + 2
	g.publish(pos + 2)
}

// Refused notes that the scheduler has refused the thread, which is in state s again: new, or what it was when it left its
// carrier. Its stack stays. why, if it is given, replaces the reason for which it waits.
func (rec *Record) Refused(t Ticks, s State, why Reason) {
	if rec == nil {
		return
	}
	v := beginWrite(&rec.ver)
	word := rec.word&^0xff | uint32(s)
	if why != ReasonNone {
		word = word&^0xff00 | uint32(why)<<8
	}
	put32(&rec.word, word)
	put64(&rec.since, uint64(t))
	endWrite(&rec.ver, v)
}

// fill writes the slot of pos. It is small enough to be inlined.
func (g *Ring) fill(pos, t, word, thread, arg uint64) {
	e := (*event)(unsafe.Add(g.events, (pos&g.mask)*eventSize))
	put64(&e.Time, t)
	put64(&e.Word, word)
	put64(&e.Thread, thread)
	put64(&e.Arg, arg)
}

// touch loads the cache line that will be written some events from now. Events are written to memory that was last
// used a ring's length ago; without this, the atomic operations of a switch wait until the stores
// before them have fetched their lines. The comparison keeps the compiler from dropping the load; no word is all ones.
func (g *Ring) touch(pos uint64) {
	if e := (*event)(unsafe.Add(g.events, ((pos+touchAhead)&g.mask)*eventSize)); e.Word == ^uint64(0) {
		neverCalled()
	}
}

const touchAhead = 16

//go:noinline
func neverCalled() {}

// publish stores head. KeepAlive keeps the compiler from merging two of them.
func (g *Ring) publish(head uint64) {
	put64(&g.hdr.Head, head)
	runtime.KeepAlive(unsafe.Pointer(g.hdr))
}
