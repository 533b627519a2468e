package dump

import (
	"io"
	"strings"
)

// FindingsText prints f for a person: each finding with its evidence, then the checks that were not made. Of o it takes ASCII, Color and Width.
func FindingsText(to io.Writer, f *Findings, o TextOptions) error {
	glyphs, lines := o.drawn()
	p := &waitsPage{w: &Waits{}, glyphs: glyphs, lines: lines}
	p.text(bold, p.process(&f.Process))
	p.text(plain, "  ")
	if n := len(f.Findings); n > 0 {
		p.text(warn, Count(n, "finding"))
	} else {
		p.text(plain, "no findings")
	}
	p.endLine()
	p.trust(&f.Process, max(f.Taken.Sub(f.AsOf), 0), f.Took, f.Complete)
	if f.Over > 0 {
		p.text(plain, "; compared with "+p.words(f.Over)+" before")
	}
	p.endLine()
	p.unseen(&f.Process)
	p.missing(f.Incomplete)
	for i := range f.Findings {
		p.finding(&f.Findings[i])
	}
	for _, m := range f.More {
		p.endLine()
		p.text(dim, m.Check+"   ")
		p.paragraph(plain, Thousands(m.Count)+" more, which --json does not have either", 4)
	}
	if len(f.Unjudged) > 0 {
		p.endLine()
	}
	for _, u := range f.Unjudged {
		if u.Partly {
			p.text(dim, "judged in part: ")
		} else {
			p.text(dim, "not judged: ")
		}
		p.paragraph(plain, u.Check+": "+u.Why, 4)
	}
	_, err := io.WriteString(to, p.b.String())
	return err
}

func (p *waitsPage) finding(f *Finding) {
	p.endLine()
	p.text(warn, f.Check)
	p.text(dim, " "+string(f.Severity))
	p.text(plain, "   ")
	p.paragraph(plain, p.clean(f.What), 4)
	for _, line := range f.Evidence {
		p.text(plain, "    ")
		p.paragraph(plain, p.clean(line), 6)
	}
	if f.Place != nil {
		p.label("at")
		p.frame(&f.Place.Frame)
		p.endLine()
	}
	if f.Since > 0 {
		p.label("since")
		p.text(plain, p.words(f.Since)+" ago")
		p.endLine()
	}
	if len(f.Examples) > 0 {
		p.label("threads")
		var all []string
		for i := range f.Examples {
			all = append(all, p.who(&f.Examples[i]))
		}
		p.paragraph(plain, strings.Join(all, " "), waitLabel)
	}
	p.label("judged")
	p.text(plain, p.clean(f.Unit.Text(f.Value))+": it is found from ")
	p.text(plain, p.clean(f.Unit.Text(f.Threshold))+" on")
	p.endLine()
	p.label("see")
	p.text(dim, f.Page)
	p.endLine()
}
