package agent

import (
	"bytes"
	"crypto/tls"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// A program's own server speaks HTTP/2 as soon as it speaks TLS. The page's websocket is one of HTTP/1.1 beside it, as browsers make it.
func TestTheAgentIsServedOverHTTP2(t *testing.T) {
	h := Handler(Options{Interval: interval})
	mux := http.NewServeMux()
	mux.Handle(Prefix, h)
	s := httptest.NewUnstartedServer(mux)
	s.EnableHTTP2 = true
	s.StartTLS()
	t.Cleanup(func() { h.Close(); s.Close() })
	client := s.Client()
	ask := func(method, path string, body io.Reader) (status int, text []byte) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), method, s.URL+Prefix+path, body)
		if err != nil {
			t.Fatal(err)
		}
		a, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer a.Body.Close()
		text, _ = io.ReadAll(a.Body)
		if a.ProtoMajor != 2 {
			t.Fatalf("%s %s: HTTP/%d, want HTTP/2", method, path, a.ProtoMajor)
		}
		return a.StatusCode, text
	}
	if status, text := ask("GET", "", nil); status != 200 || !bytes.Contains(text, []byte(`src="page.`)) {
		t.Errorf("the page: %d, %.200s", status, text)
	}
	if status, _ := ask("GET", "page.js", nil); status != 200 {
		t.Errorf("the page's program: %d", status)
	}
	var list ProcessList
	if status, text := ask("GET", "api/v1/processes", nil); status != 200 || json.Unmarshal(text, &list) != nil || len(list.Processes) != 2 {
		t.Fatalf("processes: %d, %s", status, text)
	}
	settings := "api/v1/processes/" + list.Processes[0].Key + "/settings"
	if status, text := ask("POST", settings, strings.NewReader("what=ever")); status != 400 || !bytes.Contains(text, []byte("what")) {
		t.Errorf("settings with a bad body: %d, %s; want 400 of what is in it", status, text)
	}
	if status, text := ask("POST", settings, io.MultiReader(strings.NewReader("park=on"))); status != 411 {
		t.Errorf("a body of which the length is not told: %d, %s; want 411", status, text)
	}
	if status, text := ask("GET", "api/v1/processes", strings.NewReader("x")); status != 400 {
		t.Errorf("a GET with a body: %d, %s; want 400", status, text)
	}
	if status, text := ask("GET", "ws", nil); status != http.StatusUpgradeRequired {
		t.Errorf("ws: %d, %s; want 426", status, text)
	}
	roots := client.Transport.(*http.Transport).TLSClientConfig.RootCAs
	d := websocket.Dialer{Subprotocols: []string{Subprotocol}, TLSClientConfig: &tls.Config{RootCAs: roots, NextProtos: []string{"http/1.1"}}}
	conn, _, err := d.Dial("wss"+strings.TrimPrefix(s.URL, "https")+Prefix+"ws", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, message, err := conn.ReadMessage(); err != nil || !bytes.Contains(message, []byte(`"config"`)) {
		t.Errorf("the websocket's first message: %.100s, %v; want the configuration", message, err)
	}
}

// Requests that a client of Go does not make: what a proxy would make two of, and a websocket over HTTP/2.
func TestCraftedRequestsOfHTTP2AreRefused(t *testing.T) {
	h := Handler(Options{Interval: interval})
	mux := http.NewServeMux()
	mux.Handle(Prefix, h)
	s := httptest.NewUnstartedServer(mux)
	s.EnableHTTP2 = true
	s.StartTLS()
	t.Cleanup(func() { h.Close(); s.Close() })
	host := strings.TrimPrefix(s.URL, "https://")
	get := func(more ...string) []string {
		return append([]string{":method", "GET", ":scheme", "https", ":authority", host, ":path", Prefix + "api/v1/processes"}, more...)
	}
	for what, c := range map[string]struct {
		head []string
		want string // what the status is one of
	}{
		"nothing wrong":             {get(), "200"},
		"an upgrade":                {get("upgrade", "websocket", "connection", "upgrade"), "400"},
		"chunks":                    {get("transfer-encoding", "chunked"), "400 411"},
		"a host within":             {get("host", "evil.example"), "400 reset"},
		"a body's length, and none": {get("content-length", "44"), "400 reset"},
		"another authority":         {[]string{":method", "GET", ":scheme", "https", ":authority", "evil.example", ":path", Prefix}, "403"},
		"lines in a path":           {[]string{":method", "GET", ":scheme", "https", ":authority", host, ":path", Prefix + " HTTP/1.1\r\nx: y"}, "400 404 reset"},
		"lines in a header":         {get("x", "a\r\nGET / HTTP/1.1"), "400 reset"},
		"a websocket":               {[]string{":method", "CONNECT", ":protocol", "websocket", ":scheme", "https", ":authority", host, ":path", Prefix + "ws"}, "400 405 reset"},
	} {
		if got := askFrames(t, s, c.head); !strings.Contains(c.want, got) {
			t.Errorf("%s: got %s, want %s", what, got, c.want)
		}
	}
}

// askFrames sends a head as it is, and returns the status, or "reset".
func askFrames(t *testing.T, s *httptest.Server, head []string) string {
	t.Helper()
	roots := s.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs
	conn, err := tls.Dial("tcp", s.Listener.Addr().String(), &tls.Config{RootCAs: roots, NextProtos: []string{"h2"}})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	f := http2.NewFramer(conn, conn)
	f.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	var block bytes.Buffer
	e := hpack.NewEncoder(&block)
	for i := 0; i < len(head); i += 2 {
		e.WriteField(hpack.HeaderField{Name: head[i], Value: head[i+1]})
	}
	io.WriteString(conn, http2.ClientPreface)
	f.WriteSettings()
	f.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: block.Bytes(), EndHeaders: true, EndStream: true})
	for {
		frame, err := f.ReadFrame()
		if err != nil {
			t.Fatalf("%q: %v", head, err)
		}
		switch frame := frame.(type) {
		case *http2.MetaHeadersFrame:
			return frame.PseudoValue("status")
		case *http2.RSTStreamFrame, *http2.GoAwayFrame:
			return "reset"
		}
	}
}
