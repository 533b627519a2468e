package jdk_test

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/vtscope/vtscope/dump/jdk"
)

// javas finds the JDKs on the PATH and where distributions put them, by version.
func javas() map[int]string {
	homes, _ := filepath.Glob("/usr/lib/jvm/*")
	if p, err := exec.LookPath("java"); err == nil {
		if p, err = filepath.EvalSymlinks(p); err == nil {
			homes = append(homes, filepath.Dir(filepath.Dir(p)))
		}
	}
	all := map[int]string{}
	for _, home := range homes {
		release, err := os.ReadFile(filepath.Join(home, "release"))
		if m := regexp.MustCompile(`JAVA_VERSION="(\d+)`).FindSubmatch(release); err == nil && m != nil {
			version, _ := strconv.Atoi(string(m[1]))
			all[version] = home
		}
	}
	return all
}

// waits starts testdata/Waits.java, and returns its pid when its threads wait.
func waits(t *testing.T, home string) int {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), filepath.Join(home, "bin", "java"), "testdata/Waits.java")
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		stdin.Close()
		cmd.Wait()
	})
	if line, err := bufio.NewReader(stdout).ReadString('\n'); line != "ready\n" {
		t.Fatalf("got %q, %v; want ready", line, err)
	}
	return cmd.Process.Pid
}

func TestDumpsOfInstalledJDKsAreRead(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a JVM some times")
	}
	looked, dir := 0, t.TempDir() // the name of one of a subtest has a "=", which jcmd does not take
	for version, home := range javas() {
		if version < 24 { // before, threads have no states and virtual threads pin where they block
			continue
		}
		looked++
		t.Run(fmt.Sprintf("jdk=%d", version), func(t *testing.T) {
			pid := waits(t, home)
			for format, is := range map[string]struct{ executor, spins string }{"json": {"ThreadPerTaskExecutor", "mounted"}, "plain": {"root", "runnable"}} {
				file := filepath.Join(dir, strconv.Itoa(version)+"."+format)
				out, err := exec.CommandContext(t.Context(), filepath.Join(home, "bin", "jcmd"), strconv.Itoa(pid), "Thread.dump_to_file", "-format="+format, file).CombinedOutput()
				if err != nil || !strings.Contains(string(out), "Created") {
					t.Fatalf("%v: %s", err, out)
				}
				doc, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				r := read(t, doc)
				checkJava(t, r, is.executor, is.spins)
				if r.Process().PID != pid {
					t.Errorf("got pid %d, want %d", r.Process().PID, pid)
				}
			}
			out, err := exec.CommandContext(t.Context(), filepath.Join(home, "bin", "jcmd"), strconv.Itoa(pid), "Thread.print").Output()
			if _, read := jdk.Read(bytes.NewReader(out)); err != nil || !errors.Is(read, jdk.ErrPrinted) {
				t.Errorf("Thread.print: %v; got %v, want %v", err, read, jdk.ErrPrinted)
			}
		})
	}
	if looked == 0 {
		t.Skip("no JDK 24 or newer, on the PATH or below /usr/lib/jvm")
	}
}
