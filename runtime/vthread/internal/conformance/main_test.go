package conformance_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"runtime"
	"testing"

	"github.com/vtscope/vtscope/internal/leaktest"
)

// which names, in the environment of a child process, the program that it is.
const which = "VTSCOPE_CONFORMANCE_PROGRAM"

func TestMain(m *testing.M) {
	if name := os.Getenv(which); name != "" {
		go func() { // however the test dies, its child does not outlive it
			_, _ = io.Copy(io.Discard, os.Stdin)
			os.Exit(1)
		}()
		programs[name]()
		return
	}
	// Threads that nobody can start any more leave the file with the next collection, which with the heap of a million of threads may be far away.
	leaktest.Main(m, leaktest.Also("collection", func() []string { runtime.GC(); return nil }))
}

// programs are what the test binary does instead of testing when it is a child. Each is all that func main does.
var programs = map[string]func(){}

// runProgram runs a program in a process of its own, and returns what it printed on both streams and its exit code.
func runProgram(t *testing.T, name string) (printed string, code int) {
	t.Helper()
	if programs[name] == nil {
		t.Fatalf("there is no program %q", name)
	}
	dir, err := os.MkdirTemp("/dev/shm", "conformance-")
	if err != nil {
		dir = t.TempDir() // the recorder then keeps to private memory
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	child := exec.CommandContext(t.Context(), os.Args[0])
	child.Env = append(os.Environ(), which+"="+name, "VTSCOPE_DIR="+dir)
	var out bytes.Buffer
	child.Stdout, child.Stderr = &out, &out
	lifeline, err := child.StdinPipe() // closed when the child has ended
	if err != nil {
		t.Fatal(err)
	}
	defer lifeline.Close()
	err = child.Run()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		t.Fatalf("%s: %v", name, err)
	}
	return out.String(), child.ProcessState.ExitCode()
}
