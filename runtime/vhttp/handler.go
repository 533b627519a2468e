package vhttp

import (
	"cmp"
	"context"
	"fmt"
	"log"
	"maps"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/vtscope/vtscope/runtime/internal/panicstack"
	"github.com/vtscope/vtscope/runtime/sched"
	"github.com/vtscope/vtscope/runtime/structured"
	"github.com/vtscope/vtscope/runtime/vsync"
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

	// Virtual makes the handler start a virtual thread for each request, and wait for it. Else the server's goroutine is the thread, which costs
	// less, and waits as goroutines wait.
	Virtual bool

	// Scheduler executes virtual threads. nil means the default.
	Scheduler sched.Scheduler

	// Limit is how many requests are served at a time. Others wait for their turn, in their order, as threads that dumps show; one whose
	// context ends meanwhile is answered with status 503. 0 means no limit.
	Limit int
}

// Handler returns a handler that calls next for each request on a thread. The thread is in a scope that is named by the request's pattern, and is
// itself named by method and pattern. The handler returns when next has, and all threads in scopes that next has opened have ended, even if next
// has not closed them; those that were started in no scope go on.
//
// The thread is the server's goroutine itself ([vthread.Builder.Run]), unless [Options] say otherwise. A virtual thread of the default scheduler
// is executed by the server's goroutine until it first parks ([vthread.Builder.StartHere]). The scope is that of all requests of the
// pattern ([structured.Permanent]). It is one of the request's own where it has a place in a tree: if
// the handler is called in a scope, or if somebody is told of scopes ([structured.OnOpen]), such as traces of OpenTelemetry.
//
// The server's context of the request ends when the client has gone or the server is closed; then the thread is interrupted. next gets a copy of
// the request whose context is the thread's ([vthread.Thread.Context]), derived from the server's: it also ends with the request, and when somebody
// else interrupts the thread. The forms that next parses, and the pattern, are written to the request that the handler got, too.
//
// If next panics, the handler panics with the same value; on a virtual thread with a [*structured.Panic], which has the thread's stack and shows
// it in the server's log. If it was with [http.ErrAbortHandler], on the thread or one that it has joined in a scope, the handler panics with that. If next
// calls runtime.Goexit, so does the handler.
//
// It panics if next is nil, Limit is negative, or there is a Scheduler for threads that are not virtual.
func Handler(next http.Handler, o Options) http.Handler {
	switch {
	case next == nil:
		panic("vhttp: nil handler")
	case o.Limit < 0:
		panic(fmt.Sprintf("vhttp: limit %d", o.Limit))
	case o.Scheduler != nil && !o.Virtual:
		panic("vhttp: a scheduler for threads that are not virtual")
	}
	h := &handler{next: next, pattern: o.Pattern, name: cmp.Or(o.Name, "http"), virtual: o.Virtual, on: o.Scheduler}
	h.routes.Store(&map[key]*route{})
	if o.Limit > 0 {
		h.turns = vsync.NewSemaphore(int64(o.Limit))
		h.turns.SetName("requests at a time")
	}
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
	virtual bool
	on      sched.Scheduler
	turns   *vsync.Semaphore // nil: no limit

	routes atomic.Pointer[map[key]*route] // a map does not change
	mu     sync.Mutex                     // of who makes the next one
}

// A route is what requests of one method and pattern have in common.
type route struct {
	thread string         // its name
	scope  *vthread.Scope // of those that have none of their own
}

type key struct{ method, pattern string }

// maxRoutes is how many routes have a scope: a mistake in [Options.Pattern] does not make scopes without end. The others are of no pattern.
const maxRoutes = 1 << 10

func (h *handler) route(r *http.Request, pattern string) *route {
	k := key{known(r.Method), pattern}
	if at := (*h.routes.Load())[k]; at != nil {
		return at
	}
	return h.makeRoute(k)
}

func (h *handler) makeRoute(k key) *route {
	h.mu.Lock()
	defer h.mu.Unlock()
	routes := *h.routes.Load()
	switch at := routes[k]; {
	case at != nil:
		return at
	case len(routes) >= maxRoutes:
		return &route{threadName(k.method, k.pattern), structured.Permanent(h.name)}
	}
	routes = maps.Clone(routes)
	at := &route{threadName(k.method, k.pattern), structured.Permanent(cmp.Or(k.pattern, h.name))}
	routes[k] = at
	h.routes.Store(&routes)
	return at
}

// ServeHTTP is the server's side.
func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	pattern := h.pattern(r)
	switch b := (vthread.Builder{Context: r.Context(), InterruptOnDone: true}); {
	case structured.Alone(r.Context()):
		at := h.route(r, pattern)
		b.Name, b.Scope = at.thread, at.scope
		if h.virtual {
			b.Scheduler = h.on
			(&request{of: h, w: w, r: r}).start(b)
		} else {
			b.Run(h.adopts(w, r))
		}
	case h.virtual:
		h.fork(&request{of: h, w: w, r: r}, pattern)
	default:
		defer structured.Open(r.Context(), cmp.Or(pattern, h.name)).Close()
		b.Name = threadName(known(r.Method), pattern)
		b.Run(h.adopts(w, r))
	}
}

// fork serves a request on a virtual thread in a scope of its own.
func (h *handler) fork(q *request, pattern string) {
	fork := func(ctx context.Context) (*structured.Scope, *vthread.Thread) {
		scope, err := structured.Options{Name: cmp.Or(pattern, h.name), Scheduler: h.on}.Open(ctx)
		if err != nil {
			panic(err) // an invariant: these options are right
		}
		return scope, scope.ForkHere(threadName(known(q.r.Method), pattern), q.serve)
	}
	scope, thread := fork(q.r.Context())
	if thread == nil { // the request has ended already; next is told all the same
		_ = scope.Close()
		scope, thread = fork(context.WithoutCancel(q.r.Context()))
		_ = thread.Interrupt() // it is refused when there is nobody to interrupt
	}
	err := end(scope)
	p, _ := err.(*structured.Panic)
	q.finish(p, err)
}

// start serves a request on a virtual thread that b describes.
func (q *request) start(b vthread.Builder) {
	t, err := b.TryStartHere(q.alone)
	interrupted := false
	for err == nil && t.Join() == vthread.ErrInterrupted {
		interrupted = true
		_ = t.Interrupt() // as its caller is
	}
	if interrupted {
		_ = vthread.Current().Interrupt() // it is for this handler's caller
	}
	q.finish(q.panicked, err)
}

// finish ends the server's side as the thread has ended: it has panicked with p, or err says why it was refused.
func (q *request) finish(p *structured.Panic, err error) {
	switch {
	case p != nil && aborts(p):
		panic(http.ErrAbortHandler)
	case p != nil:
		panic(p)
	case q.returned:
	case q.began:
		runtime.Goexit()
	default:
		panic(fmt.Errorf("vhttp: %s: %w", cmp.Or(q.of.pattern(q.r), q.of.name), err)) // the scheduler has refused the thread
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

// known returns a method, of which clients choose: those that net/http does not know are one.
func known(method string) string {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete,
		http.MethodConnect, http.MethodOptions, http.MethodTrace:
		return method
	case "":
		return http.MethodGet
	}
	return "?"
}

// threadName is method and pattern.
func threadName(method, pattern string) string {
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
	of              *handler
	w               http.ResponseWriter
	r               *http.Request
	began, returned bool // the thread's, as is panicked; the server's side reads them when that has ended
	panicked        *structured.Panic
}

// alone is the thread's side on a virtual thread that no scope waits for.
func (q *request) alone() {
	me := vthread.Current()
	defer func() {
		if v := recover(); v != nil { // the guilty frames stand until this function returns
			q.panicked = &structured.Panic{Thread: me.Label(), Value: v, Stack: panicstack.Of()}
		}
	}()
	_ = q.serve()
}

// adopts returns the thread's side on the server's own goroutine.
func (h *handler) adopts(w http.ResponseWriter, r *http.Request) func() {
	return func() {
		q := request{of: h, w: w, r: r} // not on the heap
		q.adopted()
	}
}

func (q *request) adopted() {
	defer func() {
		if q.returned {
			return
		}
		v := recover() // the guilty frames stand until this function returns
		if p, ok := v.(*structured.Panic); ok && aborts(p) {
			v = http.ErrAbortHandler
		}
		if v != nil {
			panic(v)
		}
	}()
	_ = q.serve()
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
			q.returned = false
			panic(left)
		}
		q.log(left)
	}()
	if turns := q.of.turns; turns != nil {
		if turns.AcquireContext(r.Context(), 1) != nil {
			http.Error(q.w, "too many requests at a time", http.StatusServiceUnavailable)
			q.returned = true
			return nil
		}
		defer turns.Release(1)
	}
	q.of.next.ServeHTTP(q.w, r)
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
