package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/vtscope/vtscope/internal/childtest"
	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/flight/flighttest"
)

// asTarget, in the environment, makes the test binary a program to look at.
const asTarget = "VTDUMP_TEST_TARGET"

func TestMain(m *testing.M) {
	if what := os.Getenv(asTarget); what == heldTarget {
		held()
	} else if what == peakTarget {
		peak()
	} else if what == deadlockTarget {
		deadlock()
	} else if what == busyTarget {
		busy()
	} else if what == hundredTarget {
		hundred()
	} else if lie, ok := strings.CutPrefix(what, liarTarget); ok {
		liar(lie)
	} else if n, err := strconv.Atoi(what); err == nil {
		target(n)
	}
	os.Exit(m.Run())
}

// target records n parked threads, says so, and waits for the end of its standard input.
func target(n int) {
	r := flight.Default()
	scope := r.OpenScope(1, "requests", 0, 0, 0, flight.Now())
	stack := r.Stack(0)
	for i := range n {
		rec := r.GetRecord()
		now := flight.Now()
		rec.Init(flight.StateNew, flight.ThreadID(i+1), scope, 0, 0, 0, now)
		rec.Parked(now, flight.StateParked, flight.ReasonPark, stack, 0)
	}
	fmt.Println("ready")
	_, _ = io.Copy(io.Discard, os.Stdin)
	_ = flight.Close()
	os.Exit(0)
}

// start starts a target with n threads, where vtdump looks for it. Closing its standard input ends it.
func start(t *testing.T, n int) (child *exec.Cmd, stdin io.Closer) {
	t.Helper()
	return startAs(t, strconv.Itoa(n))
}

func startAs(t *testing.T, what string) (child *exec.Cmd, stdin io.Closer) {
	t.Helper()
	t.Setenv("VTSCOPE_DIR", flighttest.Dir(t))
	child = exec.Command(os.Args[0])
	child.Env = append(os.Environ(), asTarget+"="+what)
	child.Stderr = os.Stderr
	in, err := child.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = child.Process.Kill()
		_ = child.Wait()
	})
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "ready\n" {
		t.Fatalf("target: got %q, %v; want ready", line, err)
	}
	if r, err := flight.OpenPID(child.Process.Pid); err == nil { // a target may be without a recorder
		childtest.AwaitNames(t, r)
		r.Close()
	}
	return child, in
}

// eventually runs vtdump until what it prints contains want.
func eventually(t *testing.T, want string, args ...string) string {
	t.Helper()
	var r result
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		if r = vtdump(t, args...); strings.Contains(r.out, want) {
			return r.out
		}
	}
	t.Fatalf("vtdump %q: got exit %d, %q and\n%s\nwant %q", args, r.code, r.errors, r.out, want)
	return ""
}

func TestProcessThatRunsIsStoppedAndKilled(t *testing.T) {
	child, _ := start(t, 2500)
	pid := strconv.Itoa(child.Process.Pid)
	out := eventually(t, "no pause; complete", pid)
	for _, want := range []string{"2,500 threads in 2 scopes   parked 2,500", "requests", "vtdump.target", "process_linux_test.go:"} {
		if !strings.Contains(out, want) {
			t.Errorf("running: want %q in\n%s", want, out)
		}
	}
	if err := child.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	eventually(t, "  stopped\n")
	if out := succeeds(t, pid); !strings.Contains(out, "process is stopped (SIGSTOP or a debugger); taken in ") || !strings.Contains(out, "; complete\n") ||
		!strings.Contains(out, "x 2,500 parked") {
		t.Errorf("stopped: got\n%s", out)
	}
	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = child.Wait()
	if out := succeeds(t); !strings.Contains(out, "gone, last seen ") {
		t.Errorf("list: got\n%s", out)
	}
	for _, target := range []string{pid, filepath.Base(os.Args[0])} {
		out := succeeds(t, target)
		if !strings.Contains(out, "process is gone (") || !strings.Contains(out, "; complete\n") || !strings.Contains(out, "x 2,500 parked") {
			t.Errorf("gone: got\n%s", out)
		}
	}
	fails(t, exitFailed, "the process is gone", "--growth", "1s", pid)
}

func TestProcessThatClosedItsRecorderIsGone(t *testing.T) {
	child, stdin := start(t, 10)
	stdin.Close()
	if err := child.Wait(); err != nil {
		t.Fatal(err)
	}
	fails(t, exitFailed, "no such process", strconv.Itoa(child.Process.Pid))
}

func TestSchedulerOfAProcessWithoutOneSaysSo(t *testing.T) {
	child, _ := start(t, 10)
	pid := strconv.Itoa(child.Process.Pid)
	if out := succeeds(t, "scheduler", pid); !strings.Contains(out, "It has no scheduler yet") || !strings.Contains(out, "10 threads") {
		t.Errorf("got\n%s", out)
	}
	if out := succeeds(t, "scheduler", "--json", pid); !strings.Contains(out, `"none": "It has no scheduler yet`) || !strings.Contains(out, `"schedulers": []`) {
		t.Errorf("JSON: got\n%s", out)
	}
}

func TestSeveralTargetsOfOneNameAreListed(t *testing.T) {
	first, _ := start(t, 10)
	dir := os.Getenv("VTSCOPE_DIR")
	second, _ := start(t, 20)
	for _, dir := range []string{dir, os.Getenv("VTSCOPE_DIR")} {
		t.Setenv("VTSCOPE_DIR", dir)
		succeeds(t, filepath.Base(os.Args[0]))
	}
	// Both in one directory.
	files, err := filepath.Glob(filepath.Join(dir, "*.flight"))
	if err != nil || len(files) != 1 {
		t.Fatalf("got %v, %v; want one flight file", files, err)
	}
	if err := os.Rename(files[0], filepath.Join(os.Getenv("VTSCOPE_DIR"), filepath.Base(files[0]))); err != nil {
		t.Fatal(err)
	}
	fails(t, exitFailed, "2 processes have this name\n    try: vtdump ", filepath.Base(os.Args[0]))
	for _, child := range []*exec.Cmd{first, second} {
		eventually(t, "no pause; complete", strconv.Itoa(child.Process.Pid))
	}
}

func TestOtherUsersFilesAreRefused(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("needs root, to become another user")
	}
	child, _ := start(t, 10)
	bin := build(t)
	if err := os.Chmod(os.Getenv("VTSCOPE_DIR"), 0o700); err != nil {
		t.Fatal(err)
	}
	files, _ := filepath.Glob(filepath.Join(os.Getenv("VTSCOPE_DIR"), "*.flight"))
	if len(files) != 1 {
		t.Fatalf("got flight files %q, want one", files)
	}
	for _, target := range []string{strconv.Itoa(child.Process.Pid), files[0]} {
		cmd := exec.Command(bin, target)
		cmd.Dir = "/"
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		var errs bytes.Buffer
		cmd.Stderr = &errs
		err := cmd.Run()
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.ExitCode() != exitFailed || !strings.Contains(errs.String(), "try: sudo vtdump ") || !strings.Contains(errs.String(), ", or as user 0, who runs it") {
			t.Errorf("%s: got %v and %q, want exit 1 and a next step", target, err, errs.String())
		}
	}
}

// A side car has the processes of a pod in its own namespace, a user of its own, and one capability.
func TestASideCarSeesProcessesOfOtherUsers(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("needs root, to become another user with a capability")
	}
	const sysPtrace, sideCar = 19, 65532
	child, _ := start(t, 10) // of root
	if err := os.Chmod(os.Getenv("VTSCOPE_DIR"), 0o700); err != nil {
		t.Fatal(err)
	}
	plain, err := strconv.Atoi(startPlain(t))
	if err != nil {
		t.Fatal(err)
	}
	bin := build(t)
	look := func(capabilities []uintptr, pid int) (string, error) {
		cmd := exec.Command(bin, strconv.Itoa(pid))
		cmd.Dir = "/"
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: sideCar, Gid: sideCar}, AmbientCaps: capabilities}
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	for what, pid := range map[string]int{"threads": child.Process.Pid, "goroutines": plain} {
		if out, err := look(nil, pid); err == nil || !strings.Contains(out, "permission denied") {
			t.Errorf("%s, without the capability: got %v and %s", what, err, out)
		}
		if out, err := look([]uintptr{sysPtrace}, pid); err != nil || !strings.Contains(out, " "+what+" in ") {
			t.Errorf("%s, with it: got %v and %s", what, err, out)
		}
	}
}

// build puts vtdump where other users can run it.
func build(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for at := dir; at != "/" && at != os.TempDir(); at = filepath.Dir(at) {
		if err := os.Chmod(at, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	bin := filepath.Join(dir, "vtdump")
	program, err := os.ReadFile(childtest.Build(t, "./cmd/vtdump"))
	if err == nil {
		err = os.WriteFile(bin, program, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	return bin
}

func TestBuiltCommandExitsAsDocumented(t *testing.T) {
	f := recorded(t)
	bin := build(t)
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer full.Close()
	for _, c := range []struct {
		args   []string
		stdout io.Writer
		code   int
		errors string
	}{
		{[]string{f.Path}, io.Discard, exitDone, ""},
		{[]string{strconv.Itoa(os.Getpid()), "--json"}, io.Discard, exitDone, ""},
		{[]string{"--nope"}, io.Discard, exitUsage, "vtdump: unknown flag --nope"},
		{[]string{"./nothing"}, io.Discard, exitFailed, "vtdump: "},
		{[]string{f.Path}, full, exitFailed, "no space left on device"},
		{[]string{"-h"}, full, exitFailed, "no space left on device"},
		{nil, full, exitFailed, "no space left on device"},
	} {
		cmd := exec.Command(bin, c.args...)
		var errs bytes.Buffer
		cmd.Stdout, cmd.Stderr = c.stdout, &errs
		_ = cmd.Run()
		if got := cmd.ProcessState.ExitCode(); got != c.code || !strings.Contains(errs.String(), c.errors) || c.errors == "" && errs.Len() > 0 {
			t.Errorf("%q: got exit %d and %q, want %d and %q", c.args, got, errs.String(), c.code, c.errors)
		}
	}

	// Whoever reads the output goes away.
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	read.Close()
	cmd := exec.Command(bin, f.Path)
	var errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = write, &errs
	_ = cmd.Run()
	write.Close()
	if got := cmd.ProcessState.ExitCode(); got != exitFailed || errs.Len() > 0 {
		t.Errorf("closed pipe: got exit %d and %q, want 1 and nothing", got, errs.String())
	}
}

// inEachState has see look at a child that runs, is stopped and was killed, and at a copy of its flight file.
func inEachState(t *testing.T, child *exec.Cmd, see func(target, status string)) {
	t.Helper()
	pid := strconv.Itoa(child.Process.Pid)
	see(pid, "no pause; complete\n")
	if err := child.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	eventually(t, "  stopped\n")
	see(pid, "process is stopped (SIGSTOP or a debugger); taken in ")
	files, err := filepath.Glob(filepath.Join(os.Getenv("VTSCOPE_DIR"), "*.flight"))
	if err != nil || len(files) != 1 {
		t.Fatalf("got flight files %q, %v; want one", files, err)
	}
	whole, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = child.Wait()
	see(pid, "process is gone (")
	copied := filepath.Join(t.TempDir(), "copied")
	if err := os.WriteFile(copied, whole, 0o600); err != nil {
		t.Fatal(err)
	}
	see(copied, "process is gone (")
}
