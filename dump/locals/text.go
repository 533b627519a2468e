package locals

import (
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/vtscope/vtscope/dump"
)

// TextOptions say how [Text] writes.
type TextOptions struct {
	Internal bool // the frames of vtscope's and Go's runtime too
	ASCII    bool // no character beyond ASCII
	Width    int  // where values go on in the next line; 0: 100
}

// Text writes the frames of an answer with their variables, innermost first.
func Text(w io.Writer, a *Answer, o TextOptions) error {
	p := printer{o: o}
	if o.Width == 0 {
		p.o.Width = 100
	}
	p.line(0, "Variables of goroutine %d, innermost frame first", a.Goroutine)
	hidden, optimized := 0, false
	for i := range a.Frames {
		f := &a.Frames[i]
		if f.Internal && !o.Internal {
			hidden++
			continue
		}
		p.frame(f)
		optimized = optimized || f.Optimized && slices.ContainsFunc(slices.Concat(f.Arguments, f.Locals), func(v Variable) bool { return v.Missing != "" })
	}
	if hidden > 0 {
		p.line(2, "%s of the runtime hidden: --all-frames shows them", dump.Count(hidden, "frame"))
	}
	if p.cutSome {
		p.line(2, "long values are cut: --json has more of them")
	}
	if optimized {
		p.line(2, "built with -gcflags='all=-N -l' a program keeps all")
	}
	for _, missing := range a.Incomplete {
		p.line(2, "incomplete: %s", missing)
	}
	_, err := io.WriteString(w, p.b.String())
	return err
}

// longestShown is how many characters of a value are shown.
const longestShown = 300

type printer struct {
	o       TextOptions
	b       strings.Builder
	cutSome bool // values
}

// cut returns the beginning of a value.
func (p *printer) cut(value string) string {
	n := 0
	for at := range value {
		if n == longestShown {
			p.cutSome = true
			return value[:at] + "…"
		}
		n++
	}
	return value
}

func (p *printer) frame(f *Frame) {
	inlined := ""
	if f.Inlined {
		inlined = "  inlined"
	}
	p.line(2, "%s  %s:%d%s", f.Function, filepath.Base(f.File), f.Line, inlined)
	for _, v := range slices.Concat(f.Arguments, f.Locals) {
		about := ""
		if v.Result {
			about = "result "
		}
		if v.Shadowed {
			about += "(hidden by another of this name) "
		}
		if v.Missing != "" {
			p.line(6, "%s%s %s: %s", about, v.Name, v.Type, v.Missing)
		} else {
			p.line(6, "%s%s %s = %s", about, v.Name, v.Type, p.cut(v.Value))
		}
	}
	if f.Missing != "" {
		p.line(6, "no variables: %s", f.Missing)
	}
}

// line writes a line, which goes on in the next one, further in, when it is full.
func (p *printer) line(indent int, format string, args ...any) {
	text := dump.Printable(fmt.Sprintf(format, args...))
	if p.o.ASCII {
		text = strings.Map(func(r rune) rune {
			if r >= utf8.RuneSelf {
				return '?'
			}
			return r
		}, text)
	}
	const further = 2
	for first := true; first || text != ""; first = false {
		room := max(p.o.Width-indent, 20)
		at := len(text)
		if utf8.RuneCountInString(text) > room {
			at = 0
			for range room {
				_, size := utf8.DecodeRuneInString(text[at:])
				at += size
			}
		}
		p.b.WriteString(strings.Repeat(" ", indent))
		p.b.WriteString(text[:at])
		p.b.WriteByte('\n')
		text = text[at:]
		if first {
			indent += further
		}
	}
}
