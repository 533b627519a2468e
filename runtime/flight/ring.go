package flight

import (
	"math/bits"
	"sync"
	"sync/atomic"
	"unsafe"
)

// A Ring holds its owner's newest events. Readers in other processes read it at any time.
//
//	R1  events[pos%size] for pos in (head-size, head) are the newest; the slot of head-size may be
//	    half overwritten.
//	R2  Only the owner writes; it fills a slot, then stores head.
//	R3  A reader copies, then loads head again: only pos > head-size is valid; the rest is lost,
//	    and counted.
//	R4  The owner never waits and never allocates.
//
// A nil Ring swallows events.
type Ring struct {
	events  unsafe.Pointer
	hdr     *ringHeader
	mask    uint64
	pos     uint64 // the owner's copy of head: what decides lives in Go memory
	carrier uint64 // CarrierID<<16
	size    int
	rec     *Recorder
	lock    atomic.Uint32 // of a striped ring: 1 while somebody writes
	pending pending
	limits  [KindCount]limiter
	_       [64]byte // keeps rings of different carriers off one cache line
}

// Emit appends an event; only the ring's owner may call it. A kind without code, stack, thread or
// argument has 0 there; [Kinds] tells what they mean. It never waits and never allocates.
func (g *Ring) Emit(t Ticks, k Kind, code Reason, stack StackID, thread ThreadID, arg uint64) {
	if g != nil {
		g.emit(g.carrier, t, k, code, g.rec.cutStack(k, stack), thread, arg)
	}
}

func (g *Ring) emit(carrier uint64, t Ticks, k Kind, code Reason, stack StackID, thread ThreadID, arg uint64) {
	if MoreSlots(k, code) > 0 {
		g.emitMore(carrier, t, k, code, stack, thread, arg, nil)
		return
	}
	if !g.counted(t, k, code) {
		return
	}
	pos := g.pos
	g.fill(pos, uint64(t), uint64(k)|uint64(code)<<8|carrier|uint64(stack)<<32, uint64(thread), arg)
	g.pos = pos + 1
	g.publish(pos + 1)
}

// counted counts an event, and reports whether it is recorded.
func (g *Ring) counted(t Ticks, k Kind, code Reason) bool {
	n := &g.hdr.Counts[k]
	put64(n, *n+1)
	if k == EventPark {
		g.countPark(code)
	}
	return g.rec.gate.all.Load()>>k&1 != 0 || g.chosen(t, k, *n)
}

func (g *Ring) countPark(why Reason) {
	n := &g.hdr.Parks[why%reasonSlots]
	put64(n, *n+1)
}

// EmitMore is [Ring.Emit] of a kind whose events have more words than one slot holds: see [KindInfo]. Missing words are 0.
func (g *Ring) EmitMore(t Ticks, k Kind, code Reason, stack StackID, thread ThreadID, arg uint64, more ...uint64) {
	if g != nil {
		g.emitMore(g.carrier, t, k, code, g.rec.cutStack(k, stack), thread, arg, more)
	}
}

// MoreSlots returns how many slots follow that of an event: for those of the program's own kinds their code tells.
func MoreSlots(k Kind, code Reason) int {
	switch {
	case k == EventMark || k == EventSpanBegin || k == EventSpanEnd:
		return min(int(code), maxMoreSlots)
	case k < KindCount:
		return Kinds[k].More
	}
	return 0
}

// maxMoreSlots bounds the words of an event.
const maxMoreSlots = 8

// emitMore writes an event and the slots after it. Readers hold back an event whose slots are not all there.
func (g *Ring) emitMore(carrier uint64, t Ticks, k Kind, code Reason, stack StackID, thread ThreadID, arg uint64, more []uint64) {
	if !g.counted(t, k, code) {
		return
	}
	pos := g.pos
	g.fill(pos, uint64(t), uint64(k)|uint64(code)<<8|carrier|uint64(stack)<<32, uint64(thread), arg)
	pos++
	g.publish(pos) // R1: no more than one slot is half written
	for left := MoreSlots(k, code); left > 0; left-- {
		var words [wordsPerSlot]uint64
		more = more[copy(words[:], more):]
		g.fill(pos, words[0], uint64(EventMore)|uint64(left)<<8|carrier, words[1], words[2])
		pos++
		g.publish(pos)
	}
	g.pos = pos
}

const (
	minRing = 16
	maxRing = 1 << 20

	// Small rings share a segment: the directory has room for some 1,900 segments only.
	ringBatchBytes = 128 << 10
)

// A ringPool keeps the rings that have no owner.
type ringPool struct {
	mu struct {
		sync.Mutex
		free map[int][]*Ring // by size
	}
}

// AcquireRing returns a ring for carrier c of scheduler s with room for the given number of events, rounded up to
// a power of two from 16 to 1,048,576. The caller is its owner until [Ring.Release]. Where space is
// short the ring is smaller, or not in the file at all: that is counted.
func (r *Recorder) AcquireRing(c CarrierID, s SchedulerID, events int) *Ring {
	if r == nil {
		return nil
	}
	size := ringSize(events)
	p := &r.rings
	p.mu.Lock()
	defer p.mu.Unlock()
	g := p.takeLocked(r, size)
	g.setOwner(c, RingOfCarrier, CarrierIdle)
	put32(&g.hdr.Scheduler, uint32(s))
	if g.hdr.Hold.Thread != 0 {
		g.Unhold() // of the carrier before
	}
	return g
}

func ringSize(events int) int {
	events = min(max(events, minRing), maxRing)
	return 1 << bits.Len(uint(events-1))
}

func (p *ringPool) takeLocked(r *Recorder, size int) *Ring {
	if p.mu.free == nil {
		p.mu.free = make(map[int][]*Ring)
	}
	for n := size; ; n /= 2 {
		if g := p.popLocked(n); g != nil {
			return g
		}
		count := max(1, ringBatchBytes/(ringHeaderSize+n*eventSize))
		rings, err := r.addRings(count, n)
		if err == nil {
			p.mu.free[n] = rings
			return p.popLocked(n)
		}
		if n == minRing {
			r.warnOnce("a carrier's events are not recorded", err)
			break
		}
		r.warnOnce("smaller rings", err)
	}
	r.lose(lostRings)
	return newRing(r, new(hiddenRing))
}

func (p *ringPool) popLocked(size int) *Ring {
	free := p.mu.free[size]
	if len(free) == 0 {
		return nil
	}
	g := free[len(free)-1]
	p.mu.free[size] = free[:len(free)-1]
	return g
}

// A hiddenRing is a ring outside the file.
type hiddenRing struct {
	header ringHeader
	events [minRing]event
}

func newRing(r *Recorder, h *hiddenRing) *Ring {
	h.header.Size = minRing
	return &Ring{events: unsafe.Pointer(&h.events), hdr: &h.header, mask: minRing - 1, size: minRing, rec: r}
}

// addRings reserves a segment of count rings.
func (r *Recorder) addRings(count, size int) ([]*Ring, error) {
	stride := ringHeaderSize + size*eventSize
	base, err := r.addSegment(segmentRing, count*stride, stride, count, func(base unsafe.Pointer) {
		for i := range count {
			(*ringHeader)(unsafe.Add(base, i*stride)).Size = uint32(size)
		}
	})
	if err != nil {
		return nil, err
	}
	rings := make([]*Ring, count)
	for i := range rings {
		at := unsafe.Add(base, i*stride)
		rings[i] = &Ring{events: unsafe.Add(at, ringHeaderSize), hdr: (*ringHeader)(at), mask: uint64(size - 1), size: size, rec: r}
	}
	return rings, nil
}

func (g *Ring) setOwner(c CarrierID, o RingOwner, s CarrierState) {
	g.carrier = uint64(c) << 16
	g.storeOwner(uint32(c) | uint32(s)<<16 | uint32(o)<<24)
}

func (g *Ring) storeOwner(w uint32) { atomic.StoreUint32(&g.hdr.Owner, w) }

// SetCarrier records what the ring's carrier is doing. Only the owner may call it.
func (g *Ring) SetCarrier(state CarrierState) {
	if g == nil {
		return
	}
	put32(&g.hdr.Owner, g.hdr.Owner&0xff00ffff|uint32(state)<<16)
	if state == CarrierIdle || state == CarrierFree {
		g.pending.flush(g.rec)
	}
}

// Release gives the ring up; the caller must not use it again. Its events stay readable until
// another owner overwrites them.
func (g *Ring) Release() {
	if g == nil {
		return
	}
	g.SetCarrier(CarrierFree)
	p := &g.rec.rings
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.mu.free == nil {
		p.mu.free = make(map[int][]*Ring)
	}
	p.mu.free[g.size] = append(p.mu.free[g.size], g)
}

// A ringStripe is a ring that goroutines share.
type ringStripe struct {
	ring *Ring
	lock *atomic.Uint32 // of the ring: stripes share rings where space is short
	_    [48]byte
}

// Emit appends an event for a goroutine that owns no ring. It may be called from anywhere, does not
// wait and does not allocate: if all shared rings are busy it drops the event and counts that.
func (r *Recorder) Emit(t Ticks, k Kind, code Reason, stack StackID, thread ThreadID, arg uint64) {
	r.EmitOn(NoCarrier, t, k, code, stack, thread, arg)
}

// EmitOn is [Recorder.Emit] of what somebody else has seen to happen on carrier c.
func (r *Recorder) EmitOn(c CarrierID, t Ticks, k Kind, code Reason, stack StackID, thread ThreadID, arg uint64) {
	r.emitShared(Anywhere, c, t, k, code, stack, thread, arg)
}

func (r *Recorder) emitShared(at Home, c CarrierID, t Ticks, k Kind, code Reason, stack StackID, thread ThreadID, arg uint64) {
	if s := r.lockStripe(at, k); s != nil {
		s.ring.emit(uint64(c)<<16, t, k, code, r.cutStack(k, stack), thread, arg)
		s.lock.Store(0)
	}
}

// lockStripe returns a shared ring for an event of kind k, which the caller unlocks. Without a free one it returns nil, and counts the loss.
func (r *Recorder) lockStripe(at Home, k Kind) *ringStripe {
	if r == nil {
		return nil
	}
	first := at.first()
	for i := range uint32(stripes) {
		if s := &r.stripes[(first+i)%stripes]; s.lock.CompareAndSwap(0, 1) {
			return s
		}
	}
	r.lose(lostEvents)
	atomic.AddUint64(r.header.lostKind(k), 1)
	return nil
}
