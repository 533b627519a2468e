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
	lookBlock  = 512 // threads of a block; more of them change while a larger one is looked at
	lookRounds = 4   // without a pause
	slowRounds = 7   // with one, from slowStart on, twice as long each time: for a thread that lost its processor on its way
	slowStart  = 50 * time.Microsecond
	slowBlocks = 32 // of one reading
)

// A Look is a thread and what somebody sees who looks at more than its record.
type Look struct {
	Row ThreadRow
	G   uint64 // address of the runtime.g of the goroutine it runs on, 0 unknown

	// Stack and Seen are for who looks: what it saw. If Seen is false it was disturbed, and will look again.
	Stack StackID
	Seen  bool

	hot    [recordSize]byte
	offset uint64
}

// LookAtThreads is [Reader.Threads] for those who look at the goroutines of threads too, in the memory of the process. look gets a block of threads
// and says what it sees. That counts if a thread's record was the same before and after it; the others are read and looked at again, up to four
// times, and then with pauses. Then visit gets the block, with Seen set for those whose look counts. What is left has a good row, as Threads has it.
// The slices are reused after look and visit return.
func (r *Reader) LookAtThreads(ctx context.Context, look, visit func([]Look)) (torn int, err error) {
	segments, err := r.segmentsOf(segmentThread)
	if err != nil {
		return 0, err
	}
	l := looker{r: r, look: look, still: newPatience(), idle: sync.OnceValue(func() bool { return r.Status() != StatusRunning })}
	var missing []string
	for ordinal, s := range segments {
		if s.bad {
			continue
		}
		for at := 0; at < threadsPerSegment; at += lookBlock {
			if err := ctx.Err(); err != nil {
				return l.torn, err
			}
			if !l.block(s.offset+uint64(at*recordSize), uint32(ordinal*threadsPerSegment+at)) {
				missing = append(missing, fmt.Sprintf("thread segment %d is cut", ordinal))
				break
			}
			if len(l.seen) > 0 {
				visit(l.seen)
			}
		}
	}
	return l.torn, r.incomplete(missing...)
}

// A looker looks at one block of threads after the other.
type looker struct {
	r     *Reader
	look  func([]Look)
	torn  int
	still *patience
	slow  int // blocks that were looked at with pauses
	idle  func() bool

	pending []Look // to look at
	seen    []Look // of this block: good
	hot     [lookBlock * recordSize]byte
	cold    [lookBlock * recordSize]byte
}

// block looks at the threads at an offset, and is false if they cannot be read.
func (l *looker) block(offset uint64, index uint32) bool {
	l.pending, l.seen = l.pending[:0], l.seen[:0]
	if l.r.src.readAt(l.hot[:], offset) < len(l.hot) || l.r.src.readAt(l.cold[:], offset+coldOffset) < len(l.cold) {
		return false
	}
	for i := range lookBlock {
		at := i * recordSize
		k := Look{offset: offset + uint64(at), Row: ThreadRow{Index: index + uint32(i)}}
		if k.fill(l.hot[at:], l.cold[at:]) {
			l.pending = append(l.pending, k)
		}
	}
	for round := 0; len(l.pending) > 0 && round < lookRounds; round++ {
		if round > 0 {
			l.again()
		}
		l.look(l.pending)
		l.confirm(offset, round == 0)
	}
	if len(l.pending) > 0 && l.slow < slowBlocks && !l.idle() {
		l.slow++
		for pause := slowStart; len(l.pending) > 0 && pause < slowStart<<slowRounds; pause *= 2 {
			time.Sleep(pause)
			l.again()
			l.look(l.pending)
			l.confirm(offset, false)
		}
	}
	for i := range l.pending {
		l.settle(&l.pending[i])
	}
	return true
}

// fill takes a copy of a record, and is false if there is no thread.
func (k *Look) fill(hot, cold []byte) bool {
	k.hot = [recordSize]byte(hot)
	index := k.Row.Index
	decodeThread(&k.Row, &k.hot)
	k.Row.Index, k.Row.Torn = index, false
	k.G = 0
	if binary.LittleEndian.Uint64(cold) == uint64(k.Row.ID) {
		k.G = binary.LittleEndian.Uint64(cold[24:])
	}
	k.Stack, k.Seen = 0, false
	return k.Row.State != StateFree || k.hot[0]&1 != 0
}

// again reads the pending records anew.
func (l *looker) again() {
	var hot, cold [recordSize]byte
	kept := l.pending[:0]
	for _, k := range l.pending {
		if l.r.src.readAt(hot[:], k.offset) < len(hot) || l.r.src.readAt(cold[:], k.offset+coldOffset) < len(cold) || !k.fill(hot[:], cold[:]) {
			continue
		}
		kept = append(kept, k)
	}
	l.pending = kept
}

// confirm moves those that were seen, and whose records are whole and unchanged (V1), to seen.
func (l *looker) confirm(offset uint64, bulk bool) {
	if bulk && l.r.src.readAt(l.hot[:], offset) < len(l.hot) {
		return
	}
	kept := l.pending[:0]
	for _, k := range l.pending {
		now := l.hot[k.offset-offset:][:recordSize]
		if !bulk {
			l.r.src.readAt(now, k.offset)
		}
		if k.Seen && k.hot[0]&1 == 0 && k.Row.State < StateCount && bytes.Equal(now, k.hot[:]) {
			l.seen = append(l.seen, k)
		} else {
			kept = append(kept, k)
		}
	}
	l.pending = kept
}

// settle reads the record alone of a thread that would not hold still.
func (l *looker) settle(k *Look) {
	half := false
	if !l.r.copyStill(k.hot[:], k.offset, l.still) {
		if half = l.idle() && l.r.namesItsThread(&k.hot, k.offset); !half {
			l.torn++
			return
		}
	}
	if State(k.hot[4]) == StateFree {
		return
	}
	if State(k.hot[4]) >= StateCount {
		l.torn++
		return
	}
	index := k.Row.Index
	decodeThread(&k.Row, &k.hot)
	k.Row.Index, k.Row.Torn, k.Stack, k.Seen = index, half, 0, false
	l.seen = append(l.seen, *k)
}
