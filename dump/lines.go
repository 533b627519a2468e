package dump

import (
	"bytes"
	"strconv"
	"strings"
	"time"

	"github.com/vtscope/vtscope/runtime/flight"
)

// glyphs are the characters that a page is drawn with.
type glyphs struct {
	fork, corner, line, blank string
	times, ellipsis           string
	grew, shrank              string
	bar                       string
}

var (
	unicodeGlyphs = glyphs{"├─ ", "└─ ", "│  ", "   ", "×", "…", "▲", "▼", "█"}
	asciiGlyphs   = glyphs{"|- ", "`- ", "|  ", "   ", "x", "...", "^", "v", "#"}
)

// drawn gives o the width that a page has, and returns what the page is drawn with.
func (o *TextOptions) drawn() (glyphs, lines) {
	if o.Width == 0 {
		o.Width = defaultWidth
	}
	o.Width = max(o.Width, minWidth)
	g := unicodeGlyphs
	if o.ASCII {
		g = asciiGlyphs
	}
	return g, lines{width: o.Width, color: o.Color, ascii: o.ASCII, cutMark: g.ellipsis}
}

// A style is the parameters of the terminal's "select graphic rendition".
type style string

const (
	plain style = ""
	bold  style = "1"
	dim   style = "2"
	warn  style = "33"
)

// stateStyle tells states apart that matter; their names stand there too.
func stateStyle(s flight.State) style {
	switch s {
	case flight.StatePinned:
		return "31"
	case flight.StateBlocked:
		return "33"
	case flight.StateRunnable:
		return "36"
	case flight.StateMounted:
		return "32"
	}
	return plain
}

// lines is text of a limited width being written.
type lines struct {
	b       bytes.Buffer
	col     int
	owed    int // spaces before the next text of the line
	width   int
	color   bool
	ascii   bool
	cutMark string
}

// text appends to the line, as much as fits.
func (l *lines) text(st style, s string) {
	trimmed := strings.TrimRight(s, " ")
	if trimmed == "" {
		l.owed += len(s)
		return
	}
	spaces := len(s) - len(trimmed)
	if trimmed = cut(trimmed, l.width-l.col-l.owed, l.cutMark); trimmed == "" {
		l.owed = max(l.width-l.col, 0) // the line is full
		return
	}
	l.b.WriteString(strings.Repeat(" ", l.owed))
	l.col += l.owed
	l.owed = spaces
	l.col += Columns(trimmed)
	if l.color && st != plain {
		l.b.WriteString("\x1b[" + string(st) + "m" + trimmed + "\x1b[0m")
		return
	}
	l.b.WriteString(trimmed)
}

// at returns the column of the next text.
func (l *lines) at() int { return l.col + l.owed }

// pad moves to a column, if the line is not there yet.
func (l *lines) pad(col int) {
	if n := col - l.col; n > l.owed {
		l.owed = n
	}
}

// right appends s so that it ends before a column.
func (l *lines) right(st style, s string, end int) {
	l.owed = max(l.owed, 1)
	l.pad(end - Columns(s))
	l.text(st, s)
}

func (l *lines) endLine() {
	l.b.WriteByte('\n')
	l.col, l.owed = 0, 0
}

// A lineItem is a styled word and what follows it.
type lineItem struct {
	style      style
	word, tail string
}

// wrapped ends the line with items, or puts them on lines of their own if they do not fit.
func (l *lines) wrapped(items []lineItem) {
	all := l.at() + 1
	for _, it := range items {
		all += 2 + Columns(it.word) + Columns(it.tail)
	}
	gap := "   "
	if all > l.width {
		l.endLine()
		gap = "  "
	}
	for _, it := range items {
		if w := Columns(it.word) + Columns(it.tail); l.col > 0 && l.at()+len(gap)+w > l.width {
			l.endLine()
		}
		l.text(plain, gap)
		l.text(it.style, it.word)
		l.text(plain, it.tail)
		gap = "  "
	}
	l.endLine()
}

// paragraph ends the line with the words of s, in as many lines as they need, the others indented.
func (l *lines) paragraph(st style, s string, indent int) {
	for _, word := range strings.Fields(s) {
		if l.at()+Columns(word) > l.width && l.col > indent {
			l.endLine()
			l.owed = indent
		}
		l.text(st, word+" ")
	}
	l.endLine()
}

// process returns what a process is called: a dump may not know its pid.
func (l *lines) process(p *Process) string {
	name := l.clean(p.Program)
	if p.PID == 0 {
		return name
	}
	return name + " (pid " + number(p.PID) + ")"
}

// clean returns what may be printed of s.
func (l *lines) clean(s string) string {
	s = Printable(s)
	if l.ascii {
		return ASCII(s)
	}
	return s
}

func (l *lines) quote(s string) string { return `"` + l.clean(s) + `"` }

func (l *lines) span(d time.Duration) string {
	s := Span(d)
	if l.ascii {
		return ASCII(s)
	}
	return s
}

// number writes an id or an argument, which people copy: without separators.
func number[N int | uint64](n N) string { return strconv.FormatUint(uint64(n), 10) }
