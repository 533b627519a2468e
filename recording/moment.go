package recording

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/vtscope/vtscope/runtime/flight"
)

// A Moment is what all threads of a recording did at a moment, told as a [flight.Reader] tells it of the present. Its ticks are nanoseconds of the wall clock.
type Moment struct {
	file       *File
	at         time.Time
	state      *State
	incomplete []string
	lost       uint64
	labels     []flight.LabelRow                 // of threads in state, in their order
	seen       map[flight.ThreadID]time.Duration // of threads that may have moved since, when they were last seen in their stacks
}

// lookAhead is how far after a moment events are read that tell, at their end, of what went on at the moment.
const lookAhead = 10 * time.Second

// At returns the state at a time since Info().From. It reads from the last state before. An error is of ctx, or says that the recording has no such moment.
func (f *File) At(ctx context.Context, at time.Duration) (*Moment, error) {
	begins, ends := f.Begins(), f.info.To.Sub(f.info.From)
	if at < begins || at > ends {
		return nil, fmt.Errorf("recording: no moment %v: it is from %v to %v", at, begins.Round(time.Millisecond), ends.Round(time.Millisecond))
	}
	t := NewTracker(f)
	m := &Moment{file: f, at: f.info.From.Add(at), seen: map[flight.ThreadID]time.Duration{}}
	holds := holdsAt{at, map[flight.ThreadID]held{}}
	labels := map[flight.ThreadID]flight.LabelRow{}
	taken := false
	if err := f.ReadSince(ctx, at, func(b *Batch) bool {
		if !taken {
			if b.State != nil && b.State.At <= at {
				t.Reset(b.State)
				m.lost = 0
			}
			m.lost += b.Lost
		}
		for _, row := range b.Labels { // what was read after the moment is taken for that of then, as far as nothing was read before
			if _, ok := labels[row.Thread]; !ok && len(labels) < maxLabelled || ok && b.LabelsAt <= at {
				labels[row.Thread] = row
			}
		}
		for _, h := range b.Holds {
			holds.hold(h)
		}
		for i := range b.Events {
			e := &b.Events[i]
			if e.Kind == flight.EventPinned {
				holds.ended(e)
			}
			if e.Time <= at {
				t.Apply(e)
				continue
			}
			if !taken {
				m.state, taken = t.State(), true
			}
		}
		return len(b.Events) == 0 || b.Events[len(b.Events)-1].Time <= at+lookAhead
	}); err != nil {
		return nil, err
	}
	if !taken {
		m.state = t.State()
	}
	for i := range m.state.Threads {
		th := &m.state.Threads[i]
		if seen, ok := holds.of(th); ok {
			m.seen[th.ID] = seen
		}
		if row := labels[th.ID]; len(row.Labels) > 0 {
			m.labels = append(m.labels, row)
		}
	}
	slices.SortFunc(m.labels, byThread)
	m.tellMissing()
	return m, nil
}

func (m *Moment) tellMissing() {
	m.incomplete = slices.Clone(m.file.info.Incomplete)
	parts := 0
	for i := range m.state.Threads {
		if m.state.Threads[i].Incomplete {
			parts++
		}
	}
	if parts > 0 {
		m.incomplete = append(m.incomplete, fmt.Sprintf("threads of which the recording does not have all: %d", parts))
	}
	if m.lost > 0 {
		m.incomplete = append(m.incomplete, fmt.Sprintf("events that are missing since the last state before the moment: %d", m.lost))
	}
}

// At returns the moment.
func (m *Moment) At() time.Time { return m.at }

// Incomplete says what is missing.
func (m *Moment) Incomplete() []string { return slices.Clone(m.incomplete) }

// State returns the state. It belongs to the moment.
func (m *Moment) State() *State { return m.state }

// Process describes the process as it was.
func (m *Moment) Process() flight.Process {
	in := &m.file.info
	name := m.file.parts[len(m.file.parts)-1].name
	return flight.Process{
		PID: in.PID, Program: in.Program, Exe: in.Exe, GoVersion: in.GoVersion, Start: in.Started, Path: name, LastSeen: m.at, Threads: len(m.state.Threads),
	}
}

// Now returns the moment.
func (m *Moment) Now() flight.Ticks { return flight.Ticks(m.at.UnixNano()) }

// Time returns the time of ticks.
func (m *Moment) Time(t flight.Ticks) time.Time { return time.Unix(0, int64(t)) }

// Between returns the time between ticks.
func (m *Moment) Between(from, to flight.Ticks) time.Duration { return time.Duration(to - from) }

func (m *Moment) ticks(d time.Duration) flight.Ticks {
	return flight.Ticks(m.file.info.From.Add(d).UnixNano())
}

// Scopes returns the open scopes. Their positions are those in the state.
func (m *Moment) Scopes() ([]flight.ScopeRow, error) {
	at := m.positions()
	rows := make([]flight.ScopeRow, len(m.state.Scopes))
	for i := range m.state.Scopes {
		sc := &m.state.Scopes[i]
		rows[i] = flight.ScopeRow{
			Index: at[sc.ID], Parent: at[sc.Parent], ID: sc.ID, Owner: sc.Owner, Opened: m.ticks(sc.Opened), Name: sc.Name, Policy: sc.Policy,
			Limit: sc.Limit, Queued: sc.Queued, State: max(sc.State, flight.ScopeOpen),
		}
		if sc.Deadline != 0 {
			rows[i].Deadline = m.ticks(sc.Deadline)
		}
	}
	return rows, nil
}

// positions numbers the scopes; 0 is the root, which is the first.
func (m *Moment) positions() map[flight.ScopeID]flight.ScopeIndex {
	at := make(map[flight.ScopeID]flight.ScopeIndex, len(m.state.Scopes))
	for i := range m.state.Scopes {
		at[m.state.Scopes[i].ID] = flight.ScopeIndex(i)
	}
	return at
}

// Threads calls visit with the rows of all threads, a block at a time; rows is reused after visit returns.
func (m *Moment) Threads(ctx context.Context, visit func(rows []flight.ThreadRow)) (torn int, err error) {
	at := m.positions()
	unknown := flight.ScopeIndex(len(m.state.Scopes)) // of scopes that the recording does not know
	var rows []flight.ThreadRow
	for i := range m.state.Threads {
		th := &m.state.Threads[i]
		scope, ok := at[th.Scope]
		if !ok {
			scope = unknown
		}
		row := flight.ThreadRow{
			ID: th.ID, Since: m.ticks(th.Since), Blocker: th.Blocker, Waker: th.Waker, Stack: th.Stack, Scope: scope, Mounts: th.Mounts, Pins: th.Pins,
			Flags: th.Flags, Index: uint32(i), State: th.State, Reason: th.Reason, Carrier: th.Carrier, Limited: th.Limited, Scheduler: th.Scheduler,
		}
		if seen, ok := m.seen[th.ID]; ok {
			row.Seen = m.ticks(seen)
		}
		if th.Name != "" {
			row.Name = flight.NameRef(i + 1)
		}
		if rows = append(rows, row); len(rows) == 1024 || i == len(m.state.Threads)-1 {
			if err := ctx.Err(); err != nil {
				return 0, err
			}
			visit(rows)
			rows = rows[:0]
		}
	}
	return 0, nil
}

// ThreadName returns the name of the thread of a row.
func (m *Moment) ThreadName(row flight.ThreadRow) string {
	if i := int(row.Name) - 1; i >= 0 && i < len(m.state.Threads) && m.state.Threads[i].ID == row.ID {
		return m.state.Threads[i].Name
	}
	return ""
}

// Stack returns a stack of a thread.
func (m *Moment) Stack(id flight.StackID) (flight.Stack, error) {
	s, ok := m.file.words.stacks[id]
	if !ok && id != 0 {
		return s, fmt.Errorf("recording: stack %d is not in the recording", id)
	}
	return s, nil
}

// Rings returns none: what carriers were seen to be held by is in the states of threads.
func (m *Moment) Rings() ([]flight.RingRow, error) { return nil, nil }

// Blockers returns the names of those that threads wait for. More of them is not recorded.
func (m *Moment) Blockers() (rows []flight.BlockerRow, _ error) {
	seen := map[flight.Blocker]bool{}
	for i := range m.state.Threads {
		b := m.state.Threads[i].Blocker
		if name := m.file.BlockerName(b); name != "" && !seen[b] {
			seen[b] = true
			rows = append(rows, flight.BlockerRow{Blocker: b, Name: name})
		}
	}
	return rows, nil
}

// Labels returns the labels that threads had from the program: of those that lived when the recorder looked, now and then. They belong to the moment.
func (m *Moment) Labels() ([]flight.LabelRow, error) { return m.labels, nil }

// Lost returns nothing: what the process itself could not record is told by Incomplete.
func (m *Moment) Lost() flight.Lost { return flight.Lost{} }

// KnownOf returns the newest events of a thread, at most so many, that happened until the moment.
func (m *Moment) KnownOf(ctx context.Context, id flight.ThreadID, most int) (*Known, error) {
	return m.file.KnownOf(ctx, id, m.at.Sub(m.file.info.From), most)
}
