package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
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
		for _, want := range []string{"3 threads in 1 scope", "x 2 parked 12m..13m", `channel "chan receive"`, "main.worker", "worker.go:30", "main.main"} {
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
	begins := map[string]string{"html": "<!doctype html>", "markdown": "### standard input: 3 threads", "pprof": "\x1f\x8b", "dot": "digraph ", "jdk": "{\n", "jdk1": "{\n", "jdk-text": "0\n"}
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
