package roster

import (
	"encoding/binary"
	"time"

	"github.com/vtscope/vtscope/runtime/flight"
)

// A pack holds threads in about ten bytes each, in blocks in which each tells how it differs from the one before.
//
//	P1  All blocks but the last have blockThreads threads. The last is open; what is in arenas never changes.
//	P2  A block is read from its begin: its first thread differs from the zero Thread.
//	P3  There are no pointers but those to arenas: the garbage collector has nothing to follow.
type pack struct {
	arenas [][]byte
	blocks []place
	open   []byte // the last block
	last   Thread // the last thread of open
	count  int
}

// A place is where a block is.
type place struct{ arena, from, to uint32 }

const (
	blockThreads = 64
	arenaSize    = 1 << 20
)

// What the first byte of a thread says.
const (
	packState = 1 << iota // state, reason and flags follow: they differ
	packName              // a name follows
	packMore              // what few dumps know follows: it differs
	packLimited
)

// add appends a thread.
func (p *pack) add(t *Thread) {
	if p.count > 0 && p.count%blockThreads == 0 {
		p.close()
	}
	b, last := p.open, &p.last
	head := byte(0)
	if t.State != last.State || t.Reason != last.Reason || t.Flags != last.Flags {
		head |= packState
	}
	if t.Name != "" {
		head |= packName
	}
	if t.More != last.More {
		head |= packMore
	}
	if t.Limited {
		head |= packLimited
	}
	b = append(b, head)
	b = appendChange(b, uint64(last.ID), uint64(t.ID))
	b = appendChange(b, uint64(last.Wait), uint64(t.Wait))
	b = appendChange(b, uint64(last.Stack), uint64(t.Stack))
	b = appendChange(b, uint64(last.Scope), uint64(t.Scope))
	b = appendChange(b, uint64(last.Creator), uint64(t.Creator))
	if head&packState != 0 {
		b = append(b, byte(t.State), byte(t.Reason))
		b = binary.AppendUvarint(b, uint64(t.Flags))
	}
	if head&packMore != 0 {
		b = appendChange(b, uint64(last.Blocker), uint64(t.Blocker))
		b = appendChange(b, uint64(last.Waker), uint64(t.Waker))
		b = binary.AppendUvarint(b, uint64(t.Mounts))
		b = binary.AppendUvarint(b, uint64(t.Pins))
		b = binary.AppendUvarint(b, uint64(t.Carrier))
		b = binary.AppendUvarint(b, uint64(t.Scheduler))
	}
	if head&packName != 0 {
		same := 0
		for same < len(t.Name) && same < len(last.Name) && t.Name[same] == last.Name[same] {
			same++
		}
		b = binary.AppendUvarint(b, uint64(same))
		b = binary.AppendUvarint(b, uint64(len(t.Name)-same))
		b = append(b, t.Name[same:]...)
	}
	p.open, p.last = b, *t
	p.last.Name = string([]byte(t.Name)) // what it is a part of must not stay
	p.count++
}

// close puts the open block where it stays.
func (p *pack) close() {
	at := len(p.arenas) - 1
	if at < 0 || cap(p.arenas[at])-len(p.arenas[at]) < len(p.open) {
		p.arenas = append(p.arenas, make([]byte, 0, max(arenaSize, len(p.open))))
		at++
	}
	a := &p.arenas[at]
	from := len(*a)
	*a = append(*a, p.open...)
	p.blocks = append(p.blocks, place{uint32(at), uint32(from), uint32(len(*a))})
	p.open, p.last = p.open[:0], Thread{}
}

// block returns the threads of a block, in to, which may have names only if they are wanted.
func (p *pack) block(i int, to []Thread, names bool) []Thread {
	b, n := p.open, p.count-i*blockThreads
	if i < len(p.blocks) {
		at := p.blocks[i]
		b, n = p.arenas[at.arena][at.from:at.to], blockThreads
	}
	to = to[:0]
	var t Thread
	var name []byte
	d := unpacker{b}
	for range n {
		head := d.byte()
		t.ID = flight.ThreadID(d.change(uint64(t.ID)))
		t.Wait = time.Duration(d.change(uint64(t.Wait)))
		t.Stack = flight.StackID(d.change(uint64(t.Stack)))
		t.Scope = flight.ScopeIndex(d.change(uint64(t.Scope)))
		t.Creator = flight.ThreadID(d.change(uint64(t.Creator)))
		if head&packState != 0 {
			t.State, t.Reason = flight.State(d.byte()), flight.Reason(d.byte())
			t.Flags = flight.RecordFlags(d.uvarint())
		}
		if head&packMore != 0 {
			t.Blocker = flight.Blocker(d.change(uint64(t.Blocker)))
			t.Waker = flight.ThreadID(d.change(uint64(t.Waker)))
			t.Mounts, t.Pins = uint32(d.uvarint()), uint32(d.uvarint())
			t.Carrier = flight.CarrierID(d.uvarint())
			t.Scheduler = flight.SchedulerID(d.uvarint())
		}
		t.Limited = head&packLimited != 0
		t.Name = ""
		if head&packName != 0 {
			same, more := int(d.uvarint()), int(d.uvarint())
			name = append(name[:same], d.b[:more]...)
			d.b = d.b[more:]
			t.Name = named
			if names {
				t.Name = string(name)
			}
		} else {
			name = name[:0]
		}
		to = append(to, t)
	}
	return to
}

// named stands for a name that is not wanted.
const named = "?"

// appendChange writes by how much a number differs from another.
func appendChange(b []byte, from, to uint64) []byte {
	return binary.AppendVarint(b, int64(to-from)) // wraps, as change does
}

// An unpacker reads what a pack has written itself.
type unpacker struct{ b []byte }

func (d *unpacker) byte() byte {
	c := d.b[0]
	d.b = d.b[1:]
	return c
}

func (d *unpacker) uvarint() uint64 {
	v, n := binary.Uvarint(d.b)
	d.b = d.b[n:]
	return v
}

func (d *unpacker) change(from uint64) uint64 {
	v, n := binary.Varint(d.b)
	d.b = d.b[n:]
	return from + uint64(v)
}
