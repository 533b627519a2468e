package access

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"runtime/pprof"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/pprof/profile"
)

var hello = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
	fmt.Fprintf(w, "hello %s %v", CallerOf(r.Context()).Name, CallerOf(r.Context()).Role)
})

// by asks a handler as if from an address.
func by(h http.Handler, remote string, change func(r *http.Request)) *httptest.ResponseRecorder {
	r := httptest.NewRequest("GET", "/", nil)
	r.Host, r.RemoteAddr = "localhost", remote
	if change != nil {
		change(r)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func policy(t *testing.T, o Options) *Policy {
	t.Helper()
	p, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestInAServerOfSomebodyElseLoopbackAloneNeedsNoToken(t *testing.T) {
	h := policy(t, Options{}).Handler(hello, nil)
	header := func(k, v string) func(*http.Request) { return func(r *http.Request) { r.Header.Set(k, v) } }
	for _, c := range []struct {
		remote string
		change func(*http.Request)
		want   int
	}{
		{"127.0.0.1:1", nil, 200}, {"[::1]:1", nil, 200}, {"[::ffff:127.0.0.1]:1", nil, 200},
		{"192.0.2.1:1", nil, 403}, {"10.0.0.1:1", nil, 403}, {"@", nil, 403}, {"", nil, 403}, {"127.0.0.1", nil, 403},
		{"127.0.0.1:1", header("X-Forwarded-For", "192.0.2.1"), 403}, {"127.0.0.1:1", header("Forwarded", "for=192.0.2.1"), 403}, {"127.0.0.1:1", header("Via", "1.1 proxy"), 403},
		{"192.0.2.1:1", header("X-Forwarded-For", "127.0.0.1"), 403},
	} {
		if w := by(h, c.remote, c.change); w.Code != c.want {
			t.Errorf("from %q: status %d, %s; want %d", c.remote, w.Code, w.Body, c.want)
		}
	}
}

func TestATokenIsTakenOverTLSOrLoopbackAlone(t *testing.T) {
	h := policy(t, Options{Tokens: tokens()}).Handler(hello, nil)
	show := func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+readToken) }
	for _, c := range []struct {
		remote string
		tls    bool
		want   int
	}{{"127.0.0.1:1", false, 200}, {"192.0.2.1:1", true, 200}, {"192.0.2.1:1", false, 403}} {
		w := by(h, c.remote, func(r *http.Request) {
			show(r)
			if c.tls {
				r.TLS = &tls.ConnectionState{}
			}
		})
		if w.Code != c.want || c.want == 200 && w.Body.String() != "hello token:read read" {
			t.Errorf("from %s, TLS %v: status %d, %s; want %d", c.remote, c.tls, w.Code, w.Body, c.want)
		}
	}
}

func TestACookieIsBoundToAnAddress(t *testing.T) {
	h := policy(t, Options{Tokens: tokens()}).Handler(hello, nil)
	login := by(h, "192.0.2.1:1", func(r *http.Request) {
		body := url.Values{"token": {operateToken}}.Encode()
		*r = *httptest.NewRequest("POST", "/debug/vt/access/login", strings.NewReader(body))
		r.Host, r.RemoteAddr, r.TLS = "localhost", "192.0.2.1:1", &tls.ConnectionState{}
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	})
	cookies := login.Result().Cookies()
	if login.Code != http.StatusSeeOther || len(cookies) != 1 || !cookies[0].Secure || cookies[0].Path != "/debug/vt/" {
		t.Fatalf("status %d, %v; want a cookie for TLS and the prefix", login.Code, cookies)
	}
	for remote, want := range map[string]int{"192.0.2.1:9": 200, "192.0.2.2:1": 401} {
		w := by(h, remote, func(r *http.Request) { r.TLS = &tls.ConnectionState{}; r.AddCookie(cookies[0]) })
		if w.Code != want || want == 200 && w.Body.String() != "hello ann operate" {
			t.Errorf("from %s: status %d, %s; want %d", remote, w.Code, w.Body, want)
		}
	}
}

func TestSessionsEndByTimeAndNumber(t *testing.T) {
	var s sessions
	s.init(3)
	who := peerOf("127.0.0.1:1")
	now := time.Unix(1000, 0)
	var values []string
	for i := range 5 {
		values = append(values, s.begin(Caller{Name: fmt.Sprint(i), Role: Read}, who, now.Add(time.Duration(i)), time.Hour))
	}
	ask := func(value string, at time.Time) bool {
		r := httptest.NewRequest("GET", "/", nil)
		r.AddCookie(&http.Cookie{Name: "vtscope", Value: value})
		_, ok := s.find(r, who, at)
		return ok
	}
	for i, value := range values {
		if got, want := ask(value, now.Add(time.Minute)), i >= 2; got != want {
			t.Errorf("session %d: got %v, want %v: the newest three", i, got, want)
		}
		if ask(value, now.Add(2*time.Hour)) {
			t.Errorf("session %d lives after its time", i)
		}
	}
}

func TestAnActionHasItsLineEvenIfItPanics(t *testing.T) {
	var log strings.Builder
	p := policy(t, Options{Audit: slog.New(slog.NewJSONHandler(&log, nil))})
	h := p.Handler(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("secret stack") }), func(*http.Request) Role { return Operate })
	func() {
		defer func() { recover() }()
		by(h, "127.0.0.1:1", nil)
	}()
	if text := log.String(); !strings.Contains(text, `"msg":"action"`) || !strings.Contains(text, `"result":"panic"`) || !strings.Contains(text, `"who":"local"`) {
		t.Errorf("got %s", text)
	}
}

// A watchedListener remembers which times are set for its newest connection.
type watchedListener struct {
	net.Listener
	newest atomic.Pointer[watchedConn]
}

type watchedConn struct {
	net.Conn
	mu struct {
		sync.Mutex
		reads  []time.Time // by when something had to come; zero: whenever
		writes []time.Time
	}
}

func (l *watchedListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	w := &watchedConn{Conn: c}
	l.newest.Store(w)
	return w, nil
}

func (c *watchedConn) SetDeadline(at time.Time) error {
	c.note(&c.mu.reads, at)
	c.note(&c.mu.writes, at)
	return c.Conn.SetDeadline(at)
}

func (c *watchedConn) SetReadDeadline(at time.Time) error {
	c.note(&c.mu.reads, at)
	return c.Conn.SetReadDeadline(at)
}

func (c *watchedConn) SetWriteDeadline(at time.Time) error {
	c.note(&c.mu.writes, at)
	return c.Conn.SetWriteDeadline(at)
}

func (c *watchedConn) note(all *[]time.Time, at time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	*all = append(*all, at)
}

func TestAHandlerMayTakeLongerThanABody(t *testing.T) {
	const head, body = time.Hour, 2 * time.Hour
	p := policy(t, Options{Limits: Limits{HeaderTime: head, BodyTime: body, WriteTime: 3 * time.Hour}})
	var l watchedListener
	began := time.Now()
	server := httptest.NewUnstartedServer(nil)
	server.Config = p.Server(p.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c := l.newest.Load()
		c.mu.Lock()
		reads, writes := slices.Clone(c.mu.reads), slices.Clone(c.mu.writes)
		c.mu.Unlock()
		within := func(limit time.Duration) func(time.Time) bool {
			return func(at time.Time) bool { return !at.Before(began.Add(limit)) && !at.After(time.Now().Add(limit)) }
		}
		if !slices.ContainsFunc(reads, within(head)) || !slices.ContainsFunc(reads, within(body)) {
			t.Errorf("head and body had to come by %v, want by an hour and two later", reads)
		}
		if n := len(reads); n > 0 && !reads[n-1].IsZero() || len(writes) > 0 && !writes[len(writes)-1].IsZero() {
			t.Errorf("while the handler works it has to read by %v, and to write by %v: want no time", reads, writes)
		}
		io.Copy(w, r.Body)
	}), nil))
	l.Listener, server.Listener = server.Listener, &l
	server.Start()
	defer server.Close()
	r, err := http.Post(server.URL, "text/plain", strings.NewReader("body"))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	if string(text) != "body" || err != nil {
		t.Errorf("got %q, %v", text, err)
	}
	http.DefaultClient.CloseIdleConnections()
}

func TestAClientShowsItsTokenToItsServerAlone(t *testing.T) {
	shown := make(chan string, 10)
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { shown <- "other: " + r.Header.Get("Authorization") }))
	defer other.Close()
	own := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		shown <- "own: " + r.Header.Get("Authorization")
		http.Redirect(w, r, other.URL, http.StatusFound)
	}))
	defer own.Close()
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte(readToken+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv(EnvTokenFile, file)
	c, err := NewClient(ClientOptions{Address: strings.TrimPrefix(own.URL, "http://")})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	r, err := c.HTTP().Get(c.URL("/x"))
	if err != nil || r.StatusCode != http.StatusFound {
		t.Fatalf("got %v, %v; want the redirect itself", r, err)
	}
	r.Body.Close()
	if got := <-shown; got != "own: Bearer "+readToken || len(shown) > 0 {
		t.Errorf("got %q, and %d more", got, len(shown))
	}
	if r, err := c.HTTP().Get(other.URL); err == nil {
		r.Body.Close()
		t.Error("it asks another server")
	}
	t.Setenv(EnvToken, operateToken)
	for address, ok := range map[string]bool{
		"127.0.0.1:7070": true, "localhost:7070": true, "box.example:7070": true, "https://box.example/debug/vt/": true, "unix:/run/x": true, "[::1]:7070": true,
		"http://box.example:7070": false, "ftp://box": false, "box": false, "unix:": false, "https://user@box:1": false, "https://box:1/?token=x": false, "": false, "a b:1": false,
	} {
		c, err := NewClient(ClientOptions{Address: address})
		if (err == nil) != ok {
			t.Errorf("%q: %v; want it taken: %v", address, err, ok)
		}
		if err == nil {
			if u := c.URL("/ws"); strings.HasPrefix(address, "box") && !strings.HasPrefix(u, "https://") || strings.HasPrefix(c.WebsocketURL("/ws"), "http") || strings.Contains(u, "//ws") {
				t.Errorf("%q: addresses %s, %s", address, u, c.WebsocketURL("/ws"))
			}
			c.Close()
		} else if strings.Contains(err.Error(), operateToken) {
			t.Errorf("%q: the token stands in %v", address, err)
		}
	}
	os.Chmod(file, 0o644)
	if _, err := NewClient(ClientOptions{Address: "localhost:1", TokenFile: file}); err == nil {
		t.Error("a file that others may read was taken")
	}
}

func TestLabelsOfProfilesAreHidden(t *testing.T) {
	var b bytes.Buffer
	pprof.Do(t.Context(), pprof.Labels("vt.name", "card-4711", "vt.scope", "tenant-acme", "mine", "plain card-4711"), func(context.Context) {
		if err := pprof.Lookup("goroutine").WriteTo(&b, 0); err != nil {
			t.Fatal(err)
		}
	})
	r, err := ParseRules(`name=~/card-\d+/`, `scope=~/tenant-\w+/`)
	if err != nil {
		t.Fatal(err)
	}
	labels := func(b []byte) string {
		p, err := profile.ParseData(b)
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprint(p)
	}
	if before := labels(b.Bytes()); !strings.Contains(before, "card-4711") || !strings.Contains(before, "tenant-acme") {
		t.Fatalf("the profile has no labels: %s", before)
	}
	out, err := r.Profile(b.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	after := labels(out)
	if strings.Contains(after, "vt.name:[card-4711]") || strings.Contains(after, "acme") || !strings.Contains(after, "plain card-4711") || !strings.Contains(after, "[redacted]") {
		t.Errorf("got %s", after)
	}
	if same, err := (&Redactor{}).Profile([]byte("anything")); string(same) != "anything" || err != nil {
		t.Errorf("without rules: got %q, %v", same, err)
	}
	if _, err := r.Profile([]byte("anything")); err == nil {
		t.Error("what cannot be read is given on")
	}
}

func TestTheDocumentHasEveryField(t *testing.T) {
	text, err := os.ReadFile("../../docs/security.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range Fields() {
		if row := fmt.Sprintf("| `%s` | %s |\n", f[0], f[1]); !strings.Contains(string(text), row) {
			t.Errorf("docs/security.md has no row %s", row)
		}
	}
}
