package locals

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestArgumentsAskWhatTheQuestionSays(t *testing.T) {
	for _, q := range []Question{
		{PID: 4711, G: 0xc000123456, Frames: 3, Depth: 1, Text: 10, Elements: 5},
		{Core: "core 1", Exe: "-exe", G: 1, Frames: 64, Depth: 2, Text: 200, Elements: 32},
	} {
		got, err := Parse(q.args())
		if err != nil || got != q {
			t.Errorf("got %+v, %v; want %+v", got, err, q)
		}
	}
	if got, err := Parse([]string{"--pid=1", "--g=2"}); err != nil || got.Frames != 64 || got.Depth != 2 || got.Text != 200 || got.Elements != 32 {
		t.Errorf("without limits: got %+v, %v", got, err)
	}
	for _, wrong := range [][]string{
		nil, {"--pid=1"}, {"--g=1"}, {"--pid=1", "--core=c", "--exe=e", "--g=1"}, {"--core=c", "--g=1"}, {"--pid=1", "--exe=e", "--g=1"},
		{"--pid=1", "--g=1", "--depth=100"}, {"--pid=1", "--g=1", "--text=-1"}, {"--pid=1", "--g=1", "more"}, {"--what"},
	} {
		if q, err := Parse(wrong); err == nil {
			t.Errorf("%q: got %+v, want an error", wrong, q)
		}
	}
}

func TestAnswersAreReadAsTheyWereWritten(t *testing.T) {
	want := sample()
	var b bytes.Buffer
	if err := Write(&b, want); err != nil {
		t.Fatal(err)
	}
	got, err := Read(bytes.NewReader(b.Bytes()))
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v; want %+v", got, err, want)
	}
	if _, err := Read(strings.NewReader(strings.Replace(b.String(), Format, "vtscope/locals/v9", 1))); !errors.Is(err, errOtherVersion) {
		t.Errorf("another format: got %v", err)
	}
	for _, bad := range []string{"", "no JSON", b.String()[:b.Len()/2]} {
		if a, err := Read(strings.NewReader(bad)); err == nil {
			t.Errorf("%.20q: got %+v, want an error", bad, a)
		}
	}
}

func TestProblemsKeepTheirKind(t *testing.T) {
	for kind, known := range kinds {
		var b bytes.Buffer
		if err := Write(&b, &Answer{Problem: ProblemOf(errors.Join(known))}); err != nil {
			t.Fatal(err)
		}
		if _, err := Read(&b); !errors.Is(err, known) || err.Error() != known.Error() {
			t.Errorf("%s: got %v, want %v", kind, err, known)
		}
	}
	if p := ProblemOf(errors.New("odd")); p.Kind != "other" || errors.Is(p, ErrGone) {
		t.Errorf("got %+v", p)
	}
}

// program writes a script that stands for vtdelve.
func program(t *testing.T, script string) string {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("no shell scripts on this system")
	}
	path := filepath.Join(t.TempDir(), Command)
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+script), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestWithoutItsCommandTheErrorSaysHowToBuildIt(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	if _, err := Ask(t.Context(), Question{PID: 1, G: 1}); !errors.Is(err, ErrNoCommand) {
		t.Errorf("got %v, want %v", err, ErrNoCommand)
	}
	if !strings.Contains(Build, "make build") || !strings.Contains(Build, Command) {
		t.Errorf("got %q", Build)
	}
}

func TestTheCommandIsFoundOnThePath(t *testing.T) {
	path := program(t, `echo '{"format":"`+Format+`","goroutine":7}'`)
	t.Setenv("PATH", filepath.Dir(path))
	if a, err := Ask(t.Context(), Question{PID: 1, G: 1}); err != nil || a.Goroutine != 7 {
		t.Errorf("got %+v, %v", a, err)
	}
}

func TestWhatTheCommandDoesWrongIsTold(t *testing.T) {
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for _, c := range []struct {
		name, script, want string
		ctx                context.Context
	}{
		{"dies", "echo lost its mind >&2; exit 3", "exit status 3: lost its mind", t.Context()},
		{"is old", `echo '{"format":"vtscope/locals/v0"}'`, "build ", t.Context()},
		{"says nothing", "", "read the answer: EOF", t.Context()},
		{"has a problem", `echo '{"format":"` + Format + `","problem":{"kind":"runs","text":"it does"}}'; exit 1`, "it does", t.Context()},
		{"is not waited for", "exec cat", "context canceled", ended},
		{"talks too much", "yes | head -c 100000 >&2; exit 1", "exit status 1: y\ny", t.Context()},
	} {
		a, err := ask(c.ctx, program(t, c.script), Question{PID: 1, G: 1})
		if err == nil || a != nil || !strings.Contains(err.Error(), c.want) || len(err.Error()) > 6000 {
			t.Errorf("%s: got %+v, %.200v; want %q", c.name, a, err, c.want)
		}
	}
}

func sample() *Answer {
	return &Answer{
		Format: Format, Goroutine: 34,
		Frames: []Frame{
			{Function: "runtime.gopark", File: "/go/src/runtime/proc.go", Line: 463, PC: 1, Internal: true, Optimized: true},
			{Function: "shop.(*Store).query", File: "/shop/store.go", Line: 88, PC: 2, Inlined: true, Optimized: true,
				Arguments: []Variable{{Name: "s", Type: "*shop.Store", Value: "*shop.Store {open: true}", Line: 80}, {Name: "err", Type: "error", Missing: OptimizedAway, Result: true, Line: 80}},
				Locals:    []Variable{{Name: "i", Type: "int", Value: "1", Shadowed: true, Line: 82}, {Name: "i", Type: "int", Value: "2", Line: 84}, {Name: "name", Type: "string", Value: `"` + strings.Repeat("ä", 120) + `"`, Line: 85}}},
			{Function: "shop.handle", File: "/shop/handle.go", Line: 41, PC: 3, Optimized: true, Missing: "no debug information"},
		},
		Incomplete: []string{"only the innermost 3 frames"},
	}
}

func TestTextTellsFramesAndVariables(t *testing.T) {
	var b strings.Builder
	if err := Text(&b, sample(), TextOptions{Width: 60}); err != nil {
		t.Fatal(err)
	}
	want := `Variables of goroutine 34, innermost frame first
  shop.(*Store).query  store.go:88  inlined
      s *shop.Store = *shop.Store {open: true}
      result err error: optimised away here
      (hidden by another of this name) i int = 1
      i int = 2
      name string = "` + strings.Repeat("ä", 39) + `
        ` + strings.Repeat("ä", 52) + `
        ` + strings.Repeat("ä", 29) + `"
  shop.handle  handle.go:41
      no variables: no debug information
  1 frame of the runtime hidden: --all-frames shows them
  built with -gcflags='all=-N -l' a program keeps all
  incomplete: only the innermost 3 frames
`
	if got := b.String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	b.Reset()
	if err := Text(&b, sample(), TextOptions{Internal: true, ASCII: true}); err != nil {
		t.Fatal(err)
	}
	for i := range b.Len() {
		if b.String()[i] >= utf8.RuneSelf {
			t.Fatalf("ASCII: got %q", b.String())
		}
	}
	if !strings.Contains(b.String(), "runtime.gopark  proc.go:463") {
		t.Errorf("with internal frames: got\n%s", b.String())
	}
}

func TestTextCutsLongValuesAndSaysSo(t *testing.T) {
	a := &Answer{Frames: []Frame{{Function: "main.f", Locals: []Variable{{Name: "v", Type: "string", Value: strings.Repeat("ä", 2*longestShown)}}}}}
	var b strings.Builder
	if err := Text(&b, a, TextOptions{}); err != nil {
		t.Fatal(err)
	}
	if got := strings.Count(b.String(), "ä"); got != longestShown || !strings.Contains(b.String(), "long values are cut: --json") {
		t.Errorf("got %d characters of %d in\n%s", got, 2*longestShown, b.String())
	}
	a.Frames[0].Locals[0].Value = strings.Repeat("ä", longestShown)
	b.Reset()
	if err := Text(&b, a, TextOptions{}); err != nil || strings.Contains(b.String(), "are cut") {
		t.Errorf("%v: nothing is cut, got\n%s", err, b.String())
	}
}
