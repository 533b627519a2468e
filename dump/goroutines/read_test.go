package goroutines_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"runtime/pprof"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/vtscope/vtscope/dump"
	"github.com/vtscope/vtscope/dump/goroutines"
	"github.com/vtscope/vtscope/runtime/flight"
)

// childMode names the environment variable that turns this test's program into one that dies.
const childMode = "VTSCOPE_GOROUTINES_CHILD"

func TestMain(m *testing.M) {
	if mode := os.Getenv(childMode); mode != "" {
		die(mode)
	}
	os.Exit(m.Run())
}

var held sync.Mutex

// crowd starts goroutines that wait in known ways, and returns when they do, as far as that can be told.
func crowd(stop <-chan struct{}) *sync.WaitGroup {
	held.Lock()
	var all, ready sync.WaitGroup
	start := func(n int, body func()) {
		for range n {
			ready.Add(1)
			all.Go(func() { ready.Done(); body() })
		}
	}
	start(5, func() { receiver(stop) })
	start(3, func() { selector(stop) })
	start(2, locker)
	start(1, func() {
		runtime.LockOSThread()
		receiver(stop)
	})
	pprof.Do(context.Background(), pprof.Labels("scope", "requests", "vthread", "GET /cart"), func(context.Context) { start(4, func() { receiver(stop) }) })
	pprof.Do(context.Background(), pprof.Labels("tenant", `a "b"`, "job", "x"), func(context.Context) { start(1, func() { receiver(stop) }) })
	ready.Wait()
	return &all
}

// settled reports whether all of a crowd wait: who said that it is ready may execute for a moment.
func settled() bool {
	var b bytes.Buffer
	if err := pprof.Lookup("goroutine").WriteTo(&b, 2); err != nil {
		panic(err)
	}
	traces := strings.Split(b.String(), "\n\n")
	waiting := func(in, call string) (n int) { // others may wait in the same way, such as the one that runs the tests
		for _, trace := range traces {
			if head, calls, _ := strings.Cut(trace, "\n"); strings.Contains(head, in) && strings.Contains(calls, "goroutines_test."+call+"(") {
				n++
			}
		}
		return n
	}
	return waiting("[chan receive", "receiver") == 11 && waiting("[select", "selector") == 3 && waiting("[sync.Mutex.Lock", "locker") == 2
}

//go:noinline
func receiver(stop <-chan struct{}) { <-stop }

//go:noinline
func selector(stop <-chan struct{}) {
	select {
	case <-stop:
	case <-time.After(time.Hour):
	}
}

//go:noinline
func locker() {
	held.Lock()
	defer held.Unlock()
}

// die crashes after it has printed something.
func die(mode string) {
	crowd(make(chan struct{}))
	for !settled() {
		runtime.Gosched()
	}
	fmt.Println("2026/03/04 before the crash: goroutine counts do not matter [here]")
	switch mode {
	case "panic":
		panic("no way\n\ngoroutine talk")
	case "quit":
		fmt.Println("ready")
		select {}
	}
}

// child runs this program in a mode, and returns what it printed.
func child(t *testing.T, mode string, env ...string) []byte {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(append(os.Environ(), childMode+"="+mode), env...)
	var out bytes.Buffer
	cmd.Stderr = &out
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(stdout)
	for mode == "quit" {
		line, err := lines.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		if line == "ready\n" {
			quit(t, cmd.Process)
			break
		}
	}
	io.Copy(io.Discard, lines)
	if cmd.Wait() == nil {
		t.Errorf("%s: the child lives", mode)
	}
	return out.Bytes()
}

func read(t *testing.T, text []byte) *goroutines.Dump {
	t.Helper()
	if !goroutines.IsDump(text[:min(len(text), 512)]) {
		t.Errorf("not seen to be a dump: %.100q", text)
	}
	r, err := goroutines.Read(bytes.NewReader(text), goroutines.Options{Name: "test", Scopes: goroutines.ByLabels})
	if err != nil {
		t.Fatalf("%v in\n%.2000s", err, text)
	}
	return r
}

// told is what a dump tells of the crowd: the path of the scope, state, what is waited for, and the function of the test, with the number of goroutines.
func told(t *testing.T, r *goroutines.Dump) map[string]int {
	t.Helper()
	s, err := dump.Take(t.Context(), r, dump.Options{})
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]int{}
	for i := range s.Groups {
		g := &s.Groups[i]
		call := ""
		if g.Stack >= 0 {
			for _, f := range s.Stacks[g.Stack].Frames {
				if m := regexp.MustCompile(`goroutines_test\.(receiver|selector|locker)$`).FindStringSubmatch(f.Func); m != nil {
					call = m[1]
				}
			}
		}
		if call != "" {
			all[strings.Join(s.Path(g.Scope), "/")+" "+g.State.String()+" "+g.Blocker+" "+call] += g.Count
		}
	}
	return all
}

func same(t *testing.T, what string, got, want map[string]int) {
	t.Helper()
	for k, n := range want {
		if got[k] != n {
			t.Errorf("%s: %q: got %d, want %d", what, k, got[k], n)
		}
	}
	if len(got) != len(want) {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

const mutex = `root blocked mutex "sync.Mutex.Lock" locker`

var crowdWithoutLabels = map[string]int{
	`root parked channel "chan receive" receiver`: 10, `root parked channel "select" selector`: 3, mutex: 2, `root pinned channel "chan receive" receiver`: 1,
}

func TestDumpsOfDyingProgramsAreRead(t *testing.T) {
	for _, level := range []string{"all", "system"} {
		r := read(t, child(t, "panic", "GOTRACEBACK="+level))
		same(t, "panic, GOTRACEBACK="+level, told(t, r), crowdWithoutLabels)
	}
	if runtime.GOOS != "windows" {
		same(t, "SIGQUIT", told(t, read(t, child(t, "quit", "GOTRACEBACK=all"))), crowdWithoutLabels)
		same(t, "SIGQUIT, labels", told(t, read(t, child(t, "quit", "GODEBUG=tracebacklabels=1"))), map[string]int{
			`root parked channel "chan receive" receiver`: 5, `root parked channel "select" selector`: 3, mutex: 2, `root pinned channel "chan receive" receiver`: 1,
			`root/requests parked channel "chan receive" receiver`: 4, `root/job=x/tenant=a "b" parked channel "chan receive" receiver`: 1,
		})
	}
}

func TestProfilesOfGoroutinesAreRead(t *testing.T) {
	stop := make(chan struct{})
	all := crowd(stop)
	defer func() { close(stop); held.Unlock(); all.Wait() }()
	dumped := func(debug int) []byte {
		var b bytes.Buffer
		if err := pprof.Lookup("goroutine").WriteTo(&b, debug); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	for deadline := time.Now().Add(time.Minute); !settled(); runtime.Gosched() {
		if time.Now().After(deadline) {
			t.Fatalf("the goroutines do not wait:\n%s", dumped(2))
		}
	}
	r := read(t, dumped(2))
	if n := runtime.NumGoroutine(); r.Len() < n-1 || len(r.Incomplete()) > 0 {
		t.Errorf("debug=2: got %d of %d goroutines, missing %q", r.Len(), n, r.Incomplete())
	}
	got := told(t, r)
	for k, n := range crowdWithoutLabels { // labels are in it if Go was told so
		if got[k] != n {
			t.Errorf("debug=2: %q: got %d, want %d", k, got[k], n)
		}
	}
	l, err := dump.List(t.Context(), r, dump.Options{})
	if err != nil {
		t.Fatal(err)
	}
	made := 0
	if err := l.Each(t.Context(), func(th *dump.Thread) error {
		if l.Creator(th) != 0 {
			made++
		}
		return nil
	}); err != nil || made < 16 {
		t.Errorf("got %d goroutines with a creator, %v", made, err)
	}
	labels := map[string]int{ // a profile does not tell who is locked to a thread
		`root parked channel "chan receive" receiver`: 6, `root parked channel "select" selector`: 3, mutex: 2,
		`root/requests parked channel "chan receive" receiver`: 4, `root/job=x/tenant=a "b" parked channel "chan receive" receiver`: 1,
	}
	same(t, "debug=0", told(t, read(t, dumped(0))), labels)
	sums := map[string]int{} // nor does the text of debug=1 name the runtime's functions
	for k, n := range told(t, read(t, dumped(1))) {
		sums[k[:strings.Index(k+" parked", " parked")]+k[strings.LastIndexByte(k, ' '):]] += n
	}
	same(t, "debug=1", sums, map[string]int{
		"root receiver": 6, "root selector": 3, mutex + " locker": 2, "root/requests receiver": 4, `root/job=x/tenant=a "b" receiver`: 1,
	})
}

const trace = `goroutine 7 gp=0xc000002380 m=nil [chan receive (nil chan), 12 minutes, locked to thread, synctest bubble 3 labels:{"a": "b, c: ]", "z": "\x01\u1234"}]:
main.(*T[...]).f(0xc000, {0x1, 0x2}, ...)
	/src/a b/main.go:12 +0x1d fp=0x1 sp=0x2 pc=0x3
2026/03/04 a line of another goroutine's log (really)
main.inlined(...)
	C:/src/main.go:13
...additional frames elided...
created by main.main in goroutine 1
	/src/main.go:3 +0x25
`

func TestTraceInAnOddFormIsRead(t *testing.T) {
	for name, text := range map[string]string{
		"bare":   "noise\n" + trace + "\nrax 0x0\nrip 0x4711\n",
		"log":    "Mar  4 05:06:07 host shop[123]: panic: x\n" + prefixed(trace) + "Mar  4 05:06:09 host shop[123]: \nMar  4 05:06:09 host shop[123]: rax 0\n",
		"crlf":   strings.ReplaceAll(trace, "\n", "\r\n"),
		"no end": strings.TrimSuffix(trace, "\n") + " \n",
	} {
		r := read(t, []byte(text))
		s, err := dump.Take(t.Context(), r, dump.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if len(s.Groups) != 1 || len(s.Stacks) != 1 {
			t.Fatalf("%s: got %d groups, %d stacks", name, len(s.Groups), len(s.Stacks))
		}
		g := &s.Groups[0]
		calls := ""
		for _, f := range s.Stacks[0].Frames {
			calls += fmt.Sprintf("%s %s:%d;", f.Func, f.File, f.Line)
		}
		if want := "main.(*T[...]).f /src/a b/main.go:12;main.inlined C:/src/main.go:13;created by main.main /src/main.go:3;"; calls != want || !s.Stacks[0].Truncated {
			t.Errorf("%s: got %s %v, want %s, truncated", name, calls, s.Stacks[0].Truncated, want)
		}
		if path := strings.Join(s.Path(g.Scope), "/"); path != "root/a=b, c: ]/z=\x01\u1234" {
			t.Errorf("%s: got scope %q", name, path)
		}
		if g.State != flight.StatePinned || g.Wait.Min != 12*time.Minute || g.Blocker != `channel "chan receive (nil chan)"` || g.Examples[0].ID != 7 {
			t.Errorf("%s: got %+v", name, g)
		}
	}
}

// prefixed puts what a system's log has before each line, with times that go on.
func prefixed(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		fmt.Fprintf(&b, "Mar  4 05:06:%02d host shop[123]: %s", b.Len()%60, line)
	}
	return b.String()
}

func TestCutDumpSaysWhatIsMissing(t *testing.T) {
	two := trace + "\ngoroutine 8 [select]:\nmain.g(0x1)\n\t/src/main.go:1"
	for _, c := range []struct{ text, missing string }{
		{two, "ends within goroutine 8"},
		{two[:len(two)-20], "ends within goroutine 8"},
		{"goroutine profile: total 5\n" + trace, "5 goroutines, and has 1"},
		{"goroutine profile: total 3\n2 @ 0x1 0x2\n#\t0x1\tmain.f+0x1\t/src/main.go:3\n", "3 goroutines, and has 2"},
		{"goroutine 8 [running]:\n\tgoroutine running on other thread; stack unavailable\ngoroutine running on other thread; stack unavailable\n", "does not print: 1"},
	} {
		if missing := strings.Join(read(t, []byte(c.text)).Incomplete(), "\n"); !strings.Contains(missing, c.missing) {
			t.Errorf("%.200s: got missing %q, want %q", c.text, missing, c.missing)
		}
	}
	if missing := read(t, []byte(trace)).Incomplete(); len(missing) > 0 {
		t.Errorf("of a whole one got missing %q", missing)
	}
}

func TestSecondDumpInATextIsApart(t *testing.T) {
	r := read(t, []byte(trace+"\nSIGQUIT again\n\n"+trace))
	s, err := dump.Take(t.Context(), r, dump.Options{})
	if err != nil || s.Threads != 2 {
		t.Fatalf("got %d goroutines, %v", s.Threads, err)
	}
	if path := strings.Join(s.Path(s.Groups[1].Scope), "/"); !strings.HasPrefix(path, "root/dump 2/") {
		t.Errorf("got scope %q", path)
	}
}

func TestTextWithoutGoroutinesIsNone(t *testing.T) {
	for _, text := range []string{"", "hello\n", "goroutine x [running]:\n", "goroutine 5 [running\n", strings.Repeat("x", 1<<20)} {
		if _, err := goroutines.Read(strings.NewReader(text), goroutines.Options{}); !errors.Is(err, goroutines.ErrNone) {
			t.Errorf("%.40q: got %v, want %v", text, err, goroutines.ErrNone)
		}
	}
	var heap bytes.Buffer
	if err := pprof.Lookup("heap").WriteTo(&heap, 0); err != nil {
		t.Fatal(err)
	}
	if _, err := goroutines.Read(&heap, goroutines.Options{}); err == nil || !strings.Contains(err.Error(), "not of goroutines") {
		t.Errorf("a heap profile: got %v", err)
	}
	if goroutines.IsDump([]byte("VTSCOPE\x00\x01")) {
		t.Error("a file that is no text is taken for a dump")
	}
}

// many is the text of n goroutines, made as it is read.
type many struct {
	n, at int
	rest  []byte
}

func (m *many) Read(b []byte) (int, error) {
	if len(m.rest) == 0 {
		if m.at == m.n {
			return 0, io.EOF
		}
		m.at++
		m.rest = fmt.Appendf(m.rest[:0], "goroutine %d [chan receive, %d minutes]:\n", m.at, m.at%100)
		for d := range 6 {
			m.rest = fmt.Appendf(m.rest, "example.org/shop/store.(*Store).query%d(0xc%09x, {0x%x, 0x2})\n\t/src/example.org/shop/store/query.go:%d +0x1d\n", (m.at+d)%40, m.at, m.at*8, d+1)
		}
		m.rest = fmt.Appendf(m.rest, "created by main.main in goroutine 1\n\t/src/main.go:12 +0x25\n\n")
	}
	n := copy(b, m.rest)
	m.rest = m.rest[n:]
	return n, nil
}

func TestMemoryOfALongDumpIsThatOfItsGoroutines(t *testing.T) {
	const n = 100_000
	heap := func() int64 { // what is alive, without what pools still keep of earlier tests
		var m runtime.MemStats
		runtime.GC()
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	before := heap()
	r, err := goroutines.Read(&many{n: n}, goroutines.Options{})
	if err != nil || r.Len() != n {
		t.Fatalf("got %v", err)
	}
	if each := (heap() - before) / n; each > 64 {
		t.Errorf("got %d bytes a goroutine, want at most 64", each)
	}
	runtime.KeepAlive(r)
}

func BenchmarkRead(b *testing.B) {
	const n = 50_000
	text, err := io.ReadAll(&many{n: n})
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if _, err := goroutines.Read(bytes.NewReader(text), goroutines.Options{}); err != nil {
			b.Fatal(err)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(trace))
	f.Add([]byte(prefixed(trace)))
	f.Add([]byte("goroutine profile: total 3\n2 @ 0x1 0x2\n# labels: {\"a\":\"b\"}\n#\t0x1\tmain.f+0x1\t/src/main.go:3\n\n1 @\n"))
	var b bytes.Buffer
	if err := pprof.Lookup("goroutine").WriteTo(&b, 0); err != nil {
		f.Fatal(err)
	}
	f.Add(b.Bytes())
	f.Fuzz(func(t *testing.T, text []byte) {
		goroutines.IsDump(text)
		r, err := goroutines.Read(bytes.NewReader(text), goroutines.Options{})
		if err != nil || r.Len() > 1<<20 {
			return
		}
		s, err := dump.Take(t.Context(), r, dump.Options{})
		if err != nil || s.Threads != r.Len() {
			t.Fatalf("got %d goroutines of %d, %v", s.Threads, r.Len(), err)
		}
	})
}

// tree is a text of goroutines that others made: 20 by 7, 7 by main, 30 by 20 with a statement of 20's own, and
// 40 by one that is gone.
const tree = `goroutine 30 [chan receive]:
main.leaf()
	/src/leaf.go:9 +0x1
created by main.serve in goroutine 20
	/src/serve.go:8 +0x2

goroutine 20 [sync.Mutex.Lock, 3 minutes]:
internal/sync.runtime_SemacquireMutex(0x0?, 0xc5?, 0x0?)
	/go/src/runtime/sema.go:95 +0x25
internal/sync.(*Mutex).lockSlow(0xc000012080)
	/go/src/internal/sync/mutex.go:149 +0x15
main.serve()
	/src/serve.go:5 +0x1
created by main.serve in goroutine 7
	/src/serve.go:8 +0x2

goroutine 7 [sync.WaitGroup.Wait]:
sync.(*WaitGroup).Wait(0xc000012090?)
	/go/src/sync/waitgroup.go:206 +0x85
main.serve()
	/src/serve.go:6 +0x1
created by main.main in goroutine 1
	/src/main.go:3 +0x2

goroutine 40 [sync.Mutex.Lock]:
internal/sync.(*Mutex).lockSlow(0xc000012080)
	/go/src/internal/sync/mutex.go:149 +0x15
other/lib.(*T).run()
	/src/lib.go:5 +0x1
created by other/lib.New in goroutine 39
	/src/lib.go:4 +0x2

goroutine 50 [sync.WaitGroup.Wait]:
sync.(*WaitGroup).Wait(0xc0000120a0)
	/go/src/sync/waitgroup.go:206 +0x85
main.serve()
	/src/serve.go:6 +0x1
created by main.main in goroutine 1
	/src/main.go:3 +0x2

goroutine 1 [chan receive]:
main.main()
	/src/main.go:4 +0x1
`

func TestScopesOfATextAreWhoMadeTheGoroutines(t *testing.T) {
	for by, want := range map[goroutines.ScopeBy]map[int]string{
		"":                   {1: "", 7: "/main.main main.go:3", 20: "/main.main main.go:3/main.serve serve.go:8", 30: "/main.main main.go:3/main.serve serve.go:8", 40: "/other/lib.New lib.go:4", 50: "/main.main main.go:3"},
		goroutines.ByPackage: {1: "/main", 7: "/main", 20: "/main", 30: "/main", 40: "/other/lib", 50: "/main"},
		goroutines.ByLabels:  {1: "", 7: "", 20: "", 30: "", 40: "", 50: ""},
	} {
		d, err := goroutines.Read(strings.NewReader(tree), goroutines.Options{Scopes: by})
		if err != nil {
			t.Fatal(err)
		}
		scopes, _ := d.Scopes()
		path := make([]string, len(scopes))
		for _, s := range scopes[1:] {
			path[s.Index] = path[s.Parent] + "/" + s.Name
		}
		if _, err := d.Threads(t.Context(), func(rows []flight.ThreadRow) {
			for _, r := range rows {
				if got := path[r.Scope]; got != want[int(r.ID)] {
					t.Errorf("by %q: goroutine %d is in %q, want %q", by, r.ID, got, want[int(r.ID)])
				}
			}
		}); err != nil || d.Len() != len(want) {
			t.Errorf("by %q: got %d goroutines, %v", by, d.Len(), err)
		}
	}
}

func TestWaitsOfATextAreForTheAddressesInIt(t *testing.T) {
	d, err := goroutines.Read(strings.NewReader(tree), goroutines.Options{})
	if err != nil {
		t.Fatal(err)
	}
	w, err := dump.TakeWaits(t.Context(), d)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]int{}
	for _, g := range w.Groups {
		got[strings.TrimSpace(g.For.Kind+" "+g.For.ID+" "+g.For.Name)] += g.Count
	}
	for _, want := range []struct {
		what string
		n    int
	}{{"mutex 0xc000012080", 2}, {"latch 0xc0000120a0", 1}, {"latch sync.WaitGroup.Wait", 1}, {"channel chan receive", 2}} {
		n := 0
		for what, count := range got {
			if strings.HasPrefix(what, strings.Fields(want.what)[0]) && strings.HasSuffix(what, strings.TrimPrefix(want.what, strings.Fields(want.what)[0]+" ")) {
				n += count
			}
		}
		if n != want.n {
			t.Errorf("%d wait for %s, want %d; all: %v", n, want.what, want.n, got)
		}
	}
	if w.Judged != 0 || !strings.Contains(w.JudgedWords(), "none found among 0 waits that can be judged; 6 cannot") {
		t.Errorf("got %q: no text tells who holds what", w.JudgedWords())
	}
}

func TestPackagesAreOfTheFunctionsThatGoroutinesBeginWith(t *testing.T) {
	text := "goroutine 1 [running]:\nmain.main()\n\t/src/main.go:4 +0x1\nruntime.goexit({})\n\t/go/asm.s:1 +0x1\n\n" +
		"goroutine 5 [select]:\ncreated by lib.Start in goroutine 1\n\t/src/lib.go:4 +0x1\n"
	d, err := goroutines.Read(strings.NewReader(text), goroutines.Options{Scopes: goroutines.ByPackage})
	if err != nil {
		t.Fatal(err)
	}
	scopes, _ := d.Scopes()
	if _, err := d.Threads(t.Context(), func(rows []flight.ThreadRow) {
		for _, r := range rows {
			if got, want := scopes[r.Scope].Name, map[flight.ThreadID]string{1: "main", 5: "root"}[r.ID]; got != want {
				t.Errorf("goroutine %d is of %s, want %s", r.ID, got, want)
			}
		}
	}); err != nil {
		t.Fatal(err)
	}
}

func TestTextBeforeAProfileIsRead(t *testing.T) {
	d := read(t, []byte(trace+"\ngoroutine profile: total 2\n2 @ 0x1 0x2\n#\t0x1\tmain.f+0x1\t/src/main.go:3\n"))
	if d.Len() != 3 {
		t.Errorf("got %d goroutines, want one of the text and two of the profile", d.Len())
	}
}

// Each goroutine of a hostile text is made by the one before, each by another statement.
func TestATreeOfCreatorsIsNotDeeperThanAnybodyReads(t *testing.T) {
	var text strings.Builder
	const n = 20_000
	for id := range n {
		fmt.Fprintf(&text, "goroutine %d [select]:\nmain.f()\n\t/f.go:1 +0x1\ncreated by main.f in goroutine %d\n\t/f.go:%d +0x1\n\n", id+2, id+1, id+1)
	}
	d, err := goroutines.Read(strings.NewReader(text.String()), goroutines.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if scopes, err := d.Scopes(); err != nil || len(scopes) != 1+100 || d.Len() != n {
		t.Errorf("got %d goroutines in %d scopes, %v; want %d in 101", d.Len(), len(scopes), err, n)
	}
}
