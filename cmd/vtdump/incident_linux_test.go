package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/vtscope/vtscope/incident"
)

// taken returns the only bundle in a directory.
func taken(t *testing.T, dir string) string {
	t.Helper()
	all, err := filepath.Glob(filepath.Join(dir, "[^.]*"))
	if err != nil || len(all) != 1 || !strings.HasSuffix(all[0], incident.Ending) {
		t.Fatalf("got %q, %v; want one bundle", all, err)
	}
	return all[0]
}

func TestWatchTakesABundleWhoseStoryIsTold(t *testing.T) {
	path, child := fixture(t, "trouble", "-kind", "park")
	dir := t.TempDir()
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	var out, errs lockedBuffer
	done := make(chan int)
	go func() {
		done <- run(ctx, []string{"watch", path, "--dir", dir, "--on", "park > 300ms in requests", "--on", "killed", "--without", "cpu", "--last", "20s", "--json"},
			world{stdout: &out, stderr: &errs, getenv: os.Getenv, now: time.Now})
	}()
	for strings.Count(out.String(), "\n") < 1 && ctx.Err() == nil {
		time.Sleep(5 * time.Millisecond)
	}
	bundle := taken(t, dir)
	for _, c := range []struct {
		args []string
		code int
		want []string
	}{
		{[]string{"open", bundle}, exitDone, []string{"incident ", "  fired  park > 300ms in requests\n", "a thread of requests has been parked for ", `waits for mutex "till"`,
			"\nsnapshot: what all threads did\n", "\nheap: Go's profile of the heap\n", "\nmissing:\n  cpu         not wanted\n", "  vtdump waits " + bundle}},
		{[]string{"open", bundle, "--json"}, exitDone, []string{`"format": "vtscope/incident/v1"`, `"rule": "park > 300ms in requests"`}},
		{[]string{"open", bundle, "--part", "waits"}, exitDone, []string{`1 in requests waits for mutex "till"`}},
		{[]string{"open", bundle, "--part", "waits", "--json"}, exitDone, []string{`"format": "vtscope/waits/v1"`}},
		{[]string{bundle}, exitDone, []string{"7 threads in 2 scopes", "main.wait"}},
		{[]string{bundle, "--json", "--top", "1"}, exitDone, []string{`"format": "vtscope/dump/v1"`}},
		{[]string{"waits", bundle}, exitDone, []string{`1 in requests waits for mutex "till"`}},
		{[]string{"scheduler", bundle}, exitDone, []string{`scheduler 1 "default"`}},
		{[]string{"settings", bundle}, exitDone, []string{"settings = default"}},
		{[]string{"replay", bundle, "--at", "-1ms"}, exitDone, []string{"main.wait"}},
		{[]string{"events", bundle, "--stats"}, exitDone, []string{"mount "}},
	} {
		r := vtdump(t, c.args...)
		if r.code != c.code {
			t.Errorf("%q: got exit %d, %q; want %d", c.args, r.code, r.errors, c.code)
		}
		for _, want := range c.want {
			if !strings.Contains(r.out, want) {
				t.Errorf("%q: want %q in\n%s", c.args, want, r.out)
			}
		}
	}
	fails(t, exitFailed, "there is no part cpu: not wanted", "open", bundle, "--part", "cpu")
	fails(t, exitUsage, "is a bundle, and record needs a process", "record", bundle)
	fails(t, exitUsage, "nothing can be changed in it", "settings", bundle, "park=off")
	fails(t, exitFailed, "a bundle has one snapshot", bundle, "--growth", "1s")

	child.Signal(syscall.SIGKILL)
	select {
	case code := <-done:
		if code != exitFailed || !strings.Contains(errs.String(), "watches trouble") {
			t.Errorf("got exit %d, %q; want 1", code, errs.String())
		}
	case <-ctx.Done():
		t.Fatal("the watch did not end with the process")
	}
	var docs []firingDoc
	d := json.NewDecoder(strings.NewReader(out.String()))
	for d.More() {
		var doc firingDoc
		if err := d.Decode(&doc); err != nil {
			t.Fatal(err)
		}
		docs = append(docs, doc)
	}
	if len(docs) != 2 || docs[0].Bundle != bundle || docs[1].Causes[0].Rule != "killed" || docs[1].Bundle == "" {
		t.Fatalf("got %+v", docs)
	}
	if text := succeeds(t, "open", docs[1].Bundle); !strings.Contains(text, "fired  killed") || !strings.Contains(text, "heap        the process is gone") {
		t.Errorf("got\n%s", text)
	}
}

// A lockedBuffer may be read while it is written.
type lockedBuffer struct {
	mu struct {
		sync.Mutex
		bytes.Buffer
	}
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.mu.Buffer.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.mu.Buffer.String()
}

func TestIncidentIsTakenOnRequest(t *testing.T) {
	path, child := fixture(t, "deadlock")
	for end := time.Now().Add(time.Minute); vtdump(t, "waits", path).code != exitFailed; { // what may still dissolve is none
		if time.Now().After(end) {
			t.Fatal("there is no deadlock")
		}
	}
	dir := t.TempDir()
	out := succeeds(t, "incident", path, "--dir", dir, "--without", "events", "--budget", "10MB")
	bundle := taken(t, dir)
	if out != bundle+"\n    try: vtdump open "+bundle+"\n" {
		t.Errorf("got %q", out)
	}
	story := succeeds(t, "open", "--ascii", bundle)
	for _, want := range []string{"  what   asked for\n", "1 deadlock", "  heap        the program does not import runtime/flight/profiling\n", "  events      not wanted\n"} {
		if !strings.Contains(story, want) {
			t.Errorf("want %q in\n%s", want, story)
		}
	}
	if r := vtdump(t, "waits", bundle); r.code != exitFailed || !strings.Contains(r.out, "deadlock 1 ") {
		t.Errorf("waits of the bundle: got exit %d and\n%s\nwant 1: there is a deadlock", r.code, r.out)
	}
	fails(t, exitFailed, "larger than the budget", "incident", path, "--dir", dir, "--budget", "100", "--without", "events")
	taken(t, dir)
	child.CloseStdin()
	child.WantExit(0)
}

func TestCallsAboutIncidentsThatAreNotUnderstood(t *testing.T) {
	f := recorded(t)
	file := filepath.Join(t.TempDir(), "x.vti")
	if err := os.WriteFile(file, []byte("PK\x03\x04 is not enough"), 0o600); err != nil {
		t.Fatal(err)
	}
	fails(t, exitUsage, "watch needs a rule\n    try: --on RULE, such as\n    park > 5s in requests", "watch", f.Path)
	fails(t, exitUsage, "no such rule:\n    park > 5x in a\n           ^ want a duration", "watch", f.Path, "--on", "park > 5x in a")
	fails(t, exitUsage, "want a size", "incident", f.Path, "--budget", "much")
	fails(t, exitUsage, "want events, snapshot", "incident", f.Path, "--without", "everything")
	fails(t, exitFailed, "not a whole incident bundle", "open", file)
	fails(t, exitFailed, "not a whole incident bundle", file)
	fails(t, exitFailed, "no such file", "open", file+"x")
	fails(t, exitFailed, "not a directory", "incident", f.Path, "--dir", file+"/x")
}
