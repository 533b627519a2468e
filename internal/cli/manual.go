package cli

import (
	"fmt"
	"strings"
)

// A Manual is a page for man, in roff, in the making.
type Manual struct{ b strings.Builder }

// NewManual begins the page of a command.
func NewManual(command, about string, calls []string) *Manual {
	m := &Manual{}
	m.line(`.TH %s 1 "" "vtscope" "User Commands"`, strings.ToUpper(command))
	m.line(".SH NAME\n%s %s %s", command, `\-`, about)
	m.line(".SH SYNOPSIS\n.nf")
	for _, call := range calls {
		m.line(".B %s", Roff(call))
	}
	m.line(".fi")
	return m
}

func (m *Manual) line(format string, args ...any) { fmt.Fprintf(&m.b, format+"\n", args...) }

// Section begins a section, with a text that is filled, which may be "".
func (m *Manual) Section(title, text string) {
	m.line(".SH %s", Roff(strings.ToUpper(title)))
	if text = strings.TrimSpace(text); text != "" {
		m.line("%s", Roff(text))
	}
}

// Row explains something.
func (m *Manual) Row(what, about string) { m.line(".TP\n.B %s\n%s", Roff(what), Roff(Capital(about))) }

// Flag explains a flag; short and arg may be "".
func (m *Manual) Flag(short, name, arg, about string) {
	text := `\fB` + Roff("--"+name) + `\fR`
	if arg != "" {
		text += ` \fI` + Roff(arg) + `\fR`
	}
	if short != "" {
		text = `\fB` + Roff("-"+short) + `\fR, ` + text
	}
	m.line(".TP\n%s\n%s.", text, Roff(Capital(about)))
}

// Text adds lines as they stand.
func (m *Manual) Text(text string) { m.line(".nf\n%s\n.fi", Roff(strings.TrimRight(text, "\n"))) }

// String is the page.
func (m *Manual) String() string { return m.b.String() }

var roffEscapes = strings.NewReplacer(`\`, `\e`, "-", `\-`, "'", `\(aq`, "^", `\(ha`, "~", `\(ti`, "`", `\(ga`)

// Roff writes text so that it is printed as it stands.
func Roff(s string) string {
	s = roffEscapes.Replace(s)
	lines := strings.Split(s, "\n")
	for i := range lines {
		if strings.HasPrefix(lines[i], ".") {
			lines[i] = `\&` + lines[i]
		}
	}
	var b strings.Builder
	for _, r := range strings.Join(lines, "\n") {
		if r > '~' {
			fmt.Fprintf(&b, `\[u%04X]`, r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}
