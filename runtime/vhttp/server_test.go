package vhttp_test

import (
	"bytes"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/vtscope/vtscope/runtime/vhttp"
	"github.com/vtscope/vtscope/runtime/vthread"
)

// patience is how long a test waits for what must happen.
const patience = time.Minute

// await waits until f holds, and fails the test if it does not in time.
func await(t *testing.T, what string, f func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !f(); vthread.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain: %s", what)
		}
	}
}

// A logbook keeps what a server logs.
type logbook struct {
	mu struct {
		sync.Mutex
		bytes.Buffer
	}
}

func (l *logbook) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.mu.Buffer.Write(p)
}

func (l *logbook) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.mu.Buffer.String()
}

// A server is one on loopback.
type server struct {
	*httptest.Server
	log logbook
}

// protocols are those that servers speak here.
var protocols = []string{"HTTP/1.1", "HTTP/2.0"}

// serve starts a server, which the end of the test closes.
func serve(t *testing.T, protocol string, h http.Handler) *server {
	t.Helper()
	s := &server{Server: httptest.NewUnstartedServer(h)}
	s.Config.ErrorLog = log.New(&s.log, "", 0)
	if protocol == "HTTP/2.0" {
		s.EnableHTTP2 = true
		s.StartTLS()
	} else {
		s.Start()
	}
	t.Cleanup(func() {
		s.Client().CloseIdleConnections()
		s.Close()
	})
	return s
}

// get asks for a path, and returns the body of an answer with status 200.
func (s *server) get(t *testing.T, path string) string {
	t.Helper()
	response, body := s.do(t, http.MethodGet, path, nil)
	if response == nil || response.StatusCode != http.StatusOK {
		t.Errorf("get %s: got %v, %q, want status 200", path, response, body)
	}
	return body
}

// do sends a request and returns the answer, or nil and the error.
func (s *server) do(t *testing.T, method, path string, body io.Reader) (*http.Response, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, s.URL+path, body)
	if err != nil {
		t.Fatal(err)
	}
	response, err := s.Client().Do(r)
	if err != nil {
		return nil, err.Error()
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, err.Error()
	}
	return response, string(answer)
}

// onEachProtocol runs a test over each protocol.
func onEachProtocol(t *testing.T, test func(t *testing.T, protocol string)) {
	t.Helper()
	for _, p := range protocols {
		t.Run("protocol="+strings.ReplaceAll(p, "/", "-"), func(t *testing.T) { test(t, p) })
	}
}

// onEachKind runs a test with handlers whose threads are of each kind.
func onEachKind(t *testing.T, test func(t *testing.T, o vhttp.Options)) {
	t.Helper()
	t.Run("kind=adopted", func(t *testing.T) { test(t, vhttp.Options{}) })
	t.Run("kind=virtual", func(t *testing.T) { test(t, vhttp.Options{Virtual: true}) })
}
