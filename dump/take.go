package dump

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/vtscope/vtscope/runtime/flight"
)

// namedGroups is the number of groups, the largest ones, whose examples have names: reading names by the ten
// thousand would take longer than all else.
const namedGroups = 1000

// A Source is what a snapshot is taken of, as a [flight.Reader] has it. Its methods are that reader's.
type Source interface {
	Process() flight.Process
	Now() flight.Ticks
	Time(flight.Ticks) time.Time
	Between(from, to flight.Ticks) time.Duration
	Scopes() ([]flight.ScopeRow, error)
	Threads(ctx context.Context, visit func([]flight.ThreadRow)) (torn int, err error)
	ThreadName(flight.ThreadRow) string
	Stack(flight.StackID) (flight.Stack, error)
	Rings() ([]flight.RingRow, error)
	Blockers() ([]flight.BlockerRow, error)
	Lost() flight.Lost
}

// A Living is a [Source] that is read as a whole: Look reads it, and returns what it saw.
type Living interface {
	Source
	Look() Source
}

// Looked returns what a new look at a source sees; the source itself if it is read piece by piece.
func Looked(src Source) Source {
	if l, ok := src.(Living); ok {
		return l.Look()
	}
	return src
}

// A Moment is a [Source] that is no present of a process, but a moment of a recording.
type Moment interface {
	Source
	At() time.Time
	Incomplete() []string // what is missing, one short sentence each
}

// Take reads the threads of a flight file, or of a [Moment], and folds them. It does not pause the process, and works as
// well when the process is stopped or gone. What the file holds may be damaged: then the snapshot says in
// Incomplete what is missing. The error is that of ctx, or says that not even the header makes sense.
func Take(ctx context.Context, r Source, o Options) (*Snapshot, error) {
	began := time.Now()
	r = Looked(r)
	p := processOf(r, began)
	s := &Snapshot{Format: Format, Taken: began, AsOf: p.LastSeen, Process: p}
	if m, ok := r.(Moment); ok {
		s.Incomplete = m.Incomplete()
	}

	scopes, err := r.Scopes()
	if err != nil {
		s.missed(err)
	}
	t := plant(scopes, o.Templates)
	s.Templates = t.templates
	s.ScopeCount = max(countOpen(scopes), 1)

	now := r.Now()
	f := newFolder(t, now, o)
	f.match = newMatching(o.Filter, r, t, now)
	blockers, _ := r.Blockers() // blockerNames says what is missing
	f.noteLocks(HeldLocks(blockers))
	if err := f.read(ctx, r, s); err != nil {
		return nil, err
	}
	f.sum()

	stacks := newStackTable(r.Stack, o.Similar)
	groups := f.mergeEqualStacks(stacks.shown)
	s.Stacks = stacks.stacks
	s.Lost.Unsymbolised = stacks.bare

	s.used(t, r)
	var position []int
	s.Scopes, position = t.scopes(f.match == nil)
	for i := range t.families {
		if until := t.families[i].until; until != 0 && position[i] >= 0 {
			at := r.Time(until)
			s.Scopes[position[i]].Deadline = &at
		}
	}
	for i := range s.Scopes {
		sc := &s.Scopes[i]
		s.States.Add(&sc.States)
		if sc.Owner != 0 {
			sc.OwnerName = r.ThreadName(flight.ThreadRow{ID: sc.Owner, Name: f.owners[sc.Owner]})
		}
	}
	s.Threads = s.States.Total()
	s.Process.unseen(s.Threads + f.filtered)
	s.Filter, s.Filtered = o.Filter.String(), f.filtered
	s.Rest.Threads = f.over
	span := func(ticks flight.Ticks) time.Duration {
		if ticks <= 1 {
			return 0
		}
		return max(r.Between(now-ticks, now), 0)
	}
	second := secondOf(r, now)
	if !numbered(r) {
		s.highest, s.since = max(f.highest, f.since), f.since
	}
	order := make([]*group, len(groups))
	for i := range groups {
		order[i] = &groups[i]
	}
	slices.SortFunc(order, func(a, b *group) int {
		return cmp.Or(
			cmp.Compare(b.waits.n, a.waits.n),
			cmp.Compare(b.waits.max, a.waits.max),
			cmp.Compare(position[a.key.family], position[b.key.family]),
			cmp.Compare(a.key.stack, b.key.stack),
			cmp.Compare(a.key.state, b.key.state),
			cmp.Compare(a.key.reason, b.key.reason),
		)
	})
	named := blockerNames(s, r)
	thing := func(b flight.Blocker) string {
		if name := named[b]; name != "" {
			return namedBlocker(b, name)
		}
		return b.String()
	}
	durable, err := durablesOf(r)
	if err != nil {
		s.missed(err)
	}
	s.Groups = make([]Group, len(order))
	for i, g := range order {
		out := &s.Groups[i]
		*out = Group{
			Scope: position[g.key.family], Stack: int(g.key.stack) - 1, State: g.key.state, Reason: g.key.reason,
			Count:    g.waits.n,
			Wait:     g.waits.wait(span),
			Examples: make([]Example, g.kept),
			Seen:     seen(g.seen, span),
			arrivals: g.arrivals(now, second), old: int(g.old), stays: g.stays(),
		}
		if !g.mixed && g.blocker != 0 {
			out.Blocker = thing(g.blocker)
		}
		if g.holders != nil {
			out.LockHolders, out.Holding = g.holders.told(r, f.locks, thing), g.holders.n
		}
		slices.SortFunc(g.examples[:g.kept], func(a, b example) int {
			return cmp.Or(cmp.Compare(b.wait, a.wait), cmp.Compare(a.id, b.id))
		})
		for j, e := range g.examples[:g.kept] {
			out.Examples[j] = Example{ID: e.id, Wait: span(e.wait), Unknown: e.wait == unknownWait}
			if i < namedGroups {
				out.Examples[j].Name = r.ThreadName(flight.ThreadRow{ID: e.id, Name: e.name})
			}
			if d := durable.of(e.id); d != nil {
				out.Examples[j].Durable, out.Examples[j].Steps = d.ID, d.Steps
			}
		}
		out.Key = s.groupKey(out)
	}
	s.offs(r)
	s.judge(t, r.Lost())
	s.Took = time.Since(began)
	return s, nil
}

// processOf describes the process of a flight file, as it is now.
func processOf(r Source, now time.Time) Process {
	p := r.Process()
	out := Process{
		PID: p.PID, UID: p.UID, Program: p.Program, Exe: p.Exe, GoVersion: p.GoVersion, Started: p.Start,
		Status: Status(p.Status.String()), LastSeen: now, File: p.Path,
	}
	out.Ending = p.Ending.String()
	if out.Status.Gone() {
		out.LastSeen = p.LastSeen
	}
	if h, ok := r.(interface{ Held() string }); ok {
		out.Held = h.Held()
	}
	if k, ok := r.(interface{ Kind() string }); ok {
		out.Kind = k.Kind()
	}
	if m, ok := r.(Moment); ok {
		out.Status, out.LastSeen = StatusRecorded, m.At()
		if d, ok := r.(interface{ Status() Status }); ok {
			out.Status = d.Status()
		}
	}
	return out
}

// blockerNames returns the names that users have given to what threads wait for.
func blockerNames(s *Snapshot, r Source) map[flight.Blocker]string {
	rows, err := r.Blockers()
	if err != nil {
		s.missed(err)
	}
	names := map[flight.Blocker]string{}
	for i := range rows {
		if rows[i].Name != "" {
			names[rows[i].Blocker] = rows[i].Name
		}
	}
	return names
}

func countOpen(rows []flight.ScopeRow) int {
	n := 0
	for i := range rows {
		if rows[i].State != flight.ScopeFree {
			n++
		}
	}
	return n
}

func (s *Snapshot) groupKey(g *Group) string {
	stack := ""
	if g.Stack >= 0 {
		stack = s.Stacks[g.Stack].Fingerprint
	}
	return keyOfGroup(s.Scopes[g.Scope].Key, g.State, g.Reason, stack)
}

// keyOfGroup returns the key of the threads of a scope that have the same state, reason and stack.
func keyOfGroup(scope string, state flight.State, reason flight.Reason, stack string) string {
	return newHash.word(scope).word(state.String()).word(reason.String()).word(stack).String()
}

// missed notes an error of reading the file, which is named on the page already.
func (s *Snapshot) missed(err error) {
	s.Incomplete = addMissing(s.Incomplete, err, s.Process.File)
}

// addMissing adds what an error of reading a file says is missing, once.
func addMissing(all []string, err error, file string) []string {
	why := err.Error()
	for _, known := range []string{"flight: ", "read " + file + ": ", flight.ErrIncomplete.Error() + ": "} {
		why = strings.TrimPrefix(why, known)
	}
	if slices.Contains(all, why) {
		return all
	}
	return append(all, why)
}

func (s *Snapshot) miss(format string, args ...any) {
	s.Incomplete = append(s.Incomplete, fmt.Sprintf(format, args...))
}

// judge decides whether the snapshot is complete, and says why not.
func (s *Snapshot) judge(t *tree, lost flight.Lost) {
	l := &s.Lost
	l.Unrecorded, l.Stacks, l.Symbols, l.Scopes = lost.Threads, lost.Stacks, lost.Symbols, lost.Scopes
	l.Strings, l.Names, l.Events, l.Rings, l.Durables = lost.Strings, lost.Names, lost.Events, lost.Rings, lost.Durables
	if n := l.Torn; n > 0 {
		s.miss("%s changed while they were read, and are left out", Count(n, "thread record"))
	}
	if n := l.HalfWritten; n > 0 {
		s.miss("%s written when the process died or was stopped, and may be shown as before that", Count(n, "thread record"))
	}
	if n := l.Unrecorded; n > 0 {
		s.miss("%s not recorded so far: the thread table was full", Count(n, "thread"))
	}
	if n := l.Scopes; n > 0 {
		s.miss("%s not recorded so far, their threads count to the parents: the scope table was full", Count(n, "scope"))
	}
	if n := l.Stacks; n > 0 {
		s.miss("%s not recorded so far: the stack table was full", Count(n, "stack"))
	}
	if n := l.Durables; n > 0 {
		s.miss("%s not described so far, and told as threads: the table was full", Count(n, "durable thread"))
	}
	if n := l.Strings + l.Names; n > 0 {
		s.miss("%s not recorded so far: the name and string tables were full", Count(n, "name"))
	}
	if n := l.Unsymbolised; n > 0 {
		s.miss("%s in part without names: the process has not written their symbols", Count(n, "stack"))
	}
	if n := s.Lost.Unplaced; n > 0 {
		s.miss("%s counted to the root: their scopes are not in the scope table", Count(n, "thread"))
	}
	if n := t.broken; n > 0 {
		s.miss("%s shown below the root: their parents are not in the scope table", Count(n, "scope"))
	}
	if n := s.Rest.Threads; n > 0 {
		s.miss("%s only counted: there are more than %s groups", Count(n, "thread"), Thousands(len(s.Groups)))
	}
	s.Complete = len(s.Incomplete) == 0
}
