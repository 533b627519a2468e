package main

import (
	"archive/zip"
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/vtscope/vtscope/recording"
	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/flight/flighttest"
)

const (
	readToken    = "read-0123456789abcdef0123456789abcdef"
	operateToken = "operate-0123456789abcdef0123456789abcdef"
)

// Names that a program may have taken from whoever sent it requests.
const (
	scriptName  = `<script>document.title="owned"</script>`
	controlName = "\x1b]0;owned\x07\x1b[2Jx\r\ny\u009b31m"
)

// A target is a vtserve that is attacked. It follows one process: this one, by a flight file with hostile names.
type target struct {
	*running
	addr      string // HOST:PORT
	audit     string // file
	incidents string // directory
	pid       int
	socket    string // Unix socket; "": none
}

// attacked starts a target as the command does.
func attacked(t *testing.T, args ...string) *target {
	t.Helper()
	file := flighttest.Write(t, flighttest.Spec{
		Scopes:  []flighttest.Scope{{Name: scriptName}, {Name: controlName}},
		Stacks:  []flighttest.Stack{{{Func: "main.work", File: "/src/main.go", Line: 7}}},
		Threads: 4,
		Thread: func(i int) flighttest.Thread {
			return flighttest.Thread{Name: []string{scriptName, controlName, "card-4711", "plain"}[i], Scope: i % 3, Stack: 1, State: flight.StateParked, Reason: flight.ReasonPark}
		},
	})
	t.Setenv("VTSCOPE_DIR", file.Dir)
	dir := t.TempDir()
	v := &target{audit: filepath.Join(dir, "audit"), incidents: filepath.Join(dir, "incidents"), pid: os.Getpid()}
	v.running = beginAt(t, append([]string{"--audit", v.audit, "--incidents", v.incidents}, args...)...)
	v.addr = strings.TrimPrefix(strings.TrimPrefix(v.url, "http://"), "https://")
	v.discard()
	t.Cleanup(func() { v.end(t); http.DefaultClient.CloseIdleConnections() })
	return v
}

// beginAt is begin with addresses of its own; without one it is a free port of loopback.
func beginAt(t *testing.T, args ...string) *running {
	t.Helper()
	if !strings.Contains(strings.Join(args, " "), "--addr") {
		args = append([]string{"--addr", "127.0.0.1:0"}, args...)
	}
	ctx, cancel := context.WithCancel(context.Background())
	r, w := io.Pipe()
	s := &running{stdout: bufio.NewReader(r), stderr: &lines{}, stop: cancel, code: make(chan int, 1)}
	go func() {
		s.code <- run(ctx, args, w, s.stderr)
		w.Close()
	}()
	s.url = s.match(t, `^vtserve: ((?:https?://|unix:)\S+)$`)
	return s
}

// tokens returns the arguments for a file with a token of each role.
func tokens(t *testing.T) []string {
	t.Helper()
	return []string{"--token-file", secretFile(t, "tokens", "read "+readToken+"\noperate ann "+operateToken+"\n")}
}

func secretFile(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// A request is one of an attack. Zero fields are as of an honest client.
type request struct {
	method, path, host, token, body string
	header                          map[string]string
}

// An answer is what came back.
type answer struct {
	status int
	header http.Header
	body   string
}

func (a answer) String() string { return fmt.Sprintf("status %d, %.300s", a.status, a.body) }

// ask sends a request on a connection of its own.
func (v *target) ask(t *testing.T, q request) answer {
	t.Helper()
	a, err := v.try(q)
	if err != nil {
		t.Fatalf("%s %s: %v", q.method, q.path, err)
	}
	return a
}

// try is ask of a server that may hang up.
func (v *target) try(q request) (answer, error) {
	if q.method == "" {
		q.method = "GET"
	}
	if q.path == "" {
		q.path = "/api/v1/processes"
	}
	var body io.Reader
	if q.body != "" {
		body = strings.NewReader(q.body)
	}
	r, err := http.NewRequest(q.method, v.url+q.path, body)
	if err != nil {
		return answer{}, err
	}
	if q.host != "" {
		r.Host = q.host
	}
	if q.token != "" {
		r.Header.Set("Authorization", "Bearer "+q.token)
	}
	for k, w := range q.header {
		r.Header.Set(k, w)
	}
	resp, err := (&http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}).RoundTrip(r)
	if err != nil {
		return answer{}, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, 4<<20))
	return answer{resp.StatusCode, resp.Header, string(text)}, err
}

// raw sends bytes and returns all that comes until the server closes the connection, or says nothing for a while.
func (v *target) raw(t *testing.T, text string) string {
	t.Helper()
	c := v.dial(t)
	defer c.Close()
	c.Write([]byte(text))
	return hear(c, 300*time.Millisecond)
}

func (v *target) dial(t *testing.T) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", v.addr)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// ends reads until the connection is closed, for a minute at most.
func ends(c net.Conn) string {
	c.SetReadDeadline(time.Now().Add(time.Minute))
	b, _ := io.ReadAll(io.LimitReader(c, 4<<20)) // closed tells from the text how it ended
	return string(b)
}

// hears reads until a text has come, or the time is up.
func hears(c net.Conn, want string, most time.Duration) string {
	var b bytes.Buffer
	chunk := make([]byte, 4096)
	for c.SetReadDeadline(time.Now().Add(most)); !bytes.Contains(b.Bytes(), []byte(want)); {
		n, err := c.Read(chunk)
		if b.Write(chunk[:n]); err != nil {
			break
		}
	}
	return b.String()
}

// hear reads until the connection is closed, or nothing more comes for a while after something came; a minute at most.
func hear(c net.Conn, silence time.Duration) string {
	var b bytes.Buffer
	chunk := make([]byte, 4096)
	for end := time.Now().Add(time.Minute); b.Len() < 4<<20 && time.Now().Before(end); {
		next := end
		if quiet := time.Now().Add(silence); b.Len() > 0 && quiet.Before(end) {
			next = quiet
		}
		c.SetReadDeadline(next)
		n, err := c.Read(chunk)
		b.Write(chunk[:n])
		if err != nil {
			break
		}
	}
	return b.String()
}

// untouched fails if an action happened: nobody may have taken a bundle.
func (v *target) untouched(t *testing.T) {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(v.incidents, "*"))
	if err != nil || len(found) > 0 {
		t.Errorf("it was done: %v, %v", found, err)
	}
}

// log returns the audit's lines, each of which must be a JSON object.
func (v *target) log(t *testing.T) (text string, rows []map[string]any) {
	t.Helper()
	b, err := os.ReadFile(v.audit)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.SplitSeq(strings.TrimSuffix(string(b), "\n"), "\n") {
		if line == "" {
			continue
		}
		var row map[string]any
		if err := json.Unmarshal([]byte(line), &row); err != nil {
			t.Errorf("a line of the audit is no object: %q", line)
		}
		rows = append(rows, row)
	}
	return string(b), rows
}

func (v *target) incidentPath() string { return fmt.Sprintf("/api/v1/processes/%d/incident", v.pid) }

// pathOf is a path that a route takes.
func (v *target) pathOf(t *testing.T, path string) string {
	t.Helper()
	path = strings.NewReplacer("{pid}", fmt.Sprint(v.pid), "{group}", "1", "{thread}", "1", "{thread...}", "errand-1/1", "{incident}", "1", "{host}", "box:1", "{rest...}", "api/v1/processes").Replace(path)
	if strings.Contains(path, "{") {
		t.Fatalf("%s: no value for what is in braces", path)
	}
	return path
}

// browser returns a client with a jar, which follows no redirects.
func browser(t *testing.T, roots *x509.CertPool) *http.Client {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{RootCAs: roots}}
	return &http.Client{Jar: jar, Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// login shows a token as the page does.
func (v *target) login(t *testing.T, b *http.Client, token string) *http.Response {
	t.Helper()
	r, err := http.NewRequest("POST", v.url+"/access/login", strings.NewReader(url.Values{"token": {token}}.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Origin", v.url)
	resp, err := b.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	io.Copy(io.Discard, resp.Body)
	resp.Body.Close()
	return resp
}

// An authority signs certificates of tests.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	file string
	pool *x509.CertPool
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test CA"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, key := a.sign(t, template, template, nil)
	var err error
	if a.cert, err = x509.ParseCertificate(der); err != nil {
		t.Fatal(err)
	}
	a.key = key
	a.file = secretFile(t, "ca.pem", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})))
	a.pool = x509.NewCertPool()
	a.pool.AddCert(a.cert)
	return a
}

func (a *authority) sign(t *testing.T, template, parent *x509.Certificate, by *ecdsa.PrivateKey) ([]byte, *ecdsa.PrivateKey) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	if by == nil {
		by = key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, by)
	if err != nil {
		t.Fatal(err)
	}
	return der, key
}

// issue writes a certificate and its key: for a server of loopback and these addresses, or for a client with a unit.
func (a *authority) issue(t *testing.T, name, unit string, addresses ...net.IP) (cert, key string) {
	t.Helper()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name, OrganizationalUnit: []string{unit}},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}, DNSNames: []string{"localhost"}, IPAddresses: append(addresses, net.IPv4(127, 0, 0, 1)),
	}
	der, private := a.sign(t, template, a.cert, a.key)
	b, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return secretFile(t, "cert.pem", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))),
		secretFile(t, "key.pem", string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: b})))
}

// outer returns an address of this machine that is not loopback's.
func outer(t *testing.T) net.IP {
	t.Helper()
	all, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range all {
		if n, ok := a.(*net.IPNet); ok && !n.IP.IsLoopback() && n.IP.To4() != nil {
			return n.IP
		}
	}
	t.Skip("this machine has no address but loopback's, so nobody can ask from outside")
	return nil
}

// recorded returns the names that a recording has.
func recorded(t *testing.T, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "x"+recording.Extension)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := recording.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var names []string
	if err := f.Read(t.Context(), func(b *recording.Batch) bool {
		if b.State != nil {
			for _, th := range b.State.Threads {
				names = append(names, th.Name)
			}
			for _, sc := range b.State.Scopes {
				names = append(names, sc.Name)
			}
		}
		return true
	}); err != nil {
		t.Fatal(err)
	}
	return strings.Join(names, "\n")
}

// unpacked returns all that a bundle has, as text.
func unpacked(t *testing.T, path string) string {
	t.Helper()
	z, err := zip.OpenReader(path)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	var all strings.Builder
	for _, file := range z.File {
		r, err := file.Open()
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(r)
		r.Close()
		if err != nil {
			t.Fatal(err)
		}
		switch filepath.Ext(file.Name) {
		case recording.Extension:
			b = []byte(recorded(t, string(b)))
		case ".gz":
			g, err := gzip.NewReader(bytes.NewReader(b))
			if err != nil {
				t.Fatal(err)
			}
			if b, err = io.ReadAll(g); err != nil {
				t.Fatal(err)
			}
		}
		all.WriteString(file.Name + "\n" + string(b) + "\n")
	}
	return all.String()
}
