package vhttp

import (
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"
	"testing"
)

// Whoever makes the path of a request its pattern by mistake gets some scopes, and not one for each path.
func TestPatternsWithoutEndMakeNoScopesWithoutEnd(t *testing.T) {
	h := Handler(http.NotFoundHandler(), Options{Name: "others"}).(*handler)
	r := httptest.NewRequest("GET", "/", nil)
	var all sync.WaitGroup
	for range 2 {
		all.Go(func() {
			for i := range maxRoutes + 100 {
				if at := h.route(r, "/"+strconv.Itoa(i)); at != h.route(r, "/"+strconv.Itoa(i)) && i < maxRoutes/2 {
					t.Errorf("pattern %d has two routes", i)
				}
			}
		})
	}
	all.Wait()
	if n := len(*h.routes.Load()); n != maxRoutes {
		t.Errorf("got %d routes, want %d", n, maxRoutes)
	}
	more, again := h.route(r, "/more"), h.route(r, "/again")
	if more.scope != again.scope || more.scope == h.route(r, "/1").scope || more.thread != "GET /more" {
		t.Errorf("got %v and %v, want the scope of requests without a pattern", more, again)
	}
}
