package agent

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/vtscope/vtscope/dump"
	"github.com/vtscope/vtscope/recording"
	"github.com/vtscope/vtscope/runtime/flight"
)

func (h *Within) runs() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.mu.agent != nil
}

func TestTheAgentOfTheProgramItselfRunsOnlyWhileSomebodyAsks(t *testing.T) {
	h := Handler(Options{Interval: interval})
	h.idle = 100 * time.Millisecond
	mux := http.NewServeMux()
	mux.Handle(Prefix, h)
	s := httptest.NewServer(mux)
	t.Cleanup(func() { h.Close(); s.Close() })
	if h.runs() {
		t.Fatal("it runs before anybody has asked")
	}
	var list ProcessList
	if err := json.Unmarshal(get(t, s.URL+Prefix+"api/v1/processes", 200), &list); err != nil || len(list.Processes) != 2 || list.Processes[0].Key == "" || list.Processes[1].Kind != kindGoroutine {
		t.Fatalf("processes: %v, %+v; want this one, and its goroutines", err, list)
	}
	if d, err := dump.ParseJSON(get(t, s.URL+Prefix+"api/v1/processes/"+list.Processes[0].Key+"/dump", 200)); err != nil || d.Process.PID != list.Processes[0].PID {
		t.Errorf("dump: %v, want one of this process", err)
	}
	conn, _, err := websocket.DefaultDialer.Dial("ws"+strings.TrimPrefix(s.URL, "http")+Prefix+"ws", nil)
	if err != nil {
		t.Fatal(err)
	}
	frames := make(chan struct{})
	go func() {
		defer close(frames)
		for n := 0; n < 12; n++ { // that is several times as long as it is idle
			if _, _, err := conn.ReadMessage(); err != nil {
				return
			}
		}
	}()
	<-frames
	if !h.runs() {
		t.Error("it has stopped while a page looked")
	}
	conn.Close()
	until(t, "at rest", func() bool { return !h.runs() })
	until(t, "running again when somebody asks again", func() bool {
		get(t, s.URL+Prefix+"api/v1/processes", 200)
		return h.runs() // unless it rests again already
	})
	h.Close()
	get503(t, s.URL+Prefix)
	http.DefaultClient.CloseIdleConnections()
}

func get503(t *testing.T, url string) {
	t.Helper()
	r, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	r.Body.Close()
	if r.StatusCode != 503 {
		t.Errorf("GET %s of a closed agent: status %d, want 503", url, r.StatusCode)
	}
}

func TestTheAgentDoesNotRestWhileItServesARequest(t *testing.T) {
	h := Handler(Options{Interval: interval})
	t.Cleanup(func() { h.Close() })
	h.idle = time.Nanosecond
	asked := false
	h.options.Mount = map[string]http.Handler{"/slow": http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		asked = true
		h.rest() // as the timer does
		if !h.runs() {
			t.Error("it has stopped while somebody is served")
		}
	})}
	r := httptest.NewRequest("GET", Prefix+"slow", nil)
	r.Host, r.RemoteAddr = "localhost", "127.0.0.1:1"
	h.ServeHTTP(httptest.NewRecorder(), r)
	if !asked {
		t.Error("nobody was served")
	}
	until(t, "at rest", func() bool { return !h.runs() })
}

func TestTheAgentKnowsWhereItIsMounted(t *testing.T) {
	h := Handler(Options{Interval: interval})
	t.Cleanup(func() { h.Close() })
	for _, c := range []struct{ pattern, at string }{
		{"/", "/"}, {"/", Prefix}, {Prefix, Prefix}, {"GET " + Prefix, Prefix}, {"/admin/threads/", "/admin/threads/"}, {"GET /x/{rest...}", "/x/"},
	} {
		mux := http.NewServeMux()
		mux.Handle(c.pattern, h)
		s := httptest.NewServer(mux)
		if page := get(t, s.URL+c.at, 200); !bytes.Contains(page, []byte(`src="page.`)) {
			t.Errorf("%s: GET %s is not the page, with paths that are relative: %.100s", c.pattern, c.at, page)
		}
		get(t, s.URL+c.at+"page.js", 200)
		get(t, s.URL+c.at+"api/v1/openapi.json", 200)
		http.DefaultClient.CloseIdleConnections()
		s.Close()
	}
	strip := httptest.NewServer(http.StripPrefix("/x", h))
	defer strip.Close()
	get(t, strip.URL+"/x/api/v1/processes", 200)
	http.DefaultClient.CloseIdleConnections()
}

func TestAnAgentThatExportsRunsFromTheBeginning(t *testing.T) {
	w := &witness{}
	h := Handler(Options{Interval: interval, Observe: func(flight.Process, recording.Source) []recording.Observer { return []recording.Observer{w} }})
	until(t, "observed", func() bool { n, _, _ := w.told(); return n > 0 })
	h.Close()
	if _, _, closed := w.told(); closed != 1 {
		t.Errorf("the observer was closed %d times, want once", closed)
	}
}

// A slowWitness lasts until it is let go.
type slowWitness struct {
	witness
	closing, goOn chan struct{}
}

func (w *slowWitness) Close() error {
	close(w.closing)
	<-w.goOn
	return w.witness.Close()
}

func TestCloseWaitsForAnAgentThatComesToRest(t *testing.T) {
	h := Handler(Options{Interval: interval})
	h.idle = 10 * time.Millisecond
	w := &slowWitness{closing: make(chan struct{}), goOn: make(chan struct{})}
	h.options.Observe = func(flight.Process, recording.Source) []recording.Observer { return []recording.Observer{w} }
	h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", Prefix, nil))
	<-w.closing // nobody asks any more
	closed := make(chan error)
	go func() { closed <- h.Close() }()
	select {
	case <-closed:
		t.Error("it is closed while its agent is not")
		close(w.goOn)
	case <-time.After(100 * time.Millisecond):
		close(w.goOn)
		if err := <-closed; err != nil {
			t.Error(err)
		}
	}
	if _, _, n := w.told(); n != 1 {
		t.Errorf("the observer was closed %d times, want once", n)
	}
}

func TestOptionsThatMeanNothingAreToldToWhoeverAsks(t *testing.T) {
	var warned strings.Builder
	h := Handler(Options{Interval: time.Nanosecond, Warn: func(s string) { warned.WriteString(s) }})
	r := httptest.NewRecorder()
	h.ServeHTTP(r, httptest.NewRequest("GET", Prefix, nil))
	body, _ := io.ReadAll(r.Result().Body)
	if r.Code != 503 || !bytes.Contains(body, []byte("interval")) || !strings.Contains(warned.String(), "interval") {
		t.Errorf("status %d, %s, warned %q; want what is wrong", r.Code, body, warned.String())
	}
}
