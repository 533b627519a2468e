package perfetto

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/vtscope/vtscope/recording"
	"github.com/vtscope/vtscope/runtime/flight"
)

// A thread is what is kept of a live thread, at its slot: a line of the cache, since there may be a million.
type thread struct {
	id    flight.ThreadID // of whom this is: another id of the slot's thread means that nothing is known
	name  string          // its entry function; "" if that is not known
	path  *path           // of its scope
	scope flight.ScopeID  // that path is for
	flow  uint64          // an arrow that leads to its next mount; 0: none
	own   *ownTrack       // nil: it has none
	state flight.State    // that it is counted as; free: it is not
	asked bool            // whether it is to have a track of its own
}

const blockSlots = 1024

// An ownTrack is the track of a thread.
type ownTrack struct {
	q    *sequence
	open bool // what the thread does has a slice
}

// ends ends the slice of what the thread did.
func (o *ownTrack) ends(t time.Duration) {
	if o.open {
		o.open = false
		o.q.event(t, typeEnd, 0)
		o.q.sent()
	}
}

// thread returns what is kept of th.
func (x *export) thread(th *recording.Thread) *thread {
	block := th.Slot / blockSlots
	for block >= len(x.threads) {
		x.threads = append(x.threads, new([blockSlots]thread))
	}
	k := &x.threads[block][th.Slot%blockSlots]
	if k.id != th.ID {
		x.endFlow(k, x.now)
		*k = thread{id: th.ID, path: x.root, own: x.drawn[th.ID]}
	}
	if k.scope != th.Scope {
		k.scope = th.Scope
		x.moveTo(k, x.pathOf(th.Scope))
	}
	return k
}

// pathOf returns the path of a scope; of one that is not open it is the root.
func (x *export) pathOf(id flight.ScopeID) *path {
	if s, open := x.open[id]; open {
		return s.path
	}
	return x.root
}

// moveTo counts the thread in another path.
func (x *export) moveTo(k *thread, p *path) {
	if k.state != flight.StateFree {
		k.path.counts[k.state]--
		p.counts[k.state]++
		x.counters.changed(k.path)
		x.counters.changed(p)
	}
	k.path = p
}

// count counts the thread as s; free and done are not counted.
func (x *export) count(k *thread, s flight.State) {
	if s == flight.StateDone {
		s = flight.StateFree
	}
	if s == k.state {
		return
	}
	if k.state != flight.StateFree {
		x.counters.states[k.state].add(-1)
		k.path.counts[k.state]--
	}
	if s != flight.StateFree {
		x.counters.states[s].add(1)
		k.path.counts[s]++
	}
	k.state = s
	x.counters.changed(k.path)
}

// nameOf is what slices of the thread are called: its name, or else the function that it began with, as far as that has been seen.
func (k *thread) nameOf(th *recording.Thread) string {
	switch {
	case th.Name != "":
		return th.Name
	case k.name != "":
		return k.name
	}
	return "thread"
}

// sawStack notes the function that the thread began with.
func (x *export) sawStack(k *thread, id flight.StackID) {
	if k.name != "" || id == 0 {
		return
	}
	name, known := x.entries[id]
	if !known {
		st := x.src.Stack(id)
		for i := len(st.Frames) - 1; i >= 0 && !st.Truncated; i-- {
			if !st.Frames[i].Internal {
				name = st.Frames[i].Func
				break
			}
		}
		if len(x.entries) < maxEntries {
			x.entries[id] = name
		}
	}
	k.name = name
}

const maxEntries = 1 << 17

// stackText is a stack, innermost frame first, one in a line. Frames of Go's runtime and of ours are left out, unless there are no others.
func (x *export) stackText(id flight.StackID) string {
	st := x.src.Stack(id)
	internal := !slices.ContainsFunc(st.Frames, func(f flight.Frame) bool { return !f.Internal })
	var b strings.Builder
	for _, f := range st.Frames {
		if f.Internal && !internal {
			continue
		}
		if b.Len() > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(f.Func)
		if f.File != "" {
			b.WriteString(" " + f.File + ":" + strconv.Itoa(f.Line))
		}
	}
	if st.Truncated {
		b.WriteString("\n…")
	}
	return b.String()
}

// ownTrack gives a thread a track of its own if it is to have one.
func (x *export) ownTrack(k *thread, th *recording.Thread) {
	if k.asked || k.own != nil {
		return
	}
	k.asked = true
	if !x.draws || x.stats.ThreadTracks >= x.o.Threads {
		x.stats.OtherThreads++
		return
	}
	if x.group == 0 {
		x.group = x.newTrack(trackInfo{parent: x.process, name: "threads", rank: rankThreads})
	}
	name := "#" + strconv.FormatUint(uint64(th.ID), 10)
	if th.Name != "" || k.name != "" {
		name = k.nameOf(th) + " " + name
	}
	x.stats.ThreadTracks++
	k.own = &ownTrack{q: x.w.sequence(x.newTrack(trackInfo{parent: x.group, name: name, rank: x.stats.ThreadTracks}))}
	x.drawn[th.ID] = k.own
}

// draw begins the slice of what a thread does, on its own track.
func (x *export) draw(k *thread, th *recording.Thread, t time.Duration) {
	k.own.ends(t)
	k.own.open = true
	q := k.own.q
	q.event(t, typeBegin, 0)
	q.named(th.State.String(), flight.CategoryThreads)
	if th.State == flight.StateMounted && th.Carrier != flight.NoCarrier {
		q.noteUint("carrier", uint64(th.Carrier))
	}
	q.noteReason(th.Reason)
	if text := th.Blocker.String(); th.Blocker != 0 && text != "" {
		q.noteText("blocker", text)
	}
	if th.State == flight.StateRunnable && th.Waker != 0 {
		q.noteUint("by", uint64(th.Waker))
	}
	if th.State != flight.StateRunnable { // then it is that of the wait before
		q.noteStack(th.Stack, x.stackText)
	}
	q.sent()
}

// changed takes note of what an event did to a thread.
func (x *export) changed(c *recording.Change, t time.Duration) *thread {
	th := c.Thread
	k := x.thread(th)
	x.sawStack(k, th.Stack)
	x.count(k, th.State)
	if th.State != flight.StateRunnable && th.State != flight.StateNew && k.own == nil {
		// Not before it is mounted: its name comes soon after its start.
		if x.ownTrack(k, th); k.own != nil && c.From == flight.StateRunnable {
			was := *th
			was.State, was.Reason, was.Stack, was.Blocker = c.From, c.Reason, c.Stack, c.Blocker
			x.draw(k, &was, c.Since)
		}
	}
	switch {
	case k.own == nil:
	case th.State == flight.StateDone:
		k.own.ends(t)
	default:
		x.draw(k, th, t)
	}
	return k
}

// begin draws what threads and scopes do at the start of the recording, or again where events are missing.
func (x *export) begin(s *recording.State) {
	t := max(x.now, s.At)
	x.now = t
	x.schedulers = append(x.schedulers[:0], s.Scheduler...)
	x.dropFlows(t)
	for _, id := range sorted(x.drawn) {
		x.drawn[id].ends(t)
	}
	x.draws = x.draws || !x.started && len(s.Threads) <= x.o.Threads
	x.tracker.Reset(s)
	x.beginScopes(s, t)
	x.counters.reset(x)
	// Nothing that is kept by slot is known any more.
	for _, block := range x.threads {
		clear(block[:])
	}
	on := map[flight.CarrierID]flight.ThreadID{}
	x.tracker.Threads(func(th *recording.Thread) bool {
		k := x.thread(th)
		x.sawStack(k, th.Stack)
		x.count(k, th.State)
		if x.ownTrack(k, th); k.own != nil {
			x.draw(k, th, t)
		}
		if th.State == flight.StateMounted || th.State == flight.StatePinned {
			if c := x.carrier(th.Carrier); c != nil {
				on[th.Carrier] = th.ID
				if !c.open || c.mounted != th.ID {
					c.mount(x, t, th.ID, th, 0)
				}
			}
		}
		return true
	})
	for _, id := range sorted(x.carriers) {
		if c := x.carriers[id]; c.mounted != on[id] || on[id] == 0 {
			c.leave(x, t, nil)
		}
	}
	x.started = true
}

// beginScopes makes the scopes of s those that are drawn as open.
func (x *export) beginScopes(s *recording.State, t time.Duration) {
	there := map[flight.ScopeID]bool{}
	for i := range s.Scopes {
		there[s.Scopes[i].ID] = true
	}
	for _, id := range sorted(x.open) {
		if !there[id] {
			x.closeScope(id, t)
		}
	}
	for i := range s.Scopes {
		if _, open := x.open[s.Scopes[i].ID]; !open {
			x.openScope(&s.Scopes[i], t)
		}
	}
}

func sorted[K cmp.Ordered, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }
