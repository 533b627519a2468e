package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/vtscope/vtscope/dump"
	"github.com/vtscope/vtscope/internal/childtest"
)

// startPlain starts a program that knows nothing of vtscope, and returns its pid when its goroutines wait.
func startPlain(t *testing.T, args ...string) string {
	t.Helper()
	child := childtest.Start(t, "./fixtures/plain", args...)
	child.WaitFor(regexp.MustCompile(`(?m)^plain: .*; pid \d+$`))
	return strconv.Itoa(child.PID())
}

func TestEachReportOfAProgramWithoutVtscope(t *testing.T) {
	pid := startPlain(t, "-each", "10")
	for _, c := range []struct {
		args []string
		code int
		want []string
	}{
		{[]string{pid}, exitDone, []string{"plain (pid " + pid + ")  202 goroutines in ", ", no pause; complete\n", "goroutines         own\n", "main.main main.go:", "x 10 blocked ", "main.locks ", "created by main.main.func1"}},
		{[]string{pid, "--scopes", "labels"}, exitDone, []string{"route=/cart", "tenant=a b"}},
		{[]string{pid, "--scopes", "package"}, exitDone, []string{"─ main "}},
		{[]string{pid, "--filter", "state=blocked", "--by", "stack"}, exitDone, []string{"39 goroutines by stack", "Lock"}},
		{[]string{pid, "--thread", "1"}, exitDone, []string{`thread #1 "main"`}},
		{[]string{pid, "--format", "folded"}, exitDone, []string{"main.locks;sync.(*Mutex).Lock 10\n"}},
		{[]string{pid, "--format", "html"}, exitDone, []string{"<html", "main.locks"}},
		{[]string{"waits", pid, "--top", "0"}, exitDone, []string{"no deadlock found", "none found among 0 waits that can be judged; 189 cannot", "10 in main.main.func1 main.go:", " wait for mutex 0x"}},
		{[]string{"check", pid, "--no-deadlock"}, exitUnknown, []string{"unknown no-deadlock", "189 cannot"}},
		{[]string{"check", pid, "--max-threads", "3"}, exitFailed, []string{"there are 202 goroutines"}},
		{[]string{"scheduler", pid}, exitFailed, []string{"scheduler needs what its recorder knows", "try: vtdump " + pid}},
		{[]string{pid, "--scopes", "colours"}, exitUsage, []string{"want created, labels or package"}},
	} {
		r := vtdump(t, c.args...)
		for _, want := range c.want {
			if r.code != c.code || !strings.Contains(r.out+r.errors, want) {
				t.Errorf("vtdump %q: got exit %d, want %d and %q in\n%s%s", c.args, r.code, c.code, want, r.out, r.errors)
			}
		}
	}
	var s dump.Snapshot
	out := succeeds(t, pid, "--json")
	if err := json.Unmarshal([]byte(out), &s); err != nil || s.Process.Kind != "goroutine" || s.Threads != 202 {
		t.Errorf("JSON: got %d of kind %q, %v", s.Threads, s.Process.Kind, err)
	}
	if again := succeeds(t, "diff", pid, "--every", "10ms", "--times", "1"); !strings.Contains(again, "plain") {
		t.Errorf("diff: got %q", again)
	}
}

func TestFindingsOfAProgramWithoutVtscope(t *testing.T) {
	pid := startPlain(t, "-each", "200")
	r := vtdump(t, "findings", pid, "--check", "long-held=10ms", "--growth", "50ms")
	for _, want := range []string{
		"200 goroutines wait for mutex 0x", "Go does not record who holds it", "main.locks main.go:",
		"judged in part: deadlock: 3,", "not judged: spawn-storm: the process has no recorder", "not judged: unscoped: the process has no recorder",
	} {
		if r.code != exitFailed || !strings.Contains(r.out, want) {
			t.Errorf("got exit %d, %q and\n%s\nwant %q", r.code, r.errors, r.out, want)
		}
	}
}

func TestAProgramWithoutVtscopeIsATargetByItsName(t *testing.T) {
	copied := filepath.Join(t.TempDir(), "one of a kind") // other tests run plain
	text, err := os.ReadFile(childtest.Build(t, "./fixtures/plain"))
	if err == nil {
		err = os.WriteFile(copied, text, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	start := func() {
		t.Helper()
		c := exec.Command(copied)
		in, err := c.StdinPipe()
		if err == nil {
			err = c.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			in.Close()
			c.Wait() // it ends with its input
		})
	}
	start()
	var r result
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		if r = vtdump(t, filepath.Base(copied)); strings.Contains(r.out, "main.selectsNothing") {
			break
		}
	}
	if r.code != exitDone || !strings.HasPrefix(r.out, "one of a kind (pid ") {
		t.Errorf("got exit %d, %q and %q", r.code, r.out, r.errors)
	}
	start()
	fails(t, exitFailed, "2 processes have this name\n    try: vtdump ", filepath.Base(copied))
}

func TestGoProgramsAreListed(t *testing.T) {
	pid := startPlain(t, "-each", "10")
	if out := succeeds(t); !regexp.MustCompile(`(?m)^ *PID +GO PROGRAM +AGE +GOROUTINES +BUILT BY$`).MatchString(out) ||
		!regexp.MustCompile(`(?m)^ *`+pid+` +plain +\S+ +202 +go1\.`).MatchString(out) {
		t.Errorf("got\n%s\nwant %s with 202 goroutines", out, pid)
	}
	var doc processesDoc
	if err := json.Unmarshal([]byte(succeeds(t, "--json")), &doc); err != nil {
		t.Fatal(err)
	}
	for _, p := range doc.Go {
		if strconv.Itoa(p.PID) == pid {
			if p.Program != "plain" || p.Goroutines != 202 || p.Module == "" || p.Unread != "" {
				t.Errorf("JSON: got %+v", p)
			}
			return
		}
	}
	t.Errorf("JSON: %s is not in %+v", pid, doc.Go)
}

func TestACoreOfAProgramWithoutVtscope(t *testing.T) {
	if _, err := exec.LookPath("gcore"); err != nil {
		t.Skipf("no gcore: %v", err)
	}
	pid := startPlain(t, "-each", "10")
	base := filepath.Join(t.TempDir(), "core")
	if out, err := exec.Command("gcore", "-o", base, pid).CombinedOutput(); err != nil {
		t.Skipf("gcore: %v\n%s", err, out)
	}
	core := base + "." + pid
	if out := succeeds(t, core); !strings.Contains(out, "202 goroutines") || !strings.Contains(out, "process is gone") || !strings.Contains(out, "main.locks") {
		t.Errorf("got\n%s", out)
	}
	if out := succeeds(t, "waits", core, "--top", "0"); !strings.Contains(out, " wait for mutex 0x") {
		t.Errorf("waits: got\n%s", out)
	}
}

func TestTopOfAProgramWithoutVtscope(t *testing.T) {
	pid := startPlain(t, "-each", "10")
	x := openTerminal(t, 100, 40)
	cmd := x.start(build(t), "top", pid, "--every", "10ms")
	x.sees("goroutines") // spaces that are there already are not written again
	x.sees("main.selectsNothing")
	x.types("\r")  // the first group
	x.sees("turn") // pages: it is a page of the group
	x.types("\x1bq")
	x.leaves(cmd)
}
