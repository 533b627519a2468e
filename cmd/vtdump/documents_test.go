package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// callsIn returns the calls of vtdump in the code of a document, each as it stands there: what follows a prompt, begins a line, or comes after a
// pipe or a semicolon.
func callsIn(text string) (calls []string) {
	fenced := false
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		if strings.HasPrefix(strings.TrimLeft(line, " "), "```") {
			fenced = !fenced
			continue
		}
		code, indented := strings.CutPrefix(line, "    ")
		if !fenced && !indented {
			continue
		}
		if fenced {
			code = line
		}
		code = strings.TrimPrefix(strings.TrimSpace(code), "$ ")
		if at := regexp.MustCompile(`\s#( |$)`).FindStringIndex(code); at != nil {
			code = code[:at[0]]
		}
		for _, part := range regexp.MustCompile(`\s*(\|\|?|&&|;)\s+`).Split(code, -1) {
			if call := regexp.MustCompile(`^(sudo )?(\S*/)?vtdump( .*)?$`).FindString(part); call != "" {
				calls = append(calls, call)
			}
		}
	}
	return calls
}

// Whoever copies a call from a document gets no usage error.
func TestCallsInDocumentsAreUnderstood(t *testing.T) {
	var files []string
	for _, pattern := range []string{"../../README.md", "../../*.md", "../../docs/*.md", "../../docs/findings/*.md"} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, found...)
	}
	slices.Sort(files)
	n := 0
	for _, file := range slices.Compact(files) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, call := range callsIn(string(text)) {
			words := shellWords(call)
			words = words[slices.IndexFunc(words, func(w string) bool { return strings.HasSuffix(w, "vtdump") })+1:]
			if i := slices.IndexFunc(words, func(w string) bool { return w == ">" || w == "&" || w == "2>&1" || w == ">>" }); i >= 0 {
				words = words[:i]
			}
			n++
			if _, err := parse(words); err != nil {
				t.Errorf("%s: %s: %v", filepath.Base(file), call, err)
			}
		}
	}
	if n < 100 {
		t.Errorf("%d calls were found: are documents missing?", n)
	}
}
