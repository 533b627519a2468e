package dump

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/vtscope/vtscope/dump/filter"
	"github.com/vtscope/vtscope/runtime/flight"
)

// ThreadFormat names the JSON document of [ThreadJSON] and its version.
const ThreadFormat = "vtscope/thread/v1"

// A ThreadReport is all that is known of one thread.
type ThreadReport struct {
	Format  string        `json:"format"` // always [ThreadFormat]
	Process Process       `json:"process"`
	Taken   time.Time     `json:"taken"`
	AsOf    time.Time     `json:"as_of"`
	Took    time.Duration `json:"took_ns"`

	Complete   bool     `json:"complete"`
	Incomplete []string `json:"incomplete,omitempty"`

	ID        flight.ThreadID   `json:"id"`
	Name      string            `json:"name,omitempty"`
	Scope     []string          `json:"scope,omitempty"` // names from below the root's
	State     string            `json:"state"`
	Reason    string            `json:"reason,omitempty"`
	Since     *time.Time        `json:"since,omitempty"`   // in State; absent: nobody recorded it, and Wait is 0
	Wait      time.Duration     `json:"wait_ns"`           // how long
	Seen      time.Duration     `json:"seen_ns,omitempty"` // how long ago somebody saw it in Stack, where it may not be any more; absent: Stack is of AsOf
	Torn      bool              `json:"torn,omitempty"`
	Kind      string            `json:"kind"` // virtual, goroutine, os-thread or adopted
	Scheduler string            `json:"scheduler,omitempty"`
	Carrier   *flight.CarrierID `json:"carrier,omitempty"` // it is or was last mounted on; absent: none
	Mounts    uint32            `json:"mounts"`
	Pins      uint32            `json:"pins"`

	Durable *ThreadDurable `json:"durable,omitempty"` // absent: it is no durable thread

	Labels    []Label `json:"labels,omitempty"`     // of the profiler, from the program, by key
	LabelsCut bool    `json:"labels_cut,omitempty"` // there are more, or the last is longer
	Trace     *Trace  `json:"trace,omitempty"`      // that the labels name

	For     *WaitedFor `json:"for,omitempty"`     // what it waits for
	Waker   *Party     `json:"waker,omitempty"`   // who unparked it last
	Creator *Party     `json:"creator,omitempty"` // who made it, if a thread did

	// Created and what follows are zero where the source does not know them.
	Created   time.Time     `json:"created,omitzero"`
	Run       time.Duration `json:"run_ns,omitempty"`
	Ready     time.Duration `json:"ready_ns,omitempty"`
	CPU       time.Duration `json:"cpu_ns,omitempty"`
	Goroutine string        `json:"goroutine,omitempty"` // the address of its g

	Stack *Stack `json:"stack,omitempty"` // all frames; absent: not known

	Owns    []OwnedScope   `json:"owns,omitempty"`    // open scopes
	Locks   []HeldLock     `json:"locks,omitempty"`   // that it holds and for which somebody waits; others are not known
	Waiters []WaitersOfOne `json:"waiters,omitempty"` // who waits for it, or for what it holds
}

// WaitedFor is what a thread waits for.
type WaitedFor struct {
	Thing   string   `json:"thing"`             // such as: mutex "db"
	Cases   []string `json:"cases,omitempty"`   // of a select of several channels those, in no order, 16 at most
	Limited bool     `json:"limited,omitempty"` // with a time limit
	Made    *Place   `json:"made,omitempty"`
	Held    int      `json:"held,omitempty"`
	Holders []Keeper `json:"holders,omitempty"` // some of them; their stacks are not told
	Poller  int      `json:"poller,omitempty"`  // the number of the poller that will wake the thread, as in [Schedulers]; 0: none is known
}

// A HeldLock is a lock that a thread holds.
type HeldLock struct {
	Thing string        `json:"thing"` // such as: mutex "db"
	Made  *Place        `json:"made,omitempty"`
	Held  time.Duration `json:"held_ns,omitempty"` // how long; 0: not known
}

// An OwnedScope is a scope that is a thread's.
type OwnedScope struct {
	ID      flight.ScopeID `json:"id"`
	Scope   []string       `json:"scope"`
	Threads int            `json:"threads"` // of its own
}

// WaitersOfOne are the threads and goroutines that wait for one thing.
type WaitersOfOne struct {
	Thing   string        `json:"thing"`
	Count   int           `json:"count"`
	Longest time.Duration `json:"longest_ns"`
	Example Party         `json:"example"` // who has waited longest
}

// A NoThreadError says that a source has no such thread.
type NoThreadError struct {
	ID      flight.ThreadID
	Threads int // that it has
}

func (e NoThreadError) Error() string {
	return fmt.Sprintf("there is no thread #%d among %s: it has ended, or there never was one", e.ID, Count(e.Threads, "thread"))
}

// TakeThread reads all that is known of a thread. The error is that of [Take], or a [NoThreadError].
func TakeThread(ctx context.Context, src Source, id flight.ThreadID) (*ThreadReport, error) {
	began := time.Now()
	src = Looked(src)
	if w, ok := src.(interface{ WaitsSource() WaitsSource }); ok {
		src = w.WaitsSource() // which knows of each what it waits for
	}
	l, err := List(ctx, src, Options{})
	if err != nil {
		return nil, err
	}
	t, ok, err := l.Find(ctx, id)
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, NoThreadError{ID: id, Threads: l.Threads}
	}
	p := processOf(src, began)
	w := &witness{l: l, src: src, texts: newTexts(src, l.tree, l.Now), t: &t, people: map[flight.ThreadID]*Party{}}
	out := &ThreadReport{
		Format: ThreadFormat, Process: p, Taken: began, AsOf: p.LastSeen,
		ID: id, Name: l.Name(&t), Scope: l.Path(t.Scope)[1:], State: t.State.String(), Wait: t.Wait, Torn: t.Row.Torn,
		Kind: filter.KindOf(t.Row.Flags), Scheduler: w.texts.Scheduler(t.Row.Scheduler), Mounts: t.Row.Mounts, Pins: t.Row.Pins,
	}
	if t.Since != 0 {
		since := src.Time(t.Since)
		out.Since = &since
	}
	out.Seen = seen(seenAgo(&t.Row, l.Now), func(d flight.Ticks) time.Duration { return src.Between(l.Now-d, l.Now) })
	if t.Reason != flight.ReasonNone {
		out.Reason = t.Reason.String()
	}
	if c := t.Row.Carrier; t.Row.Mounts > 0 && c != flight.NoCarrier {
		out.Carrier = &c
	}
	w.stack(out)
	w.detail(out)
	out.Labels, out.LabelsCut = w.texts.labelsOf(id)
	w.l.missed(w.texts.unlabelled)
	out.Trace = traceOf(out.Labels)
	w.waits(out)
	w.durable(out)
	for i := range l.Scopes {
		if s := &l.Scopes[i]; s.Owner == id && s.State == flight.ScopeOpen {
			out.Owns = append(out.Owns, OwnedScope{s.ID, l.Path(i)[1:], s.Threads})
		}
	}
	if err := w.others(ctx, out); err != nil {
		return nil, err
	}
	out.Incomplete = l.Incomplete()
	out.Complete = len(out.Incomplete) == 0
	out.Took = time.Since(began)
	return out, nil
}

// ThreadJSON writes r as one document; the package comment describes it.
func ThreadJSON(w io.Writer, r *ThreadReport) error { return writeDocument(w, r) }

// A witness puts a report together.
type witness struct {
	l     *Listing
	src   Source
	texts *matching
	t     *Thread

	people map[flight.ThreadID]*Party // threads whose names the report wants
	keeps  map[flight.Blocker]bool    // what the thread is, is in, or holds
}

// person returns the party of a thread, whose name others fills in; nil for no thread.
func (w *witness) person(id flight.ThreadID) *Party {
	if id == 0 {
		return nil
	}
	if w.people[id] == nil {
		w.people[id] = &Party{Thread: id}
	}
	return w.people[id]
}

func (w *witness) stack(out *ThreadReport) {
	if w.t.Stack == 0 {
		return
	}
	table := newStackTable(w.src.Stack, SameLines)
	table.shown(w.t.Stack)
	out.Stack = &table.stacks[0]
}

func (w *witness) detail(out *ThreadReport) {
	r, ok := w.src.(interface {
		ThreadDetail(index uint32) (flight.ThreadDetail, error)
	})
	if !ok {
		return
	}
	d, err := r.ThreadDetail(w.t.Row.Index)
	if err != nil || d.ID != w.t.ID {
		return
	}
	out.Creator, out.Run, out.Ready, out.CPU = w.person(d.Creator), d.Run, d.Ready, d.CPU
	if d.Created != 0 {
		out.Created = w.src.Time(d.Created)
	}
	if d.G != 0 {
		out.Goroutine = fmt.Sprintf("%#x", d.G)
	}
}

// durable tells which durable thread the thread is.
func (w *witness) durable(out *ThreadReport) {
	all, err := durablesOf(w.src)
	w.l.missed(err)
	row := all.of(w.t.ID)
	if row == nil {
		return
	}
	out.Durable = durableOf(row)
	if out.For != nil && w.t.Row.Blocker == row.Blocker {
		out.For.Limited = !row.Until.IsZero() // that the thread hibernates after a while is no limit
	}
}

// waits tells what the thread waits for, and notes what it keeps from others.
func (w *witness) waits(out *ThreadReport) {
	r := &w.t.Row
	out.Waker = w.person(r.Waker)
	w.keeps = map[flight.Blocker]bool{flight.BlockThread(r.ID): true}
	if id := w.l.Scopes[w.t.Scope].ID; id != 0 {
		w.keeps[flight.BlockScope(id)] = true
	}
	rows, err := w.src.Blockers()
	w.l.missed(err)
	for i := range rows {
		for _, h := range rows[i].Known() {
			if h.Party.Thread() == r.ID {
				if isLock(rows[i].Blocker) && !w.keeps[rows[i].Blocker] {
					out.Locks = append(out.Locks, w.held(&rows[i], h))
				}
				w.keeps[rows[i].Blocker] = true
			}
		}
	}
	switch w.t.State {
	case flight.StateMounted, flight.StateRunnable, flight.StateNew, flight.StateDone:
		return
	}
	if c, ok := w.src.(interface{ Cases(uint32) []flight.Blocker }); ok {
		if all := c.Cases(r.Index); len(all) > 0 {
			out.For = &WaitedFor{Thing: "one of several channels"}
			for _, b := range all {
				out.For.Cases = append(out.For.Cases, w.texts.Blocker(b))
			}
			return
		}
	}
	if r.Blocker == 0 {
		return
	}
	f := &WaitedFor{Thing: w.texts.Blocker(r.Blocker), Limited: r.Limited}
	if r.Blocker.Kind() == flight.BlockedByThread {
		f.Holders = []Keeper{{Party: *w.person(flight.ThreadID(r.Blocker.ID())), Stack: -1}}
	}
	if i := slices.IndexFunc(rows, func(row flight.BlockerRow) bool { return row.Blocker == r.Blocker }); i >= 0 {
		row := &rows[i]
		f.Held = int(row.Held)
		f.Made = w.place(row.Made)
		f.Poller = int(row.Pollers[0])
		if w.t.Reason == flight.ReasonWrite {
			f.Poller = int(row.Pollers[1])
		}
		for _, h := range row.Known() {
			k := Keeper{Stack: -1}
			if id := h.Party.Thread(); id != 0 {
				k.Party = *w.person(id)
			} else {
				k.Party = goroutineParty(h.Party)
			}
			k.Held = w.heldFor(h)
			f.Holders = append(f.Holders, k)
		}
	}
	out.For = f
}

// held describes a lock that h, the thread, holds.
func (w *witness) held(row *flight.BlockerRow, h flight.Holder) HeldLock {
	return HeldLock{Thing: w.texts.Blocker(row.Blocker), Made: w.place(row.Made), Held: w.heldFor(h)}
}

// heldFor returns how long h has held something, 0 if that is not known.
func (w *witness) heldFor(h flight.Holder) time.Duration {
	if h.Since == 0 {
		return 0
	}
	return max(w.src.Between(h.Since, w.l.Now), 0)
}

// place returns where in the program's own code a stack is, nil if that is not known.
func (w *witness) place(id flight.StackID) *Place {
	if id == 0 {
		return nil
	}
	s, err := w.src.Stack(id)
	if err != nil {
		return nil
	}
	return placeOf(s.Frames)
}

// others tells who waits for what the thread keeps, and fills in the names and states of others.
func (w *witness) others(ctx context.Context, out *ThreadReport) error {
	at := map[flight.Blocker]int{}
	note := func(b flight.Blocker, wait time.Duration, p func() Party) {
		i, ok := at[b]
		if !ok {
			i = len(out.Waiters)
			at[b] = i
			out.Waiters = append(out.Waiters, WaitersOfOne{Thing: w.texts.Blocker(b)})
		}
		o := &out.Waiters[i]
		if o.Count++; o.Count == 1 || wait > o.Longest {
			o.Longest, o.Example = wait, p()
		}
	}
	states := map[flight.ThreadID]Keeper{}
	err := w.l.Each(ctx, func(t *Thread) error {
		if p := w.people[t.ID]; p != nil {
			p.Name, p.Scope = w.l.Name(t), w.l.Path(t.Scope)[1:]
			states[t.ID] = Keeper{Party: *p, State: t.State.String(), For: t.Wait}
		}
		switch t.State {
		case flight.StateMounted, flight.StateRunnable, flight.StateNew, flight.StateDone:
			return nil
		}
		if w.keeps[t.Row.Blocker] && t.ID != w.t.ID {
			note(t.Row.Blocker, t.Wait, func() Party { return Party{Thread: t.ID, Name: w.l.Name(t), Scope: w.l.Path(t.Scope)[1:]} })
		}
		return nil
	})
	if err != nil {
		return err
	}
	if r, ok := w.src.(interface {
		Waits() ([]flight.WaitRow, error)
	}); ok {
		rows, err := r.Waits()
		w.l.missed(err)
		for i := range rows {
			if g := &rows[i]; w.keeps[g.Blocker] {
				note(g.Blocker, max(w.src.Between(g.Since, w.l.Now), 0), func() Party { return goroutineParty(g.Party) })
			}
		}
	}
	slices.SortStableFunc(out.Waiters, func(a, b WaitersOfOne) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Thing, b.Thing))
	})
	if out.For != nil {
		for i := range out.For.Holders {
			k := &out.For.Holders[i]
			if k.Thread == 0 {
				continue
			}
			if s, ok := states[k.Thread]; ok {
				k.Party, k.State, k.For = s.Party, s.State, s.For
			} else {
				k.State = endedState
			}
		}
	}
	return nil
}
