package agent

import (
	"fmt"
	"slices"
	"strconv"
	"sync"

	"github.com/vtscope/vtscope/runtime/flight"
)

// A look is what a client's frame is made for.
type look struct {
	agent *Agent
	want  Subscription
	why   string // why there is no process to look at; else ""
	view  *view  // as it was at the moment that the client looks at; nil: there is none
	line  *view  // as it is now, with the time line
	at    *Moment
	shown *view  // of the threads that the filter matches
	group string // key of the group in full
	cost  Cost
	tells uint64 // of the cost
	from  uint64 // number of the first point that the client lacks
	next  uint64 // and of the first one that it will
}

// A panel is a member of frames, by the name it has in [Frame]. What is not asked for is neither made nor sent.
type panel struct {
	name   string
	survey bool // it shows what surveys read
	asked  bool // only who names it gets it: it is large

	// Of a process: what is sent (nil: nothing), and on what of the look that depends, beside the view. Clients whose looks depend on the same share the encoding.
	make func(*look) any
	on   func(*look) string

	line bool // it is of look.line, and not of the moment

	none any      // is sent when there is no process; nil: nothing is
	key  []string // members that tell its rows from each other; nil: it is always sent as a whole
}

func onProcess(*look) string { return "" }
func onCost(l *look) string  { return strconv.FormatUint(l.tells, 10) + " " + l.want.Filter }
func onDelay(l *look) string {
	if l.view.from.past == nil || l.line == nil {
		return ""
	}
	return fmt.Sprint(" ", l.line.version)
}
func onTree(l *look) string {
	return fmt.Sprintf("%s\x00%s\x00%+v\x00%s", l.want.Order, l.want.Scope, l.want.Open, l.want.Filter)
}
func onScope(l *look) string {
	return l.group + "\x00" + l.want.Scope + "\x00" + l.want.Filter + "\x00" + strconv.FormatUint(l.agent.marks.version(), 10)
}
func onGroups(l *look) string { return onScope(l) + "\x00" + l.want.GroupOrder }
func onCalls(l *look) string {
	return l.want.Scope + "\x00" + l.want.Filter + "\x00" + l.want.Func + "\x00" + strconv.FormatBool(l.want.Runtime)
}
func onPoints(l *look) string { return strconv.FormatUint(l.from, 10) }
func onMoment(l *look) string {
	return fmt.Sprint(l.want.At, l.at.Shown, l.at.Busy, l.at.Missing, l.at.Back, l.at.Forth)
}

// panels are all members of frames but the list of processes, in the order in which they are sent.
var panels = []panel{
	{name: "process", on: func(l *look) string { return onCost(l) + onDelay(l) }, key: noRows,
		make: func(l *look) any { return l.header() }},
	{name: "moment", on: onMoment, key: noRows, line: true, none: &Moment{Back: []int64{}, Forth: []int64{}},
		make: func(l *look) any { return l.at }},
	{name: "scopes", on: onTree, key: []string{"key"}, none: &Scopes{Rows: []ScopeRow{}},
		make: func(l *look) any { return l.shown.tree(&l.want) }},
	{name: "groups", on: onGroups, key: []string{"key"}, none: &Groups{Rows: []GroupRow{}},
		make: func(l *look) any {
			out := l.shown.groupsBy(l.want.GroupOrder, l.want.Scope, l.group)
			l.agent.marks.note(l.shown.snapshot, out.Rows)
			return out
		}},
	{name: "stack", on: onScope, key: noRows, none: &Stack{Frames: []FrameRow{}, Examples: []ThreadRow{}},
		make: func(l *look) any { return l.stack() }},
	{name: "flame", asked: true, on: onCalls, key: noRows, none: noCalls(),
		make: func(l *look) any { return l.shown.calls(l.callsOf(false)) }},
	{name: "callers", asked: true, on: onCalls, key: noRows, none: noCalls(),
		make: func(l *look) any { return l.callers() }},
	{name: "carriers", on: onProcess, key: []string{"id"}, none: &Carriers{Rows: []CarrierRow{}},
		make: func(l *look) any { return l.view.carriers(l.view.asOf(l.view.made)) }},
	{name: "schedulers", on: onProcess, key: []string{"id"}, none: &Schedulers{Rows: []SchedulerRow{}},
		make: func(l *look) any { return l.view.schedulers() }},
	{name: "pinSites", survey: true, on: onProcess, key: []string{"func", "file", "line", "reason"}, none: noSurvey().pins,
		make: func(l *look) any { return l.view.seen.pins }},
	{name: "pollers", survey: true, on: onProcess, key: []string{"number"}, none: noSurvey().pollers,
		make: func(l *look) any { return l.view.seen.pollers }},
	{name: "delays", survey: true, on: onProcess, key: []string{"scope"}, none: noSurvey().delays,
		make: func(l *look) any { return l.view.seen.delays }},
	{name: "slowIO", survey: true, on: onProcess, key: noRows, none: noSurvey().slow,
		make: func(l *look) any { return l.view.seen.slow }},
	{name: "warnings", survey: true, on: onProcess, key: []string{"kind", "reason", "func", "file", "line"}, none: noSurvey().warnings,
		make: func(l *look) any { return l.view.seen.warnings }},
	{name: "findings", on: onProcess, key: []string{"key"}, none: &Findings{Rows: []FindingRow{}, Unjudged: []UnjudgedRow{}},
		make: func(l *look) any { return l.view.findings() }},
	{name: "events", on: onProcess, key: []string{"kind"}, none: &Events{Rows: []EventRow{}, Program: []ProgramRow{}},
		make: func(l *look) any { return l.view.events() }},
	{name: "points", on: onPoints, line: true,
		make: func(l *look) any { return l.points() }},
}

// noRows is the key of a panel that has no rows, or none that are sent apart.
var noRows = []string{}

// panelNames are the names that a subscription can give.
func panelNames() (names []string) {
	for i := range panels {
		names = append(names, panels[i].name)
	}
	return names
}

// header is the process as a whole, or why there is none.
func (l *look) header() *Process {
	if l.view == nil {
		return &Process{Missing: l.why, Counts: make([]int, flight.StateCount), Cost: l.cost, Snapshot: Taken{Incomplete: []string{}}}
	}
	p := l.view.header(l.cost, l.agent.options.Interval)
	if s := l.shown.snapshot; s != nil {
		p.Snapshot.ChangeOver = int64(s.ChangeOver)
	}
	if l.view.from.past != nil && l.line != nil { // a recording has no figures of schedulers
		p.Delay = l.line.history.delay(l.view.moment())
	}
	return p
}

// stack is the group in full, or why there is none.
func (l *look) stack() *Stack {
	none := &Groups{}
	if l.group == "" {
		none = l.shown.groups(l.want.Scope, "")
	}
	out := l.shown.stack(l.group, none)
	if out.Row != nil {
		rows := []GroupRow{*out.Row}
		l.agent.marks.note(l.shown.snapshot, rows)
		out.Row = &rows[0]
	}
	return out
}

func (l *look) callsOf(outward bool) callsOf {
	return callsOf{l.want.Scope, l.want.Func, outward, l.want.Runtime}
}

// callers are those of the function that is subscribed to; of none there are none.
func (l *look) callers() *Calls {
	if l.want.Func == "" {
		return noCalls()
	}
	return l.shown.calls(l.callsOf(true))
}

// points are the new points of the time line, or nil.
func (l *look) points() any {
	points, _, reset := l.line.history.since(l.from)
	if len(points) == 0 && !reset {
		return nil
	}
	return newPoints(points, reset)
}

// part is the panel as it is sent to a client with this look; nil: nothing is to be sent.
func (p *panel) part(l *look) *part {
	if l.view == nil {
		if p.name == "process" {
			return newPart(l.header(), p.key)
		}
		return newPart(p.none, p.key)
	}
	of := l.view
	if p.line {
		of = l.line
	}
	return of.shelf.part(p.name+"\x00"+p.on(l), func() *part { return newPart(p.make(l), p.key) })
}

// A processList is the list of all processes, encoded once for all clients.
type processList struct {
	mu   sync.Mutex
	last listed
}

type listed struct {
	rows []ProcessRow
	part *part
}

// rows returns the list of processes as frames have it.
func (a *Agent) rows() listed {
	rows := a.allRows()
	a.list.mu.Lock()
	defer a.list.mu.Unlock()
	if a.list.last.part == nil || !slices.Equal(a.list.last.rows, rows) {
		a.list.last = listed{rows, newPart(rows, []string{"key"})}
	}
	return a.list.last
}

// A shelf keeps the parts of one view, for the clients that look at it.
type shelf struct {
	mu    sync.Mutex
	parts map[string]*part
}

func (s *shelf) part(key string, make func() *part) *part {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p, ok := s.parts[key]; ok {
		return p
	}
	if s.parts == nil {
		s.parts = map[string]*part{}
	}
	p := make()
	s.parts[key] = p
	return p
}
