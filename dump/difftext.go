package dump

import (
	"io"
	"strconv"
	"time"
)

// diffDepth is the number of frames shown of a group that changed.
const diffDepth = 4

// DiffText prints a diff for a person. Top is the number of scopes and groups shown that grew, and of those that shrank; 0 means 10, negative all. Depth is the
// number of frames of each stack; 0 means 4.
func DiffText(w io.Writer, d *Diff, o TextOptions) error {
	glyphs, lines := o.drawn()
	if o.Top == 0 {
		o.Top = 10
	}
	switch {
	case o.Depth == 0:
		o.Depth = diffDepth
	case o.Depth < 0:
		o.Depth = 1 << 30
	}
	p := &diffPage{d: d, o: o, glyphs: glyphs, lines: lines}
	p.print()
	_, err := w.Write(p.b.Bytes())
	return err
}

// A diffPage is a diff being printed.
type diffPage struct {
	d *Diff
	o TextOptions
	glyphs
	lines
}

func (p *diffPage) print() {
	d := p.d
	p.text(bold, p.nameOf(&d.Old.Process))
	if b := p.nameOf(&d.New.Process); b != p.nameOf(&d.Old.Process) {
		p.text(plain, " and ")
		p.text(bold, b)
	}
	p.text(plain, "  "+Thousands(d.Old.Threads)+p.arrow()+d.New.Process.Threads(d.New.Threads))
	p.growth(d.New.Threads - d.Old.Threads)
	p.endLine()
	p.text(plain, "from "+p.moment(d.Old.AsOf, d.New.AsOf)+" to "+p.moment(d.New.AsOf, d.Old.AsOf))
	if d.Over < 0 {
		p.text(warn, ", "+p.words(-d.Over)+" earlier: new is older")
	} else {
		p.text(plain, ", "+p.words(d.Over)+" later")
	}
	if d.Complete {
		p.text(plain, "; complete")
	} else {
		p.text(warn, "; incomplete")
	}
	p.endLine()
	if d.Old.Filter != "" && d.Old.Filter == d.New.Filter {
		p.text(plain, "only "+p.clean(d.Old.Filter))
		p.endLine()
	}
	if a, b := d.Old.Known, d.New.Known; a.Groups+b.Groups > 0 {
		p.text(plain, "known good, hidden: "+Thousands(a.Threads)+p.arrow()+d.New.Process.Threads(b.Threads)+" in "+Thousands(a.Groups)+p.arrow()+Count(b.Groups, "group"))
		p.endLine()
	}
	p.missing(d.Incomplete)
	p.counts("scope", &d.ScopeCounts)
	p.counts("group", &d.GroupCounts)

	if len(d.Scopes) > 0 {
		p.endLine()
		p.text(dim, "scopes of one path")
		p.endLine()
		p.each(len(d.Scopes), func(i int) int { return d.Scopes[i].After - d.Scopes[i].Before }, "scope", p.scope)
	}
	if len(d.Groups) > 0 {
		p.endLine()
		p.text(dim, "threads of one path at one stack")
		p.endLine()
		p.each(len(d.Groups), func(i int) int { return d.Groups[i].After - d.Groups[i].Before }, "group", p.group)
	}
}

func (p *diffPage) nameOf(x *Process) string {
	return p.process(x)
}

func (p *diffPage) arrow() string {
	if p.o.ASCII {
		return " -> "
	}
	return " → "
}

// moment writes a time, with its date if that is not the other's.
func (p *diffPage) moment(at, other time.Time) string {
	at, other = at.Local(), other.Local()
	form := "15:04:05.000"
	if at.YearDay() != other.YearDay() || at.Year() != other.Year() {
		form = "2006-01-02 15:04:05"
	}
	return at.Format(form)
}

func (p *diffPage) growth(n int) {
	switch {
	case n > 0:
		p.text(bold, "  "+p.grew+" "+Thousands(n))
	case n < 0:
		p.text(bold, "  "+p.shrank+" "+Thousands(-n))
	}
}

// counts prints "3 groups grew, 1 new; 20 the same".
func (p *diffPage) counts(noun string, c *ChangeCounts) {
	changed := 0
	for _, k := range []Change{New, Gone, Grew, Shrank} {
		if c[k] == 0 {
			continue
		}
		if changed > 0 {
			p.text(plain, ", "+Thousands(c[k])+" "+k.String())
		} else {
			p.text(plain, Count(c[k], noun)+" "+k.String())
		}
		changed += c[k]
	}
	switch {
	case changed == 0:
		p.text(plain, "no "+noun+" changed")
	default:
		p.text(plain, "; "+Thousands(c[Same])+" the same")
	}
	if p.d.Least > 1 {
		p.text(plain, " or by fewer than "+Thousands(p.d.Least))
	}
	p.endLine()
}

// each prints the first of those that grew, and the first of those that shrank, with a line for the others.
func (p *diffPage) each(n int, growth func(int) int, noun string, print func(int)) {
	for _, shrinking := range []bool{false, true} {
		shown, more, threads := 0, 0, 0
		for i := range n {
			if (growth(i) < 0) != shrinking {
				continue
			}
			if p.o.Top > 0 && shown == p.o.Top {
				more++
				threads += growth(i)
				continue
			}
			shown++
			print(i)
		}
		if more > 0 {
			word := "grew"
			if shrinking {
				word = "shrank"
			}
			p.text(dim, p.ellipsis+" "+Count(more, "more "+noun)+" "+word+", by "+Count(max(threads, -threads), "thread")+"   (--top 0 shows them)")
			p.endLine()
		}
	}
}

// The columns of a change: by how much, what, from, to, and of what.
const (
	diffChangeCol = 12
	diffWordCol   = diffChangeCol + 1
	diffCountCol  = diffWordCol + 9
	diffPathCol   = diffCountCol + 22
)

// change prints how much something changed.
func (p *diffPage) change(c Change, before, after int) {
	st := plain
	if c == New || c == Grew {
		st = bold
	}
	mark := ""
	switch n := after - before; {
	case n > 0:
		mark = p.grew + " " + Thousands(n)
	case n < 0:
		mark = p.shrank + " " + Thousands(-n)
	}
	p.right(st, mark, diffChangeCol)
	p.pad(diffWordCol + 1)
	p.text(st, c.String())
	p.pad(diffCountCol)
	if before == after {
		p.text(plain, Thousands(after))
	} else {
		p.text(plain, Thousands(before)+p.arrow()+Thousands(after))
	}
	p.pad(max(diffPathCol, p.at()+2))
}

func (p *diffPage) scope(i int) {
	c := &p.d.Scopes[i]
	p.change(c.Change, c.Before, c.After)
	p.text(bold, p.clean(ScopeName(c.Path)))
	switch {
	case c.Was != c.Is && c.Was > 0 && c.Is > 0:
		p.text(plain, " "+p.times+Thousands(c.Was)+p.arrow()+p.times+Thousands(c.Is))
	case max(c.Was, c.Is) > 1:
		p.text(plain, " "+p.times+Thousands(max(c.Was, c.Is)))
	}
	p.endLine()
}

func (p *diffPage) group(i int) {
	c := &p.d.Groups[i]
	p.change(c.Change, c.Before, c.After)
	p.text(bold, p.clean(ScopeName(c.Path)))
	p.endLine()
	p.pad(diffWordCol + 1)
	states, longest := &c.Is, Wait{Max: c.LongestAfter, Unknown: c.UnknownAfter}
	if c.After == 0 {
		states, longest = &c.Was, Wait{Max: c.LongestBefore, Unknown: c.UnknownBefore}
	}
	gap := ""
	for _, s := range stateOrder {
		n := states[s]
		if n == 0 {
			continue
		}
		p.text(plain, gap)
		p.text(stateStyle(s), s.String())
		if n != states.Total() {
			p.text(plain, " "+Thousands(n))
		}
		gap = ", "
	}
	p.text(plain, longest.upTo(states.Total(), p.span))
	p.endLine()
	p.frames(c)
	if len(c.Examples) > 0 {
		p.pad(diffWordCol + 1)
		p.text(dim, "e.g.")
		for _, e := range c.Examples[:min(len(c.Examples), textExamples)] {
			p.text(dim, " #"+number(uint64(e.ID)))
			if e.Name != "" {
				p.text(dim, " "+p.quote(cut(p.clean(e.Name), exampleColumn, p.ellipsis)))
			}
		}
		p.endLine()
	}
}

func (p *diffPage) frames(c *GroupChange) {
	if c.Stack < 0 {
		p.pad(diffWordCol + 1)
		p.text(dim, "no stack")
		p.endLine()
		return
	}
	frames := p.d.Stacks[c.Stack].Shown(p.o.Internal)
	left := 0
	if len(frames) > p.o.Depth+1 {
		frames, left = frames[:p.o.Depth], len(frames)-p.o.Depth
	}
	fileCol := 0
	for _, f := range frames {
		fileCol = max(fileCol, diffWordCol+1+Columns(p.clean(ShortFunc(f.Func))))
	}
	fileCol = min(fileCol, p.o.Width*2/3)
	for _, f := range frames {
		p.pad(diffWordCol + 1)
		name := p.clean(ShortFunc(f.Func))
		if f.File == "" {
			p.text(plain, name)
			p.endLine()
			continue
		}
		p.text(plain, cut(name, fileCol-p.at(), p.ellipsis))
		p.pad(fileCol + 2)
		p.text(dim, p.clean(baseName(f.File))+":"+strconv.Itoa(f.Line))
		p.endLine()
	}
	if left > 0 {
		p.pad(diffWordCol + 1)
		p.text(dim, p.ellipsis+" "+Thousands(left)+" more")
		p.endLine()
	}
}
