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
	_       [68]byte      // keeps rings of different carriers off one cache line
}

// Emit appends an event; only the ring's owner may call it. A kind without code, stack, thread or
// argument has 0 there; [Kinds] tells what they mean. It never waits and never allocates.
func (g *Ring) Emit(t Ticks, k Kind, code Reason, stack StackID, thread ThreadID, arg uint64) {
	if g != nil {
		g.emit(g.carrier, t, k, code, stack, thread, arg)
	}
}

func (g *Ring) emit(carrier uint64, t Ticks, k Kind, code Reason, stack StackID, thread ThreadID, arg uint64) {
	pos := g.pos
	e := (*event)(unsafe.Add(g.events, (pos&g.mask)*eventSize))
	put64(&e.Time, uint64(t))
	put64(&e.Word, uint64(k)|uint64(code)<<8|carrier|uint64(stack)<<32)
	put64(&e.Thread, uint64(thread))
	put64(&e.Arg, arg)
	h := g.hdr
	n := &h.Counts[k%kindSlots]
	put64(n, *n+1)
	g.pos = pos + 1
	put64(&h.Head, pos+1)
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
	if r == nil {
		return
	}
	first := stripeHint()
	for i := range uint32(stripes) {
		s := &r.stripes[(first+i)%stripes]
		if s.lock.CompareAndSwap(0, 1) {
			s.ring.emit(uint64(c)<<16, t, k, code, stack, thread, arg)
			s.lock.Store(0)
			return
		}
	}
	r.lose(lostEvents)
	atomic.AddUint64(&r.header.LostKinds[k%kindSlots], 1)
}
