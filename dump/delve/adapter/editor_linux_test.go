package adapter_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-dap"
)

// patience is how long a test waits for what must happen.
const patience = 2 * time.Minute

// tools is a folder for what tests build.
var tools string

func TestMain(m *testing.M) {
	os.Exit(func() int {
		var err error
		if tools, err = os.MkdirTemp("", "vtdelve-adapter-"); err != nil {
			panic(err)
		}
		defer os.RemoveAll(tools)
		return m.Run()
	}())
}

// built builds a program once.
var built = struct {
	sync.Mutex
	done map[string]string
}{done: map[string]string{}}

func build(t *testing.T, dir, pkg string, flags ...string) string {
	t.Helper()
	built.Lock()
	defer built.Unlock()
	if exe := built.done[pkg]; exe != "" {
		return exe
	}
	exe := filepath.Join(tools, fmt.Sprint(len(built.done))+filepath.Base(pkg))
	cmd := exec.Command("go", append(append([]string{"build"}, flags...), "-o", exe, pkg)...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build %s: %v\n%s", pkg, err, out)
	}
	built.done[pkg] = exe
	return exe
}

func vtdelve(t *testing.T) string { return build(t, "..", "./cmd/vtdelve") }

// stepping builds a program as debuggers do.
func stepping(t *testing.T) string {
	return build(t, "..", "./testdata/stepping", "-gcflags=all=-N -l")
}

// A message is one from the adapter, read as far as tests need it.
type message struct {
	Type       string          `json:"type"`
	Event      string          `json:"event"`
	Command    string          `json:"command"`
	RequestSeq int             `json:"request_seq"`
	Success    bool            `json:"success"`
	Message    string          `json:"message"`
	Body       json.RawMessage `json:"body"`
}

// An editor talks to vtdump dap as editors do.
type editor struct {
	t      *testing.T
	cmd    *exec.Cmd
	to     io.WriteCloser
	come   chan message
	events []message // that nobody has waited for
	output strings.Builder
	errs   bytes.Buffer
	seq    int
	ended  chan struct{}
}

// edit starts the adapter for an editor, over its input and output. When the test ends, both end.
func edit(t *testing.T, args ...string) *editor {
	t.Helper()
	t.Setenv("VTSCOPE_DIR", t.TempDir()) // what it starts is killed
	e := &editor{t: t, come: make(chan message, 1000), ended: make(chan struct{})}
	e.cmd = exec.Command(vtdelve(t), append([]string{"dap"}, args...)...)
	e.cmd.Stderr = &e.errs
	var err error
	if e.to, err = e.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	from, err := e.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := e.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(e.ended)
		defer close(e.come)
		r := bufio.NewReader(from)
		for {
			b, err := dap.ReadBaseMessage(r)
			if err != nil {
				_ = e.cmd.Wait()
				return
			}
			var m message
			if err := json.Unmarshal(b, &m); err != nil {
				t.Errorf("got %q: %v", b, err)
			}
			e.come <- m
		}
	}()
	t.Cleanup(func() {
		e.to.Close()
		for end := time.After(patience); ; {
			select {
			case <-e.come:
				continue
			case <-e.ended:
			case <-end:
				t.Errorf("the adapter does not end")
				_ = e.cmd.Process.Kill()
				<-e.ended
			}
			break
		}
		if t.Failed() {
			t.Logf("adapter: %s", e.errs.String())
		}
	})
	e.ask("initialize", map[string]any{"adapterID": "go", "pathFormat": "path", "linesStartAt1": true, "columnsStartAt1": true, "supportsInvalidatedEvent": true})
	return e
}

// next returns the next message, and notes what the console shows.
func (e *editor) next() message {
	e.t.Helper()
	select {
	case m, ok := <-e.come:
		if !ok {
			e.t.Fatalf("the adapter has ended: %s", e.errs.String())
		}
		if m.Event == "output" {
			e.output.WriteString(read[dap.OutputEventBody](e.t, m).Output)
		}
		return m
	case <-time.After(patience):
		e.t.Fatal("nothing comes")
		panic("unreachable")
	}
}

// send sends a request, and returns its number.
func (e *editor) send(command string, arguments any) int {
	e.t.Helper()
	e.seq++
	b, err := json.Marshal(map[string]any{"seq": e.seq, "type": "request", "command": command, "arguments": arguments})
	if err == nil {
		err = dap.WriteBaseMessage(e.to, b)
	}
	if err != nil {
		e.t.Fatalf("%s: %v", command, err)
	}
	return e.seq
}

// answer waits for the response to a request.
func (e *editor) answer(seq int) message {
	e.t.Helper()
	for {
		m := e.next()
		if m.Type == "response" && m.RequestSeq == seq {
			return m
		}
		if m.Type == "event" {
			e.events = append(e.events, m)
		}
	}
}

// ask sends a request, and returns the body of the response, which must be of success.
func (e *editor) ask(command string, arguments any) message {
	e.t.Helper()
	m := e.answer(e.send(command, arguments))
	if !m.Success {
		e.t.Fatalf("%s %+v: got %s %s", command, arguments, m.Message, m.Body)
	}
	return m
}

// event waits for an event.
func (e *editor) event(name string) message {
	e.t.Helper()
	for i, m := range e.events {
		if m.Event == name {
			e.events = append(e.events[:i], e.events[i+1:]...)
			return m
		}
	}
	for {
		if m := e.next(); m.Event == name {
			return m
		} else if m.Event == "terminated" || m.Event == "exited" {
			e.t.Fatalf("the program has ended while the test waits for %s; console: %s", name, e.output.String())
		} else if m.Type == "event" {
			e.events = append(e.events, m)
		}
	}
}

// read reads a body.
func read[T any](t *testing.T, m message) (v T) {
	t.Helper()
	if err := json.Unmarshal(m.Body, &v); err != nil {
		t.Fatalf("%s%s: %v in %s", m.Command, m.Event, err, m.Body)
	}
	return v
}

// stop waits until the program stops.
func (e *editor) stop() dap.StoppedEventBody {
	e.t.Helper()
	return read[dap.StoppedEventBody](e.t, e.event("stopped"))
}

// threads returns the list of threads, once all are counted.
func (e *editor) threads() []dap.Thread {
	e.t.Helper()
	for {
		all := read[dap.ThreadsResponseBody](e.t, e.ask("threads", nil)).Threads
		if all[len(all)-1].Id != -2 {
			return all
		}
		e.event("invalidated")
	}
}

func (e *editor) stack(thread int) []dap.StackFrame {
	e.t.Helper()
	return read[dap.StackTraceResponseBody](e.t, e.ask("stackTrace", map[string]any{"threadId": thread, "levels": 20})).StackFrames
}

// vtscope returns what the scope vtscope of a frame has.
func (e *editor) vtscope(frame int) []dap.Variable {
	e.t.Helper()
	scopes := read[dap.ScopesResponseBody](e.t, e.ask("scopes", map[string]any{"frameId": frame})).Scopes
	last := scopes[len(scopes)-1]
	if last.Name != "vtscope" {
		e.t.Fatalf("got scopes %+v, want the last to be of vtscope", scopes)
	}
	return e.variables(last.VariablesReference)
}

func (e *editor) variables(reference int) []dap.Variable {
	e.t.Helper()
	return read[dap.VariablesResponseBody](e.t, e.ask("variables", map[string]any{"variablesReference": reference})).Variables
}

// console evaluates an expression as the debug console does.
func (e *editor) console(expression string) string {
	e.t.Helper()
	return read[dap.EvaluateResponseBody](e.t, e.ask("evaluate", map[string]any{"expression": expression, "context": "repl"})).Result
}

// launch starts a program with breakpoints at lines of its file, and lets it run.
func (e *editor) launch(program, file string, breakpoints ...map[string]any) {
	e.t.Helper()
	e.ask("launch", map[string]any{"mode": "exec", "program": program})
	if breakpoints == nil {
		breakpoints = []map[string]any{}
	}
	set := read[dap.SetBreakpointsResponseBody](e.t, e.ask("setBreakpoints", map[string]any{"source": map[string]any{"path": file}, "breakpoints": breakpoints})).Breakpoints
	for i, b := range set {
		if !b.Verified {
			e.t.Fatalf("breakpoint %+v: %s", breakpoints[i], b.Message)
		}
	}
	e.ask("configurationDone", nil)
}

func mainFile(t *testing.T) string {
	t.Helper()
	path, err := filepath.Abs("../testdata/stepping/main.go")
	if err != nil {
		t.Fatal(err)
	}
	return path
}
