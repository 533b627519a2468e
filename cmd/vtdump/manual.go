package main

import (
	"fmt"
	"io"
	"strings"
)

// manual prints the manual page, for man: vtdump manual > vtdump.1.
func manual(w world) error { return written(io.WriteString(w.stdout, manualText())) }

// manualText is the page as roff.
func manualText() string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line(`.TH VTDUMP 1 "" "vtscope" "User Commands"`)
	line(".SH NAME\nvtdump %s show what the threads of a vtscope process do", `\-`)
	line(".SH SYNOPSIS\n.nf")
	for i := range forms {
		line(".B %s", roff(forms[i].call()))
	}
	line(".fi\n.SH DESCRIPTION\n%s", roff(strings.TrimSpace(summary)))
	line(".SH COMMANDS")
	for i := range forms {
		line(".TP\n.B %s\n%s.", roff(forms[i].call()), roff(capital(forms[i].about)))
	}
	line(".SH TARGET")
	for _, t := range targets {
		line(".TP\n.B %s\n%s.", roff(t.name), roff(capital(t.about)))
	}
	line(".SH OPTIONS\nThey may stand before or after the other arguments; %s ends them.", roff("--"))
	for i := range flags {
		f := &flags[i]
		name := `\fB` + roff("--"+f.name) + `\fR`
		if f.arg != "" {
			name += ` \fI` + roff(f.arg) + `\fR`
		}
		if f.short != "" {
			name = `\fB` + roff("-"+f.short) + `\fR, ` + name
		}
		line(".TP\n%s\n%s.", name, roff(capital(f.about)))
	}
	for _, p := range helpParts {
		line(".SH %s\n.nf\n%s\n.fi", roff(strings.ToUpper(p.title)), roff(strings.TrimRight(p.text, "\n")))
	}
	line(".SH EXAMPLES")
	for _, e := range examples {
		line(".TP\n.B %s\n%s", roff(e.call), roff(capital(e.about)))
	}
	return b.String()
}

func capital(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

var roffEscapes = strings.NewReplacer(`\`, `\e`, "-", `\-`, "'", `\(aq`, "^", `\(ha`, "~", `\(ti`, "`", `\(ga`)

// roff writes text so that it is printed as it stands.
func roff(s string) string {
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
