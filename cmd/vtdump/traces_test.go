package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode"
)

const crash = `2026/03/04 05:06:07 serving
panic: no way

goroutine 1 [running]:
main.main()
	/src/main.go:9 +0x1d

goroutine 18 [chan receive, 12 minutes]:
main.worker(0xc000012340)
	/src/worker.go:30 +0x2a
created by main.main in goroutine 1
	/src/main.go:7 +0x44

goroutine 19 [chan receive, 13 minutes]:
main.worker(0xc000012380)
	/src/worker.go:30 +0x2a
created by main.main in goroutine 1
	/src/main.go:7 +0x44
exit status 2
`

// reads calls vtdump with a standard input.
func reads(t *testing.T, stdin string, args ...string) (out, errs string, code int) {
	t.Helper()
	var o, e bytes.Buffer
	code = run(t.Context(), args, world{stdin: strings.NewReader(stdin), stdout: &o, stderr: &e, getenv: func(string) string { return "" }, now: time.Now})
	return o.String(), e.String(), code
}

func TestGoroutineDumpIsATarget(t *testing.T) {
	file := filepath.Join(t.TempDir(), "crash.log")
	if err := os.WriteFile(file, []byte(crash), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, target := range []string{"-", file} {
		out, errs, code := reads(t, crash, target)
		for _, want := range []string{"3 goroutines in 2 scopes", "main.main main.go:7", "x 2 parked 12m..13m", `channel "chan receive"`, "main.worker", "worker.go:30", "main.main"} {
			if code != exitDone || !strings.Contains(out, want) {
				t.Errorf("%s: got exit %d, %q; want %q in\n%s", target, code, errs, want, out)
			}
		}
		if !strings.Contains(out, "\na dump") || strings.Contains(out, "pid 0") || strings.Contains(out, "recording") {
			t.Errorf("%s: want a dump of no pid and no recording, got\n%s", target, out)
		}
	}
	out, _, _ := reads(t, crash, "-", "--filter", "wait>12m", "--json")
	if !strings.Contains(out, `"threads": 1`) {
		t.Errorf("the filter: got\n%s", out)
	}
	if _, errs, code := reads(t, "nothing\n", "-"); code != exitFailed || !strings.Contains(errs, "no goroutine is in it") || !strings.Contains(errs, "try: ") {
		t.Errorf("got exit %d, %q", code, errs)
	}
}

func TestEveryWayOutIsWritten(t *testing.T) {
	begins := map[string]string{"html": "<!doctype html>", "markdown": "### standard input: 3 goroutines", "pprof": "\x1f\x8b", "dot": "digraph ", "jdk": "{\n", "jdk1": "{\n", "jdk-text": "0\n"}
	for _, name := range wayNames(false) {
		out, errs, code := reads(t, crash, "-", "--format", name)
		if code != exitDone || begins[name] == "" || !strings.HasPrefix(out, begins[name]) {
			t.Errorf("%s: got exit %d, %q and %.60q, want %q", name, code, errs, out, begins[name])
		}
		if begins[name] == "{\n" {
			if !json.Valid([]byte(out)) {
				t.Errorf("%s: no JSON", name)
			}
			again, _, _ := reads(t, out, "-")
			if !strings.Contains(again, "x 2 parked 12m..13m") {
				t.Errorf("%s: read again got\n%s", name, again)
			}
		}
	}
	if _, errs, code := reads(t, crash, "-", "--format", "jdk", "--top", "3"); code != exitUsage || !strings.Contains(errs, "every thread by itself") {
		t.Errorf("got exit %d, %q", code, errs)
	}
}

const tracesOfTwo = `goroutine 1 [chan receive]:
main.main()
	/src/main.go:12 +0x1d

goroutine 18 [sync.Mutex.Lock, 5 minutes]:
main.work()
	/src/main.go:20 +0x1d
`

func TestCommandsOfADumpOfGoroutinesWorkOrSayWhyTheyCannot(t *testing.T) {
	write := func(name, text string) string {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	one, two := write("before.txt", tracesOfTwo), write("after.txt", tracesOfTwo+"\ngoroutine 19 [sync.Mutex.Lock]:\nmain.work()\n\t/src/main.go:20 +0x1d\n")
	for _, command := range []string{"top", "scheduler", "settings", "incident", "record"} {
		fails(t, exitUsage, one+" is a dump of stacks, and "+command+" needs a process\n    try: vtdump "+one, command, one)
	}
	fails(t, exitUsage, "watch needs a process", "watch", one, "--on", "deadlock")
	r := vtdump(t, "diff", one, two)
	if r.code != exitDone || !strings.Contains(r.out, "▲ 1  grew") {
		t.Errorf("diff: got exit %d, %q and\n%s", r.code, r.errors, r.out)
	}
	fails(t, exitUsage, "does not change", "diff", one, "--every", "1s")
	if r := vtdump(t, "check", two, "--max-threads", "3"); r.code != exitDone || !strings.Contains(r.out, "kept    max-threads 3: there are 3 goroutines") {
		t.Errorf("check: got exit %d, %q and\n%s", r.code, r.errors, r.out)
	}
	if r := vtdump(t, "check", two, "--max-threads", "2"); r.code != exitFailed {
		t.Errorf("check: got exit %d and\n%s", r.code, r.out)
	}
	if r := vtdump(t, "check", two, "--no-deadlock"); r.code != exitUnknown || !strings.Contains(r.out, "unknown no-deadlock: none found among 0 waits that can be judged; 3 cannot") {
		t.Errorf("check: got exit %d and\n%s, want %d", r.code, r.out, exitUnknown)
	}
}

func TestWhatIsRefusedOfThreadsIsNamed(t *testing.T) {
	f := recorded(t)
	for _, format := range []string{"html", "pprof"} {
		fails(t, exitUsage, "--output means nothing to vtdump TARGET, which writes to standard output\n    try: vtdump "+f.Path+" --format "+format+" > FILE\n", f.Path, "--format", format, "-o", "x")
	}
}

func TestErrorsNameTheWayThatIsLeft(t *testing.T) {
	fails(t, exitFailed, "vtdump http://HOST:PORT/debug/pprof/\n", stranger(t))
	fails(t, exitFailed, "    try: vtdump waits TARGET; or vtdump, for a list\n", "wiats")
	fails(t, exitFailed, "    try: vtdump findings TARGET; or vtdump, for a list\n", "finding")
}

// What a dump of somebody's says must not change the terminal, or turn its text around, in any format that is text.
func TestNoControlCharacterOfADumpComesOut(t *testing.T) {
	const evil = "\x1b[31m\u009b2J\x7f\u202e\u2066\u200f"
	dump := strings.ReplaceAll(strings.ReplaceAll(crash, "main.worker", "main.wor"+evil+"ker"), "chan receive", "chan "+evil+" receive")
	for _, name := range append(wayNames(false), "text", "json", "folded") {
		if name == "pprof" {
			continue // for a tool
		}
		out, errs, code := reads(t, dump, "-", "--format", name)
		if code != exitDone || out == "" {
			t.Errorf("%s: got exit %d, %q", name, code, errs)
		}
		for _, r := range out {
			if r < ' ' && r != '\n' && r != '\t' || r >= 0x7f && r < 0xa0 || unicode.Is(unicode.Bidi_Control, r) {
				t.Errorf("%s: got %U in\n%q", name, r, out)
				break
			}
		}
	}
}
