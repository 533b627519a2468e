package main

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/http/pprof"
	"os"
	"path/filepath"
	runtimepprof "runtime/pprof"
	"strings"
	"sync"
	"testing"

	"github.com/vtscope/vtscope/agent/access"
)

// served serves package net/http/pprof, and notes what it is asked. Three goroutines of this program wait, with a label.
func served(t *testing.T) (base string, asked func() []*http.Request) {
	t.Helper()
	over := make(chan struct{})
	var waiting, ended sync.WaitGroup
	for range 3 {
		waiting.Add(1)
		ended.Go(func() {
			runtimepprof.Do(t.Context(), runtimepprof.Labels("scope", "orders"), func(context.Context) {
				waiting.Done()
				<-over
			})
		})
	}
	waiting.Wait()
	var mu sync.Mutex
	var requests []*http.Request
	mux := http.NewServeMux()
	mux.HandleFunc("/debug/pprof/", func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		requests = append(requests, r)
		mu.Unlock()
		pprof.Index(w, r)
	})
	mux.HandleFunc("/closed/debug/pprof/", func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusForbidden) })
	mux.HandleFunc("/page/debug/pprof/", func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte("<html>hello</html>")) })
	server := httptest.NewServer(mux)
	t.Cleanup(func() {
		server.Close()
		close(over)
		ended.Wait()
	})
	return server.URL, func() []*http.Request {
		mu.Lock()
		defer mu.Unlock()
		return requests
	}
}

func TestAnAddressOfPprofIsATarget(t *testing.T) {
	base, asked := served(t)
	t.Setenv(access.EnvToken, strings.Repeat("agents", 10))
	bare := strings.TrimPrefix(base, "http://")
	for _, target := range []string{base + "/debug/pprof/", base + "/debug/pprof", bare + "/debug/pprof/", base + "/debug/pprof/goroutine"} {
		out, errs, code := reads(t, "", target)
		for _, want := range []string{"orders", "x 3 parked ?", `"chan receive"`, "a profile has no ids", "/debug/pprof/goroutine?debug=2 has them"} {
			if code != exitDone || !strings.Contains(strings.Join(strings.Fields(out), " "), want) {
				t.Errorf("%s: got exit %d, %q; want %q in\n%s", target, code, errs, want, out)
			}
		}
	}
	out, errs, code := reads(t, "", base+"/debug/pprof/goroutine?debug=2")
	if code != exitDone || !strings.Contains(errs, "stands still") || !strings.Contains(out, "created by sync.(*WaitGroup).Go") || strings.Contains(out, "has them") {
		t.Errorf("debug=2: got exit %d, %q and\n%s", code, errs, out)
	}
	for _, r := range asked() {
		if r.Header.Get("Authorization") != "" {
			t.Errorf("%s: the token for agents was sent", r.URL)
		}
	}
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte(strings.Repeat("0123456789", 4)), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, errs, code := reads(t, "", base+"/debug/pprof/", "--token-file", token); code != exitDone {
		t.Errorf("with a token: got exit %d, %q", code, errs)
	}
	if all := asked(); all[len(all)-1].Header.Get("Authorization") == "" {
		t.Error("the token that is asked for was not sent")
	}
}

func TestCommandsReadAnAddressOfPprof(t *testing.T) {
	base, asked := served(t)
	target := base + "/debug/pprof/"
	if out, errs, code := reads(t, "", "check", target, "--max-threads", "2"); code != exitFailed || !strings.Contains(out, "FAILED") {
		t.Errorf("check: got exit %d, %q and\n%s", code, errs, out)
	}
	file := filepath.Join(t.TempDir(), "p.pb.gz")
	if _, errs, code := reads(t, "", "profile", target, "threads", "-o", file); code != exitDone {
		t.Errorf("profile: got exit %d, %q", code, errs)
	}
	if out, errs, code := reads(t, "", "diff", target, target); code != exitDone || !strings.Contains(out, "goroutines") {
		t.Errorf("diff: got exit %d, %q and\n%s", code, errs, out)
	}
	before := len(asked())
	if out, errs, code := reads(t, "", target, "--watch=2s", "--times", "2"); code != exitDone || strings.Count(out, "orders") != 2 || len(asked()) != before+2 {
		t.Errorf("--watch: got exit %d, %q, %d requests and\n%s", code, errs, len(asked())-before, out)
	}
}

func TestWhatAnAddressOfPprofDoesNotAnswerIsExplained(t *testing.T) {
	base, _ := served(t)
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{base + "/nothing/debug/pprof/"}, exitFailed, `import _ "net/http/pprof"`},
		{[]string{base + "/closed/debug/pprof/"}, exitFailed, "try: "},
		{[]string{base + "/page/debug/pprof/"}, exitFailed, "no profile of goroutines"},
		{[]string{"diff", base + "/debug/pprof/", base + "/page/debug/pprof/"}, exitFailed, "no profile of goroutines"},
		{[]string{gone.URL + "/debug/pprof/"}, exitFailed, "whether the program serves there"},
		{[]string{base + "/debug/pprof/heap"}, exitUsage, "go tool pprof"},
		{[]string{base + "/debug/pprof/goroutine?debug=3"}, exitUsage, "debug=0, 1 or 2"},
		{[]string{base + "/debug/pprof/goroutine?seconds=3"}, exitUsage, "debug=0, 1 or 2"},
		{[]string{"--watch=1s", base + "/debug/pprof/"}, exitUsage, "--watch=2s"},
		{[]string{"--watch=9s", base + "/debug/pprof/goroutine?debug=2"}, exitUsage, "--watch=10s"},
		{[]string{"top", base + "/debug/pprof/"}, exitUsage, "top needs a process"},
		{[]string{"export", base + "/debug/pprof/", "-o", "x.jfr"}, exitUsage, "export needs a process"},
		{[]string{"events", base + "/debug/pprof/"}, exitUsage, "events needs a process"},
		{[]string{"durable", base + "/debug/pprof/"}, exitUsage, "durable needs a process"},
		{[]string{"diff", "--every", "1s", base + "/debug/pprof/"}, exitUsage, "is an address"},
	} {
		out, errs, code := reads(t, "", c.args...)
		if code != c.code || !strings.Contains(errs, c.want) || !strings.Contains(errs, "try: ") {
			t.Errorf("%q: got exit %d, %q and\n%s\nwant exit %d and %q", c.args, code, errs, out, c.code, c.want)
		}
	}
}
