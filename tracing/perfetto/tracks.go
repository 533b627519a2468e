package perfetto

import (
	"strconv"
	"time"

	"github.com/vtscope/vtscope/recording"
	"github.com/vtscope/vtscope/runtime/flight"
)

// A trackInfo describes a track.
type trackInfo struct {
	parent  uint64
	name    string
	rank    int  // among its siblings
	counter bool // its events are values
}

// newTrack describes a track, and returns its number.
func (x *export) newTrack(i trackInfo) uint64 {
	x.tracks++
	id := x.base + x.tracks
	x.main.packet()
	b, at := begin(x.w.buf, packetDescriptor)
	b = putUint(b, trackUUID, id)
	b = putText(b, trackName, text(i.name))
	if i.parent != 0 {
		b = putUint(b, trackParent, i.parent)
	}
	if i.counter {
		var inner int
		b, inner = begin(b, trackCounter)
		b = end(putUint(b, counterUnit, unitCount), inner)
	} else {
		b = putUint(b, trackOrdering, orderedByRank)
	}
	b = putUint(b, trackRank, uint64(i.rank))
	x.w.buf = end(b, at)
	x.main.done()
	return id
}

// Ranks among the tracks of a process, and of a scope.
const (
	rankCounters = iota
	rankCarriers
	rankScopes
	rankThreads
	rankOutside
)

func (x *export) describeProcess() {
	x.tracks++
	x.process = x.base + x.tracks
	x.main.packet()
	b, at := begin(x.w.buf, packetDescriptor)
	b = putUint(b, trackUUID, x.process)
	b = putUint(b, trackOrdering, orderedByRank)
	b, inner := begin(b, trackProcess)
	b = putUint(b, processPID, uint64(x.info.PID))
	b = putText(b, processName, text(x.info.Program))
	b = putText(b, processCommand, text(x.info.Exe))
	x.w.buf = end(end(b, inner), at)
	x.main.done()
	x.main.event(0, typeInstant, x.process)
	x.main.named("recording", flight.CategoryRecorder)
	x.main.noteText("settings", x.info.Settings)
	x.main.noteText("go", x.info.GoVersion+" "+x.info.GoArch)
	x.main.sent()
	for _, what := range x.info.Incomplete {
		x.main.event(0, typeInstant, x.process)
		x.main.named("incomplete", flight.CategoryRecorder)
		x.main.noteText("what", what)
		x.main.sent()
	}
}

// A carrier is a carrier's track.
type carrier struct {
	q       *sequence
	open    bool            // it has an open slice
	mounted flight.ThreadID // which is of this one
}

// carrier returns the track of a carrier, nil for [flight.NoCarrier].
func (x *export) carrier(id flight.CarrierID) *carrier {
	if id == flight.NoCarrier {
		return nil
	}
	c := x.carriers[id]
	if c == nil {
		name := "carrier " + strconv.Itoa(int(id))
		for _, s := range x.schedulers {
			if s.ID == x.tracker.Scheduler(id) && s.Name != "" {
				name += " of " + s.Name
			}
		}
		if x.carrierGroup == 0 {
			x.carrierGroup = x.newTrack(trackInfo{parent: x.process, name: "carriers", rank: rankCarriers})
		}
		c = &carrier{q: x.w.sequence(x.newTrack(trackInfo{parent: x.carrierGroup, name: name, rank: int(id)}))}
		x.carriers[id] = c
		x.stats.Carriers++
	}
	return c
}

// mount begins the slice of a thread. Of a thread that nothing is known of th is nil.
func (c *carrier) mount(x *export, t time.Duration, id flight.ThreadID, th *recording.Thread, ready time.Duration) {
	c.leave(x, t, nil)
	c.open, c.mounted = true, id
	name, scope, flow := "thread", x.root, uint64(0)
	if th != nil {
		k := x.thread(th)
		name, scope, flow = k.nameOf(th), k.path, k.flow
		k.flow = 0
	}
	q := c.q
	q.event(t, typeBegin, 0)
	if flow != 0 {
		x.w.buf = putFixed(x.w.buf, eventFlowEnds, flow)
	}
	q.w.buf = putUint(q.w.buf, eventName, q.intern(tableNames, name))
	q.w.buf = putUint(q.w.buf, eventCategory, q.usually(usualThreads))
	q.usualNote(usualThread, noteUint, uint64(id))
	q.usualNote(usualScope, noteShared, q.intern(tableTexts, scope.name))
	if ready > 0 {
		q.usualNote(usualReady, noteUint, uint64(ready))
	}
	q.sent()
}

// leave ends the slice that is open, if there is one. e is what ended it.
func (c *carrier) leave(x *export, t time.Duration, e *recording.Event) {
	if c == nil || !c.open {
		return
	}
	c.open = false
	c.q.event(t, typeEnd, 0)
	if e != nil {
		c.q.noteReason(e.Code)
		if e.Kind == flight.EventPark {
			c.q.noteStack(flight.StackID(e.Ref), x.stackText)
		}
	}
	c.q.sent()
}

// A path is the track of the scopes of one name below the same path.
type path struct {
	name     string
	parent   uint64 // a track
	rank     int
	track    uint64
	children map[string]*path
	lanes    []lane
	counts   [flight.StateCount]int64
	scopes   int64
	counters [pathCounters]counter
	stale    bool // a count has changed since it was last written
}

// A lane is a row of a path's slices: the first one is the path's own track, the others are tracks of the same name, which Perfetto draws as one.
type lane struct {
	track uint64
	taken bool
}

type openScope struct {
	path *path
	lane int // -1: it has no slice
}

// pathBelow returns the path of a scope's name below parent.
func (x *export) pathBelow(parent *path, name string) *path {
	if name == "" {
		name = "scope"
	}
	if p := parent.children[name]; p != nil {
		return p
	}
	if x.stats.ScopeTracks >= x.o.Scopes {
		x.stats.FoldedScopes++
		return parent
	}
	x.stats.ScopeTracks++
	p := x.newPath(parent.track, name, len(parent.children)+int(pathCounters))
	parent.children[name] = p
	return p
}

func (x *export) newPath(parent uint64, name string, rank int) *path {
	p := &path{name: name, parent: parent, rank: rank, children: map[string]*path{}}
	p.track = x.newTrack(trackInfo{parent: parent, name: name, rank: rank})
	p.lanes = []lane{{track: p.track}}
	return p
}

// openScope draws a scope that was opened at t. The root has no slice.
func (x *export) openScope(sc *recording.Scope, t time.Duration) {
	if sc.ID == 0 {
		return
	}
	if _, open := x.open[sc.ID]; open {
		x.closeScope(sc.ID, t)
	}
	parent := x.root
	if above, known := x.open[sc.Parent]; known {
		parent = above.path
	}
	p := x.pathBelow(parent, sc.Name)
	s := openScope{p, p.freeLane(x)}
	x.open[sc.ID] = s
	p.scopes++
	x.counters.changed(p)
	if s.lane < 0 {
		x.stats.HiddenScopes++
		return
	}
	q := x.main
	q.event(t, typeBegin, p.lanes[s.lane].track)
	q.named(sc.Name, flight.CategoryScopes)
	q.noteUint("scope", uint64(sc.ID))
	if sc.Owner != 0 {
		q.noteUint("owner", uint64(sc.Owner))
	}
	if sc.Policy != "" {
		q.noteShared("policy", sc.Policy)
	}
	if sc.Deadline != 0 {
		q.noteInt("deadline", int64(sc.Deadline-max(sc.Opened, 0)))
	}
	if sc.Opened < 0 {
		q.noteUint("open-for", uint64(-sc.Opened))
	}
	q.sent()
}

// freeLane takes a lane of p, or returns -1 if all are taken.
func (p *path) freeLane(x *export) int {
	if x.o.Lanes == 0 {
		return -1
	}
	for i := range p.lanes {
		if !p.lanes[i].taken {
			p.lanes[i].taken = true
			return i
		}
	}
	if len(p.lanes) >= x.o.Lanes {
		return -1
	}
	p.lanes = append(p.lanes, lane{x.newTrack(trackInfo{parent: p.parent, name: p.name, rank: p.rank}), true})
	return len(p.lanes) - 1
}

func (x *export) closeScope(id flight.ScopeID, t time.Duration) {
	s, known := x.open[id]
	if !known {
		return
	}
	delete(x.open, id)
	s.path.scopes--
	x.counters.changed(s.path)
	if s.lane < 0 {
		return
	}
	s.path.lanes[s.lane].taken = false
	x.main.event(t, typeEnd, s.path.lanes[s.lane].track)
	x.main.sent()
}
