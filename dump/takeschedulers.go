package dump

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/vtscope/vtscope/runtime/flight"
)

// TakeSchedulers reads what a flight file says about the schedulers of its process. It does not pause the process, and works as well when the
// process is stopped or gone. What the file holds may be damaged: then Incomplete says what is missing. The error is that of ctx, or says that
// not even the header makes sense.
func TakeSchedulers(ctx context.Context, r *flight.Reader) (*Schedulers, error) {
	t, err := beginSchedulers(ctx, r, time.Now(), readRings)
	if err != nil {
		return nil, err
	}
	torn, err := r.Threads(ctx, t.threads)
	return t.finish(ctx, torn, err)
}

// beginSchedulers reads what must be read before the threads; the events of rings, up to a moment that has passed, by events.
func beginSchedulers(ctx context.Context, r *flight.Reader, began time.Time, events func(context.Context, *flight.Reader, []flight.RingRow, flight.Ticks) (*ringEvents, error)) (*schedulersTaker, error) {
	p := processOf(r, began)
	t := &schedulersTaker{
		r: r, now: r.Now(),
		out:      &Schedulers{Format: SchedulersFormat, Taken: began, AsOf: p.LastSeen, Process: p, Schedulers: []Scheduler{}},
		at:       map[flight.SchedulerID]int{},
		mounted:  map[flight.CarrierID]flight.ThreadRow{},
		runnable: map[flight.ScopeIndex]runnable{},
	}
	rows, err := r.Schedulers()
	t.missed(err)
	for i := range rows {
		t.add(&rows[i])
	}
	if t.rings, err = r.Rings(); err != nil {
		t.missed(err)
	}
	t.holds = holdsOf(t.rings)
	t.events, err = events(ctx, r, t.rings, t.now)
	return t, err
}

// A schedulersTaker holds what is read of a flight file until it is put together. Rings are read before threads, so that a thread of which there
// are events has a record, unless it has ended since.
type schedulersTaker struct {
	r   *flight.Reader
	now flight.Ticks
	out *Schedulers
	at  map[flight.SchedulerID]int // in out.Schedulers

	rings    []flight.RingRow
	events   *ringEvents
	holds    map[flight.CarrierID]flight.Hold
	mounted  map[flight.CarrierID]flight.ThreadRow // the thread that was mounted last
	runnable map[flight.ScopeIndex]runnable
}

// runnable counts threads that wait for a carrier.
type runnable struct {
	n       int
	longest time.Duration
}

// finish puts together what was read, after the threads were visited with that result.
func (t *schedulersTaker) finish(ctx context.Context, torn int, err error) (*Schedulers, error) {
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	t.missed(err)
	if torn > 0 {
		t.miss(Count(torn, "thread record") + " changed while they were read, and are left out")
	}
	set, err := t.r.Settings()
	t.missed(err)
	if !t.events.incidentsOnly {
		for _, why := range kindsOff(&set, flight.EventMount, flight.EventUnmount, flight.EventUnpark, flight.EventThreadStart) {
			t.miss(why + ": delays and slices of scopes miss threads")
		}
	}
	for _, why := range kindsOff(&set, incidentKinds[:]...) {
		t.miss(why + ": the incidents miss them")
	}
	for _, why := range t.events.missing {
		t.miss(why)
	}
	t.carriers()
	t.pollers()
	t.pinSites()
	t.incidents()
	t.slow()
	t.out.Scopes = []ScopeDelays{}
	if !t.events.incidentsOnly {
		t.scopes()
	}
	t.whyNone()
	lost := t.r.Lost()
	t.out.Sample.Dropped = lost.Events
	if lost.Rings > 0 {
		t.miss(Count(lost.Rings, "carrier") + " not recorded so far: there was no room for their rings")
	}
	if lost.Threads > 0 {
		t.miss(Count(lost.Threads, "thread") + " not recorded so far: the thread table was full")
	}
	s := t.out
	s.Complete = len(s.Incomplete) == 0
	s.Took = time.Since(s.Taken)
	return s, nil
}

func (t *schedulersTaker) missed(err error) {
	if err != nil {
		t.out.Incomplete = addMissing(t.out.Incomplete, err, t.out.Process.File)
	}
}

func (t *schedulersTaker) miss(why string) { t.out.Incomplete = append(t.out.Incomplete, why) }

// ago returns the time from a moment of the process until now.
func (t *schedulersTaker) ago(at flight.Ticks) time.Duration { return max(t.r.Between(at, t.now), 0) }

func (t *schedulersTaker) add(row *flight.SchedulerRow) {
	t.at[row.ID] = len(t.out.Schedulers)
	s := Scheduler{
		ID: row.ID, Name: row.Name, Began: t.r.Time(row.Began), Told: row.Written != row.Began,
		Written: t.r.Time(row.Written), Age: t.ago(row.Written), Figures: row.Figures,
		Ready: Histogram{row.Ready}, Slice: Histogram{row.Slice}, Carriers: []Carrier{},
	}
	t.out.Schedulers = append(t.out.Schedulers, s)
}

func holdsOf(rings []flight.RingRow) map[flight.CarrierID]flight.Hold {
	var holds map[flight.CarrierID]flight.Hold
	for i := range rings {
		if h := rings[i].Hold; h.Thread != 0 {
			if holds == nil {
				holds = map[flight.CarrierID]flight.Hold{}
			}
			holds[rings[i].Carrier] = h
		}
	}
	return holds
}

func (t *schedulersTaker) threads(rows []flight.ThreadRow) {
	for i := range rows {
		row := &rows[i]
		if row.State == flight.StateFree || row.State >= flight.StateCount {
			continue
		}
		if row.Reason >= flight.ReasonCount {
			row.Reason = flight.ReasonNone
		}
		t.events.meet(row)
		counts, reasons := &t.out.Others.Threads, (*Reasons)(nil)
		if at, ok := t.at[row.Scheduler]; ok {
			counts, reasons = &t.out.Schedulers[at].Threads, &t.out.Schedulers[at].Reasons
		}
		switch row.State {
		case flight.StateMounted, flight.StatePinned:
			if was, ok := t.mounted[row.Carrier]; !ok || was.Since.Before(row.Since) {
				t.mounted[row.Carrier] = *row
			}
			if as := *row; heldAs(&as, t.holds[row.Carrier]) {
				counts[flight.StatePinned]++
				continue
			}
		case flight.StateRunnable:
			q := t.runnable[row.Scope]
			t.runnable[row.Scope] = runnable{q.n + 1, max(q.longest, t.ago(row.Since))}
		case flight.StateParked, flight.StateTimedParked, flight.StateBlocked, flight.StateWaiting, flight.StateHibernated:
			if reasons != nil {
				reasons[row.Reason]++
			}
		}
		counts[row.State]++
	}
}

// carriers lists the carriers of each scheduler with what they do.
func (t *schedulersTaker) carriers() {
	t.out.Others.Carriers = []Carrier{}
	for i := range t.rings {
		ring := &t.rings[i]
		if ring.Owner != flight.RingOfCarrier || ring.State == flight.CarrierFree || ring.State == flight.CarrierStopped {
			continue
		}
		to := &t.out.Others.Carriers
		if at, ok := t.at[ring.Scheduler]; ok {
			to = &t.out.Schedulers[at].Carriers
		}
		*to = append(*to, t.carrier(ring))
	}
	sortCarriers(t.out.Others.Carriers)
	for i := range t.out.Schedulers {
		sortCarriers(t.out.Schedulers[i].Carriers)
	}
}

func (t *schedulersTaker) carrier(ring *flight.RingRow) Carrier {
	c := Carrier{ID: ring.Carrier, State: ring.State}
	row, mounted := t.mounted[ring.Carrier]
	switch h := ring.Hold; {
	case h.Thread != 0 && (!mounted || row.ID == h.Thread):
		c.Thread, c.For, c.Reason, c.Place = h.Thread, t.ago(h.Since), h.Reason, t.place(h.Stack, h.Reason)
		if h.Reason != flight.ReasonMonopoly {
			c.State, c.Seen = flight.CarrierHeld, max(t.ago(h.Seen), 1)
		}
	case mounted && row.State == flight.StatePinned:
		c.State, c.Thread, c.For, c.Reason, c.Place = flight.CarrierHeld, row.ID, t.ago(row.Since), row.Reason, t.place(row.Stack, row.Reason)
	case mounted && ring.State != flight.CarrierIdle:
		c.Thread, c.For = row.ID, t.ago(row.Since)
	}
	if mounted && row.ID == c.Thread {
		c.Name = t.r.ThreadName(row)
	}
	return c
}

func sortCarriers(all []Carrier) {
	rank := func(c *Carrier) int {
		switch {
		case c.State == flight.CarrierHeld:
			return 0
		case c.Reason != flight.ReasonNone:
			return 1
		case c.Thread != 0:
			return 2
		case c.State != flight.CarrierIdle:
			return 3
		}
		return 4
	}
	slices.SortFunc(all, func(a, b Carrier) int {
		return cmp.Or(cmp.Compare(rank(&a), rank(&b)), cmp.Compare(b.For, a.For), cmp.Compare(a.ID, b.ID))
	})
}

func (t *schedulersTaker) pollers() {
	rows, err := t.r.Pollers()
	t.missed(err)
	t.out.Pollers = make([]Poller, len(rows))
	for i, p := range rows {
		t.out.Pollers[i] = Poller{
			Number: int(p.Number), Kind: p.Kind.String(), Watched: p.Watched, Wakeups: p.Wakeups, Ready: p.Ready, Failed: p.Failed, Batches: p.Batches,
		}
		if p.Last != 0 {
			t.out.Pollers[i].Ago = t.ago(p.Last)
		}
	}
}

func (t *schedulersTaker) pinSites() {
	rows, err := t.r.PinSites()
	t.missed(err)
	t.out.PinSites = make([]PinSite, len(rows))
	for i, p := range rows {
		t.out.PinSites[i] = PinSite{t.place(p.Stack, p.Reason), p.Reason, p.Count, p.Total, p.Longest, p.Victims, t.ago(p.Last)}
	}
}

// maxIncidents bounds the incidents that are kept; the newest are.
const maxIncidents = 1000

func (t *schedulersTaker) incidents() {
	all := t.events.incidents
	var ever uint64
	for i := range t.rings {
		for _, k := range incidentKinds {
			ever += t.rings[i].Counts[k]
		}
	}
	t.out.Rest.Overwritten = max(ever, uint64(len(all))) - uint64(len(all))
	slices.SortStableFunc(all, func(a, b flight.Event) int { return cmp.Compare(b.Time, a.Time) })
	t.out.Rest.Incidents = max(len(all)-maxIncidents, 0)
	all = all[:min(len(all), maxIncidents)]
	t.out.Incidents = make([]Incident, len(all))
	for i, e := range all {
		held := flight.Held(e.Arg)
		in := Incident{
			Kind: e.Kind, Ago: t.ago(e.Time), Carrier: e.Carrier, Thread: e.Thread, For: held.Duration(), Victims: held.Victims(),
			Reason: e.Code, Place: t.place(e.Stack, e.Code),
		}
		if row, ok := t.events.threads[e.Thread]; ok && row.ID == e.Thread {
			in.Scheduler, in.Name = row.Scheduler, t.r.ThreadName(row)
		}
		t.out.Incidents[i] = in
	}
}

func (t *schedulersTaker) slow() {
	for _, e := range t.events.slow {
		s := SlowIO{
			Reason: e.Code, Blocker: flight.Blocker(e.Arg).String(), With: e.with, Ago: t.ago(e.Time), For: e.took, Bytes: e.bytes,
			Thread: e.Thread, Place: t.place(e.Stack, e.Code),
		}
		if row, ok := t.events.threads[e.Thread]; ok && row.ID == e.Thread {
			s.Name = t.r.ThreadName(row)
		}
		t.out.Slow = append(t.out.Slow, s)
	}
}

// whyNone says why there are no schedulers.
func (t *schedulersTaker) whyNone() {
	if len(t.out.Schedulers) > 0 {
		return
	}
	for i := range t.rings {
		if t.rings[i].Owner == flight.RingOfCarrier {
			t.out.None = "Its schedulers tell no figures: they have ended, or the program was built with a vtscope of before there were figures."
			return
		}
	}
	t.out.None = "It has no scheduler yet: the first thread that it starts makes one."
}

// place returns where in the program's own code a stack is.
func (t *schedulersTaker) place(id flight.StackID, why flight.Reason) *Place {
	return readPlace(t.r, id, why)
}

func readPlace(r Source, id flight.StackID, why flight.Reason) *Place {
	if id == 0 {
		return nil
	}
	st, err := r.Stack(id)
	if err != nil || len(st.Frames) == 0 {
		return nil
	}
	p := placeOf(st.Frames)
	p.Guessed = why.Guessed()
	if p.Func == "" {
		p.Func = hexAddress(st.Frames[0].PC)
	}
	return p
}

// placeOf returns the innermost frame of the program's own, and the call of the standard library that it made.
func placeOf(frames []flight.Frame) *Place {
	at, calls := -1, ""
	for i := range frames {
		f := &frames[i]
		if f.Internal {
			continue
		}
		if at < 0 {
			at = i
		}
		if !standard(f) {
			at = i
			break
		}
		calls = f.Func
	}
	at = max(at, 0)
	f := &frames[at]
	p := &Place{Frame: Frame{f.Func, f.File, f.Line, f.Inlined, f.Internal}}
	if calls != f.Func {
		p.Calls = calls
	}
	return p
}

// PlaceOf returns where in the program's own code a stack is, innermost frame first; nil of no frames.
func PlaceOf(frames []flight.Frame) *Place {
	if len(frames) == 0 {
		return nil
	}
	return placeOf(frames)
}

// standard reports whether a frame is of the standard library, by the form of its function's name and of its file's. Package runtime has
// functions of other packages, such as time.Sleep.
func standard(f *flight.Frame) bool {
	name := f.Func
	slash := strings.LastIndexByte(name, '/') + 1
	dot := strings.IndexByte(name[slash:], '.')
	if dot < 0 {
		return false
	}
	pkg := name[:slash+dot]
	if first, _, _ := strings.Cut(pkg, "/"); strings.Contains(first, ".") || pkg == "main" {
		return false
	}
	dir := strings.TrimSuffix(f.File, baseName(f.File))
	dir = strings.ReplaceAll(strings.TrimRight(dir, `/\`), `\`, "/")
	for _, home := range []string{pkg, "runtime"} {
		if dir == home || strings.HasSuffix(dir, "/src/"+home) {
			return true
		}
	}
	return false
}
