package flight

import (
	"sync"
	"sync/atomic"
	"unsafe"
)

// A stackTable interns stacks.
//
//	S1  A stack is known by a 64-bit hash of its program counters: two stacks of one hash would be
//	    taken for one. With a million distinct stacks that has a chance of about one in 2^25.
//	S2  Whoever meets a new stack reserves room by moving cursor, fills its record, marks it ready,
//	    and only then enters it in the index. Nobody waits for anybody.
//	S3  Two who meet the same new stack at once both write it; one wins the index, the other's
//	    record stays as a twin without an id in use.
//	S4  Records are written once. Their order is that of their positions, so the background
//	    goroutine meets all of them by walking, and stops at one that is not ready.
type stackTable struct {
	cursor   atomic.Uint64 // position of the next record
	segments [maxStackSegments]atomic.Pointer[byte]
	index    []uint64      // slots: upper half of the hash | id; 0 is empty
	known    atomic.Uint64 // slots in use
	grow     sync.Mutex
}

const (
	maxStackSegments = 64
	stackSlots       = 1 << 17
	maxKnownStacks   = stackSlots / 4 * 3
	stackProbes      = 64
)

func (t *stackTable) start(r *Recorder) func() error {
	return func() error {
		b, err := anonymous(stackSlots * 8)
		if err != nil {
			return err
		}
		t.index = unsafe.Slice((*uint64)(unsafe.Pointer(&b[0])), stackSlots)
		t.cursor.Store(tableHeaderSize / unitSize)
		return t.addSegment(r, 0)
	}
}

func (t *stackTable) addSegment(r *Recorder, i uint64) error {
	t.grow.Lock()
	defer t.grow.Unlock()
	if i >= maxStackSegments || t.segments[i].Load() != nil {
		return nil
	}
	base, err := r.addSegment(segmentStack, tableSegmentSize, 0, 0, startTable)
	if err != nil {
		return err
	}
	t.segments[i].Store((*byte)(base))
	return nil
}

// makeRoom reserves the next segment once half of the last one is used.
func (t *stackTable) makeRoom(r *Recorder) {
	at := t.cursor.Load()
	next := at/unitsPerSegment + 1
	if at%unitsPerSegment > unitsPerSegment/2 && next < maxStackSegments && t.segments[next].Load() == nil {
		if err := t.addSegment(r, next); err != nil {
			r.warnOnce("new stacks are not recorded any more", err)
		}
	}
}

// at returns the record at a position that this process handed out.
func (t *stackTable) at(id uint64) *stackRecord {
	return (*stackRecord)(unsafe.Add(unsafe.Pointer(t.segments[id/unitsPerSegment].Load()), id%unitsPerSegment*unitSize))
}

func (s *stackRecord) pcs() *[maxStackDepth]uint64 {
	return (*[maxStackDepth]uint64)(unsafe.Add(unsafe.Pointer(s), stackRecordSize))
}

// lookup returns the id of the stack with hash h, or 0.
func (t *stackTable) lookup(h uint64) StackID {
	for i := h; i < h+stackProbes; i++ {
		slot := atomic.LoadUint64(&t.index[i%stackSlots])
		if slot == 0 {
			break
		}
		if uint32(slot>>32) == uint32(h>>32) && t.at(uint64(uint32(slot))).Hash == h {
			return StackID(slot)
		}
	}
	return 0
}

// enter publishes a ready record and returns the id under which its stack is known from now on,
// or 0 if the index is full.
func (t *stackTable) enter(h uint64, id StackID) StackID {
	want := h>>32<<32 | uint64(id)
	for i := h; i < h+stackProbes; i++ {
		p := &t.index[i%stackSlots]
		if atomic.CompareAndSwapUint64(p, 0, want) {
			t.known.Add(1)
			return id
		}
		slot := atomic.LoadUint64(p)
		if uint32(slot>>32) == uint32(h>>32) && t.at(uint64(uint32(slot))).Hash == h {
			return StackID(slot)
		}
	}
	return 0
}

// reserve finds room for a record of n program counters, or returns 0.
func (r *Recorder) reserveStack(n int) StackID {
	t := &r.stacks
	need := uint64(stackRecordSize/unitSize + n)
	for t.known.Load() < maxKnownStacks {
		at := t.cursor.Load()
		if at%unitsPerSegment+need < unitsPerSegment { // not =: the cursor stays within a segment
			if t.cursor.CompareAndSwap(at, at+need) {
				return StackID(at)
			}
			continue
		}
		next := at/unitsPerSegment + 1
		if next == maxStackSegments {
			break
		}
		if t.segments[next].Load() == nil {
			if t.addSegment(r, next) != nil {
				break
			}
		}
		if t.cursor.CompareAndSwap(at, next*unitsPerSegment+tableHeaderSize/unitSize) {
			t.skipTail(at)
		}
	}
	r.lose(lostStacks)
	return 0
}

// skipTail marks the end of a segment's records, where there is room for a mark.
func (t *stackTable) skipTail(at uint64) {
	if at%unitsPerSegment+stackRecordSize/unitSize <= unitsPerSegment {
		s := t.at(at)
		put64(&s.Hash, 0)
		put64(&s.Word, stackReady)
	}
}

// publish completes the record of a stack whose program counters are written.
func (r *Recorder) publishStack(id StackID, h uint64, n int, flags, skip uint64) StackID {
	s := r.stacks.at(uint64(id))
	put64(&s.Hash, h)
	put64(&s.Word, uint64(n)|flags<<16|skip<<32|stackReady)
	known := r.stacks.enter(h, id)
	if known == 0 {
		r.lose(lostStacks)
	}
	r.poke()
	return known
}

// stackKeys are the factors of [hashPCs], from splitmix64 started at 0.
var stackKeys = makeStackKeys()

func makeStackKeys() (keys [maxStackDepth]uint64) {
	state := uint64(0)
	for i := range keys {
		state += 0x9e3779b97f4a7c15
		keys[i] = mix64(state)
	}
	return keys
}

func mix64(z uint64) uint64 {
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// finishHash makes the hash of a stack from the sum of its program counters, each multiplied by the
// key of its position. It is never 0. The keys have spread the sum already; one more multiplication
// brings its upper bits, which are the best, down to where the index looks.
func finishHash(sum uint64, n int, truncated bool, skip int) uint64 {
	extra := uint64(n) | uint64(skip)<<16
	if truncated {
		extra |= 1 << 32
	}
	h := sum + extra*0x9e3779b97f4a7c15
	h = (h ^ h>>32) * 0xd6e8feb86659fd93
	if h ^= h >> 32; h != 0 {
		return h
	}
	return 1
}

// hashPCs is the hash by which a stack is known: see finishHash.
func hashPCs(pcs []uint64, truncated bool, skip int) uint64 {
	sum := uint64(0)
	for i, pc := range pcs {
		sum += pc * stackKeys[i]
	}
	return finishHash(sum, len(pcs), truncated, skip)
}

// cutStack returns the stack that an event of kind k is recorded with: id, or as much of it as the settings want. Stacks of parks are
// taken as they are wanted.
func (r *Recorder) cutStack(k Kind, id StackID) StackID {
	if id == 0 || k == EventPark || !stackKinds[k] {
		return id
	}
	depth := int(r.gate.depths[k].Load())
	switch {
	case depth == 0:
		return 0
	case depth == maxStackDepth:
		return id
	}
	s := r.stacks.at(uint64(id))
	word := get64(&s.Word)
	n, skip := int(word&0xffff), int(word>>32&0xffff)
	if n <= depth+skip {
		return id
	}
	n = depth + skip
	pcs := s.pcs()[:n]
	h := hashPCs(pcs, true, skip)
	if known := r.stacks.lookup(h); known != 0 {
		return known
	}
	cut := r.reserveStack(n)
	if cut == 0 {
		return 0
	}
	copy(r.stacks.at(uint64(cut)).pcs()[:n], pcs)
	return r.publishStack(cut, h, n, stackTruncated, uint64(skip))
}

// stackKinds tells of which kinds of events the reference is a stack.
var stackKinds = func() (is [KindCount]bool) {
	for k := range Kinds {
		for _, f := range Kinds[k].Fields {
			is[k] = is[k] || f.Use == FieldStack && f.At == AtRef
		}
	}
	return is
}()
