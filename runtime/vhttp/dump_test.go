package vhttp_test

import (
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/vtscope/vtscope/dump"
	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/structured"
	"github.com/vtscope/vtscope/runtime/vhttp"
	"github.com/vtscope/vtscope/runtime/vthread"
)

// snapshot takes one of this process.
func snapshot(t *testing.T) *dump.Snapshot {
	t.Helper()
	if flight.Default() == nil {
		t.Skip("the recorder is off")
	}
	r, err := flight.Default().Reader()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	s, err := dump.Take(t.Context(), r, dump.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// waiting counts the threads that wait in the scopes of a path, and returns one of their names.
func waiting(s *dump.Snapshot, path string) (n int, name string) {
	for _, g := range s.Groups {
		if strings.Join(s.Path(g.Scope)[1:], " > ") != path || g.State != flight.StateParked && g.State != flight.StateWaiting {
			continue
		}
		n += g.Count
		name = g.Examples[0].Name
	}
	return n, name
}

// Hundreds of requests are served at once by a few carriers, and a dump tells how many of each pattern wait, and on what.
func TestADumpShowsTheRequestsOfEachPattern(t *testing.T) {
	onEachKind(t, func(t *testing.T, o vhttp.Options) {
		onEachProtocol(t, func(t *testing.T, protocol string) {
			// Not more than an HTTP/2 connection has streams: net/http's server gives up another one that it
			// has no time to greet.
			const carts, orders = 160, 80
			var mu sync.Mutex
			var threads []*vthread.Thread
			released := false
			parked := func() {
				mu.Lock()
				threads = append(threads, vthread.Current())
				mu.Unlock()
				for done := false; !done; {
					vthread.Park()
					mu.Lock()
					done = released
					mu.Unlock()
				}
			}
			mux := http.NewServeMux()
			mux.HandleFunc("GET /cart/{id}", func(w http.ResponseWriter, r *http.Request) {
				parked()
				whoami(w, r)
			})
			mux.HandleFunc("/order/", func(w http.ResponseWriter, r *http.Request) {
				err := structured.Run(r.Context(), "payment", func(s *structured.Scope) error {
					s.ForkNamed("card", func() error { parked(); return nil })
					return s.Join()
				})
				if err != nil {
					t.Error(err)
				}
				whoami(w, r)
			})
			mux.HandleFunc("GET /first", whoami)
			s := serve(t, protocol, vhttp.Handler(mux, o))
			s.get(t, "/first") // the client knows how many streams there are
			var clients sync.WaitGroup
			for i := range carts + orders {
				clients.Go(func() {
					path, want := "/cart/17", "GET /cart/{id} in GET /cart/{id}"
					if i < orders {
						path, want = "/order/4/2", "GET /order/ in /order/"
					}
					if got := s.get(t, path); got != want {
						t.Errorf("got %q, want %q", got, want)
					}
				})
			}
			await(t, "all requests are there", func() bool {
				mu.Lock()
				defer mu.Unlock()
				return len(threads) == carts+orders
			})
			t.Run("dump", func(t *testing.T) {
				for path, want := range map[string]struct {
					n    int
					name string
				}{
					"GET /cart/{id}":    {carts, "GET /cart/{id}"},
					"/order/":           {orders, "GET /order/"}, // they wait for their forks
					"/order/ > payment": {orders, "card"},
				} {
					n, name := 0, ""
					await(t, path+" waits", func() bool {
						n, name = waiting(snapshot(t), path)
						return n >= want.n
					})
					if n != want.n || name != want.name {
						t.Errorf("%s: got %d threads, one of them %q, want %d, %q", path, n, name, want.n, want.name)
					}
				}
			})
			mu.Lock()
			released = true
			for _, th := range threads {
				th.Unpark()
			}
			mu.Unlock()
			clients.Wait()
		})
	})
}
