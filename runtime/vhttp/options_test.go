package vhttp_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/sched"
	"github.com/vtscope/vtscope/runtime/structured"
	"github.com/vtscope/vtscope/runtime/vhttp"
	"github.com/vtscope/vtscope/runtime/vthread"
)

// ask serves a request without a server, and returns the answer.
func ask(ctx context.Context, h http.Handler, path string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequestWithContext(ctx, "GET", path, nil))
	return w
}

func TestTheServersGoroutineIsTheThreadUnlessAVirtualOneIsAskedFor(t *testing.T) {
	onEachKind(t, func(t *testing.T, o vhttp.Options) {
		var kind vthread.Kind
		ask(t.Context(), vhttp.Handler(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { kind = vthread.Current().Kind() }), o), "/")
		if want := map[bool]vthread.Kind{false: vthread.Adopted, true: vthread.Virtual}[o.Virtual]; kind != want {
			t.Errorf("got a thread of kind %v, want %v", kind, want)
		}
		if vthread.Current() != nil {
			t.Error("the caller is a thread afterwards")
		}
	})
}

func TestVirtualThreadsExecuteOnTheSchedulerOfTheOptions(t *testing.T) {
	on, err := sched.NewForkJoin(sched.ForkJoinOptions{Name: "requests"})
	if err != nil {
		t.Fatal(err)
	}
	defer on.Close()
	var got sched.Scheduler
	ask(t.Context(), vhttp.Handler(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { got = vthread.Current().Scheduler() }), vhttp.Options{Virtual: true, Scheduler: on}), "/")
	if got != sched.Scheduler(on) {
		t.Errorf("got scheduler %v, want the one of the options", got)
	}
}

func TestWrongOptionsAreRefused(t *testing.T) {
	for want, o := range map[string]vhttp.Options{
		"vhttp: limit -1": {Limit: -1}, "vhttp: a scheduler for threads that are not virtual": {Scheduler: sched.Goroutines},
	} {
		func() {
			defer func() {
				if v := recover(); v != want {
					t.Errorf("got panic %v, want %s", v, want)
				}
			}()
			vhttp.Handler(http.NotFoundHandler(), o)
		}()
	}
}

// Of the requests above the limit each has its turn, in order, unless its context ends before.
func TestRequestsAboveTheLimitWaitForTheirTurn(t *testing.T) {
	onEachKind(t, func(t *testing.T, o vhttp.Options) {
		const limit, more = 3, 5
		o.Limit = limit
		release := make(chan struct{})
		var mu sync.Mutex
		var threads []string
		var served atomic.Int32
		h := vhttp.Handler(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			mu.Lock()
			threads = append(threads, r.URL.Path)
			mu.Unlock()
			<-release
			served.Add(1)
		}), o)
		here := func() int {
			mu.Lock()
			defer mu.Unlock()
			return len(threads)
		}
		var all sync.WaitGroup
		start := func(ctx context.Context, path string, answer func(*httptest.ResponseRecorder)) {
			all.Go(func() { answer(ask(ctx, h, path)) })
		}
		ok := func(w *httptest.ResponseRecorder) {
			if w.Code != http.StatusOK {
				t.Errorf("got status %d, want 200", w.Code)
			}
		}
		for i := range limit {
			start(t.Context(), fmt.Sprint("/", i), ok)
			await(t, "a request is served", func() bool { return here() == i+1 })
		}
		queued := func() int {
			n := 0
			for _, g := range snapshot(t).Groups {
				if strings.Contains(g.Blocker, "requests at a time") {
					n += g.Count
				}
			}
			return n
		}
		gone, leave := context.WithCancel(t.Context())
		start(gone, "/gone", func(w *httptest.ResponseRecorder) {
			if w.Code != http.StatusServiceUnavailable {
				t.Errorf("one that has left: got status %d, want 503", w.Code)
			}
		})
		if flight.Default() != nil {
			await(t, "it waits for its turn", func() bool { return queued() == 1 })
		}
		for i := range more {
			start(t.Context(), fmt.Sprint("/more/", i), ok)
			if flight.Default() != nil {
				await(t, "another waits", func() bool { return queued() == i+2 })
			}
		}
		leave()
		if flight.Default() != nil {
			await(t, "one has left", func() bool { return queued() == more })
		}
		if n := here(); n != limit {
			t.Errorf("%d requests are served at a time, want %d", n, limit)
		}
		release <- struct{}{}
		await(t, "the next has its turn", func() bool { return here() == limit+1 })
		if flight.Default() != nil && threads[limit] != "/more/0" {
			t.Errorf("got %v, want the one that has waited for longest at last", threads)
		}
		close(release)
		all.Wait()
		if n := served.Load(); n != limit+more {
			t.Errorf("%d requests were served, want %d", n, limit+more)
		}
	})
}

// Requests have scopes of their own where somebody else has something to do with these: else all of a pattern have one.
func TestRequestsOfAPatternHaveOneScopeUnlessItIsPartOfATree(t *testing.T) {
	var scopes []*vthread.Scope
	mux := http.NewServeMux()
	mux.HandleFunc("GET /one/{id}", func(http.ResponseWriter, *http.Request) { scopes = append(scopes, vthread.Current().Scope()) })
	h := vhttp.Handler(mux, vhttp.Options{})
	twice := func(ctx context.Context) bool {
		scopes = nil
		ask(ctx, h, "/one/1")
		ask(ctx, h, "/one/2")
		for _, s := range scopes {
			if s.Name != "GET /one/{id}" {
				t.Errorf("got scope %q, want that of the pattern", s.Name)
			}
		}
		return scopes[0] == scopes[1]
	}
	if !twice(t.Context()) {
		t.Error("two requests of one pattern are in two scopes")
	}
	outer := structured.Open(t.Context(), "outer")
	if twice(t.Context()) {
		t.Error("within a scope: two requests are in one, which is not within that")
	}
	ctx := outer.Context()
	done := make(chan struct{})
	go func() {
		defer close(done)
		if twice(ctx) {
			t.Error("with the context of a scope: two requests are in one scope, which is not within that")
		}
	}()
	<-done
	if err := outer.Close(); err != nil {
		t.Error(err)
	}
	var told []flight.ScopeID
	structured.OnOpen(func(_ context.Context, id flight.ScopeID) { told = append(told, id) })
	defer structured.OnOpen(nil)
	if twice(t.Context()) || len(told) != 2 || told[0] == told[1] {
		t.Errorf("with one who is told of scopes: the requests are in one scope, or it is not told of them: %v", told)
	}
}

// A function of the options that returns the path makes no scopes without end.
func TestPatternsWithoutEndAreNotScopesWithoutEnd(t *testing.T) {
	names := map[string]bool{}
	var mu sync.Mutex
	h := vhttp.Handler(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		me := vthread.Current()
		mu.Lock()
		names[me.Scope().Name] = true
		mu.Unlock()
		if me.Name() != "GET "+r.URL.Path {
			t.Errorf("got thread %q, want the pattern %s in it", me.Name(), r.URL.Path)
		}
	}), vhttp.Options{Pattern: func(r *http.Request) string { return r.URL.Path }, Name: "too many"})
	const requests = 3000
	for i := range requests {
		ask(t.Context(), h, fmt.Sprint("/path/", i))
	}
	if n := len(names); n < 100 || n >= requests/2 || !names["too many"] {
		t.Errorf("%d requests are in %d scopes, one of them without a pattern: %v; want a limit", requests, n, names["too many"])
	}
}

// A dump of a server that serves on its own goroutines shows its requests by pattern, and their kind.
func TestADumpTellsTheKindOfARequest(t *testing.T) {
	if flight.Default() == nil {
		t.Skip("the recorder is off")
	}
	onEachKind(t, func(t *testing.T, o vhttp.Options) {
		parked := make(chan *vthread.Thread)
		var release atomic.Bool
		done := make(chan struct{})
		go func() {
			defer close(done)
			ask(t.Context(), vhttp.Handler(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
				parked <- vthread.Current()
				for !release.Load() {
					vthread.ParkFor(time.Millisecond)
				}
			}), o), "/")
		}()
		th := <-parked
		r, err := flight.Default().Reader()
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		var flags flight.RecordFlags
		if _, err := r.Threads(t.Context(), func(rows []flight.ThreadRow) {
			if i := slices.IndexFunc(rows, func(row flight.ThreadRow) bool { return row.ID == th.ID() }); i >= 0 {
				flags = rows[i].Flags
			}
		}); err != nil {
			t.Fatal(err)
		}
		if adopted := flags&flight.RecordAdopted != 0; adopted == o.Virtual {
			t.Errorf("got flags %v of a thread with options %+v", flags, o)
		}
		th.Interrupt()
		release.Store(true)
		<-done
	})
}
