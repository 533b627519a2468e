package vhttp_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vtscope/vtscope/runtime/vhttp"
	"github.com/vtscope/vtscope/runtime/vthread"
)

// whoami answers with the names of the thread and its scope.
func whoami(w http.ResponseWriter, _ *http.Request) {
	me := vthread.Current()
	if me == nil {
		fmt.Fprint(w, "a goroutine")
		return
	}
	fmt.Fprintf(w, "%s in %s", me.Name(), me.Scope().Name)
}

func TestARequestHasAThreadInAScopeNamedByItsPattern(t *testing.T) {
	onEachKind(t, func(t *testing.T, o vhttp.Options) {
		who := http.HandlerFunc(whoami)
		one := http.NewServeMux()
		one.Handle("GET /cart/{id}", who)
		one.Handle("/any/", who)
		inner := http.NewServeMux() // the handlers are wrapped, not the mux
		inner.Handle("/each/{id}", vhttp.Handler(who, o))
		below := http.NewServeMux()
		below.Handle("GET /below/{id}", who)
		prefixed := http.NewServeMux()
		prefixed.Handle("/api/", http.StripPrefix("/api", vhttp.Handler(below, o)))
		byHeader := vhttp.Options{Virtual: o.Virtual, Pattern: func(r *http.Request) string { return r.Header.Get("Pattern") }, Name: "none"}
		for _, c := range []struct {
			handler       http.Handler
			method, path  string
			thread, scope string
		}{
			{vhttp.Handler(one, o), "GET", "/cart/17", "GET /cart/{id}", "GET /cart/{id}"},
			{vhttp.Handler(one, o), "HEAD", "/cart/17", "HEAD /cart/{id}", "GET /cart/{id}"},
			{vhttp.Handler(one, o), "POST", "/any/thing", "POST /any/", "/any/"},
			{vhttp.Handler(one, o), "BREW", "/any/thing", "? /any/", "/any/"},
			{vhttp.Handler(one, o), "", "/any/thing", "GET /any/", "/any/"},
			{inner, "GET", "/each/1", "GET /each/{id}", "/each/{id}"},
			{prefixed, "GET", "/api/below/1", "GET /below/{id}", "GET /below/{id}"},
			{prefixed, "GET", "/api/other", "GET /api/", "/api/"},
			{vhttp.Handler(one, o), "GET", "/nowhere", "GET", "http"},
			{vhttp.Handler(who, o), "GET", "/raw/path", "GET", "http"},
			{vhttp.Handler(who, byHeader), "GET", "/raw/path", "GET /by/{header}", "/by/{header}"},
			{vhttp.Handler(one, byHeader), "PUT", "/any/x", "PUT", "none"},
		} {
			t.Run(c.method+c.path, func(t *testing.T) {
				var thread, scope string
				r := httptest.NewRequestWithContext(t.Context(), c.method, c.path, nil)
				if r.Method = c.method; strings.Contains(c.scope, "header") {
					r.Header.Set("Pattern", c.scope)
				}
				w := &spy{ResponseWriter: httptest.NewRecorder(), onHeader: func() {
					me := vthread.Current()
					thread, scope = me.Name(), me.Scope().Name
				}}
				c.handler.ServeHTTP(w, r)
				if thread != c.thread || scope != c.scope {
					t.Errorf("got thread %q in scope %q, want %q in %q", thread, scope, c.thread, c.scope)
				}
			})
		}
	})
}

// A spy looks on when a response begins.
type spy struct {
	http.ResponseWriter
	onHeader func()
}

func (s *spy) Header() http.Header {
	s.onHeader()
	return s.ResponseWriter.Header()
}

func (s *spy) Write(p []byte) (int, error) {
	s.onHeader()
	return s.ResponseWriter.Write(p)
}

func TestARequestIsServedOnAThread(t *testing.T) {
	onEachKind(t, func(t *testing.T, o vhttp.Options) {
		onEachProtocol(t, func(t *testing.T, protocol string) {
			mux := http.NewServeMux()
			mux.HandleFunc("GET /who/{id}", whoami)
			mux.HandleFunc("POST /echo", func(w http.ResponseWriter, r *http.Request) {
				if r.Proto != protocol {
					t.Errorf("got protocol %s, want %s", r.Proto, protocol)
				}
				vthread.Sleep(time.Millisecond)
				if _, err := io.Copy(w, r.Body); err != nil {
					t.Error(err)
				}
			})
			s := serve(t, protocol, vhttp.Handler(mux, o))
			if got, want := s.get(t, "/who/1"), "GET /who/{id} in GET /who/{id}"; got != want {
				t.Errorf("got %q, want %q", got, want)
			}
			text := strings.Repeat("0123456789", 100_000)
			if _, got := s.do(t, "POST", "/echo", strings.NewReader(text)); got != text {
				t.Errorf("got %d bytes back, want the %d that were sent", len(got), len(text))
			}
			if response, _ := s.do(t, "GET", "/nowhere", nil); response == nil || response.StatusCode != http.StatusNotFound {
				t.Errorf("got %v, want status 404", response)
			}
		})
	})
}

type contextKey struct{}

func TestTheContextOfARequestIsTheThreadsAndEndsWithIt(t *testing.T) {
	onEachKind(t, func(t *testing.T, o vhttp.Options) {
		var kept context.Context
		var fork *vthread.Thread
		h := vhttp.Handler(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			kept = r.Context()
			if kept != vthread.Current().Context() {
				t.Error("the context is not the thread's")
			}
			if kept.Err() != nil || kept.Value(contextKey{}) != "v" {
				t.Errorf("got error %v and value %v, want none and v", kept.Err(), kept.Value(contextKey{}))
			}
			fork = vthread.Builder{Context: r.Context()}.Start(func() { <-vthread.Current().Context().Done() })
		}), o)
		ctx := context.WithValue(t.Context(), contextKey{}, "v")
		h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(ctx, "GET", "/", nil))
		if !errors.Is(kept.Err(), context.Canceled) {
			t.Errorf("after the request: got error %v, want canceled", kept.Err())
		}
		fork.Join() // since its context has ended too
	})
}

// A request that ends early, for whatever reason, interrupts its thread, whatever that waits for in ways of threads.
func TestTheEndOfARequestsContextInterruptsItsThread(t *testing.T) {
	onEachKind(t, func(t *testing.T, o vhttp.Options) {
		waits := map[string]func(r *http.Request) error{
			"sleep": func(*http.Request) error { return vthread.Sleep(time.Hour) },
			"park": func(*http.Request) error {
				for !vthread.Interrupted() {
					vthread.Park()
				}
				return vthread.ErrInterrupted
			},
			"join": func(*http.Request) error {
				other := vthread.Start(func() { vthread.Park() })
				defer other.Unpark()
				return other.Join()
			},
			"context": func(r *http.Request) error {
				<-r.Context().Done()
				for !vthread.Interrupted() { // its interrupt comes a moment later
					vthread.Park()
				}
				return vthread.ErrInterrupted
			},
		}
		onEachProtocol(t, func(t *testing.T, protocol string) {
			for name, wait := range waits {
				for _, end := range []string{"client", "server"} {
					t.Run(name+"/end="+end, func(t *testing.T) {
						began, got := make(chan struct{}), make(chan error, 2)
						s := serve(t, protocol, vhttp.Handler(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
							close(began)
							got <- wait(r)
							got <- r.Context().Err()
						}), o))
						ctx, cancel := context.WithCancel(t.Context())
						defer cancel()
						r, err := http.NewRequestWithContext(ctx, "GET", s.URL, nil)
						if err != nil {
							t.Fatal(err)
						}
						client := make(chan error)
						go func() {
							response, err := s.Client().Do(r)
							if err == nil {
								response.Body.Close()
							}
							client <- err
						}()
						<-began
						if end == "client" {
							cancel()
						} else {
							s.CloseClientConnections()
						}
						if err := <-got; err != vthread.ErrInterrupted {
							t.Errorf("the wait: got %v, want ErrInterrupted", err)
						}
						if err := <-got; !errors.Is(err, context.Canceled) {
							t.Errorf("the context: got %v, want canceled", err)
						}
						if err := <-client; err == nil {
							t.Error("the client got an answer")
						}
					})
				}
			}
		})
	})
}

func TestAnInterruptOfTheThreadEndsTheRequestsContext(t *testing.T) {
	onEachKind(t, func(t *testing.T, o vhttp.Options) {
		h := vhttp.Handler(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			me := vthread.Current()
			vthread.Start(func() { me.Interrupt() })
			<-r.Context().Done()
			if cause := context.Cause(r.Context()); cause != vthread.ErrInterrupted {
				t.Errorf("got cause %v, want ErrInterrupted", cause)
			}
		}), o)
		h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), "GET", "/", nil))
	})
}

func TestTheHandlerOfARequestThatHasEndedIsCalledAndInterrupted(t *testing.T) {
	onEachKind(t, func(t *testing.T, o vhttp.Options) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		called := false
		h := vhttp.Handler(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			called = true
			if err := vthread.Sleep(time.Hour); err != vthread.ErrInterrupted {
				t.Errorf("the sleep: got %v, want ErrInterrupted", err)
			}
		}), o)
		h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(ctx, "GET", "/", nil))
		if !called {
			t.Error("it was not called")
		}
	})
}

func TestTheEndOfARequestsContextTakesNothingFromItsHandlersEnd(t *testing.T) {
	onEachKind(t, func(t *testing.T, o vhttp.Options) {
		for _, e := range ends {
			t.Run(e.name, func(t *testing.T) {
				ctx, cancel := context.WithCancel(quiet(t))
				defer cancel()
				exited := true
				done := make(chan any)
				go func() { // which the end may end
					defer func() { done <- recover() }()
					h := vhttp.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
						cancel()
						for !vthread.Interrupted() {
							vthread.Park()
						}
						time.Sleep(time.Millisecond) // the handler's caller waits all the same
						e.f(w, r)
					}), o)
					h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(ctx, "GET", "/", nil))
					exited = false
				}()
				v := <-done
				if got := kindOf(v, o); got != e.panics || !exited {
					t.Errorf("got %q, %v, want %q; returned: %v", got, v, e.panics, !exited)
				}
			})
		}
	})
}

func TestOneHandlerMayStandInAnother(t *testing.T) {
	onEachKind(t, func(t *testing.T, o vhttp.Options) {
		inner := vhttp.Handler(http.HandlerFunc(whoami), vhttp.Options{Virtual: o.Virtual, Pattern: func(*http.Request) string { return "inner" }})
		mux := http.NewServeMux()
		mux.HandleFunc("/x", func(w http.ResponseWriter, r *http.Request) {
			me := vthread.Current()
			inner.ServeHTTP(w, r)
			fmt.Fprint(w, ", ")
			whoami(w, r)
			if vthread.Current() != me || me.Innermost() != nil || r.Context().Err() != nil {
				t.Errorf("after the inner handler: got thread %v, open scope %v, context %v", vthread.Current(), me.Innermost(), r.Context().Err())
			}
		})
		s := serve(t, "HTTP/1.1", vhttp.Handler(mux, o))
		if got, want := s.get(t, "/x"), "GET inner in inner, GET /x in /x"; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	})
}

// What a handler does to its request, the server and handlers around it see.
func TestAFormAndItsFilesAreTheServersToRemove(t *testing.T) {
	onEachKind(t, func(t *testing.T, o vhttp.Options) {
		var file, pattern string
		var form int
		mux := http.NewServeMux()
		mux.HandleFunc("POST /upload/{id}", func(w http.ResponseWriter, r *http.Request) {
			if r.PathValue("id") != "7" {
				t.Errorf("got path value %q, want 7", r.PathValue("id"))
			}
			if err := r.ParseMultipartForm(1); err != nil {
				t.Error(err)
				return
			}
			f, err := r.MultipartForm.File["f"][0].Open()
			if err != nil {
				t.Error(err)
				return
			}
			defer f.Close()
			if f, ok := f.(*os.File); ok {
				file = f.Name()
			}
		})
		h := vhttp.Handler(mux, o)
		s := serve(t, "HTTP/1.1", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			h.ServeHTTP(w, r)
			pattern, form = r.Pattern, len(r.Form)
		}))
		reader, writer := io.Pipe()
		parts := multipart.NewWriter(writer)
		go func() {
			field, err := parts.CreateFormField("k")
			if err == nil {
				_, err = io.WriteString(field, "v")
			}
			f, err2 := parts.CreateFormFile("f", "f")
			if err2 == nil {
				_, err2 = io.Copy(f, strings.NewReader(strings.Repeat("x", 11<<20))) // more than is kept in memory
			}
			writer.CloseWithError(errors.Join(err, err2, parts.Close()))
		}()
		response, err := s.Client().Post(s.URL+"/upload/7", parts.FormDataContentType(), reader)
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		if file == "" {
			t.Fatal("the upload was not written to a file: this test shows nothing")
		}
		await(t, "the uploaded file is removed", func() bool {
			_, err := os.Stat(file)
			return errors.Is(err, os.ErrNotExist)
		})
		if pattern != "POST /upload/{id}" || form != 1 {
			t.Errorf("around: got pattern %q, %d values in the form", pattern, form)
		}
	})
}

func TestATimeoutHandlerWorksAroundAndInside(t *testing.T) {
	onEachKind(t, func(t *testing.T, o vhttp.Options) {
		onEachProtocol(t, func(t *testing.T, protocol string) {
			for name, c := range map[string]struct {
				wrap func(h http.Handler, limit time.Duration) http.Handler
				who  string
			}{
				"around": {func(h http.Handler, limit time.Duration) http.Handler {
					return http.TimeoutHandler(vhttp.Handler(h, o), limit, "too late")
				}, "GET in http"},
				"inside": {func(h http.Handler, limit time.Duration) http.Handler {
					return vhttp.Handler(http.TimeoutHandler(h, limit, "too late"), o)
				}, "a goroutine"}, // net/http calls the handler on one of its own
				"inside and inside again": {func(h http.Handler, limit time.Duration) http.Handler {
					return vhttp.Handler(http.TimeoutHandler(vhttp.Handler(h, o), limit, "too late"), o)
				}, "GET in http"},
			} {
				t.Run(name, func(t *testing.T) {
					ended := make(chan error, 1)
					slow := serve(t, protocol, c.wrap(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
						ended <- vthread.SleepContext(r.Context(), time.Hour)
					}), 20*time.Millisecond))
					response, body := slow.do(t, "GET", "/", nil)
					if response == nil || response.StatusCode != http.StatusServiceUnavailable || body != "too late" {
						t.Errorf("got %v, %q, want status 503, too late", response, body)
					}
					if err := <-ended; !errors.Is(err, context.DeadlineExceeded) && err != vthread.ErrInterrupted {
						t.Errorf("the sleep: got %v, want a deadline or an interrupt", err)
					}
					quick := serve(t, protocol, c.wrap(http.HandlerFunc(whoami), time.Hour))
					if got := quick.get(t, "/"); got != c.who {
						t.Errorf("got %q, want %q", got, c.who)
					}
				})
			}
		})
	})
}

func TestHandlersThatBlockInGoServeOneAnother(t *testing.T) {
	onEachKind(t, func(t *testing.T, o vhttp.Options) {
		onEachProtocol(t, func(t *testing.T, protocol string) {
			const n = 64 // many more than carriers
			var wg, here sync.WaitGroup
			var answered atomic.Int32
			here.Add(n)
			release := make(chan struct{})
			s := serve(t, protocol, vhttp.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				here.Done()
				<-release
				whoami(w, r)
			}), o))
			for range n {
				wg.Go(func() {
					if s.get(t, "/") == "GET in http" {
						answered.Add(1)
					}
				})
			}
			here.Wait()
			close(release)
			wg.Wait()
			if got := answered.Load(); got != n {
				t.Errorf("%d of %d requests were answered", got, n)
			}
		})
	})
}

func TestANilHandlerIsRefused(t *testing.T) {
	defer func() {
		if v := recover(); v != "vhttp: nil handler" {
			t.Errorf("got panic %v", v)
		}
	}()
	vhttp.Handler(nil, vhttp.Options{})
}
