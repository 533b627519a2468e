package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/vtscope/vtscope/dump"
	"github.com/vtscope/vtscope/dump/filter"
	"github.com/vtscope/vtscope/incident"
	"github.com/vtscope/vtscope/internal/cli"
	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/tracing/profile"
)

// A candidate is a word that may come next.
type candidate struct{ word, about string }

// completion prints the script of a shell, or the words that may come next.
func (s *settings) completion(ctx context.Context, w world) error {
	if s.target == "words" {
		var b strings.Builder
		for _, c := range candidates(ctx, w, s.more) {
			fmt.Fprintf(&b, "%s\t%s\n", dump.Printable(c.word), dump.Printable(c.about))
		}
		return written(io.WriteString(w.stdout, b.String()))
	}
	if script := cli.Script("vtdump", s.target); script != "" && len(s.more) == 0 {
		return written(io.WriteString(w.stdout, script))
	}
	return usageError{fmt.Sprintf("no shell %q: want %s", strings.Join(append([]string{s.target}, s.more...), " "), strings.Join(cli.Shells(), ", ")),
		`eval "$(vtdump completion bash)"`}
}

// candidates returns what the last of the words, which may be empty, can become. None means that it may be a file.
func candidates(ctx context.Context, w world, words []string) []candidate {
	if len(words) == 0 {
		words = []string{""}
	}
	last, before := words[len(words)-1], words[:len(words)-1]
	s := settings{command: commandList}
	var open *flagRow // wants the last word for its value
	for _, word := range before {
		switch name, _, valued := strings.Cut(word, "="); {
		case open != nil:
			open = nil
		case len(word) > 1 && word[0] == '-':
			if row := findFlag(name); row != nil && row.takes() && !valued {
				open = row
			}
		default:
			_ = s.argument(word, false) // one target too many is told when vtdump is called
		}
	}
	name, value, valued := strings.Cut(last, "=")
	switch {
	case open != nil:
		return within(values(ctx, w, &s, open), last)
	case valued && strings.HasPrefix(last, "--"):
		row := findFlag(name)
		if row == nil || row.arg == "" {
			return nil
		}
		found := within(values(ctx, w, &s, row), value)
		for i := range found {
			found[i].word = name + "=" + found[i].word
		}
		return found
	case strings.HasPrefix(last, "-"):
		var found []candidate
		for i := range flags {
			if row := &flags[i]; s.command == commandList || row.of&s.command != 0 {
				found = append(found, candidate{"--" + row.name, row.about})
			}
		}
		return within(found, last)
	}
	var found []candidate
	if s.command == commandList {
		for i := range forms {
			if f := &forms[i]; f.word != "" {
				found = append(found, candidate{f.word, f.about})
			}
		}
	}
	switch {
	case s.command == commandCompletion:
		for _, sh := range cli.Shells() {
			found = append(found, candidate{sh, "the script of this shell"})
		}
	case s.command == commandHelp:
		for _, word := range helpWords() {
			found = append(found, candidate{word: word})
		}
	case s.command == commandProfile && s.targeted:
		for i := range profile.Kinds {
			found = append(found, candidate{profile.Kinds[i].Name, profile.Kinds[i].About})
		}
	case s.command == commandDurable && s.targeted && len(s.more) == 0:
		found = append(found, s.durableIDs(ctx, w)...)
	case !s.targeted || s.command == commandDiff:
		found = append(found, processes(w)...)
	}
	return within(found, last)
}

// within returns the candidates that begin so.
func within(all []candidate, begin string) []candidate {
	return slices.DeleteFunc(all, func(c candidate) bool { return !strings.HasPrefix(c.word, begin) })
}

// processes returns pids and names of programs, those that live.
func processes(w world) (found []candidate) {
	all, _ := flight.List() // what cannot be read is no target
	seen := map[string]bool{}
	for _, p := range all {
		if !p.Status.Live() {
			continue
		}
		about := fmt.Sprintf("%s, %s, started %s ago", p.Program, dump.Count(p.Threads, "thread"), dump.Span(w.now().Sub(p.Start)))
		found = append(found, candidate{strconv.Itoa(p.PID), about})
		if !seen[p.Program] {
			seen[p.Program] = true
			found = append(found, candidate{p.Program, "pid " + strconv.Itoa(p.PID)})
		}
	}
	return found
}

// completionTime is how long a look at a process may take while somebody waits for words.
const completionTime = 2 * time.Second

// values returns what a flag can be set to. Flags that take numbers, times and files have none.
func values(ctx context.Context, w world, s *settings, row *flagRow) []candidate {
	words := func(all ...string) (found []candidate) {
		for _, v := range all {
			found = append(found, candidate{word: v})
		}
		return found
	}
	switch row.name {
	case "format":
		if s.command != commandList {
			return words(formOf(s.command).formats...)
		}
		return words(formats...)
	case "color":
		return words("auto", "always", "never")
	case "similar":
		return words(dump.SameLines.String(), dump.SameFunctions.String(), dump.SameShape.String())
	case "fail-on":
		return words(dump.New.String(), dump.Gone.String(), dump.Grew.String(), dump.Shrank.String())
	case "part", "without":
		return words(incident.PartNames()...)
	case "check":
		return words(dump.CheckNames()...)
	case "by":
		var found []candidate
		for _, d := range dump.Dimensions {
			found = append(found, candidate{d.Name, d.About})
		}
		return found
	case "filter":
		var found []candidate
		fields := filter.Fields
		if s.command == commandDurable {
			fields = filter.DurableFields
		}
		for i := range fields {
			f := &fields[i]
			if len(f.Values) == 0 {
				found = append(found, candidate{f.Name, f.About})
			}
			for _, v := range f.Values {
				found = append(found, candidate{f.Name + "=" + v, f.About})
			}
		}
		return found
	case "sort":
		var found []candidate
		for i := range dump.DurableSorts {
			found = append(found, candidate{dump.DurableSorts[i].Name, dump.DurableSorts[i].About})
		}
		return found
	case "kind":
		var found []candidate
		for k := range flight.Kinds {
			if info := &flight.Kinds[k]; info.Category != "" && flight.Kind(k) != flight.EventMore {
				found = append(found, candidate{info.Name, info.About})
			}
		}
		return found
	case "scope", "no-leaks", "group":
		return inside(ctx, w, s, row.name)
	}
	return nil
}

// inside returns the scopes or groups of the target, if it is known by now.
func inside(ctx context.Context, w world, s *settings, what string) (found []candidate) {
	if !s.targeted {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, completionTime)
	defer cancel()
	snap, err := s.snapshotOf(ctx, w, s.target)
	if err != nil {
		return nil // vtdump tells when it is called
	}
	const most = 200 // of more nobody chooses
	if what == "group" {
		for i, key := range snap.ShortKeys()[:min(len(snap.Groups), most)] {
			g := &snap.Groups[i]
			found = append(found, candidate{key, dump.Count(g.Count, "thread") + ", " + g.State.String() + ", in " + dump.ScopeName(snap.Path(g.Scope)[1:])})
		}
		return found
	}
	for i := range snap.Scopes[:min(len(snap.Scopes), most)] {
		found = append(found, candidate{dump.ScopeName(snap.Path(i)[1:]), dump.Count(snap.Scopes[i].Total, "thread")})
	}
	return found
}
