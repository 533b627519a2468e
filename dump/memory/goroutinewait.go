package memory

import (
	"cmp"
	"context"
	"encoding/binary"
	"slices"
	"strings"

	"github.com/vtscope/vtscope/dump"
	"github.com/vtscope/vtscope/dump/goroutines"
	"github.com/vtscope/vtscope/runtime/flight"
)

// maxSudog is how much of a sudog holds all that is read of it.
const maxSudog = 96

// searched is how much of the innermost end of a stack is searched for a sudog, and the most words there that may be one's address.
const (
	searched      = 512
	mostSuspected = searched / 8
)

// waits finds out what the goroutines of a batch wait for.
func (w *goroutineReader) waits() {
	w.dogs, w.whose = w.dogs[:0], w.whose[:0]
	suspect := func(i int, at uint64) {
		w.dogs, w.whose = append(w.dogs, span{address: at}), append(w.whose, i)
	}
	for j, i := range w.which {
		g := &w.batch[i]
		switch {
		case g.status != statusWaiting && g.status != statusLeaked:
		case g.waiting != 0:
			suspect(i, g.waiting)
		case w.reason(g.reason) == ioWait || !w.layout.semaDogs && isSemaphore(w.reason(g.reason)):
			w.search(w.gs.before(i), &w.tops.spans[j], func(at uint64) { suspect(i, at) })
		}
	}
	if n := len(w.dogs) * maxSudog; cap(w.room) < n {
		w.room = make([]byte, n)
	}
	for k := range w.dogs {
		w.dogs[k].to = w.room[k*maxSudog : (k+1)*maxSudog : (k+1)*maxSudog]
	}
	w.space.readMany(w.dogs)
	le := binary.LittleEndian
	l := &w.layout
	w.selects = w.selects[:0]
	for k, i := range w.whose {
		g, dog := &w.batch[i], &w.dogs[k]
		if dog.n < maxSudog {
			continue
		}
		if w.reason(g.reason) == ioWait {
			if le.Uint64(dog.to[l.pollG:]) == g.at || le.Uint64(dog.to[l.pollG+8:]) == g.at {
				g.waitsFor = le.Uint64(dog.to[l.pollFD:])&(1<<31-1) + 1
			}
			continue
		}
		if le.Uint64(dog.to) != g.at {
			continue // it went on meanwhile, or this is another object
		}
		switch c := le.Uint64(dog.to[l.sudogC:]); {
		case dog.to[l.sudogSelect] != 0 && le.Uint64(dog.to[l.sudogLink:]) != 0:
			g.cases = append(g.cases, c)
			w.selects = append(w.selects, selecting{i, le.Uint64(dog.to[l.sudogLink:])})
		case c != 0:
			g.waitsFor = c
		default:
			g.waitsFor = le.Uint64(dog.to[l.sudogElem:])
		}
	}
	for len(w.selects) > 0 {
		w.nextCases()
	}
}

// ioWait is why a goroutine waits whose descriptor is not ready.
const ioWait = "IO wait"

// maxCases is how many channels of a select are told.
const maxCases = 16

// A selecting is a goroutine of the batch that waits in a select, and where its next sudog is.
type selecting struct {
	i    int
	next uint64
}

// nextCases reads one channel more of each that waits in a select.
func (w *goroutineReader) nextCases() {
	le := binary.LittleEndian
	l := &w.layout
	w.dogs = w.dogs[:0]
	for k, s := range w.selects {
		w.dogs = append(w.dogs, span{address: s.next, to: w.room[k*maxSudog : (k+1)*maxSudog : (k+1)*maxSudog]})
	}
	w.space.readMany(w.dogs)
	left := w.selects[:0]
	for k, s := range w.selects {
		g, dog := &w.batch[s.i], &w.dogs[k]
		if dog.n < maxSudog || le.Uint64(dog.to) != g.at || dog.to[l.sudogSelect] == 0 {
			continue // it went on meanwhile, which is found out
		}
		g.cases = append(g.cases, le.Uint64(dog.to[l.sudogC:]))
		if next := le.Uint64(dog.to[l.sudogLink:]); next != 0 && len(g.cases) < maxCases {
			left = append(left, selecting{s.i, next})
		}
	}
	w.selects = left
}

// isSemaphore reports whether who waits for this reason has a sudog with a semaphore.
func isSemaphore(why string) bool {
	return strings.HasPrefix(why, "sync.Mutex") || strings.HasPrefix(why, "sync.RWMutex") || strings.HasPrefix(why, "sync.WaitGroup") || why == "semacquire"
}

// search calls suspect with the words of the innermost end of a stack that may be the addresses of sudogs.
func (w *goroutineReader) search(g []byte, top *span, suspect func(at uint64)) {
	le := binary.LittleEndian
	const lowest, highest = 1 << 16, 1 << 47
	stack := area{le.Uint64(g[w.layout.gStackLo:]), le.Uint64(g[w.layout.gStackHi:])}
	known := make(map[uint64]bool, mostSuspected)
	for b := top.to[:min(top.n, searched)&^7]; len(b) > 0; b = b[8:] {
		at := le.Uint64(b)
		if at%8 != 0 || at < lowest || at >= highest || at == le.Uint64(g[w.layout.gSelf:]) || known[at] || stack.has(at) || w.module.text <= at && at < w.module.etext {
			continue
		}
		known[at] = true
		suspect(at)
	}
}

// blocker returns what a goroutine waits for; 0 if that is not known, or nothing is waited for.
func (s *Goroutines) blocker(g *goroutine) flight.Blocker {
	if g.waitsFor == 0 {
		return 0
	}
	why := s.program.reason(g.reason)
	if why == ioWait {
		kind := flight.BlockedByFile
		if s.isSocket(g.stack) {
			kind = flight.BlockedBySocket
		}
		return flight.MakeBlocker(kind, g.waitsFor-1)
	}
	if why == "semacquire" && g.stack != 0 {
		why = s.reasonIn(g.stack)
	}
	kind := goroutines.WaitsFor(why)
	if kind == flight.BlockedByNone {
		return 0
	}
	return flight.MakeBlocker(kind, goroutines.LockAt(why, g.waitsFor))
}

// reasonIn returns what a stack says that its goroutine waits for, which waits for a semaphore.
func (s *Goroutines) reasonIn(id flight.StackID) string {
	why, known := s.reasons[id]
	if !known {
		why = cmp.Or(goroutines.ReasonIn(s.program.stacks.untrimmed(id).Frames), "semacquire")
		s.reasons[id] = why
	}
	return why
}

// isSocket reports whether a stack is in a function of package net.
func (s *Goroutines) isSocket(id flight.StackID) bool {
	is, known := s.sockets[id]
	if !known {
		is = slices.ContainsFunc(s.program.stacks.untrimmed(id).Frames, func(f flight.Frame) bool { return strings.HasPrefix(f.Func, "net.") })
		s.sockets[id] = is
	}
	return is
}

// Cases returns the channels that a goroutine waits for in a select of several; nil if it does not. There may
// be more than 16.
func (s *Seen) Cases(index uint32) (all []flight.Blocker) {
	for _, at := range s.cases[index] {
		all = append(all, flight.MakeBlocker(flight.BlockedByChannel, at))
	}
	return all
}

// channels adds what is known of channels to rows: how many values they have room for, and how many of them are free.
func (s *Seen) channels(all map[flight.Blocker]bool) (rows []flight.BlockerRow) {
	const header = 16 // of an hchan: qcount and dataqsiz
	var spans []span
	room := make([]byte, header*len(all))
	for b := range all {
		if b.Kind() == flight.BlockedByChannel {
			at := header * len(spans)
			spans = append(spans, span{address: b.ID(), to: room[at : at+header : at+header]})
		}
	}
	s.of.program.space.readMany(spans)
	for i := range spans {
		if c := &spans[i]; c.n == header {
			count, room := binary.LittleEndian.Uint64(c.to), binary.LittleEndian.Uint64(c.to[8:])
			if count <= room {
				rows = append(rows, flight.BlockerRow{Blocker: flight.MakeBlocker(flight.BlockedByChannel, c.address), Capacity: room, Available: int64(room - count)})
			}
		}
	}
	return rows
}

// WaitsSource returns the goroutines by what each waits for. Channels, locks and other things have their
// addresses; who holds them Go does not note.
func (s *Seen) WaitsSource() dump.WaitsSource { return goroutineWaits{s} }

type goroutineWaits struct{ *Seen }

func (w goroutineWaits) Threads(ctx context.Context, visit func([]flight.ThreadRow)) (torn int, err error) {
	return w.Seen.Threads(ctx, func(rows []flight.ThreadRow) {
		for i := range rows {
			if b := w.waits[rows[i].Index]; b != 0 {
				rows[i].Blocker = b
			}
			if rows[i].State == flight.StateMounted {
				rows[i].Flags &^= flight.RecordOnGoroutine // it executes, and does not wait in Go
			}
		}
		visit(rows)
	})
}

func (w goroutineWaits) Blockers() ([]flight.BlockerRow, error) {
	rows, err := w.Seen.Blockers()
	all := map[flight.Blocker]bool{}
	for _, b := range w.waits {
		if b != 0 {
			all[b] = true
		}
	}
	return append(rows, w.channels(all)...), err
}

// Waits returns none: goroutines are the rows.
func (w goroutineWaits) Waits() ([]flight.WaitRow, error) { return nil, nil }

// Schedulers returns none.
func (w goroutineWaits) Schedulers() ([]flight.SchedulerRow, error) { return nil, nil }
