package delve

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/vtscope/vtscope/dump/locals"
	"github.com/vtscope/vtscope/runtime/flight"
)

// commands builds vtdump and vtdelve in one folder, and returns it.
func commands(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for module, pkg := range map[string]string{"../..": "./cmd/vtdump", ".": "./cmd/vtdelve"} {
		if out, err := exec.Command("go", "build", "-C", module, "-o", dir+"/", pkg).CombinedOutput(); err != nil {
			t.Fatalf("build %s: %v\n%s", pkg, err, out)
		}
	}
	return dir
}

func TestVtdumpShowsTheVariablesOfAThread(t *testing.T) {
	c := start(t, fixture(t))
	dir := commands(t)
	vtdump := func(args ...string) (string, error) {
		cmd := exec.Command(filepath.Join(dir, "vtdump"), args...)
		cmd.Env = append(os.Environ(), "PATH=/nothing")
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	pid, thread := fmt.Sprint(c.pid), fmt.Sprint(c.row("values").ID)
	out, err := vtdump(pid, "--thread", thread, "--locals")
	for _, want := range []string{`"values"`, "main.values  main.go:", "\n      number int = 42\n", "list []string: in part optimised away here"} {
		if err != nil || !strings.Contains(out, want) {
			t.Errorf("got %v, want %q in\n%s", err, want, out)
		}
	}
	out, err = vtdump(pid, "--thread", thread, "--locals", "--json")
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	a, err := locals.Read(strings.NewReader(out))
	if err != nil || fmt.Sprint(a.Thread) != thread || values(frame(t, a, "main.values"))["number"] != "int = 42" {
		t.Errorf("got %+v, %v", a, err)
	}

	c.until("spinning runs", func() bool { return c.row("spinning").State == flight.StateMounted })
	out, err = vtdump(pid, "--thread", fmt.Sprint(c.row("spinning").ID), "--locals")
	if err == nil || !strings.Contains(out, "it runs") || !strings.Contains(out, "try: without --locals") {
		t.Errorf("of a thread that runs: got %v and\n%s", err, out)
	}
	if err := os.Remove(filepath.Join(dir, locals.Command)); err != nil {
		t.Fatal(err)
	}
	out, err = vtdump(pid, "--thread", thread, "--locals")
	if err == nil || !strings.Contains(out, "try: "+locals.Build) {
		t.Errorf("without vtdelve: got %v and\n%s", err, out)
	}
	if out, err = vtdump(pid, "--thread", thread); err != nil {
		t.Errorf("without vtdelve and --locals: got %v and\n%s", err, out)
	}
}

func TestVtdumpShowsTheVariablesOfAThreadInACore(t *testing.T) {
	c := start(t, fixture(t))
	vtdump, thread := filepath.Join(commands(t), "vtdump"), fmt.Sprint(c.row("values").ID)
	show := func(args ...string) {
		t.Helper()
		out, err := exec.Command(vtdump, append(args, "--thread", thread, "--locals")...).CombinedOutput()
		if err != nil || !strings.Contains(string(out), "\n      number int = 42\n") {
			t.Errorf("%q: got %v and\n%s", args, err, out)
		}
	}
	show(coreOf(t, c.pid), "--exe", c.command.Path) // cores of Delve do not say which program it was
	gcore, err := exec.LookPath("gcore")
	if err != nil {
		t.Skipf("the rest needs gdb's gcore: %v", err)
	}
	prefix := filepath.Join(t.TempDir(), "core")
	if out, err := exec.Command(gcore, "-o", prefix, fmt.Sprint(c.pid)).CombinedOutput(); err != nil {
		t.Skipf("gcore: %v\n%s", err, out)
	}
	show(fmt.Sprintf("%s.%d", prefix, c.pid))
}

func TestAnotherUsersProcessIsNotRead(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can become another user")
	}
	const nobody = 65534
	c := start(t, fixture(t))
	dir := commands(t)
	for at := dir; at != "/" && at != os.TempDir(); at = filepath.Dir(at) {
		if err := os.Chmod(at, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	q := c.ask("values")
	cmd := exec.Command(filepath.Join(dir, locals.Command), fmt.Sprintf("--pid=%d", q.PID), fmt.Sprintf("--g=%d", q.G))
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	out, err := cmd.Output()
	if err == nil {
		t.Fatalf("got exit 0 and %s", out)
	}
	_, err = locals.Read(strings.NewReader(string(out)))
	var p *locals.Problem
	if !errors.Is(err, locals.ErrDenied) || !errors.As(err, &p) || !strings.Contains(p.Try, "uid 0") || !strings.Contains(p.Text, "permission denied") {
		t.Errorf("got %v, %+v; want %v, and who may", err, p, locals.ErrDenied)
	}
}
