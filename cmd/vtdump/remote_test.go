package main

import (
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/vtscope/vtscope/agent"
	"github.com/vtscope/vtscope/dump"
	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/flight/flighttest"
)

// remoteSpec is a process with 30 threads that are parked in a scope.
func remoteSpec() flighttest.Spec {
	return flighttest.Spec{
		Scopes:  []flighttest.Scope{{Name: "requests"}},
		Stacks:  []flighttest.Stack{{{Func: "example.com/shop.handle", File: "/src/shop.go", Line: 41}}},
		Threads: 30,
		Thread: func(int) flighttest.Thread {
			return flighttest.Thread{Scope: 1, Stack: 1, State: flight.StateParked, Reason: flight.ReasonSleep, Age: time.Minute}
		},
	}
}

// serveAgent serves an agent that follows one process, and returns its HOST:PORT.
func serveAgent(t *testing.T, over func(http.Handler) *httptest.Server) (address string, server *httptest.Server) {
	t.Helper()
	file := flighttest.Write(t, remoteSpec())
	a, err := agent.New(agent.Options{Dirs: []string{file.Dir}, Interval: 50 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	s := over(a.Handler())
	t.Cleanup(func() { a.Close(); s.Close() })
	return s.Listener.Addr().String(), s
}

func TestAnAgentsAddressIsATarget(t *testing.T) {
	at, _ := serveAgent(t, httptest.NewServer)
	pid := fmt.Sprint(os.Getpid())
	for _, target := range []string{at, at + "/" + pid, "http://" + at, "http://" + at + "/" + pid, "http://" + at + "/#process=" + pid + "&scope=root"} {
		if out := succeeds(t, target); !strings.Contains(out, "30 threads") || !strings.Contains(out, "requests") {
			t.Errorf("vtdump %s: %s", target, out)
		}
	}
	snap, err := dump.ParseJSON([]byte(succeeds(t, "--json", at, "--scope", "requests", "--filter", "state=parked")))
	if err != nil || snap.Threads != 30 || snap.Filter == "" {
		t.Errorf("json: %v, %d threads, filter %q", err, snap.Threads, snap.Filter)
	}
	for _, args := range [][]string{
		{"--by", "state"}, {"--group", "1"}, {"--thread", "1"}, {"--format", "jdk"}, {"--format", "html"}, {"scheduler"}, {"waits"}, {"settings"}, {"--top", "1", "--ascii", "--width", "50"},
	} {
		if out := succeeds(t, append(args, at)...); out == "" {
			t.Errorf("vtdump %q %s: nothing", args, at)
		}
	}
	moment := at + "/" + pid + "@-1ms"
	for deadline := time.Now().Add(time.Minute); vtdump(t, moment).code != exitDone && time.Now().Before(deadline); {
		time.Sleep(10 * time.Millisecond) // none is kept so far
	}
	if out := succeeds(t, moment); !strings.Contains(out, "30 threads") {
		t.Errorf("a moment of an agent's process: %s", out)
	}
	if out := succeeds(t, "diff", moment, at, "--json"); !strings.Contains(out, dump.DiffFormat) {
		t.Errorf("diff of a moment of an agent's process with now: %s", out)
	}
	fails(t, exitUsage, "kept by groups", "waits", moment)
	marks := filepath.Join(t.TempDir(), "marks.json")
	succeeds(t, "mark", at, "1", "good", "--marks", marks)
	if out := succeeds(t, at, "--marks", marks); !strings.Contains(out, "good") {
		t.Errorf("with the largest group marked as good: %s", out)
	}
	if r := vtdump(t, "diff", at, at, "--json"); r.code != exitDone || !strings.Contains(r.out, dump.DiffFormat) {
		t.Errorf("diff of an agent's process with itself: exit %d, %s", r.code, r.errors)
	}
	if r := vtdump(t, "findings", at, "--growth", "10ms"); r.code > exitFailed || r.out == "" {
		t.Errorf("findings: exit %d, %s", r.code, r.errors)
	}
	name := filepath.Join(t.TempDir(), "run.vtr")
	if out := succeeds(t, "record", at, "--for", "100ms", "-o", name); !strings.Contains(out, name) {
		t.Errorf("record: %s", out)
	}
	if out := succeeds(t, name); !strings.Contains(out, "30 threads") {
		t.Errorf("the recording: %s", out)
	}
}

func TestAnAgentWithNoProcessIsAListOfNone(t *testing.T) {
	a, err := agent.New(agent.Options{Dirs: []string{flighttest.Dir(t)}})
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(a.Handler())
	t.Cleanup(func() { a.Close(); s.Close() })
	at := s.Listener.Addr().String()
	if r := vtdump(t, at); r.code != exitDone || r.out != "" || !strings.Contains(r.errors, "try: ") {
		t.Errorf("text: exit %d, %q, %q", r.code, r.out, r.errors)
	}
	var list struct{ Processes []remoteRow }
	if err := json.Unmarshal([]byte(succeeds(t, "--json", at)), &list); err != nil || list.Processes == nil || len(list.Processes) != 0 {
		t.Errorf("json: %v, %+v", err, list)
	}
	fails(t, exitFailed, "0 processes: which?", "waits", at)
}

func TestAnAgentThatCannotBeAskedIsToldWithTheNextStep(t *testing.T) {
	at, _ := serveAgent(t, httptest.NewServer)
	secure, server := serveAgent(t, httptest.NewTLSServer)
	const nobody = "127.0.0.1:1" // one that was free may be another's at once
	stranger := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte("<html>")) }))
	t.Cleanup(stranger.Close)
	locked := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(401)
		w.Write([]byte(`{"type":"error","error":"no token","try":"a token"}`))
	}))
	t.Cleanup(locked.Close)
	for _, c := range []struct {
		args []string
		code int
		want string
		try  string
	}{
		{[]string{nobody}, exitFailed, "connection refused", "vtserve on that machine"},
		{[]string{at + "/1"}, exitFailed, "it follows no process 1", "vtdump " + at + ", for a list"},
		{[]string{"https://" + at}, exitFailed, at, "http://" + at},
		{[]string{"https://" + secure}, exitFailed, "certificate", "--ca FILE"},
		{[]string{stranger.Listener.Addr().String()}, exitFailed, "a list that is none", "vtserve prints"},
		{[]string{locked.Listener.Addr().String()}, exitFailed, "no token", "VTSCOPE_TOKEN_FILE"},
		{[]string{"top", at}, exitUsage, "an agent's address", "vtdump --watch " + at},
		{[]string{"record", at}, exitUsage, "needs --for", "--for 10s"},
		{[]string{"--thread", "1", "--locals", at}, exitUsage, "of this machine", "without it"},
		{[]string{"--thread", "999", at}, exitFailed, "thread", "filter"},
		{[]string{"settings", at, "park.stak=off"}, exitFailed, "stak", "docs/settings.md"},
		{[]string{"incident", at}, exitFailed, "keeps no incidents", "--incidents DIR"},
		{[]string{at, "--token-file", "/nothing/there"}, exitFailed, "/nothing/there", "try: "},
	} {
		fails(t, c.code, c.want, c.args...)
		fails(t, c.code, c.try, c.args...)
	}
	ca := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	if out := succeeds(t, "https://"+secure, "--ca", ca); !strings.Contains(out, "30 threads") {
		t.Errorf("with --ca: %s", out)
	}
	if out := succeeds(t, secure, "--ca", ca); !strings.Contains(out, "30 threads") {
		t.Errorf("with --ca and no scheme: %s", out)
	}
}

func TestTargetsThatLookLikeAddressesAreTold(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("file:1", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for target, want := range map[string]bool{
		"box:7070": true, "box.example:7070/4711": true, "[::1]:7070/shop": true, "127.0.0.1:80": true, "https://box": true, "http://box/debug/vt/4711-9": true, "unix:/run/vt.sock": true,
		"4711": false, "shop": false, "run.vtr@12s": false, "/dev/shm/x": false, "./a:1": false, "file:1": false, "run.vtr@20:31:05": false, "a b:1": false,
	} {
		if got := isRemote(target); got != want {
			t.Errorf("isRemote(%q) is %v, want %v", target, got, want)
		}
	}
	for target, want := range map[string][3]string{
		"box:1":                               {"box:1", "", ""},
		"box:1/shop":                          {"box:1", "shop", ""},
		"box:1/shop@-30s":                     {"box:1", "shop", "-30s"},
		"box:1/debug/vt":                      {"box:1/debug/vt", "", ""},
		"box:1/debug/vt/":                     {"box:1/debug/vt", "", ""},
		"box:1/debug/vt/4711@12s":             {"box:1/debug/vt", "4711", "12s"},
		"box:1/debug/vt/shop":                 {"box:1/debug/vt", "shop", ""},
		"http://box:1/debug/vt/shop":          {"http://box:1/debug/vt", "shop", ""},
		"box:1/a/vt":                          {"box:1/a/vt", "", ""},
		"https://box/debug/vt/":               {"https://box/debug/vt", "", ""},
		"https://box/debug/vt/4711":           {"https://box/debug/vt", "4711", ""},
		"https://box/debug/vt/4711-9@12s":     {"https://box/debug/vt", "4711-9", "12s"},
		"http://box:1/#process=1&at=1790":     {"http://box:1", "1", "1790"},
		"http://box:1/#process=4711-9&scope=": {"http://box:1", "4711-9", ""},
		"unix:/run/vt.sock":                   {"unix:/run/vt.sock", "", ""},
	} {
		if a, p, at := splitRemote(target); a != want[0] || p != want[1] || at != want[2] {
			t.Errorf("%s is split into %q, %q and %q, want %q", target, a, p, at, want)
		}
	}
}

func TestAnAgentWithinAProgramIsFoundBesideWhatElseItServes(t *testing.T) {
	f := flighttest.Write(t, remoteSpec())
	a, err := agent.New(agent.Options{Dirs: []string{f.Dir}, Interval: 50 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	mux := http.NewServeMux()
	mux.Handle("/debug/vt/", a.Handler())
	server := httptest.NewServer(mux)
	defer server.Close()
	address := strings.TrimPrefix(server.URL, "http://")
	for _, target := range []string{address, address + "/debug/vt", address + "/debug/vt/", address + "/debug/vt/" + strconv.Itoa(os.Getpid()), server.URL, server.URL + "/debug/vt"} {
		for deadline := time.Now().Add(time.Minute); ; {
			r := vtdump(t, target)
			if r.code == exitDone && strings.Contains(r.out, "  30 threads in 2 scopes") {
				break
			}
			if time.Now().After(deadline) { // the agent looks for processes now and then
				t.Errorf("vtdump %s: got exit %d, %q and\n%s", target, r.code, r.errors, r.out)
				break
			}
		}
	}
	other := httptest.NewServer(http.NotFoundHandler())
	defer other.Close()
	address = strings.TrimPrefix(other.URL, "http://")
	fails(t, exitFailed, "vtdump: "+address+": it answers \"404 Not Found\" for /api/v1/processes: this is no vtscope agent\n", address)
}

// An agent may be somebody else's: what it answers is printed as text, and changes no terminal.
func TestNoCharacterOfAnAgentsAnswerChangesTheTerminal(t *testing.T) {
	const evil = "one\x1b]0;owned\a\x1b[2J\u009b31m\u202e\x7f\r two"
	for name, answer := range map[string]func(w http.ResponseWriter){
		"text": func(w http.ResponseWriter) { _, _ = w.Write([]byte(evil + "\n")) },
		"an error": func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusConflict)
			_ = json.NewEncoder(w).Encode(map[string]string{"error": evil, "try": evil})
		},
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if strings.HasSuffix(r.URL.Path, "/processes") {
				w.Header().Set("Content-Type", "application/json")
				_ = json.NewEncoder(w).Encode(map[string]any{"processes": []map[string]any{{"key": "1-2", "pid": 1, "program": evil, "status": evil}}})
				return
			}
			answer(w)
		}))
		at := strings.TrimPrefix(server.URL, "http://")
		for _, call := range [][]string{{at}, {at + "/1"}, {"waits", at + "/1"}, {"settings", at + "/1", "park=off"}, {at + "/2"}, {at + "/1", "--json"}, {at + "/1", "-f", "markdown"}} {
			got := vtdump(t, call...)
			for _, text := range []string{got.out, got.errors} {
				if strings.ContainsFunc(text, func(r rune) bool {
					return unicode.IsControl(r) && r != '\n' && r != '\t' || unicode.Is(unicode.Bidi_Control, r)
				}) {
					t.Errorf("%s: vtdump %q: got %q", name, call, text)
				}
			}
			if got.out+got.errors == "" {
				t.Errorf("%s: vtdump %q: got nothing", name, call)
			}
		}
		server.Close()
	}
}
