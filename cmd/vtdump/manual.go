package main

import (
	"io"

	"github.com/vtscope/vtscope/internal/cli"
)

// manual prints the manual page, for man: vtdump manual > vtdump.1.
func manual(w world) error { return written(io.WriteString(w.stdout, manualText())) }

// manualText is the page as roff.
func manualText() string {
	var calls []string
	for i := range forms {
		calls = append(calls, forms[i].call())
	}
	m := cli.NewManual("vtdump", "show what the threads of a vtscope process do", calls)
	m.Section("Description", summary)
	m.Section("Commands", "")
	for i := range forms {
		m.Row(forms[i].call(), forms[i].about+".")
	}
	m.Section("TARGET", "")
	for _, t := range targets {
		m.Row(t.name, t.about+".")
	}
	m.Section("Options", "They may stand before or after the other arguments; -- ends them.")
	for i := range flags {
		m.Flag(flags[i].short, flags[i].name, flags[i].arg, flags[i].about)
	}
	for _, p := range helpParts {
		m.Section(p.title, "")
		m.Text(p.text)
	}
	m.Section("Examples", "")
	for _, e := range examples {
		m.Row(e.call, e.about)
	}
	return m.String()
}
