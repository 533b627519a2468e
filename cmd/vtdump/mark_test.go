package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestAGroupThatIsMarkedGoodIsHidden(t *testing.T) {
	path := recorded(t).Path
	file := filepath.Join(t.TempDir(), "shop.marks")
	out := succeeds(t, "mark", path, "1", "good", "--note", "they sleep", "--marks", file)
	if !strings.Contains(out, file+": shop/requests  shop.(*Store).query < shop.serve is marked good\n    try: vtdump "+path+" --marks "+file) {
		t.Errorf("got %s", out)
	}
	if b, err := os.ReadFile(file); err != nil || !strings.HasSuffix(string(b), "  shop/requests  shop.(*Store).query < shop.serve  # they sleep\n") {
		t.Errorf("got %s, %v", b, err)
	}
	out = succeeds(t, path, "--marks", file)
	if !strings.Contains(out, "1,000 threads in 3 scopes") || !strings.Contains(out, "\nknown good, hidden: 1 group with 999 threads\n") || strings.Contains(out, "store.go") {
		t.Errorf("got %s", out)
	}
	if out := succeeds(t, "diff", path, path, "--marks", file); !strings.Contains(out, "known good, hidden: 999 → 999 threads in 1 → 1 group\n") {
		t.Errorf("got %s", out)
	}
	succeeds(t, "mark", path, "1", "suspicious", "--note", "too many", "--marks", file, "--similar", "shape")
	if out := succeeds(t, path, "--marks", file); !strings.Contains(out, "    suspicious: too many\n") || strings.Contains(out, "hidden") {
		t.Errorf("got %s", out)
	}
	if b, _ := os.ReadFile(file); strings.Count(string(b), "\n") != 2 {
		t.Errorf("a mark replaces that of another similarity: got %s", b)
	}
	succeeds(t, "mark", path, "1", "none", "--marks", file)
	if b, _ := os.ReadFile(file); strings.Count(string(b), "\n") != 1 {
		t.Errorf("got %s", b)
	}
}

func TestCallsOfMarkThatCannotBe(t *testing.T) {
	path := recorded(t).Path
	dir := t.TempDir()
	file := filepath.Join(dir, "wrong.marks")
	if err := os.WriteFile(file, []byte("nonsense\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	fails(t, exitUsage, "mark needs a target", "mark")
	fails(t, exitUsage, "mark needs a group and a mark", "mark", path)
	fails(t, exitUsage, "mark needs a group and a mark", "mark", path, "1")
	fails(t, exitUsage, `"bad" is no mark`, "mark", path, "1", "bad")
	fails(t, exitFailed, "there is no group beef", "mark", path, "beef", "good", "--marks", filepath.Join(dir, "new.marks"))
	fails(t, exitFailed, `line 1: "nonsense" is no mark`, path, "--marks", file)
	fails(t, exitFailed, "--marks: open ", path, "--marks", filepath.Join(dir, "none.marks"))
	fails(t, exitFailed, "write marks: ", "mark", path, "1", "good", "--marks", filepath.Join(dir, "nowhere", "new.marks"))
	fails(t, exitUsage, "--by means nothing to --marks", path, "--marks", file, "--by", "state")
	if _, err := os.Stat(filepath.Join(dir, "new.marks")); err == nil {
		t.Error("a mark that was not made has left a file")
	}
}
