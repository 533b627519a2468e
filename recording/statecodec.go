package recording

import (
	"cmp"
	"encoding/binary"
	"slices"
	"time"

	"github.com/vtscope/vtscope/runtime/flight"
)

// The columns of a state.
const (
	columnIDs = iota
	columnLooks
	columnCreated
	columnSince
	columnScopes
	columnCreators
	columnStacks
	columnBlockers
	columnWakers
	columnMounts
	columnPins
	columnNames
	columnOpen    // scopes
	columnServing // carriers and schedulers

	stateColumns
)

// A look is what many threads of a state have in common.
type look struct {
	state      flight.State
	reason     flight.Reason
	carrier    flight.CarrierID
	scheduler  flight.SchedulerID
	flags      flight.RecordFlags
	limited    bool
	incomplete bool
}

// A known writes and reads numbers that come again: as the number of one that was written before, or of the next new one and then that.
type known struct {
	numbers map[uint64]uint64
	values  []uint64
}

func (k *known) write(cs columns, i int, v uint64) {
	n, ok := k.numbers[v]
	if !ok {
		if k.numbers == nil {
			k.numbers = map[uint64]uint64{}
		}
		n = uint64(len(k.numbers))
		k.numbers[v] = n
	}
	cs.uvarint(i, n)
	if !ok {
		cs.uvarint(i, v)
	}
}

func (k *known) read(c *cursor) uint64 {
	n := c.uvarint()
	switch {
	case n < uint64(len(k.values)):
		return k.values[n]
	case n == uint64(len(k.values)) && !c.bad:
		v := c.uvarint()
		k.values = append(k.values, v)
		return v
	}
	c.fail()
	return 0
}

// encodeState appends a state to b. It sorts its threads by id, so that equal states are equal bytes.
func encodeState(b []byte, s *State) []byte {
	slices.SortFunc(s.Threads, func(x, y Thread) int { return cmp.Compare(x.ID, y.ID) })
	out := make(columns, stateColumns)
	var scopes, creators, stacks, blockers, wakers known
	looks := map[look]uint64{}
	var before Thread
	b = binary.AppendVarint(b, int64(s.At))
	b = binary.AppendUvarint(b, uint64(len(s.Threads)))
	for i := range s.Threads {
		th := &s.Threads[i]
		out.uvarint(columnIDs, uint64(th.ID-before.ID))
		l := look{th.State, th.Reason, th.Carrier, th.Scheduler, th.Flags, th.Limited, th.Incomplete}
		n, ok := looks[l]
		if !ok {
			n = uint64(len(looks))
			looks[l] = n
		}
		out.uvarint(columnLooks, n)
		if !ok {
			out[columnLooks] = l.append(out[columnLooks])
		}
		out.varint(columnCreated, int64(th.Created-before.Created))
		out.varint(columnSince, int64(th.Since-th.Created))
		scopes.write(out, columnScopes, uint64(th.Scope))
		creators.write(out, columnCreators, uint64(th.Creator))
		stacks.write(out, columnStacks, uint64(th.Stack))
		blockers.write(out, columnBlockers, uint64(th.Blocker))
		wakers.write(out, columnWakers, uint64(th.Waker))
		out.uvarint(columnMounts, uint64(th.Mounts))
		out.uvarint(columnPins, uint64(th.Pins))
		out[columnNames] = appendText(out[columnNames], th.Name)
		before = *th
	}
	out.uvarint(columnOpen, uint64(len(s.Scopes)))
	for i := range s.Scopes {
		sc := &s.Scopes[i]
		for _, v := range []uint64{
			uint64(sc.ID), uint64(sc.Parent), uint64(sc.Owner), uint64(sc.Record), uint64(sc.Limit), uint64(sc.Queued), uint64(sc.State),
			zigzag(int64(sc.Opened)), zigzag(int64(sc.Deadline)),
		} {
			out.uvarint(columnOpen, v)
		}
		out[columnOpen] = appendText(appendText(out[columnOpen], sc.Name), sc.Policy)
	}
	slices.SortFunc(s.Carriers, func(x, y Carrier) int { return cmp.Compare(x.ID, y.ID) })
	out.uvarint(columnServing, uint64(len(s.Carriers)))
	for _, c := range s.Carriers {
		out.uvarint(columnServing, uint64(c.ID))
		out.uvarint(columnServing, uint64(c.Scheduler))
	}
	out.uvarint(columnServing, uint64(len(s.Scheduler)))
	for _, sc := range s.Scheduler {
		out.uvarint(columnServing, uint64(sc.ID))
		out[columnServing] = appendText(out[columnServing], sc.Name)
	}
	return out.pack(b)
}

const (
	lookLimited    = 1
	lookIncomplete = 2
)

func (l look) append(b []byte) []byte {
	var bits byte
	if l.limited {
		bits |= lookLimited
	}
	if l.incomplete {
		bits |= lookIncomplete
	}
	b = append(b, byte(l.state), byte(l.reason), bits)
	b = binary.AppendUvarint(b, uint64(l.carrier))
	b = binary.AppendUvarint(b, uint64(l.scheduler))
	return binary.AppendUvarint(b, uint64(l.flags))
}

func readLook(c *cursor) look {
	l := look{state: flight.State(c.byte()), reason: flight.Reason(c.byte())}
	bits := c.byte()
	l.limited, l.incomplete = bits&lookLimited != 0, bits&lookIncomplete != 0
	l.carrier = flight.CarrierID(c.uvarint())
	l.scheduler = flight.SchedulerID(c.uvarint())
	l.flags = flight.RecordFlags(c.uvarint())
	if l.state >= flight.StateCount {
		c.fail()
	}
	return l
}

// threadBytes is the least that a thread of a state takes.
const threadBytes = 12

// decodeState reads what encodeState wrote.
func decodeState(c *cursor) (*State, error) {
	s := &State{At: time.Duration(c.varint())}
	n := c.count(threadBytes)
	in := unpack(c, stateColumns)
	var scopes, creators, stacks, blockers, wakers known
	var looks []look
	var before Thread
	s.Threads = make([]Thread, 0, n)
	for range n {
		id := flight.ThreadID(in[columnIDs].uvarint())
		if id == 0 || before.ID+id < before.ID {
			in[columnIDs].fail()
			break
		}
		var l look
		switch i := in[columnLooks].uvarint(); {
		case i < uint64(len(looks)):
			l = looks[i]
		case i == uint64(len(looks)):
			l = readLook(&in[columnLooks])
			looks = append(looks, l)
		default:
			in[columnLooks].fail()
		}
		th := Thread{
			ID: before.ID + id, State: l.state, Reason: l.reason, Carrier: l.carrier, Scheduler: l.scheduler, Flags: l.flags,
			Limited: l.limited, Incomplete: l.incomplete, Created: before.Created + time.Duration(in[columnCreated].varint()),
			Scope: flight.ScopeID(scopes.read(&in[columnScopes])), Creator: flight.ThreadID(creators.read(&in[columnCreators])),
			Stack: flight.StackID(stacks.read(&in[columnStacks])), Blocker: flight.Blocker(blockers.read(&in[columnBlockers])),
			Waker: flight.ThreadID(wakers.read(&in[columnWakers])), Mounts: uint32(in[columnMounts].uvarint()), Pins: uint32(in[columnPins].uvarint()),
			Name: safeText(in[columnNames].text()), Slot: len(s.Threads),
		}
		th.Since = th.Created + time.Duration(in[columnSince].varint())
		if in[columnNames].bad {
			break
		}
		s.Threads = append(s.Threads, th)
		before = th
	}
	o := &in[columnOpen]
	for range o.count(11) {
		s.Scopes = append(s.Scopes, Scope{
			ID: flight.ScopeID(o.uvarint()), Parent: flight.ScopeID(o.uvarint()), Owner: flight.ThreadID(o.uvarint()),
			Record: flight.ScopeIndex(o.uvarint()), Limit: uint32(o.uvarint()), Queued: uint32(o.uvarint()), State: flight.ScopeState(o.uvarint()),
			Opened: time.Duration(o.varint()), Deadline: time.Duration(o.varint()), Name: safeText(o.text()), Policy: safeText(o.text()),
		})
	}
	v := &in[columnServing]
	for range v.count(2) {
		s.Carriers = append(s.Carriers, Carrier{flight.CarrierID(v.uvarint()), flight.SchedulerID(v.uvarint())})
	}
	for range v.count(2) {
		s.Scheduler = append(s.Scheduler, Scheduler{flight.SchedulerID(v.uvarint()), safeText(v.text())})
	}
	if anyBad(in) || len(c.b) > 0 {
		c.fail()
	}
	return s, c.err("state")
}
