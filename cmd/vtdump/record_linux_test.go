package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/vtscope/vtscope/dump"
)

func TestRecordOfAProcessReplaysAsItWas(t *testing.T) {
	child, _ := start(t, 2500)
	pid := strconv.Itoa(child.Process.Pid)
	path := filepath.Join(t.TempDir(), "run.vtr")
	var done recordDoc
	if err := json.Unmarshal([]byte(succeeds(t, "record", pid, "-o", path, "--for", "200ms", "--json")), &done); err != nil {
		t.Fatal(err)
	}
	if done.PID != child.Process.Pid || done.Ended || done.Lost > 0 || done.File != path {
		t.Errorf("got %+v, want a recording of the child that lives, without a loss", done)
	}
	var then, now dump.Snapshot
	for out, args := range map[*dump.Snapshot][]string{&now: {"--json", pid}, &then: {"--json", path}} {
		if err := json.Unmarshal([]byte(succeeds(t, args...)), out); err != nil {
			t.Fatal(err)
		}
	}
	if then.Threads != 2500 || then.States != now.States || len(then.Groups) != len(now.Groups) || len(then.Scopes) != len(now.Scopes) || !then.Complete {
		t.Fatalf("got %+v, want what the process says of itself: %+v", then, now)
	}
	for i := range then.Groups {
		a, b := &then.Groups[i], &now.Groups[i]
		if a.Key != b.Key || a.Count != b.Count || then.Stacks[a.Stack].Fingerprint != now.Stacks[b.Stack].Fingerprint || then.Scopes[a.Scope].Name != now.Scopes[b.Scope].Name {
			t.Errorf("group %d: got %+v, want %+v", i, a, b)
		}
	}
}

func TestRecordEndsWithTheProcess(t *testing.T) {
	child, _ := start(t, 10)
	path := filepath.Join(t.TempDir(), "run.vtr")
	ended := make(chan struct{})
	t.Cleanup(func() { <-ended }) // before the child is waited for again
	go func() {
		defer close(ended)
		for _, err := os.Stat(path); err != nil && t.Context().Err() == nil; _, err = os.Stat(path) {
			time.Sleep(time.Millisecond)
		}
		_ = child.Process.Signal(syscall.SIGKILL)
		_ = child.Wait()
	}()
	r := vtdump(t, "record", strconv.Itoa(child.Process.Pid), "-o", path)
	if r.code != exitDone || !strings.Contains(r.out, "the process has ended") || !strings.HasPrefix(r.errors, "recording vtdump.test (pid ") {
		t.Errorf("got %+v, want it to say that the process has ended", r)
	}
	if out := succeeds(t, path); !strings.Contains(out, "10 threads") {
		t.Errorf("replay: got\n%s\nwant its ten threads", out)
	}
}

func TestEventsOfAProcess(t *testing.T) {
	child, _ := startAs(t, busyTarget)
	pid := strconv.Itoa(child.Process.Pid)
	eventually(t, "mount", "events", pid, "--kind", "mount")
	eventually(t, "thread-start", "events", pid, "--stats")
}
