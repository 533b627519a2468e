package agent

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/gorilla/websocket"

	"github.com/vtscope/vtscope/dump"
	"github.com/vtscope/vtscope/runtime/flight/flighttest"
)

func TestTheHTTPInterfaceListsAndDumps(t *testing.T) {
	file := flighttest.Write(t, small())
	a := start(t, Options{Dirs: []string{file.Dir}})
	s := serve(t, a)
	shown(t, a)

	var list struct{ Processes []ProcessRow }
	if err := json.Unmarshal(get(t, s.URL+"/api/v1/processes", 200), &list); err != nil {
		t.Fatal(err)
	}
	if len(list.Processes) != 1 || list.Processes[0].PID != os.Getpid() || list.Processes[0].Threads != 100 {
		t.Errorf("processes %+v, want this one with 100 threads", list.Processes)
	}
	for _, name := range []string{fmt.Sprint(os.Getpid()), list.Processes[0].Key} {
		d, err := dump.ParseJSON(get(t, s.URL+"/api/v1/processes/"+name+"/dump", 200))
		if err != nil || d.Threads != 100 || d.Process.PID != os.Getpid() {
			t.Errorf("dump of %s: %v, want 100 threads of this process", name, err)
		}
	}
	for path, status := range map[string]int{
		"/api/v1/processes/1/dump": 404, "/api/v1/processes/x/dump": 404, "/api/v2/": 404, "/nothing": 404, "/../etc/passwd": 404,
		"/ws": 426, "/": 200, "/page.js": 200, "/licences.txt": 200,
	} {
		get(t, s.URL+path, status)
	}
}

func get(t *testing.T, url string, status int) []byte {
	t.Helper()
	r, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	if r.StatusCode != status {
		t.Errorf("GET %s: status %d, want %d: %.100s", url, r.StatusCode, status, body)
	}
	if r.Header.Get("X-Content-Type-Options") != "nosniff" || !strings.Contains(r.Header.Get("Content-Security-Policy"), "default-src 'none'") {
		t.Errorf("GET %s: headers %v, want nosniff and a policy", url, r.Header)
	}
	return body
}

func TestForeignPagesAndHostsAreRefused(t *testing.T) {
	a := start(t, Options{Dirs: []string{flighttest.Dir(t)}, Hosts: []string{"box.example"}})
	s := serve(t, a)
	own := strings.TrimPrefix(s.URL, "http://")
	_, port, _ := strings.Cut(own, ":")
	for _, c := range []struct {
		name   string
		path   string
		host   string
		header map[string]string
		want   int
	}{
		{"no browser", "/api/v1/processes", own, nil, 200},
		{"localhost", "/", "localhost:" + port, nil, 200},
		{"a name below localhost", "/", "shop.localhost", nil, 200},
		{"IPv6 loopback", "/", "[::1]:" + port, nil, 200},
		{"another loopback address", "/", "127.1.2.3", nil, 200},
		{"a name of Options.Hosts", "/", "box.example:1", nil, 200},
		{"rebinding", "/api/v1/processes", "evil.example:" + port, nil, 403},
		{"rebinding to a name that looks near", "/", "localhost.evil.example", nil, 403},
		{"rebinding with a trailing part", "/", "127.0.0.1.evil.example", nil, 403},
		{"an outer address", "/", "192.0.2.1", nil, 403},
		{"an empty name", "/", ":" + port, nil, 403},
		{"own origin", "/api/v1/processes", own, map[string]string{"Origin": s.URL}, 200},
		{"foreign origin", "/api/v1/processes", own, map[string]string{"Origin": "http://evil.example"}, 403},
		{"origin null", "/api/v1/processes", own, map[string]string{"Origin": "null"}, 403},
		{"own name, other port", "/api/v1/processes", own, map[string]string{"Origin": "http://127.0.0.1:1"}, 403},
		{"a foreign page's fetch", "/api/v1/processes", own, map[string]string{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"}, 403},
		{"a foreign page's script", "/page.js", own, map[string]string{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors", "Sec-Fetch-Dest": "script"}, 403},
		{"a foreign page's frame", "/", own, map[string]string{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "iframe"}, 403},
		{"a link to the page", "/", own, map[string]string{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}, 200},
		{"a link to the interface", "/api/v1/processes", own, map[string]string{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}, 403},
		{"the page itself", "/api/v1/processes", own, map[string]string{"Sec-Fetch-Site": "same-origin"}, 200},
	} {
		r, err := http.NewRequest("GET", s.URL+c.path, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Host = c.host
		for k, v := range c.header {
			r.Header.Set(k, v)
		}
		resp, err := http.DefaultTransport.RoundTrip(r)
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		resp.Body.Close()
		if resp.StatusCode != c.want {
			t.Errorf("%s: status %d, want %d", c.name, resp.StatusCode, c.want)
		}
	}
}

func TestAForeignPageCannotOpenTheWebsocket(t *testing.T) {
	a := start(t, Options{Dirs: []string{flighttest.Dir(t)}})
	s := serve(t, a)
	url := "ws" + strings.TrimPrefix(s.URL, "http") + "/ws"
	for _, c := range []struct {
		header http.Header
		subs   []string
		want   int
	}{
		{http.Header{"Origin": {"http://evil.example"}}, nil, 403},
		{http.Header{"Host": {"evil.example"}}, nil, 403},
		{http.Header{"Origin": {"null"}}, nil, 403},
		{nil, []string{"vtscope.99"}, 400},
	} {
		d := websocket.Dialer{Subprotocols: c.subs}
		conn, r, err := d.Dial(url, c.header)
		if err == nil {
			conn.Close()
			t.Errorf("headers %v, subprotocols %v: connected, want status %d", c.header, c.subs, c.want)
			continue
		}
		if r == nil || r.StatusCode != c.want {
			t.Errorf("headers %v, subprotocols %v: %v, want status %d", c.header, c.subs, err, c.want)
		}
	}
	conn, _, err := websocket.DefaultDialer.Dial(url, http.Header{"Origin": {s.URL}})
	if err != nil {
		t.Fatalf("own origin: %v", err)
	}
	conn.Close()

}
