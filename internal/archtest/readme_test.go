package archtest

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var goBlock = regexp.MustCompile("(?s)\n```go\n(.*?)\n```")

// TestTheCodeInTheReadmeIsCheckedCode looks at each Go block of README.md: a whole program must compile, any
// other must stand, line for line, in an Example, whose output the tests check.
func TestTheCodeInTheReadmeIsCheckedCode(t *testing.T) {
	var examples strings.Builder
	for _, name := range tracked(t) {
		if strings.HasSuffix(name, "example_test.go") {
			examples.WriteString(normal(string(read(t, name))))
		}
	}
	blocks := goBlock.FindAllStringSubmatch(string(read(t, "README.md")), -1)
	if len(blocks) == 0 {
		t.Fatal("README.md: got no Go block, want some")
	}
	for _, b := range blocks {
		if strings.HasPrefix(b[1], "package main\n") {
			compile(t, b[1])
		} else if !strings.Contains(examples.String(), normal(b[1])) {
			t.Errorf("README.md: no example_test.go has these lines:\n%s", b[1])
		}
	}
}

// normal takes indentation away.
func normal(code string) string {
	var b strings.Builder
	for line := range strings.Lines(code) {
		b.WriteString(strings.TrimSpace(line) + "\n")
	}
	return b.String()
}

func compile(t *testing.T, program string) {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "main.go")
	if err := os.WriteFile(file, []byte(program), 0o600); err != nil {
		t.Fatal(err)
	}
	build := exec.Command("go", "build", "-o", filepath.Join(dir, "main"), file)
	build.Dir = root(t)
	if out, err := build.CombinedOutput(); err != nil {
		t.Errorf("README.md: %v\n%s\n%s", err, out, program)
	}
}

var link = regexp.MustCompile(`\]\(([^)#: ]+)(#[^)]*)?\)`)

// code is what a page has between fences.
var code = regexp.MustCompile("(?ms)^```.*?^```")

func TestLinksLeadToFiles(t *testing.T) {
	links := 0
	for _, name := range tracked(t) {
		if !strings.HasSuffix(name, ".md") {
			continue
		}
		for _, m := range link.FindAllStringSubmatch(code.ReplaceAllString(string(read(t, name)), ""), -1) {
			links++
			if _, err := os.Stat(filepath.Join(root(t), filepath.Dir(name), m[1])); err != nil {
				t.Errorf("%s: link to %s: %v", name, m[1], err)
			}
		}
	}
	if links < 5 {
		t.Errorf("found %d links: the pages were not read", links)
	}
}

func TestEveryDecisionIsInTheIndex(t *testing.T) {
	index := string(read(t, "docs/decisions/README.md"))
	decisions := 0
	for _, name := range tracked(t) {
		if file, ok := strings.CutPrefix(name, "docs/decisions/0"); ok {
			decisions++
			if !strings.Contains(index, "(0"+file+")") {
				t.Errorf("docs/decisions/README.md: no link to 0%s", file)
			}
		}
	}
	if decisions == 0 {
		t.Error("found no decision: the folder was not read")
	}
}
