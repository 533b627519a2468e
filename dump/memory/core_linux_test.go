package memory

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/vtscope/vtscope/internal/childtest"
	"github.com/vtscope/vtscope/runtime/flight"
)

// gcore has gdb write a core of a process, which goes on.
func gcore(t testing.TB, pid int) string {
	t.Helper()
	tool, err := exec.LookPath("gcore")
	if err != nil {
		t.Skipf("no gcore: %v", err)
	}
	prefix := filepath.Join(t.TempDir(), "core")
	if out, err := exec.Command(tool, "-o", prefix, strconv.Itoa(pid)).CombinedOutput(); err != nil {
		t.Skipf("gcore: %v\n%s", err, out)
	}
	return prefix + "." + strconv.Itoa(pid)
}

func openCore(t testing.TB, path, exe string) *Source {
	t.Helper()
	src, err := OpenCore(path, exe)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { src.Close() })
	return src
}

func TestACoreOfGdbHasExactStacks(t *testing.T) {
	for name, flags := range map[string][]string{"default": {}, "stripped pie": {"-buildmode=pie", "-ldflags=-s -w"}} {
		for _, env := range [][]string{nil, private} {
			t.Run(name+strings.Join(env, ""), func(t *testing.T) {
				pid := start(t, childtest.Build(t, "./fixtures/parade", flags...), env, "-running", "1")
				src := openCore(t, gcore(t, pid), "")
				c := checkAll(t, src, 20_000)
				if c.exact+c.marked < 19_950 || c.marked > 20 || c.running > 1 {
					t.Errorf("got %d exact stacks, %d marked, %d of a running thread; want nearly 20000, hardly any, 1", c.exact, c.marked, c.running)
				}
				if s := src.Process().Status; s != flight.StatusGone {
					t.Errorf("got status %v, want killed: it is of the past", s)
				}
			})
		}
	}
}

func TestACoreOfDelveHasExactStacks(t *testing.T) {
	dlv, err := exec.LookPath("dlv")
	if err != nil {
		t.Skipf("no Delve: %v", err)
	}
	pid := start(t, childtest.Build(t, "./fixtures/parade"), private)
	dir := t.TempDir()
	path := filepath.Join(dir, "core")
	commands := filepath.Join(dir, "commands")
	if err := os.WriteFile(commands, []byte("dump "+path+"\nexit\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c := exec.Command(dlv, "attach", strconv.Itoa(pid), "--allow-non-terminal-interactive=true", "--init", commands)
	c.Stdin = strings.NewReader("n\n")
	if out, err := c.CombinedOutput(); !IsCore(path) {
		t.Skipf("dlv: %v\n%s", err, out)
	}
	if c := checkAll(t, openCore(t, path, ""), 20_000); c.exact+c.marked < 19_990 || c.marked > 5 {
		t.Errorf("got %d exact stacks and %d marked, want nearly 20000 and hardly any", c.exact, c.marked)
	}
}

// kernelCore kills a process so that the kernel writes a core.
func kernelCore(t testing.TB, pid int) string {
	t.Helper()
	return coreWhen(t, pid, func() error { return syscall.Kill(pid, syscall.SIGABRT) })
}

// coreWhen returns the core that the kernel writes of a process that dies.
func coreWhen(t testing.TB, pid int, die func() error) string {
	t.Helper()
	pattern, err := os.ReadFile("/proc/sys/kernel/core_pattern")
	if err != nil || strings.ContainsAny(string(pattern), "|/%") {
		t.Skipf("the kernel does not write cores where they are found: pattern %q, %v", pattern, err)
	}
	const resourceCore = 4
	limit := syscall.Rlimit{Cur: ^uint64(0), Max: ^uint64(0)}
	if _, _, errno := syscall.Syscall6(syscall.SYS_PRLIMIT64, uintptr(pid), resourceCore, uintptr(unsafe.Pointer(&limit)), 0, 0, 0); errno != 0 {
		t.Skipf("no limit of core files: %v", errno)
	}
	dir, err := os.Readlink("/proc/" + strconv.Itoa(pid) + "/cwd")
	if err != nil {
		t.Fatal(err)
	}
	if err := die(); err != nil {
		t.Fatal(err)
	}
	name := strings.TrimSpace(string(pattern))
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if _, ok := startOf(pid); ok {
			continue
		}
		for _, path := range []string{filepath.Join(dir, name), filepath.Join(dir, name+"."+strconv.Itoa(pid))} {
			if IsCore(path) {
				return path
			}
		}
		t.Skip("the kernel has written no core")
	}
	t.Fatal("it did not end within a minute")
	return ""
}

func TestACoreOfTheKernelHasExactStacks(t *testing.T) {
	for name, filter := range map[string]string{"whole": "", "without shared memory": "0x31"} {
		t.Run(name, func(t *testing.T) {
			dir, err := os.MkdirTemp("/dev/shm", "vtscope-test-")
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { os.RemoveAll(dir) })
			pid := start(t, childtest.Build(t, "./fixtures/parade"), []string{"GOTRACEBACK=crash", "VTSCOPE_DIR=" + dir}, "-threads", "2000")
			if filter != "" {
				if err := os.WriteFile("/proc/"+strconv.Itoa(pid)+"/coredump_filter", []byte(filter), 0); err != nil {
					t.Fatal(err)
				}
			}
			path := kernelCore(t, pid)
			src := openCore(t, path, "")
			if c := checkAll(t, src, 2_000); c.exact+c.marked < 1_990 || c.marked > 5 {
				t.Errorf("got %d exact stacks and %d marked, want nearly 2000 and hardly any", c.exact, c.marked)
			}
			if filter == "" {
				return
			}
			if !strings.HasPrefix(src.Process().Path, dir) {
				t.Errorf("got records of %s, want those of the flight file", src.Process().Path)
			}
			// Without the file there is nothing.
			if err := os.RemoveAll(dir); err != nil {
				t.Fatal(err)
			}
			if _, err := OpenCore(path, ""); !errors.Is(err, flight.ErrFormat) || !strings.Contains(err.Error(), "flight file") {
				t.Errorf("got error %v, want one that says what is missing", err)
			}
		})
	}
}

func TestACoreWithoutItsProgramHasRecordedStacks(t *testing.T) {
	pid := start(t, childtest.Build(t, "./fixtures/parade"), private, "-drivers", "0", "-threads", "400")
	path := gcore(t, pid)
	missing := filepath.Join(t.TempDir(), "gone")
	src := openCore(t, path, missing)
	c, err := look(t, src)
	if c.threads["row-0"] != 10 {
		t.Errorf("got %d threads, want 10", c.threads["row-0"])
	}
	if src.walker == nil && (err == nil || !strings.Contains(err.Error(), missing)) {
		t.Errorf("got error %v, want one that names the program", err)
	}
	other := openCore(t, path, childtest.Build(t, "./fixtures/storm"))
	if _, err := look(t, other); other.walker == nil && (err == nil || !strings.Contains(err.Error(), "another build")) {
		t.Errorf("got error %v, want one that says that it is another build", err)
	}
}

func BenchmarkCore(b *testing.B) {
	path := os.Getenv("VTSCOPE_CORE")
	if path == "" {
		b.Skip("VTSCOPE_CORE names no core to look at")
	}
	for b.Loop() {
		src, err := OpenCore(path, "")
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(len(rowsOf(b, src))), "threads")
		src.Close()
	}
}
