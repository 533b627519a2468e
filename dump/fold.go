package dump

import (
	"context"

	"github.com/vtscope/vtscope/runtime/flight"
)

// maxExamples is the most examples a group keeps.
const maxExamples = 5

// A groupKey tells groups apart while threads are folded.
type groupKey struct {
	family int32
	stack  flight.StackID
	state  flight.State
	reason flight.Reason
}

// A group is what is kept of the threads of one key. What every thread touches comes first.
type group struct {
	waits    waitStat
	blocker  flight.Blocker
	seen     flight.Ticks // how old the stack is at most; 0: it is of now
	floor    flight.Ticks // a shorter wait, or an equal one, is no example once all are in use
	old      int32        // threads that were there at an earlier look: see [Options.since]
	mixed    bool         // they have different blockers
	limited  bool         // some wait with a time limit
	kept     uint8        // examples in use
	key      groupKey
	examples [maxExamples]example
	holders  *lockHolders // nil: none
}

// An example is a thread that stands for its group. Its wait is the longest but for those before it.
type example struct {
	wait flight.Ticks
	id   flight.ThreadID
	name flight.NameRef
}

// A folder folds threads into groups. Its memory grows with the groups, not with the threads:
//
//	F1  Each thread row counts in exactly one of groups, filtered, over, bad, or later (until [folder.settle]).
//	F2  len(groups) <= maxGroups; further threads count in over, and in the states of their family.
//	F3  len(later) <= maxLater; further threads without a known scope belong to the root.
type folder struct {
	tree      *tree
	now       flight.Ticks
	maxGroups int
	examples  int
	holds     map[flight.CarrierID]flight.Hold // of threads that block in operations of Go's own
	since     flight.ThreadID                  // see [Options.since]
	highest   flight.ThreadID                  // id

	groups []group
	byKey  groupIndex
	last   groupKey // of the row before, at lastAt, if there was one
	lastAt int32

	match    *matching                                          // nil: all match
	filtered int                                                // threads that do not
	sink     func(fam int32, r *flight.ThreadRow, key groupKey) // takes the threads instead of groups; nil: none does
	later    []flight.ThreadRow                                 // of scopes opened after the table of scopes was read
	over     int
	bad      int
	half     int // rows that were being written when the process died or was stopped
	unplaced int

	owners     map[flight.ThreadID]flight.NameRef // owners of scopes, to learn their names
	ownerMaybe [ownerBits / 64]uint64

	locks     map[flight.ThreadID][]flight.Blocker // that threads hold; nil: nobody asks
	lockMaybe [ownerBits / 64]uint64
}

const (
	maxLater  = 1 << 16
	maxOwners = 1 << 12
	ownerBits = 1 << 15
)

func newFolder(t *tree, now flight.Ticks, o Options) *folder {
	f := &folder{
		tree:      t,
		now:       now,
		maxGroups: o.MaxGroups,
		examples:  o.Examples,
		since:     o.since,
		lastAt:    -1,
		owners:    map[flight.ThreadID]flight.NameRef{},
	}
	if f.maxGroups == 0 {
		f.maxGroups = 100_000
	}
	switch {
	case o.Examples == 0, o.Examples > maxExamples:
		f.examples = maxExamples
	case o.Examples < 0:
		f.examples = 0
	}
	var noName flight.NameRef
	for i := range t.families {
		if s := &t.families[i]; s.count == 1 && s.owner != 0 && len(f.owners) < maxOwners {
			f.owners[s.owner] = noName
			f.ownerMaybe[s.owner%ownerBits/64] |= 1 << (s.owner % 64)
		}
	}
	return f
}

// noteLocks lets groups keep their threads that hold locks.
func (f *folder) noteLocks(held map[flight.ThreadID][]flight.Blocker) {
	f.locks = held
	for id := range held {
		f.lockMaybe[id%ownerBits/64] |= 1 << (id % 64)
	}
}

// read folds all threads of a source, and notes in s what is missing. The error is that of ctx.
func (f *folder) read(ctx context.Context, r Source, s *Snapshot) error {
	rings, err := r.Rings()
	if err != nil {
		s.missed(err)
	}
	f.holds = holdsOf(rings)
	torn, err := r.Threads(ctx, f.add)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		s.missed(err)
	}
	if len(f.later) > 0 {
		more, err := r.Scopes()
		if err != nil {
			s.missed(err)
		}
		f.tree.add(more)
		f.settle()
	}
	s.Lost.HalfWritten, s.Lost.Torn, s.Lost.Unplaced = f.half, torn+f.bad, f.unplaced
	return nil
}

// add folds rows, which the caller may reuse afterwards.
func (f *folder) add(rows []flight.ThreadRow) {
	for i := range rows {
		r := &rows[i]
		if f.ownerMaybe[r.ID%ownerBits/64]&(1<<(r.ID%64)) != 0 {
			if _, ok := f.owners[r.ID]; ok {
				f.owners[r.ID] = r.Name
			}
		}
		if r.State == flight.StateMounted && len(f.holds) > 0 {
			heldAs(r, f.holds[r.Carrier])
		}
		fam := f.tree.family(r.Scope)
		if fam < 0 {
			if len(f.later) < maxLater {
				f.later = append(f.later, *r)
				continue
			}
			f.unplaced++
			fam = 0
		}
		f.addTo(fam, r)
	}
}

// settle folds the rows whose scope was not known, after the table of scopes was read again.
func (f *folder) settle() {
	for i := range f.later {
		fam := f.tree.family(f.later[i].Scope)
		if fam < 0 {
			f.unplaced++
			fam = 0
		}
		f.addTo(fam, &f.later[i])
	}
	f.later = nil
}

func (f *folder) addTo(fam int32, r *flight.ThreadRow) {
	if r.State == flight.StateFree || r.State >= flight.StateCount {
		f.bad++
		return
	}
	key := groupKey{family: fam, state: r.State}
	key.stack, key.reason = holding(r)
	if r.Torn {
		f.half++
	}
	if f.match != nil && !f.match.matches(fam, r, &key) {
		f.filtered++
		return
	}
	if f.sink != nil {
		f.sink(fam, r, key)
		return
	}
	if r.Pins != 0 {
		f.tree.families[fam].pins += uint64(r.Pins)
	}
	at := f.lastAt
	if key != f.last || at < 0 {
		var slot *groupSlot
		if slot = f.byKey.slot(key); slot.at == 0 {
			if len(f.groups) >= f.maxGroups {
				f.over++
				f.tree.families[fam].states[r.State]++
				return
			}
			f.groups = append(f.groups, group{key: key, blocker: r.Blocker})
			f.byKey.fill(slot, key, len(f.groups)-1)
			at = int32(len(f.groups)) - 1
		} else {
			at = slot.at - 1
		}
		f.last, f.lastAt = key, at
	}
	g := &f.groups[at]
	if r.Blocker != g.blocker {
		g.mixed = true
	}
	if r.Limited {
		g.limited = true
	}
	if r.ID <= f.since {
		g.old++
	} else {
		f.highest = max(f.highest, r.ID)
	}
	if r.Seen != 0 {
		g.seen = max(g.seen, seenAgo(r, f.now))
	}
	wait := g.waits.addRow(r, f.now)
	if f.lockMaybe[r.ID%ownerBits/64]&(1<<(r.ID%64)) != 0 && len(f.locks[r.ID]) > 0 {
		if g.holders == nil {
			g.holders = new(lockHolders)
		}
		g.holders.add(example{wait, r.ID, r.Name})
	}
	if wait > g.floor || int(g.kept) < f.examples {
		g.keep(example{wait, r.ID, r.Name}, f.examples)
	}
}

// keep puts e in its place among the examples, of which there are at most limit.
func (g *group) keep(e example, limit int) {
	i := int(g.kept)
	for i > 0 && g.examples[i-1].wait < e.wait {
		i--
	}
	if i >= limit {
		return
	}
	if int(g.kept) < limit {
		g.kept++
	}
	copy(g.examples[i+1:g.kept], g.examples[i:g.kept-1])
	g.examples[i] = e
	if int(g.kept) == limit {
		g.floor = g.examples[limit-1].wait
	}
}

// merge adds the threads of o, which must not be used afterwards.
func (g *group) merge(o *group, examples int) {
	g.waits.merge(&o.waits)
	g.seen = max(g.seen, o.seen)
	g.mixed = g.mixed || o.mixed || g.blocker != o.blocker
	g.limited = g.limited || o.limited
	for _, e := range o.examples[:o.kept] {
		g.keep(e, examples)
	}
	switch {
	case g.holders == nil:
		g.holders = o.holders
	case o.holders != nil:
		g.holders.merge(o.holders)
	}
}

// sum adds up the states of the families. It is called once, after the last thread.
func (f *folder) sum() {
	for i := range f.groups {
		k := &f.groups[i].key
		f.tree.families[k.family].states[k.state] += f.groups[i].waits.n
	}
}

// mergeEqualStacks merges groups whose stacks look the same: two calls on one line have two addresses and so
// two stacks in the file. shown maps a stack of the file to one that stands for all that look like it.
func (f *folder) mergeEqualStacks(shown func(flight.StackID) flight.StackID) []group {
	f.byKey = groupIndex{}
	n := 0
	for i := range f.groups {
		g := &f.groups[i]
		g.key.stack = shown(g.key.stack)
		slot := f.byKey.slot(g.key)
		if slot.at != 0 {
			f.groups[slot.at-1].merge(g, f.examples)
			continue
		}
		f.byKey.fill(slot, g.key, n)
		if n != i {
			f.groups[n] = *g
		}
		n++
	}
	f.groups = f.groups[:n]
	f.lastAt = -1
	return f.groups
}

// elapsed returns the ticks from one moment to another, at least 1; [unknownWait] if the first is no moment.
func elapsed(since, now flight.Ticks) flight.Ticks {
	switch {
	case since == 0:
		return unknownWait
	case !since.Before(now):
		return 1
	}
	return now - since
}
