package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/vtscope/vtscope/runtime/flight"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: eventdoc FILE")
		os.Exit(2)
	}
	var page bytes.Buffer
	write(&page)
	if err := os.WriteFile(os.Args[1], page.Bytes(), 0o644); err != nil {
		fmt.Fprintf(os.Stderr, "eventdoc: %v\n", err)
		os.Exit(1)
	}
}

func write(w io.Writer) {
	fmt.Fprint(w, `<!-- Written by go generate ./internal/eventdoc from the tables of runtime/flight. -->

# Events, states and reasons

What the flight recorder of a process writes down, in the words that the command line, the page and the JSON use.
How it is laid out in memory stands in [flight-format.md](flight-format.md).

## Events

Every event has a time, a carrier and a thread. The settings named default and profile record of each kind what the table says; vtdump settings
shows and changes what a process records. "Cost" is how often events of the kind happen.

`)
	rows(w, "event", "category", "means", "fields", "default", "profile", "cost")
	for k := flight.EventNone + 1; k < flight.KindCount; k++ {
		info := flight.Kinds[k]
		var fields []string
		for _, f := range info.Fields {
			fields = append(fields, fieldText(f))
		}
		byDefault, profiled := setting(info.Default), setting(info.Profile)
		if info.Default == (flight.Setting{}) && info.Profile == info.Default && k == flight.EventMore {
			byDefault, profiled = "", ""
		}
		row(w, code(info.Name), string(info.Category), info.About, strings.Join(fields, ", "), byDefault, profiled, info.Cost.String())
	}
	fmt.Fprint(w, "\n## States of a thread\n\n")
	rows(w, "state", "means", "can become")
	for s := flight.StateNew; s < flight.StateCount; s++ {
		info := flight.States[s]
		var next []string
		for _, n := range info.Next {
			if n != flight.StateFree {
				next = append(next, code(n.String()))
			}
		}
		row(w, code(info.Name), info.About, strings.Join(next, ", "))
	}
	fmt.Fprint(w, "\n## Reasons\n\nWhy a thread left its carrier, waits, holds its carrier, or ended.\n\n")
	rows(w, "reason", "means")
	for r := flight.ReasonNone + 1; r < flight.ReasonCount; r++ {
		row(w, code(flight.Reasons[r].Name), flight.Reasons[r].About)
	}
	fmt.Fprint(w, "\n## Blockers\n\nWhat a thread waits for.\n\n")
	rows(w, "blocker", "means")
	for b := flight.BlockedByNone + 1; b < flight.BlockerKindCount; b++ {
		row(w, code(flight.BlockerKinds[b].Name), flight.BlockerKinds[b].About)
	}
	fmt.Fprint(w, "\n## Figures of a scheduler\n\nWhat each scheduler tells about itself, as it is now or in sum so far; durations are in nanoseconds.\n\n")
	rows(w, "figure", "means", "unit", "in sum")
	for f := range flight.FigureCount {
		info := flight.Figures[f]
		total := ""
		if info.Total {
			total = "yes"
		}
		row(w, code(info.Name), info.About, flight.FieldUses[info.Unit].Name, total)
	}
}

// fieldText returns, for example, "`duration` u64 ns".
func fieldText(f flight.Field) string {
	use := flight.FieldUses[f.Use]
	s := code(f.Name) + " " + use.Type
	if use.Unit != "" {
		s += " " + use.Unit
	}
	if use.Name != f.Name {
		s += " (" + use.Name + ")"
	}
	return s
}

func setting(s flight.Setting) string { return strings.ReplaceAll(s.String(), "|", "/") }

func code(s string) string { return "`" + s + "`" }

func row(w io.Writer, cells ...string) {
	fmt.Fprintf(w, "| %s |\n", strings.Join(cells, " | "))
}

func rows(w io.Writer, heads ...string) {
	row(w, heads...)
	fmt.Fprintln(w, "|"+strings.Repeat(" --- |", len(heads)))
}
