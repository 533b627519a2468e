package main

import (
	"bytes"
	"encoding/json"
	"go/ast"
	"go/constant"
	"go/parser"
	"go/token"
	"go/types"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"
)

func TestThePolicyIsThatOfThePage(t *testing.T) {
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, "../webui.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range file.Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok || g.Tok != token.CONST {
			continue
		}
		if v := g.Specs[0].(*ast.ValueSpec); v.Names[0].Name == "Policy" {
			got, err := types.Eval(set, nil, token.NoPos, types.ExprString(v.Values[0]))
			if err != nil {
				t.Fatal(err)
			}
			if want := constant.StringVal(got.Value); policy != want {
				t.Errorf("policy %q, want webui.Policy %q", policy, want)
			}
			return
		}
	}
	t.Error("webui.go has no constant Policy")
}

// recorded is what two subscriptions of one websocket, and two looks at a document, leave behind.
func recorded(t *testing.T) *replay {
	t.Helper()
	name := filepath.Join(t.TempDir(), "x.traffic")
	s, err := newScribe(name)
	if err != nil {
		t.Fatal(err)
	}
	raw := func(text string) json.RawMessage { return json.RawMessage(text) }
	n := s.conn()
	s.write(entry{Conn: n, Got: raw(`{"type":"config","protocol":1}`)})
	s.write(entry{Conn: n, Sent: whole([]byte(`{"type":"subscribe","scope":"","deltas":true}`))})
	s.write(entry{Conn: n, Got: raw(`{"type":"frame","seq":1,"scopes":1,"groups":"of root","points":{"reset":true,"time":[1],"counts":[[5],[6]]}}`)})
	s.write(entry{Conn: n, Got: raw(`{"type":"frame","seq":2,"scopes":2,"points":{"time":[2],"counts":[[7],[8]]}}`)})
	s.write(entry{Conn: n, Sent: raw(`{"type":"subscribe","scope":"root/shop"}`)})
	s.write(entry{Conn: n, Got: raw(`{"type":"frame","seq":3,"groups":"of shop"}`)})
	s.write(entry{Get: "/api/v1/x?b=2&a=1", Status: 200, Type: "application/json", Body: `{"x":1}`})
	if err := s.close(); err != nil {
		t.Fatal(err)
	}
	p, err := openReplay(name)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestASubscriptionIsAnsweredWithWhatWasHeardOfIt(t *testing.T) {
	p := recorded(t)
	if strings.Contains(string(p.parts[0].of["deltas"]), "true") {
		t.Error("deltas were asked for: frames could not be understood without those before")
	}
	server := httptest.NewServer(p)
	defer server.Close()
	conn, _, err := websocket.DefaultDialer.Dial(strings.Replace(server.URL, "http", "ws", 1)+"/ws", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	conn.SetReadDeadline(time.Now().Add(time.Minute))
	hear := func(want ...string) {
		t.Helper()
		_, m, err := conn.ReadMessage()
		if err != nil {
			t.Fatal(err)
		}
		for _, part := range want {
			if !bytes.Contains(m, []byte(part)) {
				t.Errorf("heard %s, want %s in it", m, part)
			}
		}
	}
	hear(`"type":"config"`)
	conn.WriteMessage(websocket.TextMessage, []byte(`{"type":"subscribe","scope":"root/shop","deltas":true}`))
	// What was known before the subscription is said with its first frame, the whole time line too.
	hear(`"groups":"of shop"`, `"scopes":2`, `"seq":1`, `"time":[1,2]`, `"counts":[[5,7],[6,8]]`, `"reset":true`)
	conn.WriteMessage(websocket.TextMessage, []byte(`{"type":"subscribe","scope":""}`))
	hear(`"groups":"of root"`, `"seq":2`, `"scopes":1`)
	hear(`"scopes":2`, `"seq":3`)
	hear(`"scopes":1`, `"seq":4`) // from the beginning
}

func TestADocumentIsAnsweredAsItWas(t *testing.T) {
	p := recorded(t)
	for at, want := range map[string]struct {
		status int
		body   string
	}{
		"/api/v1/x?a=1&b=2": {200, `{"x":1}`},
		"/api/v1/x":         {404, "not in what was recorded"},
	} {
		w := httptest.NewRecorder()
		p.ServeHTTP(w, httptest.NewRequest("GET", at, nil))
		if w.Code != want.status || !strings.Contains(w.Body.String(), want.body) {
			t.Errorf("GET %s: %d %s, want %d and %s", at, w.Code, w.Body, want.status, want.body)
		}
	}
}

func TestWhatIsNotTrafficIsRefused(t *testing.T) {
	name := filepath.Join(t.TempDir(), "x")
	os.WriteFile(name, []byte("no gzip"), 0o600)
	if _, err := openReplay(name); err == nil {
		t.Error("opened what is no traffic")
	}
}

func TestOnlyLoopbackIsServed(t *testing.T) {
	w := &workshop{back: http.NotFoundHandler()}
	for host, want := range map[string]int{"evil.example:7171": 403, "10.0.0.1": 403, "127.0.0.1:7171": 404, "localhost:1": 404, "[::1]:7171": 404} {
		r := httptest.NewRequest("GET", "/api/v1/processes", nil)
		r.Host = host
		out := httptest.NewRecorder()
		w.ServeHTTP(out, r)
		if out.Code != want {
			t.Errorf("Host %s: status %d, want %d", host, out.Code, want)
		}
	}
}
