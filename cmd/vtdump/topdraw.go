package main

import (
	"fmt"
	"strings"

	"github.com/gdamore/tcell/v2"

	"github.com/vtscope/vtscope/dump"
	"github.com/vtscope/vtscope/runtime/flight"
)

// The rows of the screen above and below the list.
const (
	headRows = 5
	footRows = 1
)

// room returns how many rows the list has.
func (t *top) room() int {
	_, height := t.screen.Size()
	return max(height-headRows-footRows, 1)
}

// colors tells apart what stands out; without colour it is reversed or bold.
func (t *top) style(of string) tcell.Style {
	s := tcell.StyleDefault
	colored := t.s.color != "never"
	switch of {
	case "bold":
		return s.Bold(true)
	case "dim":
		return s.Dim(true)
	case "chosen":
		return s.Reverse(true)
	case "warn":
		if colored {
			return s.Foreground(tcell.ColorYellow)
		}
		return s.Bold(true)
	case "grew":
		if colored {
			return s.Foreground(tcell.ColorRed)
		}
		return s.Bold(true)
	}
	return s
}

// text writes s into a row from a column on, cut at the end of the row, and returns the column behind it.
func (t *top) text(x, y int, style tcell.Style, s string) int {
	width, _ := t.screen.Size()
	s = dump.Printable(s)
	if t.s.ascii {
		s = dump.ASCII(s)
		s = dump.ASCII(strings.NewReplacer("▲", "^", "▼", "v").Replace(s))
	}
	for _, r := range s {
		n := max(dump.Columns(string(r)), 1)
		if x+n > width {
			break
		}
		t.screen.SetContent(x, y, r, nil, style)
		x += n
	}
	return x
}

// line writes a whole row in one style.
func (t *top) line(y int, style tcell.Style, s string) {
	width, _ := t.screen.Size()
	for x := t.text(0, y, style, s); x < width; x++ {
		t.screen.SetContent(x, y, ' ', nil, style)
	}
}

// draw writes the whole screen into tcell's memory, which sends what is different.
func (t *top) draw() {
	t.screen.Clear()
	t.screen.HideCursor()
	_, height := t.screen.Size()
	t.head()
	switch {
	case t.help:
		t.line(headRows, t.style("bold"), "keys")
		for i, k := range topKeys {
			t.text(2, headRows+1+i, t.style(""), fmt.Sprintf("%-14s %s", k.names, k.about))
		}
	case t.page != nil:
		t.pageFrom = min(t.pageFrom, max(len(t.page)-t.room(), 0))
		for i := range min(t.room(), len(t.page)-t.pageFrom) {
			t.text(0, headRows+i, t.style(""), t.page[t.pageFrom+i])
		}
	default:
		t.list()
	}
	foot := "? keys  / filter  Enter more  Tab next list  space stop  q quit"
	switch {
	case t.help:
		foot = "any key: back"
	case t.page != nil:
		foot = fmt.Sprintf("line %d of %d   j k turn  Esc back  q quit", t.pageFrom+1, len(t.page))
	}
	t.line(height-1, t.style("dim"), foot)
	t.screen.Show()
}

// head writes who this is, how it fares, and the filter.
func (t *top) head() {
	s := t.now.snap
	if s == nil {
		text := "looks ..."
		if t.now.err != nil {
			text = t.now.err.Error()
		}
		t.text(0, 0, t.style("bold"), "vtdump top "+t.s.target)
		t.text(0, 1, t.style("warn"), text)
	} else {
		x := t.text(0, 0, t.style("bold"), fmt.Sprintf("%s (pid %d)", s.Process.Program, s.Process.PID))
		x = t.text(x, 0, t.style(""), fmt.Sprintf("  %s in %s", s.Process.Threads(s.Threads), dump.Count(s.ScopeCount, "scope")))
		x = t.text(x+2, 0, t.style("dim"), s.AsOf.Local().Format("15:04:05")+" in "+dump.Span(s.Took))
		if s.Process.Status != dump.StatusRunning {
			x = t.text(x+2, 0, t.style("warn"), "process is "+string(s.Process.Status))
		}
		if !s.Complete {
			x = t.text(x+2, 0, t.style("warn"), "incomplete")
		}
		if t.paused {
			t.text(x+2, 0, t.style("chosen"), " stopped ")
		}
		var states []string
		for state := range flight.StateCount {
			if n := s.States[state]; n > 0 {
				states = append(states, fmt.Sprintf("%s %s", state, dump.Thousands(n)))
			}
		}
		t.text(0, 1, t.style(""), strings.Join(states, "  "))
		t.text(0, 2, t.style(""), t.now.figures.text())
	}
	t.filterLine()
}

func (f *topFigures) text() string {
	if f.told.IsZero() {
		return "no scheduler has told figures"
	}
	s := fmt.Sprintf("carriers %d: %d run, %d held; %s queued", f.carriers, f.running, f.held, dump.Thousands(f.queued))
	if f.rated {
		s += fmt.Sprintf("   a second: %s started, %s switches, %s pins", dump.Thousands(int(f.startRate+.5)), dump.Thousands(int(f.switchRate+.5)), dump.Thousands(int(f.pinRate+.5)))
	}
	return s
}

// filterLine writes the filter, or asks for one and points at what is wrong.
func (t *top) filterLine() {
	if t.asking {
		const prompt = "filter: "
		x := t.text(0, 3, t.style("bold"), prompt)
		t.screen.ShowCursor(t.text(x, 3, t.style(""), string(t.answer)), 3)
		if e := t.wrong; e != nil {
			_, below, _ := strings.Cut(e.Point(), "\n")
			t.text(x, 4, t.style("warn"), below)
			t.text(x+dump.Columns(below)+1, 4, t.style("warn"), e.Error())
		}
		return
	}
	if f := t.filter.String(); f != "" {
		t.text(0, 3, t.style("warn"), "only "+f)
	}
	x := 0
	for i, name := range tabNames {
		style := t.style("dim")
		if tab(i) == t.tab {
			style = t.style("bold").Underline(true)
		}
		if tab(i) == tabFindings && t.now.findings != nil && len(t.now.findings.Findings) > 0 {
			name += fmt.Sprintf(" %d", len(t.now.findings.Findings))
		}
		x = t.text(x, 4, style, fmt.Sprintf("%d %s", i+1, name)) + 3
	}
}

// list writes the rows of the list, with the one that is chosen among them.
func (t *top) list() {
	room, n := t.room(), t.count()
	at, from := &t.at[t.tab], &t.from[t.tab]
	*at = min(*at, max(n-1, 0))
	*from = max(min(*from, *at, n-room), 0)
	if *at >= *from+room {
		*from = *at - room + 1
	}
	for i := range min(room, n-*from) {
		text, style := t.row(*from + i)
		if *from+i == *at {
			style = t.style("chosen")
		}
		t.line(headRows+i, style, text)
	}
	if n == 0 && t.now.snap != nil {
		nothing := "no threads match"
		if t.tab == tabFindings {
			nothing = "no findings"
		}
		t.text(0, headRows, t.style("dim"), nothing)
	}
}

func (t *top) row(i int) (string, tcell.Style) {
	s := t.now.snap
	switch t.tab {
	case tabScopes:
		sc := &s.Scopes[i]
		name := strings.Repeat("  ", sc.Depth) + sc.Name
		if sc.Count > 1 {
			name += fmt.Sprintf(" x%s", dump.Thousands(sc.Count))
		}
		text, style := t.changed(s, sc.Change)
		return fmt.Sprintf("%11s %9s  %-9s %s", dump.Thousands(sc.Total), own(sc), text, name), style
	case tabFindings:
		f := &t.now.findings.Findings[i]
		return f.Check + "  " + f.What, t.style("warn")
	}
	g := &s.Groups[i]
	text, style := t.changed(s, g.Change)
	where := ""
	if g.Stack >= 0 {
		for _, f := range s.Stacks[g.Stack].Shown(false) {
			where = dump.ShortFunc(f.Func)
			break
		}
	}
	wait := g.Wait.Text(g.Count, dump.Span)
	return fmt.Sprintf("%11s  %-9s %-12s %-15s %-24s %s", dump.Thousands(g.Count), text, g.State, wait, dump.Cut(dump.ScopeName(s.Path(g.Scope)[1:]), 24), where), style
}

func own(sc *dump.Scope) string {
	if sc.Own == sc.Total {
		return ""
	}
	return dump.Thousands(sc.Own)
}

// changed writes a change since the look before.
func (t *top) changed(s *dump.Snapshot, n int) (string, tcell.Style) {
	switch {
	case s.ChangeOver == 0 || n == 0:
		return "", t.style("")
	case n > 0:
		return "▲ " + dump.Thousands(n), t.style("grew")
	}
	return "▼ " + dump.Thousands(-n), t.style("")
}
