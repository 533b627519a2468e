package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/vtscope/vtscope/dump"
)

// settings is what the arguments ask for.
type settings struct {
	command  command
	target   string
	targeted bool
	help     bool
	version  bool

	format   string
	top      int
	depth    int
	internal bool
	growth   time.Duration
	checks   checks
	ascii    bool
	color    string
	width    int

	used []*flagRow // flags that were given
}

// A command is what vtdump is asked to do. They are bits, so that a flag can be of several.
type command uint8

const (
	commandList command = 1 << iota
	commandThreads
	commandScheduler
	commandWaits
	commandFindings

	everyCommand = commandList | commandThreads | commandScheduler | commandWaits | commandFindings
)

// A form is a way to call vtdump. Parser, help and docs/cli.md derive from it.
type form struct {
	command command
	word    string // the first argument that is no flag; "" if the command has no name
	target  bool   // it needs one
	about   string
	formats []string
}

var forms = []form{
	{commandList, "", false, "list the processes that can be looked at", []string{"text", "json"}},
	{commandThreads, "", true, "print the threads of one process, grouped by scope and stack", []string{"text", "json", "folded"}},
	{commandScheduler, "scheduler", true, "print its schedulers: figures, delays, carriers, where threads were pinned", []string{"text", "json"}},
	{commandWaits, "waits", true, "print who waits for whom: deadlocks first, then what is waited for and who holds it", []string{"text", "json"}},
	{commandFindings, "findings", true, "check it for scopes that grow or were left, threads that wait too long or for nobody", []string{"text", "json"}},
}

// call writes "vtdump [FLAGS] scheduler TARGET".
func (f *form) call() string {
	words := []string{"vtdump", "[FLAGS]", f.word}
	if f.target {
		words = append(words, "TARGET")
	}
	return strings.Join(slices.DeleteFunc(words, func(w string) bool { return w == "" }), " ")
}

// call writes "vtdump" with the word of the command, if it has one.
func (s *settings) call() string { return strings.TrimSpace("vtdump " + formOf(s.command).word) }

func formOf(c command) *form {
	return &forms[slices.IndexFunc(forms, func(f form) bool { return f.command == c })]
}

// A targetRow is a thing that TARGET can be.
type targetRow struct {
	name, about string
}

var targets = []targetRow{
	{"PID", "the id of a process that runs, hangs, is stopped, or was killed"},
	{"PROGRAM", "the name of a program, if one process runs it"},
	{"FILE", "a flight file, such as /dev/shm/vtscope-1000/4711-99.flight"},
}

// A flagRow is a flag. Parser, help and docs/cli.md derive from it.
type flagRow struct {
	name  string // without "--"
	short string // without "-"; "" for none
	arg   string // what its value is called; "" if it takes none
	about string
	of    command // what it means something to
	set   func(s *settings, value string) error
}

var formats = []string{"text", "json", "folded"}

var flags = []flagRow{
	{"top", "", "N", "show the N largest groups and sum the others (default 20); of scheduler N lines of each list (default 10); of waits " +
		"N groups (default 10); 0 shows all, and is the default in json and folded", commandThreads | commandScheduler | commandWaits,
		func(s *settings, v string) (err error) { s.top, err = natural(v); return }},
	{"depth", "", "N", "show N frames of each stack (default: at most 8, as fit on a small page); 0 shows all", commandThreads,
		func(s *settings, v string) (err error) { s.depth, err = natural(v); return }},
	{"internal", "", "", "show the frames of vtscope's and Go's runtime too", commandThreads,
		func(s *settings, v string) error { s.internal = true; return nil }},
	{"growth", "", "DURATION", "take two snapshots so far apart, such as 2s, and mark what grew and shrank; of findings compare " +
		"them (default 2s if the process runs)", commandThreads | commandFindings,
		func(s *settings, v string) (err error) { s.growth, err = duration(v); return }},
	{"check", "", "NAME=N", "check NAME of findings finds from N on, or nothing with NAME=off: " + strings.Join(dump.CheckNames(), ", "), commandFindings,
		func(s *settings, v string) error { return s.checks.set(v) }},
	{"format", "f", "FORMAT", "text, json (one document) or folded (for flame graphs)", everyCommand,
		func(s *settings, v string) (err error) { s.format, err = word(v, formats); return }},
	{"json", "", "", "the same as --format json", everyCommand,
		func(s *settings, v string) error { s.format = "json"; return nil }},
	{"width", "", "N", "cut lines after N columns (default 100)", everyCommand,
		func(s *settings, v string) (err error) {
			if s.width, err = natural(v); err == nil && s.width < 40 {
				err = fmt.Errorf("want at least 40")
			}
			return
		}},
	{"ascii", "", "", "use no character beyond ASCII", everyCommand,
		func(s *settings, v string) error { s.ascii = true; return nil }},
	{"color", "", "WHEN", "auto (default: on a terminal, unless NO_COLOR is set), always or never", everyCommand,
		func(s *settings, v string) (err error) {
			s.color, err = word(v, []string{"auto", "always", "never"})
			return
		}},
	{"help", "h", "", "explain everything", everyCommand,
		func(s *settings, v string) error { s.help = true; return nil }},
	{"version", "", "", "print the versions of vtdump and of the formats it knows", everyCommand,
		func(s *settings, v string) error { s.version = true; return nil }},
}

// unset marks a number that was not given.
const unset = -1

// parse reads the arguments. Flags may stand before and after the others; "--" ends them, and what follows is a target even if it is the word of a
// command.
func parse(args []string) (settings, error) {
	s := settings{command: commandList, format: "text", color: "auto", top: unset, depth: unset}
	onlyTargets := false
	for len(args) > 0 {
		arg := args[0]
		args = args[1:]
		if onlyTargets || len(arg) < 2 || arg[0] != '-' {
			if err := s.argument(arg, onlyTargets); err != nil {
				return s, err
			}
			continue
		}
		if arg == "--" {
			onlyTargets = true
			continue
		}
		name, value, valued := strings.Cut(arg, "=")
		row := findFlag(name)
		if row == nil {
			return s, unknownFlag(name)
		}
		switch {
		case row.arg == "" && valued:
			return s, usageError{fmt.Sprintf("%s takes no value", name), "--" + row.name}
		case row.arg != "" && !valued:
			if len(args) == 0 {
				return s, usageError{fmt.Sprintf("%s needs a value", name), "--" + row.name + " " + row.arg + ": " + row.about}
			}
			value, args = args[0], args[1:]
		}
		if err := row.set(&s, value); err != nil {
			return s, usageError{fmt.Sprintf("%s %q: %v", name, value, err), "--" + row.name + " " + row.arg + ": " + row.about}
		}
		s.used = append(s.used, row)
	}
	if s.help || s.version {
		return s, nil
	}
	return s, s.check()
}

// argument takes an argument that is no flag: the word of a command or a target.
func (s *settings) argument(arg string, target bool) error {
	if !target && s.command == commandList {
		for i := range forms {
			if f := &forms[i]; f.word != "" && f.word == arg {
				s.command = f.command
				return nil
			}
		}
	}
	if s.targeted {
		try := "one call for each"
		if s.command == commandThreads {
			if near := nearest(s.target, commandWords()); near != "" {
				try = "vtdump " + near + " " + arg
			}
		}
		return usageError{fmt.Sprintf("more than one target: %q and %q", s.target, arg), try}
	}
	if s.command == commandList {
		s.command = commandThreads
	}
	s.target, s.targeted = arg, true
	return nil
}

func commandWords() []string {
	var words []string
	for i := range forms {
		if w := forms[i].word; w != "" {
			words = append(words, w)
		}
	}
	return words
}

// check reports what does not go together.
func (s *settings) check() error {
	f := formOf(s.command)
	if f.target && !s.targeted {
		return usageError{f.word + " needs a target", "vtdump " + f.word + " PID, or vtdump -- " + f.word + " for a program of this name"}
	}
	refused := func(what string) error {
		if s.command == commandList {
			return usageError{what + " needs a target", "vtdump PID, or vtdump alone for a list"}
		}
		return usageError{what + " means nothing to " + f.word, s.call() + " " + s.target + " without it"}
	}
	for _, row := range s.used {
		if row.of&s.command == 0 {
			return refused("--" + row.name)
		}
	}
	if !slices.Contains(f.formats, s.format) {
		return refused("--format " + s.format)
	}
	return nil
}

func findFlag(name string) *flagRow {
	for i := range flags {
		if row := &flags[i]; name == "--"+row.name || row.short != "" && name == "-"+row.short {
			return row
		}
	}
	return nil
}

func unknownFlag(name string) error {
	names := make([]string, len(flags))
	for i := range flags {
		names[i] = flags[i].name
	}
	try := "vtdump -h"
	if near := nearest(strings.TrimLeft(name, "-"), names); near != "" {
		try = findFlag("--"+near).usage() + ", or " + try
	}
	return usageError{fmt.Sprintf("unknown flag %s", name), try}
}

// usage writes "--top N".
func (r *flagRow) usage() string {
	if r.arg == "" {
		return "--" + r.name
	}
	return "--" + r.name + " " + r.arg
}

// checks is what the flags --check say.
type checks struct{ dump.CheckOptions }

func (c *checks) set(v string) error {
	name, value, _ := strings.Cut(v, "=")
	if _, err := word(name, dump.CheckNames()); err != nil {
		return err
	}
	if value == "off" {
		c.Off = append(c.Off, name)
		return nil
	}
	n, err := natural(value)
	if err != nil || n < 1 {
		return fmt.Errorf("want %s=off, or a whole number from 1 on", name)
	}
	if c.Threshold == nil {
		c.Threshold = map[string]int{}
	}
	c.Threshold[name] = n
	c.Off = slices.DeleteFunc(c.Off, func(off string) bool { return off == name })
	return nil
}

func natural(v string) (int, error) {
	n, err := strconv.ParseUint(v, 10, 31)
	if err != nil {
		return 0, fmt.Errorf("want a whole number")
	}
	return int(n), nil
}

func duration(v string) (time.Duration, error) {
	d, err := time.ParseDuration(v)
	if err != nil {
		return 0, fmt.Errorf("want a duration such as 500ms or 2s")
	}
	if d <= 0 || d > time.Hour {
		return 0, fmt.Errorf("want more than 0 and at most 1h")
	}
	return d, nil
}

func word(v string, words []string) (string, error) {
	if !slices.Contains(words, v) {
		return "", fmt.Errorf("want %s or %s", strings.Join(words[:len(words)-1], ", "), words[len(words)-1])
	}
	return v, nil
}

// nearest returns the word that is most like s, if one is like it at all.
func nearest(s string, words []string) string {
	best, bestDistance := "", 0
	for _, w := range words {
		d := distance(s, w)
		if len(s) >= 2 && strings.HasPrefix(w, s) || sameLetters(s, w) {
			d = 1
		}
		if d <= max(1, len(w)/3) && (best == "" || d < bestDistance) {
			best, bestDistance = w, d
		}
	}
	return best
}

func sameLetters(a, b string) bool {
	x, y := []byte(a), []byte(b)
	slices.Sort(x)
	slices.Sort(y)
	return slices.Equal(x, y)
}

// distance counts the insertions, deletions and replacements that turn a into b.
func distance(a, b string) int {
	if len(a) > 100 {
		return len(a)
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		above := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := above
			if a[i] != b[j] {
				cost = 1 + min(above, row[j], row[j+1])
			}
			above, row[j+1] = row[j+1], cost
		}
	}
	return row[len(b)]
}
