package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vtscope/vtscope/dump"
)

// dumped writes what vtdump --json prints of a target to a file, with changes.
func dumped(t *testing.T, target string, change func(s *dump.Snapshot)) string {
	t.Helper()
	s, err := dump.ParseJSON([]byte(succeeds(t, "--json", target)))
	if err != nil {
		t.Fatal(err)
	}
	if change != nil {
		change(s)
	}
	b, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "dump.json")
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// fewer takes threads off the largest group.
func fewer(s *dump.Snapshot) {
	g := &s.Groups[0]
	g.Count -= 100
	s.Scopes[g.Scope].Own -= 100
	s.Threads -= 100
}

func TestDiffComparesADumpWithAProcess(t *testing.T) {
	path := recorded(t).Path
	before := dumped(t, path, fewer)
	out := succeeds(t, "diff", before, path)
	for _, want := range []string{"  900 → 1,000 threads  ▲ 100\n", "1 scope grew; 2 the same\n1 group grew; 1 the same\n", "▲ 100  grew    899 → 999", "shop/requests", "shop.(*Store).query", "store.go:88"} {
		if !strings.Contains(out, want) {
			t.Errorf("want %q in\n%s", want, out)
		}
	}
	if out := succeeds(t, "diff", before, path, "--least", "101"); !strings.Contains(out, "no scope changed or by fewer than 101\n") {
		t.Errorf("got %s", out)
	}
	if out := succeeds(t, "diff", before, before); !strings.Contains(out, "no group changed\n") {
		t.Errorf("got %s", out)
	}
	var d dump.Diff
	if err := json.Unmarshal([]byte(succeeds(t, "diff", "--json", path, before, "--similar", "shape")), &d); err != nil || d.GroupCounts[dump.Shrank] != 1 || d.Similar != "shape" {
		t.Errorf("got %v %+v", err, d)
	}
}

func TestDiffFailsOnTheChangesThatAreNamed(t *testing.T) {
	path := recorded(t).Path
	before := dumped(t, path, fewer)
	for _, c := range []struct {
		args string
		code int
		errs string
	}{
		{"--fail-on grew", exitFailed, "vtdump: --fail-on: 2 grew\n"},
		{"--fail-on new,grew", exitFailed, "vtdump: --fail-on: 2 grew\n"},
		{"--fail-on new,gone,shrank", exitDone, ""},
		{"--fail-on grew --least 101", exitDone, ""},
	} {
		r := vtdump(t, append([]string{"diff", before, path}, strings.Fields(c.args)...)...)
		if r.code != c.code || r.errors != c.errs || !strings.Contains(r.out, "threads  ▲ 100") {
			t.Errorf("%s: got exit %d, %q and %q; want %d and %q", c.args, r.code, r.errors, r.out, c.code, c.errs)
		}
	}
}

func TestDiffEveryComparesAProcessWithItself(t *testing.T) {
	path := recorded(t).Path
	out := succeeds(t, "diff", path, "--every", "1ms", "--times", "2")
	if n := strings.Count(out, "1,000 → 1,000 threads\n"); n != 2 || strings.Count(out, "no group changed\n") != 2 {
		t.Errorf("got %d diffs:\n%s", n, out)
	}
}

func TestDiffTakesMomentsOfARecording(t *testing.T) {
	run := recordingFile(t)
	out := succeeds(t, "diff", run+"@500ms", run+"@3500ms")
	for _, want := range []string{"  0 → 1 thread  ▲ 1\n", ", 3 s later; complete\n", "new     0 → 1", "requests", "shop.query", `e.g. #1 "GET /cart"`} {
		if !strings.Contains(out, want) {
			t.Errorf("want %q in\n%s", want, out)
		}
	}
	if out := succeeds(t, "diff", run+"@500ms", run+"@3500ms", "--filter", "name=other"); !strings.Contains(out, "only name=other\n") || !strings.Contains(out, "0 → 0 threads") {
		t.Errorf("with a filter: got %s", out)
	}
}

func TestADumpIsATarget(t *testing.T) {
	path := recorded(t).Path
	file := dumped(t, path, nil)
	if out := succeeds(t, file); !strings.Contains(out, "1,000 threads in 3 scopes") || !strings.Contains(out, "store.go:88") {
		t.Errorf("got %s", out)
	}
	if again := succeeds(t, "--json", file); again != succeeds(t, "--json", dumped(t, file, nil)) {
		t.Errorf("not the same again: %s", again)
	}
	if out := succeeds(t, dumpedWith(t, "--filter", "scope~requests", path), "--filter", "scope~requests"); !strings.Contains(out, "only scope~requests") {
		t.Errorf("of the same filter: got %s", out)
	}
}

// dumpedWith writes what vtdump --json prints with further arguments to a file.
func dumpedWith(t *testing.T, args ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "dump.json")
	if err := os.WriteFile(path, []byte(succeeds(t, append(args, "--json")...)), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestCallsOfDiffThatCannotBe(t *testing.T) {
	path := recorded(t).Path
	file := dumped(t, path, nil)
	broken := filepath.Join(t.TempDir(), "broken.json")
	if err := os.WriteFile(broken, []byte(`{"format": "vtscope/waits/v1"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	fails(t, exitUsage, "diff needs a target", "diff")
	fails(t, exitUsage, "diff needs two targets, or --every", "diff", path)
	fails(t, exitUsage, "diff compares two, not 3", "diff", path, path, path)
	fails(t, exitUsage, "two targets are compared once", "diff", path, file, "--every", "1s")
	fails(t, exitUsage, "does not change", "diff", file, "--every", "1s")
	fails(t, exitUsage, `no change "growth": want grew, shrank, new, gone`, "diff", file, file, "--fail-on", "growth")
	fails(t, exitFailed, "has groups, and not the threads that a filter chooses", "diff", file, path, "--filter", "state=parked")
	fails(t, exitFailed, `format "vtscope/waits/v1", want "vtscope/dump/v1"`, "diff", broken, path)
	fails(t, exitFailed, "no vtscope process and no file of this name", "diff", file, "nobody-is-called-so")
	fails(t, exitUsage, "is a dump, and waits needs a process", "waits", file)
	fails(t, exitFailed, "--by: a dump has one snapshot", file, "--by", "state")
	fails(t, exitUsage, "--times means nothing to record", "record", path, "--times", "3")
}
