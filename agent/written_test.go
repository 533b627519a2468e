package agent

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vtscope/vtscope/dump/goroutines"
)

const printed = `SIGQUIT: quit

goroutine 1 [chan receive, 5 minutes]:
main.main()
	/src/main.go:12 +0x1d

goroutine 18 [sync.Mutex.Lock, 5 minutes]:
internal/sync.(*Mutex).lockSlow(0xc000012080)
	/go/src/internal/sync/mutex.go:149 +0x15
main.work()
	/src/main.go:20 +0x1d
created by main.main in goroutine 1
	/src/main.go:8 +0x44
`

// writeFile makes a file of its own, and returns its path.
func writeFile(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestAFileWithGoroutinesIsShown(t *testing.T) {
	a := start(t, Options{NoLocal: true, Files: []string{writeFile(t, "crash.log", printed)}})
	s := serve(t, a)
	v := shown(t, a)
	if v.row.Key != "crash.log" || v.row.Status != statusRecorded || v.row.Kind != kindGoroutine || v.row.Threads != 2 || v.row.Gone == 0 {
		t.Errorf("got a row of %+v", v.row)
	}
	of := s.URL + "/api/v1/processes/crash.log"
	for path, want := range map[string]string{
		"/dump?format=text":         "main.main main.go:8",
		"/dump?format=folded":       "main.work",
		"/waits?format=text":        "mutex 0xc000012080",
		"/waits?filter=stack~work":  "0xc000012080",
		"/findings?format=text":     "judged in part: deadlock: 2 waits cannot be judged",
		"/groups/1?format=text":     "main.",
		"/threads/18?format=text":   "main.work",
		"/threads/18?format=json":   `"thing": "mutex 0xc000012080"`,
		"/dump?filter=stack~nobody": `"threads": 0`,
	} {
		if text := string(get(t, of+path, http.StatusOK)); !strings.Contains(text, want) {
			t.Errorf("%s: no %q in %s", path, want, text)
		}
	}
	for path, want := range map[string]string{
		"/dump?at=12s":   "tells of one moment alone",
		"/settings":      "only vtscope's recorder",
		"/schedulers":    "only vtscope's recorder",
		"/durable":       "this is a file",
		"/diff?from=12s": "only its one moment",
	} {
		if text := string(get(t, of+path, http.StatusConflict)); !strings.Contains(text, want) {
			t.Errorf("%s: no %q in %s", path, want, text)
		}
	}
	if m := v.from.moments(0); !strings.Contains(m.Note, "one moment alone") {
		t.Errorf("its time line says %q", m.Note)
	}
}

func TestAFileOfNoUseIsRefused(t *testing.T) {
	for text, want := range map[string]string{
		"hello\n":         "no goroutine is in it",
		"{\"format\": 1}": "no recording, no incident bundle, no core file, and no dump of goroutines or threads",
		"\x00\x01\x02":    "no recording, no incident bundle, no core file, and no dump of goroutines or threads",
	} {
		_, err := New(Options{NoLocal: true, Files: []string{writeFile(t, "x", text)}})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", text, err, want)
		}
	}
}

func TestScopesOfGoroutinesAreWhatTheOptionsSay(t *testing.T) {
	a := start(t, Options{NoLocal: true, Files: []string{writeFile(t, "crash.log", printed)}, Scopes: goroutines.ByPackage})
	s := shown(t, a).snapshot
	if len(s.Scopes) != 2 || s.Scopes[1].Name != "main" || s.Scopes[1].Own != 2 {
		t.Errorf("got scopes %+v, want package main with both", s.Scopes)
	}
	if _, err := New(Options{NoLocal: true, Scopes: "mood"}); err == nil || !strings.Contains(err.Error(), "not one of [created labels package]") {
		t.Errorf("scopes by mood: %v", err)
	}
}
