package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/vtscope/vtscope/internal/cli"
)

// helpColumns is how wide help is.
const helpColumns = 100

// explain prints what vtdump -h does of the call so far, or vtdump help of the word that was given.
func (s *settings) explain(w world) error {
	if s.command != commandHelp || s.help {
		return written(io.WriteString(w.stdout, shortHelp(s.command)))
	}
	if !s.targeted {
		return written(io.WriteString(w.stdout, overview()))
	}
	text := longHelp(s.target)
	if text == "" {
		try := "vtdump help"
		if near := nearest(s.target, helpWords()); near != "" {
			try += " " + near
		}
		return usageError{fmt.Sprintf("help: no command or topic %q", s.target), try + "; vtdump help lists them"}
	}
	return written(io.WriteString(w.stdout, text))
}

// name is the word of the form, or what help calls it.
func (f *form) name() string {
	switch f.command {
	case commandList:
		return "list"
	case commandThreads:
		return "threads"
	}
	return f.word
}

// findForm returns the form of this name, or nil.
func findForm(name string) *form {
	if i := slices.IndexFunc(forms, func(f form) bool { return f.name() == name }); i >= 0 {
		return &forms[i]
	}
	return nil
}

// allWords stands for all help at once.
const allWords = "all"

// helpWords are the words that vtdump help takes.
func helpWords() []string {
	var words []string
	for i := range forms {
		words = append(words, forms[i].name())
	}
	return append(words, topics()...)
}

// topics are those of helpWords that are no command.
func topics() []string {
	words := []string{"target"}
	for _, p := range helpParts {
		if p.word != "" {
			words = append(words, p.word)
		}
	}
	return append(words, allWords)
}

// A helpPage is help in the making.
type helpPage struct{ strings.Builder }

func (b *helpPage) section(title string) {
	if b.Len() > 0 {
		b.WriteByte('\n')
	}
	fmt.Fprintf(b, "%s:\n", title)
}

// row writes what is explained, and in its column the text.
func (b *helpPage) row(what string, column int, text string) {
	if len(what) >= column-2 {
		what += "\n" + strings.Repeat(" ", column-1)
	}
	fmt.Fprintf(b, "  %-*s %s\n", column-3, what, cli.Wrap(text, column, helpColumns-column))
}

func (b *helpPage) commands(brief bool) {
	for i := range forms {
		f := &forms[i]
		about := f.about
		if brief {
			about, _, _ = strings.Cut(about, ":")
		}
		b.row(strings.Replace(f.call(), " [FLAGS]", "", 1), 35, about)
	}
}

func (b *helpPage) targets() {
	for _, t := range targets {
		b.row(t.name, 25, t.about)
	}
}

// flagColumn is where flags are explained.
const flagColumn = 28

func (f *flagRow) column() string {
	short := "    "
	if f.short != "" {
		short = "-" + f.short + ", "
	}
	return short + f.usage()
}

// line is row with as much of the text as one line has room for.
func (b *helpPage) line(what string, column int, text string) {
	if line, rest, cut := strings.Cut(cli.Wrap(text, 0, helpColumns-column-2), "\n"); cut && rest != "" {
		text = line + " …"
	}
	b.row(what, column, text)
}

func (b *helpPage) examples(of command, most int) {
	for _, e := range examples {
		if e.of&of != 0 && most > 0 {
			most--
			b.row(e.call, 62, e.about)
		}
	}
}

func (b *helpPage) text(text string) {
	for line := range strings.Lines(text) {
		if line != "\n" {
			line = "  " + line
		}
		b.WriteString(line)
	}
}

// firstCalls are the examples of who has never called vtdump.
var firstCalls = []string{"vtdump", "vtdump 4711", "vtdump waits 4711", "vtdump findings 4711", "vtdump top 4711", "vtdump diff 4711 --every 5s"}

// overview is the help of vtdump itself: what it is, what to try first, and which commands there are.
func overview() string {
	var b helpPage
	b.WriteString(summary)
	b.section("Examples")
	for _, e := range examples {
		if slices.Contains(firstCalls, e.call) {
			b.row(e.call, 35, e.about)
		}
	}
	b.section("Commands")
	b.commands(true)
	b.WriteString("\n" + cli.Wrap("vtdump COMMAND -h has the examples and flags of a command, vtdump help COMMAND also how to read its page (vtdump help threads "+
		"of vtdump TARGET). Topics of vtdump help: "+strings.Join(topics(), ", ")+".", 0, helpColumns) + "\n")
	return b.String()
}

// flagsOf names the flags that are of just these commands.
func flagsOf(c command) string {
	var all []string
	for i := range flags {
		if f := &flags[i]; f.of == c {
			all = append(all, f.usage())
		}
	}
	return strings.Join(all, ", ")
}

// shortHelp is what vtdump COMMAND -h prints: a page of a terminal. Of the commands without a word it is the overview.
func shortHelp(c command) string {
	f := formOf(c)
	if f.word == "" {
		return overview()
	}
	b := &helpPage{}
	b.head(f)
	b.examples(c, 4)
	title := false
	for i := range flags {
		row := &flags[i]
		if row.of&c == 0 || row.of == everyCommand || row.of == overHTTP {
			continue
		}
		if !title {
			b.section("Flags")
			title = true
		}
		b.line(row.column(), flagColumn, brief(row.about, f.word))
	}
	also := "Also " + flagsOf(everyCommand)
	if c&overHTTP != 0 {
		also += "; over the network " + flagsOf(overHTTP)
	}
	b.WriteString("\n" + cli.Wrap(also+". More: vtdump help "+f.word+".", 0, helpColumns) + "\n")
	return b.String()
}

func (b *helpPage) head(f *form) {
	b.WriteString(f.call() + "\n" + cli.Wrap(cli.Capital(f.about), 0, helpColumns) + ".\n")
	if slices.ContainsFunc(examples, func(e example) bool { return e.of&f.command != 0 }) {
		b.section("Examples")
	}
}

// brief is what a flag does to a command, without what it does to others and without details.
func brief(about, word string) string {
	first := ""
	for part := range strings.SplitSeq(about, "; ") {
		if mine, ok := strings.CutPrefix(part, "of "+word); ok && mine != "" && strings.ContainsRune(" :,", rune(mine[0])) {
			return strings.TrimLeft(mine, " :,")
		}
		if first == "" && !ofOthers(part, word) {
			first = part
		}
	}
	return first
}

// ofOthers reports whether a part of a flag's explanation is about other commands.
func ofOthers(part, word string) bool {
	return slices.ContainsFunc(commandWords(), func(w string) bool { return w != word && strings.HasPrefix(part, "of "+w+" ") })
}

// longHelp is what vtdump help WORD prints; "" if there is no such word.
func longHelp(word string) string {
	b := &helpPage{}
	switch word {
	case allWords:
		return helpText()
	case "target":
		b.section("TARGET")
		b.targets()
		return b.String()
	}
	for _, p := range helpParts {
		if p.word == word {
			b.section(p.title)
			b.text(p.text)
			return b.String()
		}
	}
	f := findForm(word)
	if f == nil {
		return ""
	}
	b.head(f)
	b.examples(f.command, len(examples))
	b.section("Flags")
	for i := range flags {
		if row := &flags[i]; row.of&f.command != 0 {
			b.row(row.column(), flagColumn, row.about)
		}
	}
	for _, p := range helpParts {
		if p.of&f.command != 0 {
			b.section(p.title)
			b.text(p.text)
		}
	}
	return b.String()
}

// helpText is all help: every command, flag and part.
func helpText() string {
	var b helpPage
	b.WriteString(summary)
	b.section("Usage")
	for i := range forms {
		b.row(forms[i].call(), 35, forms[i].about)
	}
	b.section("TARGET")
	b.targets()
	b.section("Flags, before or after the others")
	for i := range flags {
		b.row(flags[i].column(), flagColumn, flags[i].about)
	}
	b.section("Examples")
	b.examples(everyCommand, len(examples))
	for _, p := range helpParts {
		b.section(p.title)
		b.text(p.text)
	}
	return b.String()
}
