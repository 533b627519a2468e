package main

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// testsOf returns the names of the tests in a directory.
func testsOf(t *testing.T, dir string) map[string]bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, file := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range parsed.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil && strings.HasPrefix(f.Name.Name, "Test") {
				names[f.Name.Name] = true
			}
		}
	}
	return names
}

func TestEveryAttackHasItsTest(t *testing.T) {
	seen := map[string]bool{}
	for _, g := range groups {
		for _, a := range g.attacks {
			if !testsOf(t, filepath.Join("..", "..", a.dir))[a.test] {
				t.Errorf("%s: %s has no %s", a.what, a.dir, a.test)
			}
			if seen[key(a)] || a.what == "" || a.holds == "" {
				t.Errorf("%s: it stands twice, or says too little", key(a))
			}
			seen[key(a)] = true
		}
	}
}

func TestThePageHasEveryAttackAndNoOther(t *testing.T) {
	text, err := os.ReadFile("../../docs/attacks.md")
	if err != nil {
		t.Fatal(err)
	}
	rest := string(text)
	for _, g := range groups {
		for _, a := range g.attacks {
			before, after, found := strings.Cut(rest, row(a))
			if !found {
				t.Errorf("docs/attacks.md lacks %q, or has it elsewhere: run make attacks", row(a))
				continue
			}
			_, line, _ := strings.Cut(after, "\n")
			rest = before + line
			if result, _, _ := strings.Cut(after, "\n"); strings.Contains(result, "failed") {
				t.Errorf("docs/attacks.md: %s:%s", a.what, result)
			}
		}
	}
	for line := range strings.Lines(rest) {
		if strings.HasPrefix(line, "| ") && !strings.HasPrefix(line, "| tried ") {
			t.Errorf("docs/attacks.md has a row that is not in the table: %s", line)
		}
	}
}

func TestResultsAreCounted(t *testing.T) {
	const events = `{"Action":"output","Test":"TestA","Output":"=== RUN\n"}
{"Action":"pass","Test":"TestA/one"}
{"Action":"pass","Test":"TestA/two"}
{"Action":"pass","Test":"TestA"}
{"Action":"pass","Test":"TestA/one"}
{"Action":"output","Test":"TestA","Output":"no luck\n"}
{"Action":"fail","Test":"TestA/two"}
{"Action":"fail","Test":"TestA"}
{"Action":"attr","Test":"TestB","Key":"attempts","Value":"70"}
{"Action":"pass","Test":"TestB"}
{"Action":"output","Test":"TestC","Output":"    c_test.go:7: only root can\n"}
{"Action":"skip","Test":"TestC"}
{"Action":"pass"}
`
	var out bytes.Buffer
	got, err := parse(strings.NewReader(events), &out)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"TestA": " 3 | **failed** 1 of 2 times |", "TestB": " 70 | held |", "TestC": " 0 | skipped: only root can |", "TestD": "  | not run |"} {
		if got := told(got[name]); got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
	if !strings.Contains(out.String(), "no luck") {
		t.Errorf("got %q, want what the test that failed said", out.String())
	}
}

func TestARowThatDoesNotRunKeepsItsResult(t *testing.T) {
	table := []group{{"kind", "about", []attack{{"one", "a", "TestA", "holds", ""}, {"two", "b", "TestB", "holds", ""}, {"three", "c", "TestC", "holds", ""}}}}
	var first, second bytes.Buffer
	write(&first, table, map[string]*result{"a TestA": {runs: 1, tries: 7}, "b TestB": {runs: 1, tries: 8}}, "")
	write(&second, table, map[string]*result{"b TestB": {runs: 2, tries: 9}}, first.String())
	for _, want := range []string{row(table[0].attacks[0]) + " 7 | held |\n", row(table[0].attacks[1]) + " 9 | held, 2 times |\n", row(table[0].attacks[2]) + "  | not run |\n"} {
		if !strings.Contains(second.String(), want) {
			t.Errorf("got %s, want %q in it", second.String(), want)
		}
	}
}

func TestATestThatDoesNotRunIsAnError(t *testing.T) {
	j := job{dir: ".", tests: []string{"TestOfNobody"}}
	var out bytes.Buffer
	if _, err := j.run(&out, 1, nil); err == nil || !strings.Contains(err.Error(), "TestOfNobody did not run") {
		t.Errorf("got %v, want it to say that the test did not run", err)
	}
}
