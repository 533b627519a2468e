package dump

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/vtscope/vtscope/runtime/durable/journal"
)

// DurableThreadText prints a history for a person: where the thread stands, then its steps. Values are cut at the width unless whole is set. Of o it takes ASCII, Color and Width.
func DurableThreadText(w io.Writer, t *DurableThread, whole bool, o TextOptions) error {
	glyphs, lines := o.drawn()
	p := &durableThreadPage{t: t, whole: whole, glyphs: glyphs, lines: lines}
	p.print()
	_, err := io.WriteString(w, p.b.String())
	return err
}

// A durableThreadPage is a [DurableThread] being printed.
type durableThreadPage struct {
	t     *DurableThread
	whole bool
	took  int // column where how long a step took ends
	kind  int // column where what it is begins
	glyphs
	lines
}

func (p *durableThreadPage) line(label, s string) {
	p.label(label)
	p.paragraph(plain, s, threadLabel)
}

func (p *durableThreadPage) print() {
	t, r := p.t, &p.t.Row
	p.durableSource(&t.Source, t.Taken)
	for _, s := range t.Incomplete {
		p.text(warn, "incomplete: ")
		p.paragraph(plain, p.clean(s), 12)
	}
	p.endLine()
	p.text(bold, p.clean(r.ID))
	p.text(plain, "  "+p.clean(r.Body))
	p.endLine()
	p.label("state")
	p.text(durableStyle(r.State), string(r.State))
	if !r.Since.IsZero() {
		p.text(plain, " for "+p.span(t.Taken.Sub(r.Since))+", since "+p.moment(r.Since))
	}
	if t.Thread != 0 {
		p.text(plain, "   thread #"+number(t.Thread))
		if t.Source.PID != 0 {
			p.text(dim, "  vtdump "+number(t.Source.PID)+" --thread "+number(t.Thread))
		}
	}
	p.endLine()
	if r.Wait != nil {
		s, label := p.forWhat(r.Wait), "waits for"
		switch {
		case r.State == journal.Runnable:
			label = "was in"
			s += ", under way when its process ended, or let it go: it is made again, or not, as its policy says"
		case r.Wait.Kind == journal.StepDo:
			label = "is in"
		}
		if !r.Wait.Until.IsZero() {
			s += ", until " + p.moment(r.Wait.Until) + ", " + p.until(r.Wait, t.Taken)
		}
		if r.Attempts > 1 {
			s += "; attempt " + number(r.Attempts)
		}
		p.line(label, s)
	}
	if r.Err != "" {
		label := "last error"
		if r.State == journal.Failed || r.State == journal.Diverged {
			label = "error"
		}
		p.label(label)
		p.paragraph(warn, p.clean(r.Err), threadLabel)
	}
	p.leases()
	if !r.Begun.IsZero() {
		p.line("begun", p.moment(r.Begun)+", "+p.span(t.Taken.Sub(r.Begun))+" ago")
	}
	journalOf := Count(r.Steps, "step") + ", " + size(int64(r.Bytes))
	if c := r.Checkpoint; c != nil {
		journalOf += "; " + Count(r.Kept, "step") + " kept since checkpoint " + p.quote(c.Name) + ", which stands for " + Count(c.Steps, "step") + " and was saved " + p.span(t.Taken.Sub(c.At)) + " ago"
	}
	p.line("journal", journalOf)
	p.value("arguments", t.Args, 0)
	p.value("result", t.Result, 0)
	for _, name := range slices.Sorted(maps.Keys(t.Signals)) {
		p.line("signals", Count(len(t.Signals[name]), "signal")+" "+p.quote(name)+" came that nobody has awaited yet")
	}
	if t.Permit {
		p.line("unparked", "the next park returns at once")
	}
	p.children()
	p.steps()
}

func (p *durableThreadPage) children() {
	for i := range p.t.Children {
		c := &p.t.Children[i]
		label := ""
		if i == 0 {
			label = "children"
		}
		p.label(label)
		p.text(plain, p.clean(c.ID)+"  "+p.clean(c.Body)+"  ")
		p.text(durableStyle(c.State), string(c.State))
		if !c.Since.IsZero() {
			p.text(plain, " for "+p.span(p.t.Taken.Sub(c.Since)))
		}
		if c.Wait != nil {
			p.text(plain, ", "+p.forWhat(c.Wait))
		}
		if c.Err != "" {
			p.text(warn, "  "+p.clean(c.Err))
		}
		p.endLine()
	}
}

// value prints JSON after a label; all of it, or as much as fits on the line.
func (p *durableThreadPage) value(label string, v json.RawMessage, bytesOfAll int) {
	if len(v) == 0 {
		return
	}
	p.label(label)
	p.json(v, bytesOfAll, threadLabel)
}

// json ends the line with a value.
func (p *durableThreadPage) json(v json.RawMessage, bytesOfAll, indent int) {
	if p.whole {
		var b bytes.Buffer
		if json.Indent(&b, v, "", "  ") == nil {
			for i, line := range strings.Split(b.String(), "\n") {
				if i > 0 {
					p.endLine()
					p.pad(indent)
				}
				p.b.WriteString(strings.Repeat(" ", p.owed) + p.clean(line)) // whole: wider than the page
				p.owed = 0
			}
			p.endLine()
			return
		}
	}
	shown := string(v)
	var text string
	if bytesOfAll > 0 && json.Unmarshal(v, &text) == nil {
		shown = text
	}
	tail := ""
	if bytesOfAll > 0 {
		tail = " (" + size(int64(bytesOfAll)) + ")"
	}
	p.text(plain, cut(p.clean(shown), max(p.width-p.at()-Columns(tail), 10), p.cutMark)+tail)
	p.endLine()
}

// moment writes a time, with the day if it is another one than when the history was taken.
func (p *durableThreadPage) moment(at time.Time) string {
	at, taken := at.Local(), p.t.Taken.Local()
	if at.Year() == taken.Year() && at.YearDay() == taken.YearDay() {
		return at.Format("15:04:05.000")
	}
	return at.Format("2006-01-02 15:04:05")
}

// The columns of a step.
const (
	stepNumber = 7
	stepAt     = 9
)

func (p *durableThreadPage) steps() {
	t := p.t
	p.endLine()
	if len(t.Steps) == 0 {
		p.text(plain, "no steps: it has not asked for anything yet")
		p.endLine()
		return
	}
	at := 0
	for i := range t.Steps {
		at = max(at, Columns(p.moment(t.Steps[i].At)))
	}
	p.took = stepAt + at + 8
	p.kind = p.took + 2
	p.right(dim, "step", stepNumber)
	p.pad(stepAt)
	p.text(dim, "at")
	p.right(dim, "took", p.took)
	p.pad(p.kind)
	p.text(dim, "what")
	p.endLine()
	if t.StepsLeft > 0 {
		p.pad(stepAt)
		p.text(dim, p.ellipsis+" "+Count(t.StepsLeft, "older step")+"   (--top 0 shows all)")
		p.endLine()
	}
	for i := range t.Steps {
		p.step(&t.Steps[i])
	}
}

func (p *durableThreadPage) step(s *journal.DurableStep) {
	p.right(plain, number(s.Number), stepNumber)
	p.pad(stepAt)
	p.text(dim, p.moment(s.At))
	switch {
	case s.Open:
		p.right(warn, p.span(p.t.Taken.Sub(s.At))+p.ellipsis, p.took)
	case s.Took > 0:
		p.right(plain, p.span(s.Took), p.took)
	}
	p.pad(p.kind)
	p.text(bold, s.Kind.String())
	if s.Name != "" {
		p.text(plain, " "+p.quote(s.Name))
	}
	if s.Attempts > 1 {
		p.text(warn, "  "+Count(s.Attempts, "attempt"))
	}
	switch {
	case s.Kind == journal.StepCheckpoint:
		p.text(plain, "  stands for "+Count(s.Number, "step")+"  ")
	case s.Kind == journal.StepFork && s.Err == "":
		p.fork(s)
		return
	case s.Open && p.t.Row.State == journal.Runnable:
		p.text(warn, "  was under way")
	case s.Open && s.Kind == journal.StepDo:
		p.text(warn, "  under way")
	case s.Open:
		p.text(warn, "  waits")
		w := p.t.Row.Wait
		if u := p.until(w, p.t.Taken); u != "" {
			p.text(plain, ", until "+p.moment(w.Until)+", "+u)
		}
		p.endLine()
		return
	case s.Kind == journal.StepSleep:
		p.text(dim, "  until ")
	}
	if s.Err != "" {
		p.endLine()
		p.pad(p.kind + 2)
		p.text(warn, "error: ")
		p.paragraph(plain, p.clean(s.Err), p.kind+2)
		return
	}
	if len(s.Value) == 0 {
		p.endLine()
		return
	}
	p.text(plain, "  ")
	p.json(s.Value, s.ValueBytes, p.kind+2)
}

// fork prints the child that a step has made, and what became of it.
func (p *durableThreadPage) fork(s *journal.DurableStep) {
	n, err := strconv.Atoi(string(s.Value))
	if err != nil {
		p.endLine()
		return
	}
	p.text(plain, fmt.Sprintf("  child %d", n))
	id := p.t.Row.ID + "/" + strconv.Itoa(n)
	i := slices.IndexFunc(p.t.Children, func(c journal.DurableRow) bool { return c.ID == id })
	switch {
	case i >= 0:
		c := &p.t.Children[i]
		p.text(plain, ", ")
		p.text(durableStyle(c.State), string(c.State))
		p.text(plain, ", "+Count(c.Steps, "step"))
	default:
		p.text(dim, ", joined")
	}
	p.endLine()
}
