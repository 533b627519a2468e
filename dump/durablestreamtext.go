package dump

import (
	"time"

	"github.com/vtscope/vtscope/runtime/durable/journal"
)

// mostKeepers is how many keepers a page names.
const mostKeepers = 20

// durableStream says which stream was looked at, and who takes part in it.
func (l *lines) durableStream(s *DurableSource, at string) {
	l.text(bold, l.clean(s.Path))
	l.endLine()
	st := s.Stream
	if st == nil {
		return
	}
	l.text(plain, "stream "+l.clean(st.Name)+" of "+Count(st.Messages, "message")+", "+size(s.Bytes)+at)
	l.endLine()
	if len(st.Keepers) == 0 && st.Listened >= time.Second {
		l.text(dim, "keepers     ")
		l.text(plain, "none has a thread, and none was heard of in "+l.span(st.Listened))
		l.endLine()
	}
	for i := range st.Keepers[:min(len(st.Keepers), mostKeepers)] {
		k := &st.Keepers[i]
		l.text(dim, "keeper      ")
		s := l.clean(k.Name) + ", has " + Count(k.Trees, "tree")
		switch {
		case k.Silent:
			l.paragraph(warn, s+", silent for "+l.span(st.Listened)+", with a lease of "+l.span(k.Lease)+": dead, or cut off", 12)
		case k.Unheard:
			l.paragraph(plain, s+", not heard of in "+l.span(st.Listened)+", which tells nothing: with its lease of "+l.span(k.Lease)+" it says something each "+l.span(k.Lease/10), 12)
		default:
			l.text(plain, s)
			l.endLine()
		}
	}
	if n := len(st.Keepers) - mostKeepers; n > 0 {
		l.text(dim, "            "+l.cutMark+" "+Count(n, "more keeper"))
		l.endLine()
	}
}

// holder says who has a thread.
func (l *lines) holder(lease *journal.Lease, now time.Time) string {
	s := "at " + l.clean(lease.Holder)
	if lease.Silent {
		s += " (silent)"
	}
	if !lease.Since.IsZero() {
		s += " for " + l.span(max(now.Sub(lease.Since), 0))
	}
	return s
}

// leases says who has a thread, and who had it.
func (p *durableThreadPage) leases() {
	r := &p.t.Row
	if l := r.Lease; l != nil {
		s := "no keeper"
		if l.Holder != "" {
			s = p.clean(l.Holder)
		}
		if !l.Since.IsZero() {
			s += " for " + p.span(max(p.t.Taken.Sub(l.Since), 0)) + ", since " + p.moment(l.Since)
		}
		if l.Silent {
			s += "; it is silent: others take the thread if it is dead"
		}
		p.line("held by", s)
	}
	if r.Inbox > 0 {
		p.line("inbox", Count(r.Inbox, "signal")+" came that no keeper has taken yet")
	}
	for i := range p.t.Leases {
		m := &p.t.Leases[i]
		label := ""
		if i == 0 {
			label = "keepers"
		}
		s := p.clean(m.Holder) + ", "
		if m.From.IsZero() {
			s += "before the checkpoint"
		} else {
			s += "from " + p.moment(m.From)
		}
		switch {
		case m.To.IsZero():
			s += " until now"
		case m.Given && m.Err != "":
			s += " to " + p.moment(m.To) + ", given back: " + p.clean(m.Err)
		case m.Given:
			s += " to " + p.moment(m.To) + ", given back"
		case i+1 < len(p.t.Leases):
			s += " to " + p.moment(m.To) + ", when it was taken from it"
		default:
			s += " to " + p.moment(m.To) + ", its end"
		}
		p.line(label, s)
	}
}
