package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// settings is what the arguments ask for.
type settings struct {
	target   string
	targeted bool
	help     bool
	version  bool

	format   string
	top      int
	depth    int
	internal bool
	growth   time.Duration
	ascii    bool
	color    string
	width    int

	used []*flagRow // flags that were given
}

// A form is a way to call vtdump.
type form struct {
	args  string
	about string
}

var forms = []form{
	{"", "list the processes that can be looked at"},
	{"TARGET", "print the threads of one process, grouped by scope and stack"},
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
	lists bool // means something without a target too
	set   func(s *settings, value string) error
}

var formats = []string{"text", "json", "folded"}

var flags = []flagRow{
	{"top", "", "N", "show the N largest groups and sum the others (default 20; all in json and folded); 0 shows all", false,
		func(s *settings, v string) (err error) { s.top, err = natural(v); return }},
	{"depth", "", "N", "show N frames of each stack (default: at most 8, as fit on a small page); 0 shows all", false,
		func(s *settings, v string) (err error) { s.depth, err = natural(v); return }},
	{"internal", "", "", "show the frames of vtscope's and Go's runtime too", false,
		func(s *settings, v string) error { s.internal = true; return nil }},
	{"growth", "", "DURATION", "take two snapshots so far apart, such as 2s, and mark what grew and shrank", false,
		func(s *settings, v string) (err error) { s.growth, err = duration(v); return }},
	{"format", "f", "FORMAT", "text, json (one document) or folded (for flame graphs)", true,
		func(s *settings, v string) (err error) { s.format, err = word(v, formats); return }},
	{"json", "", "", "the same as --format json", true,
		func(s *settings, v string) error { s.format = "json"; return nil }},
	{"width", "", "N", "cut lines after N columns (default 100)", true,
		func(s *settings, v string) (err error) {
			if s.width, err = natural(v); err == nil && s.width < 40 {
				err = fmt.Errorf("want at least 40")
			}
			return
		}},
	{"ascii", "", "", "use no character beyond ASCII", true,
		func(s *settings, v string) error { s.ascii = true; return nil }},
	{"color", "", "WHEN", "auto (default: on a terminal, unless NO_COLOR is set), always or never", true,
		func(s *settings, v string) (err error) {
			s.color, err = word(v, []string{"auto", "always", "never"})
			return
		}},
	{"help", "h", "", "explain everything", true,
		func(s *settings, v string) error { s.help = true; return nil }},
	{"version", "", "", "print the versions of vtdump and of the formats it knows", true,
		func(s *settings, v string) error { s.version = true; return nil }},
}

// unset marks a number that was not given.
const unset = -1

// parse reads the arguments. Flags may stand before and after the target; "--" ends them.
func parse(args []string) (settings, error) {
	s := settings{format: "text", color: "auto", top: unset, depth: unset}
	onlyTargets := false
	for len(args) > 0 {
		arg := args[0]
		args = args[1:]
		if onlyTargets || len(arg) < 2 || arg[0] != '-' {
			if s.targeted {
				return s, usageError{fmt.Sprintf("more than one target: %q and %q", s.target, arg), "one call for each"}
			}
			s.target, s.targeted = arg, true
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
	if s.help || s.version || s.targeted {
		return s, nil
	}
	for _, row := range s.used {
		if !row.lists {
			return s, usageError{"--" + row.name + " needs a target", "vtdump PID, or vtdump alone for a list"}
		}
	}
	if s.format == "folded" {
		return s, usageError{"--format folded needs a target", "vtdump PID, or vtdump alone for a list"}
	}
	return s, nil
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
