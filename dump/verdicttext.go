package dump

import (
	"io"
	"strconv"
	"strings"
)

// VerdictText prints v for a person: the limits that are not kept, with their evidence and the call of vtdump that tells more of target, then the others. Of o it
// takes ASCII, Color and Width.
func VerdictText(w io.Writer, v *Verdict, target string, o TextOptions) error {
	glyphs, lines := o.drawn()
	p := &verdictPage{threadPage{&ThreadReport{}, o, glyphs, lines}, v}
	p.print(target)
	_, err := w.Write(p.b.Bytes())
	return err
}

// A verdictPage is a verdict being printed.
type verdictPage struct {
	threadPage
	v *Verdict
}

// The columns of a limit: whether it is kept, then what it is about.
const (
	verdictCol  = 8
	evidenceCol = verdictCol + 2
)

// What a limit begins with.
const (
	wordFailed  = "FAILED"
	wordUnknown = "unknown"
	wordKept    = "kept"
)

func (x *Judged) word() string {
	switch {
	case x.Kept:
		return wordKept
	case x.Unknown:
		return wordUnknown
	}
	return wordFailed
}

func (p *verdictPage) print(target string) {
	v := p.v
	p.text(bold, p.process(&v.Process))
	p.text(plain, "  "+v.Process.Threads(v.Threads)+"  ")
	failed, unknown := v.Failed(), v.Unknown()
	switch all := Count(len(v.Limits), "limit"); {
	case failed > 0 && unknown > 0:
		p.text(warn, Thousands(failed)+" of "+all+" not kept, "+Thousands(unknown)+" unknown")
	case failed > 0:
		p.text(warn, Thousands(failed)+" of "+all+" not kept")
	case unknown > 0:
		p.text(warn, Thousands(unknown)+" of "+all+" unknown")
	default:
		p.text(plain, all+" kept")
	}
	p.endLine()
	p.trust(&v.Process, max(v.Taken.Sub(v.AsOf), 0), v.Took, v.Complete)
	p.endLine()
	p.unseen(&v.Process)
	if v.Filter != "" {
		p.text(plain, "only "+p.clean(v.Filter))
		p.endLine()
	}
	p.missing(v.Incomplete)
	for _, word := range []string{wordFailed, wordUnknown, wordKept} {
		for i := range v.Limits {
			if x := &v.Limits[i]; x.word() == word {
				p.limit(x, target)
			}
		}
	}
}

func (p *verdictPage) limit(x *Judged, target string) {
	if x.Kept {
		p.text(dim, wordKept)
	} else {
		p.text(warn, x.word())
	}
	p.pad(verdictCol)
	p.text(bold, p.clean(x.Limit))
	p.text(plain, ": ")
	p.paragraph(plain, p.clean(x.What), evidenceCol)
	for i := range x.Evidence {
		e := &x.Evidence[i]
		p.pad(evidenceCol)
		p.paragraph(plain, p.clean(e.What), evidenceCol+2)
		var where []string
		if len(e.Scope) > 0 {
			where = append(where, "in "+p.clean(ScopeName(e.Scope)))
		}
		if e.Place != nil {
			where = append(where, "at "+p.clean(ShortFunc(e.Place.Func))+" "+p.clean(baseName(e.Place.File))+":"+strconv.Itoa(e.Place.Line))
		}
		for k := range e.Examples {
			where = append(where, p.party(&e.Examples[k]))
		}
		if len(where) > 0 {
			p.pad(evidenceCol + 2)
			p.paragraph(dim, strings.Join(where, "  "), evidenceCol+4)
		}
	}
	if x.More > 0 {
		p.pad(evidenceCol)
		p.text(dim, p.ellipsis+" "+Thousands(x.More)+" more")
		p.endLine()
	}
	if x.Try != "" {
		p.pad(evidenceCol)
		p.text(dim, "try: ")
		p.text(plain, "vtdump "+p.clean(strings.Replace(x.Try, "TARGET", target, 1)))
		p.endLine()
	}
}
