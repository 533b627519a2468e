package dump_test

import (
	"testing"

	"github.com/vtscope/vtscope/dump"
)

func TestFunctionsHaveTheNameOfTheirPackageAndNoPath(t *testing.T) {
	for name, want := range map[string]string{
		"main.main":                                     "main.main",
		"example.com/shop.(*Store).query":               "shop.(*Store).query",
		"created by example.com/shop.Serve":             "created by shop.Serve",
		"a.com/x.Map[b.com/y.T]":                        "x.Map[b.com/y.T]",
		"github.com/go-chi/chi/v5.(*Mux).ServeHTTP":     "chi.(*Mux).ServeHTTP",
		"github.com/go-chi/chi/v5/middleware.Logger":    "middleware.Logger",
		"github.com/nats-io/nats-server/v2/server.init": "server.init",
		"example.com/v5x.Serve":                         "v5x.Serve",
		"v5.Serve":                                      "v5.Serve",
		"example.com/v0.Serve":                          "v0.Serve",
		"[mounted]":                                     "[mounted]",
	} {
		if got := dump.ShortFunc(name); got != want {
			t.Errorf("%s: got %s, want %s", name, got, want)
		}
	}
}
