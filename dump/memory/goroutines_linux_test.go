package memory

import (
	"bufio"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/vtscope/vtscope/dump"
	"github.com/vtscope/vtscope/dump/goroutines"
	"github.com/vtscope/vtscope/internal/childtest"
	"github.com/vtscope/vtscope/runtime/flight"
)

// A plain is a running fixture.
type plain struct {
	pid int
	end func() error  // ends its input
	ask func() string // for its goroutines, as Go prints them
}

func startPlain(t testing.TB, program string, args ...string) plain {
	t.Helper()
	c := exec.Command(program, args...)
	c.Dir, c.Env = t.TempDir(), append(os.Environ(), "GOTRACEBACK=crash")
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
	first, err := lines.ReadString('\n')
	pid := regexp.MustCompile(`pid (\d+)`).FindStringSubmatch(first)
	if err != nil || pid == nil {
		t.Fatalf("%s: %q, %v", program, first, err)
	}
	p := plain{pid: c.Process.Pid, end: in.Close}
	p.ask = func() string {
		t.Helper()
		fmt.Fprintln(in)
		var all strings.Builder
		for {
			line, err := lines.ReadString('\n')
			if err != nil {
				t.Fatal(err)
			}
			if line == "end\n" {
				return all.String()
			}
			all.WriteString(line)
		}
	}
	return p
}

// told is what a dump tells of a goroutine, but for times.
type told struct{ State, For, Creator, Scope, Stack string }

// tell reads a source, by the ids of goroutines.
func tell(t testing.TB, src interface {
	dump.Source
	ThreadDetail(uint32) (flight.ThreadDetail, error)
}) map[flight.ThreadID]told {
	t.Helper()
	scopes, err := src.Scopes()
	if err != nil {
		t.Fatal(err)
	}
	path := make([]string, len(scopes))
	for _, s := range scopes[1:] {
		path[s.Index] = path[s.Parent] + "/" + s.Name
	}
	all := map[flight.ThreadID]told{}
	var rows []flight.ThreadRow
	if _, err := src.Threads(t.Context(), func(some []flight.ThreadRow) { rows = append(rows, some...) }); err != nil && !errors.Is(err, flight.ErrIncomplete) {
		t.Fatal(err)
	}
	names := map[flight.Blocker]string{}
	blockers, _ := src.Blockers()
	for _, b := range blockers {
		names[b.Blocker] = b.Name
	}
	for _, r := range rows {
		d, err := src.ThreadDetail(r.Index)
		if err != nil {
			t.Fatal(err)
		}
		all[r.ID] = told{fmt.Sprint(r.State, " ", r.Reason), names[r.Blocker], fmt.Sprint(d.Creator), path[r.Scope], stackText(t, src, r.Stack)}
	}
	return all
}

func stackText(t testing.TB, src dump.Source, id flight.StackID) string {
	if id == 0 {
		return ""
	}
	stack, err := src.Stack(id)
	if err != nil {
		t.Fatal(err)
	}
	var s strings.Builder
	for _, f := range stack.Frames {
		fmt.Fprintf(&s, "%s %s:%d\n", f.Func, f.File, f.Line)
	}
	return s.String()
}

// compare holds what is in memory against what the program itself says.
func (p plain) compare(t *testing.T, o GoroutineOptions) *Goroutines {
	t.Helper()
	src, err := AttachGo(p.pid, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { src.Close() })
	var got, want map[flight.ThreadID]told
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) { // until those that are about to wait do
		text, err := goroutines.Read(strings.NewReader(p.ask()), goroutines.Options{Scopes: o.Scopes})
		if err != nil {
			t.Fatal(err)
		}
		want, got = tell(t, text), tell(t, src)
		for _, m := range []map[flight.ThreadID]told{want, got} {
			delete(m, 1)                         // main prints the text, and then reads
			if o.Scopes == goroutines.ByLabels { // the text has them from Go 1.26 on
				for id, g := range m {
					g.Scope = ""
					m[id] = g
				}
			}
		}
		if maps.Equal(got, want) {
			compareWaits(t, src, text)
			return src
		}
		if time.Now().After(deadline) {
			break
		}
	}
	t.Fatal(different(got, want))
	return nil
}

// compareWaits holds what goroutines wait for, as a text tells it, against what is in memory. It has the
// addresses of mutexes and conditions at least.
func compareWaits(t *testing.T, src *Goroutines, text *goroutines.Dump) {
	t.Helper()
	blockers := func(src dump.Source) map[flight.ThreadID]flight.Blocker {
		all := map[flight.ThreadID]flight.Blocker{}
		if _, err := src.Threads(t.Context(), func(rows []flight.ThreadRow) {
			for i := range rows {
				all[rows[i].ID] = rows[i].Blocker
			}
		}); err != nil && !errors.Is(err, flight.ErrIncomplete) {
			t.Fatal(err)
		}
		return all
	}
	want, found := blockers(src.WaitsSource()), map[flight.BlockerKind]int{}
	for id, b := range blockers(text.WaitsSource()) {
		if b.ID() < 1<<12 { // a wait reason
			continue
		}
		found[b.Kind()]++
		if old := b.Kind() == flight.BlockedByCondition && want[id].ID() < 1<<12; want[id] != b && !old { // in releases before 1.25 memory does not tell which
			t.Errorf("goroutine %d: the text says it waits for %v, and its memory %v", id, b, want[id])
		}
	}
	for _, kind := range []flight.BlockerKind{flight.BlockedByMutex, flight.BlockedByCondition} {
		if found[kind] == 0 {
			t.Errorf("the text tells the address of no %v", flight.BlockerKinds[kind].Name)
		}
	}
}

// different tells how what was read differs, by an example.
func different(got, want map[flight.ThreadID]told) string {
	for id := range want {
		if got[id] != want[id] {
			return fmt.Sprintf("of %d goroutines, want %d; goroutine %d: got\n%+v\nwant\n%+v", len(got), len(want), id, got[id], want[id])
		}
	}
	return fmt.Sprintf("got %d goroutines, want %d", len(got), len(want))
}

func TestGoroutinesOfAnyProgramAreAsGoItselfSays(t *testing.T) {
	for _, flags := range [][]string{nil, {"-ldflags=-s -w", "-trimpath"}, {"-buildmode=pie", "-ldflags=-linkmode=external -s -w"}} {
		t.Run(strings.Join(append([]string{"build"}, flags...), " "), func(t *testing.T) {
			if strings.Contains(fmt.Sprint(flags), "external") {
				if _, err := exec.LookPath("gcc"); err != nil {
					t.Skipf("no C compiler to link with: %v", err)
				}
			}
			p := startPlain(t, childtest.Build(t, "./fixtures/plain", flags...), "-each", "40")
			src := p.compare(t, GoroutineOptions{})
			wantWaits(t, src, 40)
			process := src.Process()
			if process.PID != p.pid || process.Program != "plain" || process.Status != flight.StatusRunning || !strings.HasPrefix(process.GoVersion, "go1.") ||
				time.Since(process.Start) > time.Hour || time.Until(process.Start) > time.Second {
				t.Errorf("got %+v", process)
			}
		})
	}
}

// What each release of Go keeps where is known from its binaries alone: so they are built, and compared. A toolchain is 70 MB.
func TestGoroutinesOfEachReleaseAreAsGoItselfSays(t *testing.T) {
	releases := strings.Fields(os.Getenv("VTSCOPE_GO_RELEASES"))
	if len(releases) == 0 {
		t.Skip("VTSCOPE_GO_RELEASES names no releases, such as 1.19.13 1.24.13: each is a download")
	}
	for _, release := range releases {
		t.Run(release, func(t *testing.T) {
			dir := t.TempDir()
			var files []string
			sources, err := filepath.Glob("../../fixtures/plain/*.go")
			if err != nil {
				t.Fatal(err)
			}
			for _, path := range sources {
				text, err := os.ReadFile(path)
				if err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(filepath.Join(dir, filepath.Base(path)), text, 0o644); err != nil {
					t.Fatal(err)
				}
				files = append(files, filepath.Base(path))
			}
			if err := os.WriteFile(filepath.Join(dir, "go.mod"), []byte("module plain\n\ngo 1.19\n"), 0o644); err != nil {
				t.Fatal(err)
			}
			program := filepath.Join(dir, "plain")
			b := exec.Command("go", append([]string{"build", "-o", program}, files...)...)
			b.Dir, b.Env = dir, append(os.Environ(), "GOTOOLCHAIN=go"+release, "GOFLAGS=", "CGO_ENABLED=0")
			if out, err := b.CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			src := startPlain(t, program, "-each", "40").compare(t, GoroutineOptions{})
			wantWaits(t, src, 40)
			if v := src.Process().GoVersion; v != "go"+release {
				t.Errorf("got version %q, want go%s", v, release)
			}
		})
	}
}

// waitsOf counts the goroutines that wait, by the kind and address of what they wait for.
func waitsOf(t *testing.T, src *Goroutines) map[string]int {
	t.Helper()
	w, err := dump.TakeWaits(t.Context(), src)
	if err != nil {
		t.Fatal(err)
	}
	if len(w.Deadlocks) > 0 || w.Judged > 0 || !strings.Contains(w.JudgedWords(), "none found among 0 waits") {
		t.Errorf("got %d deadlocks, %q: nobody knows who holds what", len(w.Deadlocks), w.JudgedWords())
	}
	all := map[string]int{}
	for _, g := range w.Groups {
		all[g.For.Kind+" "+g.For.ID] += g.Count
	}
	return all
}

// wantWaits holds what the goroutines of the fixture wait for against how many there are of each kind.
func wantWaits(t *testing.T, src *Goroutines, each int) {
	t.Helper()
	all := waitsOf(t, src)
	things := func(kind string) (counts []int) {
		for name, n := range all {
			if strings.HasPrefix(name, kind+" 0x") {
				counts = append(counts, n)
			}
		}
		slices.Sort(counts)
		return counts
	}
	for kind, want := range map[string][]int{
		"mutex":   {each, each}, // another writer of an RWMutex waits for the Mutex in it
		"rwmutex": {each},
		"latch":   {each},
	} {
		if got := things(kind); !slices.Equal(got, want) {
			t.Errorf("%s: got %v goroutines, want %v; all: %v", kind, got, want, all)
		}
	}
	if got := things("channel"); !slices.Contains(got, each) || !slices.Contains(got, 8*each) {
		t.Errorf("channels: got %v goroutines; want %d at one, and %d at one that is full", got, 8*each, each)
	}
	for name := range all {
		if address, ok := strings.CutPrefix(name, "rwmutex "); ok && all["mutex "+address] != each {
			t.Errorf("the writers of %s: got %d, want %d", name, all["mutex "+address], each)
		}
	}
	wantSelects(t, src, all, each)
}

// wantSelects holds the channels of those that wait in a select against those that others wait for: one of
// them is received from, and the other is full. It looks at who waits for a descriptor, too.
func wantSelects(t *testing.T, src *Goroutines, all map[string]int, each int) {
	t.Helper()
	counts := map[int]int{each: 0, 8 * each: 0}
	selects, accepts := 0, 0
	if _, err := src.Threads(t.Context(), func(rows []flight.ThreadRow) {
		for i := range rows {
			stack := stackText(t, src, rows[i].Stack)
			switch b := src.waits[rows[i].Index]; {
			case strings.Contains(stack, "main.selects "):
				selects++
				cases := src.Cases(rows[i].Index)
				if len(cases) != 2 || b != 0 {
					t.Fatalf("a select of two channels: got %v, and %v", cases, b)
				}
				for _, c := range cases {
					counts[all[fmt.Sprintf("channel %#x", c.ID())]]++
				}
			case strings.Contains(stack, "internal/poll.runtime_pollWait"):
				accepts++
				if name := src.BlockerName(b); b.Kind() != flight.BlockedBySocket || !regexp.MustCompile(`^127\.0\.0\.1:\d+$`).MatchString(name) {
					t.Errorf("who accepts waits for %v, which is %q, want a socket with its address", b, name)
				}
			default:
				if cases := src.Cases(rows[i].Index); len(cases) > 0 {
					t.Errorf("a goroutine that is in no select has the channels %v:\n%s", cases, stack)
				}
			}
		}
	}); err != nil && !errors.Is(err, flight.ErrIncomplete) {
		t.Fatal(err)
	}
	if selects != each || counts[each] != each || counts[8*each] != each || len(counts) != 2 {
		t.Errorf("%d goroutines select from channels for which so many wait: %v, want %d, half of the channels with %d and half with %d", selects, counts, each, each, 8*each)
	}
	if accepts != 1 { // the others wait for their turn
		t.Errorf("%d goroutines wait for a descriptor, want one", accepts)
	}
}

// scopesOf returns the paths of scopes with the number of goroutines in each.
func scopesOf(t *testing.T, src *Goroutines) map[string]int {
	t.Helper()
	scopes, err := src.Scopes()
	if err != nil {
		t.Fatal(err)
	}
	var name func(i flight.ScopeIndex) string
	name = func(i flight.ScopeIndex) string {
		if i == 0 {
			return ""
		}
		return name(scopes[i].Parent) + "/" + scopes[i].Name
	}
	all := map[string]int{}
	if _, err := src.Threads(t.Context(), func(rows []flight.ThreadRow) {
		for i := range rows {
			all[name(rows[i].Scope)]++
		}
	}); err != nil && !errors.Is(err, flight.ErrIncomplete) {
		t.Fatal(err)
	}
	return all
}

func TestScopesOfGoroutines(t *testing.T) {
	p := startPlain(t, childtest.Build(t, "./fixtures/plain"), "-each", "5")
	for _, c := range []struct {
		by   goroutines.ScopeBy
		want map[string]int
	}{
		{goroutines.ByLabels, map[string]int{"/route=/cart/tenant=a b": 5}},
		{goroutines.ByPackage, map[string]int{"/main": 85}},
		{goroutines.ByCreator, map[string]int{"": 1, "/main.main main.go/main.makes main.go": 5}},
	} {
		t.Run(string(c.by), func(t *testing.T) {
			got := map[string]int{}
			line := regexp.MustCompile(`:\d+`)
			for name, n := range scopesOf(t, p.compare(t, GoroutineOptions{Scopes: c.by})) {
				got[line.ReplaceAllString(name, "")] += n
			}
			for name, n := range c.want {
				if got[name] < n {
					t.Errorf("got %d in %q, want %d; all: %v", got[name], name, n, slices.Sorted(maps.Keys(got)))
				}
			}
		})
	}
}

func TestHowLongGoroutinesWaitIsAtLeastWhatGoHasNoted(t *testing.T) {
	p := startPlain(t, childtest.Build(t, "./fixtures/plain"))
	src := p.compare(t, GoroutineOptions{})
	known, all := 0, 0
	began := src.Process().Start
	if _, err := src.Threads(t.Context(), func(rows []flight.ThreadRow) {
		for i := range rows {
			all++
			if rows[i].Since != 0 {
				known++
				if since := src.Time(rows[i].Since); since.Before(began.Add(-time.Second)) || since.After(time.Now()) {
					t.Errorf("goroutine %d waits since %v, which is not between its process's start and now", rows[i].ID, since)
				}
			}
		}
	}); err != nil && !errors.Is(err, flight.ErrIncomplete) {
		t.Fatal(err)
	}
	if known == all {
		t.Errorf("of all %d it is known since when they wait, before the garbage collector has seen them", all)
	}
}

// Goroutines hand values on at full speed, each from calls of its own family: a stack of two families would be wrong.
func TestStacksOfGoroutinesThatSwitchAreNeverMixed(t *testing.T) {
	looks := 20
	if n, err := strconv.Atoi(os.Getenv("VTSCOPE_LOOKS")); err == nil {
		looks = n
	}
	p := startPlain(t, childtest.Build(t, "./fixtures/plain"), "-turn")
	src, err := AttachGo(p.pid, GoroutineOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	families := regexp.MustCompile(`main\.(red|blue|green|white)`)
	exact, places := 0, map[string]bool{}
	for range looks {
		for id, g := range tell(t, src) {
			if g.Stack == "" {
				continue
			}
			first := ""
			for _, m := range families.FindAllStringSubmatch(g.Stack, -1) {
				if first == "" {
					first = m[1]
				}
				if m[1] != first {
					t.Fatalf("goroutine %d: calls of two families:\n%s", id, g.Stack)
				}
			}
			if first == "" {
				continue
			}
			exact++
			places[g.Stack] = true
			if !strings.Contains(g.Stack, "main."+first+"First") {
				t.Fatalf("goroutine %d: the stack does not begin where its family does:\n%s", id, g.Stack)
			}
		}
	}
	if exact < looks*100 || len(places) < 10 {
		t.Errorf("%d stacks in %d places of 400 goroutines in %d looks: what is tested?", exact, len(places), looks)
	}
}

// A look takes over what the look before has found of goroutines that have not run since. While the process
// stands still, one that takes over nothing must see the same.
func TestALookTakesOverWhatIsStillSo(t *testing.T) {
	p := startPlain(t, childtest.Build(t, "./fixtures/plain"), "-nap", "-collect")
	src, err := AttachGo(p.pid, GoroutineOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	process, err := os.FindProcess(p.pid)
	if err != nil {
		t.Fatal(err)
	}
	over, fresh := 0, 0
	few := func() bool { return over < 20 || fresh < 1000 } // on a busy machine most have run between two looks
	patience := time.Now().Add(time.Minute)
	for i := 0; i < 40 || few() && time.Now().Before(patience); i++ {
		tell(t, src) // what is taken over is of a moment at which it ran
		time.Sleep(time.Duration(i%3) * time.Millisecond)
		process.Signal(syscall.SIGSTOP)
		for deadline := time.Now().Add(time.Minute); src.Process().Status != flight.StatusStopped; time.Sleep(time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatal("it does not stop")
			}
		}
		got := tell(t, src)
		whole, err := AttachGo(p.pid, GoroutineOptions{})
		if err != nil {
			t.Fatal(err)
		}
		want := tell(t, whole)
		whole.Close()
		process.Signal(syscall.SIGCONT)
		if len(got) != len(want) {
			t.Fatalf("got %d goroutines, want %d", len(got), len(want))
		}
		for id, g := range want {
			if got[id] != g {
				t.Fatalf("goroutine %d: got\n%+v\nwant\n%+v", id, got[id], g)
			}
		}
		if !slices.Equal(src.waits, whole.waits) {
			t.Fatalf("they wait for\n%v\nwant\n%v", src.waits, whole.waits)
		}
		fresh += len(got) - src.program.recalled
		recalled := src.program.recalled
		for _, g := range got {
			if !strings.Contains(g.Stack, "main.blackFirst") {
				recalled-- // it may be one that waits for ever
			}
		}
		over += max(recalled, 0)
	}
	if few() {
		t.Errorf("%d goroutines were taken over, and %d not: what is tested?", over, fresh)
	}
}

func TestAProcessWhoseGoroutinesCannotBeReadTellsWhy(t *testing.T) {
	c := exec.Command("sleep", "60")
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { c.Process.Kill(); c.Wait() }()
	if _, err := AttachGo(c.Process.Pid, GoroutineOptions{}); !errors.Is(err, ErrNotGo) {
		t.Errorf("a program of C: got %v, want %v", err, ErrNotGo)
	}
	const kernel = 2 // the thread that starts those of the kernel, where it can be seen
	if _, err := AttachGo(kernel, GoroutineOptions{}); !errors.Is(err, ErrNotGo) && !errors.Is(err, flight.ErrNoProcess) && !errors.Is(err, flight.ErrPermission) {
		t.Errorf("a process without an executable: got %v, want %v", err, ErrNotGo)
	}
	p := startPlain(t, childtest.Build(t, "./fixtures/plain"))
	src := p.compare(t, GoroutineOptions{})
	process, err := os.FindProcess(p.pid)
	if err != nil {
		t.Fatal(err)
	}
	process.Kill()
	for deadline := time.Now().Add(time.Minute); src.Process().Status != flight.StatusGone; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("it is not gone")
		}
	}
	if _, err := src.Scopes(); !errors.Is(err, flight.ErrIncomplete) {
		t.Errorf("a process that has died: got %v, want %v", err, flight.ErrIncomplete)
	}
	if _, err := AttachGo(p.pid, GoroutineOptions{}); !errors.Is(err, flight.ErrNoProcess) {
		t.Errorf("a process that has died: got %v, want %v", err, flight.ErrNoProcess)
	}
}

func TestGoroutinesInACoreFile(t *testing.T) {
	if _, err := exec.LookPath("gcore"); err != nil {
		t.Skipf("no gcore: %v", err)
	}
	computes := 0
	p := startPlain(t, childtest.Build(t, "./fixtures/plain"), "-compute")
	live, err := AttachGo(p.pid, GoroutineOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer live.Close()
	base := filepath.Join(t.TempDir(), "core")
	if out, err := exec.Command("gcore", "-o", base, strconv.Itoa(p.pid)).CombinedOutput(); err != nil {
		t.Skipf("gcore: %v\n%s", err, out)
	}
	core, err := OpenGoCore(base+"."+strconv.Itoa(p.pid), "", GoroutineOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer core.Close()
	if process := core.Process(); process.Status != flight.StatusGone || process.Program != "plain" || process.PID != p.pid {
		t.Errorf("got %+v", process)
	}
	got, want := tell(t, core), tell(t, live)
	for id, g := range got {
		if strings.Contains(g.Stack, "main.computes") { // its registers are in the core
			if strings.HasPrefix(want[id].State, "mounted") && want[id].Stack != "" {
				t.Errorf("of the live process: got the stack %q of a goroutine that executes", want[id].Stack)
			}
			computes++
		}
		if strings.HasPrefix(g.State, "mounted") || strings.HasPrefix(want[id].State, "mounted") || strings.HasPrefix(g.State, "runnable") {
			delete(got, id)
			delete(want, id)
		}
	}
	if computes != 1 {
		t.Errorf("got %d goroutines that compute, want 1", computes)
	}
	delete(got, 1) // gcore may interrupt its call
	delete(want, 1)
	if !maps.Equal(got, want) {
		t.Error(different(got, want))
	}
}

// Debian's Prometheus is stripped, has C code in it, and was linked by a C linker.
func TestGoroutinesOfAServerAsDebianBuildsIt(t *testing.T) {
	path, err := exec.LookPath("prometheus")
	if err != nil {
		t.Skipf("no Prometheus: %v (make test installs it where apt-get can)", err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	l.Close()
	dir := t.TempDir()
	config := filepath.Join(dir, "prometheus.yml")
	if err := os.WriteFile(config, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	c := exec.Command(path, "--config.file="+config, "--storage.tsdb.path="+filepath.Join(dir, "data"), "--web.listen-address="+address)
	c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { c.Process.Kill(); c.Wait() }()
	defer http.DefaultClient.CloseIdleConnections()
	const least = 15
	last := "nothing"
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		answer, err := http.Get("http://" + address + "/debug/pprof/goroutine?debug=2")
		if err != nil {
			continue // it does not listen yet
		}
		text, err := goroutines.Read(answer.Body, goroutines.Options{})
		answer.Body.Close()
		if err != nil {
			t.Fatal(err)
		}
		src, err := AttachGo(c.Process.Pid, GoroutineOptions{})
		if err != nil {
			t.Fatal(err)
		}
		want, got := tell(t, text), tell(t, src)
		src.Close()
		same := 0
		for id := range want {
			if strings.Contains(want[id].Stack, "net/http.(*conn).serve") {
				delete(want, id) // it makes the text, or waits for the next request
				delete(got, id)
			} else if got[id] == want[id] {
				same++
			}
		}
		for id := range got {
			if strings.Contains(got[id].Stack, "net/http.(*conn).serve") || strings.Contains(got[id].Stack, "net/http.(*connReader)") {
				delete(got, id)
			}
		}
		for id := range want {
			if strings.Contains(want[id].Stack, "net/http.(*connReader)") {
				delete(want, id)
			}
		}
		if last = different(got, want); maps.Equal(got, want) && same >= least {
			return
		}
	}
	t.Error(last)
}

// A program that panics is killed by a signal that it sends itself: that is what its OS thread handles when the kernel writes the core.
func TestTheGoroutineThatPanicsIsInTheCore(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skipf("what a signal has interrupted is not found on %s yet", runtime.GOARCH)
	}
	p := startPlain(t, childtest.Build(t, "./fixtures/plain"), "-panic")
	core, err := OpenGoCore(coreWhen(t, p.pid, p.end), "", GoroutineOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer core.Close()
	for _, g := range tell(t, core) {
		if strings.Contains(g.Stack, "main.panics ") {
			if !strings.Contains(g.Stack, "created by main.main ") || !strings.HasPrefix(g.State, "mounted") {
				t.Errorf("got %+v", g)
			}
			return
		}
	}
	t.Error("nobody panics")
}

// How long a look takes at the goroutines of a process, after one that it can take over from; and all that a
// follower makes of it.
func BenchmarkLooks(b *testing.B) {
	pid, err := strconv.Atoi(os.Getenv("VTSCOPE_PID"))
	if err != nil {
		b.Skip("VTSCOPE_PID names no process to look at")
	}
	src, err := AttachGo(pid, GoroutineOptions{})
	if err != nil {
		b.Fatal(err)
	}
	defer src.Close()
	src.Look()
	b.Run("look", func(b *testing.B) {
		for b.Loop() {
			src.Look()
		}
	})
	b.Run("whole", func(b *testing.B) {
		for b.Loop() {
			src.program.known = nil
			src.Look()
		}
	})
	b.Run("findings", func(b *testing.B) {
		for b.Loop() {
			if _, err := dump.TakeLook(b.Context(), src); err != nil {
				b.Fatal(err)
			}
		}
	})
}
