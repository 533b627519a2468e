package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// fixtures is where the Java programs are.
const fixtures = "../../fixtures/compare"

func TestJavaKnowsEveryWorkAndNoOther(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(fixtures, "Main.java"))
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	for _, m := range regexp.MustCompile(`Map\.entry\("([^"]+)"`).FindAllSubmatch(text, -1) {
		known[string(m[1])] = true
	}
	for _, w := range works {
		if !known[w.java] {
			t.Errorf("Main.java has no %q", w.java)
		}
		delete(known, w.java)
	}
	for name := range known {
		t.Errorf("Main.java has %q, which nothing compares", name)
	}
}

func TestAPatternSelectsOneImplementationOfAllRows(t *testing.T) {
	for _, w := range works {
		levels := strings.Split(w.pattern("vthread"), "/")
		for _, r := range w.rows {
			name := strings.Split("Benchmark"+w.metric(r, "vthread").Benchmark, "/")
			if len(name) != len(levels) {
				t.Fatalf("%s: %v has not the levels of %v", r.name, name, levels)
			}
			for i := range name {
				if !regexp.MustCompile(levels[i]).MatchString(name[i]) {
					t.Errorf("%s: %q does not match %q", r.name, name[i], levels[i])
				}
			}
		}
		if last := levels[len(levels)-1]; regexp.MustCompile(last).MatchString("impl=goroutine") {
			t.Errorf("%s: %q selects goroutines too", w.java, last)
		}
	}
}

func TestAWorkIsChosenByItsWordOrARow(t *testing.T) {
	for expression, want := range map[string]int{"^yield$": 1, "at depth 10$": 1, "": len(works), "nothing": 0} {
		got := 0
		for _, w := range works {
			if w.matches(regexp.MustCompile(expression)) {
				got++
			}
		}
		if got != want {
			t.Errorf("%q: got %d works, want %d", expression, got, want)
		}
	}
}
