package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/vtscope/vtscope/dump"
	"github.com/vtscope/vtscope/internal/buildinfo"
	"github.com/vtscope/vtscope/internal/cli"
	"github.com/vtscope/vtscope/runtime/flight"
)

// said returns what a call prints that follows nothing: the version, the manual page, what shells need. asked is false of other calls.
func said(args []string) (text string, asked bool, err error) {
	switch {
	case len(args) == 0:
		return "", false, nil
	case slices.Contains(args, "--version"):
		return buildinfo.Line("vtserve") + "\n", true, nil
	case args[0] == "manual" && len(args) == 1:
		return manual(), true, nil
	case args[0] == "completion" && len(args) > 2 && args[1] == "words":
		return candidates(args[len(args)-1]), true, nil
	case args[0] == "completion":
		shell := strings.Join(args[1:], " ")
		if text = cli.Script("vtserve", shell); text == "" {
			err = hint{fmt.Errorf("no shell %q: want %s", shell, strings.Join(cli.Shells(), ", ")), `eval "$(vtserve completion bash)"`}
		}
		return text, true, err
	}
	return "", false, nil
}

func manual() string {
	m := cli.NewManual("vtserve", "show the threads of vtscope processes, and the goroutines of Go programs, on a page", calls)
	m.Section("Description", about)
	m.Section("Options", "")
	for _, row := range flags {
		m.Flag("", row.name, row.arg, row.about)
	}
	m.Flag("", "version", "", "print the version")
	m.Flag("h", "help", "", "print help")
	m.Section("Examples", "")
	for _, e := range examples {
		m.Row(e.call, e.about)
	}
	return m.String()
}

// candidates returns what the last word of a call may become, for shells: flags, or processes. None means that it may be a file.
func candidates(last string) string {
	var b strings.Builder
	offer := func(word, about string) {
		if strings.HasPrefix(word, last) {
			fmt.Fprintf(&b, "%s\t%s\n", word, dump.Printable(about))
		}
	}
	if strings.HasPrefix(last, "-") {
		for _, row := range flags {
			offer("--"+row.name, row.about)
		}
		offer("--version", "print the version")
		offer("--help", "print help")
		return b.String()
	}
	all, _ := flight.List() // what cannot be read cannot be followed
	for _, p := range all {
		if p.Status.Live() {
			offer(strconv.Itoa(p.PID), p.Program)
		}
	}
	return b.String()
}
