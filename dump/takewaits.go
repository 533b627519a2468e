package dump

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/vtscope/vtscope/runtime/flight"
)

// TakeWaits reads who waits for whom, from a flight file or another source. It does not pause the process, and works as well when the process is stopped or gone. What
// the file holds may be damaged: then Incomplete says what is missing. The error is that of ctx, or says that not even the header makes sense.
//
// A deadlock of a process that runs is looked at twice: those who are in it waited for the same all the time, and the holders are of a moment in between.
func TakeWaits(ctx context.Context, src Source) (*Waits, error) {
	r := waitsSource(Looked(src))
	if r == nil {
		return nil, ErrNoWaits
	}
	t := beginWaits(r, time.Now())
	torn, err := r.Threads(ctx, t.threads)
	return t.finish(ctx, torn, err)
}

// finish puts together what was read, after the threads were visited with that result.
func (t *waitsTaker) finish(ctx context.Context, torn int, err error) (*Waits, error) {
	if err := t.readRest(ctx, torn, err); err != nil {
		return nil, err
	}
	w := t.out
	if !w.Process.Status.Gone() {
		t.reread()
	}
	w.Process.unseen(w.Threads)
	t.graph()
	deadlocks := t.circles()
	if len(deadlocks) > 0 && !w.Process.Status.Gone() {
		if deadlocks, err = t.confirm(ctx, deadlocks); err != nil {
			return nil, err
		}
	}
	if t.choose != nil {
		if err := t.choose(ctx); err != nil {
			return nil, err
		}
	}
	if err := t.tell(ctx, deadlocks); err != nil {
		return nil, err
	}
	w.Complete = len(w.Incomplete) == 0
	w.Took = time.Since(w.Taken)
	return w, nil
}

// A waitsTaker holds what is read of a flight file until it is put together.
type waitsTaker struct {
	r   WaitsSource
	now flight.Ticks
	out *Waits

	tree       *tree
	scopes     []flight.ScopeRow
	indexOf    map[flight.ScopeID]flight.ScopeIndex
	blockers   map[flight.Blocker]*flight.BlockerRow
	goroutines map[flight.Party]waiter
	seized     map[flight.SchedulerID]bool // all of its carriers are held
	seizers    []waiter                    // threads that hold a carrier of those
	pairs      waitPairs
	holds      map[flight.CarrierID]flight.Hold
	loose      loose
	waiting    *waitingSet
	asked      *idSet
	unrecorded bool                    // there may be threads without a record
	moving     map[flight.Blocker]bool // went from one holder to another while all this was read
	many       bool                    // not all threads that others wait for are asked for

	choose func(context.Context) error // fills chosen, after the graph is made; nil: all are told of
	chosen *waitPairs                  // those to tell of

	stacks *stackTable
	nodes  waitGraph
}

// beginWaits reads what must be read before the threads.
func beginWaits(r WaitsSource, began time.Time) *waitsTaker {
	p := processOf(r, began)
	t := &waitsTaker{
		r: r, now: r.Now(),
		out:     &Waits{Format: WaitsFormat, Taken: began, AsOf: p.LastSeen, Process: p, Deadlocks: []Deadlock{}, Groups: []WaitGroup{}, Orphans: []Orphan{}},
		indexOf: map[flight.ScopeID]flight.ScopeIndex{}, blockers: map[flight.Blocker]*flight.BlockerRow{},
		goroutines: map[flight.Party]waiter{}, moving: map[flight.Blocker]bool{}, seized: map[flight.SchedulerID]bool{},
		tree: newTree(), asked: newIDSet(), waiting: new(waitingSet), stacks: newStackTable(r.Stack, SameLines),
	}
	if m, ok := r.(Moment); ok {
		t.out.Incomplete = m.Incomplete()
	}
	t.nodes.at = map[flight.Blocker]int32{}
	t.pairs.hint = r.Process().Threads
	var err error
	t.scopes, err = r.Scopes()
	t.missed(err)
	t.tree.add(t.scopes)
	for i := range t.scopes {
		t.indexOf[t.scopes[i].ID] = t.scopes[i].Index
		t.asked.add(t.scopes[i].Owner)
	}
	rings, err := r.Rings()
	t.missed(err)
	t.seize(rings)
	t.holds = holdsOf(rings)
	rows, err := r.Blockers()
	t.missed(err)
	for i := range rows {
		t.blockers[rows[i].Blocker] = &rows[i]
		for _, h := range rows[i].Known() {
			t.asked.add(h.Party.Thread())
		}
	}
	return t
}

// readRest reads what must be read after the threads.
func (t *waitsTaker) readRest(ctx context.Context, torn int, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	t.missed(err)
	if torn > 0 {
		t.miss(Count(torn, "thread record") + " changed while they were read, and are left out")
	}
	waits, err := t.r.Waits()
	t.missed(err)
	for i := range waits {
		t.goroutine(&waits[i])
	}
	if err := t.joined(ctx); err != nil {
		return err
	}
	t.lost(t.r.Lost())
	return nil
}

func (t *waitsTaker) lost(l flight.Lost) {
	if l.Threads > 0 {
		t.unrecorded = true
		t.miss(Count(l.Threads, "thread") + " not recorded so far: the thread table was full")
	}
	if l.Blockers > 0 {
		t.miss(Count(l.Blockers, "blocker") + " not recorded so far, so that name and holders are not known: the table was full")
	}
	if l.Waits > 0 {
		t.miss(Count(l.Waits, "wait") + " of goroutines not recorded so far: the table was full")
	}
}

func (t *waitsTaker) missed(err error) {
	if err != nil {
		t.out.Incomplete = addMissing(t.out.Incomplete, err, t.out.Process.File)
	}
}

func (t *waitsTaker) miss(why string) { t.out.Incomplete = append(t.out.Incomplete, why) }

func (t *waitsTaker) ago(at flight.Ticks) time.Duration { return max(t.r.Between(at, t.now), 0) }

// seize finds the schedulers of which all carriers are held: their runnable threads wait for those.
func (t *waitsTaker) seize(rings []flight.RingRow) {
	for i := range rings {
		g := &rings[i]
		if g.Owner != flight.RingOfCarrier || g.Scheduler == 0 || g.State == flight.CarrierFree || g.State == flight.CarrierStopped {
			continue
		}
		held := g.State == flight.CarrierHeld
		if was, ok := t.seized[g.Scheduler]; ok {
			held = held && was
		}
		t.seized[g.Scheduler] = held
	}
}

func (t *waitsTaker) threads(rows []flight.ThreadRow) {
	for i := range rows {
		row := &rows[i]
		if row.State == flight.StateFree || row.State >= flight.StateCount {
			continue
		}
		t.out.Threads++
		t.asked.meet(row)
		if w, ok := t.waiterOf(row, &t.out.Others); ok {
			t.pairs.add(w)
			if w.waits() {
				t.waiting.add(row.ID)
			}
		}
	}
}

// waiterOf returns what a thread is in the graph, if it waits for somebody. If it waits for nobody, others counts why.
func (t *waitsTaker) waiterOf(row *flight.ThreadRow, others *Reasons) (w waiter, ok bool) {
	switch row.State {
	case flight.StateParked, flight.StateTimedParked, flight.StateBlocked, flight.StateWaiting, flight.StatePinned:
		if row.State == flight.StatePinned && t.seized[row.Scheduler] {
			w := waiterOf(row)
			t.seizers = append(t.seizers, w)
			t.asked.rows[row.ID] = w
		}
		switch row.Blocker.Kind() {
		case flight.BlockedByNone, flight.BlockedByTimer, flight.BlockedByFile, flight.BlockedBySocket, flight.BlockedBySignal, flight.BlockedByPermit, flight.BlockedByChild:
			others[min(row.Reason, flight.ReasonCount-1)]++
			t.loose.note(row)
		default:
			return waiterOf(row), true
		}
	case flight.StateMounted:
		if hold := t.holds[row.Carrier]; hold.Thread == row.ID && row.ID != 0 && hold.Reason != flight.ReasonMonopoly {
			held := *row // it cannot record itself that it is pinned; somebody saw it
			held.State, held.Reason, held.Stack, held.Blocker, held.Limited = flight.StatePinned, hold.Reason, hold.Stack, 0, false
			others[min(hold.Reason, flight.ReasonCount-1)]++
			t.loose.note(&held)
		} else {
			t.loose.note(row)
		}
	case flight.StateHibernated:
		others[min(row.Reason, flight.ReasonCount-1)]++
	case flight.StateRunnable:
		if t.seized[row.Scheduler] {
			w = waiterOf(row)
			w.blocker = carriersOf(row.Scheduler)
			return w, true
		}
	}
	return w, false
}

func (t *waitsTaker) goroutine(row *flight.WaitRow) {
	w := waiter{party: row.Party, since: row.Since, blocker: row.Blocker, stack: row.Stack, state: row.State, timed: row.Until != 0 || row.State == flight.StateTimedParked, open: waitsForSome(row.Blocker, row.Reason)}
	t.goroutines[row.Party] = w
	if w.blocker != 0 {
		t.pairs.add(w)
	}
}

// joined looks for the threads that others wait for and that nobody had asked for yet: of very many only for those that wait themselves, since the others
// are in no circle.
func (t *waitsTaker) joined(ctx context.Context) error {
	known := len(t.asked.want) // they have ended
	t.many = len(t.pairs.all) > manyPairs
	for i := range t.pairs.all {
		b := t.pairs.all[i].blocker
		if id := flight.ThreadID(b.ID()); b.Kind() == flight.BlockedByThread && (!t.many || t.waiting.has(id)) {
			t.asked.add(id)
		}
	}
	if len(t.asked.want) == known {
		return nil
	}
	return t.ask(ctx)
}

// ask reads the threads that are asked for.
func (t *waitsTaker) ask(ctx context.Context) error {
	_, err := t.r.Threads(ctx, func(rows []flight.ThreadRow) {
		for i := range rows {
			t.asked.meet(&rows[i])
		}
	})
	if ctx.Err() == nil {
		t.missed(err)
	}
	return ctx.Err()
}

// reread reads again what holds that somebody without a record is said to hold. Records of blockers are older than those of threads: one whose holders are others
// meanwhile was handed over, by a thread that has ended since or not.
func (t *waitsTaker) reread() {
	ended := func(row *flight.BlockerRow) bool {
		return slices.ContainsFunc(row.Known(), func(h flight.Holder) bool {
			_, found := t.find(h.Party)
			return !found && h.Party.Thread() != 0
		})
	}
	var doubtful []*flight.BlockerRow
	for _, row := range t.blockers {
		if ended(row) {
			doubtful = append(doubtful, row)
		}
	}
	if len(doubtful) == 0 {
		return
	}
	rows, err := t.r.Blockers()
	t.missed(err)
	again := make(map[flight.Blocker]*flight.BlockerRow, len(rows))
	for i := range rows {
		again[rows[i].Blocker] = &rows[i]
	}
	for _, row := range doubtful {
		if now := again[row.Blocker]; now == nil || now.Since != row.Since || !slices.Equal(now.Known(), row.Known()) {
			t.moving[row.Blocker] = true
		}
	}
}

// find returns what is known of a party, and whether it is there: a thread that is not has ended.
func (t *waitsTaker) find(p flight.Party) (w waiter, found bool) {
	if id := p.Thread(); id != 0 {
		w, found = t.asked.rows[id]
		if found && w.state == flight.StateRunnable && t.seized[w.scheduler] {
			w.blocker = carriersOf(w.scheduler)
		}
		return w, found
	}
	w, found = t.goroutines[p]
	return w, found
}

// graph links what is waited for without a time limit with what those wait for who keep it.
func (t *waitsTaker) graph() {
	g := &t.nodes
	joinedScopes := map[flight.ScopeIndex]int32{}
	for i := range t.pairs.all {
		p := &t.pairs.all[i]
		if p.endless() == 0 || !t.mayBeStuck(p.blocker) {
			continue
		}
		n := g.node(p.blocker)
		if p.blocker.Kind() == flight.BlockedByScope {
			if at, ok := t.indexOf[flight.ScopeID(p.blocker.ID())]; ok {
				joinedScopes[at] = n
			}
		}
	}
	// No node is added from here on.
	for i := range g.nodes {
		t.links(int32(i))
	}
	for i := range t.pairs.all {
		p := &t.pairs.all[i]
		n, ok := joinedScopes[p.scope]
		to, known := g.at[p.blocker]
		if ok && known && p.endless() > 0 && p.first.party.Thread() != 0 {
			g.link(n, waitLink{to: to, by: p.first, pair: int32(i), role: "is in"})
		}
	}
	g.free()
}

// mayBeStuck reports whether anything is known that could keep b for ever.
func (t *waitsTaker) mayBeStuck(b flight.Blocker) bool {
	switch b.Kind() {
	case flight.BlockedByThread:
		_, found := t.find(flight.PartyThread(flight.ThreadID(b.ID())))
		return found
	case flight.BlockedByScope, byCarriers:
		return true
	}
	return t.blockers[b] != nil
}

// links links node i to what those wait for who keep it.
func (t *waitsTaker) links(i int32) {
	n := &t.nodes.nodes[i]
	b := n.blocker
	switch b.Kind() {
	case flight.BlockedByThread:
		t.keeps(i, flight.Holder{Party: flight.PartyThread(flight.ThreadID(b.ID()))}, "is")
	case flight.BlockedByScope:
		if at, ok := t.indexOf[flight.ScopeID(b.ID())]; ok {
			t.owner(i, at)
		}
	case byCarriers:
		n.any = true
		for _, w := range t.seizers {
			if w.scheduler == flight.SchedulerID(b.ID()) {
				t.keeps(i, flight.Holder{Party: w.party, Since: w.since}, "holds one of")
			}
		}
	default:
		row := t.blockers[b]
		if row == nil {
			return
		}
		known := row.Known()
		if b.Kind() == flight.BlockedBySemaphore || b.Kind() == flight.BlockedByQueue {
			n.any = true
			n.open = len(known) < int(row.Held)
		}
		for _, h := range known {
			t.keeps(i, h, "holds")
		}
	}
}

// keeps notes that a party keeps node i.
func (t *waitsTaker) keeps(i int32, h flight.Holder, role string) {
	w, found := t.find(h.Party)
	to, ok := t.nodes.at[w.blocker]
	if !found || !ok || !w.waits() {
		if t.nodes.nodes[i].any {
			t.nodes.nodes[i].open = true
		}
		return
	}
	t.nodes.link(i, waitLink{to: to, by: w, pair: -1, held: h.Since, role: role})
}

// owner notes that who waits for the threads of a scope, and is not its owner, waits for the owner to close it.
func (t *waitsTaker) owner(i int32, scope flight.ScopeIndex) {
	at, ok := slices.BinarySearchFunc(t.scopes, scope, func(s flight.ScopeRow, i flight.ScopeIndex) int { return cmp.Compare(s.Index, i) })
	if !ok || t.scopes[at].Owner == 0 {
		return
	}
	if w, found := t.find(flight.PartyThread(t.scopes[at].Owner)); found && w.blocker != t.nodes.nodes[i].blocker {
		t.keeps(i, flight.Holder{Party: w.party}, "owns")
	}
}

// circles returns a circle for each deadlock.
func (t *waitsTaker) circles() [][]waitLink {
	var all [][]waitLink
	for _, set := range t.nodes.circles() {
		if c := t.nodes.circle(set); len(c) > 0 {
			all = append(all, c)
			t.nodes.mark(set, len(all))
		}
	}
	return all
}

// settling is for how long a circle has to last in a process that lives.
const settling = 100 * time.Millisecond

// confirm leaves out the circles of which a member has gone on meanwhile. Since the members read a second time have waited since before the holders are
// read a second time, each still holds then what it is said to hold.
//
// Who has overtaken others is told as the holder only when one of those has run. A deadlock lasts: so it waits for longer than that takes.
func (t *waitsTaker) confirm(ctx context.Context, all [][]waitLink) ([][]waitLink, error) {
	select {
	case <-time.After(settling):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	blockers, err := t.r.Blockers()
	t.missed(err)
	holders := map[flight.Blocker]*flight.BlockerRow{}
	for i := range blockers {
		holders[blockers[i].Blocker] = &blockers[i]
	}
	again := newIDSet()
	for _, c := range all {
		for _, l := range c {
			again.add(l.by.party.Thread())
		}
	}
	if _, err := t.r.Threads(ctx, func(rows []flight.ThreadRow) {
		for i := range rows {
			again.meet(&rows[i])
		}
	}); ctx.Err() != nil {
		return nil, ctx.Err()
	} else if err != nil {
		t.missed(err)
	}
	waits, err := t.r.Waits()
	t.missed(err)
	goroutines := map[flight.Party]flight.Ticks{}
	for i := range waits {
		goroutines[waits[i].Party] = waits[i].Since
	}
	same := func(c []waitLink) bool {
		for k, l := range c {
			kept := t.nodes.nodes[c[(k+len(c)-1)%len(c)].to].blocker
			row := holders[kept]
			if l.role == "holds" && (row == nil || !slices.ContainsFunc(row.Known(), func(h flight.Holder) bool { return h.Party == l.by.party })) {
				return false
			}
			since, ok := goroutines[l.by.party]
			if id := l.by.party.Thread(); id != 0 {
				var w waiter
				w, ok = again.rows[id]
				since = w.since
			}
			if !ok || since != l.by.since {
				return false
			}
		}
		return true
	}
	for i, c := range all {
		if !same(c) {
			all[i] = nil
			for n := range t.nodes.nodes {
				if t.nodes.nodes[n].lock == int32(i)+1 {
					t.nodes.nodes[n].lock = 0
				}
			}
		}
	}
	return all, nil
}

func idText(b flight.Blocker) string {
	if k := b.Kind(); k < flight.BlockerKindCount && flight.BlockerKinds[k].Hex {
		return "0x" + strconv.FormatUint(b.ID(), 16)
	}
	return strconv.FormatUint(b.ID(), 10)
}
