package auto

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/pprof"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/vtscope/vtscope/agent"
	"github.com/vtscope/vtscope/internal/leaktest"
)

// childVariable makes the test's own binary a program that imports auto.
const childVariable = "VTSCOPE_AUTO_TEST_CHILD"

func TestMain(m *testing.M) {
	if os.Getenv(childVariable) != "" {
		io.Copy(io.Discard, os.Stdin) // init has begun to listen
		return
	}
	leaktest.Main(m)
}

func processes(t *testing.T, at string) []agent.ProcessRow {
	t.Helper()
	r, err := http.Get(at + "api/v1/processes")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	var list agent.ProcessList
	if err := json.NewDecoder(r.Body).Decode(&list); err != nil || r.StatusCode != 200 {
		t.Fatalf("status %d: %v", r.StatusCode, err)
	}
	return list.Processes
}

func TestTheImportRegistersTheAgentBesidePprof(t *testing.T) {
	if _, pattern := http.DefaultServeMux.Handler(httptest.NewRequest("GET", agent.Prefix, nil)); pattern != "GET "+agent.Prefix {
		t.Errorf("the import has registered %q, want %q", pattern, "GET "+agent.Prefix)
	}
	// What it does to the default mux is done to one that this test has alone.
	mux := http.NewServeMux()
	mux.HandleFunc("GET /debug/pprof/", pprof.Index) // as it does itself
	if err := start(mux, ""); err != nil {
		t.Fatal(err)
	}
	mux.HandleFunc("GET /", func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "the program's own") }) // would panic beside a pattern without a method
	s := httptest.NewServer(mux)
	t.Cleanup(func() { http.DefaultClient.CloseIdleConnections(); s.Close() })
	if got := works(); got != "" {
		t.Errorf("before anybody has asked, goroutines work for the agent:\n%s", got)
	}
	if all := processes(t, s.URL+agent.Prefix); len(all) != 2 || all[0].PID != os.Getpid() || all[1].Kind != "goroutine" {
		t.Errorf("processes %+v, want this one, and its goroutines", all)
	}
	for _, report := range []string{"dump", "waits", "findings"} {
		r, err := http.Get(s.URL + agent.Prefix + "api/v1/processes/" + processes(t, s.URL+agent.Prefix)[0].Key + "/" + report + "?format=text")
		if err != nil {
			t.Fatal(err)
		}
		page, _ := io.ReadAll(r.Body)
		r.Body.Close()
		if flat := strings.Join(strings.Fields(string(page)), " "); !strings.Contains(flat, "goroutines of it are no threads of vtscope, and are not seen here") || strings.Contains(flat, "complete") {
			t.Errorf("%s of a program without threads: status %d\n%s\nwant how many goroutines are not seen", report, r.StatusCode, page)
		}
	}
	for deadline := time.Now().Add(time.Minute); works() == ""; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("no goroutine works for the agent that has answered")
		}
	}
	for path, want := range map[string]string{"/debug/vt": `src="page.`, "/debug/pprof/": "goroutine", "/other": "the program's own"} {
		r, err := http.Get(s.URL + path)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(r.Body)
		r.Body.Close()
		if r.StatusCode != 200 || !strings.Contains(string(body), want) {
			t.Errorf("GET %s: status %d, %.100s; want %q", path, r.StatusCode, body, want)
		}
	}
	stop(t, mux)
}

// works returns the stack of a goroutine that works for an agent; "" if there is none.
func works() string {
	all := make([]byte, 1<<20)
	for stack := range strings.SplitSeq(string(all[:runtime.Stack(all, true)]), "\n\n") {
		if strings.Contains(stack, "github.com/vtscope/vtscope/agent.(*Agent).") {
			return stack
		}
	}
	return ""
}

// stop ends the agent that is registered with a mux, as the end of the process would.
func stop(t *testing.T, mux *http.ServeMux) {
	t.Helper()
	r := httptest.NewRequest("GET", agent.Prefix, nil)
	h, _ := mux.Handler(r)
	if err := h.(*agent.Within).Close(); err != nil {
		t.Error(err)
	}
}

func TestAnAddressInTheEnvironmentIsListenedOn(t *testing.T) {
	c := exec.Command(os.Args[0])
	dir, err := os.MkdirTemp("", "vtauto-") // a short path, for the socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	said, err := os.Create(filepath.Join(dir, "stderr"))
	if err != nil {
		t.Fatal(err)
	}
	defer said.Close()
	c.Env = append(os.Environ(), childVariable+"=1", Variable+"=127.0.0.1:0", "VTSCOPE=private")
	c.Stderr = said
	stdin, err := c.StdinPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stdin.Close(); _ = c.Process.Kill(); _ = c.Wait() })
	var address string
	for deadline := time.Now().Add(time.Minute); address == ""; time.Sleep(5 * time.Millisecond) {
		text, _ := os.ReadFile(said.Name())
		address = regexp.MustCompile(`http://\S+`).FindString(string(text))
		if time.Now().After(deadline) {
			t.Fatalf("the program said %q, and no address", text)
		}
	}
	for _, prefix := range []string{"/", agent.Prefix} {
		if all := processes(t, address+prefix); len(all) != 2 || all[0].PID != c.Process.Pid {
			t.Errorf("processes below %s: %+v, want the child, which records in private memory", prefix, all)
		}
	}
	http.DefaultClient.CloseIdleConnections()
}

func TestWhatCannotBeServedIsToldAndStopsNothing(t *testing.T) {
	mux := http.NewServeMux()
	for _, address := range []string{"nonsense", "0.0.0.0:0", "127.0.0.1:99999"} {
		if err := start(mux, address); err == nil || !strings.Contains(err.Error(), Variable) {
			t.Errorf("%s: error %v, want one that names the variable", address, err)
		}
	}
	if err := start(mux, "off"); err != nil {
		t.Error(err)
	}
	if _, pattern := mux.Handler(httptest.NewRequest("GET", agent.Prefix, nil)); pattern != "" {
		t.Errorf("off registers %q", pattern)
	}
	mux.HandleFunc("/debug/vt/api/{x}", func(http.ResponseWriter, *http.Request) {})
	if err := start(mux, ""); err == nil || !strings.Contains(err.Error(), "is not registered") {
		t.Errorf("a pattern at odds with the program's: %v, want an error and no panic", err)
	}
}
