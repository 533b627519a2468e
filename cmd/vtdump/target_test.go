package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/vtscope/vtscope/dump"
	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/flight/flighttest"
)

// recorded writes a flight file of this process, with 1,000 threads, where vtdump looks for it.
func recorded(t *testing.T) *flighttest.File {
	f := flighttest.Write(t, flighttest.Spec{
		Scopes: []flighttest.Scope{{Name: "shop", Owner: 1}, {Name: "requests", Parent: 1}},
		Stacks: []flighttest.Stack{{
			{Func: "example.org/shop.(*Store).query", File: "/src/store.go", Line: 88},
			{Func: "example.org/shop.serve", File: "/src/serve.go", Line: 12},
		}},
		Threads: 1000,
		Thread: func(i int) flighttest.Thread {
			if i == 0 {
				return flighttest.Thread{Name: "main", State: flight.StateMounted}
			}
			return flighttest.Thread{
				Name: fmt.Sprintf("GET /cart/%d", i), Scope: 2, Stack: 1,
				State: flight.StateTimedParked, Reason: flight.ReasonSleep, Age: 31 * time.Second,
			}
		},
	})
	t.Setenv("VTSCOPE_DIR", f.Dir)
	return f
}

func TestListAlignsTheProcesses(t *testing.T) {
	recorded(t)
	out := succeeds(t)
	re := regexp.MustCompile(`^( *)PID  PROGRAM +AGE  THREADS  STATUS\n *` + strconv.Itoa(os.Getpid()) + `  \S+ +\S+ +1,000  running\n(\n *PID  GO PROGRAM|$)`)
	if !re.MatchString(out) {
		t.Errorf("got\n%s\nwant it to match %s", out, re)
	}
	var doc struct {
		Format    string
		Processes []listed
	}
	if err := json.Unmarshal([]byte(succeeds(t, "--json")), &doc); err != nil || doc.Format != listFormat ||
		len(doc.Processes) != 1 || doc.Processes[0].PID != os.Getpid() || doc.Processes[0].Threads != 1000 {
		t.Errorf("JSON: got %v %+v", err, doc)
	}
}

func TestListOfNothingSaysWhatToTry(t *testing.T) {
	t.Setenv("VTSCOPE_DIR", flighttest.Dir(t))
	r := vtdump(t)
	if none := strings.Contains(r.errors, "no vtscope process found, and no other Go program\n    try: "); r.code != exitDone || strings.Contains(r.out, "THREADS") || none != (r.out == "") {
		t.Errorf("got exit %d, %q and %q", r.code, r.out, r.errors)
	}
	if out := succeeds(t, "--json"); !strings.Contains(out, `"processes": []`) {
		t.Errorf("JSON: got %q", out)
	}
}

func TestTargetIsAPidOrAFileOrAProgram(t *testing.T) {
	f := recorded(t)
	t.Chdir(f.Dir)
	for _, target := range []string{strconv.Itoa(os.Getpid()), f.Path, filepath.Base(f.Path), "./" + filepath.Base(f.Path), program(t)} {
		out := succeeds(t, target)
		for _, want := range []string{
			fmt.Sprintf("(pid %d)  1,000 threads in 3 scopes   timed-parked 999  mounted 1\ntaken in ", os.Getpid()),
			", no pause; complete\n", `owner #1 "main"`, "x 999 timed-parked ", "shop.(*Store).query  store.go:88\n", "   sleep   group ",
		} {
			if !strings.Contains(out, want) {
				t.Errorf("%s: want %q in\n%s", target, want, out)
			}
		}
	}
}

func TestSchedulerTakesTargetsAsVtdumpDoes(t *testing.T) {
	f := recorded(t)
	for _, args := range [][]string{{"scheduler", program(t)}, {"scheduler", f.Path}, {"--top", "3", "scheduler", f.Path}, {"scheduler", "--ascii", "--", f.Path}} {
		if out := succeeds(t, args...); !strings.Contains(out, "1,000 threads\ntaken in ") {
			t.Errorf("%q: got\n%s", args, out)
		}
	}
	fails(t, exitFailed, "no such process", "scheduler", "999999999")
	fails(t, exitFailed, "try: vtdump scheduler "+program(t), "scheduler", program(t)+"x")
	fails(t, exitFailed, "scheduler: no vtscope process and no file of this name", "--", "scheduler")
	if out := succeeds(t, "scheduler", f.Path, "--color", "always"); !strings.Contains(out, "\x1b[1m") {
		t.Errorf("with colour: got %q", out)
	}
	var doc struct{ Format string }
	if err := json.Unmarshal([]byte(succeeds(t, "scheduler", f.Path, "-f", "json", "--top", "1")), &doc); err != nil || doc.Format != dump.SchedulersFormat {
		t.Errorf("JSON: got %v, %+v", err, doc)
	}
}

func program(t *testing.T) string {
	t.Helper()
	processes, errs := flight.List()
	if len(errs) > 0 || len(processes) != 1 {
		t.Fatalf("got %v, %v; want one process", processes, errs)
	}
	return processes[0].Program
}

func TestFormatsTellTheSameNumbers(t *testing.T) {
	f := recorded(t)
	s, err := dump.ParseJSON([]byte(succeeds(t, "--json", f.Path)))
	if err != nil {
		t.Fatal(err)
	}
	if s.Threads != 1000 || s.States[flight.StateTimedParked] != 999 || len(s.Groups) != 2 || s.Groups[0].Count != 999 || !s.Complete {
		t.Errorf("JSON: got %+v", s)
	}
	want := "root;shop;requests;example.org/shop.serve;example.org/shop.(*Store).query 999\nroot;[mounted] 1\n"
	if got := succeeds(t, "--format", "folded", f.Path); got != want {
		t.Errorf("folded: got %q, want %q", got, want)
	}
	if s, err := dump.ParseJSON([]byte(succeeds(t, "--json", "--top", "1", f.Path))); err != nil || len(s.Groups) != 1 || s.Rest != (dump.Rest{Groups: 1, Threads: 1}) {
		t.Errorf("JSON of the largest group: got %v %+v", err, s)
	}
	if out := succeeds(t, "--top", "1", "--ascii", f.Path); !strings.Contains(out, "... 1 more group with 1 thread   (--top 2 shows them)\n") {
		t.Errorf("largest group: got\n%s", out)
	}
}

func TestGrowthMarksWhatChanged(t *testing.T) {
	f := recorded(t)
	// They end between the two snapshots, unless the machine is busy: then they are tried again, with others and more time.
	for growth, from := 300*time.Millisecond, 1; ; growth, from = 2*growth, from+100 {
		done := make(chan string)
		go func() { done <- succeeds(t, "--growth", growth.String(), f.Path) }()
		time.Sleep(growth / 3)
		now := flight.Now()
		for _, rec := range f.Records[from : from+100] {
			rec.End(now)
		}
		out := <-done
		if !regexp.MustCompile(`; complete; ▲▼ since [\d.]+ m?s ago\n`).MatchString(out) {
			t.Errorf("got\n%s", out)
		}
		if strings.Contains(out, "▼ 100") {
			return
		}
		if from > 600 {
			t.Fatalf("want ▼ 100 in\n%s", out)
		}
	}
}

// stranger starts a process that has no recorder, and returns its id.
func stranger(t *testing.T) string {
	t.Helper()
	c := exec.Command("sleep", "60")
	if err := c.Start(); err != nil {
		t.Skipf("no program to look at: %v", err)
	}
	t.Cleanup(func() { _ = c.Process.Kill(); _ = c.Wait() })
	return strconv.Itoa(c.Process.Pid)
}

func TestTargetsThatCannotBeRead(t *testing.T) {
	f := recorded(t)
	dir := t.TempDir()
	t.Chdir(dir)
	write := func(name, text string) string {
		t.Helper()
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return "./" + name
	}
	whole, err := os.ReadFile(f.Path)
	if err != nil {
		t.Fatal(err)
	}
	fails(t, exitFailed, "no such process", "999999999")
	fails(t, exitFailed, "not a vtscope process", stranger(t))
	fails(t, exitFailed, "no vtscope process and no file of this name", "nosuchprogram")
	fails(t, exitFailed, "a moment is of a recording: vtdump record nosuchprogram, then", "nosuchprogram@5s")
	fails(t, exitFailed, "try: vtdump "+program(t), program(t)+"x")
	fails(t, exitFailed, "no such file", "./nothing")
	fails(t, exitFailed, "./empty", write("empty", ""))
	fails(t, exitFailed, "flight file", write("garbage", strings.Repeat("garbage ", 20_000)))
	fails(t, exitFailed, "./short", write("short", string(whole[:100])))
	fails(t, exitFailed, "flight file", write("text", "hello"))
	fails(t, exitFailed, "a directory", dir)
	fails(t, exitFailed, "a device", os.DevNull)
	fails(t, exitFailed, "flight file", "text")
	write("999999999", "")
	fails(t, exitFailed, "try: vtdump ./999999999", "999999999")
	if path, err := exec.LookPath("mkfifo"); err == nil {
		if err := exec.Command(path, "fifo").Run(); err != nil {
			t.Fatal(err)
		}
		fails(t, exitFailed, "a pipe", "./fifo")
		fails(t, exitFailed, "a pipe", "fifo")
	}
}

func TestNamesOfFilesCannotChangeTheTerminal(t *testing.T) {
	if r := vtdump(t, "./a\x1b[31mb"); strings.Contains(r.errors, "\x1b") {
		t.Errorf("got %q", r.errors)
	}
}

func TestSeveralProcessesOfOneNameAreNotGuessedAt(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	err := ambiguous("vtdump", "shop", []flight.Process{
		{PID: 7, Program: "shop", Threads: 1204, Start: at.Add(-time.Hour), Status: flight.StatusRunning},
		{PID: 8, Program: "shop", Threads: 1, Start: at.Add(-time.Minute), Status: flight.StatusStopped},
	}, at)
	var b strings.Builder
	if code := report(&b, err); code != exitFailed {
		t.Errorf("exit: got %d, want %d", code, exitFailed)
	}
	want := `vtdump: shop: 2 processes have this name
    try: vtdump 7   (1,204 threads, started 1h ago, running)
         vtdump 8   (1 thread, started 1m ago, stopped)
`
	if got := b.String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
