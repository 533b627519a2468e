package delve

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/go-delve/delve/pkg/proc"
	"github.com/go-delve/delve/pkg/proc/native"

	"github.com/vtscope/vtscope/dump/locals"
	"github.com/vtscope/vtscope/runtime/flight"
)

// patience bounds every wait; on a busy machine building takes the most of it.
const patience = 5 * time.Minute

// fixture builds testdata/waiting, once for each set of flags.
func fixture(t *testing.T, flags ...string) string {
	t.Helper()
	exe := filepath.Join(tools, fmt.Sprintf("waiting-%x", strings.Join(flags, " ")))
	if _, err := os.Stat(exe); err == nil {
		return exe
	}
	build := exec.Command("go", slices.Concat([]string{"build", "-o", exe}, flags, []string{"./testdata/waiting"})...)
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", build, err, out)
	}
	return exe
}

// A child is testdata/waiting, all of whose threads are where they wait.
type child struct {
	t       *testing.T
	command *exec.Cmd
	pid     int
	flight  *flight.Reader
}

func start(t *testing.T, exe string, configure ...func(*exec.Cmd)) *child {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "vtdelve-test-")
	if err != nil {
		t.Skipf("this system has no flight files: %v", err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	t.Setenv("VTSCOPE_DIR", dir)
	c := &child{t: t, command: exec.Command(exe)}
	c.command.Stderr = os.Stderr
	stdin, err := c.command.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := c.command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range configure {
		f(c.command)
	}
	if err := c.command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		stdin.Close()
		_ = c.command.Process.Kill()
		_ = c.command.Wait()
	})
	if _, err := io.ReadFull(stdout, make([]byte, len("ready\n"))); err != nil {
		t.Fatalf("the program did not get ready: %v", err)
	}
	c.pid = c.command.Process.Pid
	if c.flight, err = flight.OpenPID(c.pid); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.flight.Close() })
	for _, name := range []string{"values", "outer", "closed", "locked"} {
		c.until(name+" waits", func() bool {
			row := c.row(name)
			return row.State == flight.StateParked || row.State == flight.StateBlocked
		})
	}
	return c
}

func (c *child) until(what string, holds func() bool) {
	c.t.Helper()
	for end := time.Now().Add(patience); !holds(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			c.t.Fatalf("not within %v: %s", patience, what)
		}
	}
}

// row returns the row of the thread with a name.
func (c *child) row(name string) (found flight.ThreadRow) {
	if _, err := c.flight.Threads(context.Background(), func(rows []flight.ThreadRow) {
		for _, row := range rows {
			if c.flight.ThreadName(row) == name {
				found = row
			}
		}
	}); err != nil {
		c.t.Fatal(err)
	}
	return found
}

// ask is the question for the thread with a name.
func (c *child) ask(name string) locals.Question {
	c.t.Helper()
	var g uint64
	c.until(name+" has a goroutine", func() bool { // it has none before it has begun
		detail, err := c.flight.ThreadDetail(c.row(name).Index)
		if err != nil {
			c.t.Fatalf("thread %q: %v", name, err)
		}
		g = detail.G
		return g != 0
	})
	return question(c.t, locals.Question{PID: c.pid, G: g})
}

// question fills in the limits, as vtdelve does.
func question(t *testing.T, q locals.Question) locals.Question {
	t.Helper()
	args := []string{fmt.Sprintf("--g=%d", q.G)}
	if q.PID != 0 {
		args = append(args, fmt.Sprintf("--pid=%d", q.PID))
	} else {
		args = append(args, "--core="+q.Core, "--exe="+q.Exe)
	}
	q, err := locals.Parse(args)
	if err != nil {
		t.Fatal(err)
	}
	return q
}

// frame returns the frame of a function of the fixture.
func frame(t *testing.T, a *locals.Answer, function string) *locals.Frame {
	t.Helper()
	for i := range a.Frames {
		if a.Frames[i].Function == function {
			return &a.Frames[i]
		}
	}
	t.Fatalf("no frame of %s in\n%s", function, pretty(a))
	return nil
}

func pretty(a *locals.Answer) []byte {
	text, _ := json.MarshalIndent(a, "", "  ")
	return text
}

// values are the variables of a frame, as "name type = value".
func values(f *locals.Frame) map[string]string {
	all := map[string]string{}
	for _, v := range slices.Concat(f.Arguments, f.Locals) {
		if _, twice := all[v.Name]; twice {
			all[v.Name+" again"] = ""
		}
		all[v.Name] = v.Type + " = " + v.Value
		if v.Missing != "" {
			all[v.Name] = v.Type + ": " + v.Missing
		}
	}
	return all
}

// builds are the ways in which the fixture is built, with what of its variables the compiler drops.
var builds = []struct {
	name      string
	flags     []string
	optimized bool
}{
	{"default", nil, true},
	{"unoptimized", []string{"-gcflags=all=-N -l"}, false},
	{"trimmed PIE", []string{"-trimpath", "-buildmode=pie"}, true},
}

func TestVariablesOfAThreadThatWaitsAreTheOnesItHas(t *testing.T) {
	for _, b := range builds {
		t.Run(b.name, func(t *testing.T) {
			c := start(t, fixture(t, b.flags...))
			either := func(dropped, kept string) string {
				if b.optimized {
					return dropped
				}
				return kept
			}
			for _, want := range []struct {
				thread, function string
				inlined          bool
				variables        map[string]string
			}{
				{"values", "main.values", false, map[string]string{
					"number": "int = 42", "text": `string = "hello"`,
					"at":    `main.point = main.point {X: 1, Y: 2, Name: "here", Next: *main.point nil}`,
					"table": `map[string]int = map[string]int ["a": 1, ]`,
					"list":  either("[]string: in part optimised away here", `[]string = []string len: 3, cap: 3, ["one","two","three"]`),
					"lost":  either("", "int = 126"),
				}},
				{"outer", "main.middle", b.optimized, map[string]string{"p": "int = 42", "inner": "int = 1764"}},
				{"outer", "main.outer", false, map[string]string{"n": either("int: optimised away here", "int = 21"), "twice": "int = 42"}},
				{"closed", "main.closed.func1", b.optimized, map[string]string{"mine": "int = 25"}},
				{"locked", "main.locked", false, map[string]string{"turn": "int = 3"}},
			} {
				a, err := Look(t.Context(), c.ask(want.thread))
				if err != nil {
					t.Fatalf("%s: %v", want.thread, err)
				}
				f := frame(t, a, want.function)
				if got := f.Inlined; got != want.inlined {
					t.Errorf("%s: inlined: got %v, want %v", want.function, got, want.inlined)
				}
				if f.Optimized != b.optimized || filepath.Base(f.File) != "main.go" || f.Line == 0 || f.Internal {
					t.Errorf("%s: got %+v", want.function, f)
				}
				got := values(f)
				if _, twice := got["at again"]; twice {
					t.Errorf("%s: an argument that was moved to the heap is told twice", want.function)
				}
				for name, value := range want.variables {
					if got[name] != value {
						t.Errorf("%s: %s: got %q, want %q", want.function, name, got[name], value)
					}
				}
				if len(a.Incomplete) > 0 {
					t.Errorf("%s: got incomplete %q, want a whole answer", want.thread, a.Incomplete)
				}
			}
		})
	}
}

func TestOfAThreadThatRunsNothingIsTold(t *testing.T) {
	c := start(t, fixture(t))
	c.until("spinning runs", func() bool { return c.row("spinning").State == flight.StateMounted })
	if _, err := Look(t.Context(), c.ask("spinning")); !errors.Is(err, locals.ErrRuns) {
		t.Errorf("spinning: got %v, want %v", err, locals.ErrRuns)
	}
}

func TestOfAThreadThatRunsOnMeanwhileAnAnswerIsOfOneMoment(t *testing.T) {
	c := start(t, fixture(t))
	answers, missed := 0, 0
	c.until("10 answers", func() bool {
		a, err := Look(t.Context(), c.ask("switching"))
		switch {
		case errors.Is(err, locals.ErrMoved), errors.Is(err, locals.ErrRuns):
			missed++
			return false
		case err != nil:
			t.Fatal(err)
		}
		// Both frames are of one turn, if it is in both.
		var turns []string
		for i := range a.Frames {
			switch f := &a.Frames[i]; f.Function {
			case "main.switching":
				turns = append(turns, values(f)["turns"])
			case "main.turn":
				turns = append(turns, values(f)["same"])
			}
		}
		if len(turns) == 2 {
			answers++
			if turns[0] != turns[1] || !strings.HasPrefix(turns[0], "int = ") {
				t.Errorf("got turn %q, and in the frame that it calls %q", turns[1], turns[0])
			}
		}
		return answers == 10
	})
	t.Logf("%d answers, %d times none", answers, missed)
}

func TestOfAThreadThatIsPinnedWhatItsGoroutineHasIsTold(t *testing.T) {
	c := start(t, fixture(t))
	var a *locals.Answer
	c.until("pinned waits for its channel", func() (ok bool) {
		var err error
		a, err = Look(t.Context(), c.ask("pinned"))
		return err == nil
	})
	var depths []string
	for i := range a.Frames {
		if a.Frames[i].Function == "main.pinned" {
			depths = append(depths, values(&a.Frames[i])["depth"])
		}
	}
	if want := []string{"int: optimised away here", "int = 1", "int = 2", "int = 3"}; !slices.Equal(depths, want) {
		t.Errorf("got %q, want %q", depths, want)
	}
}

func TestLookingChangesNothingInTheProcess(t *testing.T) {
	c := start(t, fixture(t))
	text := func() []byte {
		m, err := os.Open(fmt.Sprintf("/proc/%d/mem", c.pid))
		if err != nil {
			t.Fatal(err)
		}
		defer m.Close()
		maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", c.pid))
		if err != nil {
			t.Fatal(err)
		}
		var all []byte
		for line := range strings.Lines(string(maps)) {
			var from, to int64
			var rights string
			if n, _ := fmt.Sscanf(line, "%x-%x %s", &from, &to, &rights); n == 3 && rights == "r-xp" && strings.Contains(line, c.command.Path) {
				part := make([]byte, to-from)
				if _, err := m.ReadAt(part, from); err != nil {
					t.Fatal(err)
				}
				all = append(all, part...)
			}
		}
		return all
	}
	before := text()
	if len(before) < 1<<19 {
		t.Fatalf("got %d bytes of code, want those of a program", len(before))
	}
	done := make(chan struct{})
	watched := make(chan struct{})
	var looks atomic.Int64
	go func() { // the process is never traced, and never stopped
		defer close(watched)
		for ; ; looks.Add(1) {
			status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", c.pid))
			if err != nil || !bytes.Contains(status, []byte("\nTracerPid:\t0\n")) || bytes.Contains(status, []byte("\nState:\tT")) || bytes.Contains(status, []byte("\nState:\tt")) {
				t.Errorf("got %v and status %s", err, status)
			}
			select {
			case <-done:
				return
			default:
			}
		}
	}()
	for looks.Load() < 10 && !t.Failed() { // so often was it seen while it was looked at
		for _, name := range []string{"values", "outer", "closed", "locked"} {
			if _, err := Look(t.Context(), c.ask(name)); err != nil {
				t.Error(err)
			}
		}
	}
	close(done)
	<-watched
	if !bytes.Equal(before, text()) {
		t.Error("the code of the process changed")
	}
}

func TestAStoppedProcessIsReadToo(t *testing.T) {
	c := start(t, fixture(t))
	if err := c.command.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	a, err := Look(t.Context(), c.ask("values"))
	if err != nil {
		t.Fatal(err)
	}
	if got := values(frame(t, a, "main.values"))["number"]; got != "int = 42" {
		t.Errorf("got %q", got)
	}
}

func TestTheErrorSaysWhatIsInTheWay(t *testing.T) {
	exe := fixture(t)
	c := start(t, exe)
	stripped := start(t, fixture(t, "-ldflags=-s -w"))
	gone := exec.Command("true")
	if err := gone.Run(); err != nil {
		t.Fatal(err)
	}
	good := c.ask("values")
	for _, k := range []struct {
		name string
		q    locals.Question
		kind error
		text string
	}{
		{"no debug information", stripped.ask("values"), locals.ErrNoDebug, "-s or -w"},
		{"gone", locals.Question{PID: gone.Process.Pid, G: good.G}, locals.ErrGone, "read process"},
		{"no goroutine", locals.Question{PID: c.pid, G: 8}, nil, "read goroutine at 0x8"},
		{"code instead of a goroutine", locals.Question{PID: c.pid, G: 0x401000}, nil, "goroutine at 0x401000"},
		{"no core file", locals.Question{Core: exe, Exe: exe, G: good.G}, nil, "open core file"},
		{"no file", locals.Question{Core: exe + ".core", Exe: exe, G: good.G}, nil, "no such file"},
	} {
		a, err := Look(t.Context(), question(t, k.q))
		if err == nil || a != nil || k.kind != nil && !errors.Is(err, k.kind) || !strings.Contains(fmt.Sprint(err), k.text) {
			t.Errorf("%s: got %v, %v; want %v and %q", k.name, a, err, k.kind, k.text)
		}
	}
}

func TestACoreFileHasTheVariablesToo(t *testing.T) {
	exe := fixture(t)
	c := start(t, exe)
	q := c.ask("values")
	path := coreOf(t, c.pid)
	a, err := Look(t.Context(), question(t, locals.Question{Core: path, Exe: exe, G: q.G}))
	if err != nil {
		t.Fatal(err)
	}
	got := values(frame(t, a, "main.values"))
	if got["number"] != "int = 42" || got["text"] != `string = "hello"` {
		t.Errorf("got %q", got)
	}
	if _, err := Look(t.Context(), question(t, locals.Question{Core: path, Exe: exe, G: c.ask("spinning").G})); !errors.Is(err, locals.ErrRuns) {
		t.Errorf("of a thread that ran: got %v, want %v", err, locals.ErrRuns)
	}
}

// coreOf writes a core file of a process as dlv does. For that the process is stopped and traced.
func coreOf(t *testing.T, pid int) string {
	t.Helper()
	group, err := native.Attach(pid, nil, nil)
	if err != nil {
		t.Skipf("this process may not trace its children: %v", err)
	}
	defer group.Detach(false)
	out, err := os.Create(filepath.Join(t.TempDir(), "core"))
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	var state proc.DumpState
	state.Dumping, state.DoneChan = true, make(chan struct{})
	group.Selected.Dump(out, 0, &state)
	if state.Err != nil || !state.AllDone {
		t.Fatalf("dump: %v", state.Err)
	}
	return out.Name()
}

func TestAnswersAreBounded(t *testing.T) {
	c := start(t, fixture(t))
	q := c.ask("values")
	q.Text, q.Depth, q.Elements, q.Frames = 20, 8, 1000, 5
	a, err := Look(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	if len(a.Frames) != 5 || len(a.Incomplete) != 1 || !strings.Contains(a.Incomplete[0], "5 frames") {
		t.Errorf("got %d frames, %q; want 5 and to be told", len(a.Frames), a.Incomplete)
	}
	if got, want := values(frame(t, a, "main.values"))["long"], `string = "hellohellohellohello...+5100 more"`; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	memory := &view{ctx: t.Context(), from: nothing{}}
	buf := make([]byte, 1)
	for range mostReads {
		if _, err := memory.ReadMemory(buf, 8); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := memory.ReadMemory(buf, 8); err == nil || !memory.over {
		t.Errorf("after %d reads: got %v, want no more", mostReads, err)
	}
	if got := cut(strings.Repeat("ä", longestValue)); len(got) > longestValue+len("…") || !utf8.ValidString(got) {
		t.Errorf("got %d bytes", len(got))
	}
}

type nothing struct{}

func (nothing) ReadMemory(buf []byte, _ uint64) (int, error) { return len(buf), nil }

func TestAPlaceWithPiecesThatAreNowhereIsKnown(t *testing.T) {
	for place, want := range map[string]bool{
		"":                             false,
		"[block] DW_OP_call_frame_cfa": false,
		"[0x1:0x2] DW_OP_fbreg -0x50 DW_OP_piece 0x8 DW_OP_fbreg -0x48 DW_OP_piece 0x8": false,
		"[0x1:0x2] DW_OP_fbreg -0x50 DW_OP_piece 0x8 DW_OP_piece 0x10":                  true,
		"[0x1:0x2] DW_OP_piece 0x8 DW_OP_fbreg -0x50 DW_OP_piece 0x8":                   true,
	} {
		if got := inPart(place); got != want {
			t.Errorf("%q: got %v, want %v", place, got, want)
		}
	}
}
