package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/vtscope/vtscope/dump"
	"github.com/vtscope/vtscope/internal/cli"
)

func TestCompletionOffersWhatMayComeNext(t *testing.T) {
	path := recorded(t).Path
	pid := fmt.Sprint(os.Getpid())
	for _, c := range []struct {
		words []string
		want  []string // among others
		not   []string
	}{
		{[]string{""}, []string{"waits", "diff", "completion", pid}, []string{"--top", "words"}},
		{[]string{"wa"}, []string{"waits", "watch"}, []string{"diff", pid}},
		{[]string{"waits", ""}, []string{pid}, []string{"diff"}},
		{[]string{"diff", pid, ""}, []string{pid}, []string{"waits"}},
		{[]string{pid, ""}, nil, []string{pid, "waits"}},
		{[]string{"waits", "--"}, []string{"--top", "--json", "--watch"}, []string{"--kind", "--depth"}},
		{[]string{"--dep"}, []string{"--depth"}, []string{"--dir"}},
		{[]string{pid, "--format", ""}, []string{"text", "json", "folded"}, []string{"jfr"}},
		{[]string{"--format=f"}, []string{"--format=folded"}, []string{"--format=json"}},
		{[]string{pid, "--similar", "f"}, []string{"functions"}, []string{"shape"}},
		{[]string{pid, "--top", ""}, nil, []string{pid}},
		{[]string{pid, "--watch", ""}, nil, []string{pid}},
		{[]string{"--watch", ""}, []string{pid}, nil},
		{[]string{pid, "--filter", "state=p"}, []string{"state=parked", "state=pinned"}, []string{"state=new"}},
		{[]string{path, "--scope", ""}, []string{"root", "shop", "shop/requests"}, nil},
		{[]string{"check", path, "--no-leaks", "shop"}, []string{"shop/requests"}, []string{"root"}},
		{[]string{"--scope", ""}, nil, []string{"root"}},
		{[]string{"events", "--kind", "pi"}, []string{"pinned"}, []string{"park"}},
		{[]string{"diff", "--fail-on", ""}, []string{"grew", "new"}, []string{"same"}},
		{[]string{"completion", ""}, []string{"bash", "zsh", "fish"}, []string{pid}},
		{[]string{"--xyzzy", ""}, []string{"waits"}, nil},
		{nil, []string{"waits"}, nil},
	} {
		words := map[string]bool{}
		for line := range strings.Lines(succeeds(t, append([]string{"completion", "words", "--"}, c.words...)...)) {
			word, _, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
			words[word] = true
		}
		for _, want := range c.want {
			if !words[want] {
				t.Errorf("%q: want %q among %v", c.words, want, words)
			}
		}
		for _, not := range c.not {
			if words[not] {
				t.Errorf("%q: got %q, which cannot be next", c.words, not)
			}
		}
	}
	if groups := succeeds(t, "completion", "words", "--", path, "--group", ""); !regexp.MustCompile(`(?m)^[0-9a-f]{4,}\t999 threads, timed-parked, in shop/requests$`).MatchString(groups) {
		t.Errorf("groups: got %s", groups)
	}
}

func TestEveryFlagWithAFixedSetOfWordsCompletes(t *testing.T) {
	for i := range flags {
		row := &flags[i]
		if !row.takes() {
			continue
		}
		s := settings{command: commandList}
		for _, c := range values(t.Context(), world{}, &s, row) {
			if row.name == "filter" {
				continue // words of a filter are parts of one
			}
			if err := row.set(&s, c.word); err != nil && row.name != "check" {
				t.Errorf("--%s %s: %v", row.name, c.word, err)
			}
		}
	}
}

// interactive returns a shell's path.
func interactive(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Skipf("%s is not installed", name)
	}
	return path
}

func TestShellsCompleteWithTheirScripts(t *testing.T) {
	dir := filepath.Dir(build(t))
	for _, c := range []struct{ shell, script string }{
		{"bash", `eval "$(vtdump completion bash)"
complete -p vtdump >/dev/null || exit 1
for line in 'vtdump find' 'vtdump --format=fo' 'vtdump diff --fail-on gr'; do
	COMP_LINE=$line COMP_POINT=${#line}; _vtdump; echo "${COMPREPLY[@]}"
done`},
		{"fish", `vtdump completion fish | source
for line in 'vtdump find' 'vtdump --format=fo' 'vtdump diff --fail-on gr'
	complete -C $line | cut -f 1 | string replace -- --format= ''
end; true`},
		{"zsh", `autoload -Uz compinit && compinit -D -u
eval "$(vtdump completion zsh)"
[[ ${_comps[vtdump]} == _vtdump ]] || exit 1
_describe() { print -r -- ${${found%%:*}#--format=} }
for line in 'vtdump find' 'vtdump --format=fo' 'vtdump diff --fail-on gr'; do
	words=(${=line}) CURRENT=${#words}; _vtdump
done`},
	} {
		t.Run(c.shell, func(t *testing.T) {
			cmd := exec.Command(interactive(t, c.shell), "-c", c.script)
			cmd.Env = append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"))
			out, err := cmd.CombinedOutput()
			if want := "findings\nfolded\ngrew\n"; err != nil || string(out) != want {
				t.Errorf("got %v and %q, want %q", err, out, want)
			}
		})
	}
}

func TestCallsOfCompletionThatCannotBe(t *testing.T) {
	fails(t, exitUsage, "completion needs a shell\n    try: vtdump completion bash, zsh or fish", "completion")
	fails(t, exitUsage, `no shell "tcsh": want bash, zsh, fish`, "completion", "tcsh")
	fails(t, exitUsage, "more than one target", "completion", "bash", "zsh")
}

func TestTheManualHasEveryCommandAndFlag(t *testing.T) {
	page := succeeds(t, "manual")
	for i := range forms {
		if !strings.Contains(page, ".B "+cli.Roff(forms[i].call())+"\n") {
			t.Errorf("it has no %s", forms[i].call())
		}
	}
	for i := range flags {
		if !strings.Contains(page, `\fB`+cli.Roff("--"+flags[i].name)+`\fR`) {
			t.Errorf("it has no --%s", flags[i].name)
		}
	}
	for line := range strings.Lines(page) {
		if strings.HasPrefix(line, "'") || strings.HasPrefix(line, ".") && !regexp.MustCompile(`^\.(TH|SH|B|TP|nf|fi)\b`).MatchString(line) {
			t.Errorf("this is read as a request: %q", line)
		}
	}
}

func TestTheManualIsAcceptedByItsReaders(t *testing.T) {
	page := succeeds(t, "manual")
	ran := 0
	for _, reader := range [][]string{{"groff", "-man", "-ww", "-Tutf8"}, {"mandoc", "-T", "lint", "-W", "warning"}} {
		path, err := exec.LookPath(reader[0])
		if err != nil {
			continue
		}
		ran++
		cmd := exec.Command(path, reader[1:]...)
		var errs bytes.Buffer
		cmd.Stdin, cmd.Stderr = strings.NewReader(page), &errs
		out, err := cmd.Output()
		if err != nil || errs.Len() > 0 || reader[0] == "groff" && !bytes.Contains(out, []byte("show what the threads of a vtscope process do")) {
			t.Errorf("%s: got %v, %s", reader[0], err, errs.String())
		}
	}
	if ran == 0 {
		t.Skip("neither groff nor mandoc is installed")
	}
}

func TestWatchPrintsAgainAndAgain(t *testing.T) {
	path := recorded(t).Path
	out := succeeds(t, path, "--watch=1ms", "--times", "3")
	if n := strings.Count(out, "   every 1ms, until Ctrl-C\n"); n != 3 || strings.Count(out, "1,000 threads in 3 scopes") != 3 || strings.Contains(out, "\x1b") {
		t.Errorf("got %d pages:\n%s", n, out)
	}
	r := vtdump(t, "check", path, "--max-threads", "3", "--watch=1ms", "--times", "2")
	if r.code != exitFailed || strings.Count(r.out, "FAILED") != 2 {
		t.Errorf("of a command that finds something: got %+v", r)
	}
	fails(t, exitFailed, "no vtscope process", "nobody-is-called-so", "--watch")
	fails(t, exitUsage, "want a duration", path, "--watch=soon")
	fails(t, exitUsage, "--times needs --watch", path, "--times", "3")
	fails(t, exitUsage, "--watch means nothing to export", "export", "run.vtr", "--watch")
}

func TestWatchDrawsInPlaceOnATerminal(t *testing.T) {
	path := recorded(t).Path
	var out bytes.Buffer
	code := run(context.Background(), []string{path, "--watch=1ms", "--times", "2", "--color", "never"}, world{
		stdout: &out, stderr: &out, terminal: true, size: func() (int, int) { return 70, 8 }, getenv: func(string) string { return "" }, now: time.Now,
	})
	if code != exitDone {
		t.Fatalf("got exit %d: %s", code, out.String())
	}
	text := out.String()
	if strings.Count(text, eraseScreen) != 1 || strings.Count(text, cursorHome) != 2 || !strings.HasSuffix(text, eraseBelow) {
		t.Errorf("got %q", text)
	}
	for _, page := range strings.Split(text, cursorHome)[1:] {
		if n := strings.Count(page, "\n"); n > 7 || !strings.Contains(page, " more lines do not fit") {
			t.Errorf("got a page of %d lines: %q", n, page)
		}
		for line := range strings.Lines(page) {
			if n := dump.Columns(strings.TrimSuffix(line, eraseLine+"\n")); n > 70 {
				t.Errorf("got a line of %d columns: %q", n, line)
			}
		}
	}
}

// A gate is a writer whose first Write tells, and waits.
type gate struct {
	mu     sync.Mutex
	b      bytes.Buffer
	opened chan struct{}
	once   sync.Once
}

func (g *gate) Write(p []byte) (int, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.once.Do(func() { close(g.opened) })
	return g.b.Write(p)
}

func TestProgressIsToldAndGoneBeforeAnythingElse(t *testing.T) {
	g := &gate{opened: make(chan struct{})}
	p := &progress{to: g, what: "threads of 4711", began: time.Now(), stop: make(chan struct{}), stopped: make(chan struct{})}
	go p.run(time.Millisecond)
	<-g.opened
	if _, err := (progressWriter{p, g}).Write([]byte("page\n")); err != nil {
		t.Fatal(err)
	}
	p.end()
	if got := g.b.String(); !regexp.MustCompile(`^(\rvtdump: threads of 4711: for \w+ \.\.\.\x1b\[K)+\r\x1b\[Kpage\n$`).MatchString(got) {
		t.Errorf("got %q", got)
	}
}

func TestAQuickCommandTellsNoProgress(t *testing.T) {
	var out bytes.Buffer
	code := run(context.Background(), []string{"--version"}, world{stdout: &out, stderr: &out, watched: true, getenv: func(string) string { return "" }, now: time.Now})
	if code != exitDone || out.String() != versionText() {
		t.Errorf("got exit %d and %q", code, out.String())
	}
}
