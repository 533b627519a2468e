package control

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

func TestTheLimitsAreThoseOfTheDocumentation(t *testing.T) {
	doc, err := os.ReadFile("../../docs/security.md")
	if err != nil {
		t.Fatal(err)
	}
	table := "| answer to | bytes | time |\n|---|---|---|\n"
	for _, l := range limits {
		size := fmt.Sprintf("%d KiB", l.bytes>>10)
		if l.bytes >= 1<<20 {
			size = fmt.Sprintf("%d MiB", l.bytes>>20)
		}
		table += fmt.Sprintf("| %s | %s | %v |\n", l.what, size, l.time)
	}
	if !strings.Contains(string(doc), table) {
		t.Errorf("docs/security.md has not\n%s", table)
	}
}

func TestTheLimitOfACommandThatHasNoRowIsTheLast(t *testing.T) {
	for what, want := range map[string]string{"settings": "settings", "my-command": otherCommands, durablePages: durablePages} {
		if got := limitOf(what).what; got != want {
			t.Errorf("%s: got the row of %s, want that of %s", what, got, want)
		}
	}
}
