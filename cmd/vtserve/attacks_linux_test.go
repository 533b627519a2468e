package main

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"encoding/binary"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gorilla/websocket"
)

// Known attacks on debug endpoints, each against a vtserve that was started as the command starts: on loopback, without tokens, of this user. Those against one
// with tokens or TLS are in [intrusions].
var attacks = []struct {
	name string
	try  func(t *testing.T, v *target)
}{
	{"DNS rebinding", func(t *testing.T, v *target) {
		_, port, _ := net.SplitHostPort(v.addr)
		for _, host := range []string{"evil.example:" + port, "evil.example", "127.0.0.1.evil.example:" + port, "localhost.evil.example", "0x7f000001.evil", "127.0.0.1@evil.example", "192.0.2.1"} {
			if a := v.ask(t, request{host: host}); a.status != 403 {
				t.Errorf("host %s: %v; want 403", host, a)
			}
		}
	}},
	{"host header injection", func(t *testing.T, v *target) {
		for _, head := range []string{
			"GET /api/v1/processes HTTP/1.1\r\nHost: 127.0.0.1\r\nHost: evil.example\r\n\r\n",
			"GET http://evil.example/api/v1/processes HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
			"GET /api/v1/processes HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Forwarded-Host: evil.example\r\n\r\n",
			"GET /api/v1/processes HTTP/1.1\r\nHost:\r\n\r\n",
			"GET /api/v1/processes HTTP/1.0\r\n\r\n",
			"GET /api/v1/processes HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Forwarded-For: 127.0.0.1\r\n\r\n",
		} {
			if got := v.raw(t, head); !refusedBy(got, "400", "403") || strings.Contains(got, "evil.example\"") && strings.Contains(got, "Location") {
				t.Errorf("%q: got %.200q, want 400 or 403", head, got)
			}
		}
	}},
	{"cross-site websocket", func(t *testing.T, v *target) {
		for _, origin := range []string{"http://evil.example", "null", "https://127.0.0.1.evil.example", "http://127.0.0.1:1", "file://"} {
			c, r, err := websocket.DefaultDialer.Dial("ws://"+v.addr+"/ws", http.Header{"Origin": {origin}})
			if err == nil {
				c.Close()
				t.Errorf("origin %s: connected", origin)
			} else if r == nil || r.StatusCode != 403 {
				t.Errorf("origin %s: %v, %v; want 403", origin, r, err)
			}
		}
	}},
	{"cross-site request forgery", func(t *testing.T, v *target) {
		for _, h := range []map[string]string{
			{"Origin": "http://evil.example"}, {"Origin": "null"}, {"Origin": "http://127.0.0.1:1"},
			{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"}, {"Sec-Fetch-Site": "same-site", "Sec-Fetch-Mode": "cors"},
			{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}, // a form
		} {
			for _, path := range []string{v.incidentPath(), fmt.Sprintf("/api/v1/processes/%d/settings", v.pid)} {
				if a := v.ask(t, request{method: "POST", path: path, header: h, body: "park=off"}); a.status != 403 {
					t.Errorf("%s, %v: %v; want 403", path, h, a)
				}
			}
		}
		v.untouched(t)
	}},
	{"cross-origin preflight", func(t *testing.T, v *target) {
		a := v.ask(t, request{method: "OPTIONS", header: map[string]string{"Origin": "http://evil.example", "Access-Control-Request-Method": "POST"}})
		if a.status == 200 || a.status == 204 {
			t.Errorf("%v; want a refusal", a)
		}
		for _, q := range []request{{method: "OPTIONS"}, {}, {header: map[string]string{"Origin": v.url}}} {
			for k := range v.ask(t, q).header {
				if strings.HasPrefix(k, "Access-Control-") {
					t.Errorf("%+v: %s lets other sites read", q, k)
				}
			}
		}
	}},
	{"JSON hijacking", func(t *testing.T, v *target) {
		for _, h := range []map[string]string{{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors", "Sec-Fetch-Dest": "script"}, {"Sec-Fetch-Site": "same-site", "Sec-Fetch-Dest": "image"}} {
			if a := v.ask(t, request{header: h}); a.status != 403 {
				t.Errorf("%v: %v; want 403", h, a)
			}
		}
		a := v.ask(t, request{}) // of a browser that sends no such heads
		if !strings.HasPrefix(strings.TrimSpace(a.body), "{") || a.header.Get("Content-Type") != "application/json" ||
			a.header.Get("X-Content-Type-Options") != "nosniff" || a.header.Get("Cross-Origin-Resource-Policy") != "same-origin" {
			t.Errorf("%v, %v; want an object that no other site may load", a, a.header)
		}
	}},
	{"clickjacking", func(t *testing.T, v *target) {
		for _, path := range []string{"/", "/api/v1/processes", "/nothing"} {
			a := v.ask(t, request{path: path})
			if a.header.Get("X-Frame-Options") != "DENY" || !strings.Contains(a.header.Get("Content-Security-Policy"), "frame-ancestors 'none'") {
				t.Errorf("%s may stand in a frame: %v", path, a.header)
			}
		}
		if a := v.ask(t, request{path: "/", header: map[string]string{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "iframe"}}); a.status != 403 {
			t.Errorf("a frame: %v; want 403", a)
		}
	}},
	{"path traversal", func(t *testing.T, v *target) {
		for _, p := range []string{
			"/../../../../etc/passwd", "/..%2f..%2f..%2fetc%2fpasswd", "/%2e%2e/%2e%2e/etc/passwd", "/..%5c..%5cetc/passwd", "/....//....//etc/passwd", "//etc/passwd", "/./etc/passwd",
			"/%252e%252e/etc/passwd", "/..;/etc/passwd", "/api/v1/processes/..%2f..%2fetc%2fpasswd/dump", "/api/v1/processes/../../../etc/passwd", "/page.js/../../go.mod",
			"/%c0%ae%c0%ae/etc/passwd", "/etc/passwd%00.js", "/page.js%00", "/file:///etc/passwd", "/api/v1/processes/%2fetc%2fpasswd/dump", `/..\..\etc\passwd`,
		} {
			got := v.raw(t, "GET "+p+" HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n")
			if !refusedBy(got, "404", "400") || strings.Contains(got, "root:") || strings.Contains(got, "Location:") {
				t.Errorf("%s: got %.200q, want 404", p, got)
			}
		}
	}},
	{"a file named in a parameter", func(t *testing.T, v *target) {
		dir := t.TempDir()
		for _, name := range []string{"path", "file", "out", "dir", "output", "to"} {
			v.ask(t, request{method: "POST", path: v.incidentPath()[:len(v.incidentPath())-len("incident")] + "recording?for=1ms&" + name + "=" + dir + "/x"})
		}
		if found, _ := os.ReadDir(dir); len(found) > 0 {
			t.Errorf("%v was written", found)
		}
	}},
	{"slow loris, heads", func(t *testing.T, v *target) {
		c := v.dial(t)
		defer c.Close()
		c.Write([]byte("GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n"))
		for began := time.Now(); ; {
			if _, err := c.Write([]byte("X-A: b\r\n")); err != nil {
				return // cut off
			}
			c.SetReadDeadline(time.Now().Add(250 * time.Millisecond))
			if _, err := c.Read(make([]byte, 1)); err != nil && !os.IsTimeout(err) {
				return
			}
			if time.Since(began) > 2*time.Minute {
				t.Fatal("a head that never ends is still read after two minutes")
			}
		}
	}},
	{"slow loris, body", func(t *testing.T, v *target) {
		c := v.dial(t)
		defer c.Close()
		fmt.Fprintf(c, "POST /api/v1/processes/%d/settings HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 1000\r\n\r\n", v.pid)
		for began := time.Now(); ; {
			_, err := c.Write([]byte("x"))
			c.SetReadDeadline(time.Now().Add(250 * time.Millisecond))
			if _, read := c.Read(make([]byte, 1)); err != nil || read == nil || !os.IsTimeout(read) {
				return // answered or cut off
			}
			if time.Since(began) > 2*time.Minute {
				t.Fatal("a body that never ends is still read after two minutes")
			}
		}
	}},
	{"oversized body", func(t *testing.T, v *target) {
		path := fmt.Sprintf("/api/v1/processes/%d/settings", v.pid)
		got := v.raw(t, "POST "+path+" HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 99999999999\r\n\r\n"+strings.Repeat("x", 1<<16))
		if !refusedBy(got, "413") {
			t.Errorf("got %.200q, want 413", got)
		}
		if got := v.raw(t, "POST "+path+" HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\nffffffff\r\n"+strings.Repeat("x", 1<<16)); !refusedBy(got, "411") {
			t.Errorf("without a length: got %.200q, want 411", got)
		}
	}},
	{"decompression bomb, body", func(t *testing.T, v *target) {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		z.Write(make([]byte, 32<<20))
		z.Close()
		path := fmt.Sprintf("/api/v1/processes/%d/settings", v.pid)
		if a := v.ask(t, request{method: "POST", path: path, body: b.String(), header: map[string]string{"Content-Encoding": "gzip"}}); b.Len() > 64<<10 || a.status != 415 {
			t.Errorf("%d bytes: %v; want 415", b.Len(), a)
		}
	}},
	{"decompression bomb, websocket", func(t *testing.T, v *target) {
		var b bytes.Buffer
		z, _ := flate.NewWriter(&b, 9)
		z.Write(make([]byte, 64<<20))
		z.Flush()
		bomb := b.Bytes()[:b.Len()-4]
		before := readersTook(t)
		c, _ := v.websocket(t, "permessage-deflate; client_no_context_takeover")
		defer c.Close()
		// The whole message in one frame; and in frames of 4,000 bytes, each below the limit of a frame.
		c.Write(frame(true, 1<<2, 1, bomb[:3900]))
		if got := ends(c); !closed(got) {
			t.Errorf("after a message that unfolds to 4 MB the connection lives: %.100q", got)
		}
		if took := readersTook(t) - before; took > mostForAMessage {
			t.Errorf("reading it took %d bytes, want at most %d", took, mostForAMessage)
		}
	}},
	{"huge frame", func(t *testing.T, v *target) {
		for _, size := range []uint64{1 << 20, 1 << 40, 1<<63 - 1, 1 << 63, 1<<64 - 1} {
			before := readersTook(t)
			c, _ := v.websocket(t, "")
			head := []byte{0x81, 0x80 | 127}
			head = binary.BigEndian.AppendUint64(head, size)
			c.Write(append(head, make([]byte, 4+64<<10)...))
			if got := ends(c); !closed(got) {
				t.Errorf("a frame of %d bytes: the connection lives: %.100q", size, got)
			}
			c.Close()
			if took := readersTook(t) - before; took > mostForAMessage {
				t.Errorf("reading a frame of %d bytes took %d, want at most %d", size, took, mostForAMessage)
			}
		}
	}},
	{"endless fragments", func(t *testing.T, v *target) {
		c, _ := v.websocket(t, "")
		defer c.Close()
		c.Write(frame(false, 0, 1, bytes.Repeat([]byte(" "), 100)))
		for range 10000 {
			if _, err := c.Write(frame(false, 0, 0, bytes.Repeat([]byte(" "), 100))); err != nil {
				return
			}
		}
		if got := ends(c); !closed(got) {
			t.Errorf("after a megabyte of fragments the connection lives: %.100q", got)
		}
	}},
	{"frames that break the protocol", func(t *testing.T, v *target) {
		for name, b := range map[string][]byte{
			"not masked":              {0x81, 0x02, '{', '}'},
			"reserved bits":           frame(true, 7, 1, []byte("{}")),
			"reserved opcode":         frame(true, 0, 3, []byte("{}")),
			"fragmented control":      frame(false, 0, 9, []byte("x")),
			"long control":            frame(true, 0, 9, make([]byte, 200)),
			"continuation of nothing": frame(true, 0, 0, []byte("x")),
			"a message in a message":  append(frame(false, 0, 1, []byte("{")), frame(true, 0, 1, []byte("}"))...),
		} {
			c, _ := v.websocket(t, "")
			c.Write(b)
			if got := ends(c); !closed(got) {
				t.Errorf("%s: the connection lives: %.100q", name, got)
			}
			c.Close()
		}
	}},
	{"header flood", func(t *testing.T, v *target) {
		for name, head := range map[string]string{
			"one long":  "X-A: " + strings.Repeat("a", 1<<20) + "\r\n",
			"many":      strings.Repeat("X-A: b\r\n", 100_000),
			"long line": "",
		} {
			path := "/"
			if head == "" {
				path += strings.Repeat("a", 1<<20)
			}
			if got := v.raw(t, "GET "+path+" HTTP/1.1\r\nHost: 127.0.0.1\r\n"+head+"\r\n"); got != "" && !refusedBy(got, "431", "414", "400", "404") {
				t.Errorf("%s: got %.200q, want 431", name, got)
			}
		}
	}},
	{"request smuggling", func(t *testing.T, v *target) {
		inner := "POST " + v.incidentPath() + " HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 0\r\n\r\n"
		for name, head := range map[string]string{
			"length and chunks":        "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n",
			"chunks and length":        "Transfer-Encoding: chunked\r\nContent-Length: 6\r\n",
			"two lengths":              "Content-Length: 0\r\nContent-Length: 5\r\n",
			"a list of lengths":        "Content-Length: 0, 5\r\n",
			"a signed length":          "Content-Length: +0\r\n",
			"a hexadecimal length":     "Content-Length: 0x0\r\n",
			"a hidden coding":          "Transfer-Encoding: xchunked\r\n",
			"a coding after a tab":     "Transfer-Encoding:\tchunked\r\n",
			"two codings":              "Transfer-Encoding: identity\r\nTransfer-Encoding: chunked\r\n",
			"a space before the colon": "Transfer-Encoding : chunked\r\n",
			"a body to GET":            "Content-Length: 5\r\n",
		} {
			got := v.raw(t, "GET /api/v1/processes HTTP/1.1\r\nHost: 127.0.0.1\r\n"+head+"\r\n0\r\n\r\n"+inner)
			if strings.Count(got, "HTTP/1.1 ") != 1 || !refusedBy(got, "400", "411", "501") {
				t.Errorf("%s: got %.300q, want one refusal and no more", name, got)
			}
		}
		v.untouched(t)
	}},
	{"method override", func(t *testing.T, v *target) {
		for _, h := range []string{"X-HTTP-Method-Override", "X-HTTP-Method", "X-Method-Override"} {
			if a := v.ask(t, request{path: v.incidentPath(), header: map[string]string{h: "POST"}}); a.status < 400 {
				t.Errorf("%s: %v; want a refusal", h, a)
			}
		}
		if a := v.ask(t, request{path: v.incidentPath() + "?_method=POST"}); a.status < 400 {
			t.Errorf("_method: %v; want a refusal", a)
		}
		for _, m := range []string{"TRACE", "CONNECT", "PROPFIND", "TRACK", "DEBUG", "post"} {
			if a := v.ask(t, request{method: m, path: v.incidentPath()}); a.status != 405 && a.status != 400 {
				t.Errorf("%s: %v; want 405", m, a)
			}
		}
		v.untouched(t)
	}},
	{"upgrade to another protocol", func(t *testing.T, v *target) {
		for _, text := range []string{
			"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00",
			"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA\r\n\r\n",
			"GET /ws HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: Upgrade\r\nUpgrade: websocket, h2c\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n",
			"GET / HTTP/3.0\r\nHost: 127.0.0.1\r\n\r\n",
		} {
			if got := v.raw(t, text); strings.Contains(got, " 101 ") || strings.Contains(got, "\x00\x00") || !refusedBy(got, "400", "505", "405") {
				t.Errorf("%.60q: got %.200q, want a refusal", text, got)
			}
		}
		// A websocket's handshake elsewhere than at its own address gives no connection to write into.
		for _, path := range []string{"/", "/api/v1/processes", "/page.js"} {
			if a := v.ask(t, request{path: path, header: map[string]string{"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA=="}}); a.status == 101 {
				t.Errorf("%s: %v", path, a)
			}
		}
	}},
	{"token in an address", func(t *testing.T, v *target) {
		for _, name := range []string{"token", "access_token", "api_key", "password"} {
			if a := v.ask(t, request{path: "/api/v1/processes?" + name + "=" + operateToken}); a.status != 400 || strings.Contains(a.body, operateToken) {
				t.Errorf("%s: %v; want 400, and not the token again", name, a)
			}
		}
		if text, rows := v.log(t); strings.Contains(text, "0123456789abcdef") || len(rows) == 0 {
			t.Errorf("the audit has %d lines, and the token in them: %s", len(rows), text)
		}
	}},
	{"lines in the log by names", func(t *testing.T, v *target) {
		forged := "x\n{\"msg\":\"action\",\"who\":\"forged\"}\r\n\x1b[2J\u2028"
		_, before := v.log(t)
		v.raw(t, "GET /"+strings.ReplaceAll(forged, "\n", "%0a")+" HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
		v.raw(t, "GET / HTTP/1.1\r\nHost: "+strings.ReplaceAll(forged, "\n", "%0a")+"\r\n\r\n")
		v.raw(t, "GET /%0a%7b%22msg%22:%22action%22%7d HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
		v.raw(t, "G\x1bT / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
		v.ask(t, request{host: "evil.example%0a{\"msg\":\"action\"}"})
		text, rows := v.log(t)
		for _, c := range text {
			if c != '\n' && (c < ' ' || c == 0x7f || c == '\u2028') {
				t.Fatalf("the audit has the character %#x", c)
			}
		}
		for _, row := range rows[len(before):] {
			if row["msg"] != "refused" || row["who"] == "forged" {
				t.Errorf("a line that nobody wrote: %v", row)
			}
		}
		if len(rows) == len(before) {
			t.Error("nothing of that stands in the audit")
		}
	}},
	{"script by names", func(t *testing.T, v *target) {
		for _, path := range []string{"/api/v1/processes", fmt.Sprintf("/api/v1/processes/%d/dump", v.pid), fmt.Sprintf("/api/v1/processes/%d/dump?format=html", v.pid), "/nothing" + scriptName} {
			a := v.ask(t, request{path: strings.NewReplacer("<", "%3c", ">", "%3e", `"`, "%22").Replace(path)})
			if kind := a.header.Get("Content-Type"); strings.Contains(a.body, "<script>document.title") && kind != "application/json" { // which no browser takes for a page: nosniff
				t.Errorf("%s: the name stands as it is in %s: %v", path, kind, a)
			}
			if policy := a.header.Get("Content-Security-Policy"); strings.Contains(a.header.Get("Content-Type"), "html") && (policy == "" || strings.Contains(policy, "script-src 'unsafe-inline'")) {
				t.Errorf("%s: policy %q", path, policy)
			}
			if a.header.Get("X-Content-Type-Options") != "nosniff" {
				t.Errorf("%s: browsers may take it for something else", path)
			}
		}
		page := v.ask(t, request{path: "/"}).header.Get("Content-Security-Policy")
		for _, part := range []string{"default-src 'none'", "script-src 'self'", "base-uri 'none'", "frame-ancestors 'none'"} {
			if !strings.Contains(page, part) {
				t.Errorf("the page's policy %q has no %s", page, part)
			}
		}
		if strings.Contains(page, "unsafe") {
			t.Errorf("the page's policy is %q", page)
		}
	}},
	{"control characters in answers", func(t *testing.T, v *target) {
		looked := 0
		for _, format := range []string{"json", "text", "table", "folded", "markdown", "dot", "html"} {
			a := v.ask(t, request{path: fmt.Sprintf("/api/v1/processes/%d/dump?format=%s", v.pid, format)})
			if a.status != 200 {
				continue // no such format
			}
			looked++
			for _, c := range a.body {
				if c < ' ' && c != '\n' && c != '\t' || c == 0x7f || c >= 0x80 && c < 0xa0 {
					t.Errorf("format %s: the character %#x", format, c)
					break
				}
			}
		}
		if looked < 3 {
			t.Errorf("looked at %d formats", looked)
		}
	}},
	{"verbose errors", func(t *testing.T, v *target) {
		tells := regexp.MustCompile(`goroutine \d|\.go:\d|runtime error|panic|/tmp/|/root|/home|go1\.\d`)
		for _, path := range []string{
			"/nothing", "/api/nothing", "/api/v1/processes/0/dump", "/api/v1/processes/-1/dump", "/api/v1/processes/99999999999999999999/dump", "/api/v1/processes/x/threads/y",
			fmt.Sprintf("/api/v1/processes/%d/threads/999999999999", v.pid), fmt.Sprintf("/api/v1/processes/%d/dump?format=%%ff", v.pid), fmt.Sprintf("/api/v1/processes/%d/dump?filter=((((", v.pid),
			fmt.Sprintf("/api/v1/processes/%d/groups/9999999", v.pid), "/ws", "/access/login",
		} {
			a := v.ask(t, request{path: path})
			if found := tells.FindString(a.body); a.status < 400 || found != "" {
				t.Errorf("%s: %v tells %q", path, a, found)
			}
			if s := a.header.Get("Server") + a.header.Get("X-Powered-By"); s != "" {
				t.Errorf("%s: it says that it is %q", path, s)
			}
		}
	}},
	{"another user of the machine", func(t *testing.T, v *target) {
		if os.Geteuid() != 0 {
			t.Skip("only root can open a connection as another user")
		}
		c := dialAs(t, v.addr, 65534)
		defer c.Close()
		fmt.Fprint(c, "GET /api/v1/processes HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
		if got := hear(c, 300*time.Millisecond); !refusedBy(got, "403") || !strings.Contains(got, "user 65534") {
			t.Errorf("got %.300q, want 403", got)
		}
	}},
	{"too many requests", func(t *testing.T, v *target) {
		c := v.dial(t)
		defer c.Close()
		go func() { // as fast as they are answered
			for err := error(nil); err == nil; {
				_, err = fmt.Fprint(c, "GET /nothing HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
			}
		}()
		if got := hears(c, "HTTP/1.1 429", time.Minute); !strings.Contains(got, "HTTP/1.1 429") {
			t.Errorf("of %d requests one after the other none was refused", strings.Count(got, "HTTP/1.1 "))
		}
	}},
	{"connection exhaustion", func(t *testing.T, v *target) {
		var open []net.Conn
		defer func() {
			for _, c := range open {
				c.Close()
			}
		}()
		for range 300 {
			c := v.dial(t)
			open = append(open, c)
			fmt.Fprint(c, "GET /nothing HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n") // at once: who is late with a head is cut off
		}
		served, stay := 0, 0
		for _, c := range open {
			c.SetReadDeadline(time.Now().Add(time.Minute))
			if n, err := c.Read(make([]byte, 12)); err == nil && n > 0 {
				served++
			}
		}
		for _, c := range open { // who is served later, because another one was idle for too long, is not there at the same time
			if stays(t, c) {
				stay++
			}
		}
		if served == 0 || stay > 256 {
			t.Errorf("%d of 300 connections are served, and %d stay: want some and at most 256", served, stay)
		}
		if a := v.unix(t, "GET /api/v1/processes HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"); !strings.HasPrefix(a, "HTTP/1.1 200") {
			t.Errorf("meanwhile another one gets %.200q, want an answer", a)
		}
	}},
}

func TestKnownAttacksFail(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "own", "sock")
	v := attacked(t, "--addr", "127.0.0.1:0", "--addr", "unix:"+socket)
	v.socket = socket
	if a := v.ask(t, request{}); a.status != 200 || !strings.Contains(a.body, fmt.Sprint(v.pid)) {
		t.Fatalf("an honest request: %v; want the process", a)
	}
	last := map[string]bool{"too many requests": true, "connection exhaustion": true} // what comes after these is refused anyway
	for _, a := range attacks {
		if !last[a.name] {
			t.Run(a.name, func(t *testing.T) { a.try(t, v) })
		}
	}
	for _, a := range attacks {
		if last[a.name] {
			t.Run(a.name, func(t *testing.T) { a.try(t, v) })
		}
	}
	if len(attacks) < 20 {
		t.Errorf("%d attacks, want 20 at least", len(attacks))
	}
	v.patiently(t, func() bool { a, err := v.try(request{}); return err == nil && a.status == 200 }) // those of before may be there still
}

// stays reports whether the server has not closed a connection. It reads what has come.
func stays(t *testing.T, c net.Conn) (open bool) {
	t.Helper()
	raw, err := c.(*net.TCPConn).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	c.SetReadDeadline(time.Time{})
	if err := raw.Read(func(fd uintptr) bool {
		b := make([]byte, 4096)
		for n, err := 1, error(nil); n > 0 || err == syscall.EINTR; {
			n, _, err = syscall.Recvfrom(int(fd), b, syscall.MSG_DONTWAIT)
			open = err == syscall.EAGAIN
		}
		return true
	}); err != nil {
		t.Fatal(err)
	}
	return open
}

// patiently waits for a condition: after a flood the server answers again.
func (v *target) patiently(t *testing.T, condition func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !condition(); time.Sleep(100 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("it does not answer honest requests any more")
		}
	}
}

func refusedBy(answer string, statuses ...string) bool {
	for _, s := range statuses {
		if strings.HasPrefix(answer, "HTTP/1.1 "+s+" ") || strings.HasPrefix(answer, "HTTP/1.0 "+s+" ") {
			return true
		}
	}
	return false
}

// websocket opens one by hand, and skips the first message.
func (v *target) websocket(t *testing.T, extensions string) (net.Conn, string) {
	t.Helper()
	c := v.dial(t)
	head := "GET /ws HTTP/1.1\r\nHost: " + v.addr + "\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n"
	if extensions != "" {
		head += "Sec-WebSocket-Extensions: " + extensions + "\r\n"
	}
	fmt.Fprint(c, head+"\r\n")
	b := make([]byte, 4096)
	c.SetReadDeadline(time.Now().Add(time.Minute))
	n, err := c.Read(b)
	if err != nil || !strings.HasPrefix(string(b[:n]), "HTTP/1.1 101") {
		t.Fatalf("no websocket: %.200q, %v", b[:n], err)
	}
	return c, string(b[:n])
}

// frame returns a frame of a client.
func frame(final bool, reserved, opcode byte, payload []byte) []byte {
	first := opcode | reserved<<4
	if final {
		first |= 0x80
	}
	b := []byte{first}
	switch n := len(payload); {
	case n < 126:
		b = append(b, 0x80|byte(n))
	default:
		b = append(b, 0x80|126, byte(n>>8), byte(n))
	}
	return append(append(b, 0, 0, 0, 0), payload...) // masked by zeros
}

// closed reports whether what was heard ends with a close frame of the server, or at once.
func closed(heard string) bool {
	if heard == "" {
		return true
	}
	for i := len(heard) - 4; i >= 0 && i > len(heard)-130; i-- {
		if heard[i] == '\x88' && int(heard[i+1]) == len(heard)-i-2 {
			return true
		}
	}
	return false
}

// mostForAMessage is how much may be allocated to read a message, of which 12 KB are read: some 100 KB with what unfolds it. One of megabytes takes several
// times its size.
const mostForAMessage = 512 << 10

// Profiles of memory have a sample each half a kilobyte, from the beginning on: then what a message takes is known within some percent.
func init() { runtime.MemProfileRate = 512 }

// readersTook returns how many bytes were allocated so far to read messages of websockets, of all that the process has allocated meanwhile.
func readersTook(t *testing.T) (sum int64) {
	t.Helper()
	runtime.GC() // a profile tells what was allocated before the last collection but one
	runtime.GC()
	records := make([]runtime.MemProfileRecord, 1000)
	for n, ok := runtime.MemProfile(records, true); !ok; n, ok = runtime.MemProfile(records, true) {
		records = make([]runtime.MemProfileRecord, 2*n)
	}
	for i := range records {
		for frames := runtime.CallersFrames(records[i].Stack()); ; {
			frame, more := frames.Next()
			if strings.HasSuffix(frame.Function, "agent.(*client).readMessage") {
				sum += records[i].AllocBytes
				break
			}
			if !more {
				break
			}
		}
	}
	return sum
}

// unix asks by the Unix socket.
func (v *target) unix(t *testing.T, text string) string {
	t.Helper()
	c, err := net.Dial("unix", v.socket)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	fmt.Fprint(c, text)
	return hear(c, 300*time.Millisecond)
}

// dialAs connects as another user: the kernel notes who made a socket. Only the thread that makes it becomes that user.
func dialAs(t *testing.T, addr string, uid uintptr) net.Conn {
	t.Helper()
	made := make(chan int, 1)
	go func() {
		runtime.LockOSThread() // and it ends with the goroutine
		syscall.RawSyscall(syscall.SYS_SETFSUID, uid, 0, 0)
		fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
		if err != nil {
			fd = -1
		}
		made <- fd
	}()
	fd := <-made
	if fd < 0 {
		t.Fatal("no socket")
	}
	at, err := net.ResolveTCPAddr("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Connect(fd, &syscall.SockaddrInet4{Port: at.Port, Addr: [4]byte(at.IP.To4())}); err != nil {
		t.Fatal(err)
	}
	f := os.NewFile(uintptr(fd), "socket")
	defer f.Close()
	c, err := net.FileConn(f)
	if err != nil {
		t.Fatal(err)
	}
	return c
}
