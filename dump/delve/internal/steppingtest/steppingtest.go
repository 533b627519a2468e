package steppingtest

import (
	"os"
	"strings"
	"testing"
)

// LineOf returns the line of a file that has a text, from the line of a function on. Without one the test fails.
func LineOf(t *testing.T, file, function, text string) int {
	t.Helper()
	source, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	inside := false
	for i, line := range strings.Split(string(source), "\n") {
		inside = inside || strings.HasPrefix(line, "func "+function+"(")
		if inside && strings.Contains(line, text) {
			return i + 1
		}
	}
	t.Fatalf("no %q in %s", text, function)
	return 0
}
