package dump

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/vtscope/vtscope/runtime/flight"
)

// namedGroups is the number of groups, the largest ones, whose examples have names: reading names by the ten
// thousand would take longer than all else.
const namedGroups = 1000

// Take reads the threads of a flight file and folds them. It does not pause the process, and works as
// well when the process is stopped or gone. What the file holds may be damaged: then the snapshot says in
// Incomplete what is missing. The error is that of ctx, or says that not even the header makes sense.
func Take(ctx context.Context, r *flight.Reader, o Options) (*Snapshot, error) {
	began := time.Now()
	p := processOf(r, began)
	s := &Snapshot{Format: Format, Taken: began, AsOf: p.LastSeen, Process: p}

	t := newTree()
	scopes, err := r.Scopes()
	if err != nil {
		s.missed(err)
	}
	t.add(scopes)
	s.ScopeCount = max(countOpen(scopes), 1)

	now := r.Now()
	f := newFolder(t, now, o)
	rings, err := r.Rings()
	if err != nil {
		s.missed(err)
	}
	f.holds = holdsOf(rings)
	torn, err := r.Threads(ctx, f.add)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		s.missed(err)
	}
	if len(f.later) > 0 {
		more, err := r.Scopes()
		if err != nil {
			s.missed(err)
		}
		t.add(more)
		f.settle()
	}
	f.sum()
	s.Lost.Torn = torn + f.bad
	s.Lost.Unplaced = f.unplaced

	stacks := newStackTable(r.Stack)
	groups := f.mergeEqualStacks(stacks.shown)
	s.Stacks = stacks.stacks
	s.Lost.Unsymbolised = stacks.bare

	var position []int
	s.Scopes, position = t.scopes()
	for i := range t.families {
		if until := t.families[i].until; until != 0 {
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
	s.Rest.Threads = f.over
	span := func(ticks flight.Ticks) time.Duration {
		if ticks > now {
			ticks = now
		}
		return max(r.Between(now-ticks, now), 0)
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
	s.Groups = make([]Group, len(order))
	for i, g := range order {
		out := &s.Groups[i]
		*out = Group{
			Scope: position[g.key.family], Stack: int(g.key.stack) - 1, State: g.key.state, Reason: g.key.reason,
			Count:    g.waits.n,
			Wait:     Wait{span(g.waits.min), span(g.waits.median()), span(g.waits.max)},
			Examples: make([]Example, g.kept),
		}
		if !g.mixed && g.blocker != 0 {
			out.Blocker = g.blocker.String()
			if name := named[g.blocker]; name != "" {
				out.Blocker = kindName(g.blocker) + " " + strconv.Quote(name)
			}
		}
		slices.SortFunc(g.examples[:g.kept], func(a, b example) int {
			return cmp.Or(cmp.Compare(b.wait, a.wait), cmp.Compare(a.id, b.id))
		})
		for j, e := range g.examples[:g.kept] {
			out.Examples[j] = Example{ID: e.id, Wait: span(e.wait)}
			if i < namedGroups {
				out.Examples[j].Name = r.ThreadName(flight.ThreadRow{ID: e.id, Name: e.name})
			}
		}
		out.Key = s.groupKey(out)
	}
	s.judge(t, r.Lost())
	s.Took = time.Since(began)
	return s, nil
}

// processOf describes the process of a flight file, as it is now.
func processOf(r *flight.Reader, now time.Time) Process {
	p := r.Process()
	out := Process{
		PID: p.PID, UID: p.UID, Program: p.Program, Exe: p.Exe, GoVersion: p.GoVersion, Started: p.Start,
		Status: Status(p.Status.String()), LastSeen: now, File: p.Path,
	}
	if out.Status.Gone() {
		out.LastSeen = p.LastSeen
	}
	return out
}

// blockerNames returns the names that users have given to what threads wait for.
func blockerNames(s *Snapshot, r *flight.Reader) map[flight.Blocker]string {
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
	return newHash.word(s.Scopes[g.Scope].Key).word(g.State.String()).word(g.Reason.String()).word(stack).String()
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
	l.Strings, l.Names, l.Events, l.Rings = lost.Strings, lost.Names, lost.Events, lost.Rings
	if n := l.Torn; n > 0 {
		s.miss("%s changed while they were read, and are left out", Count(n, "thread record"))
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
