package flight

import (
	"encoding/binary"
	"net/netip"
	"sync"
	"unsafe"
)

// HoldersKept is how many holders a [BlockerRecord] names; of more it knows the number.
const HoldersKept = 8

const (
	maxBlockerSegments = 64
	maxWaitSegments    = 64
)

// A recordPool hands out records of one size, and takes them back.
type recordPool struct {
	mu struct {
		sync.Mutex
		free     []unsafe.Pointer
		segments int
	}
}

// A poolKind is what a recordPool holds.
type poolKind struct {
	segment           segmentKind
	size, stride, max int // bytes of a segment and of a record; segments
	lost              int // counter of those that find no room
	what              string
}

var (
	blockerKind = poolKind{segmentBlocker, blockerSegmentSize, blockerSize, maxBlockerSegments, lostBlockers, "what threads wait for is not described any more"}
	waitKind    = poolKind{segmentWait, waitSegmentSize, waitSize, maxWaitSegments, lostWaits, "waits of goroutines are not recorded any more"}
)

// take returns a free record, or nil and counts the loss.
func (p *recordPool) take(r *Recorder, k *poolKind) unsafe.Pointer {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.mu.free) == 0 && !p.growLocked(r, k) {
		r.lose(k.lost)
		return nil
	}
	last := len(p.mu.free) - 1
	rec := p.mu.free[last]
	p.mu.free = p.mu.free[:last]
	return rec
}

func (p *recordPool) put(rec unsafe.Pointer) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mu.free = append(p.mu.free, rec)
}

func (p *recordPool) growLocked(r *Recorder, k *poolKind) bool {
	if p.mu.segments == k.max {
		return false
	}
	n := k.size / k.stride
	base, err := r.addSegment(k.segment, k.size, k.stride, n, nil)
	if err != nil {
		r.warnOnce(k.what, err)
		return false
	}
	p.mu.segments++
	for i := n - 1; i >= 0; i-- { // the first is taken first
		p.mu.free = append(p.mu.free, unsafe.Add(base, i*k.stride))
	}
	return true
}

// A BlockerRecord is where a synchronizer tells what it is and who holds it, while somebody waits for it. One at a time may write it: whoever
// has the lock of the synchronizer's queue. A nil one swallows everything. No method waits or allocates.
type BlockerRecord blockerRecord

// A BlockerSpec is what does not change of a blocker.
type BlockerSpec struct {
	Blocker  Blocker // as the records of who waits have it, see [BlockAt]
	Name     string  // given by the user
	Made     StackID // where it was created; 0: not known
	Capacity uint64  // permits of a semaphore, places of a queue, parties of a barrier, count of a latch; 0: it has no such number
	// Of a socket its addresses, and of what pollers watch their numbers, for reading and for writing; from 1 on, 0: none.
	Local, Remote netip.AddrPort
	Pollers       [2]uint16
}

// A Holder is somebody who holds a blocker: has locked it, has permits of it, executes what is done once, or will complete it.
type Holder struct {
	Party Party
	Since Ticks // 0: not known
}

// OpenBlocker returns a record for a blocker that somebody waits for from now on; call it when the first begins to wait, never where nobody has
// to. Nobody is known to hold it yet. Without room it returns nil and counts the loss. It takes a lock; with a name it also looks that up.
func (r *Recorder) OpenBlocker(s BlockerSpec, t Ticks) *BlockerRecord {
	if r == nil {
		return nil
	}
	name := r.Intern(s.Name)
	rec := (*blockerRecord)(r.blockers.take(r, &blockerKind))
	if rec == nil {
		return nil
	}
	v := beginWrite(&rec.Ver)
	put64(&rec.Blocker, uint64(s.Blocker))
	put64(&rec.Since, uint64(t))
	put32(&rec.Name, uint32(name))
	put32(&rec.Made, uint32(s.Made))
	put64(&rec.Capacity, s.Capacity)
	put64(&rec.Available, 0)
	put32(&rec.Held, 0)
	put32(&rec.Waiters, 0)
	putAddr(&rec.Local, s.Local)
	putAddr(&rec.Remote, s.Remote)
	put32(&rec.Ports, uint32(s.Local.Port())|uint32(s.Remote.Port())<<16)
	put32(&rec.Pollers, uint32(s.Pollers[0])|uint32(s.Pollers[1])<<16)
	endWrite(&rec.Ver, v)
	return (*BlockerRecord)(rec)
}

// putAddr writes an address; all zero is none.
func putAddr(to *[16]byte, a netip.AddrPort) {
	var b [16]byte
	if a.IsValid() {
		b = a.Addr().As16()
	}
	put64((*uint64)(unsafe.Pointer(&to[0])), binary.NativeEndian.Uint64(b[:8]))
	put64((*uint64)(unsafe.Pointer(&to[8])), binary.NativeEndian.Uint64(b[8:]))
}

// CloseBlocker frees the record of a blocker that nobody waits for any more. rec must not be used afterwards.
func (r *Recorder) CloseBlocker(rec *BlockerRecord) {
	if r == nil || rec == nil {
		return
	}
	v := beginWrite(&rec.Ver)
	put64(&rec.Blocker, 0)
	endWrite(&rec.Ver, v)
	r.blockers.put(unsafe.Pointer(rec))
}

// HeldBy notes the only holder, since t. Party 0 is one who is not known.
func (rec *BlockerRecord) HeldBy(p Party, t Ticks) {
	if rec == nil {
		return
	}
	v := beginWrite(&rec.Ver)
	put32(&rec.Held, 1)
	put64(&rec.Holders[0].Party, uint64(p))
	put64(&rec.Holders[0].Since, uint64(t))
	endWrite(&rec.Ver, v)
	if watchesCircles {
		noteWait(Blocker(rec.Blocker))
	}
}

// SetHolders notes how many hold the blocker, and some of them; those beyond [HoldersKept] are left out. total is at least len(some).
func (rec *BlockerRecord) SetHolders(total int, some ...Holder) {
	if rec == nil {
		return
	}
	v := beginWrite(&rec.Ver)
	put32(&rec.Held, uint32(total))
	for i := range rec.Holders {
		var h Holder
		if i < len(some) {
			h = some[i]
		}
		put64(&rec.Holders[i].Party, uint64(h.Party))
		put64(&rec.Holders[i].Since, uint64(h.Since))
	}
	endWrite(&rec.Ver, v)
	if watchesCircles {
		noteWait(Blocker(rec.Blocker))
	}
}

// Count notes how many permits, elements or missing arrivals there are, and how many wait.
func (rec *BlockerRecord) Count(available int64, waiters int) {
	if rec == nil {
		return
	}
	v := beginWrite(&rec.Ver)
	put64(&rec.Available, uint64(available))
	put32(&rec.Waiters, uint32(waiters))
	endWrite(&rec.Ver, v)
}

// A WaitRecord tells that a goroutine that is no thread waits. A nil one is none.
type WaitRecord waitRecord

// A WaitSpec is what a goroutine waits for, as a thread's record has it.
type WaitSpec struct {
	Party   Party // of a goroutine
	State   State
	Reason  Reason
	Stack   StackID
	Blocker Blocker
	Until   Ticks // 0: without a limit
}

// OpenWait records that a goroutine waits from now on. Without room it returns nil and counts the loss. It takes a lock.
func (r *Recorder) OpenWait(s WaitSpec, t Ticks) *WaitRecord {
	if r == nil {
		return nil
	}
	rec := (*waitRecord)(r.waits.take(r, &waitKind))
	if rec == nil {
		return nil
	}
	v := beginWrite(&rec.Ver)
	put32(&rec.Word, uint32(s.State)|uint32(s.Reason)<<8)
	put64(&rec.Party, uint64(s.Party))
	put64(&rec.Blocker, uint64(s.Blocker))
	put64(&rec.Since, uint64(t))
	put64(&rec.Until, uint64(s.Until))
	put32(&rec.Stack, uint32(s.Stack))
	endWrite(&rec.Ver, v)
	if watchesCircles && s.Until == 0 {
		noteWait(s.Blocker)
	}
	return (*WaitRecord)(rec)
}

// CloseWait frees the record of a goroutine that waits no more. rec must not be used afterwards.
func (r *Recorder) CloseWait(rec *WaitRecord) {
	if r == nil || rec == nil {
		return
	}
	v := beginWrite(&rec.Ver)
	put64(&rec.Party, 0)
	endWrite(&rec.Ver, v)
	r.waits.put(unsafe.Pointer(rec))
}
