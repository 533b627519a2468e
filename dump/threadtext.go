package dump

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/vtscope/vtscope/dump/filter"
)

// threadLabel is how wide the labels of a thread's lines are.
const threadLabel = 12

// ThreadText prints a report for a person. Its stack has all frames, or the first Depth.
func ThreadText(w io.Writer, r *ThreadReport, o TextOptions) error {
	glyphs, lines := o.drawn()
	p := &threadPage{r, o, glyphs, lines}
	p.print()
	_, err := w.Write(p.b.Bytes())
	return err
}

// A threadPage is a report being printed.
type threadPage struct {
	r *ThreadReport
	o TextOptions
	glyphs
	lines
}

// label begins a line of a page about one thread.
func (l *lines) label(s string) {
	l.text(dim, s)
	l.pad(threadLabel)
}

// line prints a label and what it says.
func (p *threadPage) line(label, s string) {
	p.label(label)
	p.text(plain, s)
	p.endLine()
}

func (p *threadPage) print() {
	r := p.r
	p.text(bold, p.process(&r.Process))
	p.text(plain, "  thread ")
	p.text(bold, p.party(&Party{Thread: r.ID, Name: r.Name}))
	p.endLine()
	p.trust(&r.Process, max(r.Taken.Sub(r.AsOf), 0), r.Took, r.Complete)
	p.endLine()
	p.missing(r.Incomplete)
	p.endLine()

	state, _ := parseState(r.State)
	p.label("state")
	p.text(stateStyle(state), r.State)
	if r.Since != nil {
		p.text(plain, " for "+p.words(r.Wait)+", since "+r.Since.Local().Format("15:04:05.000"))
	} else {
		p.text(plain, ", for how long is unknown")
	}
	if r.Reason != "" {
		p.text(plain, "   "+r.Reason)
	}
	if r.Seen > 0 {
		p.text(dim, "   "+SeenAgo(r.Seen))
	}
	if r.Torn {
		p.text(warn, "   (its record was being written: what follows may be of the state before)")
	}
	p.endLine()
	p.line("scope", p.clean(ScopeName(r.Scope)))
	for i, l := range r.Labels {
		label := "labels"
		if i > 0 {
			label = ""
		}
		p.line(label, p.clean(l.Key)+"="+p.clean(l.Value))
	}
	if r.LabelsCut {
		p.line("", "and more that are not recorded")
	}
	if t := r.Trace; t != nil {
		s := p.clean(t.ID)
		if t.Span != "" {
			s += ", span " + p.clean(t.Span)
		}
		p.line("trace", s)
	}
	p.durable()
	p.wanted()
	p.life()
	for _, s := range r.Owns {
		p.line("owns", "scope "+number(uint64(s.ID))+" "+p.quote(ScopeName(s.Scope))+" with "+Count(s.Threads, "thread"))
	}
	for i := range r.Locks {
		l := &r.Locks[i]
		s := p.clean(l.Thing)
		if l.Held > 0 {
			s += ", for " + p.words(l.Held)
		}
		if l.Made != nil {
			s += ", made at " + p.place(l.Made)
		}
		p.line("holds", s)
	}
	for i := range r.Waiters {
		w := &r.Waiters[i]
		more := ""
		if w.Count > 1 {
			more = " and " + Count(w.Count-1, "other")
		}
		longest := ""
		if w.Longest > 0 { // else nobody recorded it
			longest = ", for up to " + p.words(w.Longest)
		}
		p.line("awaited by", p.party(&w.Example)+more+" for "+p.clean(w.Thing)+longest)
	}
	p.stack()
}

// virtualKind is the Kind of a thread that is mounted on carriers.
var virtualKind = filter.KindOf(0)

// wanted prints what the thread waits for and who has it.
func (p *threadPage) wanted() {
	f := p.r.For
	if f == nil {
		return
	}
	s := p.clean(f.Thing)
	if len(f.Cases) > 0 {
		s += ": " + p.clean(strings.Join(f.Cases, ", "))
	}
	if f.Limited {
		s += ", with a time limit"
	}
	if f.Made != nil {
		s += ", made at " + p.place(f.Made)
	}
	p.line("waits for", s)
	for i := range f.Holders {
		k := &f.Holders[i]
		s := p.party(&k.Party)
		if len(k.Scope) > 0 {
			s += " in " + p.clean(ScopeName(k.Scope))
		}
		switch {
		case k.State == endedState:
			s += ", which has ended"
		case k.State != "":
			s += ", " + k.State
			if k.For > 0 {
				s += " for " + p.words(k.For)
			}
		}
		if k.Held > 0 {
			s += ", holds it for " + p.words(k.Held)
		}
		label := "  held by"
		if f.Held == 0 {
			label = "  that is"
		}
		p.line(label, s)
	}
	if f.Poller != 0 {
		p.line("  woken by", fmt.Sprintf("poller %d", f.Poller))
	}
	if n := f.Held - len(f.Holders); n > 0 {
		p.line("", "and "+Count(n, "other")+" of whom nothing is known")
	}
}

// life prints where the thread is from and what it has used.
func (p *threadPage) life() {
	r := p.r
	s := ""
	if !r.Created.IsZero() {
		s = p.words(max(r.AsOf.Sub(r.Created), 0)) + " ago, at " + r.Created.Local().Format("15:04:05.000")
	}
	if r.Creator != nil {
		if s != "" {
			s += ", "
		}
		s += "by " + p.party(r.Creator)
	}
	if s != "" {
		p.line("made", s)
	}
	if r.Waker != nil {
		p.line("unparked", "by "+p.party(r.Waker)+" last")
	}
	s = Thousands(uint64(r.Mounts)) + " times, pinned " + Thousands(uint64(r.Pins))
	if r.Mounts == 1 {
		s = "once, pinned " + Thousands(uint64(r.Pins))
	}
	if r.Carrier != nil {
		s += ", on carrier " + strconv.FormatUint(uint64(*r.Carrier), 10)
	}
	if r.Scheduler != "" {
		s += " of scheduler " + p.quote(r.Scheduler)
	}
	// A goroutine is never mounted, and a dump of another program does not count.
	if r.Mounts+r.Pins > 0 || r.Carrier != nil || r.Scheduler != "" || r.Kind == virtualKind && r.Since != nil {
		p.line("mounted", s)
	}
	if r.Run+r.Ready > 0 {
		s = p.words(r.Run) + ", waited " + p.words(r.Ready) + " for a carrier"
		if r.CPU > 0 {
			s += ", was " + p.words(r.CPU) + " on a processor"
		}
		p.line("ran", s+"; up to when it was mounted last")
	}
	s = r.Kind
	if r.Goroutine != "" {
		s += ", g " + r.Goroutine
	}
	p.line("kind", s)
}

func (p *threadPage) party(x *Party) string {
	s := "goroutine " + x.Goroutine
	if x.Thread != 0 {
		s = "#" + number(uint64(x.Thread))
	}
	if x.Name != "" {
		s += " " + p.quote(x.Name)
	}
	return s
}

func (p *threadPage) place(x *Place) string {
	s := p.clean(ShortFunc(x.Func))
	if x.File != "" {
		s += " " + p.clean(baseName(x.File)) + ":" + strconv.Itoa(x.Line)
	}
	return s
}

func (p *threadPage) stack() {
	p.endLine()
	if p.r.Stack == nil {
		p.text(dim, "no stack is known")
		p.endLine()
		return
	}
	frames := p.r.Stack.Frames
	left := 0
	if p.o.Depth > 0 && len(frames) > p.o.Depth {
		frames, left = frames[:p.o.Depth], len(frames)-p.o.Depth
	}
	fileCol := 0
	for _, f := range frames {
		fileCol = max(fileCol, Columns(p.clean(ShortFunc(f.Func))))
	}
	fileCol = min(fileCol, p.o.Width*2/3)
	for _, f := range frames {
		st := plain
		if f.Internal {
			st = dim
		}
		p.text(st, cut(p.clean(ShortFunc(f.Func)), fileCol, p.ellipsis))
		if f.File != "" {
			p.pad(fileCol + 2)
			p.text(dim, p.clean(f.File)+":"+strconv.Itoa(f.Line))
		}
		p.endLine()
	}
	if left > 0 {
		p.text(dim, p.ellipsis+" "+Thousands(left)+" more")
		p.endLine()
	}
	if p.r.Stack.Truncated {
		p.text(dim, p.ellipsis+" deeper frames are not recorded")
		p.endLine()
	}
}
