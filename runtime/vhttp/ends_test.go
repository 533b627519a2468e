package vhttp_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vtscope/vtscope/runtime/structured"
	"github.com/vtscope/vtscope/runtime/vhttp"
	"github.com/vtscope/vtscope/runtime/vthread"
)

//go:noinline
func guilty(value any) { panic(value) }

// An end is a way in which handlers end other than by a return.
type end struct {
	name   string
	panics string // as kindOf has it
	f      func(w http.ResponseWriter, r *http.Request)
}

var ends = []end{
	{"panic", "panic", func(http.ResponseWriter, *http.Request) { guilty("boom") }},
	{"late panic", "panic", func(w http.ResponseWriter, _ *http.Request) { begin(w); guilty(errors.New("boom")) }},
	{"nil panic", "panic", func(http.ResponseWriter, *http.Request) { guilty(nil) }},
	{"abort", "abort", func(http.ResponseWriter, *http.Request) { guilty(http.ErrAbortHandler) }},
	{"late abort", "abort", func(w http.ResponseWriter, _ *http.Request) { begin(w); guilty(http.ErrAbortHandler) }},
	{"goexit", "", func(http.ResponseWriter, *http.Request) { runtime.Goexit() }},
	{"late goexit", "", func(w http.ResponseWriter, _ *http.Request) { begin(w); runtime.Goexit() }},
	{"goexit instead of a panic", "", func(http.ResponseWriter, *http.Request) {
		defer func() {
			_ = recover()
			runtime.Goexit()
		}()
		guilty("boom")
	}},
}

// begin sends the first half of an answer.
func begin(w http.ResponseWriter) {
	fmt.Fprint(w, "the first half, ")
	w.(http.Flusher).Flush()
}

// seen is what a client sees of an answer.
func (s *server) seen(t *testing.T, path string) string {
	response, body := s.do(t, "GET", path, nil)
	if response == nil {
		for _, known := range []string{"unexpected EOF", "EOF", "INTERNAL_ERROR"} {
			if strings.Contains(body, known) {
				return known
			}
		}
		return body
	}
	return fmt.Sprint(response.StatusCode, " ", body)
}

// However a handler ends, the client sees what it would see without the thread, and the server logs what it would log.
func TestAHandlersEndIsForClientAndServerAsOnAGoroutine(t *testing.T) {
	onEachKind(t, func(t *testing.T, o vhttp.Options) {
		onEachProtocol(t, func(t *testing.T, protocol string) {
			for _, e := range ends {
				t.Run(e.name, func(t *testing.T) {
					h := http.HandlerFunc(e.f)
					plain, ours := serve(t, protocol, h), serve(t, protocol, vhttp.Handler(h, o))
					if got, want := ours.seen(t, "/"), plain.seen(t, "/"); got != want {
						t.Errorf("the client: got %q, want %q as of a goroutine", got, want)
					}
					for who, s := range map[string]*server{"plain": plain, "ours": ours} {
						if e.panics == "panic" {
							await(t, who+" logs the panic", func() bool { return strings.Contains(s.log.String(), "guilty") })
						}
						s.CloseClientConnections()
						s.Close()
						if e.panics != "panic" && s.log.String() != "" {
							t.Errorf("%s logs, and should not: %s", who, &s.log)
						}
					}
				})
			}
		})
	})
}

func TestThePanicOfAHandlerIsLoggedWithItsThreadsStack(t *testing.T) {
	onEachKind(t, func(t *testing.T, o vhttp.Options) {
		onEachProtocol(t, func(t *testing.T, protocol string) {
			mux := http.NewServeMux()
			mux.HandleFunc("GET /cart/{id}", func(http.ResponseWriter, *http.Request) { guilty("boom of " + t.Name()) })
			s := serve(t, protocol, vhttp.Handler(mux, o))
			s.seen(t, "/cart/17")
			await(t, "the panic is logged", func() bool { return strings.Contains(s.log.String(), "created by") })
			wants := []string{"panic serving", "boom of " + t.Name(), "vhttp_test.guilty(", "ends_test.go:"}
			if o.Virtual { // else the stack begins in the server
				wants = append(wants, "GET /cart/{id}")
			}
			for _, want := range wants {
				if !strings.Contains(s.log.String(), want) {
					t.Errorf("the log has no %q:\n%s", want, &s.log)
				}
			}
		})
	})
}

// recovered calls a handler and returns what it panics with.
func recovered(ctx context.Context, o vhttp.Options, h http.HandlerFunc) (value any) {
	defer func() { value = recover() }()
	r := httptest.NewRequestWithContext(ctx, "GET", "/", nil)
	vhttp.Handler(h, o).ServeHTTP(httptest.NewRecorder(), r)
	return nil
}

func TestHandlersAroundSeeWhatAHandlerPanicsWith(t *testing.T) {
	onEachKind(t, func(t *testing.T, o vhttp.Options) {
		boom := errors.New("boom")
		v := recovered(t.Context(), o, func(http.ResponseWriter, *http.Request) { guilty(boom) })
		if p, _ := v.(*structured.Panic); !o.Virtual && v != boom || o.Virtual && (p == nil || p.Value != boom || !errors.Is(p, boom) || !strings.Contains(string(p.Stack), "guilty")) {
			t.Errorf("got %v, want boom of guilty", v)
		}
		if v := recovered(t.Context(), o, func(http.ResponseWriter, *http.Request) { guilty(http.ErrAbortHandler) }); v != http.ErrAbortHandler {
			t.Errorf("got %v, want ErrAbortHandler itself", v)
		}
		join := func(_ http.ResponseWriter, r *http.Request) {
			structured.Run(r.Context(), "s", func(s *structured.Scope) error {
				s.Fork(func() error { panic(http.ErrAbortHandler) })
				return s.Join()
			})
		}
		if v := recovered(t.Context(), o, join); v != http.ErrAbortHandler {
			t.Errorf("a fork: got %v, want ErrAbortHandler itself", v)
		}
		// What cannot be compared is not compared.
		if v := recovered(t.Context(), o, func(http.ResponseWriter, *http.Request) { guilty([]int{1}) }); v == nil {
			t.Error("got no panic")
		}
	})
}

// A lingerer is a fork that a handler leaves behind.
type lingerer struct{ ended atomic.Bool }

// fork opens a scope, and leaves it open with a thread that waits for its end, and a little longer.
func (l *lingerer) fork(ctx context.Context, name string, then func()) {
	s := structured.Open(ctx, name)
	s.Fork(func() error {
		<-s.Context().Done()
		vthread.Sleep(2 * time.Millisecond)
		l.ended.Store(true)
		then()
		return nil
	})
}

func TestARequestWaitsForForksThatItsHandlerLeavesBehind(t *testing.T) {
	onEachKind(t, func(t *testing.T, o vhttp.Options) {
		for _, e := range append(ends, end{"return", "", func(http.ResponseWriter, *http.Request) {}}) {
			t.Run(e.name, func(t *testing.T) {
				var outer, inner lingerer
				done := make(chan any)
				go func() { // which the end may end
					defer func() { done <- recover() }()
					h := vhttp.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
						outer.fork(r.Context(), "outer", func() {})
						inner.fork(r.Context(), "inner", func() {})
						e.f(w, r)
					}), o)
					h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(quiet(t), "GET", "/", nil))
				}()
				v := <-done
				if !outer.ended.Load() || !inner.ended.Load() {
					t.Errorf("forks have ended: %v, %v, want both", outer.ended.Load(), inner.ended.Load())
				}
				if got := kindOf(v, o); got != e.panics {
					t.Errorf("got %q, %v, want %q", got, v, e.panics)
				}
			})
		}
	})
}

// kindOf tells with what a handler has panicked.
func kindOf(v any, o vhttp.Options) string {
	switch v := v.(type) {
	case nil:
		return ""
	case *structured.Panic:
		if strings.Contains(string(v.Stack), "guilty") {
			return "panic"
		}
	}
	switch {
	case v == http.ErrAbortHandler:
		return "abort"
	case !o.Virtual && (v == "boom" || strings.Contains(fmt.Sprint(v), "boom") || strings.Contains(fmt.Sprint(v), "nil argument")):
		return "panic" // as it was, with the frames standing
	}
	return fmt.Sprintf("%T", v)
}

// quiet is a context of a server that logs to nobody.
func quiet(t *testing.T) context.Context {
	return context.WithValue(t.Context(), http.ServerContextKey, &http.Server{ErrorLog: log.New(new(logbook), "", 0)})
}

func TestThePanicOfAForkThatWasLeftBehindIsNotLost(t *testing.T) {
	onEachKind(t, func(t *testing.T, o vhttp.Options) {
		var book logbook
		ctx := context.WithValue(t.Context(), http.ServerContextKey, &http.Server{ErrorLog: log.New(&book, "", 0)})
		leave := func(end func()) http.HandlerFunc {
			return func(_ http.ResponseWriter, r *http.Request) {
				vthread.Current().SetName("leaver")
				for _, name := range []string{"first", "second"} {
					new(lingerer).fork(r.Context(), name, func() { guilty("boom of " + name) })
				}
				end()
			}
		}
		p, _ := recovered(ctx, o, leave(func() {})).(*structured.Panic)
		if p == nil {
			t.Fatal("the handler returned: got no panic")
		}
		if of, _ := p.Value.(*structured.Panic); of != nil && o.Virtual {
			p = of
		}
		if p.Value != "boom of second" {
			t.Errorf("the handler returned: got %v, want the panic of the innermost scope", p)
		}
		if got := book.String(); !strings.Contains(got, "boom of first") || !strings.Contains(got, "leaver") {
			t.Errorf("the other panic is not logged, with the thread: %s", got)
		}
		for name, end := range map[string]func(){
			"abort":  func() { panic(http.ErrAbortHandler) },
			"goexit": runtime.Goexit,
		} {
			book.mu.Reset()
			done := make(chan any, 1)
			go func() {
				value := any("goexit")
				defer func() { done <- value }()
				value = recovered(ctx, o, leave(end))
			}()
			if v := <-done; name == "abort" && v != http.ErrAbortHandler || name == "goexit" && v != "goexit" {
				t.Errorf("%s: got %v", name, v)
			}
			for _, want := range []string{"boom of first", "boom of second"} {
				if !strings.Contains(book.String(), want) {
					t.Errorf("%s: %s is not logged: %s", name, want, &book)
				}
			}
		}
	})
}

func TestAScopeThatWasLeftOpenIsLogged(t *testing.T) {
	onEachKind(t, func(t *testing.T, o vhttp.Options) {
		s := serve(t, "HTTP/1.1", vhttp.Handler(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			new(lingerer).fork(r.Context(), "forgotten", func() {})
		}), o))
		s.get(t, "/")
		if got := s.log.String(); !strings.Contains(got, `"forgotten"`) || !strings.Contains(got, structured.ErrNotJoined.Error()) {
			t.Errorf("got log %q", got)
		}
	})
}
