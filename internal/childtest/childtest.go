package childtest

import (
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"sync"
	"testing"
	"time"

	"github.com/vtscope/vtscope/runtime/flight"
)

// patience bounds every wait, on a busy machine too.
const patience = 3 * time.Minute

// A Child is a running program.
type Child struct {
	t       testing.TB
	command *exec.Cmd
	dir     string // of its flight file
	stdin   io.WriteCloser
	ended   chan struct{} // closed when it was waited for

	mu struct {
		sync.Mutex
		output  []byte        // both streams
		changed chan struct{} // closed at the next change
	}
}

// Start builds the package, as [Build] does, and runs it with the arguments. Tests are
// skipped on systems without flight files.
func Start(t testing.TB, pkg string, args ...string) *Child {
	t.Helper()
	return StartWith(t, nil, pkg, args...)
}

// StartWith is [Start] with further variables of the environment, NAME=VALUE, which win over those that there are.
func StartWith(t testing.TB, env []string, pkg string, args ...string) *Child {
	t.Helper()
	if _, err := os.Stat("/dev/shm"); err != nil {
		t.Skipf("this system has no flight files: %v", err)
	}
	c := &Child{t: t, ended: make(chan struct{})}
	c.mu.changed = make(chan struct{})
	var err error
	if c.dir, err = os.MkdirTemp("/dev/shm", "childtest-"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(c.dir) })
	c.command = exec.Command(Build(t, pkg), args...)
	c.command.Env = append(append(os.Environ(), "VTSCOPE_DIR="+c.dir), env...)
	c.command.Stdout, c.command.Stderr = c, c
	if c.stdin, err = c.command.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := c.command.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(c.ended)
		c.command.Wait() // how it ended is in ProcessState
	}()
	t.Cleanup(func() {
		c.command.Process.Kill()
		<-c.ended
		if t.Failed() {
			t.Logf("%s printed:\n%s", pkg, c.Output())
		}
	})
	return c
}

// Write takes the child's output. It is not for tests.
func (c *Child) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mu.output = append(c.mu.output, p...)
	close(c.mu.changed)
	c.mu.changed = make(chan struct{})
	return len(p), nil
}

// Output returns what the child has printed so far.
func (c *Child) Output() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return string(c.mu.output)
}

// PID returns the child's process id.
func (c *Child) PID() int { return c.command.Process.Pid }

// WaitFor waits until the output matches, and returns the match and its groups.
func (c *Child) WaitFor(pattern *regexp.Regexp) []string {
	c.t.Helper()
	deadline := time.After(patience)
	for {
		c.mu.Lock()
		changed, found := c.mu.changed, pattern.FindSubmatch(c.mu.output)
		c.mu.Unlock()
		if found != nil {
			groups := make([]string, len(found))
			for i := range found {
				groups[i] = string(found[i])
			}
			return groups
		}
		select {
		case <-changed:
		case <-c.ended:
			select {
			case <-changed: // the last words came with the end
			default:
				c.t.Fatalf("it ended without printing %v", pattern)
			}
		case <-deadline:
			c.t.Fatalf("it did not print %v within %v", pattern, patience)
		}
	}
}

// Signal sends the child a signal.
func (c *Child) Signal(s os.Signal) {
	c.t.Helper()
	if err := c.command.Process.Signal(s); err != nil {
		c.t.Fatal(err)
	}
}

// WriteLine writes an empty line to the child's standard input.
func (c *Child) WriteLine() {
	c.t.Helper()
	if _, err := io.WriteString(c.stdin, "\n"); err != nil {
		c.t.Fatal(err)
	}
}

// CloseStdin ends the child's standard input.
func (c *Child) CloseStdin() { c.stdin.Close() }

// WantExit waits for the child's end and checks its exit code, and that it left no flight file.
func (c *Child) WantExit(code int) {
	c.t.Helper()
	select {
	case <-c.ended:
	case <-time.After(patience):
		c.t.Fatalf("it still runs after %v", patience)
	}
	if got := c.command.ProcessState.ExitCode(); got != code {
		c.t.Errorf("got exit code %d (%v), want %d", got, c.command.ProcessState, code)
	}
	if left := c.flightFiles(); len(left) > 0 {
		c.t.Errorf("it left %v", left)
	}
}

// Flight opens the child's flight file. It is closed when the test ends.
func (c *Child) Flight() *flight.Reader {
	c.t.Helper()
	files := c.flightFiles()
	if len(files) != 1 {
		c.t.Fatalf("got flight files %v, want one", files)
	}
	r, err := flight.Open(files[0])
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() { r.Close() })
	return r
}

func (c *Child) flightFiles() []string {
	files, err := filepath.Glob(filepath.Join(c.dir, "*.flight"))
	if err != nil {
		c.t.Fatal(err)
	}
	return files
}

// Threads returns all threads of a flight file.
func Threads(t testing.TB, r *flight.Reader) (all []flight.ThreadRow) {
	t.Helper()
	if _, err := r.Threads(context.Background(), func(rows []flight.ThreadRow) { all = append(all, rows...) }); err != nil {
		t.Fatal(err)
	}
	return all
}

// AwaitNames waits until the process, which must run, has named the functions of all stacks of its threads and locks of now: it does so a moment after it has noted a stack.
func AwaitNames(t testing.TB, r *flight.Reader) {
	t.Helper()
	stacks := map[flight.StackID]bool{}
	for _, row := range Threads(t, r) {
		stacks[row.Stack] = true
	}
	locks, err := r.Blockers()
	if err != nil {
		t.Fatal(err)
	}
	for i := range locks {
		stacks[locks[i].Made] = true
	}
	delete(stacks, 0)
	for id := range stacks {
		named(t, r, id)
	}
}

// named returns a stack when all of its functions have names.
func named(t testing.TB, r *flight.Reader, id flight.StackID) flight.Stack {
	t.Helper()
	stack, err := r.Stack(id)
	for deadline := time.Now().Add(patience); err == nil && stack.Unsymbolised > 0; stack, err = r.Stack(id) {
		if time.Now().After(deadline) {
			t.Fatalf("%d of %d frames have no name after %v", stack.Unsymbolised, len(stack.Frames), patience)
		}
		time.Sleep(time.Millisecond)
	}
	if err != nil {
		t.Fatal(err)
	}
	return stack
}

// Functions returns the names of a thread's functions, the innermost first; none for a thread without a
// stack. The process writes them a moment after the stack: it waits for them.
func Functions(t testing.TB, r *flight.Reader, row flight.ThreadRow) (names []string) {
	t.Helper()
	if row.Stack == 0 {
		return nil
	}
	for _, f := range named(t, r, row.Stack).Frames {
		names = append(names, f.Func)
	}
	return names
}
