package memory

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/vtscope/vtscope/dump"
	"github.com/vtscope/vtscope/dump/goroutines"
	"github.com/vtscope/vtscope/internal/childtest"
	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/flight/flighttest"
)

func TestMain(m *testing.M) {
	switch what, argument, _ := strings.Cut(os.Getenv("VTSCOPE_TEST"), " "); what {
	case "signals":
		tellSignals()
	case "attach":
		tellAttach(argument)
	}
	os.Exit(m.Run())
}

// start runs a program that prints its pid in a line when it is ready, and ends with its standard input.
func start(t testing.TB, program string, env []string, args ...string) (pid int) {
	t.Helper()
	return startAndRead(t, program, env, func(string) {}, args...)
}

// startAndRead is start, and reads the lines that the program prints after that one, in a goroutine.
func startAndRead(t testing.TB, program string, env []string, read func(line string), args ...string) (pid int) {
	t.Helper()
	c := exec.Command(program, args...)
	c.Env = append(append(os.Environ(), "VTSCOPE=on", "VTSCOPE_SETTINGS=", "VTSCOPE_DIR="+flighttest.Dir(t)), env...)
	c.Dir = t.TempDir()
	if !slices.Contains(env, "GOTRACEBACK=crash") { // whose stacks are too many to read
		c.Stderr = os.Stderr
	}
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		c.Process.Kill()
		c.Wait() // how it ended does not matter
	})
	lines := bufio.NewReader(out)
	ready := regexp.MustCompile(`parade: .*; pid (\d+)\n`)
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			t.Fatalf("%s ended before it was ready: %v", program, err)
		}
		if m := ready.FindStringSubmatch(line); m != nil {
			go func() {
				for line, err := lines.ReadString('\n'); err == nil; line, err = lines.ReadString('\n') {
					read(line)
				}
			}()
			pid, _ = strconv.Atoi(m[1])
			return pid
		}
	}
}

// private keeps the recorder where only its own memory shows it.
var private = []string{"VTSCOPE=private"}

// paradeStack is the stack of a thread of the fixture that is called k17: from the function that parks, without lines.
func paradeStack(name string) string {
	k, err := strconv.Atoi(strings.TrimPrefix(name, "k"))
	if err != nil {
		return ""
	}
	var s string
	for range 4 {
		s += "main.call main." + string("abc"[k%3]) + " "
		k /= 3
	}
	return "main.rest " + s + "main.call main.(*parade).walk"
}

// functions names the functions of a stack up to one, those of the program alone.
func functions(s *flight.Stack, last string) string {
	var names []string
	for _, f := range s.Frames {
		if f.Internal {
			continue
		}
		names = append(names, f.Func)
		if f.Func == last {
			break
		}
	}
	return strings.Join(names, " ")
}

// A count is what a look at the fixture has shown.
type count struct {
	threads map[string]int // by the name of their scope
	exact   int            // that wait, with a stack from memory
	marked  int            // that wait, with the one that they recorded, or none
	running int            // that execute, with a stack
	torn    int            // that are left out, since they changed each time they were read
}

// look takes the threads of the fixture, and fails for each wrong stack.
func look(t testing.TB, src *Source) (c count, err error) {
	t.Helper()
	c.threads = map[string]int{}
	scopes, err := src.Scopes()
	if err != nil {
		t.Fatal(err)
	}
	names := map[flight.ScopeIndex]string{}
	for _, s := range scopes {
		names[s.Index] = s.Name
	}
	var rows []flight.ThreadRow
	c.torn, err = src.Threads(context.Background(), func(block []flight.ThreadRow) { rows = append(rows, block...) })
	if c.torn > 2 { // whose writers had no processor: on a busy machine that happens, and is told
		t.Errorf("%d torn records, want hardly any", c.torn)
	}
	known := map[flight.StackID]flight.Stack{}
	for i := range rows {
		r := &rows[i]
		c.threads[names[r.Scope]]++
		name := src.ThreadName(*r)
		if name == "running" && r.State == flight.StateMounted && r.Stack != 0 {
			s, err := src.Stack(r.Stack)
			if got := functions(&s, ""); err != nil || !strings.Contains(got, "main.turn main.(*parade).run.func") {
				t.Errorf("running: got stack %s (%v), want main.turn in it", got, err)
			}
			c.running++
		}
		want := paradeStack(name)
		if want == "" || !suspended(r.State) {
			continue
		}
		if r.Stack < firstStack {
			c.marked++
			continue
		}
		c.exact++
		s, ok := known[r.Stack]
		if !ok {
			var err error
			if s, err = src.Stack(r.Stack); err != nil {
				t.Fatal(err)
			}
			known[r.Stack] = s
		}
		if got := functions(&s, "main.(*parade).walk"); got != want {
			t.Errorf("thread %d %q, %s: got stack\n\t%s, want\n\t%s", r.ID, name, r.State, got, want)
		}
	}
	return c, err
}

// looks is how often the tests of exactness look.
func looks() int {
	if n, err := strconv.Atoi(os.Getenv("VTSCOPE_LOOKS")); err == nil {
		return n
	}
	return 5
}

func attachTo(t testing.TB, pid int, o Options) *Source {
	t.Helper()
	src, err := Attach(pid, o)
	if errors.Is(err, flight.ErrPermission) {
		var d *Denied
		errors.As(err, &d)
		t.Skipf("%v; try: %s", err, d.Try)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { src.Close() })
	return src
}

// checkAll looks at a number of threads in 40 scopes.
func checkAll(t testing.TB, src *Source, all int) count {
	t.Helper()
	c, err := look(t, src)
	if err != nil && !errors.Is(err, flight.ErrIncomplete) {
		t.Fatal(err)
	}
	if c.marked > 0 && err == nil {
		t.Errorf("%d stacks are not from memory, and nobody says so", c.marked)
	}
	missing := 0
	for i := range 40 {
		n := c.threads["row-"+strconv.Itoa(i)]
		if missing += all/40 - n; n > all/40 || n < all/40-c.torn {
			t.Errorf("row-%d: got %d threads, want %d", i, n, all/40)
		}
	}
	if missing > c.torn { // others are of those that drive the fixture
		t.Errorf("%d threads are missing, and %d records are said to be torn", missing, c.torn)
	}
	return c
}

func TestStacksOfThreadsThatSwitchAtFullSpeedAreExact(t *testing.T) {
	pid := start(t, childtest.Build(t, "./fixtures/parade"), private)
	src := attachTo(t, pid, Options{})
	for range looks() {
		c := checkAll(t, src, 20_000)
		if c.exact < 19_900 {
			t.Errorf("got %d stacks from memory, want nearly all of 20000", c.exact)
		}
		t.Logf("%d exact, %d marked, %d stacks", c.exact, c.marked, len(src.walker.stacks.pcs))
	}
}

// Threads that block in operations of Go's own hold their carriers, and cannot record where.
func TestStacksOfPinnedThreadsAreRightOrMarked(t *testing.T) {
	const stuck = 24
	for source, open := range map[string]func(pid int) dump.Source{
		"flight file": func(pid int) dump.Source {
			r, err := flight.OpenPID(pid)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { r.Close() })
			return r
		},
		"memory": func(pid int) dump.Source { return attachTo(t, pid, Options{}) },
		"stop":   func(pid int) dump.Source { return attachTo(t, pid, Options{Stop: true}) },
		"core":   func(pid int) dump.Source { return openCore(t, gcore(t, pid), "") },
	} {
		t.Run(source, func(t *testing.T) {
			pid := start(t, childtest.Build(t, "./fixtures/parade"), nil, "-drivers", "0", "-threads", "40", "-stuck", strconv.Itoa(stuck))
			exact, marked := 0, 0
			settled := func() bool {
				src := open(pid)
				if c, ok := src.(*Source); ok {
					defer c.Close()
				}
				// Function names may be written later than the stacks.
				s, err := dump.Take(context.Background(), src, dump.Options{Examples: -1})
				if err != nil {
					t.Fatal(err)
				}
				there := 0
				for i := range s.Groups {
					g := &s.Groups[i]
					if g.State != flight.StatePinned {
						continue
					}
					names := ""
					if g.Stack >= 0 {
						for _, f := range s.Stacks[g.Stack].Frames {
							names += f.Func + " "
						}
					}
					if g.Seen > 0 {
						marked += g.Count
					} else {
						exact += g.Count
						if strings.Contains(names, "main.nap") { // they had left it before the program said that it was ready
							t.Errorf("%d pinned threads in %q, and nothing says how old that is", g.Count, names)
						}
					}
					if strings.Contains(names, "main.enter") {
						there += g.Count
					}
				}
				return there == stuck
			}
			for deadline := time.Now().Add(time.Minute); !settled(); {
				if time.Now().After(deadline) {
					t.Fatal("not all stuck threads are shown where they block")
				}
			}
			t.Logf("%d exact, %d marked", exact, marked)
			if source == "flight file" && exact > 0 {
				t.Errorf("%d pinned threads of the flight file without the age of what was seen", exact)
			}
			if source != "flight file" && exact == 0 {
				t.Error("no pinned thread has its stack from memory")
			}
		})
	}
}

// Goroutines that are threads are shown where they wait, and for what: those that are adopted, and those that were made for a thread.
func TestGoroutinesThatAreThreadsAreShownWhereTheyWait(t *testing.T) {
	const each = 4
	waits := map[string]goroutines.Wait{
		"locks": {State: flight.StateBlocked, Reason: flight.ReasonLock}, "reads": {State: flight.StateBlocked, Reason: flight.ReasonLock},
		"meets": {State: flight.StateWaiting, Reason: flight.ReasonCondition}, "gathers": {State: flight.StateWaiting, Reason: flight.ReasonCondition},
		"receives": {State: flight.StateParked, Reason: flight.ReasonPark}, "selects": {State: flight.StateParked, Reason: flight.ReasonPark},
		"accepts": {State: flight.StateParked, Reason: flight.ReasonIO},
	}
	for source, open := range map[string]func(pid int) *Source{
		"memory": func(pid int) *Source { return attachTo(t, pid, Options{}) },
		"flight file and memory": func(pid int) *Source {
			r, err := flight.OpenPID(pid)
			if err != nil {
				t.Fatal(err)
			}
			src, err := Beside(r)
			if err != nil {
				t.Fatal(err)
			}
			return src
		},
		"stop": func(pid int) *Source { return attachTo(t, pid, Options{Stop: true}) },
		"core": func(pid int) *Source { return openCore(t, gcore(t, pid), "") },
	} {
		t.Run(source, func(t *testing.T) {
			pid := start(t, childtest.Build(t, "./fixtures/parade"), nil, "-drivers", "0", "-threads", "40", "-adopted", strconv.Itoa(each))
			var wrong []string
			settled := func() bool {
				src := open(pid)
				defer src.Close()
				s, err := dump.Take(context.Background(), src, dump.Options{Examples: 2 * each})
				if err != nil {
					t.Fatal(err)
				}
				wrong = nil
				seen := map[string]int{}
				for i := range s.Groups {
					g := &s.Groups[i]
					if len(g.Examples) == 0 {
						continue
					}
					name := g.Examples[0].Name
					want, known := waits[name]
					if !known {
						if name == "computes" && g.State != flight.StateMounted {
							wrong = append(wrong, fmt.Sprintf("%d of %s are %v", g.Count, name, g.State))
						}
						continue
					}
					calls := ""
					if g.Stack >= 0 {
						for _, f := range s.Stacks[g.Stack].Frames {
							calls += f.Func + " "
						}
					}
					if g.State != want.State || g.Reason != want.Reason || !strings.Contains(calls, "main."+name) || g.Wait.Unknown != g.Count || g.Seen != 0 {
						wrong = append(wrong, fmt.Sprintf("%d of %s are %v %v in %s, for an unknown time: %d", g.Count, name, g.State, g.Reason, calls, g.Wait.Unknown))
						continue
					}
					seen[name] += g.Count
				}
				for name := range waits {
					if seen[name] != 2*each {
						wrong = append(wrong, fmt.Sprintf("%d of %s are as they should be, want %d", seen[name], name, 2*each))
					}
				}
				return len(wrong) == 0
			}
			for deadline := time.Now().Add(time.Minute); !settled(); {
				if time.Now().After(deadline) {
					t.Fatal(strings.Join(wrong, "\n"))
				}
			}
		})
	}
}

// Goroutines that are threads go from one wait to the next: what is shown of one was so.
func TestStacksOfThreadsOnGoroutinesThatMoveAreNeverMixed(t *testing.T) {
	pid := start(t, childtest.Build(t, "./fixtures/parade"), nil, "-drivers", "0", "-threads", "40", "-adopted", "2")
	src := attachTo(t, pid, Options{})
	seen := map[string]int{}
	looks := 0
	for deadline := time.Now().Add(time.Minute); looks < 300 || len(seen) < 2 && time.Now().Before(deadline); looks++ {
		rows := rowsOf(t, src)
		for i := range rows {
			row := &rows[i]
			if src.ThreadName(*row) != "moves" || row.State != flight.StateParked {
				continue
			}
			s, err := src.Stack(row.Stack)
			if err != nil {
				t.Fatal(err)
			}
			switch got := functions(&s, "main.(*parade).adopt.func8"); {
			case strings.HasPrefix(got, "main.near main.goesNear main.(*parade).adopt"), strings.HasPrefix(got, "main.far main.goesFar main.(*parade).adopt"):
				seen[got]++
			default:
				t.Errorf("got %s", got)
			}
		}
	}
	t.Log(seen)
	if len(seen) < 2 {
		t.Error("the threads were not seen at both places")
	}
}

func TestQuietThreadsAreAllExactInEveryBuild(t *testing.T) {
	variants := map[string][]string{
		"default":  {},
		"trimpath": {"-trimpath"},
		"stripped": {"-ldflags=-s -w"},
		"pie":      {"-buildmode=pie"},
		"piestrip": {"-buildmode=pie", "-ldflags=-s -w"},
		"external": {"-ldflags=-linkmode=external"},
		"extstrip": {"-ldflags=-linkmode=external -s -w"},
		"extpie":   {"-buildmode=pie", "-ldflags=-linkmode=external -s -w"},
	}
	for name, flags := range variants {
		t.Run(name, func(t *testing.T) {
			if strings.HasPrefix(name, "ext") {
				if _, err := exec.LookPath("gcc"); err != nil {
					t.Skipf("no C compiler to link with: %v", err)
				}
			}
			pid := start(t, childtest.Build(t, "./fixtures/parade", flags...), private, "-drivers", "0")
			c, err := look(t, attachTo(t, pid, Options{}))
			if err != nil || c.exact != 20_000 || c.marked != 0 {
				t.Errorf("got %d exact stacks, %d others, error %v; want 20000, 0, nil", c.exact, c.marked, err)
			}
		})
	}
}

func TestMemoryHasTheFramesThatWereRecorded(t *testing.T) {
	pid := start(t, childtest.Build(t, "./fixtures/parade"), nil, "-drivers", "0")
	file, err := flight.OpenPID(pid)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	childtest.AwaitNames(t, file)
	recorded := map[flight.ThreadID]string{}
	frames := func(s flight.Stack, err error) string {
		if err != nil {
			t.Fatal(err)
		}
		var text strings.Builder
		for _, f := range s.Frames {
			if !f.Internal {
				fmt.Fprintln(&text, f.Func, f.File, f.Line, f.Inlined)
			}
		}
		return text.String()
	}
	if _, err := file.Threads(context.Background(), func(rows []flight.ThreadRow) {
		for _, r := range rows {
			if r.State == flight.StateParked || r.State == flight.StateWaiting {
				recorded[r.ID] = frames(file.Stack(r.Stack))
			}
		}
	}); err != nil {
		t.Fatal(err)
	}
	same := 0
	src := attachTo(t, pid, Options{})
	if _, err := src.Threads(context.Background(), func(rows []flight.ThreadRow) {
		for _, r := range rows {
			want, ok := recorded[r.ID]
			if !ok {
				continue
			}
			if r.Stack < firstStack {
				t.Fatalf("thread %d: its stack was not read", r.ID)
			}
			if got := frames(src.Stack(r.Stack)); got != want {
				t.Fatalf("thread %d: got\n%swant\n%s", r.ID, got, want)
			}
			same++
		}
	}); err != nil {
		t.Fatal(err)
	}
	if same < 20_000 {
		t.Errorf("compared %d threads, want at least 20000", same)
	}
}

func TestThreadsInContinuationsAreMarked(t *testing.T) {
	pid := start(t, childtest.Build(t, "./fixtures/parade"), private, "-drivers", "0", "-threads", "40", "-nested", "7")
	src := attachTo(t, pid, Options{})
	childtest.AwaitNames(t, dump.FlightReader(src))
	nested := 0
	_, err := src.Threads(context.Background(), func(rows []flight.ThreadRow) {
		for _, r := range rows {
			if src.ThreadName(r) != "nested" {
				continue
			}
			nested++
			s, err := src.Stack(r.Stack)
			if got := functions(&s, ""); err != nil || got != "main.rest" {
				t.Errorf("got stack %s, error %v; want main.rest, as it was recorded: the rest is on another goroutine", got, err)
			}
		}
	})
	snap, takeErr := dump.Take(context.Background(), src, dump.Options{})
	if takeErr != nil {
		t.Fatal(takeErr)
	}
	cut := 0
	for i := range snap.Groups {
		if g := &snap.Groups[i]; g.Stack >= 0 && snap.Stacks[g.Stack].Truncated {
			cut += g.Count
		}
	}
	if cut != 7 {
		t.Errorf("got %d threads whose stacks are said to go on, want the 7 nested ones", cut)
	}
	if nested != 7 || err == nil || !strings.Contains(err.Error(), "7 threads with the recorded stack alone: in a continuation") {
		t.Errorf("got %d nested threads, error %v; want 7, and that they are marked", nested, err)
	}
}

func TestFramesAreThoseOfTheRuntime(t *testing.T) {
	p, err := openProcess(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	defer p.close()
	l, ok := layoutOf(runtime.Version())
	if !ok {
		t.Fatalf("no layout for %s: see layouts", runtime.Version())
	}
	m, err := findModule(p, l)
	if err != nil {
		t.Fatal(err)
	}
	compared, inlined := 0, 0
	for i := uint64(0); i < m.count; i += 3 {
		start, _, _ := m.entry(i)
		next, _, _ := m.entry(i + 1)
		for pc := m.text + uint64(start) + 1; pc < m.text+uint64(next); pc += 37 {
			var want []string
			// As runtime.Callers does, which expands the calls that were inlined.
			frames := runtime.CallersFrames([]uintptr{uintptr(pc)})
			for {
				f, more := frames.Next()
				if w, shown := flight.NewFrame(f.Function, f.File, f.Line, pc, false); shown {
					want = append(want, fmt.Sprint(w.Func, " ", w.File, ":", w.Line))
				}
				if !more {
					break
				}
			}
			got := m.frames(pc)
			if len(want) == 0 || len(got) == 0 {
				continue
			}
			// The runtime tells the innermost call alone: the rest of the chain is for those that look themselves.
			if have := fmt.Sprint(got[0].Func, " ", got[0].File, ":", got[0].Line); have != want[0] {
				t.Fatalf("%#x: got %s, want %s", pc, have, want[0])
			}
			compared++
			inlined += len(got) - 1
		}
	}
	if compared < 10_000 || inlined < 1_000 {
		t.Errorf("compared %d addresses with %d inlined calls: too few to mean anything", compared, inlined)
	}
}

func BenchmarkThreads(b *testing.B) {
	pid, err := strconv.Atoi(os.Getenv("VTSCOPE_PID"))
	if err != nil {
		b.Skip("VTSCOPE_PID names no process to look at")
	}
	for b.Loop() {
		src := attachTo(b, pid, Options{})
		n := 0
		if _, err := src.Threads(context.Background(), func(rows []flight.ThreadRow) { n += len(rows) }); err != nil {
			b.Log(err)
		}
		b.ReportMetric(float64(n), "threads")
	}
}
