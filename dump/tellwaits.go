package dump

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/vtscope/vtscope/runtime/flight"
)

// maxWaitGroups bounds what [TakeWaits] tells; further groups are only counted.
const maxWaitGroups = 10_000

// maxMembers is how many members of a deadlock are told.
const maxMembers = 100

// A waitKey tells groups apart: pairs of one key are one group.
type waitKey struct {
	family   int32
	kind     flight.BlockerKind
	name     string // of the thing
	at       flight.StackID
	keeper   int32 // family of who keeps it; -1: not known
	deadlock int32
}

// A waitFold is the pairs of one key.
type waitFold struct {
	key    waitKey
	n      int
	timed  int
	extra  int // goroutines
	oldest flight.Ticks
	newest flight.Ticks
	most   int32                   // the pair with the most waiters
	first  int32                   // the pair of who waits longest
	things map[flight.Blocker]bool // if there are several; manyPairs at most
	pairs  int
}

// tell fills the document. Deadlocks that are no more are nil.
func (t *waitsTaker) tell(ctx context.Context, all [][]waitLink) error {
	victims := make([]int, len(all)+1)
	for i := range t.pairs.all {
		p := &t.pairs.all[i]
		victims[t.lockOf(p)] += p.endless()
	}
	for i, c := range all {
		if c != nil {
			t.out.Deadlocks = append(t.out.Deadlocks, t.deadlock(c, victims[i+1]))
		}
	}
	if t.chosen != nil {
		t.pairs = *t.chosen
	}
	t.judged()
	folds := t.fold()
	// Groups name deadlocks by their place in the document.
	place := make([]int, len(all)+1)
	order := make([]int, 0, len(all))
	for i, c := range all {
		if c != nil {
			order = append(order, i+1)
		}
	}
	size := func(d *Deadlock) int { return d.Threads + d.Goroutines + d.Victims }
	by := make([]int, len(order))
	for i := range by {
		by[i] = i
	}
	slices.SortStableFunc(by, func(a, b int) int { return cmp.Compare(size(&t.out.Deadlocks[b]), size(&t.out.Deadlocks[a])) })
	sorted := make([]Deadlock, len(by))
	for i, was := range by {
		sorted[i] = t.out.Deadlocks[was]
		place[order[was]] = i + 1
	}
	t.out.Deadlocks = sorted
	if t.chosen != nil {
		t.keepDeadlocks(folds, place)
	}

	slices.SortFunc(folds, func(a, b *waitFold) int {
		x, y := place[a.key.deadlock], place[b.key.deadlock]
		return cmp.Or(
			cmp.Compare(min(y, 1), min(x, 1)), cmp.Compare(x, y), cmp.Compare(b.n, a.n), cmp.Compare(a.oldest, b.oldest),
			cmp.Compare(a.key.family, b.key.family), cmp.Compare(a.key.kind, b.key.kind), cmp.Compare(a.most, b.most),
		)
	})
	if err := t.keepers(ctx, folds[:min(len(folds), maxWaitGroups)]); err != nil {
		return err
	}
	for i, f := range folds {
		t.out.Waiting += f.n
		t.out.Goroutines += f.extra
		if i >= maxWaitGroups {
			t.out.Rest.Groups++
			t.out.Rest.Threads += f.n
			continue
		}
		g := t.group(f)
		g.Deadlock = place[f.key.deadlock]
		t.out.Groups = append(t.out.Groups, g)
	}
	t.out.Stacks = t.stacks.stacks
	if t.chosen == nil {
		t.orphans()
	}
	return nil
}

// keepDeadlocks leaves out the deadlocks in which none of the folds is, nor waits for one; place is where they are, counted from 1.
func (t *waitsTaker) keepDeadlocks(folds []*waitFold, place []int) {
	meant := make([]bool, len(t.out.Deadlocks)+1)
	for _, f := range folds {
		meant[place[f.key.deadlock]] = true
	}
	moved := make([]int, len(meant))
	var kept []Deadlock
	for i := range t.out.Deadlocks {
		if meant[i+1] {
			kept = append(kept, t.out.Deadlocks[i])
			moved[i+1] = len(kept)
		}
	}
	for i := range place {
		place[i] = moved[place[i]]
	}
	t.out.Deadlocks = append([]Deadlock{}, kept...)
}

// keepers asks for the threads that groups wait for and that nobody had asked for.
func (t *waitsTaker) keepers(ctx context.Context, folds []*waitFold) error {
	if !t.many {
		return nil
	}
	known := len(t.asked.want)
	for _, f := range folds {
		if b := t.pairs.all[f.most].blocker; b.Kind() == flight.BlockedByThread {
			t.asked.add(flight.ThreadID(b.ID()))
		}
	}
	if len(t.asked.want) == known {
		return nil
	}
	return t.ask(ctx)
}

// orphans lists the scopes whose owners have no record any more.
func (t *waitsTaker) orphans() {
	if t.unrecorded {
		return
	}
	for i := range t.scopes {
		s := &t.scopes[i]
		if s.Owner == 0 || s.State == flight.ScopeFree || s.State == flight.ScopeClosed {
			continue
		}
		if _, found := t.asked.rows[s.Owner]; !found {
			t.out.Orphans = append(t.out.Orphans, Orphan{s.ID, t.path(t.family(s.Index)), s.Owner, t.ago(s.Opened)})
		}
	}
	slices.SortStableFunc(t.out.Orphans, func(a, b Orphan) int { return cmp.Compare(b.Open, a.Open) })
}

// lockOf returns the deadlock that a pair is in or waits for, 0 for none.
func (t *waitsTaker) lockOf(p *waitPair) int32 {
	if i, ok := t.nodes.at[p.blocker]; ok && p.endless() > 0 {
		return t.nodes.nodes[i].lock
	}
	return 0
}

// fold puts pairs together that look alike.
func (t *waitsTaker) fold() []*waitFold {
	byKey := map[waitKey]*waitFold{}
	var folds []*waitFold
	for i := range t.pairs.all {
		p := &t.pairs.all[i]
		k := t.key(p)
		f := byKey[k]
		if f == nil {
			f = &waitFold{key: k, oldest: p.first.since, newest: p.newest, most: int32(i), first: int32(i)}
			byKey[k] = f
			folds = append(folds, f)
		}
		f.pairs++
		if p.blocker != t.pairs.all[f.most].blocker && len(f.things) < manyPairs {
			if f.things == nil {
				f.things = map[flight.Blocker]bool{t.pairs.all[f.most].blocker: true}
			}
			f.things[p.blocker] = true
		}
		f.n += int(p.n)
		f.timed += int(p.timed)
		f.extra += int(p.goroutines)
		f.newest = max(f.newest, p.newest)
		if earlier(p.first.since, f.oldest) {
			f.oldest, f.first = p.first.since, int32(i)
		}
		if p.n > t.pairs.all[f.most].n {
			f.most = int32(i)
		}
	}
	return folds
}

func (t *waitsTaker) family(scope flight.ScopeIndex) int32 { return max(t.tree.family(scope), 0) }

func (t *waitsTaker) key(p *waitPair) waitKey {
	k := waitKey{family: t.family(p.scope), kind: p.blocker.Kind(), keeper: -1, deadlock: t.lockOf(p)}
	switch k.kind {
	case flight.BlockedByThread:
		if t.many {
			return k
		}
		if w, ok := t.find(flight.PartyThread(flight.ThreadID(p.blocker.ID()))); ok {
			k.keeper = t.family(w.scope)
		}
		return k
	case flight.BlockedByScope:
		k.name = t.scopeName(p.blocker)
		return k
	case byCarriers:
		return k
	}
	row := t.blockers[p.blocker]
	if row != nil {
		k.name, k.at = row.Name, row.Made
		for _, h := range row.Known() {
			if w, ok := t.find(h.Party); ok {
				k.keeper = t.family(w.scope)
				break
			}
		}
	}
	if k.name == "" && k.at == 0 {
		k.at = p.first.stack
	}
	return k
}

func (t *waitsTaker) scopeName(b flight.Blocker) string {
	if row := t.scopeRow(flight.ScopeID(b.ID())); row != nil {
		return row.Name
	}
	return ""
}

func (t *waitsTaker) scopeRow(id flight.ScopeID) *flight.ScopeRow {
	index, ok := t.indexOf[id]
	if !ok {
		return nil
	}
	at, ok := slices.BinarySearchFunc(t.scopes, index, func(s flight.ScopeRow, i flight.ScopeIndex) int { return cmp.Compare(s.Index, i) })
	if !ok {
		return nil
	}
	return &t.scopes[at]
}

// path returns the names of a family and those above it, below the root's.
func (t *waitsTaker) path(family int32) []string {
	var names []string
	for ; family > 0; family = t.tree.families[family].parent {
		names = append(names, t.tree.families[family].name)
	}
	slices.Reverse(names)
	return names
}

func (t *waitsTaker) thing(b flight.Blocker) Thing {
	x := Thing{Kind: kindName(b), ID: idText(b), Count: 1}
	switch b.Kind() {
	case flight.BlockedByThread:
		if w, ok := t.find(flight.PartyThread(flight.ThreadID(b.ID()))); ok {
			x.Name = t.name(&w)
		}
	case flight.BlockedByScope:
		x.Name = t.scopeName(b)
	case byCarriers:
		rows, err := t.r.Schedulers()
		t.missed(err)
		for i := range rows {
			if rows[i].ID == flight.SchedulerID(b.ID()) {
				x.Name = rows[i].Name
			}
		}
	default:
		if row := t.blockers[b]; row != nil {
			x.Name, x.Made = row.Name, readPlace(t.r, row.Made, flight.ReasonNone)
		}
	}
	return x
}

func kindName(b flight.Blocker) string {
	switch k := b.Kind(); {
	case k == byCarriers:
		return "carriers"
	case k < flight.BlockerKindCount:
		return flight.BlockerKinds[k].Name
	}
	return "unknown"
}

func (t *waitsTaker) name(w *waiter) string {
	return t.r.ThreadName(flight.ThreadRow{ID: w.party.Thread(), Name: w.name})
}

func (t *waitsTaker) party(w *waiter) Party {
	if w.party.Thread() == 0 {
		return goroutineParty(w.party)
	}
	return Party{Thread: w.party.Thread(), Name: t.name(w), Scope: t.path(t.family(w.scope))}
}

func goroutineParty(p flight.Party) Party {
	if p.Goroutine() == 0 {
		return Party{}
	}
	return Party{Goroutine: strconv.FormatUint(p.Goroutine(), 10)}
}

func (t *waitsTaker) stack(id flight.StackID) int { return int(t.stacks.shown(id)) - 1 }

// since returns how long ago a moment was, 0 if it is not known.
func (t *waitsTaker) since(at flight.Ticks) time.Duration {
	if at == 0 {
		return 0
	}
	return t.ago(at)
}

func (t *waitsTaker) deadlock(c []waitLink, waiting int) Deadlock {
	d := Deadlock{Victims: waiting, For: t.ago(c[0].by.since)}
	for i, l := range c {
		count := 1
		if l.pair >= 0 {
			count = t.pairs.all[l.pair].endless()
		}
		d.Victims -= count
		d.For = min(d.For, t.ago(l.by.since))
		if l.by.party.Thread() != 0 {
			d.Threads++
		} else {
			d.Goroutines++
		}
		if i < maxMembers {
			kept := t.nodes.nodes[c[(i+len(c)-1)%len(c)].to].blocker
			d.Members = append(d.Members, Member{
				Party: t.party(&l.by), Count: count, State: l.by.state.String(), Role: l.role, Keeps: t.thing(kept), Held: t.since(l.held),
				Wants: t.thing(t.nodes.nodes[l.to].blocker), For: t.ago(l.by.since), Stack: t.stack(l.by.stack),
			})
		}
	}
	d.Victims = max(d.Victims, 0)
	return d
}

func (t *waitsTaker) group(f *waitFold) WaitGroup {
	first, most := &t.pairs.all[f.first].first, &t.pairs.all[f.most]
	g := WaitGroup{
		Scope: t.path(f.key.family), For: t.thing(most.blocker), Count: f.n, Goroutines: f.extra, Timed: f.timed,
		Shortest: t.since(f.newest), Longest: t.since(f.oldest), Stack: t.stack(first.stack), Example: t.party(first),
	}
	n := len(f.things)
	if n >= manyPairs {
		n = f.pairs
	}
	if n > 1 {
		g.For.Count, g.For.ID = n, ""
		if most.blocker.Kind() == flight.BlockedByThread {
			g.For.Name = ""
		}
	}
	switch b := most.blocker; b.Kind() {
	case flight.BlockedByThread:
		g.Held = g.For.Count
		g.Holders = []Keeper{t.keeper(flight.Holder{Party: flight.PartyThread(flight.ThreadID(b.ID()))})}
	case flight.BlockedByScope:
	case byCarriers:
		for _, w := range t.seizers {
			if w.scheduler == flight.SchedulerID(b.ID()) {
				if g.Held++; len(g.Holders) < flight.HoldersKept {
					g.Holders = append(g.Holders, t.keeper(flight.Holder{Party: w.party, Since: w.since}))
				}
			}
		}
	default:
		row := t.blockers[b]
		if row == nil {
			break
		}
		g.Capacity, g.Available, g.Held = row.Capacity, row.Available, int(row.Held)
		for _, h := range row.Known() {
			k := t.keeper(h)
			if k.State == endedState && t.moving[b] {
				k.State = ""
			}
			g.Gone = g.Gone || k.State == endedState
			g.Holders = append(g.Holders, k)
		}
	}
	return g
}

// endedState is the state of a thread that has no record any more.
const endedState = "ended"

func (t *waitsTaker) keeper(h flight.Holder) Keeper {
	k := Keeper{Party: goroutineParty(h.Party), Held: t.since(h.Since), Stack: -1}
	w, found := t.find(h.Party)
	if found {
		k.Party, k.State, k.For = t.party(&w), w.state.String(), t.ago(w.since)
		if w.state != flight.StateMounted && w.state != flight.StateNew {
			k.Stack = t.stack(w.stack)
		}
	} else if id := h.Party.Thread(); id != 0 {
		if k.Thread = id; !t.unrecorded {
			k.State = endedState
		}
	}
	return k
}
