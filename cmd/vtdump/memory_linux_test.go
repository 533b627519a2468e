package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/vtscope/vtscope/internal/childtest"
)

// parade starts the fixture whose threads wait in known stacks.
func parade(t *testing.T, args ...string) string {
	t.Helper()
	child := childtest.Start(t, "./fixtures/parade", args...)
	child.WaitFor(regexp.MustCompile(`parade: .*; pid \d+\n`))
	return strconv.Itoa(child.PID())
}

// wantsParade checks that 400 threads are there, in stacks that are whole.
func wantsParade(t *testing.T, what, out string) {
	t.Helper()
	for _, want := range []string{"44", "parked 400", "row-2", "main.rest", "complete"} {
		if !strings.Contains(out, want) {
			t.Errorf("%s: got no %q in\n%s", what, want, out)
		}
	}
	if strings.Contains(out, "incomplete") {
		t.Errorf("%s: got\n%s\nwant it complete", what, out)
	}
}

func TestAProcessWithoutFlightFileIsReadInMemory(t *testing.T) {
	t.Setenv("VTSCOPE", "private")
	pid := parade(t, "-threads", "400", "-drivers", "0")
	r := vtdump(t, pid, "--depth", "0")
	if strings.Contains(r.errors, "permission denied") {
		t.Skipf("this process may not read others: %s", r.errors)
	}
	if r.code != 0 || !strings.Contains(r.errors, "no flight file: read in its memory") {
		t.Errorf("got exit %d and %q, want 0, and where it was read", r.code, r.errors)
	}
	wantsParade(t, "no file", r.out)
	if r := vtdump(t, "waits", pid); r.code != 0 || !strings.Contains(r.out, "400 wait for others") && !strings.Contains(r.out, "row-") {
		t.Errorf("waits: got exit %d and\n%s", r.code, r.out)
	}
	if r := vtdump(t, "check", pid, "--no-deadlock", "--max-threads", "500", "--max-growth", "20%", "--growth", "10ms"); r.code != exitUnknown || !strings.Contains(r.out, "1 of 3 limits unknown") {
		t.Errorf("check: got exit %d and\n%s", r.code, r.out)
	}
	x := openTerminal(t, 100, 30)
	top := x.start(build(t), "top", pid, "--every", "50ms")
	x.sees("main.rest") // the stacks that the threads have
	x.types("2")
	x.sees("row-2")
	x.types("q")
	x.leaves(top)
	if r := vtdump(t, "record", pid); r.code != 1 || !strings.Contains(r.errors, "not a vtscope process") {
		t.Errorf("record: got exit %d and %q, want that there is no file", r.code, r.errors)
	}
}

// What goroutines that are threads wait for is read without being asked for, and where that is not read, nobody says that there is no deadlock.
func TestThreadsOnGoroutinesAreShownWhereTheyWait(t *testing.T) {
	pid := parade(t, "-threads", "400", "-drivers", "0", "-adopted", "3")
	var r result
	for deadline := time.Now().Add(time.Minute); ; {
		r = vtdump(t, pid)
		if strings.Contains(r.errors, "permission denied") {
			t.Skipf("this process may not read others: %s", r.errors)
		}
		if regexp.MustCompile(`x 3 blocked <\S+   lock`).MatchString(r.out) && strings.Contains(r.out, "main.locks") && strings.Contains(r.out, "main.selects") {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("got exit %d, %s\n%s", r.code, r.errors, r.out)
		}
	}
	if r.code != 0 || r.errors != "" {
		t.Errorf("got exit %d and %q, want nothing to say", r.code, r.errors)
	}
	for _, c := range []struct {
		code int
		args []string
	}{
		{exitUnknown, []string{"check", pid, "--no-deadlock"}},
		{exitDone, []string{"findings", pid, "--growth", "50ms", "--check", "hog=off"}},
		{exitDone, []string{"waits", pid}},
	} {
		r := vtdump(t, c.args...)
		for _, want := range []string{"channel 1", "sync.Mutex 6", "sync.WaitGroup 6", "thread on a goroutine"} { // those that compute
			if r.code != c.code || !strings.Contains(strings.Join(strings.Fields(r.out), " "), want) {
				t.Errorf("%s: got exit %d, no %q in\n%s", c.args, r.code, want, r.out)
			}
		}
	}
}

func TestMemoryIsReadWhenItIsWanted(t *testing.T) {
	pid := parade(t, "-threads", "400", "-drivers", "0", "-running", "1")
	r := vtdump(t, pid, "--memory")
	if strings.Contains(r.errors, "permission denied") {
		t.Skipf("this process may not read others: %s", r.errors)
	}
	if r.code != 0 || r.errors != "" {
		t.Errorf("got exit %d and %q", r.code, r.errors)
	}
	wantsParade(t, "--memory", r.out)
	fails(t, exitUsage, "--growth: all is stopped", pid, "--stop", "--growth", "1s")
	fails(t, exitUsage, "--exe is for core files", pid, "--exe", "program")
	fails(t, exitUsage, "means nothing to record", "record", pid, "--memory")
}

// vtdump runs as a program of its own here: a parent that waits for its child would take the news of its stops for that of its end.
func TestStoppingAProcessTellsForHowLong(t *testing.T) {
	program := childtest.Build(t, "./cmd/vtdump")
	call := func(args ...string) (out, errors string) {
		var stdout, stderr bytes.Buffer
		c := exec.Command(program, args...)
		c.Stdout, c.Stderr = &stdout, &stderr
		if err := c.Run(); err != nil {
			if strings.Contains(stderr.String(), "permission denied") {
				t.Skipf("this process may not stop others: %s", stderr.String())
			}
			t.Fatalf("vtdump %q: %v\n%s", args, err, stderr.String())
		}
		return stdout.String(), stderr.String()
	}
	pid := parade(t, "-threads", "400", "-drivers", "0", "-running", "1")
	out, errors := call(pid, "--stop")
	wantsParade(t, "--stop", out)
	if !strings.Contains(errors, "was stopped for ") {
		t.Errorf("--stop: got %q, want for how long it was stopped", errors)
	}
	for deadline := time.Now().Add(time.Minute); !strings.Contains(out, "main.turn"); {
		if time.Now().After(deadline) {
			t.Fatalf("--mounted: got\n%s\nwant main.turn", out)
		}
		if out, errors = call(pid, "--mounted", "--filter", "name=running"); !strings.Contains(errors, "one of its OS threads at a time") {
			t.Errorf("--mounted: got %q, want what it cost", errors)
		}
	}
}

func TestWhatTakesLongIsEstimatedFirst(t *testing.T) {
	pid := parade(t, "-threads", "400", "-drivers", "0")
	stop, page := longStop, largePage
	t.Cleanup(func() { longStop, largePage = stop, page })
	longStop, largePage = time.Microsecond, 400_000
	r := vtdump(t, pid, "--stop")
	if strings.Contains(r.errors, "permission denied") {
		t.Skipf("this process may not read others: %s", r.errors)
	}
	if r.code != exitFailed || r.out != "" || !strings.Contains(r.errors, "--stop would stop the process for about 66") || !strings.Contains(r.errors, "it has 441 threads\n    try: --memory, which does not stop it; or --stop --yes") {
		t.Errorf("got exit %d, %q and\n%s", r.code, r.errors, r.out)
	}
	fails(t, exitFailed, "--format jdk would be about 0.0 GB: there are 441 threads, and each is in it\n    try: ", pid, "--format", "jdk")
	for _, args := range [][]string{{"--yes"}, {"--filter", "name=k1"}} {
		if r := vtdump(t, append(args, pid, "--format", "jdk")...); r.code != 0 || !strings.Contains(r.out, "threadDump") {
			t.Errorf("%q: got exit %d, %q", args, r.code, r.errors)
		}
	}
	longStop, largePage = stop, page
	if r := vtdump(t, pid, "--format", "jdk"); r.code != 0 {
		t.Errorf("got exit %d, %q: what is small needs no --yes", r.code, r.errors)
	}
}

func TestACoreFileIsATarget(t *testing.T) {
	gcore, err := exec.LookPath("gcore")
	if err != nil {
		t.Skipf("no gcore to make one: %v", err)
	}
	pid := parade(t, "-threads", "400", "-drivers", "0")
	prefix := filepath.Join(t.TempDir(), "core")
	if out, err := exec.Command(gcore, "-o", prefix, pid).CombinedOutput(); err != nil {
		t.Skipf("gcore: %v\n%s", err, out)
	}
	path := prefix + "." + pid
	wantsParade(t, "core", succeeds(t, path))
	if out := succeeds(t, "diff", path, path); !strings.Contains(out, "parade") {
		t.Errorf("diff of it and itself: got\n%s", out)
	}
	fails(t, exitUsage, "nothing runs", path, "--stop")
	fails(t, exitUsage, "needs a process", "incident", path)
	if err := os.Truncate(path, 100_000); err != nil {
		t.Fatal(err)
	}
	fails(t, exitFailed, "the file is cut", path)
}
