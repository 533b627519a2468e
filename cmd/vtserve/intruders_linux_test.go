package main

import (
	"bytes"
	"compress/flate"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vtscope/vtscope/agent"
	"github.com/vtscope/vtscope/agent/access"
)

// intrusions are attacks on a vtserve that lets in who shows a token.
var intrusions = []struct {
	name string
	try  func(t *testing.T, v *target)
}{
	{"no token", func(t *testing.T, v *target) {
		paths := []string{"/", "/page.js", "/nothing", "/ws", "/metrics", "/debug/vt/pprof/threads"}
		for _, r := range agent.Routes() {
			paths = append(paths, v.pathOf(t, r.Path))
		}
		if len(paths) < 10 {
			t.Errorf("%d addresses, want all of the interface", len(paths))
		}
		for _, path := range paths {
			for _, method := range []string{"GET", "POST"} {
				if a := v.ask(t, request{method: method, path: path}); a.status != 401 || strings.Contains(a.body, "main.work") || strings.Contains(a.body, "flighttest") {
					t.Errorf("%s %s: %v; want 401", method, path, a)
				}
			}
		}
		v.untouched(t)
	}},
	{"a part of a token", func(t *testing.T, v *target) {
		for _, token := range []string{operateToken[:len(operateToken)-1], operateToken + "0", strings.ToUpper(operateToken), "", "*", operateToken + "," + readToken} {
			if a := v.ask(t, request{token: token}); a.status != 401 {
				t.Errorf("%q: %v; want 401", token, a)
			}
		}
		for _, h := range []string{"Basic " + operateToken, operateToken, "Bearer", "bearer\t" + operateToken} {
			if a := v.ask(t, request{header: map[string]string{"Authorization": h}}); a.status != 401 {
				t.Errorf("%q: %v; want 401", h, a)
			}
		}
	}},
	{"wrong role", func(t *testing.T, v *target) {
		if a := v.ask(t, request{token: readToken}); a.status != 200 {
			t.Errorf("reading: %v; want 200", a)
		}
		tried := 0
		for _, r := range agent.Routes() {
			if r.Operate {
				tried++
				path := v.pathOf(t, r.Path)
				if a := v.ask(t, request{method: r.Method, path: path, token: readToken, header: map[string]string{"Origin": v.url}}); a.status != 403 {
					t.Errorf("%s %s: %v; want 403", r.Method, path, a)
				}
			}
		}
		if tried < 3 {
			t.Errorf("%d actions were tried", tried)
		}
		v.untouched(t)
	}},
	{"cookie theft", func(t *testing.T, v *target) {
		b := browser(t, nil)
		r := v.login(t, b, operateToken)
		if r.StatusCode != 303 || r.Header.Get("Location") != "../" || len(r.Cookies()) != 1 {
			t.Fatalf("login: %v, %v; want a cookie and a way back", r.Status, r.Header)
		}
		c := r.Cookies()[0]
		if !c.HttpOnly || c.SameSite != http.SameSiteStrictMode || c.Path != "/" || c.Domain != "" || c.MaxAge <= 0 || len(c.Value) < 40 || strings.Contains(operateToken, c.Value) {
			t.Errorf("cookie %v: want HttpOnly, SameSite=Strict, of this host alone, and no token", c)
		}
		cookie := map[string]string{"Cookie": c.Name + "=" + c.Value}
		if a := v.ask(t, request{header: cookie}); a.status != 200 {
			t.Errorf("with the cookie: %v; want 200", a)
		}
		// Another site's page cannot use it, a wrong one is none, and after a logout it is none.
		for _, h := range []map[string]string{
			{"Cookie": cookie["Cookie"], "Origin": "http://evil.example"}, {"Cookie": cookie["Cookie"], "Sec-Fetch-Site": "cross-site"},
		} {
			if a := v.ask(t, request{method: "POST", path: v.incidentPath(), header: h}); a.status != 403 {
				t.Errorf("%v: %v; want 403", h, a)
			}
		}
		if a := v.ask(t, request{header: map[string]string{"Cookie": c.Name + "=" + c.Value[1:] + "A"}}); a.status != 401 {
			t.Errorf("a wrong cookie: %v; want 401", a)
		}
		// From an address of this machine that is not loopback's the cookie of loopback is worth nothing: TestACookieIsBoundToAnAddress of agent/access.
		if a := v.ask(t, request{method: "POST", path: "/access/logout", header: cookie}); a.status != 303 {
			t.Errorf("logout: %v; want 303", a)
		}
		if a := v.ask(t, request{header: cookie}); a.status != 401 {
			t.Errorf("after the logout: %v; want 401", a)
		}
		v.untouched(t)
	}},
	{"session fixation", func(t *testing.T, v *target) {
		name := "vtscope-" + v.addr[strings.LastIndexByte(v.addr, ':')+1:]
		b := browser(t, nil)
		u, _ := url.Parse(v.url)
		planted := strings.Repeat("A", 43)
		b.Jar.SetCookies(u, []*http.Cookie{{Name: name, Value: planted}})
		if r := v.login(t, b, operateToken); r.StatusCode != 303 || len(r.Cookies()) != 1 || r.Cookies()[0].Value == planted || r.Cookies()[0].Name != name {
			t.Errorf("login: %v, %v; want a cookie of the server's own", r.Status, r.Cookies())
		}
		if a := v.ask(t, request{header: map[string]string{"Cookie": name + "=" + planted}}); a.status != 401 {
			t.Errorf("the planted cookie: %v; want 401", a)
		}
	}},
	{"login by another site", func(t *testing.T, v *target) {
		for _, h := range []map[string]string{{"Origin": "http://evil.example"}, {"Origin": "null"}, {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}} {
			h["Content-Type"] = "application/x-www-form-urlencoded"
			a := v.ask(t, request{method: "POST", path: "/access/login", body: "token=" + readToken, header: h})
			if a.status != 403 || a.header.Get("Set-Cookie") != "" {
				t.Errorf("%v: %v; want 403", h, a)
			}
		}
		if a := v.ask(t, request{path: "/access/login?token=" + readToken}); a.status < 400 || a.header.Get("Set-Cookie") != "" {
			t.Errorf("by an address: %v; want a refusal", a)
		}
	}},
	{"the page that asks for the token", func(t *testing.T, v *target) {
		a := v.ask(t, request{path: "/", header: map[string]string{"Accept": "text/html"}})
		policy := a.header.Get("Content-Security-Policy")
		if a.status != 401 || !strings.Contains(a.body, `type="password"`) || !strings.Contains(policy, "default-src 'none'") || !strings.Contains(policy, "form-action 'self'") || strings.Contains(policy, "unsafe") {
			t.Errorf("%v, policy %q; want a form and nothing else", a, policy)
		}
		if strings.Contains(a.body, "<script") || a.header.Get("X-Frame-Options") != "DENY" || a.header.Get("Cache-Control") != "no-store" {
			t.Errorf("%v, %v", a, a.header)
		}
	}},
	{"websocket without a token", func(t *testing.T, v *target) {
		a := v.ask(t, request{path: "/ws", header: map[string]string{"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA=="}})
		if a.status != 401 {
			t.Errorf("%v; want 401", a)
		}
		for _, protocol := range []string{"vtscope.1, " + operateToken} { // where some put it, and proxies log it
			if a := v.ask(t, request{path: "/ws", header: map[string]string{"Sec-WebSocket-Protocol": protocol, "Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA=="}}); a.status != 401 {
				t.Errorf("%v; want 401", a)
			}
		}
	}},
	{"token in the log", func(t *testing.T, v *target) {
		v.ask(t, request{token: operateToken})
		v.ask(t, request{method: "POST", path: v.incidentPath() + "?x=" + operateToken, token: operateToken})
		v.ask(t, request{method: "POST", path: v.incidentPath(), token: operateToken})
		v.ask(t, request{path: "/api/v1/processes?token=" + operateToken, token: readToken})
		v.ask(t, request{token: "guess-" + operateToken, path: "/api/v1/processes?q=" + operateToken})
		v.login(t, browser(t, nil), readToken)
		text, rows := v.log(t)
		for _, secret := range []string{readToken, operateToken, "0123456789abcdef"} {
			if strings.Contains(text+v.stderr.String(), secret) {
				t.Errorf("%s stands in the audit or on standard error:\n%s\n%s", secret, text, v.stderr)
			}
		}
		// And what must stand there does.
		if !slices.ContainsFunc(rows, func(r map[string]any) bool {
			return r["msg"] == "action" && r["who"] == "ann" && r["role"] == "operate" && r["result"] == "201" && r["process"] == fmt.Sprint(v.pid) && strings.HasPrefix(fmt.Sprint(r["what"]), "POST /api/v1/processes/")
		}) {
			t.Errorf("no line of the action:\n%s", text)
		}
	}},
	{"token by brute force", func(t *testing.T, v *target) {
		refused := 0
		for i := range 30 {
			if a := v.ask(t, request{token: fmt.Sprintf("%032d", i)}); a.status == 429 {
				refused++
			} else if a.status != 401 {
				t.Errorf("guess %d: %v", i, a)
			}
		}
		if refused < 15 {
			t.Errorf("%d of 30 guesses were refused unread, want most", refused)
		}
		// Whoever guesses does not learn that one was right.
		if a := v.ask(t, request{token: operateToken}); a.status != 429 {
			t.Errorf("the right one after that: %v; want 429", a)
		}
		if r := v.login(t, browser(t, nil), operateToken); r.StatusCode != 429 {
			t.Errorf("by the page: %v; want 429", r.Status)
		}
	}},
}

func TestIntrudersFail(t *testing.T) {
	for _, a := range intrusions { // one for each, so that the failures of one do not count for the next
		t.Run(a.name, func(t *testing.T) {
			v := attacked(t, tokens(t)...)
			a.try(t, v)
		})
	}
}

func TestAnAddressThatOthersReachNeedsATokenAndTLS(t *testing.T) {
	ca := newAuthority(t)
	cert, key := ca.issue(t, "vtserve", "")
	with := tokens(t)
	secure := []string{"--tls-cert", cert, "--tls-key", key}
	for _, addr := range []string{"0.0.0.0:0", ":0", "[::]:0", "192.0.2.1:7070", "example.com:7070"} {
		for _, c := range []struct {
			args []string
			want string
		}{
			{nil, "neither a token nor TLS"}, {with, "clear text"}, {secure, "no token"}, {[]string{"--client-ca", ca.file}, "without TLS"},
		} {
			code, stdout, stderr := call(append([]string{"--addr", addr}, c.args...)...)
			if code != 2 || stdout != "" || !strings.Contains(stderr, c.want) || !strings.Contains(stderr, "    try: --t") {
				t.Errorf("%s %v: exit code %d, %q, %q; want 2, %q and what to try", addr, c.args, code, stdout, stderr, c.want)
			}
		}
	}
	if code, _, stderr := call(append(append([]string{"--addr", "0.0.0.0:0"}, with...), secure...)...); code != 0 {
		t.Errorf("with both: exit code %d, %s; want 0", code, stderr)
	}
	if code, _, stderr := call(append([]string{"--addr", "0.0.0.0:0", "--client-ca", ca.file}, secure...)...); code != 0 {
		t.Errorf("with certificates of clients: exit code %d, %s; want 0", code, stderr)
	}
}

func TestSecretFilesThatOthersMayReadAreRefused(t *testing.T) {
	ca := newAuthority(t)
	cert, key := ca.issue(t, "vtserve", "")
	file := tokens(t)[1]
	for _, c := range []struct {
		name string
		args []string
	}{{file, []string{"--token-file", file}}, {key, []string{"--tls-cert", cert, "--tls-key", key}}} {
		if err := os.Chmod(c.name, 0o644); err != nil {
			t.Fatal(err)
		}
		if code, _, stderr := call(c.args...); code != 2 || !strings.Contains(stderr, "others may have it") || !strings.Contains(stderr, "try: chmod 600") {
			t.Errorf("%v: exit code %d, %s; want 2", c.args, code, stderr)
		}
	}
}

func TestOverTLSFromOutside(t *testing.T) {
	ip := outer(t)
	ca := newAuthority(t)
	cert, key := ca.issue(t, "vtserve", "", ip)
	v := attacked(t, append(tokens(t), "--addr", net.JoinHostPort(ip.String(), "0"), "--tls-cert", cert, "--tls-key", key)...)
	if !strings.HasPrefix(v.url, "https://"+ip.String()) {
		t.Fatalf("it listens on %s", v.url)
	}
	t.Run("clear text", func(t *testing.T) {
		if got := v.raw(t, "GET /api/v1/processes HTTP/1.1\r\nHost: "+v.addr+"\r\nAuthorization: Bearer "+readToken+"\r\n\r\n"); strings.Contains(got, "200 OK") {
			t.Errorf("got %.200q", got)
		}
	})
	t.Run("old TLS", func(t *testing.T) {
		c, err := tls.Dial("tcp", v.addr, &tls.Config{RootCAs: ca.pool, MaxVersion: tls.VersionTLS12})
		if err == nil {
			c.Close()
			t.Error("TLS 1.2 is spoken")
		}
	})
	t.Run("HTTP/2 is not spoken", func(t *testing.T) {
		c, err := tls.Dial("tcp", v.addr, &tls.Config{RootCAs: ca.pool, NextProtos: []string{"h2", "http/1.1"}})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if p := c.ConnectionState().NegotiatedProtocol; p != "http/1.1" {
			t.Errorf("chosen: %q, want http/1.1", p)
		}
	})
	t.Run("a cookie for TLS alone", func(t *testing.T) {
		r := v.login(t, browser(t, ca.pool), readToken)
		if r.StatusCode != 303 || len(r.Cookies()) != 1 || !r.Cookies()[0].Secure || !strings.HasPrefix(r.Cookies()[0].Name, "__Secure-") {
			t.Errorf("%v, %v", r.Status, r.Cookies())
		}
	})
	t.Run("the client of the command line", func(t *testing.T) {
		c, err := access.NewClient(access.ClientOptions{Address: v.addr, Token: readToken, CA: ca.file})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		r, err := c.HTTP().Get(c.URL("/api/v1/processes"))
		if err != nil {
			t.Fatal(err)
		}
		defer r.Body.Close()
		if text, _ := io.ReadAll(r.Body); r.StatusCode != 200 || !bytes.Contains(text, []byte(fmt.Sprint(v.pid))) {
			t.Errorf("%v, %s", r.Status, text)
		}
	})
	t.Run("decompression bomb, websocket", func(t *testing.T) {
		// Over a network the websocket is compressed.
		var b bytes.Buffer
		z, _ := flate.NewWriter(&b, 9)
		z.Write(make([]byte, 3<<20))
		z.Flush()
		bomb := b.Bytes()[:b.Len()-4]
		c, err := tls.Dial("tcp", v.addr, &tls.Config{RootCAs: ca.pool})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		fmt.Fprintf(c, "GET /ws HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n"+
			"Sec-WebSocket-Extensions: permessage-deflate; server_no_context_takeover; client_no_context_takeover\r\n\r\n", v.addr, readToken)
		head := make([]byte, 4096)
		c.SetReadDeadline(time.Now().Add(time.Minute))
		n, err := c.Read(head)
		if err != nil || !strings.Contains(string(head[:n]), "permessage-deflate") {
			t.Fatalf("no compressed websocket: %.300q, %v", head[:n], err)
		}
		if len(bomb) > 4000 {
			t.Fatalf("the bomb has %d bytes, more than a message may have", len(bomb))
		}
		before := readersTook(t)
		c.Write(frame(true, 1<<2, 1, bomb))
		if got := ends(c); !closed(got) && !strings.Contains(got, "error") {
			t.Errorf("after a message that unfolds to 3 MB: %.200q", got)
		}
		if took := readersTook(t) - before; took > mostForAMessage || took == 0 {
			t.Errorf("reading it took %d bytes, want some and at most %d", took, mostForAMessage)
		}
	})
}

func TestCertificatesOfClients(t *testing.T) {
	ca, other := newAuthority(t), newAuthority(t)
	cert, key := ca.issue(t, "vtserve", "")
	v := attacked(t, "--tls-cert", cert, "--tls-key", key, "--client-ca", ca.file)
	for _, c := range []struct {
		name        string
		ca          *authority
		unit        string
		read, write int // status; 0: no connection
	}{{"reader", ca, "", 200, 403}, {"operator", ca, "operate", 200, 201}, {"stranger", other, "operate", 0, 0}} {
		cc, ck := c.ca.issue(t, c.name, c.unit)
		client, err := access.NewClient(access.ClientOptions{Address: v.url, CA: ca.file, Certificate: cc, Key: ck})
		if err != nil {
			t.Fatal(err)
		}
		for i, method := range []string{"GET", "POST"} {
			path := "/api/v1/processes"
			if method == "POST" {
				path = v.incidentPath()
			}
			q, err := http.NewRequest(method, client.URL(path), nil)
			if err != nil {
				t.Fatal(err)
			}
			r, err := client.HTTP().Do(q)
			got := 0
			if err == nil {
				got = r.StatusCode
				r.Body.Close()
			}
			if want := []int{c.read, c.write}[i]; got != want {
				t.Errorf("%s, %s: got %d, %v; want %d", c.name, method, got, err, want)
			}
		}
		client.Close()
	}
	if _, rows := v.log(t); !slices.ContainsFunc(rows, func(r map[string]any) bool { return r["who"] == "certificate:operator" && r["msg"] == "action" }) {
		t.Errorf("no line of what the operator did: %v", rows)
	}
	c, err := tls.Dial("tcp", v.addr, &tls.Config{RootCAs: ca.pool})
	if err == nil {
		fmt.Fprint(c, "GET /api/v1/processes HTTP/1.1\r\nHost: localhost\r\n\r\n")
		if got := hear(c, 300*time.Millisecond); strings.Contains(got, "200 OK") {
			t.Errorf("without a certificate: %.200q", got)
		}
		c.Close()
	}
}

func TestSocketsInThePlaceOfOthersAreRefused(t *testing.T) {
	dir := t.TempDir()
	make := func(name string, mode os.FileMode) string {
		d := filepath.Join(dir, name)
		if err := os.Mkdir(d, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(d, mode); err != nil {
			t.Fatal(err)
		}
		return d
	}
	own := make("own", 0o700)
	link := filepath.Join(dir, "link")
	if err := os.Symlink(own, link); err != nil {
		t.Fatal(err)
	}
	target := filepath.Join(dir, "target")
	if err := os.WriteFile(target, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(target, filepath.Join(own, "linked")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(own, "file"), []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	alive, err := net.Listen("unix", filepath.Join(own, "alive"))
	if err != nil {
		t.Fatal(err)
	}
	defer alive.Close()
	for name, path := range map[string]string{
		"a directory that others may enter":   filepath.Join(make("open", 0o755), "s"),
		"a directory that others may write":   filepath.Join(make("shared", 0o777), "s"),
		"a directory that a group may enter":  filepath.Join(make("group", 0o750), "s"),
		"a link to a directory":               filepath.Join(link, "s"),
		"a link in the place of the socket":   filepath.Join(own, "linked"),
		"a file in the place of the socket":   filepath.Join(own, "file"),
		"a socket that somebody listens on":   filepath.Join(own, "alive"),
		"a directory whose parent is missing": filepath.Join(dir, "a", "b", "s"),
	} {
		code, stdout, stderr := call("--addr", "unix:"+path)
		if code != 1 || stdout != "" || !strings.Contains(stderr, "    try: ") {
			t.Errorf("%s: exit code %d, %q, %q; want 1 and what to try", name, code, stdout, stderr)
		}
	}
	for _, name := range []string{target, filepath.Join(own, "file")} {
		if text, err := os.ReadFile(name); string(text) != "precious" {
			t.Errorf("%s: %q, %v; want it untouched", name, text, err)
		}
	}

	// One that a killed server left is taken over; the new one goes at the end.
	stale := filepath.Join(own, "stale")
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: stale})
	if err != nil {
		t.Fatal(err)
	}
	l.SetUnlinkOnClose(false)
	l.Close()
	fresh := filepath.Join(dir, "fresh", "sock")
	for _, path := range []string{stale, fresh} {
		v := beginAt(t, "--addr", "unix:"+path)
		if v.url != "unix:"+path {
			t.Errorf("it says %s, want unix:%s", v.url, path)
		}
		for name, want := range map[string]os.FileMode{path: 0o600 | os.ModeSocket, filepath.Dir(path): 0o700 | os.ModeDir} {
			if info, err := os.Lstat(name); err != nil || info.Mode() != want {
				t.Errorf("%s: %v, %v; want mode %v", name, info.Mode(), err, want)
			}
		}
		c, err := access.NewClient(access.ClientOptions{Address: v.url})
		if err != nil {
			t.Fatal(err)
		}
		r, err := c.HTTP().Get(c.URL("/api/v1/processes"))
		if err != nil || r.StatusCode != 200 {
			t.Errorf("%s: %v, %v; want an answer", path, r, err)
		} else {
			r.Body.Close()
		}
		c.Close()
		v.end(t)
		if _, err := os.Lstat(path); !os.IsNotExist(err) {
			t.Errorf("%s: %v; want it gone", path, err)
		}
	}
}

func TestWhatARuleHidesLeavesByNoWay(t *testing.T) {
	for _, hidden := range []bool{false, true} { // without rules each of these ways shows it
		t.Run(fmt.Sprint("hidden=", hidden), func(t *testing.T) {
			var args []string
			if hidden {
				args = []string{"--redact", `name=~/card-\d+/`, "--redact", "any=~/document/t"}
			}
			v := attacked(t, args...)
			ways := map[string]string{}
			of := fmt.Sprintf("/api/v1/processes/%d/", v.pid)
			for _, path := range []string{"dump", "dump?format=html", "dump?format=jdk", "threads/3", "groups/1"} {
				ways[path] = v.ask(t, request{path: of + path}).body
			}
			for _, format := range []string{"text", "markdown", "folded"} {
				ways["a dump as "+format+", of its scopes"] = v.ask(t, request{path: of + "dump?format=" + format}).body
			}
			c, _ := v.websocket(t, "")
			defer c.Close()
			ways["the websocket"] = hears(c, map[bool]string{false: "document.title", true: "[redacted"}[hidden], time.Minute) + hears(c, "\x00 is never sent", 2*time.Second)
			ways["a recording"] = recorded(t, v.ask(t, request{method: "POST", path: of + "recording?for=100ms"}).body)
			if a := v.ask(t, request{method: "POST", path: of + "incident"}); a.status != 201 {
				t.Fatalf("a bundle: %v", a)
			}
			bundles, err := filepath.Glob(filepath.Join(v.incidents, "*"))
			if err != nil || len(bundles) != 1 {
				t.Fatalf("bundles %v, %v", bundles, err)
			}
			ways["a bundle"] = unpacked(t, bundles[0])
			for way, text := range ways {
				shows := strings.Contains(text, "card-4711") || strings.Contains(text, "document.title")
				if shows == hidden {
					t.Errorf("%s shows the name: %v; hidden: %v; %.500s", way, shows, hidden, text)
				}
			}
			if hidden && (!strings.Contains(ways["dump"], "[redacted]") || !strings.Contains(ways["dump"], "plain")) {
				t.Errorf("want what is hidden marked, and the rest as it is: %.2000s", ways["dump"])
			}
		})
	}
}

func TestTheDocumentNamesEveryAttack(t *testing.T) {
	text, err := os.ReadFile("../../docs/security.md")
	if err != nil {
		t.Fatal(err)
	}
	_, list, _ := strings.Cut(string(text), "## What is tried\n")
	list, _, _ = strings.Cut(list, "\n## ")
	var want []string
	for _, a := range attacks {
		want = append(want, "* "+a.name)
	}
	for _, a := range intrusions {
		want = append(want, "* "+a.name)
	}
	var got []string
	for line := range strings.SplitSeq(list, "\n") {
		if strings.HasPrefix(line, "* ") {
			got = append(got, line)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("docs/security.md names\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
