package recording

import (
	"context"
	"time"

	"github.com/vtscope/vtscope/runtime/flight"
)

// tickFields lists of each kind the words after the event that are moments.
var tickFields = func() (all [flight.KindCount][]int) {
	for k := range all {
		for _, f := range flight.Kinds[k].Fields {
			if f.Use == flight.FieldTicks && f.At >= flight.AtMore {
				all[k] = append(all[k], int(f.At-flight.AtMore))
			}
		}
	}
	return all
}()

// A follower reads what the rings of a process hold, again and again. Each event is read once or counted as lost.
type follower struct {
	r       *flight.Reader
	clock   *clock
	rings   map[int]*ringRead
	polls   int
	whole   bool              // the last poll looked at all rings
	quiet   int               // polls in a row that found nothing
	heads   []flight.RingHead // for reuse
	raw     []flight.Event    // for reuse
	dropped uint64            // by the process, when it was looked at last

	full    float64      // the fullest ring of the last poll, as part of its size
	held    flight.Ticks // what the rings held of before the follower began is complete from here on; 0: of all
	problem string
}

// A ringRead is how far a ring was read.
type ringRead struct {
	index int
	size  uint64
	next  uint64 // the position to go on with
	used  int    // the poll that found events
}

// ring returns what is known of a ring. One that comes later than the follower is read from its beginning.
func (f *follower) ring(index int, size uint64) *ringRead {
	g := f.rings[index]
	if g == nil {
		g = &ringRead{index: index, size: max(size, 1), used: -idleAfter}
		f.rings[index] = g
	}
	return g
}

// maxPoll is the most events that are read of a ring at once.
const maxPoll = 1 << 14

// newFollower returns a follower that begins at the present, or with what the rings hold.
func newFollower(r *flight.Reader, c *clock, held bool) (*follower, error) {
	f := &follower{r: r, clock: c, rings: map[int]*ringRead{}, dropped: r.Lost().Events}
	rings, err := r.Rings()
	if err != nil && len(rings) == 0 {
		return nil, err
	}
	for i := range rings {
		row := &rings[i]
		g := f.ring(row.Index, row.Size)
		if !held {
			g.next = row.Head
			continue
		}
		if row.Head > row.Size {
			// A quarter of the ring is left to its owner, who goes on meanwhile.
			g.next = row.Head - row.Size + row.Size/4
			if events, _, _, err := r.Events(row.Index, g.next, maxMore); err == nil && len(events) > 0 {
				f.held = max(f.held, events[0].Time)
			}
		}
	}
	return f, nil
}

// maxMore is more slots than any event has.
const maxMore = 16

// poll appends the events since the last poll to into, and returns how many were lost. It looks at each ring that had events lately, and at all of them every
// so often: there may be a thousand.
func (f *follower) poll(into []Event, all bool) (events []Event, lost uint64) {
	events = into
	f.full = 0
	defer func(had int) {
		if f.quiet++; len(events) > had || lost > 0 {
			f.quiet = 0
		}
	}(len(events))
	f.polls++
	if f.whole = all || f.quiet >= idleAfter || f.polls%allEvery == 1; f.whole { // the first poll finds what rings hold of before
		var err error
		if f.heads, err = f.r.Heads(f.heads[:0]); err != nil {
			f.problem = err.Error()
		}
		for _, row := range f.heads {
			if g := f.ring(row.Index, row.Size); row.Head != g.next {
				events, lost = f.read(g, events, lost)
			}
		}
		if now := f.r.Lost().Events; now > f.dropped {
			lost += now - f.dropped
			f.dropped = now
		}
		return events, lost
	}
	for _, g := range f.rings {
		if f.polls-g.used < idleAfter {
			events, lost = f.read(g, events, lost)
		}
	}
	return events, lost
}

const (
	allEvery  = 4
	idleAfter = 64
)

// read appends the events of a ring.
func (f *follower) read(g *ringRead, events []Event, lost uint64) ([]Event, uint64) {
	began := g.next
	for {
		raw, next, gone, err := f.r.EventsInto(f.raw, g.index, g.next, maxPoll)
		if cap(raw) > cap(f.raw) {
			f.raw = raw
		}
		lost += gone
		if err != nil {
			f.problem = err.Error()
			break
		}
		if next == g.next {
			break
		}
		events = f.convert(events, raw)
		n := next - g.next
		g.next = next
		if n < maxPoll/2 {
			break
		}
	}
	if g.next != began {
		g.used = f.polls
		f.full = max(f.full, float64(g.next-began)/float64(g.size))
	}
	return events, lost
}

// convert appends events with the slots that follow them.
func (f *follower) convert(events []Event, raw []flight.Event) []Event {
	for i := 0; i < len(raw); {
		e := &raw[i]
		out := Event{
			Time: f.clock.time(e.Time), Kind: e.Kind, Code: e.Code, Carrier: e.Carrier, Ref: uint32(e.Stack), Thread: e.Thread, Arg: e.Arg,
		}
		n := i + 1
		for n < len(raw) && raw[n].Kind == flight.EventMore {
			n++
		}
		if n > i+1 {
			out.More = make([]uint64, 0, 3*(n-i-1))
			for _, m := range raw[i+1 : n] {
				out.More = append(out.More, uint64(m.Time), uint64(m.Thread), m.Arg)
			}
			if e.Kind < flight.KindCount {
				for _, at := range tickFields[e.Kind] {
					if at < len(out.More) && out.More[at] != 0 {
						out.More[at] = uint64(f.clock.time(flight.Ticks(out.More[at])))
					}
				}
			}
		}
		if e.Kind != flight.EventNone && e.Kind != flight.EventMore {
			events = append(events, out)
		}
		i = n
	}
	return events
}

// shift moves an event to another beginning.
func (e *Event) shift(by time.Duration) {
	e.Time -= by
	if e.Kind >= flight.KindCount {
		return
	}
	for _, at := range tickFields[e.Kind] {
		if at < len(e.More) && e.More[at] != 0 {
			e.More[at] -= uint64(by)
		}
	}
}

// maxDetails bounds the threads of which a state has what takes longer to read: when they were made, and by whom.
const maxDetails = 20_000

// maxExpected bounds the threads for which there is room before they are there: nothing in a file is trusted.
const maxExpected = 1 << 20

// readState reads what all threads and scopes do, as the options want it. It takes a while: what it says of one is of a moment after At. missing says what it lacks.
func readState(ctx context.Context, r *flight.Reader, c *clock, o *Options) (s *State, missing []string, err error) {
	s = &State{At: c.time(r.Now())}
	expected := min(max(r.Process().Threads, 0), maxExpected)
	note := func(err error) {
		if err != nil {
			missing = append(missing, err.Error())
		}
	}
	scopes, err := r.Scopes()
	note(err)
	byIndex := map[flight.ScopeIndex]flight.ScopeID{}
	for i := range scopes {
		byIndex[scopes[i].Index] = scopes[i].ID
	}
	for i := range scopes {
		row := &scopes[i]
		sc := Scope{
			ID: row.ID, Parent: byIndex[row.Parent], Owner: row.Owner, Name: row.Name, Policy: row.Policy, Opened: c.time(row.Opened),
			Limit: row.Limit, Queued: row.Queued, State: row.State, Record: row.Index,
		}
		if row.Deadline != 0 {
			sc.Deadline = c.time(row.Deadline)
		}
		s.Scopes = append(s.Scopes, sc)
	}
	if o.gives {
		s.held = NewTracker(nil) // there is no event for it before another one has what it has
		s.held.Reset(&State{At: s.At, Scopes: s.Scopes})
		s.Scopes = nil
	}
	var read []Thread // those of State, or some that held is given next
	n := 0
	visit := func(rows []flight.ThreadRow) {
		for i := range rows {
			row := &rows[i]
			th := Thread{
				ID: row.ID, Name: r.ThreadName(*row), Scope: byIndex[row.Scope], State: row.State, Reason: row.Reason, Carrier: row.Carrier, Since: c.time(row.Since),
				Stack: row.Stack, Blocker: row.Blocker, Limited: row.Limited, Waker: row.Waker, Mounts: row.Mounts, Pins: row.Pins, Flags: row.Flags,
				Scheduler: row.Scheduler,
			}
			th.Created = th.Since
			if n++; n <= maxDetails {
				if d, err := r.ThreadDetail(row.Index); err == nil && d.ID == row.ID {
					th.Created, th.Creator = c.time(d.Created), d.Creator
				}
			}
			if read = append(read, th); o.gives && len(read) == blockSlots {
				s.held.add(read)
				read = read[:0]
			}
		}
	}
	switch {
	case o.places:
		table := newIDTable[flight.ScopeID](expected)
		s.held.places = &table
		visit = func(rows []flight.ThreadRow) {
			for i := range rows {
				table.put(rows[i].ID, byIndex[rows[i].Scope])
			}
		}
	case o.gives:
		read, s.held.byID = make([]Thread, 0, blockSlots), newIDTable[int32](expected)
	default:
		read = make([]Thread, 0, expected)
	}
	torn, err := r.Threads(ctx, visit)
	if ctx.Err() != nil {
		return nil, nil, ctx.Err()
	}
	note(err)
	if o.gives {
		s.held.add(read)
	} else {
		s.Threads = read
	}
	if torn > 0 {
		missing = append(missing, "thread records changed while they were read, and are left out")
	}
	rings, err := r.Rings()
	note(err)
	for i := range rings {
		if row := &rings[i]; row.Owner == flight.RingOfCarrier && row.State != flight.CarrierFree && row.State != flight.CarrierStopped {
			s.Carriers = append(s.Carriers, Carrier{row.Carrier, row.Scheduler})
		}
	}
	schedulers, err := r.Schedulers()
	note(err)
	for i := range schedulers {
		s.Scheduler = append(s.Scheduler, Scheduler{schedulers[i].ID, schedulers[i].Name})
	}
	if o.gives {
		s.held.serve(s)
		s.Carriers, s.Scheduler = nil, nil
	}
	return s, missing, nil
}

// wind turns the state s, which is newer than the events, back to what it was at the time from: of threads that events have moved since the first event tells what
// they were. What they waited for is not known then, nor since when.
func wind(s *State, events []Event, from time.Duration) *State {
	first := map[flight.ThreadID]*Event{}
	for i := range events {
		e := &events[i]
		if was, ok := first[e.Thread]; e.Time >= from && e.Thread != 0 && stateBefore(e) != flight.StateFree && (!ok || e.Time < was.Time) {
			first[e.Thread] = e
		}
	}
	out := &State{At: from, Carriers: s.Carriers, Scheduler: s.Scheduler}
	for _, sc := range s.Scopes {
		if sc.Opened <= from {
			out.Scopes = append(out.Scopes, sc)
		}
	}
	add := func(th Thread, e *Event) {
		th.State, th.Since, th.Incomplete = stateBefore(e), from, true
		th.Reason, th.Stack, th.Blocker, th.Limited = 0, 0, 0, false
		if th.State == flight.StateMounted {
			th.Carrier = e.Carrier
		}
		out.Threads = append(out.Threads, th)
	}
	for _, th := range s.Threads {
		e := first[th.ID]
		delete(first, th.ID)
		switch {
		case e != nil && e.Kind == flight.EventThreadStart:
		case th.Since <= from:
			out.Threads = append(out.Threads, th)
		case e != nil:
			add(th, e)
		}
	}
	for id, e := range first {
		if e.Kind != flight.EventThreadStart {
			add(Thread{ID: id, Carrier: flight.NoCarrier, Created: from}, e)
		}
	}
	return out
}

// stateBefore returns what a thread was before an event; free if the event does not tell.
func stateBefore(e *Event) flight.State {
	switch e.Kind {
	case flight.EventThreadStart:
		return flight.StateNew
	case flight.EventMount:
		return flight.StateRunnable
	case flight.EventUnpark:
		return flight.StateParked
	case flight.EventPark, flight.EventYield, flight.EventUnmount, flight.EventThreadEnd:
		return flight.StateMounted
	}
	return flight.StateFree
}
