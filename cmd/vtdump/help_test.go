package main

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/vtscope/vtscope/dump"
)

// helpLines is how long the help of one command may be: a page of a terminal.
const helpLines = 30

// narrow checks that help fits in a terminal.
func narrow(t *testing.T, call, help string) {
	t.Helper()
	for line := range strings.Lines(help) {
		if n := dump.Columns(strings.TrimSuffix(line, "\n")); n > helpColumns {
			t.Errorf("%s: line of %d columns: %s", call, n, line)
		}
	}
}

// inWords is text without the breaks of its lines.
func inWords(text string) string { return strings.Join(strings.Fields(text), " ") }

func TestAllHelpExplainsEveryFlag(t *testing.T) {
	help := succeeds(t, "help", "all")
	narrow(t, "vtdump help all", help)
	for i := range forms {
		if !strings.Contains(help, "  "+forms[i].call()) {
			t.Errorf("%q is not mentioned", forms[i].call())
		}
	}
	for i := range flags {
		if !strings.Contains(help, flags[i].usage()) || !strings.Contains(inWords(help), inWords(flags[i].about)) {
			t.Errorf("%s is not explained", flags[i].usage())
		}
	}
}

func TestHelpWithoutACommandIsAPageOfWhatThereIs(t *testing.T) {
	help := succeeds(t, "-h")
	narrow(t, "vtdump -h", help)
	for _, args := range [][]string{{"--help"}, {"help"}, {"4711", "--top", "3", "-h"}} {
		if out := succeeds(t, args...); out != help {
			t.Errorf("vtdump %q: got %q, want that of -h", args, out)
		}
	}
	if n := strings.Count(help, "\n"); n > 2*helpLines {
		t.Errorf("%d lines", n)
	}
	for _, word := range helpWords() {
		if f := findForm(word); !strings.Contains(help, word) && (f == nil || f.word != "") {
			t.Errorf("%s is not mentioned", word)
		}
	}
	for _, call := range firstCalls {
		if !strings.Contains(help, "\n  "+call+" ") {
			t.Errorf("no example %q", call)
		}
	}
}

func TestHelpOfACommandIsAboutIt(t *testing.T) {
	for i := range forms {
		f := &forms[i]
		if f.word == "" {
			continue
		}
		args := []string{f.word, "-h"}
		help := succeeds(t, args...)
		narrow(t, f.word+" -h", help)
		if n := strings.Count(help, "\n"); n > helpLines {
			t.Errorf("%s -h: %d lines, want at most %d", f.word, n, helpLines)
		}
		if !strings.HasPrefix(help, f.call()+"\n") {
			t.Errorf("%s -h begins %.60q", f.word, help)
		}
		if at := strings.Index(help, "\nExamples:\n"); at < 0 || strings.Contains(help[:at], "\nFlags:") {
			t.Errorf("%s -h: examples do not come first", f.word)
		}
		for j := range flags {
			row := &flags[j]
			mentioned := regexp.MustCompile(regexp.QuoteMeta(row.usage()) + `[ \n,.;]`).MatchString(help)
			if mentioned != (row.of&f.command != 0) {
				t.Errorf("%s -h: %s is mentioned: %v", f.word, row.usage(), mentioned)
			}
		}
	}
}

func TestLongHelpOfACommandHasItsFlagsAndItsPage(t *testing.T) {
	for i := range forms {
		f := &forms[i]
		help := succeeds(t, "help", f.name())
		narrow(t, "help "+f.name(), help)
		for j := range flags {
			row := &flags[j]
			explained := strings.Contains(inWords(help), inWords(row.column()+" "+row.about))
			if explained != (row.of&f.command != 0) {
				t.Errorf("help %s: --%s is explained: %v", f.name(), row.name, explained)
			}
		}
		for _, p := range helpParts {
			if strings.Contains(help, "\n"+p.title+":\n") != (p.of&f.command != 0) {
				t.Errorf("help %s: part %q: %v", f.name(), p.title, p.of&f.command == 0)
			}
		}
	}
	for _, p := range helpParts {
		if p.of == 0 && p.word == "" {
			t.Errorf("nothing leads to %q", p.title)
		}
	}
	for _, topic := range topics() {
		narrow(t, topic, succeeds(t, "help", topic))
	}
	fails(t, exitUsage, "try: vtdump help waits;", "help", "wait")
	fails(t, exitUsage, "try: vtdump help;", "help", "xyzzy")
}

func TestBriefHelpLeavesOutWhatIsOfOthers(t *testing.T) {
	for _, c := range []struct{ about, word, want string }{
		{"show N (default 20); of scheduler N lines; of waits N groups", "waits", "N groups"},
		{"show N (default 20); of scheduler N lines; of waits N groups", "replay", "show N (default 20)"},
		{"of watch the shortest time; of diff compare it; of top how often", "top", "how often"},
		{"of durable, of NATS-URL: the namespace", "durable", "of NATS-URL: the namespace"},
		{"of mark: why", "mark", "why"},
		{"only this group; or N for the Nth", "replay", "only this group"},
	} {
		if got := brief(c.about, c.word); got != c.want {
			t.Errorf("%q of %q: got %q, want %q", c.word, c.about, got, c.want)
		}
	}
}

func TestExamplesAreOfTheirCommands(t *testing.T) {
	for _, e := range examples {
		args := shellWords(strings.TrimSuffix(strings.TrimPrefix(e.call, `eval "$(`), `)"`))
		if i := slices.IndexFunc(args, func(w string) bool { return w == "|" || w == ">" }); i > 0 {
			args = args[:i]
		}
		if args[0] != "vtdump" {
			t.Errorf("%q calls %s", e.call, args[0])
			continue
		}
		s, err := parse(args[1:])
		if err != nil {
			t.Errorf("%q: %v", e.call, err)
		} else if s.command != e.of {
			t.Errorf("%q is of another command than it stands at", e.call)
		}
	}
}

// shellWords splits a call as a shell does that knows ' alone.
func shellWords(call string) []string {
	var words []string
	for i, part := range strings.Split(call, "'") {
		switch {
		case i%2 == 1:
			words = append(words, part)
		default:
			words = append(words, strings.Fields(part)...)
		}
	}
	return words
}
