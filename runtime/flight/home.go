package flight

import (
	"sync/atomic"
	"unsafe"
)

// A Home says which of the rings and caches of records that goroutines share one of them tries first. Goroutines
// that execute at the same time on different processors should have different homes, and keep them on a
// processor: then none waits for the memory that another one has just written.
type Home uint32

// Anywhere is the home of those who have none. It is another one for most goroutines.
const Anywhere Home = 0

var homes atomic.Uint32

// NewHome returns a home. Those that are made one after the other differ, up to how many there are.
func NewHome() Home { return Home((homes.Add(1)-1)%stripes + 1) }

func (h Home) first() uint32 {
	if h == Anywhere {
		return stripeHint()
	}
	return uint32(h - 1)
}

// Emit is [Recorder.Emit].
func (h Home) Emit(r *Recorder, t Ticks, k Kind, code Reason, stack StackID, thread ThreadID, arg uint64) {
	r.emitShared(h, NoCarrier, t, k, code, stack, thread, arg)
}

// EmitMore is [Recorder.EmitMore].
func (h Home) EmitMore(r *Recorder, t Ticks, k Kind, code Reason, stack StackID, thread ThreadID, arg uint64, more ...uint64) {
	if s := r.lockStripe(h, k); s != nil {
		s.ring.emitMore(uint64(NoCarrier)<<16, t, k, code, r.cutStack(k, stack), thread, arg, more)
		s.lock.Store(0)
	}
}

// GetRecord is [Recorder.GetRecord].
func (h Home) GetRecord(r *Recorder) *Record {
	if r == nil {
		return nil
	}
	first, none := h.first(), false
	for i := range uint32(stripes) {
		s := &r.caches[(first+i)%stripes]
		if !s.lock.CompareAndSwap(0, 1) {
			continue
		}
		var rec *Record
		if !none || s.cache.n > 0 {
			rec = s.cache.take(r)
		}
		s.lock.Store(0)
		if rec != nil {
			return rec
		}
		none = true // but for what other stripes have
	}
	var one [1]*Record
	if none || r.takeRecords(one[:]) == 0 {
		r.lose(lostThreads)
		return nil
	}
	return one[0]
}

// PutRecord is [Recorder.PutRecord].
func (h Home) PutRecord(r *Recorder, rec *Record) {
	if r == nil || rec == nil {
		return
	}
	first := h.first()
	for i := range uint32(stripes) {
		s := &r.caches[(first+i)%stripes]
		if s.lock.CompareAndSwap(0, 1) {
			s.cache.Put(r, rec)
			s.lock.Store(0)
			return
		}
	}
	r.endName(rec)
	one := [1]*Record{rec}
	r.giveRecords(one[:])
}

// GetRecord is [RecordCache.Get] for goroutines that own no cache.
func (r *Recorder) GetRecord() *Record { return Anywhere.GetRecord(r) }

// PutRecord is [RecordCache.Put] for goroutines that own no cache.
func (r *Recorder) PutRecord(rec *Record) { Anywhere.PutRecord(r, rec) }

// EmitMore is [Recorder.Emit] as [Ring.EmitMore] is [Ring.Emit].
func (r *Recorder) EmitMore(t Ticks, k Kind, code Reason, stack StackID, thread ThreadID, arg uint64, more ...uint64) {
	Anywhere.EmitMore(r, t, k, code, stack, thread, arg, more...)
}

// stripeHint returns a number that tends to differ between goroutines and to stay the same in one:
// made of the address of its stack.
func stripeHint() uint32 {
	var here byte
	return uint32(uint64(uintptr(unsafe.Pointer(&here))>>11) * 0x9e3779b97f4a7c15 >> 56)
}
