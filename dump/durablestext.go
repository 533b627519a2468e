package dump

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/vtscope/vtscope/runtime/durable/journal"
)

// durableStyle tells states apart that matter; their names stand there too.
func durableStyle(s journal.State) style {
	switch s {
	case journal.Failed, journal.Diverged:
		return "31"
	case journal.Busy, journal.Stopping:
		return warn
	case journal.Running:
		return "32"
	case journal.Runnable:
		return "36"
	}
	return plain
}

// DurablesText prints a list for a person: how many do what, the groups, then the rows. Of o it takes ASCII, Color and Width.
func DurablesText(w io.Writer, d *Durables, o TextOptions) error {
	glyphs, lines := o.drawn()
	p := &durablesPage{d, glyphs, lines}
	p.print()
	_, err := io.WriteString(w, p.b.String())
	return err
}

// A durablesPage is [Durables] being printed.
type durablesPage struct {
	d *Durables
	glyphs
	lines
}

func (p *durablesPage) print() {
	d := p.d
	p.durableSource(&d.Source, d.Taken)
	for _, s := range d.Incomplete {
		p.text(warn, "incomplete: ")
		p.paragraph(plain, p.clean(s), 12)
	}
	p.text(bold, Count(d.Threads, "durable thread"))
	if d.Matched < d.Threads {
		p.text(plain, ", of which "+Thousands(d.Matched)+" match")
	}
	var items []lineItem
	for _, s := range journal.States {
		if n := d.States[s.State]; n > 0 {
			items = append(items, lineItem{durableStyle(s.State), string(s.State), " " + Thousands(n)})
		}
	}
	p.wrapped(items)
	if d.Matched == 0 {
		return
	}
	if len(d.Groups) < d.Matched {
		p.groups()
	}
	p.rows()
}

// durableSource says where the threads were looked up.
func (l *lines) durableSource(s *DurableSource, taken time.Time) {
	at := "  " + taken.Local().Format("2006-01-02 15:04:05")
	switch s.Kind {
	case FromBytes:
		l.text(bold, l.clean(s.Path))
		l.text(plain, "  bytes of a parked thread, "+size(s.Bytes)+at)
		l.endLine()
		return
	case FromStream:
		l.durableStream(s, at)
		return
	case FromProcess:
		l.text(bold, l.process(&Process{Program: s.Program, PID: s.PID}))
		l.text(plain, "  "+string(s.Status)+at)
		l.endLine()
		for _, store := range s.Stores {
			l.text(dim, "keeper      ")
			l.text(plain, l.clean(strings.TrimSpace(store.Kind+" "+store.Path)))
			l.endLine()
		}
		return
	}
	l.text(bold, l.clean(s.Path))
	l.endLine()
	l.text(plain, "file store of "+Count(s.Files, "file")+", "+size(s.Bytes)+", ")
	switch {
	case s.PID != 0:
		l.text(plain, "used by "+l.process(&Process{Program: s.Program, PID: s.PID}))
		if s.Status != "" && s.Status != StatusRunning {
			l.text(warn, ", which is "+string(s.Status))
		}
	default:
		l.text(plain, "used by no process that can be seen")
	}
	l.text(plain, at)
	l.endLine()
	if s.Tail > 0 {
		l.text(warn, Count(uint64(s.Tail), "byte")+" at the end are no record: ")
		if s.PID != 0 {
			l.text(plain, "being written")
		} else {
			l.text(plain, "its process died as it wrote them")
		}
		l.endLine()
	}
	if s.Why != "" {
		l.text(warn, "instead of the process: ")
		l.paragraph(plain, l.clean(s.Why), 4)
	}
}

// size writes a number of bytes.
func size(n int64) string {
	switch {
	case n < 1000:
		return strconv.FormatInt(n, 10) + " B"
	case n < 1000_000:
		return fmt.Sprintf("%.1f kB", float64(n)/1e3)
	case n < 1000_000_000:
		return fmt.Sprintf("%.1f MB", float64(n)/1e6)
	}
	return fmt.Sprintf("%.1f GB", float64(n)/1e9)
}

// until says when a wait ends by itself.
func (l *lines) until(w *journal.Pending, now time.Time) string {
	switch {
	case w == nil || w.Until.IsZero():
		return ""
	case w.Until.After(now):
		return l.span(w.Until.Sub(now)) + " left"
	}
	return "overdue " + l.span(now.Sub(w.Until))
}

// forWhat says what a thread has open, in words.
func (l *lines) forWhat(w *journal.Pending) string {
	switch {
	case w == nil:
		return ""
	case w.Kind == journal.StepDo:
		return "call " + l.quote(w.Name)
	case w.Kind == journal.StepJoin && w.Name == "":
		return "join of a child"
	}
	return l.clean(w.Of())
}

func (p *durablesPage) groups() {
	d := p.d
	p.endLine()
	p.text(dim, "  threads  state       for            steps  errors  body, and what it waits for")
	p.endLine()
	for i := range d.Groups {
		g := &d.Groups[i]
		p.right(plain, Thousands(g.Threads), 9)
		p.text(plain, "  ")
		p.text(durableStyle(g.State), string(g.State))
		p.pad(23)
		spans := p.span(g.Shortest)
		if long := p.span(g.Longest); long != spans {
			spans += ".." + long
		}
		p.text(plain, spans)
		p.right(plain, Thousands(g.Steps), 42)
		if g.Failed > 0 {
			p.right(warn, Thousands(g.Failed), 51)
		}
		p.pad(53)
		p.text(bold, p.clean(g.Body))
		if g.Wait != nil {
			p.text(plain, "  "+p.forWhat(g.Wait))
		}
		if g.Err != "" {
			p.text(warn, "  "+p.clean(g.Err))
		}
		p.endLine()
	}
	if d.GroupsLeft > 0 {
		p.text(dim, "           "+p.ellipsis+" "+Count(d.GroupsLeft, "more group")+"   (--top 0 shows all)")
		p.endLine()
	}
}

// The most columns of ids and bodies, which are aligned.
const (
	mostID   = 32
	mostBody = 20
)

func (p *durablesPage) rows() {
	d := p.d
	id, body := 2, 4
	for i := range d.Rows {
		id, body = max(id, Columns(p.clean(d.Rows[i].ID))), max(body, Columns(p.clean(d.Rows[i].Body)))
	}
	id, body = min(id, mostID), min(body, mostBody)
	state := id + 2
	since := state + 17 // where it ends
	steps := since + 8
	bytes := steps + 9
	named := bytes + 2
	p.endLine()
	p.text(dim, "id")
	p.pad(state)
	p.text(dim, "state")
	p.right(dim, "for", since)
	p.right(dim, "steps", steps)
	p.right(dim, "bytes", bytes)
	p.pad(named)
	p.text(dim, "body")
	p.pad(named + body + 2)
	p.text(dim, "what it waits for")
	p.endLine()
	for i := range d.Rows {
		r := &d.Rows[i]
		p.text(bold, cut(p.clean(r.ID), mostID, p.cutMark))
		p.pad(state)
		p.text(durableStyle(r.State), string(r.State))
		if !r.Since.IsZero() {
			p.right(plain, p.span(d.Taken.Sub(r.Since)), since)
		}
		if !r.Unread {
			p.right(plain, Thousands(r.Steps), steps)
			p.right(plain, size(int64(r.Bytes)), bytes)
		} else {
			p.right(dim, "?", steps)
			p.right(dim, "?", bytes)
		}
		p.pad(named)
		p.text(plain, cut(p.clean(r.Body), mostBody, p.cutMark))
		p.pad(named + body + 2)
		p.row(r)
		p.endLine()
		if r.Err != "" {
			p.text(plain, "    ")
			first, _, more := strings.Cut(r.Err, "\n")
			if more {
				first += " …"
			}
			what := "last error: "
			if r.State == journal.Failed || r.State == journal.Diverged {
				what = "error: "
			}
			p.text(warn, what)
			p.text(plain, p.clean(first))
			p.endLine()
		}
	}
	if d.RowsLeft > 0 {
		p.text(dim, p.ellipsis+" "+Count(d.RowsLeft, "more thread")+"   (--top 0 shows all, --filter some)")
		p.endLine()
	}
}

// row prints what follows the columns of a row.
func (p *durablesPage) row(r *journal.DurableRow) {
	var more []string
	if s := p.forWhat(r.Wait); s != "" {
		if r.State == journal.Runnable {
			s += ", was under way"
		}
		if u := p.until(r.Wait, p.d.Taken); u != "" {
			s += ", " + u
		}
		more = append(more, s)
	}
	if r.Attempts > 1 {
		more = append(more, Count(r.Attempts, "attempt"))
	}
	if l := r.Lease; l != nil && l.Holder != "" {
		more = append(more, p.holder(l, p.d.Taken))
	}
	if r.Inbox > 0 {
		more = append(more, Count(r.Inbox, "signal")+" not taken")
	}
	if r.Children > 0 {
		more = append(more, children(r.Children))
	}
	if r.Failed > 0 {
		more = append(more, Count(r.Failed, "failed step"))
	}
	if c := r.Checkpoint; c != nil {
		more = append(more, "checkpoint "+p.quote(c.Name)+" "+p.span(p.d.Taken.Sub(c.At))+" ago")
	}
	all := strings.Join(more, "; ")
	if p.at()+Columns(all) > p.width && len(more) > 0 {
		p.endLine()
		p.text(plain, "    ")
	}
	p.text(plain, all)
}

func children(n int) string {
	if n == 1 {
		return "1 child"
	}
	return Thousands(n) + " children"
}
