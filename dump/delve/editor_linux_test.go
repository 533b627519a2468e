package delve

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-dap"
)

// An editor talks to dlv as editors do.
type editor struct {
	t    *testing.T
	conn net.Conn
	in   *bufio.Reader
	seq  int
}

// edit starts dlv for an editor. When the test ends, it ends.
func edit(t *testing.T) *editor {
	t.Helper()
	exe, err := dlv()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("VTSCOPE_DIR", t.TempDir()) // what it starts is killed
	socket := filepath.Join(t.TempDir(), "dap")
	ctx, cancel := context.WithTimeout(context.Background(), 2*patience)
	cmd := exec.CommandContext(ctx, exe, "dap", "--listen=unix:"+socket)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		cancel()
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { _ = cmd.Wait(); close(ended) }()
	t.Cleanup(func() {
		defer cancel()
		select {
		case <-ended:
		case <-time.After(patience):
			t.Errorf("dlv does not end")
			cancel()
			<-ended
		}
		if t.Failed() {
			t.Logf("dlv: %s", out.Bytes())
		}
	})
	e := &editor{t: t}
	for end := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		if e.conn, err = net.Dial("unix", socket); err == nil {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("dlv does not listen: %v", err)
		}
	}
	_ = e.conn.SetDeadline(time.Now().Add(patience))
	e.in = bufio.NewReader(e.conn)
	t.Cleanup(func() {
		e.send("disconnect", map[string]any{"terminateDebuggee": true})
		wait[*dap.DisconnectResponse](e)
		e.conn.Close()
	})
	return e
}

func (e *editor) send(command string, arguments any) {
	e.t.Helper()
	e.seq++
	message := map[string]any{"seq": e.seq, "type": "request", "command": command, "arguments": arguments}
	text, err := json.Marshal(message)
	if err == nil {
		err = dap.WriteBaseMessage(e.conn, text)
	}
	if err != nil {
		e.t.Fatalf("%s: %v", command, err)
	}
}

// wait reads until there is a message of a kind.
func wait[M dap.Message](e *editor) M {
	e.t.Helper()
	for {
		m, err := dap.ReadProtocolMessage(e.in)
		if err != nil {
			e.t.Fatal(err)
		}
		switch m := m.(type) {
		case M:
			return m
		case *dap.ErrorResponse:
			e.t.Fatalf("got error %+v", m.Body.Error)
		}
	}
}

func TestAnEditorShowsThreadsByNameAndScope(t *testing.T) {
	line := lineOf(t, "locks", "lock.Lock")
	e := edit(t)
	e.send("initialize", map[string]any{"adapterID": "go", "pathFormat": "path", "linesStartAt1": true})
	wait[*dap.InitializeResponse](e)
	e.send("launch", map[string]any{
		"mode": "exec", "program": stepping(t),
		"showPprofLabels": []string{"vtscope.thread", "vtscope.scope"}, "goroutineFilters": "-with label vtscope.thread",
	})
	wait[*dap.InitializedEvent](e)
	e.send("setBreakpoints", map[string]any{"source": map[string]any{"path": mainFile(t)}, "breakpoints": []any{map[string]any{"line": line}}})
	if got := wait[*dap.SetBreakpointsResponse](e).Body.Breakpoints; len(got) != 1 || !got[0].Verified {
		t.Fatalf("got breakpoints %+v", got)
	}
	e.send("configurationDone", nil)
	stopped := wait[*dap.StoppedEvent](e)

	e.send("threads", nil)
	threads := wait[*dap.ThreadsResponse](e).Body.Threads
	// The thread of main is in the root scope, which has no label.
	named := regexp.MustCompile(`^\*? ?\[Go \d+ vtscope\.thread:(main|\w+ vtscope\.scope:steps)\] `)
	for _, th := range threads {
		if !named.MatchString(th.Name) {
			t.Errorf("got thread %q, want only those of vtscope, with their names and scopes", th.Name)
		}
	}
	at := slices.IndexFunc(threads, func(th dap.Thread) bool { return th.Id == stopped.Body.ThreadId })
	if at < 0 || !strings.Contains(threads[at].Name, "vtscope.thread:locks") {
		t.Fatalf("stopped in thread %d, which is not one of locks in %+v", stopped.Body.ThreadId, threads)
	}
	e.send("setBreakpoints", map[string]any{"source": map[string]any{"path": mainFile(t)}, "breakpoints": []any{}})
	wait[*dap.SetBreakpointsResponse](e)
	e.send("next", map[string]any{"threadId": stopped.Body.ThreadId})
	if now := wait[*dap.StoppedEvent](e); now.Body.ThreadId != stopped.Body.ThreadId || now.Body.Reason != "step" {
		t.Errorf("stepped from thread %d to %+v", stopped.Body.ThreadId, now.Body)
	}
	e.send("stackTrace", map[string]any{"threadId": stopped.Body.ThreadId, "levels": 1})
	frames := wait[*dap.StackTraceResponse](e).Body.StackFrames
	if len(frames) == 0 || frames[0].Name != "main.locks" || frames[0].Line != line+1 {
		t.Errorf("got %s, want main.locks at line %d", fmt.Sprintf("%+v", frames), line+1)
	}
}
