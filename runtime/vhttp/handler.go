package vhttp

import (
	"cmp"
	"context"
	"fmt"
	"log"
	"net/http"
	"runtime"
	"strings"

	"github.com/vtscope/vtscope/runtime/structured"
	"github.com/vtscope/vtscope/runtime/vthread"
)

// Options change what [Handler] does. The zero value is usable.
type Options struct {
	// Pattern returns the pattern that a request matches, or "" for none. Requests are told apart by it in dumps, so there should be few: it
	// must not be the path. nil means the pattern of the handler if that is an *http.ServeMux, or else the request's own
	// ([http.Request.Pattern]).
	Pattern func(r *http.Request) string

	// Name is the name of the scopes of requests that match no pattern. Empty means "http".
	Name string
}

// Handler returns a handler that calls next for each request on a thread. The thread is in a scope that is named by the request's pattern, and is
// itself named by method and pattern. The handler returns when next has, and all threads in scopes that next has opened have ended, even if next
// has not closed them; those that were started in no scope go on.
//
// The server's context of the request ends when the client has gone or the server is closed; then the thread is interrupted. next gets a copy of
// the request whose context is the thread's ([vthread.Thread.Context]), derived from the server's: it also ends with the request, and when somebody
// else interrupts the thread. The forms that next parses, and the pattern, are written to the request that the handler got, too.
//
// If next panics, the handler panics with a [*structured.Panic], which has the thread's stack and shows it in the server's log; if it was with
// [http.ErrAbortHandler], on the thread or one that it has joined in a scope, the handler panics with that. If next calls runtime.Goexit, so does the handler.
//
// It panics if next is nil.
func Handler(next http.Handler, o Options) http.Handler {
	if next == nil {
		panic("vhttp: nil handler")
	}
	h := &handler{next: next, pattern: o.Pattern, name: cmp.Or(o.Name, "http")}
	if h.pattern == nil {
		h.pattern = ownPattern
		if mux, ok := next.(*http.ServeMux); ok {
			h.pattern = func(r *http.Request) string {
				_, pattern := mux.Handler(r)
				return cmp.Or(pattern, r.Pattern)
			}
		}
	}
	return h
}

func ownPattern(r *http.Request) string { return r.Pattern }

type handler struct {
	next    http.Handler
	pattern func(*http.Request) string
	name    string
}

// ServeHTTP is the server's side.
func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	pattern := h.pattern(r)
	q := &request{next: h.next, w: w, r: r}
	fork := func(ctx context.Context) (*structured.Scope, *vthread.Thread) {
		scope := structured.Open(ctx, cmp.Or(pattern, h.name))
		return scope, scope.ForkNamed(threadName(r.Method, pattern), q.serve)
	}
	scope, thread := fork(r.Context())
	if thread == nil { // the request has ended already; next is told all the same
		_ = scope.Close()
		scope, thread = fork(context.WithoutCancel(r.Context()))
		_ = thread.Interrupt() // it is refused when there is nobody to interrupt
	}
	err := end(scope)
	p, panicked := err.(*structured.Panic)
	switch {
	case panicked && aborts(p):
		panic(http.ErrAbortHandler)
	case panicked:
		panic(p)
	case q.returned:
	case q.began:
		runtime.Goexit()
	default:
		panic(fmt.Errorf("vhttp: %s: %w", scope.Name(), err)) // the scheduler has refused the thread
	}
}

// end waits for the thread of the scope, and returns its panic, if there was one. When the request's context ends the scope is cancelled, and Join does not wait for the thread.
func end(s *structured.Scope) error {
	joined := caught(s.Join)
	if joined == vthread.ErrInterrupted {
		defer func() { _ = vthread.Current().Interrupt() }() // it is for this handler's caller
	}
	closed := caught(s.Close)
	if p, ok := closed.(*structured.Panic); ok {
		return p
	}
	return joined
}

// aborts reports whether a thread has panicked with http.ErrAbortHandler: the handler's, or one that it has joined.
func aborts(p *structured.Panic) bool {
	for {
		inner, ok := p.Value.(*structured.Panic)
		if !ok {
			return p.Value == http.ErrAbortHandler
		}
		p = inner
	}
}

// threadName is method and pattern. Clients choose the method, so those that net/http does not know are one.
func threadName(method, pattern string) string {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete,
		http.MethodConnect, http.MethodOptions, http.MethodTrace:
	case "":
		method = http.MethodGet
	default:
		method = "?"
	}
	if i := strings.IndexAny(pattern, " \t"); i >= 0 {
		pattern = strings.TrimLeft(pattern[i:], " \t") // it has a method
	}
	if pattern == "" {
		return method
	}
	return method + " " + pattern
}

// A request is one on its way through a thread.
type request struct {
	next            http.Handler
	w               http.ResponseWriter
	r               *http.Request
	began, returned bool // the thread's; the server's side reads them when that has ended
}

// serve is the thread's side.
func (q *request) serve() error {
	q.began = true
	me := vthread.Current()
	r := q.r.WithContext(me.Context())
	defer func() {
		// The server removes the files of forms, and handlers around this one may log the pattern.
		q.r.Pattern, q.r.Form, q.r.PostForm, q.r.MultipartForm = r.Pattern, r.Form, r.PostForm, r.MultipartForm
		if me.Innermost() == nil {
			return
		}
		v := recover() // the guilty frames stand until this function returns
		left := q.closeLeft()
		switch {
		case v != nil:
			q.log(left)
			panic(v)
		case q.returned && left != nil:
			panic(left)
		}
		q.log(left)
	}()
	q.next.ServeHTTP(q.w, r)
	q.returned = true
	return nil
}

// closeLeft closes the scopes that the handler has left open, and returns the first panic of one of their threads, or nil.
func (q *request) closeLeft() (first error) {
	for _, err := range structured.CloseLeft() {
		if _, panicked := err.(*structured.Panic); panicked && first == nil {
			first = err
			continue
		}
		q.log(err)
	}
	return first
}

// caught calls f and returns a panic of a scope's thread as its error.
func caught(f func() error) (err error) {
	defer func() {
		switch v := recover().(type) {
		case nil:
		case *structured.Panic:
			err = v
		default:
			panic(v)
		}
	}()
	return f()
}

// log tells of a mistake of the handler that nobody else is told of, as the server tells of others.
func (q *request) log(err error) {
	if err == nil {
		return
	}
	logf := log.Printf
	if server, _ := q.r.Context().Value(http.ServerContextKey).(*http.Server); server != nil && server.ErrorLog != nil {
		logf = server.ErrorLog.Printf
	}
	logf("vhttp: %s: left behind: %v", vthread.Current().Name(), err)
}
