package dump

import (
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/vtscope/vtscope/runtime/flight"
)

// SchedulersJSON writes s as one document; the package comment describes it.
func SchedulersJSON(w io.Writer, s *Schedulers) error {
	return writeDocument(w, s)
}

// defaultRows is how many lines a list of [SchedulersText] has.
const defaultRows = 10

// SchedulersText prints s for a person: each scheduler with its figures and carriers, then the places where threads were pinned, the newest
// incidents, and the scopes whose threads waited longest for carriers. Of o it takes Top, the lines of each list (0 means 10), ASCII, Color and
// Width.
func SchedulersText(w io.Writer, s *Schedulers, o TextOptions) error {
	glyphs, lines := o.drawn()
	p := &schedulersPage{s: s, rows: o.Top, glyphs: glyphs, lines: lines}
	switch {
	case o.Top == 0:
		p.rows = defaultRows
	case o.Top < 0:
		p.rows = 1 << 30
	}
	p.print()
	_, err := io.WriteString(w, p.b.String())
	return err
}

// A schedulersPage is [Schedulers] being printed.
type schedulersPage struct {
	s    *Schedulers
	rows int // of each list
	glyphs
	lines
}

func (p *schedulersPage) print() {
	p.header()
	for i := range p.s.Schedulers {
		p.scheduler(&p.s.Schedulers[i])
	}
	p.others()
	p.pollers()
	p.pinSites()
	p.incidents()
	p.scopes()
}

func (p *schedulersPage) header() {
	s := p.s
	threads := s.Others.Threads.Total()
	for i := range s.Schedulers {
		threads += s.Schedulers[i].Threads.Total()
	}
	p.text(bold, p.process(&s.Process))
	p.text(plain, "  "+Count(len(s.Schedulers), "scheduler")+"  "+Count(threads, "thread"))
	p.endLine()
	p.trust(&s.Process, max(s.Taken.Sub(s.AsOf), 0), s.Took, s.Complete)
	p.endLine()
	p.missing(s.Incomplete)
	if s.None != "" {
		p.endLine()
		p.paragraph(plain, s.None, 0)
	}
}

// labelColumns is how wide the labels of a scheduler's lines are.
const labelColumns = 12

func (p *schedulersPage) label(s string) {
	p.text(plain, "  ")
	p.text(dim, s)
	p.pad(labelColumns)
}

func (p *schedulersPage) scheduler(s *Scheduler) {
	p.endLine()
	p.text(bold, "scheduler "+number(uint64(s.ID)))
	if s.Name != "" {
		p.text(bold, " "+p.quote(s.Name))
	}
	p.text(plain, "   up "+p.words(max(p.s.AsOf.Sub(s.Began), 0))+"   ")
	p.age(s)
	p.endLine()
	if s.Told {
		for _, g := range figureGroups {
			p.figures(g, &s.Figures)
		}
	}
	p.now(s)
	p.histograms(s)
	p.carriers(s.Carriers)
}

// freshFigures is how old figures of a scheduler that works may be without a word: it tells them about every second.
const freshFigures = 3 * time.Second

// age says how old the figures of a scheduler are.
func (p *schedulersPage) age(s *Scheduler) {
	works := false
	for i := range s.Carriers {
		works = works || s.Carriers[i].State != flight.CarrierIdle
	}
	switch status := p.s.Process.Status; {
	case !s.Told:
		p.text(warn, "has not told any figures yet")
	case status.Gone() && s.Age < time.Millisecond:
		p.text(plain, "figures of its last sign of life")
	case status.Gone():
		p.text(plain, "figures of "+p.words(s.Age)+" before its last sign of life")
	case s.Age < freshFigures || status != StatusRunning:
		p.text(plain, "figures are "+p.words(s.Age)+" old")
	case works:
		p.text(warn, "figures are "+p.words(s.Age)+" old, though it tells them every second")
	default:
		p.text(plain, "figures are "+p.words(s.Age)+" old: of when it fell asleep")
	}
}

// A figureGroup is a paragraph of figures.
type figureGroup struct {
	name    string
	figures []flight.Figure
	trouble bool // a figure that is not 0 is worth a look
}

// figureGroups have each figure once.
var figureGroups = []figureGroup{
	{"carriers", []flight.Figure{
		flight.FigureParallelism, flight.FigureMinCarriers, flight.FigureMaxCarriers,
		flight.FigureCarriers, flight.FigureRunning, flight.FigureIdle, flight.FigureHeld, flight.FigureSpare, flight.FigureCalls,
	}, false},
	{"threads", []flight.Figure{flight.FigureMounted, flight.FigureQueued, flight.FigureParked, flight.FigureTimers}, false},
	{"so far", []flight.Figure{
		flight.FigureStarts, flight.FigureEnds, flight.FigureSubmissions, flight.FigureSwitches,
		flight.FigureHandOffs, flight.FigureSteals, flight.FigureCompensations,
	}, false},
	{"trouble", []flight.Figure{
		flight.FigureStarving, flight.FigureAlarms, flight.FigureRejections, flight.FigurePins, flight.FigurePinnedTime, flight.FigureVictims,
		flight.FigureMonopolies, flight.FigureMonopolizedTime,
	}, true},
}

// The columns of a figure: those of its name, and those of its name, number and a gap.
const (
	figureName = 16
	figureCell = 29
)

func (p *schedulersPage) figures(g figureGroup, figures *Figures) {
	perLine := max((p.width-labelColumns+3)/figureCell, 1)
	for i, f := range g.figures {
		switch {
		case i == 0:
			p.label(g.name)
		case i%perLine == 0:
			p.endLine()
			p.pad(labelColumns)
		}
		start := labelColumns + i%perLine*figureCell
		p.pad(start)
		v := figures[f]
		nameStyle, valueStyle := plain, plain
		switch {
		case v == 0:
			nameStyle, valueStyle = dim, dim
		case g.trouble:
			valueStyle = warn
		}
		p.text(nameStyle, f.String())
		p.right(valueStyle, p.figure(f, v), start+figureCell-3)
	}
	p.endLine()
}

func (p *schedulersPage) figure(f flight.Figure, v uint64) string {
	if flight.Figures[f].Unit == flight.FieldDuration {
		return p.span(time.Duration(v))
	}
	return Thousands(v)
}

// now prints what the thread records say of the scheduler's threads.
func (p *schedulersPage) now(s *Scheduler) {
	p.label("now")
	p.states(&s.Threads)
	var reasons []lineItem
	for i, n := range s.Reasons {
		if n > 0 {
			reasons = append(reasons, lineItem{plain, reasonName(flight.Reason(i)), " " + Thousands(n)})
		}
	}
	if len(reasons) > 0 {
		p.label("parked by")
		p.items(reasons)
	}
}

func (p *schedulersPage) states(c *Counts) {
	var items []lineItem
	for _, st := range stateOrder {
		if n := c[st]; n > 0 {
			items = append(items, lineItem{stateStyle(st), st.String(), " " + Thousands(n)})
		}
	}
	if len(items) == 0 {
		items = []lineItem{{dim, "no threads", ""}}
	}
	p.items(items)
}

// items ends lines with items, after a label.
func (p *schedulersPage) items(all []lineItem) {
	for i, it := range all {
		gap := ""
		if i > 0 {
			gap = "   "
		}
		if p.col > labelColumns && p.at()+len(gap)+Columns(it.word)+Columns(it.tail) > p.width {
			p.endLine()
			p.pad(labelColumns)
			gap = ""
		}
		p.text(plain, gap)
		p.text(it.style, it.word)
		p.text(plain, it.tail)
	}
	p.endLine()
}

// A column of a table has its heading, how wide it is, and its cells on the right or on the left.
type column struct {
	head  string
	width int
	left  bool
}

// heads prints the headings of a table. The last column has the rest of the line.
func (p *schedulersPage) heads(columns []column) {
	for _, c := range columns {
		p.cell(dim, c, c.head)
	}
	p.endLine()
}

// cell prints one cell, and moves to the next.
func (p *schedulersPage) cell(st style, c column, s string) {
	start := p.at()
	if c.left {
		if c.width > 0 {
			s = cut(s, c.width, p.ellipsis)
		}
		p.text(st, s)
	} else if s != "" {
		p.owed = max(start+c.width-Columns(s)-p.col, 0)
		if start > 0 {
			p.owed = max(p.owed, 1) // a figure wider than its column keeps its distance
		}
		p.text(st, s)
	}
	p.pad(start + c.width + 2)
}

var (
	carrierColumns = []column{{"carrier", 9, false}, {"state", 7, true}, {"for", 6, false}, {"thread", 18, true}, {"held by", 12, true}, {"place", 0, true}}
	siteColumns    = []column{{"count", 9, false}, {"total", 7, false}, {"longest", 7, false}, {"victims", 7, false}, {"last ago", 8, false},
		{"reason", 12, true}, {"place", 0, true}}
	pollerColumns   = []column{{"watched", 9, false}, {"wake-ups", 11, false}, {"ready", 11, false}, {"each", 6, false}, {"most", 11, false}, {"failed", 6, false}, {"last ago", 8, false}, {"poller", 0, true}}
	incidentColumns = []column{{"ago", 9, false}, {"event", 11, true}, {"for", 6, false}, {"victims", 7, false}, {"thread", 20, true}, {"place", 0, true}}
	scopeColumns    = []column{{"count", 9, false}, {"p50", 5, false}, {"p99", 6, false}, {"longest", 7, false},
		{"p50", 6, false}, {"p99", 6, false}, {"longest", 7, false}, {"now", 5, false}, {"oldest", 6, false}, {"scope", 0, true}}
	// scopeGroups stand above scopeColumns.
	scopeGroups = []column{{"delay", 33, false}, {"slice", 23, false}, {"queued", 13, false}}
)

// carriers prints a line for each carrier.
func (p *schedulersPage) carriers(all []Carrier) {
	if len(all) == 0 {
		return
	}
	p.heads(carrierColumns)
	for i := range all[:min(len(all), p.rows)] {
		p.carrier(&all[i])
	}
	var states [flight.CarrierStateCount]int
	for i := p.rows; i < len(all); i++ {
		states[all[i].State]++
	}
	what := ""
	for st, n := range states {
		if n > 0 {
			what += ", " + Thousands(n) + " " + flight.CarrierState(st).String()
		}
	}
	p.left(len(all), 0, "more carrier", strings.Replace(what, ",", ":", 1))
}

func (p *schedulersPage) carrier(c *Carrier) {
	col := carrierColumns
	st := plain
	switch c.State {
	case flight.CarrierHeld:
		st = stateStyle(flight.StatePinned)
	case flight.CarrierRunning:
		st = stateStyle(flight.StateMounted)
	case flight.CarrierIdle:
		st = dim
	}
	p.cell(plain, col[0], number(uint64(c.ID)))
	p.cell(st, col[1], c.State.String())
	if c.Thread == 0 {
		p.endLine()
		return
	}
	p.cell(plain, col[2], p.span(c.For))
	p.cell(plain, col[3], p.thread(c.Thread, c.Name))
	if c.Reason != flight.ReasonNone {
		p.cell(warn, col[4], c.Reason.String())
		p.place(c.Place, SeenAgo(c.Seen))
	}
	p.endLine()
}

func (p *schedulersPage) thread(id flight.ThreadID, name string) string {
	if id == 0 {
		return ""
	}
	s := "#" + number(uint64(id))
	if name != "" {
		s += " " + p.quote(name)
	}
	return s
}

// place prints where something happened, and a note: on the next line, if there is no room for them on this one.
func (p *schedulersPage) place(at *Place, note string) {
	if at == nil {
		at = &Place{Frame: Frame{Func: "place not known"}}
	}
	near, file, calls := "", "", ""
	if at.Guessed {
		near = "near "
	}
	name := p.clean(ShortFunc(at.Func))
	if at.File != "" {
		file = " " + p.clean(baseName(at.File)) + ":" + strconv.Itoa(at.Line)
	}
	if at.Calls != "" {
		calls = " in " + p.clean(ShortFunc(at.Calls))
	}
	if note != "" {
		note = "  " + note
	}
	if p.at()+Columns(near+name+file+calls+note) > p.width {
		p.endLine()
		p.pad(labelColumns)
	}
	p.text(dim, near)
	p.text(plain, name)
	p.text(dim, file+calls)
	p.text(warn, note)
}

// left says that a list goes on: it has all lines, and rest more that were left out before.
func (p *schedulersPage) left(all, rest int, noun, what string) {
	hidden := max(all-p.rows, 0)
	if hidden+rest == 0 {
		return
	}
	s := p.ellipsis + " " + Count(hidden+rest, noun) + what
	if hidden > 0 {
		s += "   (--top " + number(all) + " shows them)"
	}
	p.text(dim, s)
	p.endLine()
}

func (p *schedulersPage) title(s, about string) {
	p.endLine()
	p.text(bold, s)
	if about != "" {
		p.text(plain, "   ")
		p.paragraph(plain, about, 2)
		return
	}
	p.endLine()
}

func (p *schedulersPage) others() {
	o := &p.s.Others
	if o.Threads.Total() == 0 && len(o.Carriers) == 0 {
		return
	}
	p.title("others", "threads and carriers of no scheduler that tells figures")
	p.label("now")
	p.states(&o.Threads)
	p.carriers(o.Carriers)
}

func (p *schedulersPage) pollers() {
	all := p.s.Pollers
	if len(all) == 0 {
		return
	}
	p.title("pollers", "what makes threads go on that wait for sockets and files, since the process began")
	p.heads(pollerColumns)
	for i := range all[:min(len(all), p.rows)] {
		o := &all[i]
		p.cell(plain, pollerColumns[0], Thousands(o.Watched))
		p.cell(plain, pollerColumns[1], Thousands(o.Wakeups))
		p.cell(plain, pollerColumns[2], Thousands(o.Ready))
		p.cell(plain, pollerColumns[3], perWakeup(o))
		p.cell(plain, pollerColumns[4], largestBatch(&o.Batches))
		failed := plain
		if o.Failed > 0 {
			failed = warn
		}
		p.cell(failed, pollerColumns[5], Thousands(o.Failed))
		ago := "never"
		if o.Wakeups > 0 {
			ago = p.span(o.Ago)
		}
		p.cell(plain, pollerColumns[6], ago)
		p.cell(plain, pollerColumns[7], strconv.Itoa(o.Number)+" "+o.Kind)
		p.endLine()
	}
	p.left(len(all), 0, "more poller", "")
}

// perWakeup is how many a poller found at once.
func perWakeup(o *Poller) string {
	if o.Wakeups == 0 {
		return ""
	}
	return strconv.FormatFloat(float64(o.Ready)/float64(o.Wakeups), 'f', 1, 64)
}

// largestBatch is the class of the most that were found at once.
func largestBatch(batches *[flight.PollerBatches]uint32) string {
	for i := flight.PollerBatches - 1; i >= 0; i-- {
		switch {
		case batches[i] == 0:
		case i == 0:
			return "1"
		case i == flight.PollerBatches-1:
			return strconv.Itoa(1<<i) + " or more"
		default:
			return strconv.Itoa(1<<i) + " to " + strconv.Itoa(2<<i-1)
		}
	}
	return ""
}

func (p *schedulersPage) pinSites() {
	all := p.s.PinSites
	if len(all) == 0 {
		return
	}
	p.title("pinned", "where threads blocked and held their carriers, since the process began")
	p.heads(siteColumns)
	for _, site := range all[:min(len(all), p.rows)] {
		col := siteColumns
		p.cell(plain, col[0], Thousands(site.Count))
		p.cell(plain, col[1], p.span(site.Total))
		p.cell(plain, col[2], p.span(site.Longest))
		p.cell(plain, col[3], Thousands(site.Victims))
		p.cell(plain, col[4], p.span(site.Ago))
		p.cell(warn, col[5], reasonName(site.Reason))
		p.place(site.Place, "")
		p.endLine()
	}
	p.left(len(all), p.s.Rest.PinSites, "more place", "")
}

func (p *schedulersPage) incidents() {
	all := p.s.Incidents
	if len(all) == 0 && p.s.Rest.Overwritten == 0 {
		return
	}
	about := "the newest events pinned, monopolized and starved"
	if n := p.s.Rest.Overwritten; n > 0 {
		about += "; " + Count(n, "older one") + " overwritten"
	}
	p.title("incidents", about)
	if len(all) == 0 {
		return
	}
	p.heads(incidentColumns)
	for i := range all[:min(len(all), p.rows)] {
		e := &all[i]
		col := incidentColumns
		p.cell(plain, col[0], p.span(e.Ago))
		p.cell(warn, col[1], e.Kind.String())
		p.cell(plain, col[2], p.span(e.For))
		p.cell(plain, col[3], Thousands(e.Victims))
		p.cell(plain, col[4], p.thread(e.Thread, e.Name))
		note := e.Reason.String()
		if e.Kind == flight.EventMonopolized {
			note = "" // it says the same
		}
		if len(p.s.Schedulers) > 1 && e.Scheduler != 0 {
			note = strings.TrimSpace(note + "  scheduler " + number(uint64(e.Scheduler)))
		}
		p.place(e.Place, note)
		p.endLine()
	}
	p.left(len(all), p.s.Rest.Incidents, "more incident", "")
}

func (p *schedulersPage) scopes() {
	s := p.s
	if len(s.Scopes) == 0 {
		return
	}
	about := "how long their threads waited for carriers and executed; worst first; of "
	if s.Sample.Ready+s.Sample.Slice == 0 {
		about += "no delay and no slice"
	} else {
		about += Count(s.Sample.Ready, "delay") + " and " + Count(s.Sample.Slice, "slice") + " of the last " + p.words(s.Sample.Window)
	}
	if n := s.Sample.Dropped; n > 0 {
		about += "; " + Count(n, "event") + " dropped so far"
	}
	p.title("scopes", about)
	p.heads(scopeGroups)
	p.heads(scopeColumns)
	for i := range s.Scopes[:min(len(s.Scopes), p.rows)] {
		p.scope(&s.Scopes[i])
	}
	p.left(len(s.Scopes), s.Rest.Scopes, "more scope", "")
}

func (p *schedulersPage) scope(d *ScopeDelays) {
	col := scopeColumns
	span := func(c column, t *Times, d time.Duration) {
		if t.Count == 0 {
			p.cell(dim, c, "-")
			return
		}
		p.cell(plain, c, p.span(d))
	}
	p.cell(plain, col[0], Thousands(d.Ready.Count))
	span(col[1], &d.Ready, d.Ready.P50)
	span(col[2], &d.Ready, d.Ready.P99)
	span(col[3], &d.Ready, d.Ready.Longest)
	span(col[4], &d.Slice, d.Slice.P50)
	span(col[5], &d.Slice, d.Slice.P99)
	span(col[6], &d.Slice, d.Slice.Longest)
	p.cell(plain, col[7], Thousands(d.Runnable))
	if d.Runnable > 0 {
		p.cell(plain, col[8], p.span(d.Waited))
	} else {
		p.cell(dim, col[8], "-")
	}
	if len(d.Path) == 0 {
		p.text(dim, "(threads that have ended)")
		p.endLine()
		return
	}
	name := p.clean(d.Path[len(d.Path)-1])
	if d.Count > 1 {
		name += " " + p.times + Thousands(d.Count)
	}
	if p.at()+Columns(name) > p.width {
		p.endLine()
		p.pad(labelColumns)
	}
	p.text(plain, name)
	if len(d.Path) > 2 {
		p.text(dim, "  in "+p.clean(strings.Join(d.Path[1:len(d.Path)-1], " / ")))
	}
	p.endLine()
}
