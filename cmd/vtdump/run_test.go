package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/vtscope/vtscope/dump"
)

var update = flag.Bool("update", false, "rewrite docs/cli.md")

// A result is what a call of vtdump did.
type result struct {
	code        int
	out, errors string
}

// vtdump calls run with a world of its own.
func vtdump(t testing.TB, args ...string) result {
	t.Helper()
	var out, errs bytes.Buffer
	code := run(context.Background(), args, world{
		stdout: &out, stderr: &errs, getenv: func(string) string { return "" }, now: time.Now,
	})
	return result{code, out.String(), errs.String()}
}

// succeeds calls run, which must not complain.
func succeeds(t testing.TB, args ...string) string {
	t.Helper()
	r := vtdump(t, args...)
	if r.code != exitDone || r.errors != "" {
		t.Fatalf("vtdump %q: got exit %d and %q, want 0 and no error", args, r.code, r.errors)
	}
	return r.out
}

// fails calls run, which must print nothing but the error.
func fails(t testing.TB, code int, want string, args ...string) {
	t.Helper()
	r := vtdump(t, args...)
	if r.code != code || r.out != "" || !strings.HasPrefix(r.errors, "vtdump: ") || !strings.Contains(r.errors, want) {
		t.Errorf("vtdump %q: got exit %d, %q on stdout, %q on stderr; want exit %d and %q", args, r.code, r.out, r.errors, code, want)
	}
	if r.code != exitDone && !strings.Contains(r.errors, "\n    try: ") {
		t.Errorf("vtdump %q: no next step in %q", args, r.errors)
	}
}

func TestDocumentationIsThatOfTheTables(t *testing.T) {
	path := filepath.Join("..", "..", "docs", "cli.md")
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(docText()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(b) != docText() {
		t.Errorf("%s is stale: go test ./cmd/vtdump -run Documentation -update", path)
	}
}

func TestVersionNamesTheFormats(t *testing.T) {
	if out := succeeds(t, "--version"); !strings.Contains(out, "flight format 2") || !strings.Contains(out, dump.Format) || !strings.Contains(out, dump.SchedulersFormat) ||
		!strings.Contains(out, dump.WaitsFormat) || !strings.Contains(out, dump.FindingsFormat) {
		t.Errorf("got %q", out)
	}
}

func TestCallsThatAreNotUnderstood(t *testing.T) {
	for _, c := range []struct {
		args string
		want string
	}{
		{"--tops 4711", "unknown flag --tops\n    try: --top N"},
		{"--tpo=3 4711", "try: --top N"},
		{"--all 4711", "try: --all-frames"},
		{"-json 4711", "unknown flag -json\n    try: --json"},
		{"--xyzzy", "unknown flag --xyzzy\n    try: vtdump -h"},
		{"-x", "unknown flag -x"},
		{"--top", "--top needs a value"},
		{"--top= 4711", `--top "": want a whole number`},
		{"--top -3 4711", `--top "-3": want a whole number`},
		{"--depth x 4711", `--depth "x": want a whole number`},
		{"--growth 2 4711", "want a duration such as 500ms"},
		{"--growth 0s 4711", "want more than 0"},
		{"--format xml 4711", "want text, json, folded"},
		{"--color=blue", "want auto, always or never"},
		{"--width 10", "want at least 40"},
		{"--json=yes 4711", "--json takes no value"},
		{"4711 4712", "more than one target"},
		{"--watch 1s 4711", "try: --watch=1s 4711\n"},
		{"frobnicate 4711", "or a command and then the target"},
		{"top 127.0.0.1:1/4711", "try: vtdump --watch 127.0.0.1:1/4711\n"},
		{"diff 127.0.0.1:1/4711 --every 1s", "try: vtdump --json 127.0.0.1:1/4711 > before.json, later"},
		{"watch 127.0.0.1:1/4711 --on deadlock", "try: vtdump watch there\n"},
		{"--top 3", "--top needs a target"},
		{"--format folded", "needs a target"},
		{"0", "0 is no pid"},
		{"-- -1", "-1 is no pid"},
		{"scheduler", "scheduler needs a target\n    try: vtdump scheduler PID, or vtdump -- scheduler"},
		{"schedulers 4711", "more than one target: \"schedulers\" and \"4711\"\n    try: vtdump scheduler 4711"},
		{"scheduler 4711 4712", "more than one target"},
		{"4711 scheduler", "more than one target"},
		{"scheduler 4711 --growth 2s", "--growth means nothing to scheduler\n    try: vtdump scheduler 4711 without it"},
		{"--depth 3 scheduler 4711", "--depth means nothing to scheduler"},
		{"scheduler 4711 -f folded", "--format folded means nothing to scheduler"},
		{"scheduler 0", "0 is no pid"},
	} {
		fails(t, exitUsage, c.want, strings.Split(c.args, " ")...)
	}
	fails(t, exitUsage, "the target is empty", "")
}

func TestFlagsStandBeforeAndAfterTheTarget(t *testing.T) {
	for _, args := range []string{
		"--top 7 --all-frames --format json 4711", "4711 --top=7 --all-frames --json", "--top=7 4711 -f json --all-frames", "--all-frames -f=json --top 7 -- 4711",
	} {
		s, err := parse(strings.Split(args, " "))
		if err != nil {
			t.Fatalf("%s: %v", args, err)
		}
		s.used = nil
		if want := (settings{target: "4711", targeted: true, format: "json", top: 7, depth: unset, internal: true, color: "auto"}); s.top != want.top ||
			s.target != want.target || s.format != want.format || s.internal != want.internal || s.depth != want.depth {
			t.Errorf("%s: got %+v, want %+v", args, s, want)
		}
	}
}

func TestColourIsForTerminalsThatWantIt(t *testing.T) {
	for _, c := range []struct {
		color    string
		terminal bool
		env      map[string]string
		want     bool
	}{
		{"auto", true, nil, true},
		{"auto", false, nil, false},
		{"auto", true, map[string]string{"NO_COLOR": "1"}, false},
		{"auto", true, map[string]string{"TERM": "dumb"}, false},
		{"always", false, map[string]string{"NO_COLOR": "1"}, true},
		{"never", true, nil, false},
	} {
		s := settings{color: c.color}
		w := world{terminal: c.terminal, getenv: func(k string) string { return c.env[k] }}
		if got := s.colored(w); got != c.want {
			t.Errorf("%+v: got %v", c, got)
		}
	}
}

// A brokenWriter fails every Write.
type brokenWriter struct{ err error }

func (w brokenWriter) Write([]byte) (int, error) { return 0, w.err }

func TestErrorsOfStandardOutputFail(t *testing.T) {
	for _, c := range []struct {
		err  error
		want string
	}{
		{errors.New("no space left"), "vtdump: write standard output: no space left\n"},
		{syscall.EPIPE, ""},
	} {
		for _, arg := range []string{"-h", "--version", "--json"} {
			t.Setenv("VTSCOPE_DIR", t.TempDir())
			var errs bytes.Buffer
			code := run(context.Background(), []string{arg}, world{
				stdout: brokenWriter{c.err}, stderr: &errs, getenv: func(string) string { return "" }, now: time.Now,
			})
			if code != exitFailed || errs.String() != c.want {
				t.Errorf("%s: got exit %d and %q, want 1 and %q", arg, code, errs.String(), c.want)
			}
		}
	}
}

func TestNearestWordIsLikeIt(t *testing.T) {
	words := []string{"top", "depth", "all-frames", "growth", "format", "json"}
	for s, want := range map[string]string{
		"tops": "top", "to": "top", "dept": "depth", "dpeth": "depth", "formt": "format", "jsn": "json", "zzz": "", "": "", strings.Repeat("x", 10000): "",
	} {
		if got := nearest(s, words); got != want {
			t.Errorf("nearest(%.20q): got %q, want %q", s, got, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("--top 3 4711")
	f.Add("-f json -- --x")
	f.Fuzz(func(t *testing.T, line string) {
		s, err := parse(strings.Split(line, " "))
		var u usageError
		if err != nil && !errors.As(err, &u) {
			t.Errorf("%q: %v is no usage error", line, err)
		}
		if err == nil && s.top < unset {
			t.Errorf("%q: %+v", line, s)
		}
	})
}
