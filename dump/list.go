package dump

import (
	"context"
	"slices"
	"time"

	"github.com/vtscope/vtscope/runtime/flight"
)

// StackHolds is a flag that sources set in the rows of mounted threads whose stack is what they execute. Without it, as in flight files, which never have it,
// the stack of a mounted thread is where it parked last.
const StackHolds flight.RecordFlags = 1 << 31

// A Thread is one thread of a [Listing].
type Thread struct {
	ID      flight.ThreadID
	Scope   int // index in [Listing.Scopes]
	State   flight.State
	Reason  flight.Reason
	Since   flight.Ticks
	Wait    time.Duration    // how long it has been in State; 0 where Since is: nobody recorded it
	Stack   flight.StackID   // 0: none that holds is known
	Carrier flight.CarrierID // [flight.NoCarrier] unless it is mounted or pinned
	Row     flight.ThreadRow // what the source says
}

// A ListedScope is one scope of a [Listing].
type ListedScope struct {
	flight.ScopeRow
	Above   int // index in [Listing.Scopes], lower than its own; -1 for the root
	Depth   int
	Threads int // own threads when they were counted, those that the filter does not match too
	Matched int // of them those that it matches
}

// A Listing tells the threads of a source one by one. Its memory grows with the scopes, not with the threads. It is for one goroutine at a time.
type Listing struct {
	Source  Source
	Scopes  []ListedScope // depth-first, a parent before its children; Scopes[0] is the root
	Threads int           // that match the filter
	Now     flight.Ticks

	position   []int32 // of a scope in Scopes, by its index in the file; noPosition: none
	holds      map[flight.CarrierID]flight.Hold
	match      *matching
	tree       *tree // of match
	names      *flight.Names
	named      int // read by names
	incomplete []string
	torn       int // rows of the last pass
	unplaced   int
}

const (
	noPosition int32 = -1

	namesKept  = 1 << 18 // that are read before they are forgotten
	looksAgain = 3       // at scopes, for threads of scopes that were opened meanwhile
)

// maxHeld is how many rows a pass of [Listing.ByScope] may hold. Only tests change it.
var maxHeld = 1 << 19

// List counts the threads of a source that match the filter of o, which is all that it takes from there. Errors are those of [Take].
func List(ctx context.Context, src Source, o Options) (*Listing, error) {
	src = Looked(src)
	l := &Listing{Source: src}
	if m, ok := src.(Moment); ok {
		l.incomplete = m.Incomplete()
	}
	rings, err := src.Rings()
	l.missed(err)
	l.holds = holdsOf(rings)
	for again := range looksAgain {
		scopes, err := src.Scopes()
		l.missed(err)
		l.Now = src.Now()
		l.place(scopes)
		l.tree = newTree()
		l.tree.add(scopes)
		l.match = newMatching(o.Filter, src, l.tree, l.Now)
		if err := l.count(ctx); err != nil {
			return nil, err
		}
		if l.unplaced == 0 || again == looksAgain-1 {
			break
		}
	}
	return l, nil
}

func (l *Listing) count(ctx context.Context) error {
	l.Threads = 0
	return l.pass(ctx, func(t *Thread, matched bool) bool {
		l.Scopes[t.Scope].Threads++
		if matched {
			l.Scopes[t.Scope].Matched++
			l.Threads++
		}
		return true
	})
}

// place puts the scopes in their order.
func (l *Listing) place(rows []flight.ScopeRow) {
	slices.SortStableFunc(rows, func(a, b flight.ScopeRow) int { return int(int64(a.Index) - int64(b.Index)) })
	top := flight.ScopeIndex(0)
	for i := range rows {
		if rows[i].Index < maxScopeIndex {
			top = max(top, rows[i].Index)
		}
	}
	row := make([]int32, top+1) // 1 + position in rows
	for i := range rows {
		if r := &rows[i]; r.State != flight.ScopeFree && r.Index <= top && r.Index > 0 {
			row[r.Index] = int32(i) + 1
		}
	}
	first, next := make([]int32, top+1), make([]int32, top+1) // children of a scope, as lists of indexes; 0 ends them
	for i := top; i > 0; i-- {
		if row[i] == 0 {
			continue
		}
		up := rows[row[i]-1].Parent
		if up > top || row[up] == 0 || up == i {
			up = 0
		}
		next[i], first[up] = first[up], int32(i)
	}
	l.position = make([]int32, top+1)
	for i := range l.position {
		l.position[i] = noPosition
	}
	l.Scopes = l.Scopes[:0]
	root := flight.ScopeRow{State: flight.ScopeOpen, Name: "root"}
	type visit struct{ index, above int32 }
	grow := func(start visit, r flight.ScopeRow) {
		todo := []visit{start}
		for len(todo) > 0 {
			v := todo[len(todo)-1]
			todo = todo[:len(todo)-1]
			if next[v.index] != 0 && v.index != start.index {
				todo = append(todo, visit{next[v.index], v.above})
			}
			if l.position[v.index] != noPosition {
				continue
			}
			at := int32(len(l.Scopes))
			l.position[v.index] = at
			s := ListedScope{ScopeRow: r, Above: int(v.above)}
			if v.index != 0 {
				s.ScopeRow = rows[row[v.index]-1]
			}
			if v.above >= 0 {
				s.Depth = l.Scopes[v.above].Depth + 1
			}
			l.Scopes = append(l.Scopes, s)
			if first[v.index] != 0 {
				todo = append(todo, visit{first[v.index], at})
			}
		}
	}
	grow(visit{0, -1}, root)
	for i := range row { // circles of parents
		if row[i] != 0 && l.position[i] == noPosition {
			grow(visit{int32(i), 0}, root)
		}
	}
}

// pass visits all threads in the order of the source until visit returns false. t is valid until visit returns.
func (l *Listing) pass(ctx context.Context, visit func(t *Thread, matched bool) bool) error {
	l.unplaced = 0
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stopped := false
	var t Thread
	torn, err := l.Source.Threads(ctx, func(rows []flight.ThreadRow) {
		for i := range rows {
			if stopped {
				return
			}
			if r := &rows[i]; r.State != flight.StateFree && r.State < flight.StateCount {
				matched := l.tell(&t, r)
				if !visit(&t, matched) {
					stopped = true
					cancel()
				}
			}
		}
	})
	if stopped {
		return nil
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	l.torn = torn
	l.missed(err)
	return nil
}

// tell fills t, and reports whether the filter matches it.
func (l *Listing) tell(t *Thread, r *flight.ThreadRow) bool {
	heldAs(r, l.holds[r.Carrier])
	at := noPosition
	if uint64(r.Scope) < uint64(len(l.position)) {
		at = l.position[r.Scope]
	}
	if at == noPosition {
		l.unplaced++
		at = 0
	}
	*t = Thread{ID: r.ID, Scope: int(at), State: r.State, Reason: r.Reason, Since: r.Since, Stack: r.Stack, Carrier: flight.NoCarrier, Row: *r}
	t.Stack, t.Reason = holding(r)
	if r.State == flight.StateMounted || r.State == flight.StatePinned {
		t.Carrier = r.Carrier
	}
	if r.Since != 0 && r.Since.Before(l.Now) {
		t.Wait = l.Source.Between(r.Since, l.Now)
	}
	if l.match == nil {
		return true
	}
	key := groupKey{max(l.tree.family(r.Scope), 0), t.Stack, t.State, t.Reason}
	return l.match.matches(key.family, r, &key)
}

// holding returns the stack and the reason of a thread: its record keeps what it said when the thread last parked, which holds until the thread
// executes again.
func holding(r *flight.ThreadRow) (flight.StackID, flight.Reason) {
	switch {
	case r.State == flight.StateMounted && r.Flags&StackHolds != 0:
		return r.Stack, flight.ReasonNone
	case r.State == flight.StateMounted, r.State == flight.StateNew, r.State == flight.StateDone:
		return 0, flight.ReasonNone
	case r.Reason == flight.ReasonYield:
		return 0, r.Reason
	case r.Reason >= flight.ReasonCount:
		return r.Stack, flight.ReasonNone
	}
	return r.Stack, r.Reason
}

// Each visits the threads that match the filter, in the order of the source, until visit returns an error, which it returns. t is valid until visit returns.
func (l *Listing) Each(ctx context.Context, visit func(t *Thread) error) error {
	var failed error
	if err := l.pass(ctx, func(t *Thread, matched bool) bool {
		if matched {
			failed = visit(t)
		}
		return failed == nil
	}); err != nil {
		return err
	}
	return failed
}

// Find returns a thread, whatever the filter is, and whether there is one.
func (l *Listing) Find(ctx context.Context, id flight.ThreadID) (found Thread, ok bool, err error) {
	err = l.pass(ctx, func(t *Thread, _ bool) bool {
		if t.ID == id {
			found, ok = *t, true
		}
		return !ok
	})
	return found, ok, err
}

// ByScope visits every scope, in the order of Scopes, and after each of them its threads that match the filter, until a function returns an error, which it
// returns. It reads the source several times where it has more than half a million threads: one that lives all the while is visited once, others may be.
func (l *Listing) ByScope(ctx context.Context, scope func(at int) error, thread func(t *Thread) error) error {
	var held []flight.ThreadRow
	var at []int32 // scopes of held
	for from := 0; from < len(l.Scopes); {
		to, n := from, 0
		for to < len(l.Scopes) && (to == from || n+l.Scopes[to].Matched <= maxHeld) {
			n += l.Scopes[to].Matched
			to++
		}
		if n > maxHeld { // a scope that is too large to be held comes as it is read
			if err := scope(from); err != nil {
				return err
			}
			if err := l.Each(ctx, func(t *Thread) error {
				if t.Scope == from {
					return thread(t)
				}
				return nil
			}); err != nil {
				return err
			}
			from = to
			continue
		}
		held, at = held[:0], at[:0]
		if n > 0 || from == 0 {
			if held == nil {
				held, at = make([]flight.ThreadRow, 0, min(n+n/8, maxHeld)), make([]int32, 0, min(n+n/8, maxHeld))
			}
			if err := l.Each(ctx, func(t *Thread) error {
				if from <= t.Scope && t.Scope < to {
					held, at = append(held, t.Row), append(at, int32(t.Scope))
				}
				return nil
			}); err != nil {
				return err
			}
		}
		if err := l.sorted(from, to, held, at, scope, thread); err != nil {
			return err
		}
		from = to
	}
	return nil
}

// sorted visits the scopes in [from, to) with their threads, which are rows; at are the scopes of those.
func (l *Listing) sorted(from, to int, rows []flight.ThreadRow, at []int32, scope func(int) error, thread func(*Thread) error) error {
	starts := make([]int32, to-from+1)
	for _, s := range at {
		starts[int(s)-from+1]++
	}
	for i := range to - from {
		starts[i+1] += starts[i]
	}
	order := make([]int32, len(rows))
	next := slices.Clone(starts)
	for i, s := range at {
		order[next[int(s)-from]] = int32(i)
		next[int(s)-from]++
	}
	var t Thread
	unplaced := l.unplaced
	for s := from; s < to; s++ {
		if err := scope(s); err != nil {
			return err
		}
		for _, i := range order[starts[s-from]:starts[s-from+1]] {
			l.tell(&t, &rows[i])
			t.Scope = s
			if err := thread(&t); err != nil {
				return err
			}
		}
	}
	l.unplaced = unplaced
	return nil
}

// Name returns the name of a thread, "" if it has none.
func (l *Listing) Name(t *Thread) string {
	if t.Row.Name == 0 {
		return ""
	}
	r, ok := l.Source.(interface{ Names() *flight.Names })
	if !ok {
		return l.Source.ThreadName(t.Row)
	}
	if l.names == nil || l.named == namesKept {
		l.names, l.named = r.Names(), 0
	}
	l.named++
	return l.names.Of(t.Row)
}

// Creator returns who made a thread, 0 if nobody is known.
func (l *Listing) Creator(t *Thread) flight.ThreadID {
	r, ok := l.Source.(interface {
		ThreadDetail(index uint32) (flight.ThreadDetail, error)
	})
	if !ok {
		return 0
	}
	if d, err := r.ThreadDetail(t.Row.Index); err == nil && d.ID == t.ID {
		return d.Creator
	}
	return 0
}

// Path returns the names of the scopes from the root to Scopes[scope].
func (l *Listing) Path(scope int) []string {
	var path []string
	for ; scope >= 0; scope = l.Scopes[scope].Above {
		path = append(path, l.Scopes[scope].Name)
	}
	slices.Reverse(path)
	return path
}

// Incomplete tells what is missing of the threads that were visited last, one short sentence each.
func (l *Listing) Incomplete() []string {
	s := Snapshot{Incomplete: slices.Clone(l.incomplete)}
	s.Lost.Torn, s.Lost.Unplaced = l.torn, l.unplaced
	s.judge(&tree{}, l.Source.Lost())
	return s.Incomplete
}

func (l *Listing) missed(err error) {
	if err != nil {
		l.incomplete = addMissing(l.incomplete, err, l.Source.Process().Path)
	}
}
