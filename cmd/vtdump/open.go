package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"github.com/vtscope/vtscope/dump"
	"github.com/vtscope/vtscope/incident"
	"github.com/vtscope/vtscope/internal/plainfile"
	"github.com/vtscope/vtscope/recording"
)

// isBundle reports whether a target is a file that looks like an incident bundle.
func isBundle(target string) bool {
	f, err := plainfile.Open(target)
	if err != nil {
		return false
	}
	defer f.Close()
	var magic [4]byte
	_, err = io.ReadFull(f, magic[:])
	return err == nil && string(magic[:]) == "PK\x03\x04"
}

// openEvents opens a recording, or that of a bundle. The bundle stays open as long as vtdump lives: its recording is read where it lies.
func openEvents(path string) (*recording.File, error) {
	if !isBundle(path) {
		return recording.Open(path)
	}
	b, err := incident.Open(path)
	if err != nil {
		return nil, err
	}
	events, err := b.Events()
	if err != nil {
		return nil, err
	}
	return recording.NewFile(events, events.Size())
}

// bundle does a command with an incident bundle as its target.
func (s *settings) bundle(w world) error {
	b, err := incident.Open(s.target)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return hint{err, "vtdump incident PID, which makes one"}
	case err != nil:
		return hint{err, "vtdump open FILE" + incident.Ending + ", a file that vtdump incident or watch wrote"}
	}
	defer b.Close()
	if len(s.more) > 0 {
		return usageError{s.target + " is a bundle: nothing can be changed in it", s.call() + " PID " + s.more[0]}
	}
	switch s.command {
	case commandOpen:
		if s.incident.part != "" {
			return s.printPart(w, b)
		}
		return s.story(w, b)
	case commandThreads:
		return s.threadsOf(w, b)
	case commandWaits:
		return s.documentOf(w, b, "waits", "deadlocks")
	case commandFindings:
		return s.documentOf(w, b, "findings", "findings")
	case commandScheduler:
		return s.documentOf(w, b, "schedulers", "")
	case commandSettings:
		return s.documentOf(w, b, "settings", "")
	}
	return usageError{fmt.Sprintf("%s is a bundle, and %s needs a process", s.target, formOf(s.command).word), "vtdump open " + s.target}
}

// threadsOf prints the threads as vtdump would have then.
func (s *settings) threadsOf(w world, b *incident.Bundle) error {
	snap, err := s.snapshotInBundle(b)
	if err != nil {
		return err
	}
	return s.printFolded(w, "a bundle", snap)
}

// documentOf prints a part as it was taken. It returns errFound if the list of that name in it is not empty.
func (s *settings) documentOf(w world, b *incident.Bundle, part, list string) error {
	for _, row := range s.used {
		if row.name != "format" && row.name != "json" {
			fmt.Fprintf(w.stderr, "vtdump: --%s changes nothing: a bundle has its pages as they were taken\n", row.name)
		}
	}
	document, err := b.JSON(part)
	if err != nil {
		return hint{err, "vtdump open " + s.target}
	}
	text := document
	if s.format != "json" || document == nil {
		if text, err = b.Text(part); err != nil {
			return err
		}
		text = dump.PrintableText(text)
	}
	if err := written(w.stdout.Write(text)); err != nil || list == "" {
		return err
	}
	var lists map[string]json.RawMessage
	var found []json.RawMessage
	if json.Unmarshal(document, &lists) == nil && json.Unmarshal(lists[list], &found) == nil && len(found) > 0 {
		return errFound
	}
	return nil
}

// printPart prints a part as it is: text for people, unless --json is given.
func (s *settings) printPart(w world, b *incident.Bundle) error {
	p := b.Part(s.incident.part)
	if p == nil {
		_, err := b.Text(s.incident.part)
		return hint{err, "vtdump open " + s.target}
	}
	f := p.Files[len(p.Files)-1]
	if s.format == "json" {
		f = p.Files[0]
	}
	if !strings.HasSuffix(f.Name, ".txt") && !strings.HasSuffix(f.Name, ".json") && w.terminal {
		return usageError{f.Name + " is nothing for a terminal", "vtdump open " + s.target + " --part " + p.Name + " > " + f.Name}
	}
	if p.Name == "events" {
		events, err := b.Events()
		if err != nil {
			return hint{err, "vtdump open " + s.target}
		}
		_, err = io.Copy(w.stdout, events)
		return written(0, err)
	}
	text, err := b.Content(f)
	if err != nil {
		return hint{err, "vtdump open " + s.target}
	}
	switch {
	case strings.HasSuffix(f.Name, ".txt"):
		text = dump.PrintableText(text)
	case strings.HasSuffix(f.Name, ".json"):
		return written(dump.EscapeJSON(w.stdout).Write(text))
	}
	return written(w.stdout.Write(text))
}

// look are the commands to look further into parts.
var look = map[string]string{
	"snapshot":   "vtdump BUNDLE",
	"waits":      "vtdump waits BUNDLE",
	"schedulers": "vtdump scheduler BUNDLE",
	"findings":   "vtdump findings BUNDLE",
	"settings":   "vtdump settings BUNDLE",
	"events":     "vtdump events BUNDLE; vtdump replay BUNDLE --at -1s",
	"heap":       "vtdump open BUNDLE --part heap > heap.pb.gz; go tool pprof -top heap.pb.gz",
	"cpu":        "vtdump open BUNDLE --part cpu > cpu.pb.gz; go tool pprof -top cpu.pb.gz",
	"goroutine":  "vtdump open BUNDLE --part goroutine > goroutine.pb.gz; go tool pprof -top goroutine.pb.gz",
}

// storyLines is how many lines the story has of each part.
const storyLines = 6

// story tells what fired, when, and how each part begins.
func (s *settings) story(w world, b *incident.Bundle) error {
	m := &b.Manifest
	if s.format == "json" {
		e := json.NewEncoder(w.stdout)
		e.SetIndent("", " ")
		e.SetEscapeHTML(false)
		return written(0, e.Encode(m))
	}
	var t bytes.Buffer
	clean := func(text string) string { return dump.Printable(text) }
	fmt.Fprintf(&t, "incident %s\n", m.ID)
	fmt.Fprintf(&t, "  %s (pid %d)%s, %s then, started %s before\n", clean(m.Process.Program), m.Process.PID, hostOf(m), clean(string(m.Process.Status)), dump.Span(m.Taken.Sub(m.Process.Started)))
	for _, c := range m.Causes {
		if c.Rule != "" {
			fmt.Fprintf(&t, "  fired  %s\n", clean(c.Rule))
		}
		fmt.Fprintf(&t, "  what   %s\n", clean(c.What))
		for _, line := range c.Evidence {
			fmt.Fprintf(&t, "         %s\n", clean(line))
		}
	}
	at := m.Causes[0].Fired
	fmt.Fprintf(&t, "  when   %s, %s ago; taken in %s\n", at.Local().Format("2006-01-02 15:04:05 MST"), dump.Span(max(w.now().Sub(at), 0)), dump.Span(m.Took))
	for i := range m.Parts {
		p := &m.Parts[i]
		fmt.Fprintf(&t, "\n%s: %s\n", p.Name, clean(p.About))
		text, err := b.Text(p.Name)
		if err != nil {
			fmt.Fprintf(&t, "    %s\n", clean(err.Error()))
		}
		writeStart(&t, text)
		if text == nil && err == nil {
			fmt.Fprintf(&t, "    %s bytes\n", dump.Thousands(int(p.Files[0].Size)))
		}
		for _, why := range p.Incomplete[:min(len(p.Incomplete), storyLines)] {
			fmt.Fprintf(&t, "    incomplete: %s\n", clean(why))
		}
		try := look[p.Name]
		if try == "" {
			try = "vtdump open BUNDLE --part " + p.Name
		}
		fmt.Fprintf(&t, "  %s\n", strings.ReplaceAll(try, "BUNDLE", clean(s.target)))
	}
	if len(m.Missing) > 0 {
		t.WriteString("\nmissing:\n")
	}
	for _, x := range m.Missing {
		fmt.Fprintf(&t, "  %-10s  %s\n", clean(x.Part), clean(x.Why))
	}
	out := t.String()
	if s.ascii {
		out = dump.ASCII(out)
	}
	return written(io.WriteString(w.stdout, out))
}

func hostOf(m *incident.Manifest) string {
	if m.Host == "" {
		return ""
	}
	return " on " + dump.Printable(m.Host)
}

// writeStart writes the first lines of a text.
func writeStart(t *bytes.Buffer, text []byte) {
	n := 0
	for line := range bytes.Lines(text) {
		line = bytes.ReplaceAll(bytes.TrimRight(line, "\n"), []byte("\t"), []byte(" "))
		if len(line) == 0 {
			continue
		}
		if n++; n > storyLines {
			t.WriteString("    …\n")
			return
		}
		fmt.Fprintf(t, "    %s\n", dump.Printable(dump.Cut(string(line), 120)))
	}
}
