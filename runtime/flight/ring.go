package flight

import "unsafe"

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
	rec     *Recorder
	hidden  bool // lies outside the file for want of room
	_       [64]byte
}

// Emit appends an event; only the ring's owner may call it. A kind without code, stack, thread or
// argument has 0 there; [Kinds] tells what they mean. It never waits and never allocates.
func (g *Ring) Emit(t Ticks, k Kind, code Reason, stack StackID, thread ThreadID, arg uint64) {
	if g == nil {
		return
	}
	pos := g.pos
	e := (*event)(unsafe.Add(g.events, (pos&g.mask)*eventSize))
	put64(&e.Time, uint64(t))
	put64(&e.Word, uint64(k)|uint64(code)<<8|g.carrier|uint64(stack)<<32)
	put64(&e.Thread, uint64(thread))
	put64(&e.Arg, arg)
	h := g.hdr
	n := &h.Counts[k%kindSlots]
	put64(n, *n+1)
	g.pos = pos + 1
	put64(&h.Head, pos+1)
}
