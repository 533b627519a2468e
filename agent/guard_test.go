package agent

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/vtscope/vtscope/agent/access"
	"github.com/vtscope/vtscope/recording"
	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/flight/flighttest"
)

// rolesTable is the table of docs/security.md.
func rolesTable() string {
	var b strings.Builder
	b.WriteString("| request | role |\n|---|---|\n")
	for i := range routes {
		fmt.Fprintf(&b, "| `%s %s` | %v |\n", routes[i].method, routes[i].path, routes[i].role())
	}
	b.WriteString("| the profile `cpu` below `/pprof/`, by any method | operate |\n")
	b.WriteString("| GET and HEAD of anything else: the page, metrics, profiles | read |\n| any other method of anything else | operate |\n")
	return b.String()
}

// All that changes something or costs the process needs the role operate; the document's table of roles is that of the routes.
func TestEveryRouteHasTheRoleThatTheDocumentTells(t *testing.T) {
	text, err := os.ReadFile("../docs/security.md")
	if err != nil {
		t.Fatal(err)
	}
	if want := rolesTable(); !strings.Contains(string(text), want) {
		t.Errorf("docs/security.md has another table of roles; want\n%s", want)
	}
	for i := range routes {
		if r := &routes[i]; r.method != http.MethodGet && !r.operate {
			t.Errorf("%s %s: whoever may read may do it", r.method, r.path)
		}
	}
	a := start(t, Options{Dirs: []string{flighttest.Dir(t)}, Mount: map[string]http.Handler{"/metrics": http.NotFoundHandler()}})
	mux := a.mux()
	for i := range routes {
		path := strings.NewReplacer("{pid}", "1", "{group}", "1", "{thread}", "1").Replace(routes[i].path)
		r := httptest.NewRequest(routes[i].method, path, nil)
		if got := need(mux, r); got != routes[i].role() {
			t.Errorf("%s %s needs %v, want %v", routes[i].method, path, got, routes[i].role())
		}
	}
	for _, c := range []struct {
		method, path string
		want         access.Role
	}{{"GET", "/", access.Read}, {"HEAD", "/metrics", access.Read}, {"GET", "/pprof/cpu", access.Operate}, {"GET", "/pprof/4711/cpu", access.Operate}, {"GET", "/pprof/park", access.Read}, {"POST", "/metrics", access.Operate}, {"DELETE", "/api/v1/processes", access.Operate}, {"GET", "/api/v1/processes/1/incident", access.Read}} {
		if got := need(mux, httptest.NewRequest(c.method, c.path, nil)); got != c.want {
			t.Errorf("%s %s needs %v, want %v", c.method, c.path, got, c.want)
		}
	}
}

// What exporters are told has the texts hidden already.
func TestObserversAreToldNoHiddenText(t *testing.T) {
	file := flighttest.Write(t, flighttest.Spec{Scopes: []flighttest.Scope{{Name: "tenant-acme"}}, Threads: 3, Thread: func(i int) flighttest.Thread {
		return flighttest.Thread{Name: "card-4711", Scope: 1, State: flight.StateParked, Reason: flight.ReasonPark}
	}})
	rules, err := access.ParseRules(`name=~/card-\d+/`, `scope=~/tenant-\w+/t`)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range []*access.Redactor{nil, rules} {
		policy, err := access.New(access.Options{Redact: r})
		if err != nil {
			t.Fatal(err)
		}
		told := make(chan string, 1000)
		a := start(t, Options{Dirs: []string{file.Dir}, Access: policy, Observe: func(flight.Process, recording.Source) []recording.Observer {
			return []recording.Observer{teller(told)}
		}})
		select {
		case text := <-told:
			if hidden := r != nil; strings.Contains(text, "4711") == hidden || strings.Contains(text, "acme") == hidden || strings.Contains(text, "[redacted]") != hidden {
				t.Errorf("hidden: %v: an observer is told %q", hidden, text)
			}
		case <-time.After(patience):
			t.Errorf("an observer was told nothing within %v", patience)
		}
		a.Close()
	}
}

// A teller tells the names of threads and scopes that it is told.
type teller chan string

func (c teller) Reset(t *recording.Tracker) {
	var b strings.Builder
	s := t.State()
	for _, th := range s.Threads {
		b.WriteString(th.Name + " ")
	}
	for _, sc := range s.Scopes {
		b.WriteString(sc.Name + " ")
	}
	if len(s.Threads) > 0 {
		select {
		case c <- b.String():
		default:
		}
	}
}
func (teller) Event(*recording.Event, recording.Change, *recording.Tracker) {}
func (teller) Lost(uint64)                                                  {}
func (teller) Flush(*recording.Tracker)                                     {}

func forFuzzing(f *testing.F) *Agent {
	file := flighttest.Write(f, small())
	a, err := New(Options{Dirs: []string{file.Dir}, Interval: 50 * time.Millisecond})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { a.Close() })
	return a
}

// FuzzInterface asks for anything: no answer is a panic, none takes long, and each is what it says it is.
func FuzzInterface(f *testing.F) {
	a := forFuzzing(f)
	pid := fmt.Sprint(os.Getpid())
	for i := range routes {
		path := strings.NewReplacer("{pid}", pid, "{group}", "1", "{thread}", "2").Replace(routes[i].path)
		f.Add(routes[i].method, path, "filter=scope~requests state=parked&format=text&top=3")
	}
	f.Add("GET", "/api/v1/processes/"+pid+"/dump", "filter=((((&format=jdk")
	f.Add("GET", "/api/v1/processes/"+pid+"/dump", "by=scope,state&scope=shop&format=json&top=-1")
	f.Add("GET", "/api/v1/processes/"+pid+"/threads/18446744073709551615", "at=zz")
	handler := a.Handler()
	f.Fuzz(func(t *testing.T, method, path, query string) {
		if !strings.HasPrefix(path, "/") {
			return
		}
		r, err := http.NewRequest(method, "/", nil)
		if err != nil {
			return
		}
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond) // looks that compare wait between them
		defer cancel()
		r = r.WithContext(ctx)
		r.URL = &url.URL{Path: path, RawQuery: query}
		r.RequestURI, r.Host, r.RemoteAddr = r.URL.RequestURI(), "localhost", "127.0.0.1:1"
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		if w.Code < 200 || w.Code > 599 {
			t.Errorf("%s %q %q: status %d", method, path, query, w.Code)
		}
		if kind := w.Header().Get("Content-Type"); kind == "application/json" && w.Body.Len() > 0 && !json.Valid(w.Body.Bytes()) {
			t.Errorf("%s %q %q: what it says is JSON is %.200q", method, path, query, w.Body)
		}
	})
}

// FuzzFrames sends bytes after the handshake of a websocket: the agent closes the connection or answers, and serves the next one.
func FuzzFrames(f *testing.F) {
	a := forFuzzing(f)
	s := httptest.NewServer(a.Handler())
	f.Cleanup(func() { a.Close(); s.Close() })
	at := strings.TrimPrefix(s.URL, "http://")
	text := `{"type":"subscribe","process":"","scope":"shop","group":""}`
	for _, seed := range [][]byte{
		append([]byte{0x81, 0x80 | byte(len(text)), 0, 0, 0, 0}, text...), {0x88, 0x80, 0, 0, 0, 0}, {0x89, 0x81, 1, 2, 3, 4, 5}, {0x81, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, {0x01, 0x80, 0, 0, 0, 0, 0x00, 0x80, 0, 0, 0, 0},
		{0xc1, 0x82, 0, 0, 0, 0, 0x4b, 0x04}, {0x82, 0x80, 0, 0, 0, 0}, []byte("GET / HTTP/1.1\r\n\r\n"),
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		c, err := net.Dial("tcp", at)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		c.SetDeadline(time.Now().Add(patience))
		fmt.Fprintf(c, "GET /ws HTTP/1.1\r\nHost: %s\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n", at)
		in := bufio.NewReader(c)
		status, err := in.ReadString('\n')
		if err == nil && strings.Contains(status, " 503 ") {
			return // those before are not gone yet: the limit holds
		}
		if err == nil && strings.Contains(status, " 429 ") {
			time.Sleep(10 * time.Millisecond) // so does that of requests
			return
		}
		if err != nil || !strings.Contains(status, " 101 ") {
			t.Fatalf("no websocket: %q, %v", status, err)
		}
		c.Write(b)
		c.(*net.TCPConn).CloseWrite()
		for n, chunk := 0, make([]byte, 64<<10); n < 4<<20; {
			m, err := in.Read(chunk)
			if n += m; err != nil {
				if ne, ok := err.(net.Error); ok && ne.Timeout() {
					t.Errorf("%x: after the end the connection lives", b)
				}
				return
			}
		}
		t.Errorf("%x: the agent sends without end to who has gone", b)
	})
}
