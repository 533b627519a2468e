package jfr

import (
	"strconv"
	"time"

	"github.com/vtscope/vtscope/recording"
	"github.com/vtscope/vtscope/runtime/flight"
)

// Readers tell threads apart by osThreadId, those of the JDK by javaThreadId: both are unique.
const (
	osThread  = 1e12 // and the thread's id
	osCarrier = 2e12 // and the carrier's
	osOther   = 3e12 // and a number of ours
)

// threads are the constants that stand for threads and carriers.
//
//	H1  A key is one thread under one name; a thread may have several. None is used twice.
//	H2  A thread that lives has its key at its [recording.Thread.Slot]; one that is gone, or was never seen, has one for the chunk.
type threads struct {
	blank    bool // names stay as they are
	next     uint32
	slots    []slot
	gone     map[flight.ThreadID]uint32
	carriers []carrier
	others   map[string]uint32 // positions in named
	named    []other
	marked   []thread // of the chunk
	seen     uint64   // threads that were given their first key while they lived
}

// A slot is a thread that lives.
type slot struct {
	id    flight.ThreadID
	key   uint32
	first uint32 // the chunk that had the key first
	chunk uint32 // the last one that has it
	at    int    // where in marked it is then
}

// A carrier is one, with what it last mounted.
type carrier struct {
	key     uint32
	chunk   uint32 // the last chunk that has the constant
	mounted flight.ThreadID
	since   time.Duration
	ended   thread // the last one that ended on it: an unmount follows the end
	endedIn uint32 // the last chunk that has its constant
}

// other is who else has events: samples of a profile know names alone.
type other struct {
	key, chunk uint32
	name       string
}

// A thread is a constant.
type thread struct {
	key  uint32
	kind threadKind
	id   uint64
	name string
}

type threadKind uint8

const (
	virtualThread threadKind = iota
	goroutineThread
	carrierThread
	otherThread
)

func newThreads(blank bool) *threads {
	return &threads{blank: blank, gone: map[flight.ThreadID]uint32{}, others: map[string]uint32{}}
}

func (t *threads) mark(th thread) uint32 {
	t.marked = append(t.marked, th)
	return th.key
}

func (t *threads) fresh() uint32 { t.next++; return t.next }

// live returns the key of a thread that lives, or has ended just now.
func (t *threads) live(th *recording.Thread, chunk uint32) uint32 {
	if th.Slot >= len(t.slots) {
		t.slots = append(t.slots, make([]slot, max(th.Slot+1-len(t.slots), len(t.slots)))...)
	}
	s := &t.slots[th.Slot]
	if s.id != th.ID {
		*s = slot{id: th.ID, key: t.fresh(), first: chunk}
		t.seen++
	}
	if s.chunk != chunk {
		s.chunk, s.at = chunk, len(t.marked)
		t.mark(thread{key: s.key, kind: kindOf(th.Flags), id: uint64(th.ID), name: t.name(th)})
	}
	return s.key
}

func kindOf(f flight.RecordFlags) threadKind {
	if f&(flight.RecordOnGoroutine|flight.RecordOnOSThread|flight.RecordAdopted) != 0 {
		return goroutineThread
	}
	return virtualThread
}

func (t *threads) name(th *recording.Thread) string {
	if th.Name == "" && !t.blank {
		return unnamed(th.ID)
	}
	return th.Name
}

// unnamed is what a thread without a name is called, since readers show nothing else of it.
func unnamed(id flight.ThreadID) string { return "virtual-" + strconv.FormatUint(uint64(id), 10) }

// renamed takes note of a thread's name: H1.
func (t *threads) renamed(th *recording.Thread, chunk uint32) {
	if th.Slot >= len(t.slots) || t.slots[th.Slot].id != th.ID {
		return
	}
	s := &t.slots[th.Slot]
	if s.first == chunk {
		t.marked[s.at].name = t.name(th)
		return
	}
	s.key, s.first, s.chunk = t.fresh(), chunk, 0
}

// absent returns the key of a thread that the tracker does not know.
func (t *threads) absent(id flight.ThreadID) uint32 {
	if key, ok := t.gone[id]; ok || id == 0 {
		return key
	}
	name := ""
	if !t.blank {
		name = unnamed(id)
	}
	return t.absentNamed(id, name)
}

// absentNamed returns the key of a thread that the tracker does not know, under a name: it may be told before the thread starts.
func (t *threads) absentNamed(id flight.ThreadID, name string) uint32 {
	key := t.mark(thread{key: t.fresh(), id: uint64(id), name: name})
	t.gone[id] = key
	return key
}

// end takes note that a thread ended on a carrier.
func (c *carrier) end(t *threads, th *recording.Thread, chunk uint32) {
	t.live(th, chunk)
	c.ended, c.endedIn = t.marked[t.slots[th.Slot].at], chunk
}

// last returns the key of a thread that ended on the carrier, 0 if that was another one.
func (c *carrier) last(t *threads, id flight.ThreadID, chunk uint32) uint32 {
	if c.ended.key == 0 || c.ended.id != uint64(id) {
		return 0
	}
	if c.endedIn != chunk {
		c.endedIn = chunk
		t.mark(c.ended)
	}
	return c.ended.key
}

// carrier returns a carrier, whose key is in the chunk.
func (t *threads) carrier(id flight.CarrierID, chunk uint32) *carrier {
	if int(id) >= len(t.carriers) {
		t.carriers = append(t.carriers, make([]carrier, int(id)+1-len(t.carriers))...)
	}
	c := &t.carriers[id]
	if c.key == 0 {
		c.key = t.fresh()
	}
	if c.chunk != chunk {
		c.chunk = chunk
		t.mark(thread{key: c.key, kind: carrierThread, id: uint64(id), name: "carrier-" + strconv.Itoa(int(id))})
	}
	return c
}

// other returns the key of somebody who has a name and nothing else.
func (t *threads) other(name string, chunk uint32) uint32 {
	i, ok := t.others[name]
	if !ok {
		i = uint32(len(t.named))
		t.others[name] = i
		t.named = append(t.named, other{key: t.fresh(), name: name})
	}
	o := &t.named[i]
	if o.chunk != chunk {
		o.chunk = chunk
		t.mark(thread{key: o.key, kind: otherThread, id: uint64(i), name: name})
	}
	return o.key
}

// append appends the constants of the chunk, and forgets that they are of it.
func (t *threads) append(b []byte, id int, p *pools) ([]byte, bool) {
	if len(t.marked) == 0 {
		return b, false
	}
	b = appendVarint(b, uint64(id))
	b = appendVarint(b, uint64(len(t.marked)))
	for i := range t.marked {
		b = t.marked[i].append(b, p)
	}
	t.marked = t.marked[:0]
	clear(t.gone)
	return b, true
}

// groups marks the groups of the chunk's threads.
func (t *threads) groups(p *pools) {
	for i := range t.marked {
		p.groups.mark(t.marked[i].group(p), p.present)
	}
}

func (th *thread) group(p *pools) uint32 {
	switch th.kind {
	case virtualThread:
		return p.virtual
	case carrierThread:
		return p.carriers
	}
	return p.goroutines
}

func (th *thread) append(b []byte, p *pools) []byte {
	osName, osID, javaID := th.name, osThread+th.id, th.id
	switch th.kind {
	case virtualThread:
		osName = ""
	case carrierThread:
		osID = osCarrier + th.id
		javaID = osID
	case otherThread:
		osID = osOther + th.id
		javaID = osID
	}
	b = appendVarint(b, uint64(th.key))
	b = appendNullable(b, osName)
	b = appendVarint(b, osID)
	b = appendString(b, th.name)
	b = appendVarint(b, javaID)
	b = appendVarint(b, uint64(th.group(p)))
	return appendBool(b, th.kind == virtualThread)
}
