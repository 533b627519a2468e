package agent

import (
	"encoding/json"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/vtscope/vtscope/dump"
	"github.com/vtscope/vtscope/internal/childtest"
	"github.com/vtscope/vtscope/runtime/flight"
)

// startPlain starts a program that does not know vtscope, with so many goroutines of each kind.
func startPlain(t *testing.T, each int) *childtest.Child {
	t.Helper()
	child := childtest.Start(t, "./fixtures/plain", "-each", strconv.Itoa(each))
	child.WaitFor(regexp.MustCompile(`plain: ready; pid \d+`))
	return child
}

func TestGoroutinesOfAProgramWithoutARecorderAreFollowed(t *testing.T) {
	child := startPlain(t, 5)
	a := start(t, Options{Dirs: []string{t.TempDir()}, PIDs: []int{child.PID()}})
	s := serve(t, a)
	v := shown(t, a)
	if v.row.Kind != kindGoroutine || v.row.Program != "plain" || v.row.Status != "running" || !strings.HasPrefix(v.process.GoVersion, "go") {
		t.Errorf("got a row of %+v, with %q", v.row, v.process.GoVersion)
	}
	const kinds, ofLocks = 20, 3 // of the fixture: a Mutex, and both sides of an RWMutex
	if n, blocked := v.snapshot.Threads, v.snapshot.States[flight.StateBlocked]; n < 5*kinds || blocked < 5*ofLocks {
		t.Errorf("got %d goroutines, %d blocked, want %d and %d at least", n, blocked, 5*kinds, 5*ofLocks)
	}
	if !slices.ContainsFunc(v.snapshot.Scopes, func(s dump.Scope) bool { return strings.HasPrefix(s.Name, "main.main.func1 main.go:") }) {
		t.Errorf("no scope is a go statement: %+v", v.snapshot.Scopes)
	}
	of := s.URL + "/api/v1/processes/" + strconv.Itoa(child.PID())
	for path, want := range map[string]string{
		"/dump?format=text":           "main.locks",
		"/waits?format=text":          "holders unknown",
		"/findings?format=text":       "the process has no recorder",
		"/threads/1?format=text":      "main.main",
		"/dump?format=folded":         "main.receives",
		"/dump?format=text&at=0":      "",
		"/dump?filter=stack~locks":    "main.locks",
		"/waits?filter=stack~receive": "main.receives",
	} {
		status := http.StatusOK
		if want == "" {
			status = http.StatusNotFound
		}
		if text := string(get(t, of+path, status)); !strings.Contains(text, want) {
			t.Errorf("%s: no %q in %.300s", path, want, text)
		}
	}
	for _, path := range []string{"/schedulers", "/settings", "/durable"} {
		if text := string(get(t, of+path, http.StatusConflict)); !strings.Contains(text, "only vtscope's recorder") {
			t.Errorf("%s: %s", path, text)
		}
	}
	for _, x := range a.exportsOf(a.views()[0].from, usualRecord) {
		if recorded := slices.Contains([]string{"recording", "jfr", "perfetto", "cpu", "incident"}, x.Name); recorded != (x.Why == "the process has no recorder") || strings.Contains(x.Costs, "flight file") {
			t.Errorf("%s is offered as %+v", x.Name, x)
		}
	}
	figures := a.Figures()
	if len(figures.Processes) != 1 || !figures.Processes[0].Goroutines || figures.Processes[0].Snapshot == nil {
		t.Errorf("the figures are %+v", figures.Processes)
	}

	child.Signal(syscall.SIGKILL)
	until(t, "the end of the process", func() bool { return a.views()[0].row.Gone > 0 })
	if v := a.views()[0]; v.row.Status != "gone" || v.snapshot == nil {
		t.Errorf("of the end there is %+v", v.row)
	}
	if text := string(get(t, of+"/dump?format=text", http.StatusOK)); !strings.Contains(text, "main.locks") {
		t.Errorf("the last snapshot is lost: %.300s", text)
	}
}

func TestAllGoProgramsAreFollowedIfThatIsWanted(t *testing.T) {
	child := startPlain(t, 1)
	with := childtest.Start(t, "./fixtures/parade", "-threads", "40", "-drivers", "0")
	with.WaitFor(regexp.MustCompile(`parade: .*pid \d+`))
	file := with.Flight().Process().Path
	a := start(t, Options{Dirs: []string{file[:strings.LastIndexByte(file, '/')]}, Goroutines: true})
	kinds := func(pid int) (all []string) {
		for _, v := range a.views() {
			if v.row.PID == pid {
				all = append(all, v.row.Kind)
			}
		}
		return all
	}
	until(t, "the program without a recorder", func() bool { return slices.Equal(kinds(child.PID()), []string{kindGoroutine}) })
	if got := kinds(with.PID()); !slices.Equal(got, []string{""}) {
		t.Errorf("a process with a recorder has rows of %q, want one of its threads", got)
	}
	if f := a.choose(); f.plain() {
		t.Errorf("who names no process gets goroutines, though there are threads")
	}
}

func TestAProgramSeesItsOwnGoroutines(t *testing.T) {
	w := Handler(Options{})
	defer w.Close()
	if _, err := w.running(); err != nil {
		t.Fatal(err)
	}
	defer w.served()
	stop := make(chan int)
	defer close(stop)
	for range 50 {
		go waitsToBeSeen(stop)
	}
	a := w.mu.agent
	until(t, "its own goroutines", func() bool {
		for _, v := range a.views() {
			if v.from.plain() && v.snapshot != nil {
				for i := range v.snapshot.Groups {
					g := &v.snapshot.Groups[i]
					if g.Count == 50 && g.State == flight.StateParked && strings.Contains(v.snapshot.Stacks[g.Stack].Frames[0].Func, "waitsToBeSeen") {
						return true
					}
				}
			}
		}
		return false
	})
}

//go:noinline
func waitsToBeSeen(stop chan int) { <-stop }

func TestAGoProgramIsFollowedWhenItIsChosen(t *testing.T) {
	child := startPlain(t, 2)
	a := start(t, Options{Dirs: []string{t.TempDir()}})
	s := serve(t, a)
	programs := func() (mine *GoProgramRow) {
		var list GoProgramList
		if err := json.Unmarshal(get(t, s.URL+"/api/v1/programs", http.StatusOK), &list); err != nil || list.Missing != "" {
			t.Fatalf("%+v, %v", list, err)
		}
		for i := range list.Rows {
			if list.Rows[i].PID == child.PID() {
				mine = &list.Rows[i]
			}
		}
		return mine
	}
	p := programs()
	if p == nil || p.Program != "plain" || p.Goroutines < 30 || p.Problem != "" || !strings.HasPrefix(p.GoVersion, "go1.") || p.Module != "github.com/vtscope/vtscope" {
		t.Fatalf("of the program the list has %+v", p)
	}
	follow := s.URL + "/api/v1/programs/" + strconv.Itoa(child.PID()) + "/follow"
	var row, again ProcessRow
	if err := json.Unmarshal(post(t, follow, http.StatusOK), &row); err != nil || row.PID != child.PID() || row.Kind != kindGoroutine {
		t.Fatalf("got %+v, %v", row, err)
	}
	if err := json.Unmarshal(post(t, follow, http.StatusOK), &again); err != nil || again.Key != row.Key {
		t.Errorf("asked once more it is %+v, %v", again, err)
	}
	if p := programs(); p != nil {
		t.Errorf("the list still has %+v", p)
	}
	if text := string(get(t, s.URL+"/api/v1/processes/"+row.Key+"/dump?format=text", http.StatusOK)); !strings.Contains(text, "main.locks") {
		t.Errorf("its dump is %.300s", text)
	}
	for path, status := range map[string]int{"/api/v1/programs/x/follow": http.StatusBadRequest, "/api/v1/programs/999999999/follow": http.StatusNotFound} {
		post(t, s.URL+path, status)
	}

	only := serve(t, start(t, Options{Dirs: []string{t.TempDir()}, PIDs: []int{child.PID()}}))
	if text := string(get(t, only.URL+"/api/v1/programs", http.StatusOK)); !strings.Contains(text, "for certain pids alone") {
		t.Errorf("an agent of one pid lists %s", text)
	}
	post(t, only.URL+"/api/v1/programs/"+strconv.Itoa(os.Getpid())+"/follow", http.StatusConflict)
}
