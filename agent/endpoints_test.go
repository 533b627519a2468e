package agent

import (
	"net/http"
	"net/http/httptest"
	"net/http/pprof"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vtscope/vtscope/agent/access"
	"github.com/vtscope/vtscope/agent/endpoint"
)

func TestAProgramThatServesProfilesIsFollowed(t *testing.T) {
	defer func(was time.Duration) { endpointPause = was }(endpointPause)
	endpointPause = time.Hour
	var broken atomic.Bool
	var asked atomic.Int32
	program := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		if broken.Load() {
			http.Error(w, "on fire", http.StatusInternalServerError)
			return
		}
		pprof.Index(w, r)
	}))
	defer program.Close()
	stop := make(chan int)
	defer close(stop)
	for range 7 {
		go waitForEnd(stop)
	}
	at, err := endpoint.Parse(program.URL + "/debug/pprof/")
	if err != nil {
		t.Fatal(err)
	}
	follow := func() *Agent {
		c, err := at.Open(access.ClientOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return start(t, Options{NoLocal: true, Endpoints: []Endpoint{{Name: "box:6060", Client: c}}})
	}
	a := follow()
	s := serve(t, a)
	v := shown(t, a)
	if v.row.Key != "box:6060" || v.row.Status != "running" || v.row.Kind != kindGoroutine || !strings.HasSuffix(v.row.Program, " at box:6060") || v.row.Address != program.URL+"/debug/pprof/goroutine" {
		t.Errorf("got a row of %+v", v.row)
	}
	if h := v.header(Cost{}, interval); !strings.Contains(h.Snapshot.Note, "each look costs the program") || h.Snapshot.Complete {
		t.Errorf("the page is told %q, complete: %v", h.Snapshot.Note, h.Snapshot.Complete)
	}
	of := s.URL + "/api/v1/processes/box:6060"
	for range 3 {
		for path, want := range map[string]string{
			"/dump?format=text":        "waitForEnd",
			"/dump?format=json":        "a profile has no ids",
			"/waits?format=text":       "waitForEnd",
			"/dump?filter=stack~ForEn": `"threads": 7`,
		} {
			if text := string(get(t, of+path, http.StatusOK)); !strings.Contains(text, want) {
				t.Errorf("%s: no %q in %.2000s", path, want, text)
			}
		}
	}
	if n := asked.Load(); n != 1 {
		t.Errorf("the program was asked %d times for a dozen documents: each costs it", n)
	}
	a.Close()

	endpointPause = 100 * time.Millisecond
	a = follow()
	of = serve(t, a).URL + "/api/v1/processes/box:6060"
	shown(t, a)
	if text := string(get(t, of+"/findings?format=text&growth=10ms", http.StatusOK)); !strings.Contains(text, "judged in part: deadlock") {
		t.Errorf("findings: %s", text)
	}

	broken.Store(true)
	until(t, "that it does not answer", func() bool { return a.views()[0].row.Status == statusUnreachable })
	if v := a.views()[0]; v.snapshot == nil || v.row.Threads == 0 || !strings.Contains(v.problem, "500 Internal Server Error") || !strings.Contains(v.problem, "on fire") {
		t.Errorf("of a silent program there is %+v, and %q", v.row, v.problem)
	}
	if text := string(get(t, of+"/dump?format=text", http.StatusServiceUnavailable)); !strings.Contains(text, "on fire") {
		t.Errorf("a dump of a silent program: %s", text)
	}
	broken.Store(false)
	until(t, "that it answers again", func() bool { return a.views()[0].row.Status == "running" })
}

func waitForEnd(stop chan int) { <-stop }

func TestNamesOfEndpointsAreChecked(t *testing.T) {
	at, err := endpoint.Parse("box:6060/debug/pprof/")
	if err != nil {
		t.Fatal(err)
	}
	c, err := at.Open(access.ClientOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for want, all := range map[string][]Endpoint{
		"no client":            {{Name: "box"}},
		"a name has letters":   {{Name: "a/b", Client: c}},
		"two have this name":   {{Name: "box", Client: c}, {Name: "box", Client: c}},
		"letters, digits and ": {{Name: "..", Client: c}},
	} {
		if _, err := New(Options{NoLocal: true, Endpoints: all}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: got %v, want %q", all, err, want)
		}
	}
}
